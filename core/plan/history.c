/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the history: newest lines first, each parsed alone, so that a damaged line loses only itself. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/checked.h"
#include "core/base/file.h"
#include "core/base/strbuf.h"
#include "core/base/utf8.h"
#include "core/plan/history.h"
#include "core/profile/yaml.h"
#include "core/registry/context.h"

/** The filter of a reader. Texts are in their form in a line, escaped and quoted; NULL matches anything. */
struct filter {
    uint32_t kind;
    char *model;
    char *device;
    const char *model_text; /* the same texts, not escaped */
    const char *device_text;
};

static const char *const class_names[ACCEL_MEMORY_END] = {
    [ACCEL_MEMORY_WEIGHTS] = "weights", [ACCEL_MEMORY_MAPPED] = "mapped weights",
    [ACCEL_MEMORY_STATE] = "state",     [ACCEL_MEMORY_ACTIVATION] = "activations",
    [ACCEL_MEMORY_SCRATCH] = "scratch", [ACCEL_MEMORY_PROGRAM] = "program",
    [ACCEL_MEMORY_HOST] = "host",
};

const char *accel_history_class_name(uint32_t memory_class)
{
    return memory_class < ACCEL_MEMORY_END ? class_names[memory_class] : NULL;
}

/* ---- one line ---- */

/* Members of a line, terminated in place. A line that the writer made has fewer than these. */
struct members {
    uint32_t count;
    char *keys[32];
    char *values[32]; /* with the quotes of a text */
};

/* Returns the end of the text whose first quote is at `at`, or NULL. */
static char *end_of_text(char *at)
{
    for (at += 1 + strcspn(at + 1, "\"\\"); *at == '\\' && at[1] != '\0';)
        at += 2 + strcspn(at + 2, "\"\\");
    return *at == '"' ? at + 1 : NULL;
}

/* Returns the end of a member's value, or NULL. Brackets are counted, since no list or object is read. */
static char *end_of_value(char *at)
{
    int64_t depth = 0;
    if (*at == '"')
        return end_of_text(at);
    while (at != NULL && *at != '\0' && depth >= 0) {
        if (depth == 0 && (*at == ',' || *at == '}'))
            return at;
        depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
        at = *at == '"' ? end_of_text(at) : at + 1;
    }
    return NULL;
}

/* Splits a line, which is an object without spaces between its members. Returns false if it is damaged. */
static bool split_line(char *line, struct members *out_members)
{
    char *at = line, separator = ',';
    for (out_members->count = 0; separator == ',' && out_members->count < 32; out_members->count++) {
        char *key = at + 1;
        at = *key == '"' ? end_of_text(key) : NULL;
        if (at == NULL || *at != ':')
            return false;
        at[-1] = '\0';
        out_members->keys[out_members->count] = key + 1;
        out_members->values[out_members->count] = at + 1;
        at = end_of_value(at + 1);
        if (at == NULL)
            return false;
        separator = *at;
        *at = '\0';
    }
    return separator == '}' && at[1] == '\0';
}

static const char *find(const struct members *members, const char *key)
{
    for (uint32_t i = 0; i < members->count; i++)
        if (strcmp(members->keys[i], key) == 0)
            return members->values[i];
    return "";
}

/* Returns a number of a line. Digits that exceed 64 bits give the largest number, which is_absurd refuses. */
static uint64_t number_of(const struct members *members, const char *key)
{
    const char *value = find(members, key);
    uint64_t number;
    if (accel_parse_u64(value, &number))
        return number;
    return *value != '\0' && strspn(value, "0123456789") == strlen(value) ? UINT64_MAX : 0;
}

/* Copies a text without its quotes; NULL if it is damaged. Few texts have escapes, which YAML has too. */
static const char *text_of(struct accel_history *history, const struct members *members, const char *key)
{
    const char *value = find(members, key);
    const size_t bytes = strlen(value);
    struct accel_yaml_node *node;
    if (*value != '"')
        return "";
    if (strchr(value, '\\') == NULL)
        return accel_arena_strndup(&history->arena, value + 1, bytes - 2);
    return accel_yaml_parse(history->path, value, bytes, &history->arena, &node, NULL) == ACCEL_OK ? node->text : NULL;
}

/* Limit of plausible numbers: larger ones would spoil every average that they enter. */
#define MOST_NUMBER ((uint64_t)1 << 53)
#define MOST_SPEED 1e9 /* tokens of one text in a second */
#define MOST_RATIO UINT64_C(1000)

static bool is_absurd_pair(uint64_t planned, uint64_t measured)
{
    if (planned > MOST_NUMBER || measured > MOST_NUMBER)
        return true;
    return planned && measured && (planned > MOST_RATIO * measured || measured > MOST_RATIO * planned);
}

static bool is_absurd(const struct accel_history_record *record)
{
    return record->speed > MOST_SPEED || record->bandwidth > (double)MOST_NUMBER ||
           is_absurd_pair(record->planned, record->measured) || record->step_bytes > MOST_NUMBER ||
           record->read_bytes > MOST_NUMBER || record->tokens > MOST_NUMBER;
}

static bool parse_line(struct accel_history *history, char *line, size_t bytes, struct accel_history_record *record)
{
    struct members members;
    const char *kind;
    if (!accel_utf8_valid(line, bytes, NULL) || !split_line(line, &members))
        return false;
    kind = find(&members, "kind");
    *record = (struct accel_history_record){
        .kind = strcmp(kind, "\"run\"") == 0 ? ACCEL_HISTORY_RUN
                                             : (strcmp(kind, "\"bandwidth\"") == 0 ? ACCEL_HISTORY_BANDWIDTH : 0),
        .device = text_of(history, &members, "device"),
        .model = text_of(history, &members, "model"),
        .settings = text_of(history, &members, "settings"),
        .planned = number_of(&members, "planned"),
        .measured = number_of(&members, "measured"),
        .step_bytes = number_of(&members, "step_bytes"),
        .read_bytes = number_of(&members, "read_bytes"),
        .tokens = number_of(&members, "tokens"),
        .speed = (double)number_of(&members, "tokens_per_1000_s") / 1000,
        .bandwidth = (double)number_of(&members, "bytes_per_1000_s") / 1000,
        .threads = (uint32_t)number_of(&members, "threads"),
    };
    return record->kind != 0 && record->device && record->model && record->settings && !is_absurd(record);
}

/* ---- all lines ---- */

/* Returns whether a line may match: a cheap text search, since only matching lines are worth parsing. */
static bool may_be_wanted(const struct filter *filter, const char *line)
{
    const char *kind = filter->kind == ACCEL_HISTORY_BANDWIDTH ? "\"kind\":\"bandwidth\"" : "\"kind\":\"run\"";
    return (filter->kind == 0 || strstr(line, kind)) && (filter->model == NULL || strstr(line, filter->model)) &&
           (filter->device == NULL || strstr(line, filter->device));
}

/* Returns whether a record is of a model: a text without a file matches all files of its shape. */
static bool is_of(const char *model, const char *recorded)
{
    const size_t length = strlen(model);
    return strncmp(model, recorded, length) == 0 && (!recorded[length] || !strncmp(recorded + length, ", file ", 7));
}

/* Returns whether a parsed record matches the filter: a line may have the words of another model in other members. */
static bool is_wanted(const struct filter *filter, const struct accel_history_record *record)
{
    return (filter->kind == 0 || filter->kind == record->kind) &&
           (filter->model_text == NULL || is_of(filter->model_text, record->model)) &&
           (filter->device == NULL || strcmp(filter->device_text, record->device) == 0);
}

static void read_line(struct accel_history *history, const struct filter *filter, char *line, size_t bytes)
{
    struct accel_history_record *record = &history->records[history->count];
    const size_t begin = sizeof(ACCEL_HISTORY_BEGIN) - 1;
    if (bytes == 0)
        return;
    if (bytes > ACCEL_HISTORY_LINE || strlen(line) != bytes || strncmp(line, ACCEL_HISTORY_BEGIN, begin) != 0 ||
        line[bytes - 1] != '}')
        history->damaged++;
    else if (history->count < history->capacity && may_be_wanted(filter, line)) {
        if (parse_line(history, line, bytes, record))
            history->count += is_wanted(filter, record);
        else
            history->damaged++;
    }
}

/* Reads lines from the end to the beginning; the text behind the last line end is still being written. */
static void read_lines(struct accel_history *history, const struct filter *filter, char *data, size_t bytes)
{
    while (bytes > 0 && data[bytes - 1] != '\n')
        bytes--;
    while (bytes > 0) {
        const size_t end = bytes - 1;
        const char *before = memrchr(data, '\n', end);
        bytes = before ? (size_t)(before - data) + 1 : 0;
        data[end] = '\0';
        read_line(history, filter, data + bytes, end - bytes);
    }
}

int32_t accel_history_file(char **out_path, struct accel_error *error)
{
    char *folder = NULL;
    int32_t code = accel_file_user_folder(ACCEL_USER_STATE, &folder, error);
    *out_path = NULL;
    if (code != ACCEL_OK)
        return code;
    *out_path = accel_file_join(folder, "history.jsonl");
    free(folder);
    return *out_path ? ACCEL_OK : accel_error_no_memory(error, "for the path of the history");
}

static int32_t read_file(struct accel_history *history, const struct filter *filter, struct accel_error *error)
{
    struct accel_error why = {0};
    char *data = NULL, *path = NULL;
    size_t bytes = 0;
    int32_t code = accel_history_file(&path, &why);
    if (path)
        history->path = accel_arena_strdup(&history->arena, path);
    /* Refuses a history that other users may write: it could claim anything about the past. */
    if (code == ACCEL_OK)
        code = accel_file_read_trusted(path, (size_t)ACCEL_HISTORY_BYTES * 2, &data, &bytes, &why);
    free(path);
    if (code == ACCEL_OK)
        read_lines(history, filter, data, bytes);
    free(data);
    /* A missing file is normal; an unusable home or folder is reported. */
    if (code != ACCEL_OK && code != ACCEL_E_MEMORY && why.native != ENOENT)
        history->reason = accel_arena_strdup(&history->arena, why.text);
    if (code == ACCEL_E_MEMORY || history->path == NULL || history->reason == NULL)
        return accel_error_no_memory(error, "for the history");
    return ACCEL_OK;
}

/* Formats "KEY":"TEXT" the way the writer does. */
static bool make_member(const char *key, const char *text, char **out_member)
{
    struct accel_strbuf buffer = {0};
    *out_member = NULL;
    if (text == NULL)
        return true;
    accel_strbuf_printf(&buffer, "\"%s\":", key);
    accel_strbuf_json(&buffer, text);
    *out_member = accel_strbuf_detach(&buffer);
    return *out_member != NULL;
}

int32_t accel_history_find(const struct accel_context *context, uint32_t kind, const char *model, const char *device,
                           uint32_t most, struct accel_history **out_history, struct accel_error *error)
{
    struct filter filter = {.kind = kind, .model_text = model, .device_text = device};
    struct accel_history *history;
    int32_t code = ACCEL_OK;
    if (out_history == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_history_find: out_history is NULL");
    *out_history = NULL;
    if (context == NULL || kind > ACCEL_HISTORY_BANDWIDTH)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_history_find requires a context and a known kind");
    history = calloc(1, sizeof(*history));
    if (history == NULL)
        return accel_error_no_memory(error, "for the history");
    history->path = history->reason = "";
    history->capacity = most && most < 4096 ? most : 4096;
    history->records = accel_arena_array(&history->arena, history->capacity, sizeof(*history->records));
    if (history->records == NULL || !make_member("device", device, &filter.device) ||
        !make_member("model", model, &filter.model))
        code = accel_error_no_memory(error, "for the history");
    else if (model) /* which may be the beginning of the recorded text */
        filter.model[strlen(filter.model) - 1] = '\0';
    if (code == ACCEL_OK && (context->options.flags & ACCEL_CONTEXT_NO_CACHE) == 0 && context->recording == NULL)
        code = read_file(history, &filter, error);
    free(filter.model);
    free(filter.device);
    if (code != ACCEL_OK) {
        accel_history_free(history);
        return code;
    }
    *out_history = history;
    return ACCEL_OK;
}

void accel_history_free(struct accel_history *history)
{
    if (history == NULL)
        return;
    accel_arena_free(&history->arena);
    free(history);
}
