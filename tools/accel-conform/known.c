/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accel-conform/known.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/profile/keys.h"
#include "core/profile/yaml.h"

/* One reading of a file. */
struct reader {
    const char *path;
    const struct conform_list *list;
    struct known *known;
    struct accel_error *error;
};

static bool is_a_test(const struct conform_list *list, const char *pattern)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (fnmatch(pattern, list->tests[i].name, 0) == 0)
            return true;
    return false;
}

/* A name of another case in the same group is nothing like the one that was meant, unless they begin alike. */
static bool is_near(const char *text, const char *near)
{
    size_t length = strcspn(text, "/");

    return strncmp(text, near, length) != 0 || text[length] == '\0' || near[length] == '\0' ||
           text[length + 1] == near[length + 1];
}

/* The cases of the group of `text`, as many as there is room for. False: there is no such group. */
static bool list_group(const struct conform_list *list, const char *text, char *out_names, size_t bytes)
{
    size_t length = strcspn(text, "/"), used = 0;

    for (uint32_t i = 0; i < list->count; i++) {
        const char *name = list->tests[i].name;

        if (strncmp(name, text, length) != 0 || name[length] != '/')
            continue;
        if (used + CONFORM_NAME + 32 > bytes) {
            snprintf(out_names + used, bytes - used, " and more (--list prints them)");
            return true;
        }
        used += (size_t)snprintf(out_names + used, bytes - used, "%s%s", used == 0 ? "" : ", ", name + length + 1);
    }
    return used != 0;
}

static int32_t refuse_name(const struct reader *reader, const struct accel_yaml_node *node)
{
    const char *names[CONFORM_TESTS], *near;
    char group[300];

    for (uint32_t i = 0; i < reader->list->count; i++)
        names[i] = reader->list->tests[i].name;
    near = accel_suggest(node->text, names, reader->list->count);
    if (near != NULL && !is_near(node->text, near))
        near = NULL;
    if (near == NULL && list_group(reader->list, node->text, group, sizeof(group)))
        return accel_yaml_refuse(reader->path, node, reader->error, ACCEL_E_INVALID,
                                 "no test is called %s; its group has %s", node->text, group);
    return accel_yaml_refuse(reader->path, node, reader->error, ACCEL_E_INVALID, "no test is called %s%s%s", node->text,
                             near == NULL ? "" : "; did you mean ", near == NULL ? "" : near);
}

static int32_t take_test(struct reader *reader, const struct accel_yaml_node *node, bool is_failure)
{
    struct known_row *row = &reader->known->rows[reader->known->count];

    if (node->kind != ACCEL_YAML_TEXT || strlen(node->text) >= CONFORM_NAME || reader->known->count == KNOWN_ROWS)
        return accel_yaml_refuse(reader->path, node, reader->error, ACCEL_E_INVALID, "expected the name of a test");
    if (!is_a_test(reader->list, node->text))
        return refuse_name(reader, node);
    snprintf(row->test, sizeof(row->test), "%s", node->text);
    row->is_failure = is_failure;
    reader->known->count++;
    return ACCEL_OK;
}

static int32_t take_row(struct reader *reader, const struct accel_yaml_node *entry, bool is_failure)
{
    const char *test = NULL;
    bool has_reason = false;

    for (const struct accel_yaml_node *key = entry->first; entry->kind == ACCEL_YAML_MAPPING && key != NULL;
         key = key->next) {
        int32_t code = ACCEL_OK;

        if (strcmp(key->text, "test") == 0) {
            test = key->value->kind == ACCEL_YAML_TEXT ? key->value->text : "";
            code = take_test(reader, key->value, is_failure);
        } else if (strcmp(key->text, "because") == 0) {
            has_reason = key->value->kind == ACCEL_YAML_TEXT && key->value->text[0] != '\0';
        } else {
            code = accel_yaml_refuse(reader->path, key, reader->error, ACCEL_E_INVALID,
                                     "unknown key %s; a row has test and because", key->text);
        }
        if (code != ACCEL_OK)
            return code;
    }
    if (test == NULL)
        return accel_yaml_refuse(reader->path, entry, reader->error, ACCEL_E_INVALID,
                                 "a row has no test: it needs test and because");
    if (!has_reason)
        return accel_yaml_refuse(reader->path, entry, reader->error, ACCEL_E_INVALID,
                                 "the row of %s has no because: say why it fails", test);
    return ACCEL_OK;
}

static int32_t take_list(struct reader *reader, const struct accel_yaml_node *key, bool is_failure)
{
    if (key->value->kind != ACCEL_YAML_SEQUENCE)
        return accel_yaml_refuse(reader->path, key->value, reader->error, ACCEL_E_INVALID, "%s is a list", key->text);
    for (const struct accel_yaml_node *entry = key->value->first; entry != NULL; entry = entry->next) {
        int32_t code = take_row(reader, entry, is_failure);

        if (code != ACCEL_OK)
            return code;
    }
    return ACCEL_OK;
}

static int32_t take_all(struct reader *reader, const struct accel_yaml_node *root)
{
    bool has_version = false;

    for (const struct accel_yaml_node *key = root->first; root->kind == ACCEL_YAML_MAPPING && key != NULL;
         key = key->next) {
        int32_t code = ACCEL_OK;

        if (strcmp(key->text, "accel-conformance") == 0)
            has_version = key->value->kind == ACCEL_YAML_TEXT && strcmp(key->value->text, "1") == 0;
        else if (strcmp(key->text, "unsupported") == 0 || strcmp(key->text, "expected") == 0)
            code = take_list(reader, key, key->text[0] == 'e');
        else
            code =
                accel_yaml_refuse(reader->path, key, reader->error, ACCEL_E_INVALID,
                                  "unknown key %s; there are accel-conformance, unsupported and expected", key->text);
        if (code != ACCEL_OK)
            return code;
    }
    if (!has_version)
        return accel_yaml_refuse(reader->path, root, reader->error, ACCEL_E_INVALID,
                                 "the file has to say accel-conformance: 1");
    return ACCEL_OK;
}

/* "conformance.yaml" beside the driver, where it is. */
static bool find_beside(const struct run_options *options, char *path, size_t bytes)
{
    const char *slash = strrchr(options->path, '/');

    snprintf(path, bytes, "%.*s/conformance.yaml", (int)(slash - options->path), options->path);
    return access(path, F_OK) == 0;
}

int32_t known_read(const struct run_options *options, const struct conform_list *list, struct known *known,
                   struct accel_error *error)
{
    char beside[sizeof(options->path) + 32];
    struct reader reader = {.path = options->known, .list = list, .known = known, .error = error};
    struct accel_yaml_node *root = NULL;
    struct accel_arena arena;
    char *data = NULL;
    size_t bytes = 0;
    int32_t code;

    known->count = 0;
    if (options->known == NULL) {
        if (!find_beside(options, beside, sizeof(beside)))
            return ACCEL_OK;
        reader.path = beside;
    }
    accel_arena_init(&arena, 0);
    code = accel_file_read(reader.path, ACCEL_YAML_BYTES, &data, &bytes, error);
    if (code == ACCEL_OK)
        code = accel_yaml_parse(reader.path, data, bytes, &arena, &root, error);
    if (code == ACCEL_OK)
        code = take_all(&reader, root);
    accel_arena_free(&arena);
    free(data);
    return code;
}

void known_apply(const struct known *known, struct run_result *result)
{
    for (uint32_t i = 0; i < known->count; i++) {
        const struct known_row *row = &known->rows[i];

        if (fnmatch(row->test, result->test->name, 0) != 0)
            continue;
        if (row->is_failure && result->state == RUN_FAILED) {
            result->is_expected = true;
        } else if (result->state == RUN_PASSED) {
            result->state = RUN_FAILED;
            result->failures++;
            snprintf(result->text, sizeof(result->text), "it passed, and %s lists it as %s", "conformance.yaml",
                     row->is_failure ? "failing" : "unsupported");
        }
    }
}
