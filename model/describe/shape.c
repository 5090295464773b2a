/* SPDX-License-Identifier: Apache-2.0 */
/* Converts shapes of components to facts and back. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>

#include "model/describe/internal.h"

const char *const part_names[PARTS] = {"language", "text", "vision", "audio", "projector", "decoder"};

/* The largest size, far above every published model. */
#define MOST_SIZE UINT64_C(16777216)
/* Numbers that are larger than MOST_SIZE, and those that of the main component are also the model's. */
enum { TOTAL = 1, OF_MODEL = 2 };
/* Numbers of a shape. */
static const struct {
    const char *name;
    size_t offset;
    uint32_t flags;
} members[] = {
    {"layers", offsetof(struct shape, layers), OF_MODEL},
    {"hidden", offsetof(struct shape, hidden), OF_MODEL},
    {"ffn", offsetof(struct shape, ffn), OF_MODEL},
    {"heads", offsetof(struct shape, heads), OF_MODEL},
    {"kv_heads", offsetof(struct shape, kv_heads), OF_MODEL},
    {"head_size", offsetof(struct shape, head_size), OF_MODEL},
    {"value_size", offsetof(struct shape, value_size), OF_MODEL},
    {"experts", offsetof(struct shape, experts), OF_MODEL},
    {"experts_used", offsetof(struct shape, experts_used), OF_MODEL},
    {"expert_ffn", offsetof(struct shape, expert_ffn), OF_MODEL},
    {"shared_ffn", offsetof(struct shape, shared_ffn), OF_MODEL},
    {"dense_layers", offsetof(struct shape, dense_layers), OF_MODEL},
    {"query_rank", offsetof(struct shape, query_rank), OF_MODEL},
    {"kv_rank", offsetof(struct shape, kv_rank), OF_MODEL},
    {"rotary_size", offsetof(struct shape, rotary_size), OF_MODEL},
    {"vocabulary", offsetof(struct shape, vocabulary), OF_MODEL},
    {"positions", offsetof(struct shape, positions), 0},
    {"types", offsetof(struct shape, types), 0},
    {"image", offsetof(struct shape, image), 0},
    {"patch", offsetof(struct shape, patch), 0},
    {"channels", offsetof(struct shape, channels), 0},
    {"stem", offsetof(struct shape, stem), 0},
    {"mels", offsetof(struct shape, mels), 0},
    {"window", offsetof(struct shape, window), 0},
    {"frames", offsetof(struct shape, frames), 0},
    {"queries", offsetof(struct shape, queries), 0},
    {"prompts", offsetof(struct shape, prompts), 0},
    {"kernel", offsetof(struct shape, kernel), 0},
    {"groups", offsetof(struct shape, groups), 0},
    {"tokens", offsetof(struct shape, tokens), 0},
    {"parameters", offsetof(struct shape, parameters), TOTAL},
};
enum { MEMBERS = sizeof(members) / sizeof(members[0]) };

static const struct {
    const char *name;
    size_t offset;
} lists[] = {
    {"stages", offsetof(struct shape, stages)},
    {"widths", offsetof(struct shape, widths)},
    {"stage_heads", offsetof(struct shape, stage_heads)},
    {"kernels", offsetof(struct shape, kernels)},
};
enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

/* Numbers of the model that belong to no component. */
static const struct {
    const char *name;
    size_t offset;
    uint32_t flags;
} model_numbers[] = {
    {"model.classes", offsetof(struct traits, classes), 0},
    {"model.projection", offsetof(struct traits, projection), 0},
    {"model.buckets", offsetof(struct traits, buckets), 0},
    {"model.context", offsetof(struct traits, context), TOTAL},
    {"model.window", offsetof(struct traits, window), 0},
    {"model.window_layers", offsetof(struct traits, window_layers), 0},
    {"model.parameters", offsetof(struct traits, parameters), TOTAL},
    {"model.weight_bytes", offsetof(struct traits, weight_bytes), TOTAL},
};
enum { MODEL_NUMBERS = sizeof(model_numbers) / sizeof(model_numbers[0]) };

enum { KEY_BYTES = 48, LIST_BYTES = SHAPE_ITEMS * 24 };

static const struct accel_named_value *find(const struct accel_model_description *d, const char *key)
{
    for (uint32_t i = 0; i < d->fact_count; i++)
        if (strcmp(d->facts[i].key, key) == 0)
            return &d->facts[i];
    return NULL;
}

/* Finds the fact OWNER.NAME. */
static const struct accel_named_value *find_member(const struct accel_model_description *d, const char *owner,
                                                   const char *name)
{
    const size_t length = strlen(owner);

    for (uint32_t i = 0; i < d->fact_count; i++) {
        const char *key = d->facts[i].key;

        if (strncmp(key, owner, length) == 0 && key[length] == '.' && strcmp(key + length + 1, name) == 0)
            return &d->facts[i];
    }
    return NULL;
}

const char *describe_find_fact(const struct accel_model_description *d, const char *key)
{
    const struct accel_named_value *fact = find(d, key);

    return fact == NULL ? NULL : fact->value;
}

int32_t describe_fact(struct accel_model_description *d, const char *key, const char *value, const char *origin,
                      struct accel_error *error)
{
    struct accel_named_value fact;

    if (find(d, key) != NULL)
        return ACCEL_OK;
    if (d->fact_count == d->fact_capacity) {
        uint32_t capacity = d->fact_capacity == 0 ? 32 : 2 * d->fact_capacity;
        struct accel_named_value *facts = model_pool_alloc(&d->pool, capacity, sizeof(*facts));

        if (facts == NULL)
            return accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory for its description", d->path);
        if (d->fact_count > 0)
            memcpy(facts, d->facts, d->fact_count * sizeof(*facts));
        d->facts = facts;
        d->fact_capacity = capacity;
    }
    fact.key = model_pool_text(&d->pool, key, strlen(key));
    fact.value = model_pool_text(&d->pool, value, strlen(value));
    fact.origin = model_pool_text(&d->pool, origin, strlen(origin));
    if (fact.key == NULL || fact.value == NULL || fact.origin == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory for its description", d->path);
    d->facts[d->fact_count++] = fact;
    return ACCEL_OK;
}

/* ---- from facts ---- */

/* Parses a number of at most 18 numerals with an optional unit. */
static bool parse(const char *text, uint64_t *out_number, const char **out_end)
{
    char *end;

    if (strspn(text, "0123456789") - 1 >= 18)
        return false;
    *out_number = strtoull(text, &end, 10);
    *out_end = strncmp(end, "tok", 3) == 0 ? end + 3 : end;
    return true;
}

static int32_t refuse(const struct accel_named_value *fact, const char *what, struct accel_error *error)
{
    return accel_error_set(error, ACCEL_E_CORRUPT, "%s: %s is \"%.80s\", which is no %s", fact->origin, fact->key,
                           fact->value, what);
}

/* Reads the number of a fact, which may be NULL. */
static int32_t read_number(const struct accel_named_value *fact, uint32_t flags, uint64_t *out_number,
                           struct accel_error *error)
{
    const char *end;

    if (fact == NULL)
        return ACCEL_OK;
    if (!parse(fact->value, out_number, &end) || *end != 0)
        return refuse(fact, "number", error);
    return (flags & TOTAL) != 0 || *out_number <= MOST_SIZE ? ACCEL_OK
                                                            : refuse(fact, "size of at most 16777216", error);
}

static int32_t read_list(const struct accel_named_value *fact, struct shape_list *out_list, struct accel_error *error)
{
    const char *text;

    if (fact == NULL)
        return ACCEL_OK;
    out_list->count = 0;
    for (text = fact->value; *text != 0; text += strspn(text, " "))
        if (out_list->count == SHAPE_ITEMS || !parse(text, &out_list->items[out_list->count++], &text))
            return refuse(fact, "list of up to eight numbers", error);
    return ACCEL_OK;
}

const char *describe_impossible(const struct shape *shape, char out_text[IMPOSSIBLE_BYTES])
{
    uint64_t heads = shape->heads, kv_heads = shape->kv_heads;

    if (heads != 0 && kv_heads != 0 && heads % kv_heads != 0) {
        snprintf(out_text, IMPOSSIBLE_BYTES, "%" PRIu64 " heads of keys do not divide %" PRIu64 " heads of queries",
                 kv_heads, heads);
        return "kv_heads";
    }
    if (heads != 0 && shape->hidden != 0 && shape->head_size == 0 && shape->hidden % heads != 0) {
        snprintf(out_text, IMPOSSIBLE_BYTES,
                 "%" PRIu64 " heads do not divide a width of %" PRIu64 ", and no size of a head is given", heads,
                 shape->hidden);
        return "heads";
    }
    return NULL;
}

static int32_t check_shape(const struct accel_model_description *d, enum part part, struct accel_error *error)
{
    const struct accel_named_value *fact;
    char text[IMPOSSIBLE_BYTES];
    const char *name = describe_impossible(&d->shapes[part], text);

    if (name == NULL)
        return ACCEL_OK;
    fact = find_member(d, part_names[part], name);
    if (fact == NULL)
        fact = find_member(d, "model", name);
    return accel_error_set(error, ACCEL_E_CORRUPT, "%s: %s%s: %s", fact == NULL ? d->path : fact->origin,
                           fact == NULL ? "model." : "", fact == NULL ? name : fact->key, text);
}

static int32_t read_shape(struct accel_model_description *d, enum part part, struct accel_error *error)
{
    struct shape *shape = &d->shapes[part];
    int32_t code = ACCEL_OK;

    for (size_t i = 0; i < MEMBERS && code == ACCEL_OK; i++) {
        uint64_t *member = number_at(shape, members[i].offset);

        if (part == d->traits.main && (members[i].flags & OF_MODEL) != 0)
            code = read_number(find_member(d, "model", members[i].name), members[i].flags, member, error);
        if (code == ACCEL_OK)
            code = read_number(find_member(d, part_names[part], members[i].name), members[i].flags, member, error);
        shape->used = shape->used || *member != 0;
    }
    for (size_t i = 0; i < LISTS && code == ACCEL_OK; i++) {
        struct shape_list *list = list_at(shape, lists[i].offset);

        code = read_list(find_member(d, part_names[part], lists[i].name), list, error);
        shape->used = shape->used || list->count != 0;
    }
    return code;
}

static int32_t check_window(const struct accel_model_description *d, struct accel_error *error)
{
    const struct accel_named_value *window = find(d, "model.window"), *layers = find(d, "model.window_layers");

    if (window != NULL && d->traits.window == 0)
        return refuse(window, "number of tokens from 1 on", error);
    if (layers != NULL && d->traits.window_layers > d->shapes[d->traits.main].layers)
        return refuse(layers, "number of at most the layers of the model", error);
    return ACCEL_OK;
}

static bool is_true(const struct accel_model_description *d, const char *key)
{
    const char *value = describe_find_fact(d, key);

    return value != NULL && strcmp(value, "true") == 0;
}

static int32_t read_type(const struct accel_model_description *d, const char *key, uint32_t *out_type,
                         struct accel_error *error)
{
    const struct accel_named_value *fact = find(d, key);

    *out_type = fact == NULL ? ACCEL_TYPE_NONE : accel_format_find(fact->value);
    return fact == NULL || *out_type != ACCEL_TYPE_NONE ? ACCEL_OK : refuse(fact, "type of weights", error);
}

int32_t describe_read_facts(struct accel_model_description *d, struct accel_error *error)
{
    int32_t code = read_type(d, "model.expert_type", &d->traits.expert_type, error);

    d->traits.tied = is_true(d, "model.tied");
    d->traits.biases = is_true(d, "model.biases");
    for (size_t i = 0; i < MODEL_NUMBERS && code == ACCEL_OK; i++)
        code = read_number(find(d, model_numbers[i].name), model_numbers[i].flags,
                           number_at(&d->traits, model_numbers[i].offset), error);
    for (uint32_t part = 0; part < PARTS && code == ACCEL_OK; part++)
        code = read_shape(d, part, error);
    for (uint32_t part = 0; part < PARTS && code == ACCEL_OK; part++)
        code = check_shape(d, part, error);
    return code == ACCEL_OK ? check_window(d, error) : code;
}

/* ---- derived members ---- */

static uint64_t sum_of(const struct shape_list *list)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < list->count; i++)
        sum += list->items[i];
    return sum;
}

static void complete_heads(struct shape *s)
{
    if (s->head_size == 0 && s->heads != 0)
        s->head_size = s->hidden / s->heads;
    if (s->kv_heads == 0)
        s->kv_heads = s->heads;
    if (s->value_size == 0)
        s->value_size = s->head_size;
}

/* Fills the positions of a vision transformer: patches, and a class token before them. */
static void complete_vision(struct shape *s)
{
    uint64_t edge = s->patch == 0 ? 0 : s->image / s->patch;

    if (s->channels == 0)
        s->channels = 3;
    if (s->heads != 0 && s->positions == 0 && edge > 0 && edge < 4096)
        s->positions = edge * edge + 1;
    if (s->heads != 0 && s->tokens == 0)
        s->tokens = s->positions;
}

void describe_complete(struct accel_model_description *d)
{
    for (uint32_t part = 0; part < PARTS; part++) {
        struct shape *s = &d->shapes[part];

        if (!s->used)
            continue;
        if (s->stages.count != 0 && s->layers == 0)
            s->layers = sum_of(&s->stages);
        if (s->stages.count != 0 && s->widths.count != 0 && s->hidden == 0)
            s->hidden = s->widths.items[s->widths.count - 1];
        complete_heads(s);
        if (s->queries != 0 && s->tokens == 0)
            s->tokens = s->queries;
        if (part == PART_VISION)
            complete_vision(s);
        if (part == PART_AUDIO && s->tokens == 0)
            s->tokens = s->positions;
    }
}

/* ---- to facts ---- */

static int32_t write_number(struct accel_model_description *d, const char *group, const char *name, uint64_t number,
                            struct accel_error *error)
{
    char key[KEY_BYTES], value[24];

    if (number == 0)
        return ACCEL_OK;
    snprintf(key, sizeof(key), "%s.%s", group, name);
    snprintf(value, sizeof(value), "%" PRIu64, number);
    return describe_fact(d, key, value, d->origin, error);
}

static int32_t write_list(struct accel_model_description *d, const char *group, const char *name,
                          const struct shape_list *list, struct accel_error *error)
{
    char key[KEY_BYTES], value[LIST_BYTES];
    size_t used = 0;

    if (list->count == 0)
        return ACCEL_OK;
    for (uint64_t i = 0; i < list->count; i++)
        used += (size_t)snprintf(value + used, sizeof(value) - used, "%s%" PRIu64, i == 0 ? "" : " ", list->items[i]);
    snprintf(key, sizeof(key), "%s.%s", group, name);
    return describe_fact(d, key, value, d->origin, error);
}

static int32_t write_shape(struct accel_model_description *d, enum part part, struct accel_error *error)
{
    struct shape *shape = &d->shapes[part];
    int32_t code = ACCEL_OK;

    for (size_t i = 0; i < MEMBERS && code == ACCEL_OK; i++) {
        uint64_t number = *number_at(shape, members[i].offset);

        if (members[i].offset == offsetof(struct shape, value_size) && number == shape->head_size)
            continue;
        if (part == d->traits.main && (members[i].flags & OF_MODEL) != 0)
            code = write_number(d, "model", members[i].name, number, error);
        if (code == ACCEL_OK)
            code = write_number(d, part_names[part], members[i].name, number, error);
    }
    for (size_t i = 0; i < LISTS && code == ACCEL_OK; i++)
        code = write_list(d, part_names[part], lists[i].name, list_at(shape, lists[i].offset), error);
    return code;
}

int32_t describe_write_facts(struct accel_model_description *d, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    if (d->traits.family != NULL)
        code = describe_fact(d, "model.family", d->traits.family, d->origin, error);
    if (code == ACCEL_OK && d->traits.kind != NULL)
        code = describe_fact(d, "model.kind", d->traits.kind, d->origin, error);
    for (size_t i = 0; i < MODEL_NUMBERS && code == ACCEL_OK; i++) {
        uint64_t number = *number_at(&d->traits, model_numbers[i].offset);

        code = write_number(d, "model", model_numbers[i].name + strlen("model."), number, error);
    }
    if (code == ACCEL_OK && (d->traits.main == PART_LANGUAGE || d->traits.main == PART_DECODER) &&
        d->shapes[d->traits.main].vocabulary != 0)
        code = describe_fact(d, "model.tied", d->traits.tied ? "true" : "false", d->origin, error);
    for (uint32_t part = 0; part < PARTS && code == ACCEL_OK; part++)
        code = d->shapes[part].used ? write_shape(d, part, error) : ACCEL_OK;
    return code;
}
