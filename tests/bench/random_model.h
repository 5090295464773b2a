/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GGUF file of a llama-type model with random weights, for benchmarks and tests that need a size and not a sense.
 * The rows of a matrix are taken from a pool of normal numbers at changing places, so that writing is fast. The
 * vocabulary is of the SentencePiece kind, with byte tokens; the context is 2048. The same arguments give the same
 * file.
 */
#ifndef TESTS_BENCH_RANDOM_MODEL_H
#define TESTS_BENCH_RANDOM_MODEL_H

#include <stdint.h>

struct random_model {
    uint64_t layers, hidden, ffn;
    uint64_t heads, kv_heads; /* heads divide hidden */
    uint64_t vocabulary;      /* at least 300 */
};

/* Writes matrices of `type` (ACCEL_...), vectors in F32. Answers 0 where the file cannot be opened or closed; ends the
 * program when a write fails. */
int random_model_write(const char *path, const struct random_model *model, uint32_t type);

#endif
