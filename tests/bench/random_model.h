/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GGUF file of a llama-type model with random weights, for benchmarks and tests that need a size and not a sense.
 * The rows of a matrix are taken from a pool of normal numbers at changing places, so that writing is fast. The
 * vocabulary is of the SentencePiece kind, with byte tokens; the context is 2048. The same arguments give the same
 * file. In a mixture layers add little to the embedding of a token, so that it alone decides which experts are chosen:
 * element 0 of all embeddings is the same, and its weights in a router are the logarithms of the shares.
 *
 * With `factor`, matrices are stored divided by it, and those of experts by it times 1, 2 or 4; NAME.scale has the
 * divisor. A power of two leaves F32 products equal to the bit.
 */
#ifndef TESTS_BENCH_RANDOM_MODEL_H
#define TESTS_BENCH_RANDOM_MODEL_H

#include <stdint.h>

struct random_model {
    uint64_t layers, hidden, ffn;
    uint64_t heads, kv_heads; /* heads divide hidden */
    uint64_t vocabulary;      /* at least 300 */
    uint64_t experts, used;   /* of each layer, and of each token; 0: no mixture */
    double zipf;              /* exponent of how often experts are chosen, in another order in each layer; 0: equally */
    float factor;             /* of matrices but the embedding and routers; 0: none */
};

/* Writes matrices of `type` (ACCEL_...), vectors in F32. Answers 0 where the file cannot be opened or closed; ends the
 * program when a write fails. */
int random_model_write(const char *path, const struct random_model *model, uint32_t type);

#endif
