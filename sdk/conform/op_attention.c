/* SPDX-License-Identifier: Apache-2.0 */
/* KV caches and attention: rows are stored to pages in random order and read back in the same step. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/conform/list.h"
#include "sdk/conform/reference.h"
#include "sdk/conform/trial.h"

#define MOST_SEQUENCES 4u
#define DISTINCT 509u     /* encoded rows of a cache: a prime; the others repeat them */
#define SLOPE 1u          /* an input of attention: a slope for each head */
#define SINK 2u           /* an input of attention: a learned sink for each head */
#define MANY_SLOTS 70016u /* slots of a cache: more than 16 bits count */

/* ---- cached rows ---- */

/* Rounds `rows` as a cache does: the format registry encodes and decodes them. The rows are first moved towards
 * the rounded values, so that none lies between two codes, where the rounding of a driver's division decides. Only
 * the first DISTINCT rows are encoded; later rows repeat them. */
static float *cached(struct conform *conform, uint32_t type, float *rows, uint64_t count, uint64_t width)
{
    float *held = conform_memory(conform, count * width, sizeof(*held));
    struct conform_tensor one;

    conform_tensor_make(conform, type, 1, width, &one);
    for (uint64_t r = 0; r < count; r++) {
        float *row = rows + r * width, *to = held + r * width;

        if (r >= DISTINCT) {
            memcpy(row, row - DISTINCT * width, width * sizeof(*row));
            memcpy(to, to - DISTINCT * width, width * sizeof(*to));
            continue;
        }
        for (uint32_t pass = 0; pass < 2; pass++) {
            accel_format_encode(type, row, width, one.planes);
            accel_format_decode(type, (const void *const *)one.planes, width, to);
            for (uint64_t i = 0; i < width && pass == 0; i++)
                row[i] = to[i] + 0.8f * (row[i] - to[i]);
        }
    }
    conform_tensor_free(&one);
    return held;
}

/* Returns whether a KV cache may have a type: by its row of formats.def, or planar types of at least 4 bits whose data
 * are all per group. */
static bool is_cache_type(uint32_t type)
{
    struct accel_format format;

    switch (type) {
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, number, file_type, narrow, use, cache)            \
    case ACCEL_##ID:                                                                                                   \
        return (cache) != 0;
#include <accel/quant/formats.def>
    default:
        return accel_format_describe(type, &format) == ACCEL_OK && format.kind == ACCEL_FORMAT_PLANAR &&
               format.block_values <= 128 && format.digit_bits >= 4 && format.row_bytes[2] == 0 && format.group != 0;
    }
}

/* Fills `numbers` with `count` distinct numbers of 0 .. below - 1 in random order; below - 1 comes first, and 0
 * occurs. */
static void spread(struct conform *conform, int32_t *numbers, uint32_t count, uint32_t below)
{
    const uint32_t step = below / count;

    for (uint32_t i = 0; i < count; i++)
        numbers[i] = (int32_t)(i * step + (i > 0 && step > 1 ? conform_below(conform, step) : 0));
    numbers[count - 1] = (int32_t)below - 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = conform_below(conform, i + 1);
        int32_t number = numbers[i];

        numbers[i] = numbers[other];
        numbers[other] = number;
    }
    for (uint32_t i = 0; i < count; i++)
        if (numbers[i] == (int32_t)below - 1) {
            numbers[i] = numbers[0];
            numbers[0] = (int32_t)below - 1;
        }
}

/* ---- cache_write ---- */

/* Tests cache_write: each token is a sequence of its own with one key, so attention returns its cached value.
 * Slots lie in random order, the first token's at the end of the cache. */
static void write_case(struct conform *conform, uint32_t tokens, uint32_t heads, uint64_t size, uint32_t slots)
{
    struct accel_attention attributes = {.size = sizeof(attributes), .kv_heads = heads, .page = 1, .scale = 1};
    const uint32_t type = conform->parameter;
    struct accel_dim dims[3], flat[2];
    int32_t *slot, *first, *table, *length;
    uint32_t inputs[6], keys, written;
    struct trial trial;
    float *x, *held;
    double *want;

    trial_begin(&trial, conform, TRIAL_F32, "%u tokens of %u x %llu, %u slots", tokens, heads, (unsigned long long)size,
                slots);
    trial.is_symbolic = false;
    x = conform_floats(conform, tokens * heads * size);
    held = cached(conform, type, x, tokens, heads * size);
    want = conform_memory(conform, tokens * heads * size, sizeof(*want));
    slot = conform_memory(conform, 4ull * (tokens + 1), sizeof(*slot));
    first = slot + tokens, table = first + tokens + 1, length = table + tokens;
    spread(conform, table, tokens, slots);
    for (uint32_t t = 0; t < tokens; t++) {
        bool is_nowhere = tokens > 2 && t > 0 && conform_below(conform, 6) == 0;

        slot[t] = is_nowhere ? -1 : table[t];
        first[t + 1] = (int32_t)t + 1;
        length[t] = 1;
        for (uint64_t e = 0; e < heads * size; e++)
            want[t * heads * size + e] = is_nowhere ? 0 : held[t * heads * size + e];
    }
    dims[0] = flat[0] = trial_fixed(tokens);
    dims[1] = trial_fixed(heads);
    dims[2] = trial_fixed(size);
    flat[1] = trial_fixed(1);
    inputs[0] = trial_input(&trial, "x", ACCEL_F32, 3, dims, x);
    written = trial_input(&trial, "slot", ACCEL_I32, 1, dims, slot);
    keys = trial_state(&trial, "state", type, slots, heads * size);
    trial_node(&trial, ACCEL_OP_CACHE_WRITE, "write", (uint32_t[]){inputs[0], written, keys}, 3, NULL);
    inputs[1] = inputs[2] = keys;
    inputs[3] = trial_input(&trial, "table", ACCEL_I32, 2, flat, table);
    flat[0] = trial_fixed(tokens + 1);
    inputs[4] = trial_input(&trial, "first", ACCEL_I32, 1, flat, first);
    inputs[5] = trial_input(&trial, "length", ACCEL_I32, 1, dims, length);
    trial_output(&trial, trial_node(&trial, ACCEL_OP_ATTENTION, "read", inputs, 6, &attributes), want, 1);
    trial_run(&trial);
    free(x), free(held), free(want), free(slot);
}

static void cache_write(struct conform *conform)
{
    uint64_t block = conform_block(conform->parameter);
    uint64_t unit = block == 1 ? 5 : block;

    write_case(conform, 1, 1, unit, 6);
    write_case(conform, 3, 2, 2 * unit, 8);
    write_case(conform, 70, 3, unit, 75);
    write_case(conform, 20, 1, unit, MANY_SLOTS);
    for (uint32_t i = 0; i < conform->rounds; i++) {
        uint32_t tokens = 1 + conform_below(conform, 40);

        write_case(conform, tokens, 1 + conform_below(conform, 4),
                   block == 1 ? 1 + conform_below(conform, 130)
                              : block * (1 + conform_below(conform, 128 / (uint32_t)block)),
                   tokens + 5);
    }
}

/* ---- attention ---- */

/* One attention case. `slots` covers all pages; the step that attends also stores every token of every sequence. */
struct attend {
    struct accel_attention attributes;
    struct reference_attention reference;
    uint32_t types[2];
    uint32_t most;   /* most tokens of a sequence */
    uint32_t asking; /* queries of a sequence; 0: random */
    uint32_t slots, writes;
    int32_t first[MOST_SEQUENCES + 1], length[MOST_SEQUENCES];
    int32_t *table, *slot;
    float *q, *rows[2], *held[2], *placed[2];
    double *want, *scores;
    int32_t *mask;       /* or NULL */
    double *score_sums;  /* or NULL */
    float *slope, *sink; /* or NULL */
};

/* Assigns pages in random order, out of `slots` slots if that is more than the pages have. Sequence s has a random
 * number of tokens, and its newest ones are the queries. */
static void lay_out(struct conform *conform, struct attend *a, uint32_t slots)
{
    struct reference_attention *r = &a->reference;
    uint32_t pages = (uint32_t)(r->sequences * r->pages);

    a->slots = (slots / a->attributes.page > pages ? slots / a->attributes.page : pages) * a->attributes.page;
    a->table = conform_memory(conform, pages, sizeof(*a->table));
    spread(conform, a->table, pages, a->slots / a->attributes.page);
    a->slot = conform_memory(conform, (uint64_t)pages * a->attributes.page, sizeof(*a->slot));
    for (uint32_t s = 0; s < r->sequences; s++) {
        uint32_t length = a->asking != 0 && s == 0 ? a->most : 1 + conform_below(conform, a->most);
        uint32_t asking = a->asking == 0 ? 1 + conform_below(conform, length) : a->asking < length ? a->asking : length;

        a->first[s] = (int32_t)r->tokens;
        a->length[s] = (int32_t)length;
        r->tokens += asking;
        for (uint32_t p = 0; p < length; p++)
            a->slot[a->writes++] = a->table[s * r->pages + p / a->attributes.page] * (int32_t)a->attributes.page +
                                   (int32_t)(p % a->attributes.page);
    }
    a->first[r->sequences] = (int32_t)r->tokens;
}

/* Generates random rows, rounds them as a cache does, and stores them at their slots. */
static void fill(struct conform *conform, struct attend *a)
{
    struct reference_attention *r = &a->reference;

    a->q = conform_floats(conform, r->tokens * r->heads * r->size);
    a->want = conform_memory(conform, r->tokens * r->heads * r->value_size, sizeof(*a->want));
    a->scores = conform_memory(conform, a->most, sizeof(*a->scores));
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t width = a->attributes.kv_heads * (i == 0 ? r->size : r->value_size);

        a->rows[i] = conform_floats(conform, a->writes * width);
        a->held[i] = cached(conform, a->types[i], a->rows[i], a->writes, width);
        a->placed[i] = conform_memory(conform, a->slots * width, sizeof(float));
        for (uint32_t w = 0; w < a->writes; w++)
            memcpy(a->placed[i] + (uint64_t)a->slot[w] * width, a->held[i] + w * width, width * sizeof(float));
    }
    r->attributes = &a->attributes;
    r->q = a->q, r->k = a->placed[0], r->v = a->placed[1];
    r->table = a->table, r->first = a->first, r->length = a->length;
    r->mask = a->mask, r->score_sums = a->score_sums;
    r->slope = a->slope, r->sink = a->sink;
}

static void attend_compute(void *data)
{
    struct attend *a = data;

    reference_attend(&a->reference, a->scores, a->want);
}

/* Adds the mask input with a random half of the blocks, and the output of attention score sums, if the case has
 * them. */
static void add_more(struct conform *conform, struct attend *a, uint32_t block, bool has_score_sums)
{
    struct reference_attention *r = &a->reference;
    uint64_t places = r->pages * a->attributes.page, blocks = block == 0 ? 0 : (places + block - 1) / block;

    a->attributes.block = block;
    if (block != 0) {
        a->mask = conform_memory(conform, r->sequences * blocks * ((blocks + 31) / 32), sizeof(*a->mask));
        for (uint64_t i = 0; i < r->sequences * blocks * ((blocks + 31) / 32); i++)
            a->mask[i] = (int32_t)(conform_below(conform, 1u << 16) << 16 | conform_below(conform, 1u << 16));
    }
    if (has_score_sums)
        a->score_sums = conform_memory(conform, r->sequences * places, sizeof(*a->score_sums));
}

/* Makes a slope and a learned sink for each head of q. Slopes fall off as powers of 2, as those of ALiBi do, and the
 * last one is positive; sinks are about as large as scores. */
static void add_heads(struct conform *conform, struct attend *a, uint32_t with)
{
    uint64_t heads = a->reference.heads;

    if (with & SLOPE)
        a->slope = conform_memory(conform, heads, sizeof(*a->slope));
    for (uint64_t h = 0; h < heads && a->slope != NULL; h++)
        a->slope[h] = h + 1 == heads ? -0.01f : exp2f(-8.0f * (float)(h + 1) / (float)heads);
    if (with & SINK)
        a->sink = conform_floats(conform, heads);
    for (uint64_t h = 0; h < heads && a->sink != NULL; h++)
        a->sink[h] *= 3;
}

/* Adds the attention node, whose outputs are compared with the reference. */
static void attend_node(struct trial *trial, struct attend *a, uint32_t inputs[9])
{
    struct reference_attention *r = &a->reference;
    uint64_t places = r->pages * a->attributes.page, blocks = a->mask == NULL ? 1 : places / a->attributes.block;
    uint32_t count = a->sink != NULL ? 9 : a->slope != NULL ? 8 : a->mask != NULL ? 7 : 6, made[2];
    struct accel_dim dims[3];

    trial->compute = attend_compute;
    trial->data = a;
    blocks += a->mask != NULL && places % a->attributes.block != 0;
    dims[0] = trial_fixed(r->sequences), dims[1] = trial_fixed(blocks), dims[2] = trial_fixed((blocks + 31) / 32);
    inputs[6] = inputs[7] = inputs[8] = ACCEL_NO_VALUE;
    if (a->mask != NULL)
        inputs[6] = trial_input(trial, "mask", ACCEL_I32, 3, dims, a->mask);
    dims[0] = trial_fixed(r->heads);
    if (a->slope != NULL)
        inputs[7] = trial_input(trial, "slope", ACCEL_F32, 1, dims, a->slope);
    if (a->sink != NULL)
        inputs[8] = trial_input(trial, "sink", ACCEL_F32, 1, dims, a->sink);
    if (a->score_sums == NULL) {
        trial_output(trial, trial_node(trial, ACCEL_OP_ATTENTION, "attention", inputs, count, &a->attributes), a->want,
                     0.5);
        return;
    }
    trial_node_pair(trial, ACCEL_OP_ATTENTION, "attention", inputs, count, &a->attributes, made);
    trial_output(trial, made[0], a->want, 0.5);
    trial_output(trial, made[1], a->score_sums, 1);
}

static void attend_run(struct trial *trial, struct attend *a)
{
    struct reference_attention *r = &a->reference;
    struct accel_dim dims[3] = {trial_fixed(a->writes), trial_fixed(a->attributes.kv_heads), trial_fixed(r->size)};
    uint32_t slot, inputs[9], rows[2];

    rows[0] = trial_input(trial, "k", ACCEL_F32, 3, dims, a->rows[0]);
    dims[2] = trial_fixed(r->value_size);
    rows[1] = trial_input(trial, "v", ACCEL_F32, 3, dims, a->rows[1]);
    slot = trial_input(trial, "slot", ACCEL_I32, 1, dims, a->slot);
    inputs[1] = trial_state(trial, "keys", a->types[0], a->slots, a->attributes.kv_heads * r->size);
    inputs[2] = trial_state(trial, "values", a->types[1], a->slots, a->attributes.kv_heads * r->value_size);
    trial_node(trial, ACCEL_OP_CACHE_WRITE, "write keys", (uint32_t[]){rows[0], slot, inputs[1]}, 3, NULL);
    trial_node(trial, ACCEL_OP_CACHE_WRITE, "write values", (uint32_t[]){rows[1], slot, inputs[2]}, 3, NULL);
    dims[0] = trial_rows(trial, r->tokens), dims[1] = trial_fixed(r->heads), dims[2] = trial_fixed(r->size);
    inputs[0] = trial_input(trial, "q", ACCEL_F32, 3, dims, a->q);
    dims[0] = trial_fixed(r->sequences), dims[1] = trial_fixed(r->pages);
    inputs[3] = trial_input(trial, "table", ACCEL_I32, 2, dims, a->table);
    inputs[5] = trial_input(trial, "length", ACCEL_I32, 1, dims, a->length);
    dims[0] = trial_fixed(r->sequences + 1);
    inputs[4] = trial_input(trial, "first", ACCEL_I32, 1, dims, a->first);
    attend_node(trial, a, inputs);
    trial->by_row = false;
    trial_run(trial);
}

/* Parameters of a case: heads and the operator's attributes. */
struct form {
    uint32_t kv_heads, group, size, value_size, page, most, sequences;
    uint32_t is_causal, window, is_capped;
    uint32_t asking; /* queries of a sequence; 0: random */
    uint32_t rounding;
    uint32_t block; /* block size of a mask; 0: none */
    bool has_score_sums;
    uint32_t sinks;
    uint32_t slots; /* least slots of the caches */
    uint32_t with;  /* SLOPE, SINK */
};

static void attend_case(struct conform *conform, const uint32_t types[2], const struct form *form)
{
    struct attend a = {.types = {types[0], types[1]}, .most = form->most, .asking = form->asking};
    struct trial trial;

    a.attributes = (struct accel_attention){.size = sizeof(a.attributes),
                                            .kv_heads = form->kv_heads,
                                            .page = form->page,
                                            .window = form->window,
                                            .causal = form->is_causal,
                                            .scale = 2.0f / sqrtf((float)form->size),
                                            .softcap = form->is_capped ? 1.5f : 0,
                                            .rounding = form->rounding,
                                            .sinks = form->sinks};
    a.reference = (struct reference_attention){.heads = form->kv_heads * form->group,
                                               .size = form->size,
                                               .value_size = form->value_size,
                                               .sequences = form->sequences,
                                               .pages = (form->most + form->page - 1) / form->page};
    trial_begin(&trial, conform, form->rounding == ACCEL_Q8_0 ? TRIAL_ROUNDED_Q8 : TRIAL_F32,
                "%u x %u heads of %u and %u, %u sequences of up to %u in pages of %u%s, window %u and %u sinks%s%s, "
                "%s%u queries%s%s",
                form->kv_heads, form->group, form->size, form->value_size, form->sequences, form->most, form->page,
                form->is_causal ? ", causal" : "", form->window, form->sinks, form->is_capped ? ", capped" : "",
                form->rounding == ACCEL_Q8_0 ? ", rounded" : "", form->asking == 0 ? "not " : "", form->asking,
                form->with & SLOPE ? ", slopes" : "", form->with & SINK ? ", learned sinks" : "");
    lay_out(conform, &a, form->slots);
    add_more(conform, &a, form->block, form->has_score_sums);
    add_heads(conform, &a, form->with);
    fill(conform, &a);
    attend_run(&trial, &a);
    free(a.table), free(a.slot), free(a.q), free(a.want), free(a.scores), free(a.mask), free(a.score_sums);
    free(a.slope), free(a.sink);
    for (uint32_t i = 0; i < 2; i++)
        free(a.rows[i]), free(a.held[i]), free(a.placed[i]);
}

static struct form random_form(struct conform *conform, uint32_t unit)
{
    struct form form = {.kv_heads = 1 + conform_below(conform, 3)};
    uint32_t units = unit == 1 ? 96 : unit > 64 ? 1 : 128 / unit;

    form.group = 1 + conform_below(conform, 4);
    form.page = 1 + conform_below(conform, 8);
    form.size = unit * (1 + conform_below(conform, units));
    form.value_size = conform_below(conform, 3) == 0 ? unit * (1 + conform_below(conform, units)) : form.size;
    form.most = 1 + conform_below(conform, 60);
    form.sequences = 1 + conform_below(conform, MOST_SEQUENCES);
    form.is_causal = conform_below(conform, 4) != 0;
    form.window = form.is_causal && conform_below(conform, 3) == 0 ? 1 + conform_below(conform, 20) : 0;
    form.sinks = form.window != 0 ? conform_below(conform, 8) : 0;
    form.is_capped = conform_below(conform, 3) == 0;
    form.asking = conform_below(conform, 2);
    form.rounding = conform_below(conform, 3) == 0 ? ACCEL_Q8_0 : 0;
    return form;
}

static void attend_types(struct conform *conform, const uint32_t types[2])
{
    uint32_t a = (uint32_t)conform_block(types[0]), b = (uint32_t)conform_block(types[1]);
    uint32_t unit = a > b ? a : b, size = unit == 1 ? 16 : unit;
    const struct form forms[] = {
        {1, 1, size, size, 1, 1, 1, 1, 0, 0, 1, 0, 0, false, 0, 0, 0},
        {2, 4, size, size, 64, 64, 1, 1, 0, 0, 0, 0, 0, false, 0, 0, 0},
        {1, 3, size, size, 16, 1024, 1, 1, 0, 0, 1, 0, 0, false, 0, 0, 0},
        {4, 1, 2 * size, size, 4, 33, 3, 1, 0, 0, 0, 0, 0, false, 0, 0, 0},
        {2, 2, size, size, 5, 50, 2, 1, 7, 0, 0, 0, 0, false, 0, 0, 0},
        {1, 3, size, size, 4, 90, 2, 1, 9, 0, 0, 0, 0, false, 5, 0, 0},
        {2, 2, size, 2 * size, 3, 20, 4, 1, 0, 1, 0, 0, 0, false, 0, 0, 0},
        {1, 8, size, size, 8, 70, 2, 0, 0, 0, 0, 0, 0, false, 0, 0, 0},
        {2, 2, size, size, 16, 130, 2, 1, 0, 0, 1, ACCEL_Q8_0, 0, false, 0, 0, 0},
        /* Several blocks of a type in a head; soft caps over whole tiles of keys. */
        {2, 2, 4 * size, 2 * size, 16, 90, 2, 1, 0, 0, 2, ACCEL_Q8_0, 0, false, 0, 0, 0},
        {1, 2, size, size, 16, 150, 2, 1, 0, 1, 3, 0, 0, false, 0, 0, 0},
        /* Key and value heads beyond 128 elements. */
        {1, 2, 256, 384, 16, 70, 2, 1, 0, 0, 5, 0, 0, false, 0, 0, 0},
        {1, 2, 384, 256, 16, 40, 1, 1, 0, 0, 1, ACCEL_Q8_0, 0, false, 0, 0, 0},
        /* Typical windows and page sizes. */
        {1, 2, size, size, 16, 300, 2, 1, 100, 0, 20, 0, 0, false, 0, 0, 0},
        {1, 4, size, size, 64, 700, 1, 1, 333, 0, 1, 0, 0, false, 0, 0, 0},
        {1, 2, size, size, 32, 400, 1, 1, 75, 0, 3, 0, 0, false, 4, 0, 0},
        /* More keys than 12 bits count, and more slots than 16 bits count. */
        {1, 2, size, size, 16, 4700, 1, 1, 0, 0, 1, 0, 0, false, 0, MANY_SLOTS, 0},
        {1, 2, size, size, 16, 4200, 1, 1, 0, 0, 9, 0, 0, false, 0, 0, 0},
    };

    for (uint32_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        attend_case(conform, types, &forms[i]);
    for (uint32_t i = 0; i < conform->rounds; i++) {
        struct form form = random_form(conform, unit);

        attend_case(conform, types, &form);
    }
}

static void attention(struct conform *conform)
{
    const uint32_t types[2] = {conform->parameter, conform->parameter};

    attend_types(conform, types);
}

/* Runs cases with a block mask, with attention score sums, or with both. */
static void attend_more(struct conform *conform, uint32_t block, bool has_score_sums)
{
    const uint32_t types[2] = {conform->parameter, conform->parameter};
    uint32_t unit = (uint32_t)conform_block(types[0]), size = unit == 1 ? 16 : unit;
    const struct form forms[] = {
        {1, 3, size, size, 16, 1024, 1, 1, 0, 0, 1, 0, block, has_score_sums, 0, 0, 0},
        {4, 1, 2 * size, size, 4, 33, 3, 1, 0, 0, 0, 0, block, has_score_sums, 0, 0, 0},
        {2, 2, size, size, 5, 50, 2, 1, 7, 1, 0, 0, block, has_score_sums, 3, 0, 0},
        {1, 8, size, size, 8, 70, 2, 0, 0, 0, 0, 0, block, has_score_sums, 0, 0, 0},
        {1, 2, 256, 256, 16, 90, 1, 1, 0, 0, 7, 0, block, has_score_sums, 0, 0, 0},
        {1, 2, size, size, 16, 4700, 1, 1, 0, 0, 1, 0, block, has_score_sums, 0, MANY_SLOTS, 0},
    };

    for (uint32_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        attend_case(conform, types, &forms[i]);
    for (uint32_t i = 0; i < conform->rounds; i++) {
        struct form form = random_form(conform, unit);

        form.rounding = 0;
        form.block = block == 0 ? 0 : 1 + conform_below(conform, 40);
        form.has_score_sums = has_score_sums;
        attend_case(conform, types, &form);
    }
}

static void attention_mask(struct conform *conform)
{
    attend_more(conform, 8, false);
    attend_more(conform, 8, true);
}

static void attention_score_sums(struct conform *conform)
{
    attend_more(conform, 0, true);
}

/* Runs cases with slopes, with learned sinks, or with both, beside every other attribute. */
static void attend_heads(struct conform *conform, uint32_t with)
{
    const uint32_t types[2] = {conform->parameter, conform->parameter};
    const uint32_t unit = (uint32_t)conform_block(types[0]), size = unit == 1 ? 16 : unit;
    const struct form forms[] = {
        {1, 1, size, size, 1, 1, 1, 1, 0, 0, 1, 0, 0, false, 0, 0, with},
        {1, 3, size, size, 16, 1024, 1, 1, 0, 0, 1, 0, 0, false, 0, 0, with},
        {4, 2, 2 * size, size, 4, 33, 3, 1, 0, 0, 0, 0, 0, false, 0, 0, with},
        {2, 2, size, 2 * size, 3, 90, 2, 1, 0, 1, 0, 0, 0, false, 0, 0, with},
        {1, 8, size, size, 8, 70, 2, 0, 0, 0, 0, 0, 0, false, 0, 0, with},
        {2, 2, size, size, 5, 50, 2, 1, 7, 0, 0, 0, 0, false, 0, 0, with},
        {1, 3, size, size, 4, 90, 2, 1, 9, 0, 2, 0, 0, false, 5, 0, with},
        {2, 2, size, size, 16, 130, 2, 1, 0, 0, 1, ACCEL_Q8_0, 0, false, 0, 0, with},
        {2, 2, size, size, 16, 150, 2, 1, 0, 0, 9, ACCEL_Q8_0, 0, false, 0, 0, with},
        {2, 2, size, size, 5, 50, 2, 1, 0, 0, 0, 0, 8, false, 0, 0, with},
        {4, 1, size, size, 4, 33, 3, 1, 0, 0, 0, 0, 0, true, 0, 0, with},
        {2, 2, size, size, 5, 50, 2, 1, 7, 1, 0, 0, 8, true, 3, 0, with},
        {1, 2, 256, 384, 16, 70, 2, 1, 0, 0, 5, 0, 0, false, 0, 0, with},
        {1, 2, size, size, 16, 4200, 1, 1, 0, 0, 5, 0, 0, false, 0, 0, with},
    };

    for (uint32_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        attend_case(conform, types, &forms[i]);
    for (uint32_t i = 0; i < conform->rounds; i++) {
        struct form form = random_form(conform, unit);

        form.with = with;
        form.has_score_sums = conform_below(conform, 4) == 0;
        form.block = conform_below(conform, 4) == 0 ? 1 + conform_below(conform, 40) : 0;
        form.rounding = form.block != 0 || form.has_score_sums ? 0 : form.rounding;
        attend_case(conform, types, &form);
    }
}

static void attention_slope(struct conform *conform)
{
    attend_heads(conform, SLOPE);
}

static void attention_sink(struct conform *conform)
{
    attend_heads(conform, SINK);
    attend_heads(conform, SINK | SLOPE);
}

/* Keys and values of different types. */
static const struct pair {
    uint32_t types[2];
    const char *name;
} pairs[] = {{{ACCEL_F32, ACCEL_F16}, "f32-f16"},
             {{ACCEL_F16, ACCEL_Q8_0}, "f16-q8_0"},
             {{ACCEL_Q8_0, ACCEL_Q4_0}, "q8_0-q4_0"},
             {{ACCEL_F16, ACCEL_Q4_G32}, "f16-q4_g32"},
             {{ACCEL_PLANAR(8u, 6u, 0u), ACCEL_PLANAR(4u, 6u, 0u)}, "q8_g64-q4_g64"}};

static void attention_mixed(struct conform *conform)
{
    attend_types(conform, pairs[conform->parameter].types);
}

static void add_cache_types(struct conform_list *list, const char *op, void (*run)(struct conform *conform))
{
    struct accel_format format;
    uint32_t type;

    for (uint32_t i = 0; (type = accel_format_type(i)) != ACCEL_TYPE_NONE; i++) {
        if (!is_cache_type(type))
            continue;
        accel_format_describe(type, &format);
        conform_add(list, CONFORM_DEVICE, type, run, "%s/%s", op, format.name);
    }
}

static void add_cache_write(struct conform_list *list)
{
    add_cache_types(list, "cache_write", cache_write);
}

static void add_attention(struct conform_list *list)
{
    add_cache_types(list, "attention", attention);
    add_cache_types(list, "attention_mask", attention_mask);
    add_cache_types(list, "attention_score_sums", attention_score_sums);
    add_cache_types(list, "attention_slope", attention_slope);
    add_cache_types(list, "attention_sink", attention_sink);
    for (uint32_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        conform_add(list, CONFORM_DEVICE, i, attention_mixed, "attention/%s", pairs[i].name);
}

const struct conform_operator conform_op_cache_write = {.add = add_cache_write};
const struct conform_operator conform_op_attention = {.add = add_attention};
