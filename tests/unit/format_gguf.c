/* SPDX-License-Identifier: Apache-2.0 */
/* GGUF metadata as a decoder's configuration, from files that the test builds in memory. */
#include "config.h"

#include <math.h>
#include <sys/stat.h>

#include <accel/quant/format.h>

#include "model/family/decoder_config.h"
#include "tests/unit/format_support.h"

enum { U32 = 4, I32 = 5, F32 = 6, BOOL = 7, TEXT = 8, LIST = 9 };

/* A file under construction: keys, then tensors of zeros. */
struct builder {
    unsigned char bytes[65536];
    size_t length;
    uint64_t keys, tensors, data;
    float value; /* of all tensors */
};

static void put(struct builder *b, const void *bytes, size_t count)
{
    assert_true(b->length + count <= sizeof(b->bytes));
    memcpy(b->bytes + b->length, bytes, count);
    b->length += count;
}

static void put_u32(struct builder *b, uint32_t value)
{
    put(b, &value, sizeof(value));
}

static void put_u64(struct builder *b, uint64_t value)
{
    put(b, &value, sizeof(value));
}

static void put_text(struct builder *b, const char *text)
{
    put_u64(b, strlen(text));
    put(b, text, strlen(text));
}

static void key(struct builder *b, const char *name, uint32_t type)
{
    put_text(b, name);
    put_u32(b, type);
    b->keys++;
}

static void key_u32(struct builder *b, const char *name, uint32_t value)
{
    key(b, name, U32);
    put_u32(b, value);
}

static void key_f32(struct builder *b, const char *name, float value)
{
    key(b, name, F32);
    put(b, &value, sizeof(value));
}

static void key_text(struct builder *b, const char *name, const char *value)
{
    key(b, name, TEXT);
    put_text(b, value);
}

static void key_list(struct builder *b, const char *name, uint32_t type, uint64_t count)
{
    key(b, name, LIST);
    put_u32(b, type);
    put_u64(b, count);
}

/* F32, innermost dimension first as the file has it; tensors come after all keys. */
static void tensor(struct builder *b, const char *name, uint64_t inner, uint64_t outer)
{
    put_text(b, name);
    put_u32(b, outer == 0 ? 1 : 2);
    put_u64(b, inner);
    if (outer != 0)
        put_u64(b, outer);
    put_u32(b, 0);
    put_u64(b, b->data);
    b->data += (inner * (outer == 0 ? 1 : outer) * 4 + 31) / 32 * 32;
    b->tensors++;
}

/* The smallest decoder of an architecture: 2 layers of width 16 with 4 heads, 10 tokens. */
static void begin_as(struct builder *b, const char *architecture)
{
    static const struct {
        const char *key;
        uint32_t value;
    } sizes[] = {{"block_count", 2},
                 {"embedding_length", 16},
                 {"feed_forward_length", 24},
                 {"attention.head_count", 4},
                 {"context_length", 64}};
    char name[80];

    memset(b, 0, sizeof(*b));
    put(b, "GGUF\3\0\0\0", 8);
    put_u64(b, 0);
    put_u64(b, 0);
    key_text(b, "general.architecture", architecture);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        snprintf(name, sizeof(name), "%s.%s", architecture, sizes[i].key);
        key_u32(b, name, sizes[i].value);
    }
    if (strcmp(architecture, "other") != 0) {
        snprintf(name, sizeof(name), "%s.attention.layer_norm_rms_epsilon", architecture);
        key_f32(b, name, 0.125f);
    }
    snprintf(name, sizeof(name), "%s.attention.layer_norm_epsilon", architecture);
    key_f32(b, name, 0.25f);
}

static void begin(struct builder *b)
{
    begin_as(b, "some");
}

static void end(struct builder *b)
{
    tensor(b, "token_embd.weight", 16, 10);
    tensor(b, "blk.0.attn_q.bias", 16, 0);
    tensor(b, "blk.1.attn_q.bias", 16, 0);
    b->length = (b->length + 31) / 32 * 32;
    b->length += b->data;
    assert_true(b->length <= sizeof(b->bytes));
    for (size_t at = b->length - b->data; at < b->length; at += sizeof(b->value))
        memcpy(b->bytes + at, &b->value, sizeof(b->value));
    memcpy(b->bytes + 8, &b->tensors, 8);
    memcpy(b->bytes + 16, &b->keys, 8);
}

static void accept(const struct builder *b, struct accel_decoder_config *config)
{
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    if (accel_model_file_open_memory(b->bytes, b->length, "built.gguf", &file, &error) != ACCEL_OK ||
        accel_decoder_config_read(file, config, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    accel_model_file_close(file);
}

static void refuse(const struct builder *b, int32_t code, const char *words)
{
    struct accel_decoder_config config = {0};
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    int32_t got = accel_model_file_open_memory(b->bytes, b->length, "built.gguf", &file, &error);
    if (got == ACCEL_OK)
        got = accel_decoder_config_read(file, &config, &error);
    accel_model_file_close(file);
    assert_int_equal(got, code);
    check_error_text(&error, "built.gguf: offset 0x");
    if (strstr(error.text, words) == NULL)
        fail_msg("'%s' is not in: %s", words, error.text);
    accel_decoder_config_free(&config);
}

static void the_smallest_decoder_is_read(void **state)
{
    struct builder b;
    struct accel_decoder_config config;
    (void)state;
    begin(&b);
    end(&b);
    accept(&b, &config);
    assert_true(config.layers == 2 && config.hidden == 16 && config.ffn == 24 && config.kv_heads == 4);
    assert_true(config.head_size == 4 && config.vocabulary == 10 && config.context == 64);
    assert_true(config.norm_epsilon == 0.125 && config.tied && config.q_bias && !config.k_bias);
    assert_true(config.rope.kind == ACCEL_ROPE_PLAIN && config.rope.dims == 4 && config.rope.base == 10000);
    assert_true(config.pairing == ACCEL_ROPE_PAIRING_FAMILY && config.rope_divisors == NULL);
    assert_true(config.windows[0] == 0 && config.bos == -1 && config.eos_count == 0);
    accel_decoder_config_free(&config);
}

static void lists_per_layer_must_be_uniform(void **state)
{
    struct builder b;
    struct accel_decoder_config config;
    (void)state;
    for (uint32_t last = 2; last < 5; last += 2) {
        begin(&b);
        key_list(&b, "some.attention.head_count_kv", I32, 2);
        put_u32(&b, 2);
        put_u32(&b, last);
        end(&b);
        if (last == 2) {
            accept(&b, &config);
            assert_int_equal(config.kv_heads, 2);
            accel_decoder_config_free(&config);
        } else {
            refuse(&b, ACCEL_E_UNSUPPORTED, "head_count_kv differs from layer to layer");
        }
    }
    begin(&b);
    key_list(&b, "some.attention.head_count_kv", I32, 0);
    end(&b);
    refuse(&b, ACCEL_E_UNSUPPORTED, "head_count_kv");
}

static void rotary_scaling_is_read(void **state)
{
    struct builder b;
    struct accel_decoder_config config;
    (void)state;
    begin(&b);
    key_text(&b, "some.rope.scaling.type", "yarn");
    key_f32(&b, "some.rope.scaling.factor", 4);
    key_u32(&b, "some.rope.scaling.original_context_length", 16);
    key_f32(&b, "some.rope.scaling.attn_factor", 2);
    key_f32(&b, "some.rope.freq_base", 5e5f);
    key_u32(&b, "some.rope.dimension_count", 2);
    tensor(&b, "rope_freqs.weight", 1, 0);
    b.value = 2;
    end(&b);
    accept(&b, &config);
    assert_true(config.rope.kind == ACCEL_ROPE_YARN && config.rope.factor == 4 && config.rope.original_context == 16);
    assert_true(config.rope.base == 500000 && config.rope.dims == 2);
    assert_true(fabs(config.rope.attention_factor - 2 * (0.1 * log(4) + 1)) < 1e-12);
    assert_true(config.rope_divisors[0] == 2);
    accel_decoder_config_free(&config);
    begin(&b);
    key_u32(&b, "some.rope.dimension_count", 2);
    tensor(&b, "rope_freqs.weight", 1, 0);
    end(&b);
    refuse(&b, ACCEL_E_CORRUPT, "tensor 'rope_freqs.weight' is missing or does not have 1 positive values of F32");
    begin(&b);
    key_f32(&b, "some.rope.freq_base", NAN);
    end(&b);
    refuse(&b, ACCEL_E_CORRUPT, "some.rope.freq_base is nan");
    begin(&b);
    key_text(&b, "some.rope.scaling.type", "mrope");
    end(&b);
    refuse(&b, ACCEL_E_UNSUPPORTED, "some.rope.scaling.type is 'mrope'");
    begin(&b);
    key_u32(&b, "some.rope.dimension_count", 6);
    end(&b);
    refuse(&b, ACCEL_E_CORRUPT, "6 rotary dimensions in heads of 4");
}

static void windows_may_have_a_pattern(void **state)
{
    struct builder b;
    struct accel_decoder_config config;
    (void)state;
    begin(&b);
    key_u32(&b, "some.attention.sliding_window", 8);
    end(&b);
    accept(&b, &config);
    assert_true(config.windows[0] == 8 && config.windows[1] == 8);
    accel_decoder_config_free(&config);
    begin(&b);
    key_u32(&b, "some.attention.sliding_window", 8);
    key_list(&b, "some.attention.sliding_window_pattern", BOOL, 2);
    put(&b, "\1\0", 2);
    end(&b);
    accept(&b, &config);
    assert_true(config.windows[0] == 8 && config.windows[1] == 0);
    accel_decoder_config_free(&config);
    begin(&b);
    key_u32(&b, "some.attention.sliding_window", 8);
    key_u32(&b, "some.attention.sliding_window_pattern", 6);
    end(&b);
    refuse(&b, ACCEL_E_UNSUPPORTED, "sliding_window_pattern");
}

static void tokens_are_checked(void **state)
{
    struct builder b;
    struct accel_decoder_config config;
    (void)state;
    begin(&b);
    key_u32(&b, "tokenizer.ggml.bos_token_id", 1);
    key_u32(&b, "tokenizer.ggml.eos_token_id", 2);
    key_u32(&b, "tokenizer.ggml.eot_token_id", 9);
    key_u32(&b, "tokenizer.ggml.eom_token_id", UINT32_MAX);
    key_u32(&b, "tokenizer.ggml.padding_token_id", 10);
    end(&b);
    accept(&b, &config);
    assert_true(config.bos == 1 && config.pad == -1 && config.unk == -1 && config.eos_count == 2);
    assert_true(config.eos[0] == 2 && config.eos[1] == 9);
    accel_decoder_config_free(&config);
    begin(&b);
    key_u32(&b, "tokenizer.ggml.eos_token_id", 10);
    end(&b);
    refuse(&b, ACCEL_E_CORRUPT, "tokenizer.ggml.eos_token_id is 10, the vocabulary has 10 tokens");
    begin(&b);
    key_f32(&b, "tokenizer.ggml.bos_token_id", 1);
    end(&b);
    refuse(&b, ACCEL_E_CORRUPT, "tokenizer.ggml.bos_token_id is a float, not an integer");
    begin(&b);
    key_u32(&b, "some.vocab_size", 11);
    end(&b);
    refuse(&b, ACCEL_E_CORRUPT, "token_embd.weight has 10 rows, the vocabulary has 11 tokens");
}

static void a_piece_in_memory_is_refused(void **state)
{
    struct builder b;
    (void)state;
    begin(&b);
    key_u32(&b, "split.count", 2);
    end(&b);
    refuse(&b, ACCEL_E_UNSUPPORTED, "split.count is 2");
}

/* ---- models in several files ---- */

enum { PIECES = 3 };

/* Writes file `number` of PIECES, counted from 0, under the name of file `name_number`, with one vector. The value of
 * split.tensors.count is in the first alone. */
static void write_piece(const char *folder, uint32_t name_number, uint32_t number, uint32_t all_tensors)
{
    struct builder b;
    char path[160], name[32];
    if (number == 0) {
        begin(&b);
        key_u32(&b, "split.tensors.count", all_tensors);
    } else {
        memset(&b, 0, sizeof(b));
        put(&b, "GGUF\3\0\0\0", 8);
        put_u64(&b, 0);
        put_u64(&b, 0);
    }
    key_u32(&b, "split.no", number);
    key_u32(&b, "split.count", PIECES);
    snprintf(name, sizeof(name), "vector.%u", number);
    tensor(&b, name, 16 * (number + 1), 0);
    b.length = (b.length + 31) / 32 * 32;
    memset(b.bytes + b.length, 0, b.data);
    ((float *)(void *)(b.bytes + b.length))[0] = (float)number + 1;
    b.length += b.data;
    memcpy(b.bytes + 8, &b.tensors, 8);
    memcpy(b.bytes + 16, &b.keys, 8);
    snprintf(path, sizeof(path), "%s/m-%05u-of-%05u.gguf", folder, name_number + 1, PIECES);
    write_bytes(path, b.bytes, b.length);
}

static void refuse_piece(const char *folder, const char *name, int32_t code, const char *text)
{
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    const int32_t found = accel_model_file_open(path, NULL, &file, &error);
    if (found != code || strstr(error.text, text) == NULL)
        fail_msg("%s: %d, %s", name, found, error.text);
    assert_null(file);
}

static void split_files_are_one_model(void **state)
{
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    char folder[64], first[160], other[160], name[32];
    (void)state;
    snprintf(folder, sizeof(folder), "format_gguf-split-%ld", (long)getpid());
    assert_int_equal(mkdir(folder, 0700), 0);
    for (uint32_t i = 0; i < PIECES; i++)
        write_piece(folder, i, i, PIECES);
    snprintf(first, sizeof(first), "%s/m-00001-of-00003.gguf", folder);
    if (accel_model_file_open(first, NULL, &file, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(accel_model_file_part_count(file), PIECES);
    assert_int_equal(accel_model_file_tensor_count(file), PIECES);
    for (uint32_t i = 0; i < PIECES; i++) {
        float value = 0;
        snprintf(name, sizeof(name), "vector.%u", i);
        const struct accel_model_tensor *found = accel_model_file_find(file, name);
        assert_non_null(found);
        assert_int_equal(found->part, i);
        assert_int_equal(found->dims[0], 16 * (i + 1));
        assert_int_equal(accel_model_file_read(file, found, 0, sizeof(value), &value, &error), ACCEL_OK);
        assert_true(value == (float)i + 1);
    }
    accel_model_file_close(file);
    /* They are the only model of the folder. */
    if (accel_model_file_open(folder, NULL, &file, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    assert_int_equal(accel_model_file_part_count(file), PIECES);
    accel_model_file_close(file);

    refuse_piece(folder, "m-00002-of-00003.gguf", ACCEL_E_UNSUPPORTED, "split.count is 3");
    snprintf(other, sizeof(other), "%s/renamed.gguf", folder);
    assert_int_equal(rename(first, other), 0);
    refuse_piece(folder, "renamed.gguf", ACCEL_E_UNSUPPORTED, "not the first file");
    write_piece(folder, 0, 0, PIECES + 1);
    refuse_piece(folder, "m-00001-of-00003.gguf", ACCEL_E_CORRUPT, "split.tensors.count is 4");
    write_piece(folder, 0, 0, PIECES);
    write_piece(folder, 2, 1, PIECES);
    refuse_piece(folder, "m-00001-of-00003.gguf", ACCEL_E_CORRUPT, "is not file 3 of 3");
    snprintf(name, sizeof(name), "m-%05u-of-%05u.gguf", PIECES, PIECES);
    snprintf(first, sizeof(first), "%s/%s", folder, name);
    unlink(first);
    refuse_piece(folder, "m-00001-of-00003.gguf", ACCEL_E_NOT_FOUND, name);
    for (uint32_t i = 0; i < PIECES; i++) {
        snprintf(first, sizeof(first), "%s/m-%05u-of-%05u.gguf", folder, i + 1, PIECES);
        unlink(first);
    }
    unlink(other);
    rmdir(folder);
}

static void layers_must_have_tensors(void **state)
{
    struct builder b;
    uint32_t layers = 3;
    unsigned char *at;
    (void)state;
    begin(&b);
    end(&b);
    /* block_count is the first key whose value is 2. */
    at = memchr(b.bytes, 's', b.length);
    while (at != NULL && memcmp(at, "some.block_count", 16) != 0)
        at = memchr(at + 1, 's', (size_t)(b.bytes + b.length - at - 1));
    assert_non_null(at);
    memcpy(at + 16 + 4, &layers, 4);
    refuse(&b, ACCEL_E_CORRUPT, "3 layers, but no tensor begins with blk.2.");
    layers = 4;
    memcpy(at + 16 + 4, &layers, 4);
    refuse(&b, ACCEL_E_CORRUPT, "4 layers, its files have 3 tensors");
}

/* Values of absent keys are those of llama.cpp (load_hparams), not those of config.json. */
static void absent_keys_are_those_of_llama_cpp(void **state)
{
    static const struct {
        const char *architecture, *missing;
    } required[] = {{"gptneox", "the key gptneox.use_parallel_residual is missing"},
                    {"granite", "the key granite.logit_scale is missing"},
                    {"mpt", "the key mpt.attention.max_alibi_bias is missing"}};
    static const char *const whole_heads[] = {"phi2", "stablelm", "chatglm"};
    struct accel_decoder_config config;
    struct builder b;

    (void)state;
    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
        begin_as(&b, required[i].architecture);
        end(&b);
        refuse(&b, ACCEL_E_CORRUPT, required[i].missing);
    }
    for (size_t i = 0; i < sizeof(whole_heads) / sizeof(whole_heads[0]); i++) {
        begin_as(&b, whole_heads[i]);
        end(&b);
        accept(&b, &config);
        assert_int_equal(config.rope.dims, 4);
        assert_true(config.norm_epsilon == (config.form.norm == FORM_RMS_NORM ? 0.125 : 0.25));
        accel_decoder_config_free(&config);
    }
    begin_as(&b, "other"); /* has the epsilon of layer norms alone */
    end(&b);
    accept(&b, &config);
    assert_true(config.family == NULL && config.norm_epsilon == 0.25);
    accel_decoder_config_free(&config);
    begin(&b);
    key_u32(&b, "some.attention.key_length", 8);
    end(&b);
    accept(&b, &config);
    assert_true(config.head_size == 8 && config.value_size == 4);
    accel_decoder_config_free(&config);
    begin(&b);
    key_text(&b, "some.rope.scaling.type", "yarn");
    key_u32(&b, "some.rope.scaling.original_context_length", 16);
    end(&b);
    accept(&b, &config);
    assert_true(config.rope.factor == 1 && config.rope.attention_factor == 1);
    accel_decoder_config_free(&config);
    begin_as(&b, "phi3");
    key_u32(&b, "phi3.rope.scaling.original_context_length", 16);
    tensor(&b, "rope_factors_short.weight", 2, 0);
    tensor(&b, "rope_factors_long.weight", 2, 0);
    b.value = 2;
    end(&b);
    accept(&b, &config);
    assert_true(config.rope.kind == ACCEL_ROPE_LONG && config.rope.attention_factor == 1);
    accel_decoder_config_free(&config);
    begin(&b);
    key_text(&b, "some.rope.scaling.type", "dynamic");
    key_f32(&b, "some.rope.scaling.factor", 2);
    end(&b);
    refuse(&b, ACCEL_E_UNSUPPORTED, "some.rope.scaling.type is 'dynamic'");
}

/* Reads all values of a tensor. */
static float *read_values(const struct accel_model_file *file, const struct accel_model_tensor *tensor)
{
    const uint64_t rows = tensor->dims[0], width = tensor->dims[1];
    unsigned char *bytes = malloc(tensor->bytes);
    float *values = malloc(rows * width * sizeof(*values));
    struct accel_error error = {0};

    assert_true(bytes != NULL && values != NULL);
    assert_int_equal(accel_model_file_read(file, tensor, 0, tensor->bytes, bytes, &error), ACCEL_OK);
    for (uint64_t r = 0; r < rows; r++) {
        const void *plane = bytes + r * (tensor->bytes / rows);

        assert_int_equal(accel_format_decode(tensor->type, &plane, width, values + r * width), ACCEL_OK);
    }
    free(bytes);
    return values;
}

/* One matrix of each type that llama-quantize (llama.cpp v0.5.0, with an importance matrix) writes, and the values that
 * its own decoders (to_float of ggml_type_traits) give: equal, where minus zero is zero. */
static void files_of_llama_quantize_are_read(void **state)
{
    struct accel_model_file *written = NULL, *decoded = NULL;
    struct accel_error error = {0};
    char path[4096];

    (void)state;
    source_path(path, "tests/fixtures/gguf-types/llama-quantize.gguf");
    assert_int_equal(accel_model_file_open(path, NULL, &written, &error), ACCEL_OK);
    source_path(path, "tests/fixtures/gguf-types/llama-quantize.safetensors");
    assert_int_equal(accel_model_file_open(path, NULL, &decoded, &error), ACCEL_OK);
    assert_int_equal(accel_model_file_tensor_count(written), 27);
    for (uint64_t i = 0; i < 27; i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(written, i);
        const struct accel_model_tensor *right = accel_model_file_find(decoded, tensor->name);
        float *values, *expected;

        assert_non_null(right);
        assert_true(right->dims[0] == tensor->dims[0] && right->dims[1] == tensor->dims[1]);
        values = read_values(written, tensor);
        expected = read_values(decoded, right);
        for (uint64_t v = 0; v < tensor->dims[0] * tensor->dims[1]; v++)
            if (!(values[v] == expected[v]))
                fail_msg("%s value %llu: %a, expected %a", tensor->type_name, (unsigned long long)v, (double)values[v],
                         (double)expected[v]);
        free(values);
        free(expected);
    }
    accel_model_file_close(written);
    accel_model_file_close(decoded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_decoder_is_read),
        cmocka_unit_test(lists_per_layer_must_be_uniform),
        cmocka_unit_test(rotary_scaling_is_read),
        cmocka_unit_test(windows_may_have_a_pattern),
        cmocka_unit_test(tokens_are_checked),
        cmocka_unit_test(a_piece_in_memory_is_refused),
        cmocka_unit_test(split_files_are_one_model),
        cmocka_unit_test(layers_must_have_tensors),
        cmocka_unit_test(absent_keys_are_those_of_llama_cpp),
        cmocka_unit_test(files_of_llama_quantize_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
