/* SPDX-License-Identifier: Apache-2.0 */
/* The families of decoders: a model whose tensors or keys are not those of its architecture is refused by name, and
 * tensors that a checkpoint stores in another arrangement are read as the family asks for them. */
#include <sys/stat.h>

#include <accel/model/safetensors.h>

#include "model/family/decoder.h"
#include "model/family/family.h"
#include "model/file/derived.h"
#include "session_support.h"

enum { TENSORS_MOST = 64 };

static char folder[] = "/tmp/accel-family-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int tear_down(void **state)
{
    char path[PATH_BYTES];

    (void)state;
    snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/config.json", folder);
    unlink(path);
    return rmdir(folder);
}

static void write_text(const char *name, const char *text)
{
    char path[PATH_BYTES];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void write_tensors(const struct accel_safetensors_entry *entries, uint64_t count)
{
    const struct accel_safetensors_entry *list[TENSORS_MOST];
    struct accel_error error = {0};
    char path[PATH_BYTES];

    assert_true(count <= TENSORS_MOST);
    for (uint64_t i = 0; i < count; i++)
        list[i] = &entries[i];
    snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    OK(accel_safetensors_write(path, list, count, &error));
}

/* The tensors of a fixture, mapped. */
static uint64_t read_tensors(const struct accel_model_file *file, struct accel_safetensors_entry *entries)
{
    const uint64_t count = accel_model_file_tensor_count(file);

    assert_true(count < TENSORS_MOST);
    for (uint64_t i = 0; i < count; i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);

        entries[i] = (struct accel_safetensors_entry){.size = sizeof(entries[i]),
                                                      .type = tensor->type,
                                                      .name = tensor->name,
                                                      .rank = tensor->rank,
                                                      .dims = tensor->dims,
                                                      .data = accel_model_file_data(file, tensor)};
        assert_non_null(entries[i].data);
    }
    return count;
}

static char *read_config(const char *path)
{
    char name[PATH_BYTES + 16];
    char *text = calloc(1, 16384);
    FILE *file;

    assert_non_null(text);
    snprintf(name, sizeof(name), "%s/config.json", path);
    file = fopen(name, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, 16383, file) > 0);
    fclose(file);
    return text;
}

static void expect(int32_t code, const char *words)
{
    struct accel_model *model = NULL;
    struct accel_error error = {0};
    int32_t got = accel_model_open(folder, NULL, &model, &error);

    accel_model_close(model);
    if (got != code || (words != NULL && strstr(error.text, words) == NULL))
        fail_msg("%s, not %s with '%s': %s", accel_error_name(got), accel_error_name(code), words == NULL ? "" : words,
                 error.text);
}

/* Every tensor of a model, absent, renamed or of another shape, is missed by name. */
static void tensors_have_to_be_those_of_the_family(void **state)
{
    struct accel_safetensors_entry entries[TENSORS_MOST], changed[TENSORS_MOST];
    struct accel_model_file *file;
    struct accel_error error = {0};
    char path[PATH_BYTES], *config;
    uint64_t count;

    (void)state;
    if (!fixture_path("qwen3-base", path))
        skip();
    OK(accel_model_file_open(path, NULL, &file, &error));
    count = read_tensors(file, entries);
    config = read_config(path);
    write_text("config.json", config);
    write_tensors(entries, count);
    expect(ACCEL_OK, NULL);
    for (uint64_t i = 0; i < count; i++) {
        const char *name = entries[i].name;
        const int is_output = strcmp(name, "lm_head.weight") == 0;
        uint64_t dims[2] = {entries[i].dims[0], entries[i].rank > 1 ? entries[i].dims[1] : 0};

        memcpy(changed, entries, sizeof(changed));
        changed[i].name = "model.layers.0.extra.weight";
        write_tensors(changed, count);
        expect(is_output ? ACCEL_E_UNSUPPORTED : ACCEL_E_CORRUPT, is_output ? "extra" : name);
        changed[i] = entries[count - 1];
        write_tensors(changed, count - 1);
        expect(i == count - 1 && is_output ? ACCEL_OK : ACCEL_E_CORRUPT, i == count - 1 && is_output ? NULL : name);
        memcpy(changed, entries, sizeof(changed));
        dims[0] -= 1;
        changed[i].dims = dims;
        write_tensors(changed, count);
        expect(ACCEL_E_CORRUPT, name);
    }
    changed[0] = entries[0];
    memcpy(changed, entries, sizeof(changed));
    changed[count] = entries[0];
    changed[count].name = "model.layers.1.self_attn.another.bias";
    write_tensors(changed, count + 1);
    expect(ACCEL_E_UNSUPPORTED, "model.layers.1.self_attn.another.bias");
    changed[count].name = "model.layers.1.self_attn.rotary_emb.inv_freq"; /* follows from the configuration */
    write_tensors(changed, count + 1);
    expect(ACCEL_OK, NULL);
    free(config);
    accel_model_file_close(file);
}

/* A key that changes the result, and that the family does not read, is refused by name; the value that changes nothing
 * is not. */
static void keys_have_to_be_those_of_the_family(void **state)
{
    static const struct {
        const char *key;
        int32_t code;
        const char *words;
    } keys[] = {
        {"\"attn_logit_softcapping\": 50.0,", ACCEL_E_UNSUPPORTED, "attn_logit_softcapping"},
        {"\"attn_logit_softcapping\": null,", ACCEL_OK, NULL},
        {"\"final_logit_softcapping\": 30.0,", ACCEL_E_UNSUPPORTED, "final_logit_softcapping"},
        {"\"embedding_multiplier\": 12.0,", ACCEL_E_UNSUPPORTED, "embedding_multiplier"},
        {"\"embedding_multiplier\": 1.0,", ACCEL_OK, NULL},
        {"\"residual_multiplier\": 0.2,", ACCEL_E_UNSUPPORTED, "residual_multiplier"},
        {"\"attention_multiplier\": 0.5,", ACCEL_E_UNSUPPORTED, "attention_multiplier"},
        {"\"query_pre_attn_scalar\": 144,", ACCEL_E_UNSUPPORTED, "query_pre_attn_scalar"},
        {"\"logit_scale\": 0.0625,", ACCEL_E_UNSUPPORTED, "logit_scale"},
        {"\"logits_scaling\": 8.0,", ACCEL_E_UNSUPPORTED, "logits_scaling"},
        {"\"clip_qkv\": 8.0,", ACCEL_E_UNSUPPORTED, "clip_qkv"},
        {"\"clip_qkv\": 0,", ACCEL_E_UNSUPPORTED, "clip_qkv"}, /* all zeros, and not: no limit */
        {"\"clip_qkv\": null,", ACCEL_OK, NULL},
        {"\"swiglu_limit\": 7.0,", ACCEL_E_UNSUPPORTED, "swiglu_limit"},
        {"\"word_embed_proj_dim\": 40,", ACCEL_E_UNSUPPORTED, "word_embed_proj_dim"},
        {"\"alibi\": true,", ACCEL_E_UNSUPPORTED, "alibi"},
        {"\"alibi\": false,", ACCEL_OK, NULL},
        {"\"use_parallel_residual\": true,", ACCEL_E_UNSUPPORTED, "use_parallel_residual"},
        {"\"qk_layernorm\": true,", ACCEL_E_UNSUPPORTED, "qk_layernorm"},
        {"\"kv_lora_rank\": 512,", ACCEL_E_UNSUPPORTED, "kv_lora_rank"},
        {"\"no_rope_layers\": [1, 0],", ACCEL_E_UNSUPPORTED, "no_rope_layers"},
        {"\"no_rope_layers\": [],", ACCEL_OK, NULL},
        {"\"routed_scaling_factor\": 2.5,", ACCEL_E_UNSUPPORTED, "routed_scaling_factor"},
        {"\"use_bidirectional_attention\": true,", ACCEL_E_UNSUPPORTED, "use_bidirectional_attention"},
        {"\"a_key_of_a_trainer\": 3,", ACCEL_OK, NULL},
        {"\"rope_scaling\": {\"rope_type\": \"mrope\"},", ACCEL_E_UNSUPPORTED, "mrope"},
        {"\"hidden_activation\": \"softplus\",", ACCEL_E_UNSUPPORTED, "hidden_activation"},
    };
    struct accel_safetensors_entry entries[TENSORS_MOST];
    struct accel_model_file *file;
    struct accel_error error = {0};
    char path[PATH_BYTES], *config, text[20000];

    (void)state;
    assert_true(fixture_path("llama-gqa", path));
    OK(accel_model_file_open(path, NULL, &file, &error));
    write_tensors(entries, read_tensors(file, entries));
    config = read_config(path);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char *old = strstr(config, "\"rope_parameters\"");

        assert_non_null(old);
        snprintf(text, sizeof(text), "{%s%s", keys[i].key, strchr(config, '{') + 1);
        if (strstr(keys[i].key, "rope_scaling") != NULL) /* the newer object stands before the older one */
            memcpy(strstr(text, "\"rope_parameters\""), "\"rope_parametero\"", 17);
        write_text("config.json", text);
        expect(keys[i].code, keys[i].words);
    }
    free(config);
    accel_model_file_close(file);
}

/* ---- derived tensors ---- */

static const uint64_t two_three[] = {2, 3}, three_dims[] = {2, 2, 4};

/* Reads all ranges of a derived tensor, and compares them with `expected`. */
static void check_ranges(const struct accel_model_file *file, const char *name, uint32_t rank, uint64_t rows,
                         uint64_t width, const float *expected)
{
    const struct accel_model_tensor *tensor = accel_model_file_find(file, name);
    const uint64_t bytes = rows * (rank == 1 ? 1 : width) * sizeof(float);
    struct accel_error error = {0};
    char got[256];

    assert_non_null(tensor);
    assert_int_equal(tensor->rank, rank);
    assert_int_equal(tensor->dims[0], rows);
    assert_int_equal(tensor->dims[1], rank == 1 ? 0 : width);
    assert_int_equal(tensor->bytes, bytes);
    assert_true(bytes <= sizeof(got));
    assert_null(accel_model_file_data(file, tensor));
    for (uint64_t begin = 0; begin <= bytes; begin++)
        for (uint64_t end = begin; end <= bytes; end++) {
            OK(accel_model_file_read(file, tensor, begin, end - begin, got, &error));
            assert_memory_equal(got, (const char *)expected + begin, end - begin);
        }
}

static void tensors_are_derived(void **state)
{
    static const float one[] = {1, 2, 3, 4, 5, 6}, other[] = {7, 8, 9, 10, 11, 12};
    static const float parts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static const struct accel_safetensors_entry entries[] = {
        {.size = sizeof(entries[0]), .type = ACCEL_F32, .name = "one", .rank = 2, .dims = two_three, .data = one},
        {.size = sizeof(entries[0]), .type = ACCEL_F32, .name = "other", .rank = 2, .dims = two_three, .data = other},
        {.size = sizeof(entries[0]), .type = ACCEL_F32, .name = "parts", .rank = 3, .dims = three_dims, .data = parts},
        {.size = sizeof(entries[0]), .type = ACCEL_F32, .name = "kept", .rank = 2, .dims = two_three, .data = one},
        {.size = sizeof(entries[0]), .type = ACCEL_F32, .name = "turned", .rank = 2, .dims = two_three, .data = one},
    };
    static const char *const stacked[] = {"one", "other"}, *const of_parts[] = {"parts"}, *const turned[] = {"turned"};
    static const struct model_derivation derivations[] = {
        {.name = "stack", .sources = stacked, .count = 2, .step = 1},
        {.name = "even", .sources = of_parts, .count = 1, .transposed = true, .step = 2},
        {.name = "odd", .sources = of_parts, .count = 1, .transposed = true, .first = 1, .step = 2},
        {.name = "turned", .sources = turned, .count = 1, .transposed = true, .step = 1},
        {.name = "second", .sources = of_parts, .count = 1, .first = 1, .step = 2},
    };
    static const struct model_derivation missing = {.name = "x", .sources = of_parts, .count = 1, .step = 1};
    static const float stack[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, back[] = {1, 4, 2, 5, 3, 6};
    static const float even[] = {0, 4, 2, 6, 8, 12, 10, 14}, odd[] = {1, 5, 3, 7, 9, 13, 11, 15};
    static const float second[] = {4, 5, 6, 7, 12, 13, 14, 15};
    struct accel_model_file *file;
    struct accel_error error = {0};
    char path[PATH_BYTES];

    (void)state;
    write_tensors(entries, sizeof(entries) / sizeof(entries[0]));
    snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    OK(accel_model_file_open(path, NULL, &file, &error));
    OK(model_derive(file, derivations, sizeof(derivations) / sizeof(derivations[0]), &error));
    assert_int_equal(accel_model_file_tensor_count(file), 6);
    assert_null(accel_model_file_find(file, "one"));
    assert_null(accel_model_file_find(file, "parts"));
    assert_non_null(accel_model_file_data(file, accel_model_file_find(file, "kept")));
    check_ranges(file, "stack", 2, 4, 3, stack);
    check_ranges(file, "even", 2, 4, 2, even);
    check_ranges(file, "odd", 2, 4, 2, odd);
    check_ranges(file, "turned", 2, 3, 2, back);
    check_ranges(file, "second", 2, 2, 4, second);
    assert_int_equal(model_derive(file, &missing, 1, &error), ACCEL_E_CORRUPT);
    assert_non_null(strstr(error.text, "tensor 'parts' is missing"));
    accel_model_file_close(file);
}

/* Vectors of experts follow each other, and what is not alike is no stack. */
static void vectors_are_derived(void **state)
{
    static const float one[] = {1, 2, 3, 4, 5, 6}, other[] = {7, 8, 9, 10, 11, 12};
    static const uint64_t three_two[] = {3, 2};
    static const struct accel_safetensors_entry entries[] = {
        {.size = sizeof(entries[0]), .type = ACCEL_F32, .name = "bias", .rank = 2, .dims = three_two, .data = one},
        {.size = sizeof(entries[0]), .type = ACCEL_F32, .name = "other", .rank = 2, .dims = two_three, .data = other},
    };
    static const char *const bias[] = {"bias"}, *const unlike[] = {"bias", "other"};
    static const struct model_derivation stack = {.name = "x", .sources = unlike, .count = 2, .step = 1};
    static const struct model_derivation evens = {
        .name = "even", .sources = bias, .count = 1, .transposed = true, .step = 2, .flat = true};
    static const float even[] = {1, 3, 5};
    static const uint64_t none[] = {0, 4};
    static const struct accel_safetensors_entry empty = {
        .size = sizeof(empty), .type = ACCEL_F32, .name = "bias", .rank = 2, .dims = none};
    struct accel_model_file *file;
    struct accel_error error = {0};
    char path[PATH_BYTES];

    (void)state;
    write_tensors(&empty, 1);
    snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    OK(accel_model_file_open(path, NULL, &file, &error));
    assert_int_equal(model_derive(file, &evens, 1, &error), ACCEL_E_CORRUPT);
    assert_non_null(strstr(error.text, "'bias' of type F32 is empty"));
    accel_model_file_close(file);
    write_tensors(entries, 2);
    snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    OK(accel_model_file_open(path, NULL, &file, &error));
    assert_int_equal(model_derive(file, &stack, 1, &error), ACCEL_E_CORRUPT);
    assert_non_null(strstr(error.text, "'other' of type F32 differs"));
    OK(model_derive(file, &evens, 1, &error));
    check_ranges(file, "even", 1, 3, 1, even);
    accel_model_file_close(file);
}

/* ---- listing ---- */

struct sum {
    uint64_t weights, values, layers;
};

static void add_weight(void *data, enum decoder_part part, uint32_t layer, const char *name, uint64_t rows,
                       uint64_t width)
{
    struct sum *sum = data;

    assert_true(part < DECODER_PARTS && name[0] != 0);
    sum->weights++;
    sum->values += (rows == 0 ? 1 : rows) * width;
    sum->layers += layer != UINT32_MAX;
}

/* The weights that a configuration calls for are those of the file, without opening its data. */
static void weights_are_listed_from_a_configuration(void **state)
{
    static const char *const fixtures[] = {"llama-gqa",  "qwen2-tied", "qwen3-base", "gemma2-base", "gpt2-base",
                                           "bloom-base", "olmo2-base", "phi3-base",  "mpt-base"};
    uint32_t found = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++) {
        struct sum sum = {0};
        struct accel_decoder_config config;
        struct accel_model_file *file;
        struct accel_error error = {0};
        char path[PATH_BYTES];
        uint64_t values = 0;

        if (!fixture_path(fixtures[i], path))
            continue;
        found++;
        OK(accel_model_file_open(path, NULL, &file, &error));
        OK(accel_decoder_config_read(file, &config, &error));
        decoder_list(&config, add_weight, &sum);
        for (uint64_t t = 0; t < accel_model_file_tensor_count(file); t++)
            values += accel_model_file_tensor(file, t)->bytes / sizeof(float);
        assert_int_equal(sum.weights, accel_model_file_tensor_count(file));
        assert_int_equal(sum.values, values);
        assert_true(sum.layers > 0 && sum.layers < sum.weights);
        accel_decoder_config_free(&config);
        accel_model_file_close(file);
    }
    assert_true(found >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_have_to_be_those_of_the_family),
        cmocka_unit_test(keys_have_to_be_those_of_the_family),
        cmocka_unit_test(tensors_are_derived),
        cmocka_unit_test(vectors_are_derived),
        cmocka_unit_test(weights_are_listed_from_a_configuration),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
