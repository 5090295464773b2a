/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many multiply-adds a second the processors do, by sequence of instructions: the operands in registers, nothing
 * else in the loop, as many sums side by side as hide the latency. Which sequences a processor has is asked at run
 * time.
 */
#ifndef MEASURE_PEAK_H
#define MEASURE_PEAK_H

#include "tools/measure/spread.h"

/* What is multiplied. */
enum measure_kind {
    MEASURE_F32,  /* floats, summed in floats */
    MEASURE_BF16, /* pairs of bf16, summed in floats */
    MEASURE_INT8, /* 8 bits with 8 bits, summed in 32 bits in the end */
    MEASURE_KINDS
};

struct measure_sequence {
    const char *name;  /* "vpdpbusd zmm" */
    const char *words; /* one line on what it does */
    enum measure_kind kind;
    uint32_t bits;   /* of INT8: the widest unsigned digits for which its sums hold; else 0 */
    double products; /* multiply-adds of one turn of the loop */
    uint32_t (*is_here)(void);
    void (*run)(uint64_t turns);
};

/* Sequence `index` of those that were compiled, here or not, or NULL past the end. */
const struct measure_sequence *measure_sequence_get(uint32_t index);

/* Multiply-adds a second of all threads together, over `rounds` runs of about `seconds` each. Answers 0 or an errno. */
int measure_peak(const struct measure_sequence *sequence, uint32_t ranks, const int32_t *processors, uint32_t rounds,
                 double seconds, struct measure_spread *out_rate);

#endif
