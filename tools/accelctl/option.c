/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of options by their rows, and of the action behind a verb. */
#include "config.h"

#include "tools/accelctl/ending.h"
#include "tools/accelctl/say.h"
#include "tools/accelctl/verb.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One use of the parser. */
struct parser {
    const struct verb *verb;
    void *target;
    char **arguments;
    int count;
    int at;
    uint32_t json; /* 1: errors go out as JSON */
};

static int complain(const struct parser *p, const char *format, ...) ACCEL_PRINTF(2, 3);

static int complain(const struct parser *p, const char *format, ...)
{
    char text[400], remedy[100];
    int length = snprintf(text, sizeof text, "%s: ", p->verb->name);
    va_list list;

    va_start(list, format);
    vsnprintf(text + length, sizeof text - (size_t)length, format, list);
    va_end(list);
    snprintf(remedy, sizeof remedy, "accelctl %s --help lists arguments and options", p->verb->name);
    return say(p->json, EXIT_USAGE, "usage", text, remedy);
}

static int refuse_option(const struct parser *p, const char *word, size_t length)
{
    const struct option_row *nearest = NULL;
    uint32_t least = 4;
    char name[32];

    snprintf(name, sizeof name, "%.*s", (int)length, word);
    for (uint32_t i = 0; strlen(name) > 3 && i < p->verb->option_count; i++)
        if (is_nearer(name + 2, p->verb->options[i].name, &least))
            nearest = &p->verb->options[i];
    if (nearest == NULL)
        return complain(p, "there is no option %.*s", (int)length, word);
    return complain(p, "there is no option %.*s; did you mean --%s?", (int)length, word, nearest->name);
}

/* Says that no action has the name. */
static int refuse_action(const struct parser *p, const char *name)
{
    const struct action_row *nearest = NULL;
    uint32_t least = 3;

    for (uint32_t i = 0; i < p->verb->action_count; i++)
        if (is_nearer(name, p->verb->actions[i].name, &least))
            nearest = &p->verb->actions[i];
    if (nearest == NULL)
        return complain(p, "there is no action '%.60s'", name);
    return complain(p, "there is no action '%.60s'; did you mean '%s'?", name, nearest->name);
}

const struct action_row *find_action(const struct verb *verb, int count, char **arguments, uint32_t json, int *out_exit)
{
    const struct parser p = {.verb = verb, .json = json};
    uint32_t more = (uint32_t)count - 1;
    uint32_t i = 0;

    while (i < verb->action_count && strcmp(arguments[0], verb->actions[i].name) != 0)
        i++;
    if (i == verb->action_count)
        *out_exit = refuse_action(&p, arguments[0]);
    else if (more < verb->actions[i].least)
        *out_exit = complain(&p, "%s wants arguments: %s", arguments[0], verb->actions[i].arguments);
    else if (more > verb->actions[i].most)
        *out_exit = complain(&p, "%s: one argument too many: '%s'", arguments[0], arguments[verb->actions[i].most + 1]);
    else
        return &verb->actions[i];
    return NULL;
}

static int complain_number(const struct parser *p, const struct option_row *row, const char *value)
{
    const char *kind = row->type == OPTION_NUMBER ? "whole number" : "number";

    if (row->least == 0 && row->most == 0)
        return complain(p, "--%s wants a %s from 0 on, not '%s'", row->name, kind, value);
    return complain(p, "--%s wants a %s from %.10g to %.10g, not '%s'", row->name, kind, row->least, row->most, value);
}

static int store_number(const struct parser *p, const struct option_row *row, const char *value)
{
    void *place = (char *)p->target + row->offset;
    char *end = NULL;
    double number;

    errno = 0;
    if (row->type == OPTION_NUMBER) {
        *(uint64_t *)place = strtoull(value, &end, 10);
        number = (double)*(uint64_t *)place;
    } else {
        *(double *)place = number = strtod(value, &end);
    }
    if (errno != 0 || end == value || *end != '\0' || strchr(" \t\n-+", value[0]) != NULL || !isfinite(number))
        return complain_number(p, row, value);
    if ((row->least != 0 || row->most != 0) && (number < row->least || number > row->most))
        return complain_number(p, row, value);
    return -1;
}

static int store(const struct parser *p, const struct option_row *row, const char *value)
{
    void *place = (char *)p->target + row->offset;
    struct text_list *list = place;

    switch (row->type) {
    case OPTION_FLAG:
        *(uint32_t *)place = 1;
        return -1;
    case OPTION_TEXT:
        *(const char **)place = value;
        return -1;
    case OPTION_LIST:
        if (list->count == LIST_MOST)
            return complain(p, "more than %d of --%s", LIST_MOST, row->name);
        list->items[list->count++] = value;
        return -1;
    default:
        return store_number(p, row, value);
    }
}

/* The value of an option is the rest of its word, or the next word. */
static int take_value(struct parser *p, const struct option_row *row, const char *rest)
{
    if (rest != NULL)
        return store(p, row, rest);
    if (p->at == p->count)
        return complain(p, "--%s wants a value: %s", row->name, row->argument);
    return store(p, row, p->arguments[p->at++]);
}

static int parse_long(struct parser *p, const char *word)
{
    size_t length = strcspn(word, "=");

    for (uint32_t i = 0; i < p->verb->option_count; i++) {
        const struct option_row *row = &p->verb->options[i];

        if (strlen(row->name) != length - 2 || strncmp(word + 2, row->name, length - 2) != 0)
            continue;
        if (row->type != OPTION_FLAG)
            return take_value(p, row, word[length] == '=' ? word + length + 1 : NULL);
        return word[length] == '=' ? complain(p, "--%s takes no value", row->name) : store(p, row, NULL);
    }
    return refuse_option(p, word, length);
}

/* "-n", "-n20", "-gq". */
static int parse_short(struct parser *p, const char *word)
{
    int code = -1;

    for (const char *letter = word + 1; code < 0 && *letter != '\0'; letter++) {
        const struct option_row *row = NULL;

        for (uint32_t i = 0; i < p->verb->option_count; i++)
            if (p->verb->options[i].letter == *letter)
                row = &p->verb->options[i];
        if (row == NULL)
            return complain(p, "there is no option -%c", *letter);
        if (row->type != OPTION_FLAG)
            return take_value(p, row, letter[1] == '\0' ? NULL : letter + 1);
        code = store(p, row, NULL);
    }
    return code;
}

static int parse_word(struct parser *p, int *kept)
{
    char *word = p->arguments[p->at++];

    if (word[0] != '-' || word[1] == '\0') {
        p->arguments[(*kept)++] = word;
        return -1;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_verb_help(p->verb);
        return EXIT_DONE;
    }
    return word[1] == '-' ? parse_long(p, word) : parse_short(p, word);
}

int parse_options(const struct verb *verb, int *count, char **arguments, void *target)
{
    struct parser p = {.verb = verb, .target = target, .arguments = arguments, .count = *count};
    int kept = 0;

    for (int i = 0; i < *count && strcmp(arguments[i], "--") != 0; i++)
        p.json |= strcmp(arguments[i], "--json") == 0;
    ending_as_json(p.json);
    while (p.at < p.count) {
        int code;

        if (strcmp(arguments[p.at], "--") == 0) {
            for (p.at++; p.at < p.count; p.at++)
                arguments[kept++] = arguments[p.at];
            break;
        }
        code = parse_word(&p, &kept);
        if (code >= 0)
            return code;
    }
    *count = kept;
    if ((uint32_t)kept < verb->least)
        return complain(&p, "wants an argument: %s", verb->arguments);
    if ((uint32_t)kept > verb->most)
        return complain(&p, "one argument too many: '%s'", arguments[verb->most]);
    return -1;
}
