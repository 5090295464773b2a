/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "doc/roff.h"

#include <ctype.h>
#include <string.h>

/* Writes one character; `start` is 1 for the first one of a line. */
static void put_character(FILE *out, char character, uint32_t start)
{
    if (start && (character == '.' || character == '\''))
        fputs("\\&", out);
    if (character == '-')
        fputs("\\-", out);
    else if (character == '\\')
        fputs("\\e", out);
    else
        fputc(character, out);
}

void roff_put(FILE *out, const char *text)
{
    for (uint32_t start = 1; *text != '\0'; text++) {
        put_character(out, *text, start);
        start = *text == '\n';
    }
}

void roff_line(FILE *out, const char *text)
{
    roff_put(out, text);
    fputc('\n', out);
}

void roff_head(FILE *out, const char *name, int section, const char *summary)
{
    fprintf(out, ".\\\" SPDX-License-Identifier: Apache-2.0\n.\\\" Made by doc/pages.c from the tables of the %s.\n",
            section == 1 ? "command" : "library");
    fprintf(out, ".TH %s %d \"\" \"accel %s\" \"%s\"\n.SH NAME\n", name, section, PACKAGE_VERSION,
            section == 1 ? "User Commands" : "File Formats");
    roff_put(out, name);
    fputs(" \\- ", out);
    roff_line(out, summary);
}

void roff_rows(FILE *out, const char *heading, const struct word_row *row, const char *font)
{
    fprintf(out, ".SH %s\n", heading);
    for (; row->left != NULL; row++) {
        fprintf(out, ".TP\n.%s ", font);
        roff_line(out, row->left);
        roff_line(out, row->right);
    }
}

/* ---- Markdown ---- */

/* State of the Markdown reader. */
struct reader {
    FILE *out;
    uint32_t in_code;      /* between two fences */
    uint32_t is_paragraph; /* the last line was text that the next one goes on with */
    uint32_t table_row;    /* rows of the table at hand: the first two are its head */
};

/* Writes a line of text with its marks: `code`, **bold**, [text](address). Code is set bold, since the reader
 * types it. */
static void put_inline(FILE *out, const char *text)
{
    uint32_t is_code = 0;
    uint32_t is_bold = 0;

    for (uint32_t start = 1; *text != '\0'; start = 0) {
        if (*text == '`' || (!is_code && strncmp(text, "**", 2) == 0)) {
            uint32_t *mark = *text == '`' ? &is_code : &is_bold;

            text += *text == '`' ? 1 : 2;
            *mark = !*mark;
            fputs(*mark ? "\\fB" : "\\fR", out);
        } else if (!is_code && *text == '[' && strstr(text, "](") != NULL) {
            text++;
        } else if (!is_code && strncmp(text, "](", 2) == 0) {
            text += strcspn(text, ")");
            text += *text == ')';
        } else {
            put_character(out, *text++, start);
        }
    }
    fputc('\n', out);
}

static void put_heading(const struct reader *r, const char *line)
{
    size_t level = strspn(line, "#");

    line += level + strspn(line + level, " ");
    if (level == 1)
        return;
    fputs(level == 2 ? ".SH " : ".SS ", r->out);
    for (; *line != '\0'; line++)
        if (*line != '`')
            put_character(r->out, level == 2 ? (char)toupper((unsigned char)*line) : *line, 0);
    fputc('\n', r->out);
}

/* Writes a row "| a | b | c |": the first cell as a tag, "b: c" below it. The head of a table and its ruler are
 * left out. */
static void put_table_row(struct reader *r, const char *line)
{
    char text[2048];
    size_t used = 0;

    if (r->table_row++ < 2)
        return;
    fputs(".TP\n", r->out);
    text[0] = '\0';
    for (uint32_t cell = 0; *line == '|' && line[1] != '\0'; cell++) {
        size_t length;

        line += 1 + strspn(line + 1, " ");
        length = strcspn(line, "|");
        while (length > 0 && line[length - 1] == ' ')
            length--;
        if (length > 0 && used < sizeof text)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", used == 0 ? "" : ": ", (int)length, line);
        if (cell == 0) {
            put_inline(r->out, text);
            used = 0;
        }
        line += strcspn(line, "|");
    }
    put_inline(r->out, text);
}

static void put_text(struct reader *r, const char *line)
{
    size_t blanks = strspn(line, " ");

    if (strncmp(line + blanks, "- ", 2) == 0) {
        fputs(".IP \\(bu 2\n", r->out);
        blanks += 2;
    } else if (!r->is_paragraph) {
        fputs(".PP\n", r->out);
    }
    r->is_paragraph = 1;
    put_inline(r->out, line + blanks);
}

static void read_line(struct reader *r, const char *line)
{
    if (strncmp(line, "```", 3) == 0) {
        fputs(r->in_code ? ".EE\n.RE\n" : ".PP\n.RS 4\n.EX\n", r->out);
        r->in_code = !r->in_code;
        r->is_paragraph = 0;
    } else if (r->in_code) {
        /* A blank line of code must not end the example. */
        roff_line(r->out, line[0] == '\0' ? " " : line);
    } else if (line[0] == '|') {
        put_table_row(r, line);
        r->is_paragraph = 0;
    } else if (line[0] == '#') {
        put_heading(r, line);
        r->is_paragraph = 0;
    } else if (line[0] == '\0') {
        r->is_paragraph = r->table_row = 0;
    } else {
        put_text(r, line);
    }
}

void roff_markdown(FILE *out, FILE *in)
{
    struct reader r = {.out = out};
    char line[4096];

    /* Text before the first section is the description. */
    fputs(".SH DESCRIPTION\n", out);
    while (fgets(line, sizeof line, in) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        read_line(&r, line);
    }
}
