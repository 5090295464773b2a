/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the history: newest lines first, each parsed alone, so that a damaged line loses only itself. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/checked.h"
#include "core/base/file.h"
#include "core/base/strbuf.h"
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

static const char *text_of(const struct accel_yaml_node *root, const char *key)
{
    const struct accel_yaml_node *node = accel_yaml_find(root, key);
    return node && node->kind == ACCEL_YAML_TEXT ? node->text : "";
}

static bool parse_u64(const struct accel_yaml_node *node, uint64_t *out_number)
{
    return node && node->kind == ACCEL_YAML_TEXT && accel_parse_u64(node->text, out_number);
}

/* Returns a number of a line. Digits that exceed 64 bits give the largest number, which is_absurd refuses. */
static uint64_t number_of(const struct accel_yaml_node *root, const char *key)
{
    const struct accel_yaml_node *node = accel_yaml_find(root, key);
    uint64_t number;
    if (parse_u64(node, &number))
        return number;
    return *text_of(root, key) && strspn(node->text, "0123456789") == strlen(node->text) ? UINT64_MAX : 0;
}

/* Limit of plausible numbers: larger ones would spoil every average that they enter. */
#define MOST_NUMBER ((uint64_t)1 << 53)
#define MOST_RATIO UINT64_C(1000)

static bool is_absurd_pair(uint64_t planned, uint64_t measured)
{
    if (planned > MOST_NUMBER || measured > MOST_NUMBER)
        return true;
    return planned && measured && (planned > MOST_RATIO * measured || measured > MOST_RATIO * planned);
}

static bool is_absurd(const struct accel_history_record *record)
{
    const double speeds[] = {record->prompt_speed, record->speed, record->bandwidth};
    for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
        if (speeds[i] > (double)MOST_NUMBER)
            return true;
    for (uint32_t i = 0; i < record->class_count; i++)
        if (record->classes[i].planned > MOST_NUMBER || record->classes[i].measured > MOST_NUMBER)
            return true;
    return is_absurd_pair(record->planned, record->measured) || record->step_bytes > MOST_NUMBER ||
           record->prompt > MOST_NUMBER || record->tokens > MOST_NUMBER;
}

static uint32_t class_of(const char *name)
{
    for (uint32_t i = 1; i < ACCEL_MEMORY_END; i++)
        if (strcmp(accel_history_class_name(i), name) == 0)
            return i;
    return 0;
}

static void read_classes(struct accel_history *history, const struct accel_yaml_node *root,
                         struct accel_history_record *record)
{
    const struct accel_yaml_node *list = accel_yaml_find(root, "classes");
    struct accel_history_class *classes = accel_arena_array(&history->arena, ACCEL_MEMORY_END, sizeof(*classes));
    if (classes == NULL || list == NULL || list->kind != ACCEL_YAML_MAPPING)
        return;
    for (const struct accel_yaml_node *entry = list->first; entry; entry = entry->next) {
        const struct accel_yaml_node *pair = entry->value;
        struct accel_history_class one = {.memory_class = class_of(entry->text)};
        if (one.memory_class == 0 || pair->kind != ACCEL_YAML_SEQUENCE || pair->child_count != 2 ||
            !parse_u64(pair->first, &one.planned) || !parse_u64(pair->first->next, &one.measured) ||
            record->class_count == ACCEL_MEMORY_END)
            continue;
        classes[record->class_count++] = one;
    }
    record->classes = classes;
}

static bool parse_line(struct accel_history *history, const char *line, size_t bytes,
                       struct accel_history_record *record)
{
    struct accel_yaml_node *root = NULL;
    const char *kind;
    if (accel_yaml_parse(history->path, line, bytes, &history->arena, &root, NULL) != ACCEL_OK ||
        root->kind != ACCEL_YAML_MAPPING)
        return false;
    kind = text_of(root, "kind");
    *record = (struct accel_history_record){
        .kind = strcmp(kind, "run") == 0 ? ACCEL_HISTORY_RUN
                                         : (strcmp(kind, "bandwidth") == 0 ? ACCEL_HISTORY_BANDWIDTH : 0),
        .device = text_of(root, "device"),
        .driver = text_of(root, "driver"),
        .model = text_of(root, "model"),
        .settings = text_of(root, "settings"),
        .time = number_of(root, "time"),
        .context = number_of(root, "context"),
        .planned = number_of(root, "planned"),
        .measured = number_of(root, "measured"),
        .step_bytes = number_of(root, "step_bytes"),
        .prompt = number_of(root, "prompt"),
        .tokens = number_of(root, "tokens"),
        .prompt_speed = (double)number_of(root, "prompt_tokens_per_1000_s") / 1000,
        .speed = (double)number_of(root, "tokens_per_1000_s") / 1000,
        .bandwidth = (double)number_of(root, "bytes_per_1000_s") / 1000,
        .threads = (uint32_t)number_of(root, "threads"),
    };
    read_classes(history, root, record);
    return record->kind != 0 && !is_absurd(record);
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

static int32_t add_record(struct accel_history *history, const struct accel_history_record *record)
{
    struct accel_history_record *copy = accel_arena_array(&history->arena, 1, sizeof(*copy));
    if (copy == NULL || history->count == history->capacity)
        return ACCEL_E_MEMORY;
    *copy = *record;
    history->records[history->count++] = copy;
    return ACCEL_OK;
}

static int32_t read_line(struct accel_history *history, const struct filter *filter, char *line, size_t bytes)
{
    struct accel_history_record record;
    const size_t begin = sizeof(ACCEL_HISTORY_BEGIN) - 1;
    if (bytes == 0)
        return ACCEL_OK;
    if (bytes > ACCEL_HISTORY_LINE || strlen(line) != bytes || strncmp(line, ACCEL_HISTORY_BEGIN, begin) != 0 ||
        line[bytes - 1] != '}') {
        history->damaged++;
        return ACCEL_OK;
    }
    if (history->count == history->capacity || !may_be_wanted(filter, line))
        return ACCEL_OK;
    if (parse_line(history, line, bytes, &record))
        return is_wanted(filter, &record) ? add_record(history, &record) : ACCEL_OK;
    history->damaged++;
    return ACCEL_OK;
}

/* Reads lines from the end to the beginning; the text behind the last line end is still being written. */
static int32_t read_lines(struct accel_history *history, const struct filter *filter, char *data, size_t bytes)
{
    int32_t code = ACCEL_OK;
    while (bytes > 0 && data[bytes - 1] != '\n')
        bytes--;
    while (bytes > 0 && code == ACCEL_OK) {
        size_t end = bytes - 1, from = end;
        while (from > 0 && data[from - 1] != '\n')
            from--;
        data[end] = '\0';
        code = read_line(history, filter, data + from, end - from);
        bytes = from;
    }
    return code;
}

int32_t accel_history_file(char **out_path, struct accel_error *error)
{
    char *folder = NULL;
    int32_t code = accel_file_user_state(&folder, error);
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
    if (code == ACCEL_OK && read_lines(history, filter, data, bytes) != ACCEL_OK)
        code = ACCEL_E_MEMORY;
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
        !make_member("model", model && strstr(model, ", file ") ? model : NULL, &filter.model))
        code = accel_error_no_memory(error, "for the history");
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
