/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json FILE SCHEMA: the file is one JSON document of this schema ("-": of any). json FILE SCHEMA PATH: prints the value
 * at a path such as runs.0.text; strings as they are, "#" at its end for a length; runs.*.text: a line for each run,
 * empty where it has no such value. Exit status 1 says why on the error output. json FILE --origins: every number of
 * the document has an origin: one of an object around it, a text for all of it or an object of texts for its members,
 * or the kind in it; prints the paths of those without.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *file, const char *what, const char *more)
{
    fprintf(stderr, "%s: %s %s\n", file, what, more);
    return 1;
}

/* The member that *path begins with, which is moved past it. Keys may contain dots themselves: the longest one counts.
 */
static const json_t *step(const json_t *value, char **path)
{
    size_t length = strlen(*path);

    for (size_t end = length; end > 0; end--) {
        const json_t *found;
        char *begin = *path;

        if (end != length && begin[end] != '.')
            continue;
        begin[end] = '\0';
        found = json_is_array(value) ? json_array_get(value, (size_t)atol(begin)) : json_object_get(value, begin);
        *path = end == length ? NULL : begin + end + 1;
        if (found != NULL && (!json_is_array(value) || strspn(begin, "0123456789") == end))
            return found;
        if (end != length)
            begin[end] = '.';
        *path = begin;
    }
    return NULL;
}

static const json_t *find(const json_t *value, char *path)
{
    while (value != NULL && path != NULL && *path != '\0')
        value = step(value, &path);
    return value;
}

/* Prints the value, or its length if the path ends with "#"; returns false if there is none. */
static bool print_at(const json_t *value, char *path)
{
    size_t length = strlen(path);
    const bool counts = length > 0 && path[length - 1] == '#' && (length == 1 || path[length - 2] == '.');

    if (counts)
        path[length == 1 ? 0 : length - 2] = '\0';
    value = find(value, path);
    if (counts && value != NULL)
        printf("%zu\n", json_is_array(value) ? json_array_size(value) : json_object_size(value));
    else if (json_is_string(value))
        fwrite(json_string_value(value), 1, json_string_length(value), stdout);
    else if (value != NULL)
        json_dumpf(value, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
    return value != NULL;
}

static void print_rows(const json_t *rows, const char *path)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        char copy[200];

        snprintf(copy, sizeof(copy), "%s", path);
        print_at(json_array_get(rows, i), copy);
        putchar('\n');
    }
}

/* ---- origins ---- */

static int is_origin(const json_t *text)
{
    static const char *const kinds[] = {"measured", "estimated", "claimed", "profile", "file", "given", "builtin"};

    for (size_t i = 0; json_is_string(text) && i < sizeof(kinds) / sizeof(*kinds); i++) {
        const char *end = json_string_value(text) + strlen(kinds[i]);

        if (strncmp(json_string_value(text), kinds[i], strlen(kinds[i])) == 0 && (*end == '\0' || *end == ':'))
            return 1;
    }
    return 0;
}

/* Returns whether numbers of the key need no origin: the line of a place, and indexes in lists of the machine. */
static bool is_exempt(const char *key)
{
    static const char *const keys[] = {"line", "hardware", "duplicate_of"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* Numbers without an origin. `known`: one around this value speaks for it. */
static int count_unknown(const json_t *value, const char *path, int known)
{
    const json_t *origin = json_object_get(value, "origin"), *item;
    int unknown = 0;
    size_t index;
    const char *key;
    char below[500];

    if (json_is_number(value)) {
        if (!known)
            printf("%s\n", path);
        return !known;
    }
    json_array_foreach((json_t *)(uintptr_t)value, index, item)
    {
        snprintf(below, sizeof(below), "%.400s.%zu", path, index);
        unknown += count_unknown(item, below, known);
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        snprintf(below, sizeof(below), "%.300s.%.100s", path, key);
        unknown += count_unknown(
            item, below, known || is_exempt(key) || is_origin(origin) || is_origin(json_object_get(origin, key)));
    }
    return unknown;
}

int main(int count, char **arguments)
{
    json_error_t error;
    json_t *root;
    const char *schema;
    char *path, *star;

    if (count < 3 || count > 4)
        return 2;
    root = json_load_file(arguments[1], 0, &error);
    if (root == NULL)
        return fail(arguments[1], "no JSON:", error.text);
    if (strcmp(arguments[2], "--origins") == 0) {
        int unknown = count_unknown(root, "", 0);

        json_decref(root);
        return unknown != 0;
    }
    schema = json_string_value(json_object_get(root, "schema"));
    if (strcmp(arguments[2], "-") != 0 && (schema == NULL || strcmp(schema, arguments[2]) != 0))
        return fail(arguments[1], "the schema is", schema == NULL ? "not named" : schema);
    path = count < 4 ? NULL : arguments[3];
    star = path == NULL ? NULL : strstr(path, ".*.");
    if (star != NULL) {
        *star = '\0';
        print_rows(find(root, path), star + strlen(".*."));
    } else if (path != NULL && !print_at(root, path))
        return fail(arguments[1], "has no", arguments[3]);
    json_decref(root);
    return 0;
}
