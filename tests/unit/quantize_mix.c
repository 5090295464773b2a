/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixes of types: each matrix of a model gets the type that llama-quantize gives it. What is expected here was printed
 * by llama_model_quantize of llama.cpp v0.5.0 (dry_run) for files of the same tensors.
 */
#include "config.h"

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include <accel/model/quantize.h>

#include "model/file/gguf_write.h"
#include "tests/unit/format_support.h"

enum { WIDTH = 256, ROWS = 2, TENSORS_MOST = 1024, NAME_BYTES = 40, LAYERS_MOST = 80 };

struct shape {
    const char *family;
    uint32_t layers, heads, kv_heads, experts;
    bool is_tied; /* no output.weight */
};

static const struct shape models[] = {
    {"llama", 16, 8, 2, 0, false},  {"llama", 16, 8, 8, 0, true},  {"llama", 16, 8, 2, 8, false},
    {"falcon", 16, 8, 1, 0, false}, {"llama", 80, 8, 1, 0, false},
};

/* Types of output.weight, token_embd and, by layer, of attn_v, attn_k, attn_output, ffn_down and ffn_up: 2 is Q2_K, 3
 * Q3_K, 4 Q4_K, 5 Q5_K, 6 Q6_K, 8 Q8_0, 0 Q4_0, x IQ4_XS, m MXFP4, - none. One letter stands for all layers. */
static const struct {
    uint32_t model;
    const char *mix;
    const char *types;
} expected[] = {
    {0, "q4_0", "6 0 0 0 0 0 0"},
    {0, "q2_k", "6 2 4 2 3 3 2"},
    {0, "q3_k_s", "6 3 3 3 3 3 3"},
    {0, "q3_k_m", "6 3 5544444444444444 3 4 5444444444444444 3"},
    {0, "q3_k_l", "6 3 5 3 5 5 3"},
    {0, "q4_k_s", "6 4 5555444444444444 4 4 5544444444444444 4"},
    {0, "q4_k_m", "6 4 6644644644644666 4 4 6644644644644666 4"},
    {0, "q5_k_s", "6 5 5 5 5 5 5"},
    {0, "q5_k_m", "6 5 6655655655655666 5 5 6655655655655666 5"},
    {0, "q6_k", "6 6 6 6 6 6 6"},
    {0, "iq4_xs", "6 x 5 x x 55xxxxxxxxxxxxxx x"},
    {0, "mxfp4_moe", "8 8 8 8 8 8 8"},
    {1, "q4_0", "- 6 0 0 0 0 0"},
    {1, "q2_k", "- 6 3 2 3 3 2"},
    {1, "q3_k_s", "- 6 3 3 3 3 3"},
    {1, "q3_k_m", "- 6 5544444444444444 3 4 5444444444444444 3"},
    {1, "q3_k_l", "- 6 5 3 5 5 3"},
    {1, "q4_k_s", "- 6 5555444444444444 4 4 5544444444444444 4"},
    {1, "q4_k_m", "- 6 6644644644644666 4 4 6644644644644666 4"},
    {1, "q5_k_s", "- 6 5 5 5 5 5"},
    {1, "q5_k_m", "- 6 6655655655655666 5 5 6655655655655666 5"},
    {1, "q6_k", "- 6 6 6 6 6 6"},
    {1, "iq4_xs", "- 6 x x x 55xxxxxxxxxxxxxx x"},
    {1, "mxfp4_moe", "- 8 8 8 8 8 8"},
    {2, "q4_0", "6 0 8 8 0 0 0"},
    {2, "q2_k", "6 2 8 8 5 3 2"},
    {2, "q3_k_s", "6 3 8 8 5 3 3"},
    {2, "q3_k_m", "6 3 8 8 5 5444444444444444 3"},
    {2, "q3_k_l", "6 3 8 8 3 5 3"},
    {2, "q4_k_s", "6 4 8 8 5 5544444444444444 4"},
    {2, "q4_k_m", "6 4 8 8 5 6644644644644666 4"},
    {2, "q5_k_s", "6 5 8 8 5 5 5"},
    {2, "q5_k_m", "6 5 8 8 5 6655655655655666 5"},
    {2, "q6_k", "6 6 8 8 6 6 6"},
    {2, "iq4_xs", "6 x 8 8 5 55xxxxxxxxxxxxxx x"},
    {2, "mxfp4_moe", "8 8 8 8 8 m m"},
    {3, "q4_0", "8 0 0 0 0 0 0"},
    {3, "q2_k", "8 2 4 2 2 3 2"},
    {3, "q3_k_s", "8 3 3 3 3 3 3"},
    {3, "q3_k_m", "8 3 5544444444444444 3 3 5433433433433444 3"},
    {3, "q3_k_l", "8 3 5 3 4 4 3"},
    {3, "q4_k_s", "8 4 5555444444444444 4 4 4 4"},
    {3, "q4_k_m", "8 4 6644644644644666 4 4 6544544544544555 4"},
    {3, "q5_k_s", "8 5 5 5 5 5 5"},
    {3, "q5_k_m", "8 5 6655655655655666 5 5 6655655655655666 5"},
    {3, "q6_k", "8 6 6 6 6 6 6"},
    {3, "iq4_xs", "8 x 5 x x 55xxxxxxxxxxxxxx x"},
    {3, "mxfp4_moe", "8 8 8 8 8 8 8"},
    {4, "q2_k", "6 2 5 2 3 3 2"},
    {4, "q3_k_s", "6 3 5 3 3 3 3"},
    {4, "q3_k_m", "6 3 5 3 4 55555444444444444444444444444444444444444444444444444444444444444444444444444444 3"},
    {4, "q4_k_m",
     "6 4 66666666665565565565565565565565565565565565565565565565565565565565566666666666 4 4 "
     "66666666664464464464464464464464464464464464464464464464464464464464466666666666 4"},
    {4, "q5_k_s", "6 5 5 5 5 5 5"},
};

/* ---- a file of such a model ---- */

struct tensors {
    struct model_gguf_tensor list[TENSORS_MOST];
    char names[TENSORS_MOST][NAME_BYTES];
    uint64_t dims[TENSORS_MOST][3];
    uint32_t count;
};

static void add(struct tensors *tensors, uint32_t rank, const uint64_t dims[], const char *layer, const char *name)
{
    const uint32_t at = tensors->count++;

    assert_true(at < TENSORS_MOST);
    snprintf(tensors->names[at], NAME_BYTES, "%s%s.weight", layer, name);
    memcpy(tensors->dims[at], dims, rank * sizeof(*dims));
    tensors->list[at] = (struct model_gguf_tensor){
        .name = tensors->names[at], .dims = tensors->dims[at], .rank = rank, .type = rank == 1 ? ACCEL_F32 : ACCEL_F16};
}

static void add_layer(struct tensors *tensors, const struct shape *shape, uint32_t index)
{
    static const char *const attention[] = {"attn_q", "attn_k", "attn_v", "attn_output"};
    static const char *const ffn[] = {"ffn_gate", "ffn_up", "ffn_down"};
    const uint64_t matrix[] = {ROWS, WIDTH}, stack[] = {shape->experts, ROWS, WIDTH}, vector[] = {WIDTH};
    char layer[16], name[24];

    snprintf(layer, sizeof(layer), "blk.%u.", index);
    add(tensors, 1, vector, layer, "attn_norm");
    for (size_t i = 0; i < sizeof(attention) / sizeof(*attention); i++)
        add(tensors, 2, matrix, layer, attention[i]);
    if (shape->experts > 0)
        add(tensors, 2, (const uint64_t[]){shape->experts, WIDTH}, layer, "ffn_gate_inp");
    for (size_t i = 0; i < sizeof(ffn) / sizeof(*ffn); i++) {
        snprintf(name, sizeof(name), "%s%s", ffn[i], shape->experts > 0 ? "_exps" : "");
        add(tensors, shape->experts > 0 ? 3 : 2, shape->experts > 0 ? stack : matrix, layer, name);
    }
}

/* Layers stand from the last to the first: rules count by name and not by place. */
static void write_model(const char *path, const struct shape *shape)
{
    static struct tensors tensors;
    const char *const names[] = {"block_count", "attention.head_count", "attention.head_count_kv", "expert_count"};
    const uint32_t numbers[] = {shape->layers, shape->heads, shape->kv_heads, shape->experts};
    const struct accel_model_text family = {shape->family, strlen(shape->family)};
    const uint64_t matrix[] = {ROWS, WIDTH};
    struct accel_model_value values[5] = {{.size = sizeof(values[0]),
                                           .kind = ACCEL_MODEL_TEXT,
                                           .key = "general.architecture",
                                           .data = &family,
                                           .count = 1,
                                           .width = sizeof(family)}};
    const struct accel_model_value *list[5] = {&values[0]};
    char keys[4][64];
    struct model_gguf_header header;
    struct accel_error error = {0};
    int fd;

    tensors.count = 0;
    for (size_t i = 0; i < 4; i++) {
        snprintf(keys[i], sizeof(keys[i]), "%s.%s", shape->family, names[i]);
        values[i + 1] = (struct accel_model_value){.size = sizeof(values[0]),
                                                   .kind = ACCEL_MODEL_UNSIGNED,
                                                   .key = keys[i],
                                                   .data = &numbers[i],
                                                   .count = 1,
                                                   .width = sizeof(numbers[i])};
        list[i + 1] = &values[i + 1];
    }
    add(&tensors, 2, matrix, "", "token_embd");
    if (!shape->is_tied)
        add(&tensors, 2, matrix, "", "output");
    for (uint32_t i = shape->layers; i-- > 0;)
        add_layer(&tensors, shape, i);
    if (model_gguf_header(path, list, 5, tensors.list, tensors.count, &header, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)header.file_bytes) == 0);
    assert_int_equal(pwrite(fd, header.data, header.bytes, 0), (ssize_t)header.bytes);
    close(fd);
    free(header.data);
}

/* ---- what it becomes ---- */

static char letter_of(const struct accel_quantize_job *job, const char *name)
{
    static const struct {
        const char *type;
        char letter;
    } letters[] = {{"Q2_K", '2'}, {"Q3_K", '3'}, {"Q4_K", '4'},   {"Q5_K", '5'},  {"Q6_K", '6'},
                   {"Q8_0", '8'}, {"Q4_0", '0'}, {"IQ4_XS", 'x'}, {"MXFP4", 'm'}, {"F16", 'h'}};

    for (uint64_t i = 0; i < accel_quantize_count(job); i++)
        for (size_t j = 0;
             strcmp(accel_quantize_get(job, i)->name, name) == 0 && j < sizeof(letters) / sizeof(*letters); j++)
            if (strcmp(accel_quantize_get(job, i)->to_name, letters[j].type) == 0)
                return letters[j].letter;
    return '-';
}

/* Appends the types of one kind of matrix by layer, one letter where all are alike. */
static void append_layers(const struct accel_quantize_job *job, const struct shape *shape, const char *kind, char *text)
{
    const bool is_stack = shape->experts > 0 && strncmp(kind, "ffn", 3) == 0;
    char letters[LAYERS_MOST + 1] = "", name[NAME_BYTES];

    for (uint32_t i = 0; i < shape->layers; i++) {
        snprintf(name, sizeof(name), "blk.%u.%s%s.weight", i, kind, is_stack ? "_exps" : "");
        letters[i] = letter_of(job, name);
    }
    if (strspn(letters, (const char[]){letters[0], '\0'}) == shape->layers)
        letters[1] = '\0';
    strcat(strcat(text, " "), letters);
}

static void test_types(void **state)
{
    static const char *const kinds[] = {"attn_v", "attn_k", "attn_output", "ffn_down", "ffn_up"};
    char path[64];

    (void)state;
    snprintf(path, sizeof(path), "quantize_mix-%ld.gguf", (long)getpid());
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        const struct shape *shape = &models[expected[i].model];
        const struct accel_quantize_options options = {
            .size = sizeof(options), .type = expected[i].mix, .flags = ACCEL_QUANTIZE_MIX};
        struct accel_model_file *file = NULL;
        struct accel_quantize_job *job = NULL;
        struct accel_error error = {0};
        char types[512];

        write_model(path, shape);
        if (accel_model_file_open(path, NULL, &file, &error) != ACCEL_OK ||
            accel_quantize_plan(file, &options, &job, &error) != ACCEL_OK)
            fail_msg("%s", error.text);
        snprintf(types, sizeof(types), "%c %c", letter_of(job, "output.weight"), letter_of(job, "token_embd.weight"));
        for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
            append_layers(job, shape, kinds[k], types);
        if (strcmp(types, expected[i].types) != 0)
            fail_msg("%s of model %u: %s, not %s", expected[i].mix, expected[i].model, types, expected[i].types);
        if (shape->experts > 0 && letter_of(job, "blk.0.ffn_gate_inp.weight") != 'h')
            fail_msg("%s: the router of experts is quantized", expected[i].mix);
        accel_quantize_free(job);
        accel_model_file_close(file);
    }
    unlink(path);
}

/* A name that is a type as well counts as the mix only where that is asked for; a role is stronger than a mix. */
static void test_names(void **state)
{
    static const char *const role[] = {"v=q4_0"};
    static const struct {
        const char *type;
        uint32_t flags;
        const char *mix;
        char head, values;
    } rows[] = {
        {"q4_k", 0, NULL, '4', '4'},
        {"Q4_K", ACCEL_QUANTIZE_MIX, "Q4_K_M", '6', '6'},
        {"q3_k", ACCEL_QUANTIZE_MIX, "Q3_K_M", '6', '5'},
        {"Q5_K_s", 0, "Q5_K_S", '6', '5'},
        {"f16", ACCEL_QUANTIZE_MIX, NULL, 'h', 'h'},
    };
    char path[64];
    struct accel_model_file *file = NULL;
    struct accel_quantize_job *job = NULL;
    struct accel_error error = {0};
    struct accel_quantize_options options = {.size = sizeof(options)};

    (void)state;
    snprintf(path, sizeof(path), "quantize_mix-%ld.gguf", (long)getpid());
    write_model(path, &models[0]);
    assert_int_equal(accel_model_file_open(path, NULL, &file, &error), ACCEL_OK);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        options.type = rows[i].type;
        options.flags = rows[i].flags;
        assert_int_equal(accel_quantize_plan(file, &options, &job, &error), ACCEL_OK);
        if (rows[i].mix == NULL)
            assert_null(accel_quantize_mix(job));
        else
            assert_string_equal(accel_quantize_mix(job), rows[i].mix);
        assert_int_equal(letter_of(job, "output.weight"), rows[i].head);
        assert_int_equal(letter_of(job, "blk.0.attn_v.weight"), rows[i].values);
        accel_quantize_free(job);
    }
    options =
        (struct accel_quantize_options){.size = sizeof(options), .type = "q4_k_m", .roles = role, .role_count = 1};
    assert_int_equal(accel_quantize_plan(file, &options, &job, &error), ACCEL_OK);
    assert_int_equal(letter_of(job, "blk.0.attn_v.weight"), '0');
    assert_int_equal(letter_of(job, "output.weight"), '6');
    accel_quantize_free(job);
    options = (struct accel_quantize_options){.size = sizeof(options), .type = "q2_k_s"};
    assert_int_equal(accel_quantize_plan(file, &options, &job, &error), ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "needs a calibration"));
    accel_model_file_close(file);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_types), cmocka_unit_test(test_names)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
