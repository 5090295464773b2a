/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the help of a command, from its rows. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/errors.h"
#include "tools/accelctl/habits.h"

enum { HELP_COLUMN = 32 };

/* Prints the left column; a text that fills it has a line of its own. */
static void print_left(const char *text)
{
    if (strlen(text) < HELP_COLUMN)
        print("%-*s", HELP_COLUMN, text);
    else
        print("%s\n%*s", text, HELP_COLUMN, "");
}

/* Prints the help of an option, followed by its other names. */
static void print_option(char letter, const char *name, const char *argument, const char *help, const char *also)
{
    char short_name[] = "  -?, ";
    char left[64], text[512];

    short_name[3] = letter;
    snprintf(left, sizeof(left), "%s--%s%s%s", letter == 0 ? "      " : short_name, name, argument == NULL ? "" : " ",
             argument == NULL ? "" : argument);
    print_left(left);
    snprintf(text, sizeof(text), "%s%s%s%s", help, also[0] == '\0' ? "" : " (also ", also, also[0] == '\0' ? "" : ")");
    print_wrapped(HELP_COLUMN, HELP_COLUMN, text);
}

static void print_action(const struct action_row *row)
{
    char left[64];

    snprintf(left, sizeof(left), "  %s%s%s", row->name, row->arguments[0] == '\0' ? "" : " ", row->arguments);
    print_left(left);
    print_wrapped(HELP_COLUMN, HELP_COLUMN, row->summary);
}

/* Prints paragraphs, each of which is one line of the text. */
static void print_paragraphs(const char *text)
{
    while (*text != '\0') {
        char paragraph[1024];
        size_t length = strcspn(text, "\n");

        snprintf(paragraph, sizeof(paragraph), "%.*s", (int)length, text);
        print("\n");
        print_wrapped(0, 0, paragraph);
        text += length + (text[length] == '\n');
    }
}

void print_command_help(const struct command *command)
{
    print_wrapped((uint32_t)print("accelctl %s: ", command->name), 0, command->summary);
    print("\nUsage: accelctl %s [OPTION...]%s%s\n", command->name, command->arguments[0] == '\0' ? "" : " ",
          command->arguments);
    print_paragraphs(command->detail);
    if (command->action_count > 0)
        print("\nActions:\n");
    for (uint32_t i = 0; i < command->action_count; i++)
        print_action(&command->actions[i]);
    print("\nOptions:\n");
    for (uint32_t i = 0; i < command->option_count; i++) {
        const struct option_row *row = &command->options[i];

        print_option(row->letter, row->name, row->argument, row->help, other_names(command, row));
    }
    print_option('h', "help", NULL, "print this text", "");
}
