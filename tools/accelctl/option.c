/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/verb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void print_verb_help(const struct verb *verb)
{
    printf("accelctl %s: %s\n\nUsage: accelctl %s%s%s%s\n", verb->name, verb->summary, verb->name,
           verb->option_count > 0 ? " [OPTION...]" : "", verb->arguments[0] == '\0' ? "" : " ", verb->arguments);
    if (verb->detail[0] != '\0')
        printf("\n%s\n", verb->detail);
    printf("\nOptions:\n");
    for (uint32_t i = 0; i < verb->option_count; i++) {
        const struct option_row *row = &verb->options[i];
        char left[64];

        snprintf(left, sizeof left, "%c%c%s --%s%s%s", row->letter == 0 ? ' ' : '-',
                 row->letter == 0 ? ' ' : row->letter, row->letter == 0 ? " " : ",", row->name,
                 row->argument == NULL ? "" : " ", row->argument == NULL ? "" : row->argument);
        printf("  %-30s %s\n", left, row->help);
    }
    printf("  %-30s %s\n", "-h, --help", "this text");
}

static int complain(const struct verb *verb, const char *text, const char *what)
{
    fprintf(stderr, "accelctl %s: %s%s%s\n", verb->name, text, what == NULL ? "" : " ", what == NULL ? "" : what);
    fprintf(stderr, "accelctl %s --help tells the options\n", verb->name);
    return EXIT_USAGE;
}

static const struct option_row *find_row(const struct verb *verb, const char *word, size_t length)
{
    for (uint32_t i = 0; i < verb->option_count; i++) {
        const struct option_row *row = &verb->options[i];

        if (word[0] == '-' && word[1] == '-' && strlen(row->name) == length - 2 &&
            strncmp(word + 2, row->name, length - 2) == 0)
            return row;
        if (word[1] != '-' && row->letter != 0 && word[1] == row->letter && length == 2)
            return row;
    }
    return NULL;
}

static int store(const struct verb *verb, const struct option_row *row, const char *value, void *target)
{
    void *place = (char *)target + row->offset;
    struct text_list *list = place;
    char *end = NULL;

    errno = 0;
    switch (row->type) {
    case OPTION_FLAG:
        *(uint32_t *)place = 1;
        return -1;
    case OPTION_TEXT:
        *(const char **)place = value;
        return -1;
    case OPTION_LIST:
        if (list->count == LIST_MOST)
            return complain(verb, "too many of", row->name);
        list->items[list->count++] = value;
        return -1;
    case OPTION_NUMBER:
        *(uint64_t *)place = strtoull(value, &end, 10);
        break;
    case OPTION_REAL:
        *(double *)place = strtod(value, &end);
        break;
    }
    if (errno != 0 || end == value || *end != '\0' || value[0] == '-')
        return complain(verb, "not a number that is wanted here:", value);
    return -1;
}

/* One option at arguments[at]; *used is 1 or 2 words. */
static int parse_one(const struct verb *verb, int count, char **arguments, int at, void *target, int *used)
{
    const char *word = arguments[at];
    const char *equals = word[1] == '-' ? strchr(word, '=') : NULL;
    size_t length = equals == NULL ? strlen(word) : (size_t)(equals - word);
    const struct option_row *row;

    *used = 1;
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_verb_help(verb);
        return EXIT_DONE;
    }
    row = find_row(verb, word, length);
    if (row == NULL)
        return complain(verb, "no option", word);
    if (row->type == OPTION_FLAG)
        return equals == NULL ? store(verb, row, NULL, target) : complain(verb, "takes no value:", row->name);
    if (equals != NULL)
        return store(verb, row, equals + 1, target);
    if (at + 1 == count)
        return complain(verb, "wants a value:", word);
    *used = 2;
    return store(verb, row, arguments[at + 1], target);
}

int parse_options(const struct verb *verb, int *count, char **arguments, void *target)
{
    int kept = 0;
    int at = 0;

    while (at < *count) {
        int used = 1;
        int code = -1;

        if (strcmp(arguments[at], "--") == 0) {
            for (at++; at < *count; at++)
                arguments[kept++] = arguments[at];
            break;
        }
        if (arguments[at][0] == '-' && arguments[at][1] != '\0')
            code = parse_one(verb, *count, arguments, at, target, &used);
        else
            arguments[kept++] = arguments[at];
        if (code >= 0)
            return code;
        at += used;
    }
    *count = kept;
    if ((uint32_t)kept < verb->least)
        return complain(verb, "wants", verb->arguments);
    if ((uint32_t)kept > verb->most)
        return complain(verb, "does not want", arguments[verb->most]);
    return -1;
}
