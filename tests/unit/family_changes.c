/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of one key of config.json or of one tensor, in a fixture of each family: the change is refused by the name of
 * the key or of the tensor, or it changes the logits; else the key is one that changes nothing, which a list states.
 * Inputs are longer than every window and than the length from which positions are scaled. Without ACCEL_TEST_ALL a
 * sample of the changes runs.
 */
#include "changes_support.h"

/* Keys of config.json that no change of logits shows. */
static const struct {
    const char *key, *reason;
} without_effect[] = {
#define WITHOUT_EFFECT(key, reason) {key, reason},
#include "tests/unit/config_without_effect.def"
#undef WITHOUT_EFFECT
    {"bos_token_id", "begins a prompt"},
    {"eos_token_id", "ends a text"},
    {"pad_token_id", "of batches of other programs"},
    {"dtype", "weights have the types of their file"},
    {"max_position_embeddings", "limits a sequence"},
    {"max_seq_len", "limits a sequence"},
};

/* Keys without effect in one fixture, or in those whose name begins so. */
static const struct {
    const char *fixture, *key, *reason;
} no_change[] = {
    {"", "tie_word_embeddings", "a stored output projection is used"},
    {"qwen", "use_sliding_window", "the list of layer types states the windows"},
    {"smollm3", "use_sliding_window", "the list of layer types states the windows"},
    {"qwen", "sliding_window", "no layer has a window"},
    {"smollm3", "sliding_window", "no layer has a window"},
    {"qwen", "max_window_layers", "no layer has a window"},
    {"gemma3", "_sliding_window_pattern", "the list of layer types comes first"},
    {"smollm3", "no_rope_layer_interval", "the list of layers comes first"},
    {"mpt", "model_type", "of the object of attention"},
    {"llama-rope-yarn", "beta_fast", "bounds are rounded to whole dimensions"},
    {"llama-rope-yarn", "beta_slow", "bounds are rounded to whole dimensions"},
    {"gpt-oss", "hidden_act", "gates have their own function"},
    {"falcon-alibi", "rope_parameters", "positions are slopes"},
    {"falcon-alibi", "num_kv_heads", "of the later architecture"},
    {"falcon-mq", "num_kv_heads", "of the later architecture"},
    {"falcon-alibi", "num_ln_in_parallel_attn", "of the later architecture"},
    {"falcon-mq", "num_ln_in_parallel_attn", "of the later architecture"},
    {"falcon-new", "multi_query", "of the first architecture"},
    {"falcon-new", "parallel_attn", "of the first architecture"},
    {"opt-350m-like", "_remove_final_layer_norm", "norms that follow the branches include the last one"},
    {"phi3-base", "original_max_position_embeddings", "positions are not scaled"},
    {"phi3-longrope", "original_max_position_embeddings", "the key at the top comes first"},
    {"qwen3-moe", "intermediate_size", "all layers have experts"},
    {"deepseek-v2", "head_dim", "transformers replaces it by qk_rope_head_dim"},
    {"deepseek-v2-lite-like", "n_group", "the method is greedy"},
    {"deepseek-v2-lite-like", "topk_group", "the method is greedy"},
    {"deepseek-v2-lite-like", "beta_fast", "bounds are rounded to whole dimensions"},
    {"deepseek-v2-lite-like", "beta_slow", "bounds are rounded to whole dimensions"},
};

/* Keys whose default follows from other keys or from tensors. */
static const char *const derived[] = {"vocab_size",      "layer_types",     "num_key_value_heads",
                                      "head_dim",        "ffn_hidden_size", "word_embed_proj_dim",
                                      "mlp_only_layers", "no_rope_layers",  "num_ln_in_parallel_attn",
                                      "factor"};

/* Windows of families that turn them on by a key, each of which has an effect then. */
static const struct {
    const char *fixture, *keys;
} windows[] = {
    {"qwen2-base", "{\"use_sliding_window\": true, \"sliding_window\": 8, \"max_window_layers\": 1}"},
    {"qwen3-base", "{\"use_sliding_window\": true, \"sliding_window\": 8, \"max_window_layers\": 1}"},
    {"qwen2-moe-tiny", "{\"use_sliding_window\": true, \"sliding_window\": 8, \"max_window_layers\": 1}"},
    {"qwen3-moe-tiny", "{\"use_sliding_window\": true, \"sliding_window\": 8}"},
    {"smollm3-base", "{\"use_sliding_window\": true, \"sliding_window\": 8}"},
};

static void write_config(const json_t *config)
{
    char *text = json_dumps(config, JSON_ENCODE_ANY);

    assert_non_null(text);
    write_file("config.json", text, strlen(text));
    free(text);
}

static void link_weights(const struct subject *subject)
{
    char from[PATH_BYTES + 32], to[PATH_BYTES + 32];

    snprintf(from, sizeof(from), "%s/model.safetensors", subject->path);
    file_path(to, "model.safetensors");
    unlink(to);
    assert_int_equal(symlink(from, to), 0);
}

/* ---- keys ---- */

static bool is_listed(const char *fixture, const char *key)
{
    for (size_t i = 0; i < sizeof(without_effect) / sizeof(without_effect[0]); i++)
        if (strcmp(without_effect[i].key, key) == 0)
            return true;
    for (size_t i = 0; i < sizeof(no_change) / sizeof(no_change[0]); i++)
        if (strcmp(no_change[i].key, key) == 0 &&
            strncmp(no_change[i].fixture, fixture, strlen(no_change[i].fixture)) == 0)
            return true;
    return false;
}

static json_t *other_value(const json_t *value)
{
    json_t *list;

    switch (json_typeof(value)) {
    case JSON_TRUE:
        return json_false();
    case JSON_FALSE:
        return json_true();
    case JSON_INTEGER:
        return json_integer(json_integer_value(value) == 1 ? 4 : json_integer_value(value) / 2);
    case JSON_REAL:
        return json_real(json_real_value(value) == 0 ? 0.5 : json_real_value(value) * 0.5);
    case JSON_STRING:
        return json_string("another");
    case JSON_ARRAY:
        list = json_deep_copy(value);
        if (json_array_size(list) == 0)
            json_array_append_new(list, json_integer(0));
        else
            json_array_set_new(list, 0, other_value(json_array_get(value, 0)));
        return list;
    case JSON_OBJECT:
        return json_object();
    case JSON_NULL:
        break;
    }
    return json_integer(3);
}

static json_t *other_type(const json_t *value)
{
    return json_is_string(value) || json_is_object(value) ? json_integer(5) : json_string("text");
}

/* Returns whether an absent key has this value in transformers. */
static bool is_default(const struct subject *subject, const char *key, const json_t *value)
{
    static const struct {
        const char *type, *key, *value;
    } defaults[] = {
        {NULL, "rope_type", "\"default\""},
        {NULL, "beta_fast", "32.0"},
        {"mpt", "alibi", "true"},
        {"mpt", "alibi_bias_max", "8"},
        {"mpt", "attn_type", "\"multihead_attention\""},
        {"mpt", "attn_uses_sequence_id", "false"},
        {"mpt", "prefix_lm", "false"},
        {"mpt", "qk_ln", "false"},
        {"gpt_neox", "rope_theta", "10000.0"},
        {"gpt_neox", "partial_rotary_factor", "0.25"},
        {"phi3", "partial_rotary_factor", "1.0"},
        {"deepseek_v2", "attention_bias", "false"},
        {"deepseek_v2", "hidden_act", "\"silu\""},
        {"deepseek_v2", "mlp_bias", "false"},
        {"deepseek_v2", "n_shared_experts", "2"},
        {"deepseek_v2", "norm_topk_prob", "false"},
        {"deepseek_v2", "rope_theta", "10000.0"},
        {"deepseek_v2", "topk_method", "\"greedy\""},
#define DEFAULT(type, key, value) {type, key, value},
#define ACTIVATION(type, value)                                                                                        \
    {type, "hidden_act", "\"" value "\""}, {type, "hidden_activation", "\"" value "\""},                               \
        {type, "activation", "\"" value "\""}, {type, "activation_function", "\"" value "\""},
#include "tests/unit/config_defaults.def"
#undef DEFAULT
#undef ACTIVATION
    };
    const char *type = json_string_value(json_object_get(subject->config, "model_type"));

    if (json_is_null(value))
        return true;
    for (size_t i = 0; i < sizeof(derived) / sizeof(derived[0]); i++)
        if (strcmp(derived[i], key) == 0)
            return true;
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        json_t *known;
        bool is_equal;

        if ((defaults[i].type != NULL && strcmp(defaults[i].type, type) != 0) || strcmp(defaults[i].key, key) != 0)
            continue;
        known = json_loads(defaults[i].value, JSON_DECODE_ANY, NULL);
        is_equal = json_is_number(known) ? json_number_value(known) == json_number_value(value)
                                         : json_equal(known, (json_t *)(uintptr_t)value) != 0;
        json_decref(known);
        return is_equal;
    }
    return false;
}

/* Returns whether all members of an object have the values of absent keys. */
static bool are_defaults(const struct subject *subject, json_t *object)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        if (!is_default(subject, key, value))
            return false;
    }
    return json_is_object(object);
}

/* Changes a key of an object of the configuration in three ways. `name` is the key at the top. */
static void change_key(struct subject *subject, json_t *object, const char *name, const char *key)
{
    const bool may_change_nothing =
        !subject->all_matter && (is_listed(subject->name, name) || is_listed(subject->name, key));
    static const char *const ways[] = {"absent", "of another type", "of another value"};
    /* An absent size is missed by the shapes of tensors, and a key head by the number of heads. */
    const char *const names[NAMES_MOST] = {
        key, name, "tensor", "heads", "dimensions", "short_factor", "sliding_window", "context", "experts"};
    json_t *old = json_incref(json_object_get(object, key));

    for (size_t way = 0; way < 3; way++) {
        enum outcome outcome;

        if (!is_drawn(6))
            continue;
        if (way == 0)
            json_object_del(object, key);
        else
            json_object_set_new(object, key, way == 1 ? other_type(old) : other_value(old));
        write_config(subject->config);
        outcome = run_changed(subject, names, ways[way]);
        json_object_set(object, key, old);
        if (outcome != SAME || may_change_nothing || (way == 0 && is_default(subject, key, old)) ||
            (way != 1 && are_defaults(subject, old)))
            continue;
        print_message("%s: %s, %s, %s: nothing changes\n", subject->name, name, key, ways[way]);
        failures++;
    }
    json_decref(old);
}

/* Changes each key of an object, and of the objects in it down to `depth`. */
static void change_keys(struct subject *subject, json_t *object, const char *top, uint32_t depth)
{
    json_t *copy = json_copy(object), *value;
    const char *key;

    json_object_foreach(copy, key, value)
    {
        change_key(subject, object, top == NULL ? key : top, key);
        if (json_is_object(value) && depth != 0 && !is_listed(subject->name, key))
            change_keys(subject, value, top == NULL ? key : top, depth - 1);
    }
    json_decref(copy);
}

/* ---- tensors ---- */

/* Tensors whose first value has no effect: a bias of all scores of a query. */
static const char *const invariant[] = {"self_attn.k_proj.bias of opt"};

static bool is_invariant(const struct subject *subject, const char *name)
{
    for (size_t i = 0; i < sizeof(invariant) / sizeof(invariant[0]); i++) {
        const char *of = strstr(invariant[i], " of ");

        if (strncmp(subject->name, of + 4, strlen(of + 4)) == 0 && strlen(name) >= (size_t)(of - invariant[i]) &&
            strncmp(name + strlen(name) - (size_t)(of - invariant[i]), invariant[i], (size_t)(of - invariant[i])) == 0)
            return true;
    }
    return false;
}

/* The file of a fixture: 8 bytes of length, a header in JSON, data. */
static json_t *read_weights(struct subject *subject, uint64_t *out_header)
{
    char path[PATH_BYTES + 32];
    json_t *header;

    snprintf(path, sizeof(path), "%s/model.safetensors", subject->path);
    read_file(subject, path, 8);
    memcpy(out_header, subject->file, sizeof(*out_header));
    header = json_loadb((const char *)subject->file + 8, *out_header, 0, NULL);
    assert_non_null(header);
    return header;
}

/* Writes the file with another header. */
static void write_weights(const struct subject *subject, const json_t *header, uint64_t old_header)
{
    char *text = json_dumps(header, JSON_COMPACT);
    const uint64_t length = (strlen(text) + 7) / 8 * 8, data = subject->file_bytes - 8 - old_header;
    unsigned char *out = malloc(8 + length + data);

    assert_non_null(out);
    memcpy(out, &length, sizeof(length));
    memset(out + 8, ' ', length);
    memcpy(out + 8, text, strlen(text));
    memcpy(out + 8 + length, subject->file + 8 + old_header, data);
    write_file("model.safetensors", out, 8 + length + data);
    free(out);
    free(text);
}

/* Halves the first extent above 1 of a tensor, and appends the other half as a tensor without an effect, since a file
 * has no bytes between tensors. */
static void halve(json_t *header, json_t *entry)
{
    json_t *shape = json_object_get(entry, "shape"), *offsets = json_object_get(entry, "data_offsets"), *rest;
    const json_int_t begin = json_integer_value(json_array_get(offsets, 0));
    const json_int_t end = json_integer_value(json_array_get(offsets, 1));
    json_int_t extent, middle;
    size_t axis = 0;

    while (json_integer_value(json_array_get(shape, axis)) % 2 != 0)
        axis++;
    extent = json_integer_value(json_array_get(shape, axis)) / 2;
    middle = begin + (end - begin) / 2;
    json_array_set_new(shape, axis, json_integer(extent));
    json_array_set_new(offsets, 1, json_integer(middle));
    rest = json_deep_copy(entry);
    json_array_set_new(json_object_get(rest, "data_offsets"), 0, json_integer(middle));
    json_array_set_new(json_object_get(rest, "data_offsets"), 1, json_integer(end));
    json_object_set_new(header, "rest.rotary_emb.inv_freq", rest);
}

/* Turns a matrix [a, b] into [a * b], and a vector into a matrix of one row. */
static void change_rank(json_t *entry)
{
    json_t *shape = json_object_get(entry, "shape");

    if (json_array_size(shape) == 1) {
        json_array_insert_new(shape, 0, json_integer(1));
    } else {
        json_array_set_new(
            shape, 0,
            json_integer(json_integer_value(json_array_get(shape, 0)) * json_integer_value(json_array_get(shape, 1))));
        json_array_remove(shape, 1);
    }
}

/* Adds 1 to a value of a tensor of F32 or BF16: the first one, of the row of the first token in a table of tokens. */
static void change_value(const struct subject *subject, unsigned char *data, const char *name, const json_t *entry)
{
    const json_t *shape = json_object_get(entry, "shape");
    const bool is_tokens =
        json_array_size(shape) == 2 && json_integer_value(json_array_get(shape, 0)) ==
                                           json_integer_value(json_object_get(subject->config, "vocab_size"));
    const uint64_t row = is_tokens ? (uint64_t)json_integer_value(json_array_get(shape, 1)) : 0;
    const uint64_t begin = (uint64_t)json_integer_value(json_array_get(json_object_get(entry, "data_offsets"), 0));
    /* Rows of positions begin with two that opt does not use. */
    const uint64_t first = strstr(name, "embed_positions") != NULL
                               ? 2 * (uint64_t)json_integer_value(json_array_get(shape, 1))
                               : row * (uint64_t)subject->ids[0];
    /* BF16 is the upper half of F32, in files the latter one. */
    const bool is_half = strcmp(json_string_value(json_object_get(entry, "dtype")), "BF16") == 0;
    const size_t bytes = is_half ? 2 : 4;
    unsigned char bits[4] = {0};
    float value;

    memcpy(bits + 4 - bytes, data + begin + first * bytes, bytes);
    memcpy(&value, bits, sizeof(value));
    value += 1;
    memcpy(bits, &value, sizeof(value));
    memcpy(data + begin + first * bytes, bits + 4 - bytes, bytes);
}

/* Changes a tensor in five ways. A renamed tensor is missed by its name, or has no place under the other. */
static void change_tensor(struct subject *subject, const json_t *header, uint64_t old_header, const char *name)
{
    static const char *const ways[] = {"absent", "renamed", "halved", "of another rank", "of another value"};
    const char *const names[NAMES_MOST] = {name, "model.renamed.weight"};

    for (size_t way = 0; way < 5; way++) {
        json_t *changed = json_deep_copy(header), *entry = json_object_get(changed, name);
        enum outcome outcome;

        if (!is_drawn(6)) {
            json_decref(changed);
            continue;
        }
        if (way == 0) {
            json_object_set(changed, "rest.rotary_emb.inv_freq", entry);
            json_object_del(changed, name);
        } else if (way == 1) {
            json_object_set(changed, "model.renamed.weight", entry);
            json_object_del(changed, name);
        } else if (way == 2) {
            halve(changed, entry);
        } else if (way == 3) {
            change_rank(entry);
        } else {
            change_value(subject, subject->file + 8 + old_header, name, entry);
        }
        write_weights(subject, changed, old_header);
        outcome = run_changed(subject, names, ways[way]);
        json_decref(changed);
        if (outcome == REFUSED || (way == 4 && (outcome == CHANGED || is_invariant(subject, name))))
            continue;
        print_message("%s: %s %s: %s\n", subject->name, name, ways[way],
                      outcome == SAME ? "nothing changes" : "it is not refused");
        failures++;
    }
}

static void change_tensors(struct subject *subject)
{
    uint64_t old_header;
    json_t *header = read_weights(subject, &old_header), *entry;
    unsigned char *whole = malloc(subject->file_bytes);
    const char *name;

    assert_non_null(whole);
    memcpy(whole, subject->file, subject->file_bytes);
    write_config(subject->config);
    json_object_foreach(header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        change_tensor(subject, header, old_header, name);
        memcpy(subject->file, whole, subject->file_bytes);
    }
    free(whole);
    json_decref(header);
}

/* ---- fixtures ---- */

static void open_subject(struct subject *subject, const char *name)
{
    load_subject(subject, name);
    write_config(subject->config);
    link_weights(subject);
    run_subject(subject);
}

static void test_keys(void **state)
{
    struct subject subject;

    open_subject(&subject, *state);
    failures = 0;
    change_keys(&subject, subject.config, NULL, 2);
    close_subject(&subject);
    assert_int_equal(failures, 0);
}

static void test_tensors(void **state)
{
    struct subject subject;

    open_subject(&subject, *state);
    failures = 0;
    change_tensors(&subject);
    close_subject(&subject);
    assert_int_equal(failures, 0);
}

static void test_windows(void **state)
{
    struct subject subject;
    json_t *keys, *value;
    const char *key;

    (void)state;
    failures = 0;
    for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
        struct accel_error error = {0};
        struct run run;

        open_subject(&subject, windows[i].fixture);
        keys = json_loads(windows[i].keys, 0, NULL);
        assert_non_null(keys);
        json_object_update(subject.config, keys);
        json_object_del(subject.config, "layer_types");
        write_config(subject.config);
        OK(run_model(&subject, &run, &error));
        if (same_logits(&subject, &run))
            fail_msg("%s: no window", subject.name);
        free(subject.logits);
        subject.logits = run.logits;
        subject.all_matter = true;
        json_object_foreach(keys, key, value)
        {
            change_key(&subject, subject.config, key, key);
        }
        json_decref(keys);
        close_subject(&subject);
    }
    assert_int_equal(failures, 0);
}

static int tear_down(void **state)
{
    (void)state;
    return remove_folder((const char *const[]){"config.json", "model.safetensors", NULL});
}

int main(void)
{
    enum { COUNT = sizeof(fixtures) / sizeof(*fixtures) };
    struct CMUnitTest tests[2 * COUNT + 1];
    char names[2 * COUNT][64];

    for (size_t i = 0; i < COUNT; i++) {
        void *fixture = (void *)(uintptr_t)fixtures[i];

        snprintf(names[2 * i], sizeof(names[0]), "keys of %s", fixtures[i]);
        snprintf(names[2 * i + 1], sizeof(names[0]), "tensors of %s", fixtures[i]);
        tests[2 * i] = (struct CMUnitTest){names[2 * i], test_keys, NULL, NULL, fixture};
        tests[2 * i + 1] = (struct CMUnitTest){names[2 * i + 1], test_tensors, NULL, NULL, fixture};
    }
    tests[2 * COUNT] = (struct CMUnitTest)cmocka_unit_test(test_windows);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
