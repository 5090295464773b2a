/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "model/tokenizer/json_steps.h"

#define MAX_AROUND 64 /* ids that one template puts in front of a text or behind it */

/* The ids that one template adds around a text, in order. */
struct around {
    int32_t before[MAX_AROUND], after[MAX_AROUND];
    size_t before_count, after_count;
    bool behind; /* the text has been seen */
};

static int32_t add_id(struct accel_tokenizer *made, struct around *around, json_int_t id,
                      const struct token_json_place *place, struct accel_error *error)
{
    size_t *count = around->behind ? &around->after_count : &around->before_count;

    if (id < 0 || id > INT32_MAX || token_vocab_entry(&made->vocab, (int32_t)id) == NULL)
        return accel_error_set(error, ACCEL_E_CORRUPT, "%s: id %lld is not in the vocabulary", place->path,
                               (long long)id);
    if (*count >= MAX_AROUND)
        return accel_error_set(error, ACCEL_E_LIMIT, "%s: more than %d ids around a text", place->path, MAX_AROUND);
    (around->behind ? around->after : around->before)[(*count)++] = (int32_t)id;
    return ACCEL_OK;
}

/* Adds one template outside of the ids of previous processors. */
static int32_t wrap(struct accel_tokenizer *made, const struct around *around, struct accel_error *error)
{
    size_t old = made->before.count;
    bool done = true;

    for (size_t i = 0; done && i < around->before_count; i++)
        done = token_list_append(&made->before, around->before[i]);
    for (size_t i = 0; done && i < around->after_count; i++)
        done = token_list_append(&made->after, around->after[i]);
    if (!done)
        return accel_error_no_memory(error, "for a tokenizer");
    /* The new ids go outside: rotate [old, new] to [new, old]. */
    if (old > 0 && around->before_count > 0) {
        memmove(made->before.ids + around->before_count, made->before.ids, old * sizeof(*made->before.ids));
        memcpy(made->before.ids, around->before, around->before_count * sizeof(*around->before));
    }
    return ACCEL_OK;
}

/* {"SpecialToken": {"id": NAME}}: the ids that special_tokens gives to NAME. */
static int32_t add_special(struct accel_tokenizer *made, const json_t *component, const json_t *item,
                           struct around *around, const struct token_json_place *place, struct accel_error *error)
{
    const char *name = json_string_value(json_object_get(item, "id"));
    const json_t *entry = name == NULL ? NULL : json_object_get(json_object_get(component, "special_tokens"), name);
    const json_t *ids = json_object_get(entry, "ids");
    int32_t code = ACCEL_OK;

    if (!json_is_array(ids))
        return accel_error_set(error, ACCEL_E_CORRUPT, "%s: special_tokens has no ids for \"%.100s\"", place->path,
                               name == NULL ? "" : name);
    for (size_t i = 0; code == ACCEL_OK && i < json_array_size(ids); i++)
        code = add_id(made, around, json_integer_value(json_array_get(ids, i)), place, error);
    return code;
}

static int32_t read_template(struct accel_tokenizer *made, const json_t *component,
                             const struct token_json_place *place, struct accel_error *error)
{
    const json_t *single = json_object_get(component, "single");
    struct around around = {0};
    int32_t code = ACCEL_OK;

    if (!json_is_array(single))
        return token_json_wrong(place, "single", "an array", error);
    for (size_t i = 0; code == ACCEL_OK && i < json_array_size(single); i++) {
        const json_t *item = json_array_get(single, i);
        const json_t *special = json_object_get(item, "SpecialToken");
        struct token_json_place inner = token_json_enter(place, "single", (int)i);

        if (special != NULL)
            code = add_special(made, component, special, &around, &inner, error);
        else if (json_object_get(item, "Sequence") != NULL && !around.behind)
            around.behind = true;
        else
            code = accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: neither a special token nor the only sequence",
                                   inner.path);
    }
    if (code == ACCEL_OK && !around.behind)
        code = accel_error_set(error, ACCEL_E_CORRUPT, "%s.single holds no sequence", place->path);
    return code == ACCEL_OK ? wrap(made, &around, error) : code;
}

/* BertProcessing and RobertaProcessing: "cls" and "sep" are [spelling, id]. */
static int32_t read_pair(struct accel_tokenizer *made, const json_t *component, const struct token_json_place *place,
                         struct accel_error *error)
{
    const json_t *first = json_array_get(json_object_get(component, "cls"), 1);
    const json_t *last = json_array_get(json_object_get(component, "sep"), 1);
    struct around around = {0};
    int32_t code;

    if (!json_is_integer(first) || !json_is_integer(last))
        return token_json_wrong(place, "cls and sep", "[spelling, id]", error);
    code = add_id(made, &around, json_integer_value(first), place, error);
    around.behind = true;
    if (code == ACCEL_OK)
        code = add_id(made, &around, json_integer_value(last), place, error);
    return code == ACCEL_OK ? wrap(made, &around, error) : code;
}

int32_t token_json_post(struct accel_tokenizer *made, const json_t *component, const struct token_json_place *place,
                        struct accel_error *error)
{
    const char *type = token_json_type(component);

    if (component == NULL || json_is_null(component) || strcmp(type, "ByteLevel") == 0)
        return ACCEL_OK; /* ByteLevel moves offsets only, which we do not keep */
    if (strcmp(type, "Sequence") == 0)
        return token_json_sequence(made, component, "processors", place, token_json_post, error);
    if (strcmp(type, "TemplateProcessing") == 0)
        return read_template(made, component, place, error);
    if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0)
        return read_pair(made, component, place, error);
    return token_json_unsupported(place, type, error);
}
