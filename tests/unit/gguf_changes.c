/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of one key of the architecture in a GGUF file of each family: an absent key is refused by its name, has the
 * value that it has in llama.cpp, or changes the logits; another value is refused by its name or changes them; else the
 * key is one that changes nothing, which a list states. Files are made of the fixtures by make_gguf.py, which needs the
 * Python package gguf (ACCEL_PYTHON: the interpreter that has it, default python3). Without ACCEL_TEST_ALL a sample of
 * the changes runs.
 */
#include <sys/wait.h>

#include "changes_support.h"

enum { KEYS_MOST = 64, KEY_BYTES = 80, COMMAND_BYTES = 6 * PATH_BYTES };

/* Types of values in GGUF. */
enum { GGUF_U8, GGUF_I8, GGUF_U16, GGUF_I16, GGUF_U32, GGUF_I32, GGUF_F32, GGUF_BOOL, GGUF_STRING, GGUF_ARRAY };

/* Keys without effect in fixtures whose name begins so. */
static const struct {
    const char *fixture, *key, *reason;
} no_change[] = {
    {"", "context_length", "limits a sequence"},
    {"falcon", "tensor_data_layout", "a note of converters"},
    {"stablelm", "use_parallel_residual", "a second norm in each layer states it"},
    {"mixtral", "feed_forward_length", "all layers have experts"},
    {"qwen3-moe", "feed_forward_length", "all layers have experts"},
    {"gpt-oss", "feed_forward_length", "all layers have experts"},
    {"gpt-oss", "expert_feed_forward_length", "feed_forward_length is the same number"},
    {"deepseek-v2", "attention.head_count_kv", "other keys and tensors of latent attention imply it"},
    {"deepseek-v2", "attention.key_length", "other keys and tensors of latent attention imply it"},
    {"deepseek-v2", "attention.value_length", "other keys and tensors of latent attention imply it"},
    {"deepseek-v2", "leading_dense_block_count", "layers with a router have experts"},
    {"deepseek-v2-lite-like", "rope.scaling.yarn_beta_fast", "bounds are rounded to whole dimensions"},
    {"deepseek-v2-lite-like", "rope.scaling.yarn_beta_slow", "bounds are rounded to whole dimensions"},
    {"llama-rope-yarn", "rope.scaling.yarn_beta_fast", "bounds are rounded to whole dimensions"},
    {"llama-rope-yarn", "rope.scaling.yarn_beta_slow", "bounds are rounded to whole dimensions"},
};

/* Values of absent keys in llama.cpp (load_hparams of llama-model.cpp, load_arch_hparams of models/), beside those that
 * follow from other keys (find_default). */
static const struct {
    const char *fixture, *key;
    double value;
} defaults[] = {
    {"", "rope.freq_base", 10000},
    {"", "rope.scaling.yarn_beta_fast", 32},
    {"", "rope.scaling.yarn_beta_slow", 1},
    {"gemma2", "attention.sliding_window", 4096},
    {"gemma2", "attn_logit_softcapping", 50},
    {"gemma2", "final_logit_softcapping", 30},
    {"gemma3", "rope.freq_base_swa", 10000},
    {"deepseek-v2", "expert_weights_norm", 0},
    {"deepseek-v2", "expert_weights_scale", 1},
};

/* A key in the file. */
struct key {
    char name[KEY_BYTES]; /* behind the architecture and a dot */
    size_t at, value_at;  /* offsets of its first character and of its value */
    uint32_t type;
};

struct keys {
    struct key list[KEYS_MOST];
    uint32_t count;
};

/* ---- the file ---- */

static uint64_t read_u64(const struct subject *subject, size_t at)
{
    uint64_t value;

    assert_true(at + sizeof(value) <= subject->file_bytes);
    memcpy(&value, subject->file + at, sizeof(value));
    return value;
}

static uint32_t read_u32(const struct subject *subject, size_t at)
{
    uint32_t value;

    assert_true(at + sizeof(value) <= subject->file_bytes);
    memcpy(&value, subject->file + at, sizeof(value));
    return value;
}

static size_t value_bytes(const struct subject *subject, uint32_t type, size_t at)
{
    static const size_t widths[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    size_t bytes = 12;

    if (type == GGUF_STRING)
        return 8 + read_u64(subject, at);
    if (type != GGUF_ARRAY)
        return widths[type];
    for (uint64_t i = 0; i < read_u64(subject, at + 4); i++)
        bytes += value_bytes(subject, read_u32(subject, at), at + bytes);
    return bytes;
}

/* Lists the keys of the architecture, which the first key of a file states: magic, version, numbers of tensors and of
 * keys, then for each key its name, its type and its value. */
static void list_keys(const struct subject *subject, struct keys *keys)
{
    const uint64_t count = read_u64(subject, 16);
    char prefix[KEY_BYTES] = "";
    size_t at = 24;

    keys->count = 0;
    for (uint64_t i = 0; i < count; i++) {
        const char *name = (const char *)subject->file + at + 8;
        const size_t length = read_u64(subject, at), name_at = at + 8;
        const uint32_t type = read_u32(subject, name_at + length);
        const size_t value_at = name_at + length + 4;

        if (i == 0) {
            assert_memory_equal(name, "general.architecture", length);
            snprintf(prefix, sizeof(prefix), "%.*s.", (int)read_u64(subject, value_at), name + length + 12);
        } else if (length > strlen(prefix) && strncmp(name, prefix, strlen(prefix)) == 0) {
            struct key *key = &keys->list[keys->count++];

            assert_true(keys->count < KEYS_MOST);
            *key = (struct key){.at = name_at, .value_at = value_at, .type = type};
            snprintf(key->name, sizeof(key->name), "%.*s", (int)(length - strlen(prefix)), name + strlen(prefix));
        }
        at = value_at + value_bytes(subject, type, value_at);
    }
}

static const struct key *find_key(const struct keys *keys, const char *name)
{
    for (uint32_t i = 0; i < keys->count; i++)
        if (strcmp(keys->list[i].name, name) == 0)
            return &keys->list[i];
    return NULL;
}

/* Returns a number, a boolean as 0 or 1; NAN for others and for NULL. */
static double number_of(const struct subject *subject, const struct key *key)
{
    float real;

    if (key == NULL || (key->type != GGUF_U32 && key->type != GGUF_F32 && key->type != GGUF_BOOL))
        return NAN;
    memcpy(&real, subject->file + key->value_at, sizeof(real));
    return key->type == GGUF_U32   ? read_u32(subject, key->value_at)
           : key->type == GGUF_F32 ? (double)real
                                   : subject->file[key->value_at];
}

/* Replaces a value by another one of its type: a half or a quarter of a number, the other boolean, another first
 * letter. */
static void change_value(const struct subject *subject, const struct key *key)
{
    unsigned char *value = subject->file + key->value_at;
    const double old = number_of(subject, key);
    const uint32_t whole = old == 1 ? 4 : old == 0 ? 3 : (uint32_t)old / (old < 8 ? 2 : 4);
    const float real = old == 0 ? 0.5f : (float)old * 0.5f;

    if (key->type == GGUF_U32)
        memcpy(value, &whole, sizeof(whole));
    else if (key->type == GGUF_F32)
        memcpy(value, &real, sizeof(real));
    else if (key->type == GGUF_BOOL)
        value[0] ^= 1;
    else if (key->type == GGUF_STRING)
        value[8] ^= 1;
    else
        fail_msg("%s: %s has type %u", subject->name, key->name, key->type);
}

/* ---- keys ---- */

/* Returns the value that an absent key has by other keys. */
static double find_default(const struct subject *subject, const struct keys *keys, const char *name)
{
    const double heads = number_of(subject, find_key(keys, "attention.head_count"));
    const double head = floor(number_of(subject, find_key(keys, "embedding_length")) / heads);
    const double length = number_of(subject, find_key(keys, "attention.key_length"));

    if (strcmp(name, "attention.head_count_kv") == 0)
        return heads;
    if (strcmp(name, "attention.key_length") == 0 || strcmp(name, "attention.value_length") == 0)
        return head;
    if (strcmp(name, "rope.dimension_count") == 0)
        return isnan(length) ? head : length;
    if (strcmp(name, "rope.scaling.original_context_length") == 0)
        return number_of(subject, find_key(keys, "context_length"));
    if (strcmp(name, "vocab_size") == 0) /* as many as the list of tokens has */
        return (double)json_integer_value(json_object_get(subject->config, "vocab_size"));
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
        if (strcmp(defaults[i].key, name) == 0 &&
            strncmp(defaults[i].fixture, subject->name, strlen(defaults[i].fixture)) == 0)
            return defaults[i].value;
    return NAN;
}

/* Returns whether llama.cpp gives an absent key the value that the file has. */
static bool is_default(const struct subject *subject, const struct keys *keys, const struct key *key)
{
    const char *text = (const char *)subject->file + key->value_at + 8;

    /* The kind is linear, which without a factor scales nothing. */
    if (strcmp(key->name, "rope.scaling.type") == 0)
        return strncmp(text, "linear", 6) == 0 ||
               (strncmp(text, "none", 4) == 0 && find_key(keys, "rope.scaling.factor") == NULL);
    return number_of(subject, key) == find_default(subject, keys, key->name);
}

static bool is_listed(const struct subject *subject, const struct key *key)
{
    for (size_t i = 0; i < sizeof(no_change) / sizeof(no_change[0]); i++)
        if (strcmp(no_change[i].key, key->name) == 0 &&
            strncmp(no_change[i].fixture, subject->name, strlen(no_change[i].fixture)) == 0)
            return true;
    return false;
}

/* Leaves a key out, by another first letter of its name, or gives it another value. */
static void change_key(struct subject *subject, const struct keys *keys, const struct key *key, bool is_absent,
                       const unsigned char *whole)
{
    /* A size is missed by the shapes of tensors, and a key head by the number of heads. */
    const char *const names[NAMES_MOST] = {key->name,    "tensor",     "heads",   "dimensions",
                                           "token_embd", "vocabulary", "context", "expert"};
    enum outcome outcome;

    if (is_absent)
        subject->file[key->at] = '?';
    else
        change_value(subject, key);
    write_file("model.gguf", subject->file, subject->file_bytes);
    outcome = run_changed(subject, names, is_absent ? "absent" : "of another value");
    memcpy(subject->file, whole, subject->file_bytes);
    if (outcome != SAME || is_listed(subject, key) || (is_absent && is_default(subject, keys, key)))
        return;
    print_message("%s: %s, %s: nothing changes\n", subject->name, key->name, is_absent ? "absent" : "another value");
    failures++;
}

/* ---- fixtures ---- */

/* Makes the file; false if GGUF has no form of the model. Skips the test without the package. */
static bool make_file(struct subject *subject)
{
    const char *python = getenv("ACCEL_PYTHON"), *tree = getenv("ACCEL_TEST_SRCDIR");
    static bool has_package = true;
    char command[COMMAND_BYTES], path[PATH_BYTES + 32];
    int status = 0, length;

    length =
        snprintf(command, sizeof(command),
                 "'%s' '%s/tests/accelctl/make_gguf.py' '%s' '%s/model.gguf' '%s/other' >'%s/made' 2>&1",
                 python == NULL ? "python3" : python, tree == NULL ? "." : tree, subject->path, folder, folder, folder);
    assert_true(length > 0 && (size_t)length < sizeof(command));
    if (has_package)
        status = system(command);
    assert_true(WIFEXITED(status));
    has_package = has_package && WEXITSTATUS(status) != 77 && WEXITSTATUS(status) != 127;
    if (!has_package) {
        print_message("skipped: no Python with the package gguf\n");
        close_subject(subject);
        skip();
    }
    if (WEXITSTATUS(status) == 78)
        return false;
    assert_int_equal(WEXITSTATUS(status), 0);
    file_path(path, "model.gguf");
    read_file(subject, path, 24);
    return true;
}

static void test_keys(void **state)
{
    unsigned char *whole;
    struct subject subject;
    struct keys keys;

    load_subject(&subject, *state);
    failures = 0;
    if (!make_file(&subject)) {
        close_subject(&subject);
        return;
    }
    run_subject(&subject);
    list_keys(&subject, &keys);
    assert_true(keys.count > 6);
    whole = malloc(subject.file_bytes);
    assert_non_null(whole);
    memcpy(whole, subject.file, subject.file_bytes);
    for (uint32_t i = 0; i < 2 * keys.count; i++)
        if (is_drawn(6))
            change_key(&subject, &keys, &keys.list[i / 2], i % 2 == 0, whole);
    free(whole);
    close_subject(&subject);
    assert_int_equal(failures, 0);
}

static int tear_down(void **state)
{
    (void)state;
    return remove_folder((const char *const[]){"model.gguf", "made", "other/config.json", "other/model.safetensors",
                                               "other/generation_config.json", "other/fixture.json",
                                               "other/inputs.safetensors", "other", NULL});
}

int main(void)
{
    enum { COUNT = sizeof(fixtures) / sizeof(*fixtures) };
    struct CMUnitTest tests[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){fixtures[i], test_keys, NULL, NULL, (void *)(uintptr_t)fixtures[i]};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
