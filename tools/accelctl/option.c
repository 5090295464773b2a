/* SPDX-License-Identifier: Apache-2.0 */
/* Parses options by their rows, and the action of a command. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/crash_report.h"
#include "tools/accelctl/errors.h"
#include "tools/accelctl/habits.h"
#include "tools/accelctl/words.h"

/* State of the parser. */
struct parser {
    const struct command *command;
    void *target;
    char **arguments;
    int count;
    int at;
    int positional_count;     /* arguments that are no options, in front of `arguments` */
    bool has_option_argument; /* the first of them is the value of an option */
    const char *word;         /* the option that is parsed */
    char spelling[48];        /* its name as it was typed; for a key of a chat without dashes */
    uint32_t json;            /* 1: errors go out as JSON */
};

static int complain(const struct parser *p, const char *format, ...) ACCEL_PRINTF(2, 3);

/* Returns true for a command within a chat, "/set", whose options are keys without dashes. */
static bool is_slash_command(const struct command *command)
{
    return command->name[0] == '/';
}

static int complain(const struct parser *p, const char *format, ...)
{
    char text[400], remedy[100];
    int length = snprintf(text, sizeof(text), "%s: ", p->command->name);
    va_list list;

    va_start(list, format);
    vsnprintf(text + length, sizeof(text) - (size_t)length, format, list);
    va_end(list);
    if (is_slash_command(p->command))
        snprintf(remedy, sizeof(remedy), "%s lists what can be set", p->command->name);
    else
        snprintf(remedy, sizeof(remedy), "accelctl %s --help lists arguments and options", p->command->name);
    return report_error_text(p->json, EXIT_USAGE, "usage", text, remedy);
}

/* Finds the row whose name, with its dashes, is the first `length` bytes of `word`. */
static const struct option_row *find_option(const struct command *command, const char *word, size_t length)
{
    for (uint32_t i = 0; i < command->option_count; i++) {
        const struct option_row *row = &command->options[i];

        if (strncmp(word, "--", 2) == 0 && strlen(row->name) + 2 == length &&
            strncmp(word + 2, row->name, length - 2) == 0)
            return row;
        if (has_word(other_names(command, row), word, length))
            return row;
    }
    return NULL;
}

static const struct option_row *find_letter(const struct command *command, char letter)
{
    for (uint32_t i = 0; i < command->option_count; i++)
        if (command->options[i].letter == letter)
            return &command->options[i];
    return NULL;
}

/* Returns whether a word is the beginning of the option's name, or the setting that the option stands for. */
static bool is_short_for(const struct option_row *row, const char *word)
{
    const char *key = row->type == OPTION_SETTING ? setting_of_option(row->name) : NULL;

    return (strlen(word) > 2 && strncmp(row->name, word, strlen(word)) == 0) || (key != NULL && strcmp(key, word) == 0);
}

/* Finds the option that is nearest to a misspelt one, with its dashes. */
static const char *nearest_option(const struct parser *p, const char *word, char near[64])
{
    uint32_t least = unrelated_distance(word + strspn(word, "-"));

    near[0] = '\0';
    for (uint32_t i = 0; i < p->command->option_count; i++)
        if (is_short_for(&p->command->options[i], word + strspn(word, "-"))) {
            snprintf(near, 64, "--%s", p->command->options[i].name);
            return near;
        }
    if (is_nearer(word + strspn(word, "-"), "help", &least))
        snprintf(near, 64, "--help");
    for (uint32_t i = 0; i < p->command->option_count; i++) {
        const struct option_row *row = &p->command->options[i];
        char other[64];

        if (is_nearer(word + strspn(word, "-"), row->name, &least))
            snprintf(near, 64, "--%s", row->name);
        for (const char *at = other_names(p->command, row); *at != '\0'; at += strspn(at, " ")) {
            snprintf(other, sizeof(other), "%.*s", (int)strcspn(at, " "), at);
            at += strcspn(at, " ");
            if (is_nearer(word, other, &least))
                snprintf(near, 64, "%s", other);
        }
    }
    return near[0] == '\0' ? NULL : near;
}

/* Returns whether an option has a value that letters can begin: not a flag, and no number. */
static bool takes_text(const struct option_row *row)
{
    return row->argument != NULL && strcmp(row->argument, "N") != 0 && row->type != OPTION_REAL;
}

static int refuse_option(const struct parser *p, const char *word, size_t length)
{
    const char *instead = instead_of_option(p->command->name, word, length);
    const struct option_row *letter = word[1] != '-' && length > 2 ? find_letter(p->command, word[1]) : NULL;
    const char *nearest = NULL;
    char name[32], near[64];

    if (instead != NULL)
        return report_error_format(p->json, EXIT_USAGE, "usage", instead, "%s: there is no option %.*s",
                                   p->command->name, (int)length, word);
    snprintf(name, sizeof(name), "%.*s", (int)length, word);
    if (strlen(name) > 2)
        nearest = nearest_option(p, name, near);
    if (nearest == NULL && letter != NULL && takes_text(letter))
        return complain(p, "there is no option %.*s; a value has a space before it: -%c %.*s", (int)length, word,
                        word[1], (int)length - 2, word + 2);
    if (nearest == NULL && letter != NULL) {
        snprintf(near, sizeof(near), "-%c", word[1]);
        nearest = near;
    }
    if (nearest == NULL)
        return complain(p, "there is no option %.*s", (int)length, word);
    return complain(p, "there is no option %.*s; did you mean %s?", (int)length, word, nearest);
}

/* Reports an unknown action. */
static int refuse_action(const struct parser *p, const char *name)
{
    const struct action_row *nearest = NULL;
    uint32_t least = unrelated_distance(name);

    for (uint32_t i = 0; i < p->command->action_count; i++)
        if (is_nearer(name, p->command->actions[i].name, &least))
            nearest = &p->command->actions[i];
    if (nearest == NULL)
        return complain(p, "there is no action '%.60s'", name);
    return complain(p, "there is no action '%.60s'; did you mean '%s'?", name, nearest->name);
}

const struct action_row *find_action(const struct command *command, int count, char **arguments, uint32_t json,
                                     int *out_exit)
{
    const struct parser p = {.command = command, .json = json};
    uint32_t more = (uint32_t)count - 1;
    uint32_t i = 0;

    while (i < command->action_count && strcmp(arguments[0], command->actions[i].name) != 0)
        i++;
    if (i == command->action_count)
        *out_exit = refuse_action(&p, arguments[0]);
    else if (more < command->actions[i].least)
        *out_exit = complain(&p, "%s requires arguments: %s", arguments[0], command->actions[i].arguments);
    else if (more > command->actions[i].most)
        *out_exit =
            complain(&p, "%s: one argument too many: '%s'", arguments[0], arguments[command->actions[i].most + 1]);
    else
        return &command->actions[i];
    return NULL;
}

static int complain_number(const struct parser *p, const struct option_row *row, const char *value)
{
    const char *kind = row->type == OPTION_REAL ? "number" : "whole number";
    const char *instead = instead_of_value(p->command->name, row->name, value);
    const char *unlimited = strcmp(row->name, "repeat-last-n") == 0 ? "for the whole text" : "for no limit";

    if (instead != NULL) {
        char text[200];

        snprintf(text, sizeof(text), "%s: %s requires a whole number from %.0f on%s, not '%.40s'", p->command->name,
                 p->spelling, row->least, row->type == OPTION_LIMIT ? ", or -1 for no limit" : "", value);
        return report_error_text(p->json, EXIT_USAGE, "usage", text, instead);
    }
    if (row->type == OPTION_LIMIT)
        return complain(p, "%s requires a whole number from %.0f to %.0f, or -1 %s, not '%s'", p->spelling, row->least,
                        row->most, unlimited, value);
    if (row->least == 0 && row->most == 0)
        return complain(p, "%s requires a %s from 0 on, not '%s'", p->spelling, kind, value);
    return complain(p, "%s requires a %s from %.16g to %.16g, not '%s'", p->spelling, kind, row->least, row->most,
                    value);
}

/* Adds the texts of a number that becomes a setting. */
static void name_number(const struct parser *p, struct named_number *number)
{
    snprintf(number->text, sizeof(number->text), "%" PRIu64, number->value);
    snprintf(number->origin, sizeof(number->origin), "command line %s %s", p->spelling, number->text);
}

static int store_number(const struct parser *p, const struct option_row *row, const char *value)
{
    void *place = (char *)p->target + row->offset;
    char *end = NULL;
    double number;

    if (row->type == OPTION_LIMIT && strcmp(value, "-1") == 0) {
        *(uint64_t *)place = UINT64_MAX;
        return -1;
    }
    errno = 0;
    if (row->type != OPTION_REAL && expand_count(value) != NULL)
        value = expand_count(value);
    if (row->type != OPTION_REAL) {
        *(uint64_t *)place = strtoull(value, &end, 10);
        number = (double)*(uint64_t *)place;
    } else {
        *(double *)place = number = strtod(value, &end);
    }
    if (errno != 0 || end == value || *end != '\0' || strchr(" \t\n-+", value[0]) != NULL || !isfinite(number))
        return complain_number(p, row, value);
    if ((row->least != 0 || row->most != 0) && (number < row->least || number > row->most))
        return complain_number(p, row, value);
    if (row->type == OPTION_NAMED)
        name_number(p, place);
    return -1;
}

static int store_seed(const struct parser *p, const struct option_row *row, const char *value)
{
    struct seed_choice *seed = (void *)((char *)p->target + row->offset);
    char *end = NULL;

    *seed = (struct seed_choice){.origin = SEED_DRAW};
    if (strcmp(value, "-1") == 0)
        return -1;
    errno = 0;
    *seed = (struct seed_choice){strtoull(value, &end, 10), SEED_GIVEN};
    if (errno == 0 && *end == '\0' && value[0] >= '0' && value[0] <= '9')
        return -1;
    return complain(p, "%s requires a whole number from 0 to %" PRIu64 ", or -1 to draw one, not '%s'", p->spelling,
                    UINT64_MAX, value);
}

/* Stores "KEY=VALUE" of an option that stands for a setting, and the option as it was typed. Both live until the
 * end, since the command's struct refers to them. */
static int store_setting(const struct parser *p, const struct option_row *row, const char *value)
{
    static char *texts[2 * LIST_MOST];
    static uint32_t count;
    struct text_list *list = (void *)((char *)p->target + row->offset);
    const char *key = setting_of_option(row->name);

    if (list->count == LIST_MOST || count + 2 > 2 * LIST_MOST)
        return complain(p, "more than %d settings", LIST_MOST);
    if (value != NULL && instead_of_setting(p->command->name, key, value) != NULL)
        return report_error_format(p->json, EXIT_USAGE, "usage", instead_of_setting(p->command->name, key, value),
                                   "%s: %s: %s has no value '%.40s'", p->command->name, p->spelling, key, value);
    list->items[list->count] = key;
    list->words[list->count++] = p->word;
    if (value == NULL)
        return -1;
    if (asprintf(&texts[count], "%s=%s", key, setting_word(key, value)) < 0 ||
        asprintf(&texts[count + 1], "%.*s %s", (int)strcspn(p->word, "="), p->word, value) < 0)
        return report_error_text(p->json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for the settings", NULL);
    list->items[list->count - 1] = texts[count];
    list->words[list->count - 1] = texts[count + 1];
    count += 2;
    return -1;
}

static int refuse_value(const struct parser *p, const struct option_row *row, const char *value)
{
    return report_error_format(p->json, EXIT_USAGE, "usage", instead_of_value(p->command->name, row->name, value),
                               "%s: %s is no '%.100s'", p->command->name, p->spelling, value);
}

/* Refuses a second device, since it may be meant to join the first one or to replace it. */
static int refuse_second_device(const struct parser *p, const char *first, const char *second)
{
    char text[200], remedy[240];

    snprintf(text, sizeof(text), "%s: --device %.60s and --device %.60s: one option has all devices", p->command->name,
             first, second);
    snprintf(remedy, sizeof(remedy), "--device %.80s,%.80s names both; leave one out if it was to replace the other",
             first, second);
    return report_error_text(p->json, EXIT_USAGE, "usage", text, remedy);
}

/* Appends to a list "N,N...", as llama-bench does with an option that is repeated. The texts live until the end, since
 * the command's struct refers to them. */
static int append_to_list(const struct parser *p, const char **list, const char *value)
{
    static char *texts[LIST_MOST];
    static uint32_t count;

    if (count == LIST_MOST)
        return complain(p, "more than %d of %s", LIST_MOST, p->spelling);
    if (asprintf(&texts[count], "%s,%s", *list, value) < 0)
        return report_error_text(p->json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for a list of values", NULL);
    *list = texts[count++];
    return -1;
}

static int store(struct parser *p, const struct option_row *row, const char *value)
{
    void *place = (char *)p->target + row->offset;
    struct text_list *list = place;

    switch (row->type) {
    case OPTION_FLAG:
        *(uint32_t *)place = 1;
        return -1;
    case OPTION_TEXT:
        value = option_word(p->command->name, row->name, value);
        if (*(const char **)place != NULL && strcmp(row->name, "device") == 0 &&
            strcmp(*(const char **)place, value) != 0)
            return refuse_second_device(p, *(const char **)place, value);
        if (instead_of_value(p->command->name, row->name, value) != NULL)
            return refuse_value(p, row, value);
        if (*(const char **)place != NULL && strstr(row->argument, "...") != NULL)
            return append_to_list(p, place, value);
        *(const char **)place = value;
        return -1;
    case OPTION_LIST:
        if (list->count == LIST_MOST)
            return complain(p, "more than %d of %s", LIST_MOST, p->spelling);
        list->items[list->count++] = value;
        return -1;
    case OPTION_SEED:
        return store_seed(p, row, value);
    case OPTION_SETTING:
        return store_setting(p, row, value);
    case OPTION_ARGUMENT:
        /* It is the first argument. The last of the same option counts, but bench refuses several models. The array has
         * space, since the option's words were removed from it. */
        if (!p->has_option_argument || strcmp(p->command->name, "bench") == 0)
            memmove(p->arguments + 1, p->arguments, (size_t)p->positional_count++ * sizeof(*p->arguments));
        p->has_option_argument = true;
        p->arguments[0] = (char *)value;
        return -1;
    default:
        return store_number(p, row, option_word(p->command->name, row->name, value));
    }
}

static bool has_value(const struct option_row *row)
{
    return row->argument != NULL;
}

/* Reads the value of an option: the rest of its word, or the next word. */
static int parse_value(struct parser *p, const struct option_row *row, const char *rest)
{
    const char *next = p->at == p->count ? NULL : p->arguments[p->at], *value;
    bool takes_next;

    if (rest != NULL)
        return store(p, row, rest);
    value = optional_value(row->name, next, &takes_next);
    if (value != NULL) {
        p->at += takes_next;
        return store(p, row, value);
    }
    if (p->at == p->count)
        return complain(p, "%s requires a value: %s", p->spelling, row->argument);
    return store(p, row, p->arguments[p->at++]);
}

/* Stores the name of an option for errors. */
static void spell(struct parser *p, const char *name, size_t length)
{
    const size_t dashes = is_slash_command(p->command) ? 2 : 0;

    snprintf(p->spelling, sizeof(p->spelling), "%.*s", (int)(length - dashes), name + dashes);
}

/* Parses "--name", "--name=value", and names of more than one letter behind one dash: "-ngl". */
static int parse_name(struct parser *p, const struct option_row *row, const char *word)
{
    size_t length = strcspn(word, "=");

    spell(p, word, length);
    if (has_value(row))
        return parse_value(p, row, word[length] == '=' ? word + length + 1 : NULL);
    return word[length] == '=' ? complain(p, "%s takes no value", p->spelling) : store(p, row, NULL);
}

/* Parses "-n", "-n20", "-n=20", "-gq". Only numbers may directly follow their letter: "-ngl" is not "-n gl". */
static int parse_short(struct parser *p, const char *word)
{
    int code = -1;

    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        const struct option_row *row = find_letter(p->command, *letter);

        if (row == NULL || (has_value(row) && letter[1] != '\0' && strchr("0123456789.=", letter[1]) == NULL))
            return refuse_option(p, word, strcspn(word, "="));
        if (has_value(row))
            break;
    }
    for (const char *letter = word + 1; code < 0 && *letter != '\0'; letter++) {
        const struct option_row *row = find_letter(p->command, *letter);
        const char name[] = {'-', *letter};

        spell(p, name, sizeof(name));
        if (has_value(row))
            return parse_value(p, row, letter[1] == '\0' ? NULL : letter + 1 + (letter[1] == '='));
        code = store(p, row, NULL);
    }
    return code;
}

/* Takes back a flag that stands before. */
static void clear_flag(const struct parser *p, const char *name)
{
    for (uint32_t i = 0; i < p->command->option_count; i++)
        if (strcmp(p->command->options[i].name, name) == 0)
            *(uint32_t *)((char *)p->target + p->command->options[i].offset) = 0;
}

/* Reports a missing argument, with the actions of the command or an example of its call. */
static int refuse_missing(const struct parser *p)
{
    const struct command *command = p->command;
    char text[120], remedy[500];
    size_t used = 0;

    if (command->action_count == 0 && (is_slash_command(command) || strncmp(command->example, "accelctl ", 9) != 0))
        return complain(p, "requires an argument: %s", command->arguments);
    snprintf(text, sizeof(text), "%s: requires an argument: %s", command->name, command->arguments);
    for (uint32_t i = 0; i < command->action_count && used < sizeof(remedy); i++)
        used += (size_t)snprintf(remedy + used, sizeof(remedy) - used, "%s%s", i == 0 ? "actions are " : ", ",
                                 command->actions[i].name);
    if (command->action_count == 0)
        used = (size_t)snprintf(remedy, sizeof(remedy), "for example, %.*s", (int)strcspn(command->example, "\n"),
                                command->example);
    if (used < sizeof(remedy))
        snprintf(remedy + used, sizeof(remedy) - used, "; accelctl %s --help lists arguments and options",
                 command->name);
    return report_error_text(p->json, EXIT_USAGE, "usage", text, remedy);
}

static int parse_word(struct parser *p)
{
    char *word = p->arguments[p->at++];
    const struct option_row *row;

    p->word = word;
    /* As llama.cpp has it: --ctx_size is --ctx-size. */
    for (char *at = word; strncmp(word, "--", 2) == 0 && *at != '\0' && *at != '='; at++)
        *at = *at == '_' ? '-' : *at;
    if (word[0] != '-' || word[1] == '\0') {
        p->arguments[p->positional_count++] = word;
        return -1;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_command_help(p->command);
        return EXIT_DONE;
    }
    row = find_option(p->command, word, strcspn(word, "="));
    if (row != NULL)
        return parse_name(p, row, word);
    if (is_always_so(p->command->name, word))
        return -1;
    if (cleared_option(p->command->name, word) != NULL) {
        clear_flag(p, cleared_option(p->command->name, word));
        return -1;
    }
    return word[1] == '-' ? refuse_option(p, word, strcspn(word, "=")) : parse_short(p, word);
}

int parse_options_as(const struct command *command, int *count, char **arguments, uint32_t json, void *target)
{
    struct parser p = {.command = command, .target = target, .arguments = arguments, .count = *count, .json = json};

    while (p.at < p.count) {
        int code;

        if (strcmp(arguments[p.at], "--") == 0) {
            for (p.at++; p.at < p.count; p.at++)
                arguments[p.positional_count++] = arguments[p.at];
            break;
        }
        code = parse_word(&p);
        if (code >= 0)
            return code;
    }
    *count = p.positional_count;
    if ((uint32_t)p.positional_count < command->least)
        return refuse_missing(&p);
    if ((uint32_t)p.positional_count > command->most && instead_of_argument(command->name) != NULL)
        return report_error_format(p.json, EXIT_USAGE, "usage", instead_of_argument(command->name),
                                   "%s: one argument too many: '%.100s'", command->name, arguments[command->most]);
    if ((uint32_t)p.positional_count > command->most)
        return complain(&p, "one argument too many: '%s'", arguments[command->most]);
    return -1;
}

uint32_t requests_json(int count, char *const *arguments)
{
    static const char *const names[] = {"--json", "--json-lines"};
    uint32_t json = 0;

    for (int i = 0; i < count && strcmp(arguments[i], "--") != 0; i++)
        for (uint32_t n = 0; n < 2; n++)
            if (strcspn(arguments[i], "=") == strlen(names[n]) &&
                strncmp(arguments[i], names[n], strlen(names[n])) == 0) {
                json = 1;
                if (n == 1)
                    print_json_lines();
            }
    return json;
}

int parse_options(const struct command *command, int *count, char **arguments, void *target)
{
    uint32_t json = requests_json(*count, arguments);

    crash_report_as_json(json);
    return parse_options_as(command, count, arguments, json, target);
}
