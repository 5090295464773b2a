/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu driver's norms, element-wise operators, rows, rotary positions, caches and attention through the public
 * headers, at every ISA that the machine has, with one and two threads, against double precision. */
#include <math.h>
#include <stdio.h>

#include <accel/quant/half.h>

#include "sdk/conform/reference.h"
#include "tests/drivers/cpu.h"

/* One case: a graph of one operator with inputs of random numbers. */
struct one {
    struct rig *rig;
    struct net net;
    struct accel_dim dims[3];
    struct rig_data data[8];
    float *x[2];
    double *want;
    uint64_t rows, width, count;
    uint32_t rank, used, threads, zero;
};

/* Dims of rank 1 to 3, `x` filled for `inputs` inputs of that shape called "a" and "b". */
static void one_begin(struct one *one, struct rig *rig, uint32_t threads, uint64_t widest, uint32_t inputs,
                      uint32_t *values)
{
    static const char *const names[] = {"a", "b"};

    memset(one, 0, sizeof(*one));
    one->rig = rig;
    one->threads = threads;
    one->rank = 1 + rig_below(&cpu_random, 3);
    one->rows = 1;
    one->width = 1 + rig_below(&cpu_random, (uint32_t)widest);
    for (uint32_t d = 0; d + 1 < one->rank; d++) {
        uint64_t extent = 1 + rig_below(&cpu_random, threads == 1 ? 7 : 40); /* enough for two threads */

        one->dims[d] = rig_dim(extent);
        one->rows *= extent;
    }
    one->dims[one->rank - 1] = rig_dim(one->width);
    one->count = one->rows * one->width;
    one->want = calloc(one->count, sizeof(*one->want));
    net_begin(&one->net, "one");
    for (uint32_t i = 0; i < inputs; i++) {
        one->x[i] = cpu_floats(one->count);
        values[i] = net_value(&one->net, ACCEL_ROLE_INPUT, names[i], ACCEL_F32, one->rank, one->dims);
        one->data[one->used++] = (struct rig_data){names[i], {one->x[i]}, {one->count * sizeof(float)}};
    }
}

static void one_end(struct one *one, uint32_t op, const uint32_t *values, uint32_t count, const void *attributes)
{
    char what[96];

    net_output(&one->net, net_node(&one->net, op, "node", values, count, attributes), "y");
    net_end(&one->net);
    snprintf(what, sizeof(what), "%s, rank %u, %u x %u, %u threads", accel_op_name(op), one->rank, (unsigned)one->rows,
             (unsigned)one->width, one->threads);
    cpu_compare(one->rig, &one->net, one->data, one->used, one->threads, 0, what, one->want, one->count, 0.5);
    free(one->x[0]), free(one->x[1]), free(one->want);
    net_free(&one->net);
}

static void norm_try(struct rig *rig, uint32_t op, uint32_t threads)
{
    const struct accel_norm attributes = {.size = sizeof(attributes), .epsilon = 1e-5f};
    uint32_t values[3], biased = op == ACCEL_OP_LAYER_NORM && rig_below(&cpu_random, 2) == 0;
    float *weight, *bias;
    struct accel_dim dim;
    struct one one;

    one_begin(&one, rig, threads, 150, 1, values);
    weight = cpu_floats(one.width), bias = cpu_floats(one.width);
    for (uint64_t r = 0; r < one.rows; r++) {
        float *x = one.x[0] + r * one.width;
        double mean = 0, square = 0;

        x[0] += 2; /* numbers that are nearly equal lose what is left of them to any rounding of their mean */
        for (uint64_t i = 0; i < one.width; i++)
            mean += op == ACCEL_OP_LAYER_NORM ? x[i] / (double)one.width : 0;
        for (uint64_t i = 0; i < one.width; i++)
            square += (x[i] - mean) * (x[i] - mean) / (double)one.width;
        for (uint64_t i = 0; i < one.width; i++)
            one.want[r * one.width + i] =
                (x[i] - mean) / sqrt(square + 1e-5) * weight[i] + (biased ? (double)bias[i] : 0.0);
    }
    dim = rig_dim(one.width);
    values[1] = net_value(&one.net, ACCEL_ROLE_WEIGHT, "w", ACCEL_F32, 1, &dim);
    values[2] = ACCEL_NO_VALUE;
    if (biased)
        values[2] = net_value(&one.net, ACCEL_ROLE_WEIGHT, "bias", ACCEL_F32, 1, &dim);
    one.data[one.used++] = (struct rig_data){"w", {weight}, {one.width * sizeof(float)}};
    one.data[one.used++] = (struct rig_data){"bias", {bias}, {one.width * sizeof(float)}};
    one_end(&one, op, values, op == ACCEL_OP_LAYER_NORM ? 3 : 2, &attributes);
    free(weight), free(bias);
}

/* b is a's shape, or its trailing dimensions. */
static void binary_try(struct rig *rig, uint32_t op, uint32_t threads)
{
    uint32_t values[2], drop;
    uint64_t period = 1;
    struct one one;
    float *b;

    one_begin(&one, rig, threads, 600, 1, values);
    drop = rig_below(&cpu_random, one.rank);
    for (uint32_t d = drop; d < one.rank; d++)
        period *= one.dims[d].add;
    b = cpu_floats(period);
    for (uint64_t i = 0; i < one.count; i++)
        one.want[i] = op == ACCEL_OP_ADD ? (double)one.x[0][i] + b[i % period] : (double)one.x[0][i] * b[i % period];
    values[1] = net_value(&one.net, ACCEL_ROLE_INPUT, "b", ACCEL_F32, one.rank - drop, one.dims + drop);
    one.data[one.used++] = (struct rig_data){"b", {b}, {period * sizeof(float)}};
    one_end(&one, op, values, 2, NULL);
    free(b);
}

static void function_try(struct rig *rig, uint32_t op, uint32_t threads)
{
    struct accel_activation attributes = {.size = sizeof(attributes)};
    uint32_t values[2];
    struct one one;

    attributes.function = rig_below(&cpu_random, ACCEL_FN_END);
    one_begin(&one, rig, threads, 600, op == ACCEL_OP_GATE ? 2 : 1, values);
    for (uint64_t i = 0; i < one.count; i++) {
        one.x[0][i] *= 8;
        one.want[i] =
            reference_function(attributes.function, one.x[0][i]) * (op == ACCEL_OP_GATE ? (double)one.x[1][i] : 1.0);
    }
    one_end(&one, op, values, op == ACCEL_OP_GATE ? 2 : 1, &attributes);
}

static void softmax_try(struct rig *rig, uint32_t threads)
{
    uint32_t value;
    struct one one;

    one_begin(&one, rig, threads, 300, 1, &value);
    for (uint64_t r = 0; r < one.rows; r++) {
        float *x = one.x[0] + r * one.width;
        double sum = 0;

        for (uint64_t i = 0; i < one.width; i++)
            sum += exp(x[i] *= 5);
        for (uint64_t i = 0; i < one.width; i++)
            one.want[r * one.width + i] = exp(x[i]) / sum;
    }
    one_end(&one, ACCEL_OP_SOFTMAX, &value, 1, NULL);
}

static void for_each_isa(void (*try)(struct rig *rig, uint32_t threads))
{
    for (uint32_t isa = 0; isa < CPU_TEST_ISAS; isa++) {
        struct rig rig;

        if (!cpu_open(&rig, isa))
            continue;
        for (uint32_t round = 0; round < 8; round++)
            try(&rig, 1 + round % 2);
        rig_close(&rig);
    }
}

static void rows_and_elements(struct rig *rig, uint32_t threads)
{
    norm_try(rig, ACCEL_OP_RMS_NORM, threads);
    norm_try(rig, ACCEL_OP_LAYER_NORM, threads);
    binary_try(rig, ACCEL_OP_ADD, threads);
    binary_try(rig, ACCEL_OP_MUL, threads);
    function_try(rig, ACCEL_OP_ACTIVATION, threads);
    function_try(rig, ACCEL_OP_GATE, threads);
    softmax_try(rig, threads);
}

static void rows_and_elements_are_right(void **state)
{
    (void)state;
    for_each_isa(rows_and_elements);
}

/* ---- gather and argmax: places ---- */

#define CHOSEN 3000u

static void places(struct rig *rig, uint32_t threads)
{
    uint32_t n = 1 + rig_below(&cpu_random, 9), m = threads == 1 ? 4 : CHOSEN, values[2];
    int32_t index[CHOSEN] = {0, -1, (int32_t)n, INT32_MIN};
    struct accel_dim dims[3] = {rig_dim(n), rig_dim(3), rig_dim(5)}, chosen = rig_dim(m);
    float x[10 * 15];
    double *want = calloc(CHOSEN * 15, sizeof(*want));
    struct rig_data data[2] = {{"x", {x}, {n * 15 * sizeof(float)}}, {"index", {index}, {m * sizeof(*index)}}};
    const uint64_t none = 0;
    struct rig_step step;
    struct net net;

    rig_fill(&cpu_random, x, 150);
    for (uint32_t i = 4; i < m; i++)
        index[i] = (int32_t)rig_below(&cpu_random, n);
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t e = 0; e < 15; e++)
            want[i * 15 + e] = x[(i > 3 ? (uint32_t)index[i] : 0) * 15 + e];
    net_begin(&net, "gather");
    values[0] = net_value(&net, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 3, dims);
    values[1] = net_value(&net, ACCEL_ROLE_INPUT, "index", ACCEL_I32, 1, &chosen);
    net_output(&net, net_node(&net, ACCEL_OP_GATHER, "gather", values, 2, NULL), "y");
    net_end(&net);
    cpu_compare(rig, &net, data, 2, threads, 0, "gather", want, m * 15, 0);
    net_free(&net);
    free(want);

    x[3 * n % (n * 15)] = x[0] = 2; /* equal largest ones: the first counts */
    net_begin(&net, "argmax");
    values[0] = net_value(&net, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 3, dims);
    net_output(&net, net_node(&net, ACCEL_OP_ARGMAX, "argmax", values, 1, NULL), "y");
    net_end(&net);
    rig_step_make(rig, &step, net.graph, data, 1, &none, threads, 0);
    rig_step_run(&step, &none);
    for (uint32_t r = 0; r < n * 3; r++) {
        int32_t best = 0;

        for (int32_t i = 1; i < 5; i++)
            best = x[r * 5 + (uint32_t)i] > x[r * 5 + (uint32_t)best] ? i : best;
        assert_int_equal(((int32_t *)rig_step_value(&step, "y"))[r], best);
    }
    rig_step_free(&step);
    net_free(&net);
}

static void places_are_right(void **state)
{
    (void)state;
    for_each_isa(places);
}

/* ---- rotary ---- */

static void rotary(struct rig *rig, uint32_t threads)
{
    uint32_t tokens = 1 + rig_below(&cpu_random, threads == 1 ? 6 : 300), heads = 1 + rig_below(&cpu_random, 4), pairs,
             values[3];
    uint32_t size = 4 + 2 * rig_below(&cpu_random, 20);
    struct accel_rotary attributes = {.size = sizeof(attributes), .scale = 1.25f};
    struct accel_dim dims[3] = {rig_dim(tokens), rig_dim(heads), rig_dim(size)};
    uint64_t count = (uint64_t)tokens * heads * size;
    float *x = cpu_floats(count), frequency[32];
    double *want = calloc(count, sizeof(*want));
    int32_t position[300];
    struct rig_data data[3] = {
        {"x", {x}, {count * sizeof(float)}}, {"p", {position}, {tokens * 4}}, {"f", {frequency}, {0}}};
    struct net net;

    pairs = size / 2 - rig_below(&cpu_random, 2);
    attributes.pairing = rig_below(&cpu_random, 2);
    data[2].bytes[0] = pairs * 4;
    for (uint32_t i = 0; i < pairs; i++)
        frequency[i] = (float)pow(1000, -2.0 * i / size);
    for (uint32_t t = 0; t < tokens; t++)
        position[t] = (int32_t)rig_below(&cpu_random, 400);
    for (uint64_t r = 0; r < (uint64_t)tokens * heads; r++) {
        const float *in = x + r * size;

        for (uint32_t i = 0; i < size; i++)
            want[r * size + i] = in[i];
        for (uint32_t i = 0; i < pairs; i++) {
            uint32_t a = attributes.pairing == ACCEL_PAIR_HALVES ? i : 2 * i;
            uint32_t b = attributes.pairing == ACCEL_PAIR_HALVES ? i + pairs : 2 * i + 1;
            double angle = (double)((float)position[r / heads] * frequency[i]);

            want[r * size + a] = 1.25 * (in[a] * cos(angle) - in[b] * sin(angle));
            want[r * size + b] = 1.25 * (in[a] * sin(angle) + in[b] * cos(angle));
        }
    }
    net_begin(&net, "rotary");
    values[0] = net_value(&net, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 3, dims);
    values[1] = net_value(&net, ACCEL_ROLE_INPUT, "p", ACCEL_I32, 1, dims);
    dims[0] = rig_dim(pairs);
    values[2] = net_value(&net, ACCEL_ROLE_INPUT, "f", ACCEL_F32, 1, dims);
    net_output(&net, net_node(&net, ACCEL_OP_ROTARY, "rotary", values, 3, &attributes), "y");
    net_end(&net);
    cpu_compare(rig, &net, data, 3, threads, 0, "rotary", want, count, 0);
    net_free(&net);
    free(x), free(want);
}

static void rotary_is_right(void **state)
{
    (void)state;
    for_each_isa(rotary);
}

/* ---- caches and attention ---- */

#define PAGE 4u
#define PAGES 5u
#define SEQUENCES 3u
#define SLOTS (PAGE * PAGES * SEQUENCES)
#define MOST_TOKENS (PAGE * PAGES)
#define MOST_RUBBISH 4u

/* Every token of every sequence is written in the step that attends: `old` of them and the queries, which are the
 * newest ones. Some rows of the writes have slot -1 and hold rubbish. */
struct attend {
    struct accel_attention attributes;
    uint32_t heads, size, value_size, type;
    uint32_t queries, writes;
    int32_t table[SEQUENCES * PAGES], first[SEQUENCES + 1], length[SEQUENCES];
    int32_t slot[SLOTS + MOST_RUBBISH];
    uint32_t place[SLOTS]; /* which write went to a slot */
    float *q, *k, *v;
    double *want;
};

static double cached(const struct attend *a, float value)
{
    return a->type == ACCEL_F16 ? (double)accel_f16_to_f32(accel_f16_from_f32(value)) : (double)value;
}

/* Pages of all sequences in a random order; lengths, and how many of the last tokens are queries. */
static void attend_layout(struct attend *a)
{
    int32_t pages[SEQUENCES * PAGES];
    uint32_t rubbish = 0;

    for (uint32_t i = 0; i < SEQUENCES * PAGES; i++) {
        uint32_t j = rig_below(&cpu_random, i + 1);

        pages[i] = pages[j];
        pages[j] = (int32_t)i;
    }
    memcpy(a->table, pages, sizeof(pages));
    for (uint32_t s = 0; s < SEQUENCES; s++) {
        uint32_t length = 1 + rig_below(&cpu_random, MOST_TOKENS), mine = 1 + rig_below(&cpu_random, length);

        a->first[s] = (int32_t)a->queries;
        a->length[s] = (int32_t)length;
        a->queries += mine;
        for (uint32_t p = 0; p < length; p++) {
            uint32_t slot = (uint32_t)a->table[s * PAGES + p / PAGE] * PAGE + p % PAGE;

            if (rubbish < MOST_RUBBISH && rig_below(&cpu_random, 20) == 0) {
                a->slot[a->writes++] = -1;
                rubbish++;
            }
            a->place[slot] = a->writes;
            a->slot[a->writes++] = (int32_t)slot;
        }
    }
    a->first[SEQUENCES] = (int32_t)a->queries;
}

/* One query of one head at place `p` of sequence `s`. */
static void attend_one(const struct attend *a, uint32_t s, uint32_t p, const float *q, uint32_t head, double *y)
{
    uint32_t group = head / (a->heads / a->attributes.kv_heads), length = (uint32_t)a->length[s];
    double score[MOST_TOKENS], sum = 0;

    memset(y, 0, a->value_size * sizeof(*y));
    for (uint32_t j = 0; j < length; j++) {
        uint32_t slot = (uint32_t)a->table[s * PAGES + j / PAGE] * PAGE + j % PAGE;
        const float *k = a->k + (a->place[slot] * a->attributes.kv_heads + group) * a->size;
        const float *v = a->v + (a->place[slot] * a->attributes.kv_heads + group) * a->value_size;

        if ((a->attributes.causal && j > p) || (a->attributes.window != 0 && j + a->attributes.window <= p))
            continue;
        score[j] = 0;
        for (uint32_t i = 0; i < a->size; i++)
            score[j] += q[i] * cached(a, k[i]);
        score[j] *= a->attributes.scale;
        if (a->attributes.softcap != 0)
            score[j] = a->attributes.softcap * tanh(score[j] / a->attributes.softcap);
        sum += exp(score[j]);
        for (uint32_t i = 0; i < a->value_size; i++)
            y[i] += exp(score[j]) * cached(a, v[i]);
    }
    for (uint32_t i = 0; i < a->value_size; i++)
        y[i] /= sum;
}

static void attend_expect(struct attend *a)
{
    for (uint32_t s = 0; s < SEQUENCES; s++)
        for (int32_t row = a->first[s]; row < a->first[s + 1]; row++)
            for (uint32_t h = 0; h < a->heads; h++) {
                uint64_t at = (uint64_t)row * a->heads + h;

                attend_one(a, s, (uint32_t)(a->length[s] - (a->first[s + 1] - row)), a->q + at * a->size, h,
                           a->want + at * a->value_size);
            }
}

static void attend_net(struct attend *a, struct net *net)
{
    struct accel_dim dims[3] = {rig_dim(a->writes), rig_dim(a->attributes.kv_heads), rig_dim(a->size)};
    struct accel_dim state[2] = {rig_dim(SLOTS), rig_dim(a->attributes.kv_heads * a->size)};
    uint32_t k, v, slot, inputs[6];

    net_begin(net, "attention");
    k = net_value(net, ACCEL_ROLE_INPUT, "k", ACCEL_F32, 3, dims);
    dims[2] = rig_dim(a->value_size);
    v = net_value(net, ACCEL_ROLE_INPUT, "v", ACCEL_F32, 3, dims);
    slot = net_value(net, ACCEL_ROLE_INPUT, "slot", ACCEL_I32, 1, dims);
    inputs[1] = net_value(net, ACCEL_ROLE_STATE, "kc", a->type, 2, state);
    state[1] = rig_dim(a->attributes.kv_heads * a->value_size);
    inputs[2] = net_value(net, ACCEL_ROLE_STATE, "vc", a->type, 2, state);
    net_node(net, ACCEL_OP_CACHE_WRITE, "write k", (uint32_t[]){k, slot, inputs[1]}, 3, NULL);
    net_node(net, ACCEL_OP_CACHE_WRITE, "write v", (uint32_t[]){v, slot, inputs[2]}, 3, NULL);
    dims[0] = rig_dim(a->queries), dims[1] = rig_dim(a->heads), dims[2] = rig_dim(a->size);
    inputs[0] = net_value(net, ACCEL_ROLE_INPUT, "q", ACCEL_F32, 3, dims);
    dims[0] = rig_dim(SEQUENCES), dims[1] = rig_dim(PAGES);
    inputs[3] = net_value(net, ACCEL_ROLE_INPUT, "table", ACCEL_I32, 2, dims);
    inputs[5] = net_value(net, ACCEL_ROLE_INPUT, "length", ACCEL_I32, 1, dims);
    dims[0] = rig_dim(SEQUENCES + 1);
    inputs[4] = net_value(net, ACCEL_ROLE_INPUT, "first", ACCEL_I32, 1, dims);
    net_output(net, net_node(net, ACCEL_OP_ATTENTION, "attention", inputs, 6, &a->attributes), "y");
    net_end(net);
}

static void attention(struct rig *rig, uint32_t threads)
{
    struct attend a = {.type = rig_below(&cpu_random, 2) == 0 ? ACCEL_F32 : ACCEL_F16};
    uint32_t kv = 1 + rig_below(&cpu_random, 3);
    struct rig_data data[7];
    struct net net;
    char what[160];

    a.attributes = (struct accel_attention){.size = sizeof(a.attributes), .kv_heads = kv, .page = PAGE, .scale = 0.4f};
    a.attributes.causal = rig_below(&cpu_random, 4) != 0;
    a.attributes.window = a.attributes.causal && rig_below(&cpu_random, 2) == 0 ? 1 + rig_below(&cpu_random, 9) : 0;
    a.attributes.softcap = rig_below(&cpu_random, 2) == 0 ? 1.5f : 0.0f;
    a.heads = kv * (1 + rig_below(&cpu_random, 3));
    a.size = 4 + rig_below(&cpu_random, 40);
    a.value_size = rig_below(&cpu_random, 2) == 0 ? a.size : 4 + rig_below(&cpu_random, 40);
    attend_layout(&a);
    a.q = cpu_floats((uint64_t)a.queries * a.heads * a.size);
    a.k = cpu_floats((uint64_t)a.writes * kv * a.size);
    a.v = cpu_floats((uint64_t)a.writes * kv * a.value_size);
    a.want = calloc((uint64_t)a.queries * a.heads * a.value_size, sizeof(*a.want));
    attend_expect(&a);
    attend_net(&a, &net);
    data[0] = (struct rig_data){"q", {a.q}, {(uint64_t)a.queries * a.heads * a.size * 4}};
    data[1] = (struct rig_data){"k", {a.k}, {(uint64_t)a.writes * kv * a.size * 4}};
    data[2] = (struct rig_data){"v", {a.v}, {(uint64_t)a.writes * kv * a.value_size * 4}};
    data[3] = (struct rig_data){"slot", {a.slot}, {a.writes * 4}};
    data[4] = (struct rig_data){"table", {a.table}, {sizeof(a.table)}};
    data[5] = (struct rig_data){"first", {a.first}, {sizeof(a.first)}};
    data[6] = (struct rig_data){"length", {a.length}, {sizeof(a.length)}};
    snprintf(what, sizeof(what), "attention %s, %u heads of %u and %u, %u kv, causal %u, window %u, cap %g, %u threads",
             a.type == ACCEL_F32 ? "f32" : "f16", a.heads, a.size, a.value_size, kv, a.attributes.causal,
             a.attributes.window, (double)a.attributes.softcap, threads);
    cpu_compare(rig, &net, data, 7, threads, SLOTS, what, a.want, (uint64_t)a.queries * a.heads * a.value_size, 0.5);
    net_free(&net);
    free(a.q), free(a.k), free(a.v), free(a.want);
}

static void attention_is_right(void **state)
{
    (void)state;
    for_each_isa(attention);
    for_each_isa(attention);
}

/* Attention over tensors: `tokens` queries and `keys` keys of one sequence. */
static void dense_net(struct net *net, uint32_t tokens, uint32_t keys, uint32_t before)
{
    const struct accel_dense_attention how = {
        .size = sizeof(how), .scale = 0.3f, .before = before, .after = before == 0 ? 0 : 9};
    struct accel_dim dims[3] = {rig_dim(tokens), rig_dim(4), rig_dim(16)};
    uint32_t inputs[5];

    net_begin(net, "dense");
    inputs[0] = net_value(net, ACCEL_ROLE_INPUT, "q", ACCEL_F32, 3, dims);
    dims[0] = rig_dim(keys), dims[1] = rig_dim(2);
    inputs[1] = net_value(net, ACCEL_ROLE_INPUT, "k", ACCEL_F32, 3, dims);
    inputs[2] = net_value(net, ACCEL_ROLE_INPUT, "v", ACCEL_F32, 3, dims);
    dims[0] = rig_dim(2);
    inputs[3] = net_value(net, ACCEL_ROLE_INPUT, "first", ACCEL_I32, 1, dims);
    inputs[4] = net_value(net, ACCEL_ROLE_INPUT, "first key", ACCEL_I32, 1, dims);
    net_output(net, net_node(net, ACCEL_OP_DENSE_ATTENTION, "dense", inputs, 5, &how), "y");
    net_end(net);
}

/* Few tokens with keys in parts, and many whose windows begin within tiles of keys: every number of threads has the
 * same bits, and a NaN in a query is one in its result. */
static void bits_of_threads(struct rig *rig)
{
    static const uint32_t rows[][3] = {{1, 1400, 0}, {3, 600, 0}, {4, 1800, 0}, {90, 120, 41}};
    const uint64_t none = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const uint32_t tokens = rows[i][0], keys = rows[i][1];
        const uint64_t bytes = (uint64_t)tokens * 64 * sizeof(float);
        int32_t first[] = {0, (int32_t)tokens}, first_key[] = {0, (int32_t)keys};
        float *q = cpu_floats((uint64_t)tokens * 64), *k = cpu_floats((uint64_t)keys * 32);
        float *v = cpu_floats((uint64_t)keys * 32), *alone = malloc(bytes);
        const struct rig_data data[] = {{"q", {q}, {bytes}},
                                        {"k", {k}, {(uint64_t)keys * 32 * sizeof(float)}},
                                        {"v", {v}, {(uint64_t)keys * 32 * sizeof(float)}},
                                        {"first", {first}, {sizeof(first)}},
                                        {"first key", {first_key}, {sizeof(first_key)}}};
        struct rig_step step;
        struct net net;

        dense_net(&net, tokens, keys, rows[i][2]);
        for (uint32_t t = 1; t <= 3; t++) {
            rig_step_make(rig, &step, net.graph, data, 5, &none, t, 0);
            rig_step_run(&step, &none);
            if (t == 1)
                memcpy(alone, rig_step_value(&step, "y"), bytes);
            else if (memcmp(alone, rig_step_value(&step, "y"), bytes) != 0)
                fail_msg("%u tokens, %u keys: %u threads have other bits than one", tokens, keys, t);
            rig_step_free(&step);
        }
        q[0] = NAN; /* of the first head */
        rig_step_make(rig, &step, net.graph, data, 5, &none, 2, 0);
        rig_step_run(&step, &none);
        for (uint32_t e = 0; e < 32; e++)
            if (isnan(((const float *)rig_step_value(&step, "y"))[e]) != (e < 16))
                fail_msg("%u tokens, %u keys: a NaN in q gives %g in element %u of y", tokens, keys,
                         (double)((const float *)rig_step_value(&step, "y"))[e], e);
        rig_step_free(&step);
        net_free(&net);
        free(q), free(k), free(v), free(alone);
    }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    for (uint32_t isa = 0; isa < CPU_TEST_ISAS; isa++) {
        struct rig rig;

        if (!cpu_open(&rig, isa))
            continue;
        bits_of_threads(&rig);
        rig_close(&rig);
    }
}

/* ---- settings ---- */

static void settings_are_checked(void **state)
{
    static const struct accel_named_value wrong[] = {{.key = "cpu.isa", .value = "sse9", .origin = "test"},
                                                     {.key = "cpu.speed", .value = "11", .origin = "test"}};
    struct rig rig;

    (void)state;
    rig_open(&rig, "plugins/cpu/.libs/cpu.so", NULL, NULL, 0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_not_equal(accel_device_open(rig.context, "cpu:cpu0", &wrong[i], 1, &rig.device, &rig.error),
                             ACCEL_OK);
        assert_null(rig.device);
        if (strstr(rig.error.text, i == 0 ? "sse9" : "speed") == NULL)
            fail_msg("%s", rig.error.text);
        accel_error_clear(&rig.error);
    }
    rig_close(&rig);
}

static int seed(void **state)
{
    (void)state;
    cpu_seed();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_elements_are_right),
        cmocka_unit_test(places_are_right),
        cmocka_unit_test(rotary_is_right),
        cmocka_unit_test(attention_is_right),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(settings_are_checked),
    };
    return cmocka_run_group_tests(tests, seed, NULL);
}
