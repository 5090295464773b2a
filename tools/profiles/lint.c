/* SPDX-License-Identifier: Apache-2.0 */
/* Checks files: errors of the language, and valid statements that are probably mistakes. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/text.h"
#include "core/profile/environment.h"
#include "core/profile/folder.h"
#include "core/profile/language.h"
#include "core/profile/members.h"
#include "tools/profiles/files.h"

/* Maximum statements that are compared with each other; people do not write larger files. */
#define MOST_COMPARED 2000u

/** State of checking one file. */
struct lint {
    const struct profile_files *files;
    const struct accel_profile_file *file;
    profile_finding finding;
    void *data;
    const char *path;
    struct accel_faults faults; /**< faults of the profile, at the end those of the whole file */
};

static void ACCEL_PRINTF(3, 4) warn(const struct lint *lint, const char *place, const char *format, ...)
{
    char text[500];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    lint->finding(lint->data, ACCEL_LOG_WARN, place, text);
}

/* Returns whether a statement is the file's own: inherited statements are checked in their own file. */
static bool is_own(const struct lint *lint, const char *place)
{
    size_t length = strlen(lint->file->path);
    return strncmp(place, lint->file->path, length) == 0 && place[length] == ':';
}

/* ---- conditions ---- */

/* Returns whether a file exists for a fact that names a file. True if there are no files to search. */
static bool names_file(const struct lint *lint, uint32_t layer, const char *name)
{
    bool any = false;
    for (uint32_t i = 0; i < lint->files->count; i++) {
        if (lint->files->list[i].layer != layer)
            continue;
        any = true;
        if (strcmp(lint->files->list[i].name, name) == 0)
            return true;
    }
    return !any;
}

static bool is_possible(const struct lint *lint, const char *fact, const char *word)
{
    static const struct {
        const char *fact;
        uint32_t layer;
    } files[] = {{"platform", ACCEL_LAYER_PLATFORM},
                 {"driver.name", ACCEL_LAYER_PLATFORM},
                 {"client.name", ACCEL_LAYER_CLIENT},
                 {"device.profile", ACCEL_LAYER_DEVICE},
                 {"model.name", ACCEL_LAYER_MODEL}};
    const char *words = accel_known_fact_words(fact);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (strcmp(files[i].fact, fact) == 0)
            return names_file(lint, files[i].layer, word);
    return words == NULL || accel_word_is_among(words, word);
}

static void check_words(const struct lint *lint, const struct accel_condition *c)
{
    bool equals = c->comparison == ACCEL_COMPARE_EQUAL || c->comparison == ACCEL_COMPARE_IN;
    uint32_t possible = 0;
    if (!equals && c->comparison != ACCEL_COMPARE_UNEQUAL && c->comparison != ACCEL_COMPARE_NOT_IN)
        return;
    for (uint32_t i = 0; i < c->literal_count; i++)
        if (is_possible(lint, c->fact->name, c->literals[i].text))
            possible++;
        else
            warn(lint, c->place, "%s is never \"%.60s\"", c->fact->name, c->literals[i].text);
    if (possible == 0)
        warn(lint, c->place, "\"%.200s\" %s holds", c->text, equals ? "never" : "always");
}

/* Warns of a list that requires two values of one fact. */
static void check_contradiction(const struct lint *lint, const struct accel_condition *c)
{
    for (const struct accel_condition *other = c->next; other; other = other->next)
        if (other->fact == c->fact && c->comparison == ACCEL_COMPARE_EQUAL &&
            other->comparison == ACCEL_COMPARE_EQUAL && strcmp(c->literals[0].text, other->literals[0].text) != 0)
            warn(lint, other->place, "never holds: %s cannot be \"%.60s\" and \"%.60s\" at once", c->fact->name,
                 c->literals[0].text, other->literals[0].text);
}

static void check_conditions(const struct lint *lint, const struct accel_condition *conditions)
{
    for (const struct accel_condition *c = conditions; c; c = c->next) {
        check_words(lint, c);
        check_contradiction(lint, c);
    }
}

/* ---- statements ---- */

static bool same_conditions(const struct accel_condition *a, const struct accel_condition *b)
{
    while (a && b && strcmp(a->text, b->text) == 0) {
        a = a->next;
        b = b->next;
    }
    return a == NULL && b == NULL;
}

static void check_hidden(const struct lint *lint, const struct accel_statement *s)
{
    for (const struct accel_statement *later = s->next; later; later = later->next)
        if (is_own(lint, later->place) && strcmp(later->key->name, s->key->name) == 0 &&
            same_conditions(later->conditions, s->conditions)) {
            const char *line = strrchr(later->place, ':');
            warn(lint, s->place, "%s is set again under the same conditions in line %s", s->key->name, line + 1);
            return;
        }
}

/* Checks what the language leaves to the reader of a value: a client names a file, an option is one of its driver. */
static void check_value(const struct lint *lint, const struct accel_statement *s)
{
    char number[32], why[300];
    const char *text = s->value.word;
    if (strcmp(s->key->name, "client") == 0 && strcmp(text, "none") != 0 && strcmp(text, "auto") != 0 &&
        !names_file(lint, ACCEL_LAYER_CLIENT, text))
        warn(lint, s->place, "there is no client \"%.60s\"", text);
    if (accel_key_find(s->key->name) != NULL || lint->files->check_option == NULL)
        return;
    if (text == NULL)
        snprintf(number, sizeof(number), "%" PRId64, s->value.number);
    if (!lint->files->check_option(lint->files->check_data, s->key->name, text == NULL ? number : text, why,
                                   sizeof(why)))
        lint->finding(lint->data, ACCEL_LOG_ERROR, s->place, why);
}

bool profile_option_check(const struct profile_files *files, const char *key, const char *value, char *why,
                          size_t why_bytes)
{
    const struct accel_setting_row *row;
    struct accel_key_value parsed;
    struct accel_arena arena;
    char text[32], reason[200] = "no memory to check it";
    bool is_valid;
    accel_arena_init(&arena, 1 << 16);
    row = accel_key_of_option(key, &arena);
    is_valid = row != NULL && accel_key_parse(row, value, &parsed, reason, sizeof(reason));
    accel_arena_free(&arena);
    if (!is_valid) {
        snprintf(why, why_bytes, "%s: %s", key, reason);
        return false;
    }
    if (parsed.word == NULL)
        snprintf(text, sizeof(text), "%" PRId64, parsed.number);
    return files->check_option(files->check_data, key, parsed.word == NULL ? text : parsed.word, why, why_bytes);
}

static void check_statements(const struct lint *lint)
{
    const struct accel_condition *last = NULL;
    uint32_t count = 0;
    for (const struct accel_statement *s = lint->file->first; s; s = s->next)
        count++;
    for (const struct accel_statement *s = lint->file->first; s; s = s->next) {
        if (!is_own(lint, s->place))
            continue;
        if (*s->reason == 0)
            warn(lint, s->place, "%s has no reason: write it as %s: {value: ..., because: ...}", s->key->name,
                 s->key->name);
        check_value(lint, s);
        if (s->conditions != last)
            check_conditions(lint, s->conditions);
        last = s->conditions;
        if (count <= MOST_COMPARED)
            check_hidden(lint, s);
    }
}

/* ---- one file ---- */

/* Splits a path into its folder and its name without ".yaml"; the caller frees both. False if memory runs out. */
static bool split(const char *path, char **out_folder, char **out_name)
{
    const char *slash = strrchr(path, '/'), *leaf = slash ? slash + 1 : path;
    size_t length = strlen(leaf);
    *out_folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    *out_name = strndup(leaf, length > 5 && strcmp(leaf + length - 5, ".yaml") == 0 ? length - 5 : length);
    return *out_folder && *out_name;
}

/* Determines the layer of a file by its folder, and cuts `folder` to the root. */
static uint32_t layer_of(char *folder, const char *name)
{
    char *slash = strrchr(folder, '/'), *last = slash ? slash + 1 : folder;
    if (strcmp(name, "accel") == 0)
        return ACCEL_LAYER_FOLDER;
    for (uint32_t layer = ACCEL_LAYER_CLIENT; layer <= ACCEL_LAYER_MODEL; layer++)
        if (strcmp(last, accel_profile_layer_folder(layer)) == 0) {
            /* The root of "devices/t4.yaml" is ".". */
            strcpy(last, last == folder ? "" : ".");
            return layer;
        }
    return strcmp(name, "base") == 0 ? ACCEL_LAYER_BASE : ACCEL_LAYER_PLATFORM;
}

static int32_t check_table(struct lint *lint, const char *path, const char *data, size_t bytes,
                           struct accel_error *out_why)
{
    struct accel_aliases aliases;
    int32_t code = accel_aliases_parse(&aliases, path, data, bytes, &lint->faults, out_why);
    accel_aliases_free(&aliases);
    return code;
}

static int32_t check_profile(struct lint *lint, const char *path, const char *data, size_t bytes,
                             struct accel_error *out_why)
{
    struct accel_profile_file file = {0};
    struct accel_profile_source source = {.path = path, .faults = &lint->faults};
    char *folder = NULL, *name = NULL;
    int32_t code = ACCEL_E_MEMORY;
    if (split(path, &folder, &name)) {
        source.layer = layer_of(folder, name);
        source.name = name;
        /* A file of the site inherits from the loaded profiles. */
        source.root = source.layer == ACCEL_LAYER_FOLDER ? lint->files->root : *folder ? folder : ".";
        code = accel_profile_file_parse(&file, &source, data, bytes, out_why);
    }
    lint->file = &file;
    if (code == ACCEL_OK && lint->faults.count == 0) {
        check_conditions(lint, file.match);
        check_statements(lint);
    }
    accel_profile_file_free(&file);
    free(folder);
    free(name);
    return code;
}

static int32_t check_any(struct lint *lint, const char *path, const char *data, size_t bytes,
                         struct accel_error *out_why)
{
    char key[ACCEL_FIRST_KEY];
    accel_profile_first_key(data, key);
    if (strcmp(key, "accel-environment") == 0)
        return check_table(lint, path, data, bytes, out_why);
    if (*key && strcmp(key, "accel-profile") != 0)
        return accel_error_set(out_why, ACCEL_E_UNSUPPORTED,
                               "%.300s: \"%s\" is neither a profile nor a table of variables", path, key);
    return check_profile(lint, path, data, bytes, out_why);
}

/* Reports an error as a finding; "FILE:LINE:COLUMN: " at the start of the text becomes its place. */
static void report_error(const struct lint *lint, const char *path, const struct accel_error *why)
{
    size_t length = strlen(path), position;
    char place[400];
    const char *text = why->text;
    snprintf(place, sizeof(place), "%.390s", path);
    if (strncmp(text, path, length) == 0 && text[length] == ':') {
        position = strspn(text + length, ":0123456789");
        snprintf(place, sizeof(place), "%.*s", (int)(length + position - 1), text);
        text += length + position;
        text += *text == ' ';
    }
    lint->finding(lint->data, ACCEL_LOG_ERROR, place, text);
    if (*why->remedy)
        lint->finding(lint->data, ACCEL_LOG_INFO, place, why->remedy);
}

static void report_fault(void *data, const struct accel_error *error)
{
    const struct lint *lint = data;
    report_error(lint, lint->path, error);
}

/* Returns whether a text has the key of a table: without it, the file is no faulty profile but another kind of
 * file. */
static bool has_key(const char *text)
{
    char key[ACCEL_FIRST_KEY];
    accel_profile_first_key(text, key);
    return *key != 0;
}

int32_t profile_lint_file(const struct profile_files *files, const char *path, profile_finding finding, void *data,
                          struct accel_error *error)
{
    struct lint lint = {.files = files, .finding = finding, .data = data, .path = path};
    struct accel_error why = {0};
    char *text = NULL;
    size_t bytes;
    int32_t code = accel_file_read(path, ACCEL_YAML_BYTES, &text, &bytes, &why);
    lint.faults = (struct accel_faults){.report = report_fault, .data = &lint};
    if (code != ACCEL_OK)
        accel_error_remedy(&why, code == ACCEL_E_LIMIT
                                     ? "a file of profiles is shorter: name one, or cut it into several"
                                     : "name a file that is there and may be read; accelctl profile list has them");
    else
        code = check_any(&lint, path, text, bytes, &why);
    if (code != ACCEL_OK && text != NULL && !has_key(text))
        accel_error_remedy(&why, "a profile is YAML that begins with accel-profile: 1");
    free(text);
    if (code == ACCEL_E_MEMORY)
        return accel_error_set(error, code, "no memory to check %.200s", path);
    if (why.code != ACCEL_OK)
        report_error(&lint, path, &why);
    return ACCEL_OK;
}

int32_t profile_lint_files(const struct profile_files *files, profile_finding finding, void *data,
                           struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < files->count && code == ACCEL_OK; i++) {
        const struct profile_info *file = &files->list[i];
        /* A file that must not be read is not read for a check either. */
        if (file->code == ACCEL_E_DENIED) {
            size_t path = strlen(file->path);
            bool repeats = strncmp(file->text, file->path, path) == 0 && strncmp(file->text + path, ": ", 2) == 0;
            finding(data, ACCEL_LOG_ERROR, file->path, file->text + (repeats ? path + 2 : 0));
        } else {
            code = profile_lint_file(files, file->path, finding, data, error);
        }
    }
    if (code == ACCEL_OK && files->variables_path)
        code = profile_lint_file(files, files->variables_path, finding, data, error);
    return code;
}
