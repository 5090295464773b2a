/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

#define PATTERN 0xa5
#define FRONT 256u

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Bytes of the mapping that holds `bytes` with FRONT before them, without the page that guards it. */
static size_t mapping(size_t bytes)
{
    size_t page = page_size();
    return (bytes + FRONT + page - 1) / page * page;
}

void *guard_new(size_t bytes)
{
    size_t size = mapping(bytes);
    char *memory = mmap(NULL, size + page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory + size, page_size(), PROT_NONE), 0);
    memset(memory, PATTERN, size);
    return memory + size - bytes;
}

void guard_check(void *memory, size_t bytes)
{
    const unsigned char *start = (unsigned char *)memory + bytes - mapping(bytes);
    for (const unsigned char *p = start; p < (unsigned char *)memory; p++) {
        if (*p != PATTERN)
            fail_msg("written %zu bytes before the start", (size_t)((unsigned char *)memory - p));
    }
}

void guard_free(void *memory, size_t bytes)
{
    if (!memory)
        return;
    guard_check(memory, bytes);
    munmap((char *)memory + bytes - mapping(bytes), mapping(bytes) + page_size());
}

static uint64_t seed = 42;

void random_start(uint64_t from)
{
    seed = from;
}

uint32_t random_bits(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
}

uint32_t random_below(uint32_t limit)
{
    return random_bits() % limit;
}

float random_float(void)
{
    return (float)(int32_t)random_bits() * 0x1p-31f;
}

void random_fill(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = random_float() * (random_below(50) == 0 ? 10.0f : 1.0f);
}

void near_enough(const char *what, size_t index, double got, double want, double limit)
{
    if (got == want || fabs(got - want) <= limit)
        return;
    fail_msg("%s, element %zu: %.9g, expected %.9g within %.3g", what, index, got, want, limit);
}

double function_value(uint32_t function, double x)
{
    switch (function) {
    case ACCEL_FN_RELU:
        return x > 0 ? x : 0;
    case ACCEL_FN_GELU:
        return 0.5 * x * (1 + erf(x / sqrt(2)));
    case ACCEL_FN_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case ACCEL_FN_GELU_QUICK:
        return x / (1 + exp(-1.702 * x));
    case ACCEL_FN_SILU:
        return x / (1 + exp(-x));
    case ACCEL_FN_SIGMOID:
        return 1 / (1 + exp(-x));
    case ACCEL_FN_TANH:
        return tanh(x);
    default:
        return x;
    }
}
