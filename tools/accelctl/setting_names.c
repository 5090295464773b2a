/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/setting_names.h"

#include <stdio.h>
#include <string.h>

#include <accel/profile.h>

#include "tools/accelctl/habits.h"
#include "tools/accelctl/words.h"

/* Returns the name of setting `index`, or of a name for two settings behind them; NULL past the last one. */
static const char *name_at(uint32_t index)
{
    uint32_t rows = accel_setting_row_count();

    return index < rows ? accel_setting_row_get(index)->name : setting_group(index - rows);
}

static const char *setting_of_variable(const char *word)
{
    const char *name;
    char variable[128];

    for (uint32_t i = 0; (name = name_at(i)) != NULL; i++)
        if (accel_setting_variable(name, variable, sizeof(variable)) == ACCEL_OK && strcmp(variable, word) == 0)
            return name;
    return NULL;
}

/* Returns the only option for a setting whose name begins with the word and a dash: "ctx-size" for "ctx". */
static const char *option_of_beginning(const struct command *command, const char *name)
{
    size_t length = strlen(name);
    const char *only = NULL;

    for (uint32_t i = 0; i < command->option_count; i++) {
        const struct option_row *row = &command->options[i];

        if (row->type != OPTION_SETTING || strncmp(row->name, name, length) != 0 || row->name[length] != '-')
            continue;
        if (only != NULL)
            return NULL;
        only = row->name;
    }
    return only;
}

/* Returns the option of the command that a letter or a name, both without dashes, stands for. */
static const char *option_of_name(const struct command *command, const char *name)
{
    const char *beginning = option_of_beginning(command, name);

    for (uint32_t i = 0; name[0] != '\0' && name[1] == '\0' && i < command->option_count; i++)
        if (command->options[i].letter == name[0])
            return command->options[i].name;
    return beginning != NULL ? beginning : option_of_parameter(command, name);
}

/* Returns the only setting whose name ends in ".WORD". */
static const char *setting_of_end(const char *word)
{
    const char *name, *only = NULL;

    for (uint32_t i = 0; (name = name_at(i)) != NULL; i++) {
        const char *dot = strrchr(name, '.');

        if (dot == NULL || strcmp(dot + 1, word) != 0)
            continue;
        if (only != NULL)
            return NULL;
        only = name;
    }
    return only;
}

/* Copies a name of an option, without its dashes and in the letters of options. */
static const char *plain_name(const char *word, char name[SETTING_NAME_BYTES])
{
    snprintf(name, SETTING_NAME_BYTES, "%s", word + strspn(word, "-"));
    for (char *at = name; *at != '\0'; at++)
        *at = *at == '_' ? '-' : *at;
    return name;
}

const char *setting_of_name(const char *word, char key[SETTING_NAME_BYTES])
{
    static const struct command *const having[] = {&command_plan, &command_run};
    char name[SETTING_NAME_BYTES];
    const char *found = setting_of_variable(word);

    plain_name(word, name);
    for (size_t i = 0; found == NULL && i < sizeof(having) / sizeof(*having); i++)
        found = setting_of_option(option_of_name(having[i], name));
    if (found == NULL)
        found = setting_of_end(word);
    if (found == NULL)
        return NULL;
    /* An option without an argument stands for KEY=VALUE. */
    snprintf(key, SETTING_NAME_BYTES, "%.*s", (int)strcspn(found, "="), found);
    return key;
}

const char *run_option_of_name(const char *word)
{
    char name[SETTING_NAME_BYTES];

    plain_name(word, name);
    return option_of_setting(&command_run, option_of_name(&command_run, name));
}
