/* SPDX-License-Identifier: Apache-2.0 */
/* accelctl discovers accelerators, plans and runs models. Each command has a file of its own. */
#include "config.h"

#include <string.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/errors.h"
#include "tools/accelctl/external.h"
#include "tools/accelctl/habits.h"
#include "tools/accelctl/start.h"
#include "tools/accelctl/words.h"

static void print_rows(const char *heading, const struct word_row *row)
{
    print("\n%s:\n", heading);
    for (; row->left != NULL; row++) {
        /* A longer name has a line of its own. */
        if (strlen(row->left) < 20)
            print("  %-19s ", row->left);
        else
            print("  %s\n%22s", row->left, "");
        print_wrapped(22, 22, row->right);
    }
}

static void print_help(void)
{
    print_wrapped(0, 0,
                  "accelctl: discovers every accelerator of a machine, decides and explains how a model should run on "
                  "it, and runs it.");
    print("\nUsage: accelctl COMMAND [OPTION...] [ARGUMENT...]\n\nCommands:\n");
    for (uint32_t i = 0; commands[i] != NULL; i++)
        print_wrapped((uint32_t)print("  %-20s", commands[i]->name), 22, commands[i]->summary);
    print("\n");
    print_wrapped(
        0, 0,
        "accelctl COMMAND --help, or accelctl help COMMAND, lists the options of a command. make install installs "
        "completions for bash and zsh; from a source tree, . doc/completion/accelctl loads those of bash.");
    print_rows("Exit status", exit_rows);
    print_rows("Environment", environment_rows);
}

static const struct command *find_command(const char *name)
{
    for (uint32_t i = 0; commands[i] != NULL; i++)
        if (strcmp(name, commands[i]->name) == 0 ||
            (commands[i]->alias != NULL && strcmp(name, commands[i]->alias) == 0))
            return commands[i];
    return NULL;
}

static int refuse_command(const char *name, int count, char **arguments)
{
    const char *instead = instead_of_command(name);
    const struct command *nearest = NULL;
    uint32_t least = unrelated_distance(name);
    uint32_t json = requests_json(count, arguments);
    size_t length = strlen(name), tail = sizeof(".gguf") - 1;
    char text[200], remedy[4200];

    if (strchr(name, '/') != NULL || (length > tail && strcmp(name + length - tail, ".gguf") == 0)) {
        snprintf(text, sizeof(text), "a command is required before the path '%.150s'", name);
        snprintf(remedy, sizeof(remedy), "accelctl run %s", name);
        return report_error_text(json, EXIT_USAGE, "usage", text, remedy);
    }
    if (name[0] == '-') {
        snprintf(text, sizeof(text), "a command is required before the option '%.60s'", name);
        instead = "accelctl run -m MODEL -p TEXT; accelctl --help lists the commands";
    }
    for (uint32_t i = 0; commands[i] != NULL && name[0] != '-'; i++)
        if (is_nearer(name, commands[i]->name, &least))
            nearest = commands[i];
    if (name[0] == '-')
        return report_error_text(json, EXIT_USAGE, "usage", text, instead);
    if (nearest == NULL || instead != NULL)
        snprintf(text, sizeof(text), "there is no command '%.60s'", name);
    else
        snprintf(text, sizeof(text), "there is no command '%.60s'; did you mean '%s'?", name, nearest->name);
    return report_error_text(json, EXIT_USAGE, "usage", text,
                             instead != NULL ? instead : "accelctl --help lists the commands");
}

static int help(const char *name, int count, char **arguments)
{
    const struct command *command = name == NULL ? NULL : find_command(name);

    if (command != NULL)
        print_command_help(command);
    else if (name == NULL)
        print_help();
    else
        return refuse_command(name, count, arguments);
    return EXIT_DONE;
}

static int act(int count, char **arguments)
{
    const struct command *command;

    if (count < 2)
        return report_error_text(0, EXIT_USAGE, "usage", "a command is required", "accelctl --help lists the commands");
    if (strcmp(arguments[1], "--help") == 0 || strcmp(arguments[1], "-h") == 0)
        return help(NULL, count, arguments);
    if (strcmp(arguments[1], "help") == 0)
        return help(arguments[2], count, arguments);
    if (strcmp(arguments[1], "--version") == 0)
        return command_version.run(0, arguments + 2, &command_version);
    command = find_command(arguments[1]);
    if (command != NULL)
        return command->run(count - 2, arguments + 2, command);
    run_external(arguments[1], arguments + 1);
    return refuse_command(arguments[1], count, arguments);
}

int main(int count, char **arguments)
{
    return run_process(act, count, arguments);
}
