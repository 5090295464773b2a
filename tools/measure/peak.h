/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the multiply-adds a second of the processors, by sequence of instructions: the operands are in
 * registers, nothing else is in the loop, and enough independent accumulators hide the latency. A processor's
 * sequences are detected at run time. */
#ifndef MEASURE_PEAK_H
#define MEASURE_PEAK_H

#include <stdbool.h>

#include "tools/measure/spread.h"

/* Number format of the products. */
enum measure_kind {
    MEASURE_F32,      /* floats, summed in floats */
    MEASURE_BF16,     /* pairs of bf16, summed in floats */
    MEASURE_INT8,     /* 8 bits with 8 bits, summed in 32 bits in the end */
    MEASURE_INT8_ROW, /* 64 of them in a sum: for x with one scale for a row */
    MEASURE_KINDS
};

struct measure_sequence {
    const char *name;  /* "vpdpbusd zmm" */
    const char *words; /* one line on what it does */
    enum measure_kind kind;
    uint32_t bits;   /* of INT8 and INT8_ROW: the widest unsigned codes for which its sums are exact; else 0 */
    double products; /* multiply-adds of one turn of the loop */
    bool (*is_here)(void);
    void (*run)(uint64_t turns);
};

/* Returns sequence `index` of those that were compiled, supported here or not, or NULL beyond the end. */
const struct measure_sequence *measure_sequence_get(uint32_t index);

/* Measures multiply-adds a second of all threads together, over `rounds` runs of about `seconds` each. Answers 0
 * or an errno. */
int measure_peak(const struct measure_sequence *sequence, uint32_t threads, const int32_t *processors, uint32_t rounds,
                 double seconds, struct measure_spread *out_rate);

#endif
