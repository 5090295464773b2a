/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/decoder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sdk/conform/reference.h"

#define KV_WIDTH (DECODER_KV_HEADS * DECODER_HEAD_SIZE)
#define PAIRS (DECODER_HEAD_SIZE / 2)

/* Tensors of a layer, in order; the tensors of the whole model follow all layers. */
enum { NORM, QUERY, KEY, VALUE, OUT, NORM_2, GATE, UP, DOWN, OF_LAYER };
enum { TABLE = OF_LAYER * DECODER_LAYERS, FINAL, HEAD, FREQUENCY };

static const struct accel_norm norm_attributes = {.size = sizeof(norm_attributes), .epsilon = 1e-5f};
static const struct accel_rotary rotary_attributes = {
    .size = sizeof(rotary_attributes), .pairing = ACCEL_PAIR_NEIGHBOURS, .scale = 1};
static const struct accel_activation gate_attributes = {.size = sizeof(gate_attributes), .function = ACCEL_FN_SILU};
static const struct accel_attention attention_attributes = {.size = sizeof(attention_attributes),
                                                            .kv_heads = DECODER_KV_HEADS,
                                                            .page = DECODER_PAGE_TOKENS,
                                                            .causal = 1,
                                                            .scale = 0.25f};

/* ---- the source ---- */

static const struct conform_tensor *find(const struct conform_source *source, const char *key)
{
    const struct decoder *decoder = (const struct decoder *)source;

    for (uint32_t i = 0; i < decoder->tensor_count; i++)
        if (strcmp(decoder->names[i], key) == 0)
            return &decoder->tensors[i];
    return NULL;
}

/* ---- the graph ---- */

static struct accel_dim fixed(uint64_t extent)
{
    return (struct accel_dim){.add = extent};
}

static uint32_t value(struct decoder *d, uint32_t role, const char *name, uint32_t type, uint32_t rank,
                      struct accel_dim first, uint64_t second)
{
    const struct accel_dim dims[2] = {first, fixed(second)};
    uint32_t made = 0;

    if (d->code == ACCEL_OK)
        d->code = accel_builder_value(d->builder, role, name, type, rank, dims, &made, &d->conform->error);
    return made;
}

static uint32_t node(struct decoder *d, uint32_t op, const char *name, const uint32_t *inputs, uint32_t count,
                     const void *attributes)
{
    uint32_t made = 0;

    if (d->code == ACCEL_OK)
        d->code = accel_builder_node(d->builder, op, name, inputs, count, attributes, &made, &d->conform->error);
    return made;
}

static uint32_t reshape(struct decoder *d, uint32_t input, struct accel_dim tokens, uint64_t heads, uint64_t size)
{
    const struct accel_dim dims[3] = {tokens, fixed(heads), fixed(size)};
    uint32_t made = 0;
    char name[24];

    snprintf(name, sizeof(name), "shape%u", input);
    if (d->code == ACCEL_OK)
        d->code = accel_builder_reshape(d->builder, name, input, size == 0 ? 2 : 3, dims, &made, &d->conform->error);
    return made;
}

static uint32_t weight(struct decoder *d, uint32_t tensor)
{
    const struct conform_tensor *t = &d->tensors[tensor];

    if (t->rows == 1)
        return value(d, ACCEL_ROLE_WEIGHT, d->names[tensor], t->format.type, 1, fixed(t->width), 0);
    return value(d, ACCEL_ROLE_WEIGHT, d->names[tensor], t->format.type, 2, fixed(t->rows), t->width);
}

static uint32_t product(struct decoder *d, uint32_t x, uint32_t tensor, uint32_t residual)
{
    const struct accel_matmul product = {.size = sizeof(product), .rounding = d->rounding};
    const uint32_t inputs[4] = {x, weight(d, tensor), ACCEL_NO_VALUE, ACCEL_NO_VALUE};
    char name[32];
    uint32_t y;

    snprintf(name, sizeof(name), "%s product", d->names[tensor]);
    y = node(d, ACCEL_OP_MATMUL, name, inputs, 4, &product);
    if (residual == ACCEL_NO_VALUE)
        return y;
    snprintf(name, sizeof(name), "%s sum", d->names[tensor]);
    return node(d, ACCEL_OP_ADD, name, (uint32_t[]){y, residual}, 2, NULL);
}

static uint32_t norm(struct decoder *d, uint32_t x, uint32_t tensor)
{
    char name[32];

    snprintf(name, sizeof(name), "%s norm", d->names[tensor]);
    return node(d, ACCEL_OP_RMS_NORM, name, (uint32_t[]){x, weight(d, tensor)}, 2, &norm_attributes);
}

static uint32_t add_rotary(struct decoder *d, uint32_t x, uint32_t frequency)
{
    char name[24];

    snprintf(name, sizeof(name), "rotary%u", x);
    return node(d, ACCEL_OP_ROTARY, name, (uint32_t[]){x, d->inputs[DECODER_POSITION], frequency}, 3,
                &rotary_attributes);
}

static uint32_t layer(struct decoder *d, uint32_t index, uint32_t h, uint32_t frequency, struct accel_dim tokens)
{
    uint32_t base = index * OF_LAYER, *parts = d->parts + (size_t)index * 2;
    uint32_t n = norm(d, h, base + NORM), q, k, v, attended, inner;
    char names[2][16];

    q = add_rotary(d, reshape(d, product(d, n, base + QUERY, ACCEL_NO_VALUE), tokens, DECODER_HEADS, DECODER_HEAD_SIZE),
                   frequency);
    k = add_rotary(d,
                   reshape(d, product(d, n, base + KEY, ACCEL_NO_VALUE), tokens, DECODER_KV_HEADS, DECODER_HEAD_SIZE),
                   frequency);
    v = reshape(d, product(d, n, base + VALUE, ACCEL_NO_VALUE), tokens, DECODER_KV_HEADS, DECODER_HEAD_SIZE);
    for (uint32_t p = 0; p < 2; p++) {
        snprintf(names[p], sizeof(names[p]), "part%u.%u", index, p);
        parts[p] = value(d, ACCEL_ROLE_STATE, names[p], ACCEL_F32, 2, fixed(DECODER_SLOTS), KV_WIDTH);
        snprintf(names[p], sizeof(names[p]), "write%u.%u", index, p);
        node(d, ACCEL_OP_CACHE_WRITE, names[p], (uint32_t[]){p == 0 ? k : v, d->inputs[DECODER_SLOT], parts[p]}, 3,
             NULL);
    }
    snprintf(names[0], sizeof(names[0]), "attend%u", index);
    attended = node(d, ACCEL_OP_ATTENTION, names[0],
                    (uint32_t[]){q, parts[0], parts[1], d->inputs[DECODER_PAGE_TABLE], d->inputs[DECODER_FIRST],
                                 d->inputs[DECODER_LENGTH]},
                    6, &attention_attributes);
    h = product(d, reshape(d, attended, tokens, DECODER_WIDTH, 0), base + OUT, h);
    n = norm(d, h, base + NORM_2);
    snprintf(names[0], sizeof(names[0]), "gate%u", index);
    q = product(d, n, base + GATE, ACCEL_NO_VALUE);
    k = product(d, n, base + UP, ACCEL_NO_VALUE);
    inner = node(d, ACCEL_OP_GATE, names[0], (uint32_t[]){q, k}, 2, &gate_attributes);
    return product(d, inner, base + DOWN, h);
}

static void build(struct decoder *d)
{
    uint32_t symbols[2] = {0, 0}, frequency, h;
    struct accel_dim tokens, outputs;
    struct accel_error *error = &d->conform->error;

    d->code = accel_builder_create("decoder", &d->builder, error);
    if (d->code == ACCEL_OK)
        d->code = accel_builder_symbol(d->builder, "tokens", 1, DECODER_TOKENS, &symbols[0], error);
    if (d->code == ACCEL_OK)
        d->code = accel_builder_symbol(d->builder, "outputs", 1, DECODER_TOKENS, &symbols[1], error);
    tokens = (struct accel_dim){.symbol = symbols[0], .multiply = 1, .divide = 1};
    outputs = (struct accel_dim){.symbol = symbols[1], .multiply = 1, .divide = 1};
    d->inputs[DECODER_IDS] = value(d, ACCEL_ROLE_INPUT, "ids", ACCEL_I32, 1, tokens, 0);
    d->inputs[DECODER_POSITION] = value(d, ACCEL_ROLE_INPUT, "position", ACCEL_I32, 1, tokens, 0);
    d->inputs[DECODER_SLOT] = value(d, ACCEL_ROLE_INPUT, "slot", ACCEL_I32, 1, tokens, 0);
    d->inputs[DECODER_ROWS] = value(d, ACCEL_ROLE_INPUT, "rows", ACCEL_I32, 1, outputs, 0);
    d->inputs[DECODER_PAGE_TABLE] = value(d, ACCEL_ROLE_INPUT, "pages", ACCEL_I32, 2, fixed(1), DECODER_PAGES);
    d->inputs[DECODER_FIRST] = value(d, ACCEL_ROLE_INPUT, "first", ACCEL_I32, 1, fixed(2), 0);
    d->inputs[DECODER_LENGTH] = value(d, ACCEL_ROLE_INPUT, "length", ACCEL_I32, 1, fixed(1), 0);
    frequency = weight(d, FREQUENCY);
    h = node(d, ACCEL_OP_EMBED, "embed", (uint32_t[]){weight(d, TABLE), d->inputs[DECODER_IDS]}, 2, NULL);
    for (uint32_t l = 0; l < DECODER_LAYERS; l++)
        h = layer(d, l, h, frequency, tokens);
    h = node(d, ACCEL_OP_GATHER, "chosen", (uint32_t[]){h, d->inputs[DECODER_ROWS]}, 2, NULL);
    d->logits = product(d, norm(d, h, FINAL), HEAD, ACCEL_NO_VALUE);
    if (d->code == ACCEL_OK)
        d->code = accel_builder_output(d->builder, d->logits, "logits", error);
    if (d->code == ACCEL_OK)
        d->code = accel_builder_finish(d->builder, &d->graph, error);
}

/* ---- construction ---- */

static void add(struct decoder *d, const char *name, uint32_t layer_index, uint32_t type, uint64_t rows, uint64_t width)
{
    conform_tensor_make(d->conform, type, rows, width, &d->tensors[d->tensor_count]);
    snprintf(d->names[d->tensor_count++], sizeof(d->names[0]), "%s%u", name, layer_index);
}

bool decoder_make(struct decoder *d, struct conform *conform, uint32_t type, uint32_t rounding)
{
    memset(d, 0, sizeof(*d));
    d->rounding = rounding;
    conform_source_init(&d->source, find);
    d->conform = conform;
    for (uint32_t l = 0; l < DECODER_LAYERS; l++) {
        add(d, "norm", l, ACCEL_F32, 1, DECODER_WIDTH);
        add(d, "query", l, type, DECODER_WIDTH, DECODER_WIDTH);
        add(d, "key", l, type, KV_WIDTH, DECODER_WIDTH);
        add(d, "value", l, type, KV_WIDTH, DECODER_WIDTH);
        add(d, "out", l, type, DECODER_WIDTH, DECODER_WIDTH);
        add(d, "norm2.", l, ACCEL_F32, 1, DECODER_WIDTH);
        add(d, "gate", l, type, DECODER_FFN, DECODER_WIDTH);
        add(d, "up", l, type, DECODER_FFN, DECODER_WIDTH);
        add(d, "down", l, type, DECODER_WIDTH, DECODER_FFN);
    }
    add(d, "table", 0, type, DECODER_VOCABULARY, DECODER_WIDTH);
    add(d, "final", 0, ACCEL_F32, 1, DECODER_WIDTH);
    add(d, "head", 0, type, DECODER_VOCABULARY, DECODER_WIDTH);
    add(d, "frequency", 0, ACCEL_F32, 1, PAIRS);
    for (uint32_t i = 0; i < PAIRS; i++)
        d->tensors[FREQUENCY].exact[i] = ((float *)d->tensors[FREQUENCY].planes[0])[i] =
            (float)pow(10000, -1.0 * i / PAIRS);
    build(d);
    return conform_ok(conform, d->code, "the kit's own graph");
}

void decoder_free(struct decoder *d)
{
    accel_builder_free(d->builder);
    for (uint32_t i = 0; i < d->tensor_count; i++)
        conform_tensor_free(&d->tensors[i]);
}

/* ---- the reference in plain C ---- */

/* Computes y = x W^T, in F32 if `wide` is NULL, else in binary64. */
static void multiply(const struct conform_tensor *w, const float *x, uint32_t rows, double *wide, float *y)
{
    for (uint64_t i = 0; i < rows * w->rows; i++) {
        const float *a = x + i / w->rows * w->width, *b = w->exact + i % w->rows * w->width;
        double sum = 0;

        for (uint64_t l = 0; l < w->width; l++)
            sum += (double)a[l] * b[l];
        if (wide != NULL)
            wide[i] = sum;
        else
            y[i] = (float)sum;
    }
}

static void normalize(const struct conform_tensor *w, const float *x, uint32_t rows, float *y)
{
    for (uint32_t r = 0; r < rows; r++, x += w->width, y += w->width) {
        double square = 0;

        for (uint64_t i = 0; i < w->width; i++)
            square += (double)x[i] * x[i];
        for (uint64_t i = 0; i < w->width; i++)
            y[i] = (float)(x[i] / sqrt(square / (double)w->width + norm_attributes.epsilon) * w->exact[i]);
    }
}

/* Rotates neighbours of each head by the position of its token. */
static void rotate(const float *frequency, float *x, uint32_t tokens, uint32_t heads)
{
    for (uint32_t p = 0; p < tokens * heads * PAIRS; p++) {
        double angle = (double)((float)(p / PAIRS / heads) * frequency[p % PAIRS]), a = x[2 * p], b = x[2 * p + 1];

        x[2 * p] = (float)(a * cos(angle) - b * sin(angle));
        x[2 * p + 1] = (float)(a * sin(angle) + b * cos(angle));
    }
}

#define MOST (DECODER_SLOTS * DECODER_FFN)

static void attend(const float *q, const float *k, const float *v, uint32_t tokens, double *wide, float *y)
{
    int32_t table[2 * DECODER_PAGES], first[2] = {0, (int32_t)tokens}, length = (int32_t)tokens;
    struct reference_attention call = {.attributes = &attention_attributes,
                                       .tokens = tokens,
                                       .heads = DECODER_HEADS,
                                       .size = DECODER_HEAD_SIZE,
                                       .value_size = DECODER_HEAD_SIZE,
                                       .sequences = 1,
                                       .pages = 2 * DECODER_PAGES,
                                       .q = q,
                                       .k = k,
                                       .v = v,
                                       .table = table,
                                       .first = first,
                                       .length = &length};
    double scores[DECODER_SLOTS];

    for (uint32_t p = 0; p < 2 * DECODER_PAGES; p++)
        table[p] = (int32_t)p;
    reference_attend(&call, scores, wide);
    for (uint32_t i = 0; i < tokens * DECODER_WIDTH; i++)
        y[i] = (float)wide[i];
}

static void reference_layer(const struct decoder *d, uint32_t index, float *h, uint32_t tokens)
{
    double wide[MOST];
    float n[MOST], q[MOST], k[MOST], v[MOST];
    const struct conform_tensor *t = &d->tensors[(size_t)index * OF_LAYER];
    const float *frequency = d->tensors[FREQUENCY].exact;

    normalize(&t[NORM], h, tokens, n);
    multiply(&t[QUERY], n, tokens, NULL, q);
    multiply(&t[KEY], n, tokens, NULL, k);
    multiply(&t[VALUE], n, tokens, NULL, v);
    rotate(frequency, q, tokens, DECODER_HEADS);
    rotate(frequency, k, tokens, DECODER_KV_HEADS);
    attend(q, k, v, tokens, wide, n);
    multiply(&t[OUT], n, tokens, NULL, q);
    for (uint32_t i = 0; i < tokens * DECODER_WIDTH; i++)
        h[i] += q[i];
    normalize(&t[NORM_2], h, tokens, n);
    multiply(&t[GATE], n, tokens, NULL, q);
    multiply(&t[UP], n, tokens, NULL, k);
    for (uint32_t i = 0; i < tokens * DECODER_FFN; i++)
        v[i] = (float)(reference_function(ACCEL_FN_SILU, q[i]) * k[i]);
    multiply(&t[DOWN], v, tokens, NULL, q);
    for (uint32_t i = 0; i < tokens * DECODER_WIDTH; i++)
        h[i] += q[i];
}

void decoder_reference(const struct decoder *d, const int32_t *ids, uint32_t count, double *logits)
{
    float h[MOST], n[MOST];

    for (uint32_t t = 0; t < count; t++)
        memcpy(h + (size_t)t * DECODER_WIDTH, d->tensors[TABLE].exact + (size_t)ids[t] * DECODER_WIDTH,
               DECODER_WIDTH * sizeof(*h));
    for (uint32_t l = 0; l < DECODER_LAYERS; l++)
        reference_layer(d, l, h, count);
    normalize(&d->tensors[FINAL], h, count, n);
    multiply(&d->tensors[HEAD], n, count, logits, NULL);
}
