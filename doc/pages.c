/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the reference of the command and of profiles from their tables: pages FOLDER PROFILES. Output: man pages
 * of the commands, of the settings and of the profile language, shell completions, and the profile schema for
 * editors. The generated files are committed, so that the build runs no generator; a test compares them with the
 * tables. */
#include "config.h"

#include "doc/completion.h"
#include "doc/reference.h"
#include "doc/roff.h"
#include "tools/accelctl/habits.h"

#include <string.h>

static void put_paragraphs(FILE *out, const char *text)
{
    for (; *text != '\0'; text += *text == '\n') {
        char line[1024];
        size_t length = strcspn(text, "\n");

        snprintf(line, sizeof line, "%.*s", (int)length, text);
        fputs(".PP\n", out);
        roff_line(out, line);
        text += length;
    }
}

static void put_option(FILE *out, char letter, const char *name, const char *argument, const char *help,
                       const char *also)
{
    char text[512];

    fputs(".TP\n", out);
    if (letter != 0)
        fprintf(out, "\\fB\\-%c\\fR, ", letter);
    fputs("\\fB\\-\\-", out);
    roff_put(out, name);
    fputs("\\fR", out);
    if (argument != NULL)
        fprintf(out, " \\fI%s\\fR", argument);
    fputc('\n', out);
    snprintf(text, sizeof text, "%s%s%s%s", help, also[0] == '\0' ? "" : " (also ", also, also[0] == '\0' ? "" : ")");
    roff_line(out, text);
}

static void put_action(FILE *out, const struct action_row *row)
{
    fprintf(out, ".TP\n\\fB%s\\fR%s%s%s\n", row->name, row->arguments[0] == '\0' ? "" : " \\fI", row->arguments,
            row->arguments[0] == '\0' ? "" : "\\fR");
    roff_line(out, row->summary);
}

/* Writes examples: calls and their purpose, a line each. */
static void put_examples(FILE *out, const char *example)
{
    fprintf(out, ".SH EXAMPLE%s\n", strchr(strchr(example, '\n') + 1, '\n') == NULL ? "" : "S");
    for (uint32_t is_call = 1; *example != '\0'; is_call = !is_call) {
        char line[512];
        size_t length = strcspn(example, "\n");

        snprintf(line, sizeof line, "%.*s", (int)length, example);
        fputs(is_call ? ".TP\n\\fB" : "", out);
        roff_put(out, line);
        fputs(is_call ? "\\fR\n" : "\n", out);
        example += length + (example[length] == '\n');
    }
}

static void command_page(FILE *out, const struct command *command)
{
    char name[64];

    snprintf(name, sizeof name, "accelctl-%s", command->name);
    roff_head(out, name, 1, command->summary);
    fputs(".SH SYNOPSIS\n", out);
    fprintf(out, "\\fBaccelctl %s\\fR [\\fIOPTION\\fR...]%s%s%s\n.SH DESCRIPTION\n", command->name,
            command->arguments[0] == '\0' ? "" : " \\fI", command->arguments,
            command->arguments[0] == '\0' ? "" : "\\fR");
    put_paragraphs(out, command->detail);
    if (command->action_count > 0)
        fputs(".SH ACTIONS\n", out);
    for (uint32_t i = 0; i < command->action_count; i++)
        put_action(out, &command->actions[i]);
    fputs(".SH OPTIONS\n", out);
    for (uint32_t i = 0; i < command->option_count; i++) {
        const struct option_row *row = &command->options[i];

        put_option(out, row->letter, row->name, row->argument, row->help, other_names(command, row));
    }
    put_option(out, 'h', "help", NULL, "print the options", "");
    put_examples(out, command->example);
    roff_rows(out, "EXIT STATUS", exit_rows, "B");
    fputs(".SH SEE ALSO\n.BR accelctl (1),\n", out);
    if (strcmp(command->name, "plugins") == 0)
        fputs(".BR accel\\-conform (1),\n", out);
    fputs(".BR accel\\-profile (5),\n.BR accel\\-settings (5)\n", out);
}

static void main_page(FILE *out)
{
    roff_head(out, "accelctl", 1, "discovers accelerators, plans how a model should run, and runs it");
    fputs(
        ".SH SYNOPSIS\n\\fBaccelctl\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n"
        ".br\n\\fBaccelctl help\\fR [\\fICOMMAND\\fR]\n.br\n\\fBaccelctl \\-\\-version\\fR\n"
        ".SH DESCRIPTION\nDiscovers every accelerator of a machine through driver plugins, decides and explains how a "
        "model should run, and runs it.\n"
        ".PP\nA command that is not listed here is looked for as the program \\fBaccelctl\\-\\fICOMMAND\\fR in the "
        "folder of "
        "helper programs, and nowhere else.\n.SH COMMANDS\n",
        out);
    for (uint32_t i = 0; commands[i] != NULL; i++) {
        fprintf(out, ".TP\n.BR accelctl\\-%s (1)\n", commands[i]->name);
        roff_line(out, commands[i]->summary);
    }
    fputs(
        ".SH JSON\nWith \\fB\\-\\-json\\fR every command prints one document on the standard output. Its member "
        "\\fBschema\\fR is \\fBaccelctl/\\fICOMMAND\\fB/1\\fR, or \\fBaccelctl/error/1\\fR with the members code, "
        "text, "
        "remedy and exit below \\fBerror\\fR. Members may be added to a schema; the number rises when one changes its "
        "meaning or goes.\n",
        out);
    roff_rows(out, "EXIT STATUS", exit_rows, "B");
    roff_rows(out, "ENVIRONMENT", environment_rows, "B");
    fputs(".SH SEE ALSO\n", out);
    for (uint32_t i = 0; commands[i] != NULL; i++)
        fprintf(out, ".BR accelctl\\-%s (1),\n", commands[i]->name);
    fputs(".BR accel\\-conform (1),\n.BR accel\\-profile (5),\n.BR accel\\-settings (5)\n", out);
}

/* Opens FOLDER/NAME to write. */
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

/* Table of the generated files that are not a command's page. */
static const struct page {
    const char *name;
    void (*write)(FILE *out); /* or the next one, which looks into the profiles */
    int (*reference)(FILE *out, const struct profile_files *profiles);
} pages[] = {
    {"accelctl.1", main_page, NULL},           {"completion/accelctl", write_bash, NULL},
    {"completion/_accelctl", write_zsh, NULL}, {"accel-settings.5", NULL, write_settings},
    {"accel-profile.5", NULL, write_language}, {"accel-profile.schema.json", NULL, write_schema},
};

static int write_pages(const char *folder, const struct profile_files *profiles)
{
    char name[64];
    int failed = 0;
    FILE *out;

    for (uint32_t i = 0; commands[i] != NULL; i++) {
        snprintf(name, sizeof name, "accelctl-%s.1", commands[i]->name);
        out = begin(folder, name);
        if (out == NULL)
            return 1;
        command_page(out, commands[i]);
        failed |= fclose(out) != 0;
    }
    for (uint32_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        out = begin(folder, pages[i].name);
        if (out == NULL)
            return 1;
        if (pages[i].write != NULL)
            pages[i].write(out);
        else
            failed |= pages[i].reference(out, profiles);
        failed |= fclose(out) != 0;
    }
    return failed;
}

int main(int count, char **arguments)
{
    struct accel_context_options options = {.size = sizeof options, .flags = ACCEL_CONTEXT_NO_PLUGINS};
    struct accel_context *context = NULL;
    struct accel_error error = {0};
    struct profile_files profiles;
    int failed;

    if (count != 3)
        return 2;
    options.profile_path = arguments[2];
    if (accel_context_create(&options, &context, &error) != ACCEL_OK ||
        profile_files_read(&profiles, context, NULL, &error) != ACCEL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    failed = write_pages(arguments[1], &profiles);
    profile_files_free(&profiles);
    accel_context_free(context, NULL);
    return failed;
}
