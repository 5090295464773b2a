/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver to start from: every operator that a small language model needs, in plain C on the processors of the
 * machine. It builds with the installed SDK alone, runs samples/stories260K, and passes accel-conform. Replace the
 * bodies of the kernels by calls of your device, one after the other, and run accel-conform after each.
 *
 * All threads of the team call a kernel at the same time with the same call; `thread` is the index of the thread, and
 * sdk_split computes its share. A kernel's inputs are complete; it allocates nothing and has no state.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <accel/driver/sdk.h>
#include <accel/quant/half.h>

/* Names of the driver, used nowhere else. */
#define NAME "template"
#define VERSION "1.0"
#define DEVICE "template0"

#define BLOCK 32u /* values of a block of Q8_0 and of Q4_0 */
#define Q8_BYTES 34u
#define Q4_BYTES 18u
#define HEAD 256u /* elements of a head at most: attention accumulates on the stack */

#define TOLERANCE 1e-5 /* sums in double precision, functions of the C library in single precision */

/* ---- elements ---- */

/* Element `i` of a vector of F32, F16 or BF16. */
static float element(const struct sdk_tensor *tensor, uint64_t i)
{
    const uint16_t *half = tensor->planes[0];

    if (tensor->type == ACCEL_F16)
        return accel_f16_to_f32(half[i]);
    if (tensor->type == ACCEL_BF16)
        return accel_bf16_to_f32(half[i]);
    return ((const float *)tensor->planes[0])[i];
}

static bool is_float(uint32_t type)
{
    return type == ACCEL_F32 || type == ACCEL_F16 || type == ACCEL_BF16;
}

static bool is_weight_type(uint32_t type)
{
    return is_float(type) || type == ACCEL_Q8_0 || type == ACCEL_Q4_0;
}

static float function(uint32_t which, float x)
{
    switch (which) {
    case ACCEL_FN_RELU:
        return x > 0 ? x : 0;
    case ACCEL_FN_GELU:
        return x * 0.5f * (1 + erff(x * 0.70710678f));
    case ACCEL_FN_GELU_TANH:
        return x * 0.5f * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
    case ACCEL_FN_GELU_QUICK:
        return x / (1 + expf(-1.702f * x));
    case ACCEL_FN_SILU:
        return x / (1 + expf(-x));
    case ACCEL_FN_SIGMOID:
        return 1 / (1 + expf(-x));
    case ACCEL_FN_TANH:
        return tanhf(x);
    default:
        return x;
    }
}

/* ---- weights: matmul and embed ---- */

static uint64_t row_bytes(uint32_t type, uint64_t width)
{
    if (type == ACCEL_Q8_0)
        return width / BLOCK * Q8_BYTES;
    if (type == ACCEL_Q4_0)
        return width / BLOCK * Q4_BYTES;
    return width * (type == ACCEL_F32 ? 4 : 2);
}

/* Decodes values `at` .. `at` + count of a row; `at` is the first of a block and count at most a block. A block of Q8_0
 * is a scale in F16 and 32 signed bytes; a block of Q4_0 a scale and 16 bytes: byte j holds code j in its low half and
 * code j + 16 in its high half. */
static void decode(uint32_t type, const char *row, uint64_t at, uint64_t count, float *out)
{
    const uint8_t *block;
    uint16_t half;
    float scale;

    if (is_float(type)) {
        struct sdk_tensor view = {.planes = {(void *)(uintptr_t)row}, .type = type};

        for (uint64_t i = 0; i < count; i++)
            out[i] = element(&view, at + i);
        return;
    }
    block = (const uint8_t *)row + at / BLOCK * (type == ACCEL_Q8_0 ? Q8_BYTES : Q4_BYTES);
    memcpy(&half, block, sizeof(half));
    scale = accel_f16_to_f32(half);
    for (uint32_t j = 0; j < BLOCK; j++) {
        uint8_t codes = block[2 + j % (BLOCK / 2)];

        if (type == ACCEL_Q8_0)
            out[j] = scale * (int8_t)block[2 + j];
        else
            out[j] = scale * ((j < BLOCK / 2 ? codes & 15 : codes >> 4) - 8);
    }
}

static double dot(uint32_t type, const char *row, const float *x, uint64_t width)
{
    double sum = 0;

    for (uint64_t at = 0; at < width; at += BLOCK) {
        uint64_t count = width - at < BLOCK ? width - at : BLOCK;
        float values[BLOCK];

        decode(type, row, at, count, values);
        for (uint64_t i = 0; i < count; i++)
            sum += (double)values[i] * x[at + i];
    }
    return sum;
}

static const char *matmul_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    const struct accel_value *bias = sdk_input(node, 2);

    (void)kernel;
    if (!is_weight_type(sdk_input(node, 1)->type))
        return "weights have to be F32, F16, BF16, Q8_0 or Q4_0";
    if (bias != NULL && !is_float(bias->type))
        return "the bias has to be F32, F16 or BF16";
    return sdk_all_f32(node, 1u << 1 | 1u << 2) ? NULL : "x, y and the residual have to be F32";
}

/* x [rows, k], w [n, k] -> y [rows, n]; threads split the rows of w. */
static void matmul_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct accel_matmul *attributes = call->attributes;
    const struct sdk_tensor *x = call->inputs[0], *w = call->inputs[1], *bias = call->inputs[2];
    const float *residual = call->inputs[3] == NULL ? NULL : call->inputs[3]->planes[0];
    uint64_t stride = row_bytes(w->type, w->width), begin, end;

    sdk_split(w->rows, 1, thread, threads, &begin, &end);
    for (uint64_t r = 0; r < x->rows; r++) {
        const float *row = (const float *)x->planes[0] + r * x->width;
        float *y = (float *)call->outputs[0]->planes[0] + r * w->rows;

        for (uint64_t n = begin; n < end; n++) {
            double sum = dot(w->type, (const char *)w->planes[0] + n * stride, row, x->width);

            sum += bias == NULL ? 0 : element(bias, n);
            y[n] = function(attributes->function, (float)sum) + (residual == NULL ? 0 : residual[r * w->rows + n]);
        }
    }
}

/* Estimates the nanoseconds of a node, so that small nodes run on one thread. */
static uint64_t matmul_work(const struct sdk_call *call)
{
    return call->inputs[0]->rows * call->inputs[1]->rows * call->inputs[1]->width;
}

static const char *embed_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    return is_weight_type(sdk_input(node, 0)->type) ? NULL : "the table has to be F32, F16, BF16, Q8_0 or Q4_0";
}

/* table [rows, width], ids [n] -> y [n, width]; an id outside of the table reads row 0 */
static void embed_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct sdk_tensor *table = call->inputs[0];
    const int32_t *ids = call->inputs[1]->planes[0];
    float *y = call->outputs[0]->planes[0];
    uint64_t begin, end;

    sdk_split(call->inputs[1]->width, 1, thread, threads, &begin, &end);
    for (uint64_t i = begin; i < end; i++) {
        uint64_t row = ids[i] >= 0 && (uint64_t)ids[i] < table->rows ? (uint64_t)ids[i] : 0;
        const char *from = (const char *)table->planes[0] + row * row_bytes(table->type, table->width);

        for (uint64_t at = 0; at < table->width; at += BLOCK) {
            uint64_t count = table->width - at < BLOCK ? table->width - at : BLOCK;

            decode(table->type, from, at, count, y + i * table->width + at);
        }
    }
}

/* ---- rows: norms, softmax, argmax ---- */

static const char *norm_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    if (!is_float(sdk_input(node, 1)->type) || (sdk_input(node, 2) != NULL && !is_float(sdk_input(node, 2)->type)))
        return "weight and bias have to be F32, F16 or BF16";
    return sdk_all_f32(node, 1u << 1 | 1u << 2) ? NULL : "x and y have to be F32";
}

/* Runs both norms: the variant selects whether the mean is subtracted first. */
static void norm_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct accel_norm *attributes = call->attributes;
    const struct sdk_tensor *x = call->inputs[0], *weight = call->inputs[1], *bias = call->inputs[2];
    uint64_t begin, end;

    sdk_split(x->rows, 1, thread, threads, &begin, &end);
    for (uint64_t r = begin; r < end; r++) {
        const float *in = (const float *)x->planes[0] + r * x->width;
        float *y = (float *)call->outputs[0]->planes[0] + r * x->width;
        double mean = 0, square = 0, factor;

        for (uint64_t i = 0; i < x->width && call->variant == ACCEL_OP_LAYER_NORM; i++)
            mean += in[i] / (double)x->width;
        for (uint64_t i = 0; i < x->width; i++)
            square += (in[i] - mean) * (in[i] - mean);
        factor = 1 / sqrt(square / (double)x->width + attributes->epsilon);
        for (uint64_t i = 0; i < x->width; i++)
            y[i] = (float)((in[i] - mean) * factor * element(weight, i)) + (bias == NULL ? 0 : element(bias, i));
    }
}

static void softmax_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct sdk_tensor *x = call->inputs[0];
    uint64_t begin, end;

    sdk_split(x->rows, 1, thread, threads, &begin, &end);
    for (uint64_t r = begin; r < end; r++) {
        const float *in = (const float *)x->planes[0] + r * x->width;
        float *y = (float *)call->outputs[0]->planes[0] + r * x->width, most = in[0];
        double sum = 0;

        for (uint64_t i = 1; i < x->width; i++)
            most = in[i] > most ? in[i] : most;
        for (uint64_t i = 0; i < x->width; i++)
            sum += y[i] = expf(in[i] - most);
        for (uint64_t i = 0; i < x->width; i++)
            y[i] = (float)(y[i] / sum);
    }
}

static const char *argmax_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    return sdk_input(node, 0)->type == ACCEL_F32 ? NULL : "x has to be F32";
}

static void argmax_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct sdk_tensor *x = call->inputs[0];
    uint64_t begin, end;

    sdk_split(x->rows, 1, thread, threads, &begin, &end);
    for (uint64_t r = begin; r < end; r++) {
        const float *in = (const float *)x->planes[0] + r * x->width;
        uint64_t best = 0;

        for (uint64_t i = 1; i < x->width; i++)
            best = in[i] > in[best] ? i : best;
        ((int32_t *)call->outputs[0]->planes[0])[r] = (int32_t)best;
    }
}

/* ---- elements: add, mul, activation, gate ---- */

static const char *binary_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    if (!is_float(sdk_input(node, 1)->type))
        return "b has to be F32, F16 or BF16";
    return sdk_all_f32(node, 1u << 1) ? NULL : "a and y have to be F32";
}

/* b has a's shape or its trailing dimensions */
static void binary_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const float *a = call->inputs[0]->planes[0];
    uint64_t period = call->inputs[1]->rows * call->inputs[1]->width, begin, end;
    float *y = call->outputs[0]->planes[0];

    sdk_split(call->inputs[0]->rows * call->inputs[0]->width, 16, thread, threads, &begin, &end);
    for (uint64_t i = begin; i < end; i++) {
        float b = element(call->inputs[1], i % period);

        y[i] = call->variant == ACCEL_OP_ADD ? a[i] + b : a[i] * b;
    }
}

/* y = function(x), or function(x) * up where there is a second input */
static void function_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct accel_activation *attributes = call->attributes;
    const float *x = call->inputs[0]->planes[0], *up = call->inputs[1] == NULL ? NULL : call->inputs[1]->planes[0];
    float *y = call->outputs[0]->planes[0];
    uint64_t begin, end;

    sdk_split(call->inputs[0]->rows * call->inputs[0]->width, 16, thread, threads, &begin, &end);
    for (uint64_t i = begin; i < end; i++)
        y[i] = function(attributes->function, x[i]) * (up == NULL ? 1 : up[i]);
}

/* ---- places: gather, rotary ---- */

static const char *gather_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    return sdk_input(node, 0)->type == ACCEL_F32 || sdk_input(node, 0)->type == ACCEL_I32 ? NULL
                                                                                          : "x has to be F32 or I32";
}

/* x [n, ...], index [m] -> y [m, ...]; both types have four bytes */
static void gather_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct sdk_tensor *x = call->inputs[0];
    const int32_t *index = call->inputs[1]->planes[0];
    uint64_t bytes = x->rows * x->width / x->dims[0] * 4, begin, end;

    sdk_split(call->inputs[1]->width, 1, thread, threads, &begin, &end);
    for (uint64_t i = begin; i < end; i++) {
        uint64_t row = index[i] >= 0 && (uint64_t)index[i] < x->dims[0] ? (uint64_t)index[i] : 0;

        memcpy((char *)call->outputs[0]->planes[0] + i * bytes, (const char *)x->planes[0] + row * bytes, bytes);
    }
}

static const char *rotary_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    return sdk_all_f32(node, 1u << 1) ? NULL : "x, frequency and y have to be F32";
}

/* x [tokens, heads, size], position [tokens], frequency [pairs] -> y like x */
static void rotary_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct accel_rotary *attributes = call->attributes;
    const struct sdk_tensor *x = call->inputs[0];
    const int32_t *position = call->inputs[1]->planes[0];
    const float *frequency = call->inputs[2]->planes[0];
    uint64_t pairs = call->inputs[2]->width, begin, end;

    sdk_split(x->rows, 1, thread, threads, &begin, &end);
    for (uint64_t r = begin; r < end; r++) {
        const float *in = (const float *)x->planes[0] + r * x->width;
        float *y = (float *)call->outputs[0]->planes[0] + r * x->width;

        memmove(y, in, x->width * sizeof(*y));
        for (uint64_t i = 0; i < pairs; i++) {
            uint64_t a = attributes->pairing == ACCEL_PAIR_HALVES ? i : 2 * i;
            uint64_t b = attributes->pairing == ACCEL_PAIR_HALVES ? i + pairs : 2 * i + 1;
            float angle = (float)position[r / x->dims[1]] * frequency[i];
            float cosine = attributes->scale * cosf(angle), sine = attributes->scale * sinf(angle);
            float first = in[a], second = in[b];

            y[a] = first * cosine - second * sine;
            y[b] = first * sine + second * cosine;
        }
    }
}

/* ---- caches: cache_write, attention ---- */

static const char *write_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    uint32_t type = sdk_input(node, 2)->type;

    (void)kernel;
    return type == ACCEL_F32 || type == ACCEL_F16 ? NULL : "the cache has to be F32 or F16";
}

/* x [tokens, ...], slot [tokens], state [slots, row]; a slot of -1 writes nothing */
static void write_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct sdk_tensor *state = call->inputs[2];
    const float *x = call->inputs[0]->planes[0];
    const int32_t *slot = call->inputs[1]->planes[0];
    uint64_t begin, end;

    sdk_split(call->inputs[1]->width, 1, thread, threads, &begin, &end);
    for (uint64_t t = begin; t < end; t++) {
        if (slot[t] < 0)
            continue;
        for (uint64_t i = 0; i < state->width; i++) {
            uint64_t to = (uint64_t)slot[t] * state->width + i;

            if (state->type == ACCEL_F32)
                ((float *)state->planes[0])[to] = x[t * state->width + i];
            else
                ((uint16_t *)state->planes[0])[to] = accel_f16_from_f32(x[t * state->width + i]);
        }
    }
}

static const char *attention_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    const struct accel_attention *attributes = node->node->attributes;
    const struct accel_value *k = sdk_input(node, 1), *v = sdk_input(node, 2);

    (void)kernel;
    if ((k->type != ACCEL_F32 && k->type != ACCEL_F16) || (v->type != ACCEL_F32 && v->type != ACCEL_F16))
        return "keys and values have to be cached in F32 or F16";
    return v->dims[1].add / attributes->kv_heads <= HEAD ? NULL : "heads have more than 256 elements";
}

/* Attends one query of one head at position `place` of a sequence of `length` tokens, with an online softmax: a running
 * maximum, and a rescaled sum whenever the maximum grows. */
static void attend(const struct sdk_call *call, const int32_t *pages, int32_t place, int32_t length, uint64_t head,
                   const float *q, float *y)
{
    const struct accel_attention *a = call->attributes;
    const struct sdk_tensor *k = call->inputs[1], *v = call->inputs[2];
    uint64_t size = k->width / a->kv_heads, value_size = v->width / a->kv_heads;
    uint64_t group = head / (call->inputs[0]->dims[1] / a->kv_heads);
    int32_t begin = a->window != 0 && place >= (int32_t)a->window ? place - (int32_t)a->window + 1 : 0;
    int32_t sinks = (int32_t)a->sinks < begin ? (int32_t)a->sinks : begin; /* visible beside the window */
    int32_t end = a->causal ? place + 1 : length;
    double sums[HEAD] = {0}, most = -INFINITY, sum = 0;

    for (int32_t j = sinks != 0 ? 0 : begin; j < end; j = j + 1 == sinks ? begin : j + 1) {
        uint64_t slot = (uint64_t)pages[(uint32_t)j / a->page] * a->page + (uint32_t)j % a->page;
        double score = 0, before, weight;

        for (uint64_t i = 0; i < size; i++)
            score += (double)q[i] * element(k, slot * k->width + group * size + i);
        score *= a->scale;
        if (a->softcap != 0)
            score = a->softcap * tanh(score / a->softcap);
        before = score > most ? exp(most - score) : 1;
        most = score > most ? score : most;
        weight = exp(score - most);
        sum = sum * before + weight;
        for (uint64_t i = 0; i < value_size; i++)
            sums[i] = sums[i] * before + weight * element(v, slot * v->width + group * value_size + i);
    }
    for (uint64_t i = 0; i < value_size; i++)
        y[i] = (float)(sums[i] / sum);
}

/* q [tokens, heads, size], caches, table [sequences, pages], first [sequences + 1], length [sequences] */
static void attention_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct sdk_tensor *q = call->inputs[0], *y = call->outputs[0], *table = call->inputs[3];
    const int32_t *first = call->inputs[4]->planes[0], *length = call->inputs[5]->planes[0];
    uint64_t heads = q->dims[1], begin, end;

    sdk_split(heads, 1, thread, threads, &begin, &end);
    for (uint64_t s = 0; s < table->dims[0]; s++)
        for (int32_t row = first[s]; row < first[s + 1] && (uint64_t)row < q->dims[0]; row++)
            for (uint64_t h = begin; h < end; h++) {
                uint64_t at = (uint64_t)row * heads + h;

                attend(call, (const int32_t *)table->planes[0] + s * table->width, length[s] - (first[s + 1] - row),
                       length[s], h, (const float *)q->planes[0] + at * q->width,
                       (float *)y->planes[0] + at * y->width);
            }
}

/* ---- the driver ---- */

#define KERNEL(op_, name_, variant_, check_, run_, work_)                                                              \
    {                                                                                                                  \
        .op = (op_), .name = (name_), .precision = ACCEL_F32, .variant = (variant_), .tolerance = TOLERANCE,           \
        .check = (check_), .run = (run_), .work = (work_)                                                              \
    }

static const struct sdk_kernel kernels[] = {
    KERNEL(ACCEL_OP_EMBED, "embed", 0, embed_check, embed_run, NULL),
    KERNEL(ACCEL_OP_MATMUL, "matmul", 0, matmul_check, matmul_run, matmul_work),
    KERNEL(ACCEL_OP_RMS_NORM, "rms norm", ACCEL_OP_RMS_NORM, norm_check, norm_run, NULL),
    KERNEL(ACCEL_OP_LAYER_NORM, "layer norm", ACCEL_OP_LAYER_NORM, norm_check, norm_run, NULL),
    KERNEL(ACCEL_OP_ROTARY, "rotary", 0, rotary_check, rotary_run, NULL),
    KERNEL(ACCEL_OP_CACHE_WRITE, "cache write", 0, write_check, write_run, NULL),
    KERNEL(ACCEL_OP_ATTENTION, "attention", 0, attention_check, attention_run, NULL),
    KERNEL(ACCEL_OP_ADD, "add", ACCEL_OP_ADD, binary_check, binary_run, NULL),
    KERNEL(ACCEL_OP_MUL, "mul", ACCEL_OP_MUL, binary_check, binary_run, NULL),
    KERNEL(ACCEL_OP_ACTIVATION, "activation", 0, NULL, function_run, NULL),
    KERNEL(ACCEL_OP_GATE, "gate", 0, NULL, function_run, NULL),
    KERNEL(ACCEL_OP_SOFTMAX, "softmax", 0, NULL, softmax_run, NULL),
    KERNEL(ACCEL_OP_GATHER, "gather", 0, gather_check, gather_run, NULL),
    KERNEL(ACCEL_OP_ARGMAX, "argmax", 0, argmax_check, argmax_run, NULL),
};

/* Enumerates the devices. A driver of a card looks for its vendor id in the list of hardware, calls sink->device for
 * each usable device, and sink->verdict with a remedy for each other one. */
static int32_t find(const struct accel_host *host, const struct accel_hardware *const *hardware, uint32_t count,
                    const struct accel_device_sink *sink, struct accel_error *error)
{
    static const uint32_t types[] = {ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_Q8_0, ACCEL_Q4_0};

    (void)host;
    return sdk_report_processors(hardware, count, sink, DEVICE, "kernels=plain", types, sizeof(types) / sizeof(*types),
                                 error);
}

static int32_t open_device(const struct accel_host *host, const char *id, const struct accel_setting *settings,
                           uint32_t setting_count, void *device, struct accel_error *error)
{
    (void)host;
    (void)settings;
    (void)setting_count;
    (void)device;
    return strcmp(id, DEVICE) == 0 ? ACCEL_OK
                                   : sdk_error(error, ACCEL_E_NOT_FOUND, "the one device is %s, not %s", DEVICE, id);
}

/* Eight bytes that another text hardly has: FNV-1a. */
static void hash(const char *text, uint8_t out_bytes[8])
{
    uint64_t sum = 0xcbf29ce484222325;

    for (; *text != '\0'; text++)
        sum = (sum ^ (uint8_t)*text) * 0x100000001b3;
    memcpy(out_bytes, &sum, 8);
}

/* Returns the fingerprint that validates cached results, above all compiled programs. Two drivers must have different
 * ones: add everything that the device's results depend on, such as its product and its library's version. */
static void fingerprint(const void *device, uint8_t out_fingerprint[16])
{
    (void)device;
    hash(NAME, out_fingerprint);
    hash(VERSION, out_fingerprint + 8);
}

static const struct sdk_backend backend = {
    .kernels = kernels,
    .kernel_count = sizeof(kernels) / sizeof(*kernels),
    .enumerate = find,
    .open = open_device,
    .fingerprint = fingerprint,
    .weight_alignment = 4,
};

ACCEL_DRIVER(backend, NULL, 0, NAME, VERSION, "Apache-2.0", "isa=x86-64\n");
