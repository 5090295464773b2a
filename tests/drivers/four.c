/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A first driver: embed, matmul (F32 and Q4_0), add and softmax in plain C. Everything that a driver needs stands in
 * this file: kernels, a table of them, how to find the device, and one ACCEL_DRIVER line.
 */
#include <math.h>
#include <string.h>

#include <accel/driver/sdk.h>
#include <accel/quant/half.h>

#define BLOCK 32u       /* values of a block of Q4_0 */
#define BLOCK_BYTES 18u /* a scale of 16 bits and 32 digits of 4 bits */

/* table [rows, width], ids [n] -> y [n, width] */
static void embed_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct sdk_tensor *table = call->inputs[0];
    const int32_t *ids = call->inputs[1]->planes[0];
    const float *rows = table->planes[0];
    float *y = call->outputs[0]->planes[0];
    uint64_t begin, end;

    sdk_split(call->inputs[1]->width, 1, thread, threads, &begin, &end);
    for (uint64_t i = begin; i < end; i++) {
        uint64_t row = ids[i] >= 0 && (uint64_t)ids[i] < table->rows ? (uint64_t)ids[i] : 0;

        memcpy(y + i * table->width, rows + row * table->width, table->width * sizeof(*y));
    }
}

static const char *embed_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel;
    return sdk_all_f32(node, 1u << 1) ? NULL : "the table has to be F32";
}

static float dot_f32(const void *row, const float *x, uint64_t width)
{
    const float *w = row;
    double sum = 0;

    for (uint64_t i = 0; i < width; i++)
        sum += (double)w[i] * x[i];
    return (float)sum;
}

/* A block: the scale, then 16 bytes; byte j holds digit j in its low half and digit j + 16 in its high half. */
static float dot_q4(const void *row, const float *x, uint64_t width)
{
    const uint8_t *block = row;
    double sum = 0;

    for (uint64_t b = 0; b < width; b += BLOCK, block += BLOCK_BYTES) {
        double part = 0;
        uint16_t scale;

        memcpy(&scale, block, sizeof(scale));
        for (uint32_t j = 0; j < BLOCK / 2; j++) {
            part += ((block[2 + j] & 15) - 8) * (double)x[b + j];
            part += ((block[2 + j] >> 4) - 8) * (double)x[b + j + BLOCK / 2];
        }
        sum += accel_f16_to_f32(scale) * part;
    }
    return (float)sum;
}

/* Weights in F32 are variant 0, in Q4_0 variant 1. */
static const char *matmul_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    const struct accel_matmul *attributes = node->node->attributes;

    if (sdk_input(node, 1)->type != (kernel->variant == 0 ? ACCEL_F32 : ACCEL_Q4_0))
        return "weights have to be F32 or Q4_0";
    if (sdk_input(node, 2) != NULL || sdk_input(node, 3) != NULL || attributes->function != ACCEL_FN_NONE)
        return "no bias, residual or function";
    return sdk_all_f32(node, 1u << 1) ? NULL : "x and y have to be F32";
}

/* x [rows, k], w [n, k] -> y [rows, n]; threads share out the rows of w. */
static void matmul_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const struct sdk_tensor *x = call->inputs[0];
    const struct sdk_tensor *w = call->inputs[1];
    uint64_t stride = call->variant == 0 ? w->width * sizeof(float) : w->width / BLOCK * BLOCK_BYTES;
    uint64_t begin, end;

    sdk_split(w->rows, 1, thread, threads, &begin, &end);
    for (uint64_t i = 0; i < x->rows; i++) {
        const float *row = (const float *)x->planes[0] + i * x->width;
        float *y = (float *)call->outputs[0]->planes[0] + i * w->rows;

        for (uint64_t n = begin; n < end; n++) {
            const char *weights = (const char *)w->planes[0] + n * stride;

            y[n] = call->variant == 0 ? dot_f32(weights, row, x->width) : dot_q4(weights, row, x->width);
        }
    }
}

/* Small nodes are left to one thread: about a nanosecond for a product. */
static uint64_t matmul_work(const struct sdk_call *call)
{
    return call->inputs[0]->rows * call->inputs[1]->rows * call->inputs[1]->width;
}

/* b has a's shape or its trailing dimensions */
static void add_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const float *a = call->inputs[0]->planes[0];
    const float *b = call->inputs[1]->planes[0];
    uint64_t period = call->inputs[1]->rows * call->inputs[1]->width;
    float *y = call->outputs[0]->planes[0];
    uint64_t begin, end;

    sdk_split(call->inputs[0]->rows * call->inputs[0]->width, 16, thread, threads, &begin, &end);
    for (uint64_t i = begin; i < end; i++)
        y[i] = a[i] + b[i % period];
}

static void softmax_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    uint64_t width = call->inputs[0]->width;
    uint64_t begin, end;

    sdk_split(call->inputs[0]->rows, 1, thread, threads, &begin, &end);
    for (uint64_t r = begin; r < end; r++) {
        const float *x = (const float *)call->inputs[0]->planes[0] + r * width;
        float *y = (float *)call->outputs[0]->planes[0] + r * width;
        float most = x[0];
        double sum = 0;

        for (uint64_t i = 1; i < width; i++)
            most = x[i] > most ? x[i] : most;
        for (uint64_t i = 0; i < width; i++)
            sum += y[i] = expf(x[i] - most);
        for (uint64_t i = 0; i < width; i++)
            y[i] = (float)(y[i] / sum);
    }
}

static const struct sdk_kernel kernels[] = {
    {.op = ACCEL_OP_EMBED, .name = "embed f32", .precision = ACCEL_F32, .check = embed_check, .run = embed_run},
    {.op = ACCEL_OP_MATMUL,
     .name = "matmul f32",
     .precision = ACCEL_F32,
     .variant = 0,
     .tolerance = 1e-6,
     .check = matmul_check,
     .run = matmul_run,
     .work = matmul_work},
    {.op = ACCEL_OP_MATMUL,
     .name = "matmul q4_0",
     .precision = ACCEL_F32,
     .variant = 1,
     .tolerance = 1e-6,
     .check = matmul_check,
     .run = matmul_run,
     .work = matmul_work},
    {.op = ACCEL_OP_ADD, .name = "add", .precision = ACCEL_F32, .tolerance = 1e-6, .run = add_run},
    {.op = ACCEL_OP_SOFTMAX, .name = "softmax", .precision = ACCEL_F32, .tolerance = 1e-6, .run = softmax_run},
};

static int32_t find(const struct accel_host *host, const struct accel_hardware *const *hardware, uint32_t count,
                    const struct accel_device_sink *sink, struct accel_error *error)
{
    static const uint32_t types[] = {ACCEL_F32, ACCEL_Q4_0};

    (void)host;
    return sdk_report_processors(hardware, count, sink, "one", "", types, 2, error);
}

static const struct sdk_backend backend = {
    .kernels = kernels, .kernel_count = sizeof(kernels) / sizeof(*kernels), .enumerate = find};

ACCEL_DRIVER(backend, NULL, 0, "four", "1.0", "Apache-2.0", "isa=x86-64\n");
