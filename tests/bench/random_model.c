/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/random_model.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>
#include <accel/types.h>

enum { POOL = 1 << 20, ALIGNMENT = 32, FIXED = 3, PER_LAYER = 10, NAME = 64 };

/* Element 0 of embeddings, and what they are scaled by where a mixture adds to them. */
static const float constant = 0.16f, small = 1e-3f;

struct tensor {
    char name[NAME];
    uint64_t rows; /* 0: a vector */
    uint64_t width;
    uint64_t experts; /* rows are those of so many matrices; 0: of one */
    uint32_t type;
    enum { NORMAL, SCALED, EMBEDDING, ROUTER, FACTORS } kind;
    uint64_t offset;
    uint64_t bytes;
};

static double uniform(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static float *make_pool(void)
{
    float *pool = malloc(POOL * sizeof(*pool));
    uint64_t state = 88172645463325252u;

    for (size_t i = 0; pool != NULL && i < POOL; i++)
        pool[i] = (float)(0.02 * sqrt(-2.0 * log(uniform(&state))) * cos(6.283185307179586 * uniform(&state)));
    return pool;
}

static void put(FILE *out, const void *bytes, size_t count)
{
    if (fwrite(bytes, 1, count, out) != count) {
        perror("random model: write");
        exit(1);
    }
}

static void put_u32(FILE *out, uint32_t value)
{
    put(out, &value, sizeof(value));
}

static void put_u64(FILE *out, uint64_t value)
{
    put(out, &value, sizeof(value));
}

static void put_text(FILE *out, const char *text)
{
    put_u64(out, strlen(text));
    put(out, text, strlen(text));
}

enum { GGUF_U32 = 4, GGUF_I32 = 5, GGUF_F32 = 6, GGUF_TEXT = 8, GGUF_LIST = 9 };

static void put_key_u32(FILE *out, const char *key, uint64_t value)
{
    put_text(out, key);
    put_u32(out, GGUF_U32);
    put_u32(out, (uint32_t)value);
}

static void put_key_f32(FILE *out, const char *key, float value)
{
    put_text(out, key);
    put_u32(out, GGUF_F32);
    put(out, &value, sizeof(value));
}

static void put_key_text(FILE *out, const char *key, const char *value)
{
    put_text(out, key);
    put_u32(out, GGUF_TEXT);
    put_text(out, value);
}

static void begin_list(FILE *out, const char *key, uint32_t type, uint64_t count)
{
    put_text(out, key);
    put_u32(out, GGUF_LIST);
    put_u32(out, type);
    put_u64(out, count);
}

/* 3 marks, 256 bytes, the letters, then pieces that no text has. */
static void put_vocabulary(FILE *out, uint64_t count)
{
    char piece[NAME];

    put_key_text(out, "tokenizer.ggml.model", "llama");
    begin_list(out, "tokenizer.ggml.tokens", GGUF_TEXT, count);
    for (uint64_t i = 0; i < count; i++) {
        static const char *const marks[] = {"<unk>", "<s>", "</s>"};

        if (i < 3)
            snprintf(piece, sizeof(piece), "%s", marks[i]);
        else if (i < 259)
            snprintf(piece, sizeof(piece), "<0x%02X>", (unsigned)(i - 3));
        else if (i < 259 + 26)
            snprintf(piece, sizeof(piece), "%c", (int)('a' + (i - 259)));
        else
            snprintf(piece, sizeof(piece), "zq%llu", (unsigned long long)i);
        put_text(out, piece);
    }
    begin_list(out, "tokenizer.ggml.scores", GGUF_F32, count);
    for (uint64_t i = 0; i < count; i++) {
        float score = -(float)i;

        put(out, &score, sizeof(score));
    }
    begin_list(out, "tokenizer.ggml.token_type", GGUF_I32, count);
    for (uint64_t i = 0; i < count; i++)
        put_u32(out, i == 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1);
    put_key_u32(out, "tokenizer.ggml.bos_token_id", 1);
    put_key_u32(out, "tokenizer.ggml.eos_token_id", 2);
    put_key_u32(out, "tokenizer.ggml.unknown_token_id", 0);
}

enum { KEYS = 11 + 7 };

static void put_keys(FILE *out, const struct random_model *s)
{
    if (s->experts != 0) {
        put_key_u32(out, "llama.expert_count", s->experts);
        put_key_u32(out, "llama.expert_used_count", s->used);
    }
    put_key_text(out, "general.architecture", "llama");
    put_key_text(out, "general.name", "random weights");
    put_key_u32(out, "llama.block_count", s->layers);
    put_key_u32(out, "llama.context_length", 2048);
    put_key_u32(out, "llama.embedding_length", s->hidden);
    put_key_u32(out, "llama.feed_forward_length", s->ffn);
    put_key_u32(out, "llama.attention.head_count", s->heads);
    put_key_u32(out, "llama.attention.head_count_kv", s->kv_heads);
    put_key_u32(out, "llama.rope.dimension_count", s->hidden / s->heads);
    put_key_f32(out, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    put_key_u32(out, "llama.vocab_size", s->vocabulary);
    put_vocabulary(out, s->vocabulary);
}

static void add(struct tensor *list, uint64_t *count, const char *name, uint64_t rows, uint64_t width, uint32_t type)
{
    struct tensor *tensor = &list[(*count)++];

    snprintf(tensor->name, sizeof(tensor->name), "%s", name);
    tensor->rows = rows;
    tensor->width = width;
    tensor->type = rows == 0 ? ACCEL_F32 : type;
}

/* Adds the factors of the matrix that was added last. */
static void add_factors(struct tensor *list, uint64_t *count, const struct random_model *s)
{
    const struct tensor *matrix = &list[*count - 1];
    char name[NAME];

    if (s->factor == 0 || matrix->rows == 0 || matrix->kind == EMBEDDING || matrix->kind == ROUTER)
        return;
    snprintf(name, sizeof(name), "%.*s.scale", (int)(strlen(matrix->name) - strlen(".weight")), matrix->name);
    add(list, count, name, 0, matrix->experts == 0 ? 1 : matrix->experts, ACCEL_F32);
    list[*count - 1].kind = FACTORS;
}

static uint64_t list_tensors(struct tensor *list, const struct random_model *s, uint32_t type)
{
    const uint64_t kv = s->hidden / s->heads * s->kv_heads, experts = s->experts == 0 ? 1 : s->experts;
    uint64_t count = 0;
    const struct {
        const char *name, *of_experts;
        uint64_t rows, width;
    } layer[PER_LAYER] = {
        {"attn_norm", NULL, 0, s->hidden},
        {"attn_q", NULL, s->hidden, s->hidden},
        {"attn_k", NULL, kv, s->hidden},
        {"attn_v", NULL, kv, s->hidden},
        {"attn_output", NULL, s->hidden, s->hidden},
        {"ffn_norm", NULL, 0, s->hidden},
        {"ffn_gate", "ffn_gate_exps", s->ffn * experts, s->hidden},
        {"ffn_up", "ffn_up_exps", s->ffn * experts, s->hidden},
        {"ffn_down", "ffn_down_exps", s->hidden * experts, s->ffn},
        {"ffn_gate_inp", "ffn_gate_inp", s->experts, s->hidden},
    };

    add(list, &count, "token_embd.weight", s->vocabulary, s->hidden, type);
    list[0].kind = EMBEDDING;
    for (uint64_t l = 0; l < s->layers; l++)
        for (uint64_t t = 0; t < PER_LAYER - (s->experts == 0); t++) {
            struct tensor *tensor = &list[count];
            char name[NAME];

            snprintf(name, sizeof(name), "blk.%u.%s.weight", (unsigned)l,
                     s->experts != 0 && layer[t].of_experts != NULL ? layer[t].of_experts : layer[t].name);
            add(list, &count, name, layer[t].rows, layer[t].width, t == PER_LAYER - 1 ? ACCEL_F32 : type);
            if (s->experts != 0) {
                tensor->experts = layer[t].of_experts != NULL && t != PER_LAYER - 1 ? s->experts : 0;
                tensor->kind = t == PER_LAYER - 1                               ? ROUTER
                               : layer[t].rows == s->hidden * experts || t == 4 ? SCALED
                                                                                : NORMAL;
            }
            add_factors(list, &count, s);
        }
    add(list, &count, "output_norm.weight", 0, s->hidden, type);
    add(list, &count, "output.weight", s->vocabulary, s->hidden, type);
    add_factors(list, &count, s);
    return count;
}

static void place_tensors(struct tensor *list, uint64_t count)
{
    uint64_t offset = 0;

    for (uint64_t i = 0; i < count; i++) {
        size_t row = 0;

        if (accel_format_row_bytes(list[i].type, 0, list[i].width, &row) != ACCEL_OK) {
            fprintf(stderr, "random model: rows of %llu values do not fit the type\n",
                    (unsigned long long)list[i].width);
            exit(1);
        }
        list[i].bytes = row * (list[i].rows == 0 ? 1 : list[i].rows);
        list[i].offset = offset;
        offset += (list[i].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}

static uint32_t ggml_type(uint32_t type)
{
    return type == ACCEL_F32 ? 0 : type == ACCEL_F16 ? 1 : type == ACCEL_BF16 ? 30 : type - ACCEL_GGML(0u);
}

/* Returns the logit of expert `e` of a router: the experts of each layer have another order. Normal noise of standard
 * deviation d chooses about as Gumbel noise of scale 0.78 d, with which shares are exponentials of logits. */
static double logit_of(const struct random_model *s, uint64_t e, uint64_t seed)
{
    const double deviation = 0.02 * sqrt((double)s->hidden);

    return -s->zipf * 0.78 * deviation * log((double)((e + seed * 5) % s->experts + 1));
}

static float factor_of(const struct random_model *s, uint64_t expert)
{
    return s->factor * (float)(1u << expert % 3);
}

static void change_row(const struct random_model *s, const struct tensor *tensor, uint64_t r, uint64_t seed,
                       float *values)
{
    const double rms = sqrt(0.02 * 0.02 + constant * constant / (double)s->hidden);

    for (uint64_t i = 0; tensor->kind == SCALED && i < tensor->width; i++)
        values[i] *= small;
    if (tensor->kind == EMBEDDING && s->experts != 0)
        values[0] = constant;
    if (tensor->kind == ROUTER)
        values[0] = (float)(logit_of(s, r, seed) * rms / constant);
    if (s->factor != 0 && tensor->rows != 0 && tensor->kind != EMBEDDING && tensor->kind != ROUTER)
        for (uint64_t i = 0; i < tensor->width; i++)
            values[i] /= factor_of(s, tensor->experts == 0 ? 0 : r / (tensor->rows / tensor->experts));
}

static void put_tensor(FILE *out, const struct random_model *s, const struct tensor *tensor, const float *pool,
                       float *values, void *row, uint64_t seed)
{
    static const char zeros[ALIGNMENT];
    uint64_t rows = tensor->rows == 0 ? 1 : tensor->rows;
    size_t bytes = tensor->bytes / rows;

    for (uint64_t r = 0; r < rows; r++) {
        void *planes[1] = {row};

        memcpy(values, pool + (seed * 7919 + r * 104729) % (POOL - tensor->width), tensor->width * sizeof(*values));
        change_row(s, tensor, r, seed, values);
        if (tensor->kind == FACTORS)
            for (uint64_t i = 0; i < tensor->width; i++)
                ((float *)row)[i] = factor_of(s, i);
        else if (tensor->rows == 0)
            for (uint64_t i = 0; i < tensor->width; i++)
                ((float *)row)[i] = 1.0f + values[i];
        else if (tensor->type == ACCEL_F32)
            memcpy(row, values, bytes);
        else
            accel_format_encode(tensor->type, values, tensor->width, planes);
        put(out, row, bytes);
    }
    put(out, zeros, (ALIGNMENT - tensor->bytes % ALIGNMENT) % ALIGNMENT);
}

static void put_model(FILE *out, const struct random_model *s, uint32_t type)
{
    static const char zeros[ALIGNMENT];
    struct tensor *list = calloc(2 * (s->layers * PER_LAYER + FIXED), sizeof(*list));
    uint64_t widest = s->ffn > s->hidden ? s->ffn : s->hidden;
    void *row = malloc(widest * sizeof(float));
    float *values = malloc(widest * sizeof(float));
    float *pool = make_pool();
    uint64_t count, seed = 0;

    if (list == NULL || row == NULL || values == NULL || pool == NULL) {
        fprintf(stderr, "random model: out of memory\n");
        exit(1);
    }
    count = list_tensors(list, s, type);
    place_tensors(list, count);
    put(out, "GGUF", 4);
    put_u32(out, 3);
    put_u64(out, count);
    put_u64(out, KEYS + (s->experts == 0 ? 0 : 2));
    put_keys(out, s);
    for (uint64_t i = 0; i < count; i++) {
        put_text(out, list[i].name);
        put_u32(out, list[i].rows == 0 ? 1 : list[i].experts == 0 ? 2 : 3);
        put_u64(out, list[i].width);
        if (list[i].rows != 0)
            put_u64(out, list[i].experts == 0 ? list[i].rows : list[i].rows / list[i].experts);
        if (list[i].experts != 0)
            put_u64(out, list[i].experts);
        put_u32(out, ggml_type(list[i].type));
        put_u64(out, list[i].offset);
    }
    put(out, zeros, (size_t)((ALIGNMENT - ftell(out) % ALIGNMENT) % ALIGNMENT));
    for (uint64_t i = 0; i < count; i++)
        put_tensor(out, s, &list[i], pool, values, row, list[i].kind == FACTORS ? seed : ++seed);
    free(pool);
    free(row);
    free(values);
    free(list);
}

int random_model_write(const char *path, const struct random_model *model, uint32_t type)
{
    FILE *out = fopen(path, "wb");

    if (out == NULL)
        return 0;
    put_model(out, model, type);
    return fclose(out) == 0;
}
