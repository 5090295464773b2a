/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the man pages and completions of the command from its tables of verbs and options: pages FOLDER. The files are
 * kept in the tree, so that nothing runs at build time; a test holds them against the tables.
 */
#include "config.h"

#include "tools/accelctl/verb.h"

#include <stdio.h>
#include <string.h>

/* Text as roff: hyphens that can be copied, no line that looks like a request. */
static void put(FILE *out, const char *text)
{
    for (uint32_t start = 1; *text != '\0'; text++) {
        if (start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\\')
            fputs("\\e", out);
        else
            fputc(*text, out);
        start = *text == '\n';
    }
}

static void put_paragraphs(FILE *out, const char *text)
{
    for (; *text != '\0'; text += *text == '\n') {
        char line[1024];
        size_t length = strcspn(text, "\n");

        snprintf(line, sizeof line, "%.*s", (int)length, text);
        fputs(".PP\n", out);
        put(out, line);
        fputc('\n', out);
        text += length;
    }
}

static void put_rows(FILE *out, const char *heading, const struct word_row *row, const char *font)
{
    fprintf(out, ".SH %s\n", heading);
    for (; row->left != NULL; row++) {
        fprintf(out, ".TP\n.%s ", font);
        put(out, row->left);
        fputc('\n', out);
        put(out, row->right);
        fputc('\n', out);
    }
}

static void put_option(FILE *out, char letter, const char *name, const char *argument, const char *help)
{
    fputs(".TP\n", out);
    if (letter != 0)
        fprintf(out, "\\fB\\-%c\\fR, ", letter);
    fputs("\\fB\\-\\-", out);
    put(out, name);
    fputs("\\fR", out);
    if (argument != NULL)
        fprintf(out, " \\fI%s\\fR", argument);
    fputc('\n', out);
    put(out, help);
    fputc('\n', out);
}

static void head(FILE *out, const char *name, const char *summary)
{
    fprintf(out,
            ".\\\" SPDX-License-Identifier: Apache-2.0\n.\\\" Made by doc/pages.c from the tables of the command.\n");
    fprintf(out, ".TH %s 1 \"\" \"accel %s\" \"User Commands\"\n.SH NAME\n", name, PACKAGE_VERSION);
    put(out, name);
    fputs(" \\- ", out);
    put(out, summary);
    fputs("\n.SH SYNOPSIS\n", out);
}

static void verb_page(FILE *out, const struct verb *verb)
{
    char name[64];
    const char *middle = strchr(verb->example, '\n');

    snprintf(name, sizeof name, "accelctl-%s", verb->name);
    head(out, name, verb->summary);
    fprintf(out, "\\fBaccelctl %s\\fR [\\fIOPTION\\fR...]%s%s%s\n.SH DESCRIPTION\n", verb->name,
            verb->arguments[0] == '\0' ? "" : " \\fI", verb->arguments, verb->arguments[0] == '\0' ? "" : "\\fR");
    if (verb->detail[0] == '\0') {
        fputs("Prints the ", out);
        put(out, verb->summary);
        fputs(".\n", out);
    }
    put_paragraphs(out, verb->detail);
    fputs(".SH OPTIONS\n", out);
    for (uint32_t i = 0; i < verb->option_count; i++) {
        const struct option_row *row = &verb->options[i];

        put_option(out, row->letter, row->name, row->argument, row->help);
    }
    put_option(out, 'h', "help", NULL, "print the options");
    fputs(".SH EXAMPLE\n.TP\n\\fB", out);
    if (middle != NULL) {
        char call[256];

        snprintf(call, sizeof call, "%.*s", (int)(middle - verb->example), verb->example);
        put(out, call);
        fputs("\\fR\n", out);
        put(out, middle + 1);
    }
    fputc('\n', out);
    put_rows(out, "EXIT STATUS", exit_rows, "B");
    fputs(".SH SEE ALSO\n.BR accelctl (1)\n", out);
}

static void main_page(FILE *out)
{
    head(out, "accelctl", "discovers accelerators, plans how a model should run, and runs it");
    fputs(
        "\\fBaccelctl\\fR \\fIVERB\\fR [\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n"
        ".br\n\\fBaccelctl help\\fR [\\fIVERB\\fR]\n.br\n\\fBaccelctl \\-\\-version\\fR\n"
        ".SH DESCRIPTION\nDiscovers every accelerator of a machine through driver plugins, decides and explains how a "
        "model should run, and runs it.\n"
        ".PP\nA verb that is not listed here is looked for as the program \\fBaccelctl\\-\\fIVERB\\fR in the folder of "
        "helper programs, and nowhere else.\n.SH VERBS\n",
        out);
    for (uint32_t i = 0; verbs[i] != NULL; i++) {
        fprintf(out, ".TP\n.BR accelctl\\-%s (1)\n", verbs[i]->name);
        put(out, verbs[i]->summary);
        fputc('\n', out);
    }
    fputs(
        ".SH JSON\nWith \\fB\\-\\-json\\fR every verb prints one document on the standard output. Its member "
        "\\fBschema\\fR is \\fBaccelctl/\\fIVERB\\fB/1\\fR, or \\fBaccelctl/error/1\\fR with the members code, text, "
        "remedy and exit below \\fBerror\\fR. Members may be added to a schema; the number rises when one changes its "
        "meaning or goes.\n",
        out);
    put_rows(out, "EXIT STATUS", exit_rows, "B");
    put_rows(out, "ENVIRONMENT", environment_rows, "B");
    fputs(".SH SEE ALSO\n", out);
    for (uint32_t i = 0; verbs[i] != NULL; i++)
        fprintf(out, ".BR accelctl\\-%s (1)%s\n", verbs[i]->name, verbs[i + 1] != NULL ? "," : "");
}

static void bash_options(FILE *out, const struct verb *verb)
{
    fprintf(out, "    %s) options='", verb->name);
    for (uint32_t i = 0; i < verb->option_count; i++) {
        if (verb->options[i].letter != 0)
            fprintf(out, "-%c ", verb->options[i].letter);
        fprintf(out, "--%s ", verb->options[i].name);
    }
    fputs("-h --help' ;;\n", out);
}

/* 1 when a verb before `verb` has the same option. */
static uint32_t seen_before(uint32_t verb, const char *name)
{
    for (uint32_t v = 0; v < verb; v++)
        for (uint32_t i = 0; i < verbs[v]->option_count; i++)
            if (strcmp(verbs[v]->options[i].name, name) == 0)
                return 1;
    return 0;
}

/* Options whose value is a file, or anything else, for the word after them. */
static void bash_values(FILE *out, uint32_t files)
{
    uint32_t count = 0;

    for (uint32_t v = 0; verbs[v] != NULL; v++)
        for (uint32_t i = 0; i < verbs[v]->option_count; i++) {
            const struct option_row *row = &verbs[v]->options[i];
            uint32_t names =
                row->argument != NULL && (strcmp(row->argument, "FILE") == 0 || strcmp(row->argument, "FOLDER") == 0 ||
                                          strcmp(row->argument, "PATH") == 0);

            if (row->argument == NULL || names != files || seen_before(v, row->name))
                continue;
            fprintf(out, "%s--%s", count++ == 0 ? "" : " | ", row->name);
            if (row->letter != 0)
                fprintf(out, " | -%c", row->letter);
        }
}

static void bash(FILE *out)
{
    fputs(
        "# SPDX-License-Identifier: Apache-2.0\n# Made by doc/pages.c from the tables of the command.\n_accelctl()\n{\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=\n"
        "    COMPREPLY=()\n    if [ \"$COMP_CWORD\" = 1 ]; then\n        mapfile -t COMPREPLY < <(compgen -W '",
        out);
    for (uint32_t i = 0; verbs[i] != NULL; i++)
        fprintf(out, "%s ", verbs[i]->name);
    fputs("help --help --version' -- \"$word\")\n        return\n    fi\n    case $before in\n    ", out);
    bash_values(out, 1);
    fputs(")\n        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n        return ;;\n    ", out);
    bash_values(out, 0);
    fputs(") return ;;\n    esac\n    case ${COMP_WORDS[1]} in\n", out);
    for (uint32_t i = 0; verbs[i] != NULL; i++)
        bash_options(out, verbs[i]);
    fputs("    help) options='", out);
    for (uint32_t i = 0; verbs[i] != NULL; i++)
        fprintf(out, "%s%s", i == 0 ? "" : " ", verbs[i]->name);
    fputs(
        "' ;;\n    esac\n    case $word in\n    -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\") ;;\n"
        "    *)\n        if [ \"${COMP_WORDS[1]}\" = help ]; then\n"
        "            mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n        else\n"
        "            mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n        fi ;;\n    esac\n}\n"
        "complete -o filenames -F _accelctl accelctl\n",
        out);
}

/* Text inside of single quotes, where brackets and colons mean something to _arguments. */
static void zsh_put(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text) != NULL)
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void zsh_option(FILE *out, const struct option_row *row)
{
    const char *files = row->argument == NULL                  ? ""
                        : strcmp(row->argument, "FOLDER") == 0 ? "_files -/"
                        : strcmp(row->argument, "FILE") == 0   ? "_files"
                        : strcmp(row->argument, "PATH") == 0   ? "_files"
                                                               : " ";

    for (uint32_t way = 0; way < 2; way++) {
        if (way == 0 && row->letter == 0)
            continue;
        fprintf(out, "            '%s", row->type == OPTION_LIST ? "*" : "");
        if (way == 0)
            fprintf(out, "-%c", row->letter);
        else
            fprintf(out, "--%s%s", row->name, row->argument == NULL ? "" : "=");
        fputc('[', out);
        zsh_put(out, row->help);
        fputc(']', out);
        if (row->argument != NULL)
            fprintf(out, ":%s:%s", row->argument, files);
        fputs("' \\\n", out);
    }
}

static void zsh(FILE *out)
{
    fputs("#compdef accelctl\n# SPDX-License-Identifier: Apache-2.0\n# Made by doc/pages.c from the tables of the "
          "command.\n_accelctl()\n{\n    local -a verbs=(\n",
          out);
    for (uint32_t i = 0; verbs[i] != NULL; i++) {
        fprintf(out, "        '%s:", verbs[i]->name);
        zsh_put(out, verbs[i]->summary);
        fputs("'\n", out);
    }
    fputs("        'help:the options of a verb'\n    )\n    if (( CURRENT == 2 )); then\n"
          "        _describe verb verbs\n        return\n    fi\n    local verb=$words[2]\n"
          "    shift words\n    (( CURRENT-- ))\n    case $verb in\n    help) _describe verb verbs ;;\n",
          out);
    for (uint32_t v = 0; verbs[v] != NULL; v++) {
        fprintf(out, "    %s)\n        _arguments \\\n", verbs[v]->name);
        for (uint32_t i = 0; i < verbs[v]->option_count; i++)
            zsh_option(out, &verbs[v]->options[i]);
        fprintf(out, "            '(-h --help)'{-h,--help}'[print the options]'%s ;;\n",
                verbs[v]->arguments[0] == '\0' ? "" : " \\\n            '1:model:_files'");
    }
    fputs("    esac\n}\n_accelctl \"$@\"\n", out);
}

static FILE *begin(const char *folder, const char *name)
{
    char path[1024];
    FILE *out;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    out = fopen(path, "w");
    if (out == NULL)
        perror(path);
    return out;
}

/* Writes one file of the folder with a function of its own. */
static int write_page(const char *folder, const char *name, void (*page)(FILE *out))
{
    FILE *out = begin(folder, name);

    if (out == NULL)
        return 1;
    page(out);
    return fclose(out) != 0;
}

int main(int count, char **arguments)
{
    char name[64];

    if (count != 2)
        return 2;
    for (uint32_t i = 0; verbs[i] != NULL; i++) {
        FILE *out;

        snprintf(name, sizeof name, "accelctl-%s.1", verbs[i]->name);
        out = begin(arguments[1], name);
        if (out == NULL)
            return 1;
        verb_page(out, verbs[i]);
        if (fclose(out) != 0)
            return 1;
    }
    return write_page(arguments[1], "accelctl.1", main_page) || write_page(arguments[1], "completion/accelctl", bash) ||
           write_page(arguments[1], "completion/_accelctl", zsh);
}
