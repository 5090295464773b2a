/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/known.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "sdk/conform/list.h"
#include "sdk/conform/text.h"

#define FILE_BYTES (1u << 20)
#define TEXT_MOST 64u /* longest name that spelling suggestions consider, in bytes */

/* The state of parsing one file. */
struct reader {
    const char *path;
    const struct conform_list *list;
    struct known *known;
    struct accel_error *error;
    yaml_document_t document;
};

/* Sets ACCEL_E_INVALID and "PATH:LINE:COLUMN: text". */
static int32_t refuse(const struct reader *reader, const yaml_node_t *node, const char *format, ...) ACCEL_PRINTF(3, 4);
static int32_t refuse(const struct reader *reader, const yaml_node_t *node, const char *format, ...)
{
    char text[440];
    va_list values;

    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    text_make_plain(text);
    return accel_error_set(reader->error, ACCEL_E_INVALID, "%s:%zu:%zu: %s", reader->path, node->start_mark.line + 1,
                           node->start_mark.column + 1, text);
}

static const char *text_of(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

static bool is_word(const yaml_node_t *node, const char *word)
{
    return node->type == YAML_SCALAR_NODE && strcmp(text_of(node), word) == 0;
}

/* ---- names ---- */

/* Returns the edit distance of two names of at most TEXT_MOST bytes. */
static uint32_t count_edits(const char *a, const char *b)
{
    uint32_t row[TEXT_MOST + 1];
    const uint32_t length = (uint32_t)strlen(b);

    for (uint32_t j = 0; j <= length; j++)
        row[j] = j;
    for (uint32_t i = 0; a[i] != '\0'; i++) {
        uint32_t diagonal = row[0]++;

        for (uint32_t j = 1; j <= length; j++) {
            uint32_t best = diagonal + (a[i] != b[j - 1]);

            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[length];
}

/* Returns the test name that is nearest to `text`, or NULL. */
static const char *suggest(const struct conform_list *list, const char *text)
{
    const size_t length = strlen(text);
    uint32_t distance = length > TEXT_MOST ? 0 : (uint32_t)length / 3 + 2;
    const char *near = NULL;

    for (uint32_t i = 0; i < list->count && distance != 0; i++) {
        const uint32_t edits = count_edits(text, list->tests[i].name);

        near = edits < distance ? list->tests[i].name : near;
        distance = edits < distance ? edits : distance;
    }
    return near;
}

static bool is_a_test(const struct conform_list *list, const char *pattern)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (fnmatch(pattern, list->tests[i].name, 0) == 0)
            return true;
    return false;
}

/* Returns whether `near` is a plausible suggestion. Names of other cases of a group are not, unless both start
 * alike. */
static bool is_near(const char *text, const char *near)
{
    size_t length = strcspn(text, "/");

    return strncmp(text, near, length) != 0 || text[length] == '\0' || near[length] == '\0' ||
           text[length + 1] == near[length + 1];
}

/* Lists the cases of the group of `text`, as many as `bytes` can hold. Returns false if there is no such group. */
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

static int32_t refuse_name(const struct reader *reader, const yaml_node_t *node)
{
    const char *near = suggest(reader->list, text_of(node));
    char group[300];

    if (near != NULL && !is_near(text_of(node), near))
        near = NULL;
    if (near == NULL && list_group(reader->list, text_of(node), group, sizeof(group)))
        return refuse(reader, node, "no test is called %s; its group has %s", text_of(node), group);
    return refuse(reader, node, "no test is called %s%s%s", text_of(node), near == NULL ? "" : "; did you mean ",
                  near == NULL ? "" : near);
}

static int32_t read_test(struct reader *reader, const yaml_node_t *node, bool is_failure)
{
    struct known_row *row = &reader->known->rows[reader->known->count];

    if (node->type != YAML_SCALAR_NODE || node->data.scalar.length >= CONFORM_NAME ||
        reader->known->count == KNOWN_ROWS)
        return refuse(reader, node, "expected the name of a test");
    if (!is_a_test(reader->list, text_of(node)))
        return refuse_name(reader, node);
    snprintf(row->test, sizeof(row->test), "%s", text_of(node));
    row->is_failure = is_failure;
    reader->known->count++;
    return ACCEL_OK;
}

static int32_t read_row(struct reader *reader, const yaml_node_t *row, bool is_failure)
{
    const yaml_node_t *test = NULL, *reason = NULL;

    if (row->type != YAML_MAPPING_NODE)
        return refuse(reader, row, "a row has no test: it needs test and because");
    for (const yaml_node_pair_t *pair = row->data.mapping.pairs.start; pair < row->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&reader->document, pair->key);
        const yaml_node_t **place = is_word(key, "test") ? &test : &reason;

        if (!is_word(key, "test") && !is_word(key, "because"))
            return refuse(reader, key, "unknown key %s; a row has test and because",
                          key->type == YAML_SCALAR_NODE ? text_of(key) : "that is no word");
        if (*place != NULL)
            return refuse(reader, key, "%s stands here twice", text_of(key));
        *place = yaml_document_get_node(&reader->document, pair->value);
    }
    if (test == NULL)
        return refuse(reader, row, "a row has no test: it needs test and because");
    if (reason == NULL || reason->type != YAML_SCALAR_NODE || text_of(reason)[0] == '\0')
        return refuse(reader, row, "the row of %s has no because: say why it fails",
                      test->type == YAML_SCALAR_NODE ? text_of(test) : "");
    return read_test(reader, test, is_failure);
}

static int32_t read_list(struct reader *reader, const yaml_node_t *list, const char *key, bool is_failure)
{
    int32_t code = ACCEL_OK;

    if (list->type != YAML_SEQUENCE_NODE)
        return refuse(reader, list, "%s is a list", key);
    for (const yaml_node_item_t *item = list->data.sequence.items.start;
         item < list->data.sequence.items.top && code == ACCEL_OK; item++)
        code = read_row(reader, yaml_document_get_node(&reader->document, *item), is_failure);
    return code;
}

static int32_t read_root(struct reader *reader, const yaml_node_t *root)
{
    bool has_version = false;
    int32_t code = ACCEL_OK;

    if (root->type != YAML_MAPPING_NODE)
        return refuse(reader, root, "the file has to say accel-conformance: 1");
    for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
         pair < root->data.mapping.pairs.top && code == ACCEL_OK; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&reader->document, pair->key);
        const yaml_node_t *value = yaml_document_get_node(&reader->document, pair->value);

        if (is_word(key, "accel-conformance"))
            has_version = is_word(value, "1");
        else if (is_word(key, "unsupported") || is_word(key, "expected"))
            code = read_list(reader, value, text_of(key), text_of(key)[0] == 'e');
        else
            code = refuse(reader, key, "unknown key %s; there are accel-conformance, unsupported and expected",
                          key->type == YAML_SCALAR_NODE ? text_of(key) : "that is no word");
    }
    return code == ACCEL_OK && !has_version ? refuse(reader, root, "the file has to say accel-conformance: 1") : code;
}

static int32_t read_document(struct reader *reader, yaml_parser_t *parser)
{
    const yaml_node_t *root;
    int32_t code;

    if (yaml_parser_load(parser, &reader->document) == 0)
        return accel_error_set(reader->error, ACCEL_E_INVALID, "%s:%zu:%zu: %s", reader->path,
                               parser->problem_mark.line + 1, parser->problem_mark.column + 1,
                               parser->problem == NULL ? "it cannot be read" : parser->problem);
    root = yaml_document_get_root_node(&reader->document);
    code = root == NULL ? accel_error_set(reader->error, ACCEL_E_INVALID, "%s: the file is empty", reader->path)
                        : read_root(reader, root);
    yaml_document_delete(&reader->document);
    return code;
}

static int32_t read_file(struct reader *reader, FILE *file)
{
    unsigned char *data = malloc(FILE_BYTES + 1);
    const size_t bytes = data == NULL ? 0 : fread(data, 1, FILE_BYTES + 1, file);
    yaml_parser_t parser;
    int32_t code;

    if (data == NULL || ferror(file) || bytes > FILE_BYTES || yaml_parser_initialize(&parser) == 0) {
        code = accel_error_set(reader->error, ACCEL_E_INVALID, "%s cannot be read, or has more than %u bytes",
                               reader->path, FILE_BYTES);
    } else {
        yaml_parser_set_input_string(&parser, data, bytes);
        code = read_document(reader, &parser);
        yaml_parser_delete(&parser);
    }
    free(data);
    return code;
}

/* Finds conformance.yaml beside the driver; returns whether it exists. */
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
    FILE *file;
    int32_t code;

    known->count = 0;
    if (options->known == NULL) {
        if (!find_beside(options, beside, sizeof(beside)))
            return ACCEL_OK;
        reader.path = beside;
    }
    file = fopen(reader.path, "re");
    if (file == NULL)
        return accel_error_set(error, ACCEL_E_IO, "cannot open %s: %s", reader.path, strerror(errno));
    code = read_file(&reader, file);
    fclose(file);
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
