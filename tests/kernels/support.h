/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the kernels share. One source, several programs: KERNELS_ISA is the ISA that a program tests;
 * ISA 0, scalar, is compared with sums in double, every other ISA with scalar as well.
 */
#ifndef TESTS_KERNELS_SUPPORT_H
#define TESTS_KERNELS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plugins/cpu/kernels/kernels.h"

/* The kernels of the ISA under test, and the scalar reference. */
struct tables {
    struct cpu_kernels kernels;
    struct cpu_kernels twins;
    int is_sampled; /* instructions are emulated and ACCEL_TEST_ALL is not set: a sample of the shapes */
};

/*
 * Memory that ends at a page which may not be touched, so that a read or a write past the end is a fault; what lies
 * before it is filled with a pattern, so that a write there is seen by guard_check.
 */
void *guard_new(size_t bytes);

/* Fails the test when something before the memory was overwritten. */
void guard_check(void *memory, size_t bytes);

/* Frees what guard_new made; checks it too. NULL is accepted. */
void guard_free(void *memory, size_t bytes);

/* Starts the random numbers anew, for a test whose limits hold for the numbers that it draws. */
void random_start(uint64_t from);
/* Random numbers: the same in every run. */
uint32_t random_bits(void);
/* Less than `limit`. */
uint32_t random_below(uint32_t limit);
/* Between -1 and 1. */
float random_float(void);
/* Fills with numbers between -1 and 1, now and then a large one. */
void random_fill(float *values, size_t count);

/* Fails unless |got - want| <= limit (a NaN never passes, equal infinities do). */
void near_enough(const char *what, size_t index, double got, double want, double limit);

/* A function of accel/ops.h in double. */
double function_value(uint32_t function, double x);

/* Tests of one subject each; *state is struct tables. */
void test_matmul(void **state);
void test_matmul8(void **state);
void test_matmul8_rows(void **state);
void test_matmul_few(void **state);
void test_matmul8_few(void **state);
void test_matmul16(void **state);
void test_panels(void **state);
void test_round16(void **state);
void test_matmul_alias(void **state);
void test_embed(void **state);
void test_quantize(void **state);
void test_norms(void **state);
void test_softmax(void **state);
void test_argmax(void **state);
void test_rotary(void **state);
void test_functions(void **state);
void test_gate(void **state);
void test_binary(void **state);
void test_cache_write(void **state);
void test_attention(void **state);
void test_attention_pages(void **state);
void test_attention_sinks(void **state);
void test_attention_eager(void **state);
void test_attention_score_sums(void **state);
void test_attention_blocks(void **state);
void test_attention_f16(void **state);
void test_attention_planar(void **state);
void test_attention_groups(void **state);
void test_cache_write_planar(void **state);

#endif
