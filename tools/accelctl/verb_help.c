/* SPDX-License-Identifier: Apache-2.0 */
/* The help of a verb, from its rows. */
#include "config.h"

#include "tools/accelctl/say.h"
#include "tools/accelctl/verb.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 32 };

static void print_option(char letter, const char *name, const char *argument, const char *help)
{
    char short_name[] = "  -?, ";
    char left[64];
    int length;

    short_name[3] = letter;
    length = snprintf(left, sizeof left, "%s--%s%s%s", letter == 0 ? "      " : short_name, name,
                      argument == NULL ? "" : " ", argument == NULL ? "" : argument);
    print("%-*s", HELP_COLUMN, left);
    print_wrapped(length < HELP_COLUMN ? HELP_COLUMN : (uint32_t)length, HELP_COLUMN, help);
}

static void print_action(const struct action_row *row)
{
    int length = print("  %s%s%s", row->name, row->arguments[0] == '\0' ? "" : " ", row->arguments);

    if (length < HELP_COLUMN)
        length += print("%*s", HELP_COLUMN - length, "");
    else
        length += print(" ");
    print_wrapped((uint32_t)length, HELP_COLUMN, row->summary);
}

/* Paragraphs, one line each. */
static void print_paragraphs(const char *text)
{
    while (*text != '\0') {
        char paragraph[1024];
        size_t length = strcspn(text, "\n");

        snprintf(paragraph, sizeof paragraph, "%.*s", (int)length, text);
        print("\n");
        print_wrapped(0, 0, paragraph);
        text += length + (text[length] == '\n');
    }
}

void print_verb_help(const struct verb *verb)
{
    print_wrapped((uint32_t)print("accelctl %s: ", verb->name), 0, verb->summary);
    print("\nUsage: accelctl %s [OPTION...]%s%s\n", verb->name, verb->arguments[0] == '\0' ? "" : " ", verb->arguments);
    print_paragraphs(verb->detail);
    if (verb->action_count > 0)
        print("\nActions:\n");
    for (uint32_t i = 0; i < verb->action_count; i++)
        print_action(&verb->actions[i]);
    print("\nOptions:\n");
    for (uint32_t i = 0; i < verb->option_count; i++) {
        const struct option_row *row = &verb->options[i];

        print_option(row->letter, row->name, row->argument, row->help);
    }
    print_option('h', "help", NULL, "print this text");
}
