/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by row and by element. */
#include <float.h>
#include <math.h>
#include <string.h>

#include <accel/driver/kernel.h>
#include <accel/quant/format.h>
#include <accel/quant/half.h>

#include "support.h"

static const size_t widths[] = {1, 3, 7, 8, 9, 16, 31, 64, 100, 172, 257};
#define WIDTHS (sizeof(widths) / sizeof(widths[0]))

static double norm_value(const float *x, size_t n, size_t i, int layer, double epsilon)
{
    double mean = 0, squares = 0;
    for (size_t j = 0; j < n && layer; j++)
        mean += x[j] / (double)n;
    for (size_t j = 0; j < n; j++)
        squares += (x[j] - mean) * (x[j] - mean) / (double)n;
    return (x[i] - mean) / sqrt(squares + epsilon);
}

static void norm_case(const struct cpu_kernels *kernels, size_t n, int layer, int biased)
{
    enum { ROWS = 3 };
    size_t bytes = n * sizeof(float);
    float *x = guard_new(ROWS * bytes), *weight = guard_new(bytes), *bias = guard_new(bytes),
          *y = guard_new(ROWS * bytes);
    random_fill(x, ROWS * n);
    random_fill(weight, n);
    random_fill(bias, n);
    cpu_norm_fn *kernel = layer ? kernels->layer_norm : kernels->rms_norm;
    kernel(x, weight, biased ? bias : NULL, 1e-5f, n, y, 0, 1);
    kernel(x, weight, biased ? bias : NULL, 1e-5f, n, y, 1, ROWS);
    for (size_t i = 0; i < ROWS * n; i++) {
        double want = norm_value(x + i / n * n, n, i % n, layer, 1e-5f) * weight[i % n] + (biased ? bias[i % n] : 0);
        /* A row of one value is its own mean: rounding is all that is left. */
        near_enough(layer ? "layer_norm" : "rms_norm", i, y[i], want,
                    3e-6 * (1 + fabs(want)) * (n < 4 && layer ? 100 : 1));
    }
    guard_free(x, ROWS * bytes);
    guard_free(weight, bytes);
    guard_free(bias, bytes);
    guard_free(y, ROWS * bytes);
}

void test_norms(void **state)
{
    const struct tables *tables = *state;
    for (size_t w = 0; w < WIDTHS; w++) {
        norm_case(&tables->kernels, widths[w], 0, 0);
        norm_case(&tables->kernels, widths[w], 1, 0);
        norm_case(&tables->kernels, widths[w], 1, 1);
    }
}

void test_softmax(void **state)
{
    const struct tables *tables = *state;
    for (size_t w = 0; w < WIDTHS; w++) {
        size_t n = widths[w], bytes = 2 * n * sizeof(float);
        float *x = guard_new(bytes), *y = guard_new(bytes);
        random_fill(x, 2 * n);
        for (size_t i = 0; i < n; i++)
            x[n + i] = i % 5 == 3 ? -INFINITY : x[n + i] * 40 + 300;
        tables->kernels.softmax(x, n, y, 0, 2);
        for (size_t i = 0; i < 2 * n; i++) {
            const float *row = x + i / n * n;
            double most = -INFINITY, sum = 0;
            for (size_t j = 0; j < n; j++)
                most = fmax(most, row[j]);
            for (size_t j = 0; j < n; j++)
                sum += exp(row[j] - most);
            double want = exp(x[i] - most) / sum;
            near_enough("softmax", i, y[i], want, 2e-6 * want + 1e-30);
        }
        guard_free(x, bytes);
        guard_free(y, bytes);
    }
}

void test_argmax(void **state)
{
    const struct tables *tables = *state;
    for (size_t w = 0; w < WIDTHS; w++) {
        size_t n = widths[w], bytes = n * sizeof(float);
        float *x = guard_new(bytes);
        for (size_t c = 0; c < 30; c++) {
            int32_t got = -1, want = -1;
            for (size_t i = 0; i < n; i++)
                x[i] = c == 0 ? -INFINITY : c == 1 ? NAN : (float)random_below(4); /* many equals */
            if (c % 3 == 2)
                x[random_below((uint32_t)n)] = NAN;
            const struct sdk_tensor in = {.planes = {x}, .rows = 1, .width = n};
            struct sdk_tensor out = {.planes = {&got}};
            struct sdk_call call = {.inputs = {&in}, .outputs = {&out}};
            tables->kernels.part[CPU_PART_ARGMAX](&call, 0, 1);
            out.planes[0] = &want;
            tables->twins.part[CPU_PART_ARGMAX](&call, 0, 1);
            assert_int_equal(got, want);
            for (size_t i = 0; i < n; i++)
                assert_false(x[i] > x[got] || (x[i] == x[got] && (int32_t)i < got));
        }
        guard_free(x, bytes);
    }
}

static void rotary_case(const struct cpu_kernels *kernels, size_t size, size_t pairs, uint32_t pairing, int in_place)
{
    enum { TOKENS = 3, HEADS = 2 };
    static const int32_t position[TOKENS] = {0, 5, 4000};
    size_t count = TOKENS * HEADS * size, bytes = count * sizeof(float);
    float *x = guard_new(bytes), *y = guard_new(bytes), *frequency = guard_new(pairs * sizeof(float));
    random_fill(x, count);
    for (size_t i = 0; i < pairs; i++)
        frequency[i] = powf(10000, -(float)i / (float)pairs);
    if (in_place)
        memcpy(y, x, bytes);
    const struct accel_rotary attributes = {.size = sizeof(attributes), .pairing = pairing, .scale = 1.25f};
    struct sdk_tensor in = {.planes = {in_place ? y : x}, .dims = {1, HEADS, size}}, out = {.planes = {y}};
    const struct sdk_tensor at = {.planes = {(void *)(uintptr_t)position}};
    const struct sdk_tensor by = {.planes = {frequency}, .width = pairs};
    const struct sdk_call call = {.inputs = {&in, &at, &by}, .outputs = {&out}, .attributes = &attributes};
    kernels->part[CPU_PART_ROTARY](&call, 0, size); /* a head of the only token */
    kernels->part[CPU_PART_ROTARY](&call, size, HEADS * size);
    in.dims[0] = TOKENS;
    kernels->part[CPU_PART_ROTARY](&call, 1, TOKENS);
    for (size_t i = 0; i < count; i++) {
        size_t within = i % size, pair = pairing == ACCEL_PAIR_HALVES ? within % pairs : within / 2;
        size_t second = pairing == ACCEL_PAIR_HALVES ? within >= pairs : within % 2,
               apart = pairing == ACCEL_PAIR_HALVES ? pairs : 1;
        if (within >= 2 * pairs) {
            near_enough("rotary, passed", i, y[i], x[i], 0);
            continue;
        }
        float angle = (float)position[i / (HEADS * size)] * frequency[pair];
        double c = cos(angle) * 1.25, s = sin(angle) * 1.25;
        double want = second ? x[i] * c + x[i - apart] * s : x[i] * c - x[i + apart] * s;
        near_enough("rotary", i, y[i], want, 1e-5);
    }
    guard_free(x, bytes);
    guard_free(y, bytes);
    guard_free(frequency, pairs * sizeof(float));
}

void test_rotary(void **state)
{
    const struct tables *tables = *state;
    static const size_t sizes[] = {2, 8, 18, 64, 80, 128, 192};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (uint32_t c = 0; c < 4; c++) {
            rotary_case(&tables->kernels, sizes[s], sizes[s] / 2, c % 2, c / 2 == 1);
            if (sizes[s] > 8)
                rotary_case(&tables->kernels, sizes[s], sizes[s] / 4, c % 2, c / 2 == 1);
        }
    }
}

/* Over the whole range: relative error where the function is large, absolute near its zeros. */
void test_functions(void **state)
{
    const struct tables *tables = *state;
    enum { COUNT = 4003 };
    float *x = guard_new(COUNT * sizeof(float)), *y = guard_new(COUNT * sizeof(float));
    for (size_t i = 0; i < COUNT; i++)
        x[i] = i % 4 == 0 ? random_float() * 0.1f : i % 4 == 1 ? random_float() * 100 : random_float() * 8;
    memcpy(x, (float[]){0, -0.0f, 1e-30f, -1e-30f, 88, -88, 150, -150, 0.625f, 4}, 10 * sizeof(float));
    for (uint32_t f = 0; f < ACCEL_FN_END; f++) {
        tables->kernels.activation(f, x, y, 0, 5);
        tables->kernels.activation(f, x, y, 5, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            double want = function_value(f, x[i]);
            double limit =
                f == ACCEL_FN_NONE || f == ACCEL_FN_RELU ? 0 : 1e-6 * fabs(want) + 5e-7 * fmin(1, fabs(x[i])) + 1e-37;
            if (f == ACCEL_FN_GELU || f == ACCEL_FN_GELU_TANH)
                limit = fmax(limit, 4e-7 * fabs(x[i]));
            near_enough("function", i, y[i], want, limit);
        }
    }
    memcpy(x, (float[]){NAN, INFINITY, -INFINITY}, 3 * sizeof(float));
    tables->kernels.activation(ACCEL_FN_TANH, x, y, 0, 3);
    assert_true(isnan(y[0]) && y[1] == 1 && y[2] == -1);
    tables->kernels.activation(ACCEL_FN_SIGMOID, x, y, 0, 3);
    assert_true(isnan(y[0]) && y[1] == 1 && y[2] == 0);
    guard_free(x, COUNT * sizeof(float));
    guard_free(y, COUNT * sizeof(float));
}

void test_gate(void **state)
{
    const struct tables *tables = *state;
    for (size_t w = 0; w < WIDTHS; w++) {
        size_t n = widths[w], bytes = n * sizeof(float);
        float *gate = guard_new(bytes), *up = guard_new(bytes), *y = guard_new(bytes);
        for (uint32_t f = 0; f < ACCEL_FN_END; f++) {
            random_fill(gate, n);
            random_fill(up, n);
            tables->kernels.gate(f, gate, up, y, 0, n / 2);
            tables->kernels.gate(f, gate, up, y, n / 2, n);
            for (size_t i = 0; i < n; i++) {
                double want = function_value(f, gate[i]) * up[i];
                near_enough("gate", i, y[i], want, 1e-6 * fabs(want) + 1e-6 * fabs(gate[i] * up[i]) + 1e-37);
            }
            /* Over the first input. */
            tables->kernels.gate(f, gate, up, gate, 0, n);
            for (size_t i = 0; i < n; i++)
                near_enough("gate in place", i, gate[i], y[i], 1e-6 * fabs(y[i]) + 1e-30);
        }
        guard_free(gate, bytes);
        guard_free(up, bytes);
        guard_free(y, bytes);
    }
}

void test_binary(void **state)
{
    const struct tables *tables = *state;
    for (size_t w = 0; w < WIDTHS; w++) {
        size_t period = widths[w], n = 3 * period, begin = random_below((uint32_t)n);
        float *a = guard_new(n * sizeof(float)), *b = guard_new(period * sizeof(float)),
              *y = guard_new(n * sizeof(float));
        random_fill(a, n);
        random_fill(b, period);
        const struct sdk_tensor first = {.planes = {a}, .rows = 3, .width = period};
        const struct sdk_tensor second = {.planes = {b}, .rows = 1, .width = period};
        struct sdk_tensor out = {.planes = {y}, .rows = 3, .width = period};
        const struct sdk_call call = {.inputs = {&first, &second}, .outputs = {&out}};
        tables->kernels.part[CPU_PART_ADD](&call, 0, begin);
        tables->kernels.part[CPU_PART_ADD](&call, begin, n);
        for (size_t i = 0; i < n; i++)
            assert_true(y[i] == a[i] + b[i % period]);
        tables->kernels.part[CPU_PART_MUL](&call, 0, begin);
        tables->kernels.part[CPU_PART_MUL](&call, begin, n);
        for (size_t i = 0; i < n; i++)
            assert_true(y[i] == a[i] * b[i % period]);
        guard_free(a, n * sizeof(float));
        guard_free(b, period * sizeof(float));
        guard_free(y, n * sizeof(float));
    }
}

void test_cache_write(void **state)
{
    const struct tables *tables = *state;
    enum { TOKENS = 4, SLOTS = 6 };
    static const int32_t slot[TOKENS] = {5, -1, 0, 3};
    for (size_t w = 0; w < WIDTHS; w++) {
        size_t row = widths[w];
        float *x = guard_new(TOKENS * row * sizeof(float));
        float *wide = guard_new(SLOTS * row * sizeof(float));
        uint16_t *half = guard_new(SLOTS * row * sizeof(uint16_t));
        random_fill(x, TOKENS * row);
        x[0] = 1e-7f;
        const struct cpu_cache wides = {.data = wide, .type = ACCEL_F32, .row = row, .stride = row * sizeof(float)};
        const struct cpu_cache halves = {.data = half, .type = ACCEL_F16, .row = row, .stride = row * sizeof(uint16_t)};
        tables->kernels.cache_write(x, slot, &wides, 0, TOKENS);
        tables->kernels.cache_write(x, slot, &halves, 0, 2);
        tables->kernels.cache_write(x, slot, &halves, 2, TOKENS);
        for (size_t i = 0; i < SLOTS * row; i++) {
            size_t s = i / row, token = s == 5 ? 0 : s == 0 ? 2 : s == 3 ? 3 : TOKENS;
            uint32_t bits = token < TOKENS ? accel_f32_bits(x[token * row + i % row]) : 0xa5a5a5a5u;
            assert_int_equal(accel_f32_bits(wide[i]), bits);
            assert_int_equal(half[i], token < TOKENS ? accel_f16_from_f32(x[token * row + i % row]) : 0xa5a5u);
        }
        guard_free(x, TOKENS * row * sizeof(float));
        guard_free(wide, SLOTS * row * sizeof(float));
        guard_free(half, SLOTS * row * sizeof(uint16_t));
    }
}

/* Writes to 4- and 8-bit caches: nearest codes under the scale of the extreme element, and nothing beside the slots. */
void test_cache_write_planar(void **state)
{
    const struct tables *tables = *state;
    enum { TOKENS = 4, SLOTS = 6, ROW = 256 };
    static const int32_t slot[TOKENS] = {5, -1, 0, 3};
    for (uint32_t c = 0; c < 6; c++) {
        const uint32_t type = ACCEL_PLANAR(c < 3 ? 4u : 8u, 5u + c % 3, ACCEL_SCHEME_SYMMETRIC);
        struct cpu_cache cache = {.type = type, .row = ROW, .stride = cpu_cache_stride(type, ROW)};
        unsigned char *bytes = guard_new(SLOTS * cache.stride);
        float x[TOKENS * ROW], again[ROW];
        cache.data = bytes;
        random_fill(x, TOKENS * ROW);
        memset(x, 0, 32 * sizeof(float));
        tables->kernels.cache_write(x, slot, &cache, 0, 3);
        tables->kernels.cache_write(x, slot, &cache, 3, TOKENS);
        for (size_t s = 0; s < SLOTS; s++) {
            const size_t token = s == 5 ? 0 : s == 0 ? 2 : 3, group = (size_t)1 << (5 + c % 3);
            const void *planes[4] = {bytes + s * cache.stride, cpu_cache_scales(&cache, s, 0)};
            if (s != 5 && s != 0 && s != 3) {
                for (size_t i = 0; i < cache.stride; i++)
                    assert_int_equal(bytes[s * cache.stride + i], 0xa5);
                continue;
            }
            assert_int_equal(accel_format_decode(type, planes, ROW, again), ACCEL_OK);
            for (size_t i = 0; i < ROW; i++) {
                float most = 0;
                for (size_t j = i / group * group; j < (i / group + 1) * group; j++)
                    most = fmaxf(most, fabsf(x[token * ROW + j]));
                /* Half a code, or, at the far end of 4 bits, a whole one. */
                if (fabsf(again[i] - x[token * ROW + i]) > most * (c < 3 ? 0.1255f : 0.00395f))
                    fail_msg("type %x, slot %zu, element %zu: %g, not %g", type, s, i, again[i], x[token * ROW + i]);
            }
        }
        guard_free(bytes, SLOTS * cache.stride);
    }
}
