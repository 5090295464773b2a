/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The closed set of operators: number, inputs, outputs, attributes and meaning of each.
 *
 * Shapes are outermost first; `...` stands for any leading dimensions, the same in every place of one
 * operator. Activations are F32 and rows are contiguous; gather and reshape take I32 too. Weights of norms, biases and
 * the second input of add and mul are F32, F16 or BF16, and a driver may refuse the latter two. Inputs are listed in
 * the order of the node's `inputs`; one in brackets is optional and may be ACCEL_NO_VALUE. Arithmetic is that of F32
 * with sums in any order, unless an attribute allows rounding.
 *
 * The comment of an operator says "since 0.k": the minor that introduced it, and so the lowest minor of a node
 * that uses it. Numbers are never reused.
 */
#ifndef ACCEL_OPS_H
#define ACCEL_OPS_H

#include <accel/abi.h>

/** Rows of a table. table [rows, width] of any type, ids I32 [n] -> y F32 [n, width]. An id outside of the table is the
 *  caller's mistake and is refused before the step runs where the core sees it; a driver reads row 0. Since 0.1. */
#define ACCEL_OP_EMBED 1u

/** y = activation(x W^T + bias) + residual. x [..., k], W [n, k] of any type, [bias [n]], [residual [..., n]] -> y
 *  [..., n]. Attributes: accel_matmul. Since 0.1. */
#define ACCEL_OP_MATMUL 2u

/** y = x / sqrt(mean(x^2) + epsilon) * weight over the innermost dimension. x [..., n], weight [n] -> y [..., n].
 *  Attributes: accel_norm. Since 0.1. */
#define ACCEL_OP_RMS_NORM 3u

/** y = (x - mean) / sqrt(variance + epsilon) * weight + bias over the innermost dimension, the variance divided by
 *  n. x [..., n], weight [n], [bias [n]] -> y [..., n]. Attributes: accel_norm. Since 0.1. */
#define ACCEL_OP_LAYER_NORM 4u

/** Rotary positions. x [tokens, heads, size], position I32 [tokens], frequency F32 [pairs] -> y like x. Pair i of a
 * head turns by position * frequency[i]; cosine and sine are multiplied by `scale`. Elements past 2 * pairs pass
 *  unchanged. Every scaling of rotary positions is a choice of frequency and scale (models that change them with the
 *  length give frequency as an input). Attributes: accel_rotary. Since 0.1. */
#define ACCEL_OP_ROTARY 5u

/** Stores rows in a state. x [tokens, ...], slot I32 [tokens], state [slots, row] with row = elements of one token of
 *  x. Row t goes to slot[t]; a slot of -1 writes nothing. Into a state of a quantized type rows are rounded, each group
 *  to nearest under the scale of its extreme element. A slot of a planar type holds the planes of its row one after the
 *  other. No output: nodes act on a state in their order.
 *  Since 0.1. */
#define ACCEL_OP_CACHE_WRITE 6u

/** Attention over cached keys and values. q [tokens, heads, size], k state [slots, kv_heads * size], v state [slots,
 *  kv_heads * value_size], table I32 [sequences, pages], first I32 [sequences + 1], length I32 [sequences], [mask I32
 *  [sequences, blocks, words]] -> y [tokens, heads, value_size], [score_sums F32 [sequences, pages * page]].
 *
 *  Rows first[s] .. first[s + 1] - 1 of q are the newest tokens of sequence s, in order; length[s] counts its cached
 *  tokens, these included. Token p of a sequence lies in slot table[s][p / page] * page + p % page. The query at
 *  place p sees keys j <= p when causal, and of these only j > p - window or j < sinks when window is not 0. Scores are
 *  scale * q.k, then softcap * tanh(score / softcap) when softcap is not 0, then softmax. Query head h reads key
 *  head h / (heads / kv_heads). Rows of q that belong to no sequence give rows of any finite value.
 *
 *  The mask narrows what is seen to blocks of `block` places: the query at place p sees key j only where bit
 *  (j / block) % 32 of mask[s][p / block][j / block / 32] is 1. blocks = pages * page / block rounded up, words =
 * blocks / 32 rounded up, pages fixed. A query that sees no key gives zeros. Without a mask `block` is 0.
 *
 *  The second output is made where the node names it: score_sums[s][j] is the sum of the weights (of softmax) that all
 * heads of all rows of sequence s give to its place j, and 0 from length[s] on. Attributes: accel_attention. Since 0.1.
 */
#define ACCEL_OP_ATTENTION 7u

/** y = a + b. a [...], b of the same shape or of a's trailing dimensions (broadcast) -> y [...]. Since 0.1. */
#define ACCEL_OP_ADD 8u

/** y = a * b, shapes as ACCEL_OP_ADD. Since 0.1. */
#define ACCEL_OP_MUL 9u

/** y = function(x), element by element. Attributes: accel_activation. Since 0.1. */
#define ACCEL_OP_ACTIVATION 10u

/** y = function(gate) * up, element by element: gate [...], up [...] -> y [...]. Attributes: accel_activation.
 *  Since 0.1. */
#define ACCEL_OP_GATE 11u

/** y = softmax(x) over the innermost dimension. x [..., n] -> y [..., n]. Since 0.1. */
#define ACCEL_OP_SOFTMAX 12u

/** Chosen rows. x [n, ...], index I32 [m] -> y [m, ...]. An index outside of x is the caller's mistake: a driver reads
 *  row 0. Since 0.1. */
#define ACCEL_OP_GATHER 13u

/** Gives x another shape; elements and their order stay. x -> y. Since 0.1. */
#define ACCEL_OP_RESHAPE 14u

/** Place of the largest element of the innermost dimension, the first of equals. x [..., n] -> y I32 [...], rank at
 *  least 1: a row alone gives [1]. Since 0.1. */
#define ACCEL_OP_ARGMAX 15u

/** One more than the highest operator of this minor. */
#define ACCEL_OP_END 16u

/* Element-wise functions. */
#define ACCEL_FN_NONE 0u       /**< x */
#define ACCEL_FN_RELU 1u       /**< max(x, 0) */
#define ACCEL_FN_GELU 2u       /**< x * (1 + erf(x / sqrt 2)) / 2 */
#define ACCEL_FN_GELU_TANH 3u  /**< x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2 */
#define ACCEL_FN_GELU_QUICK 4u /**< x / (1 + exp(-1.702 x)) */
#define ACCEL_FN_SILU 5u       /**< x / (1 + exp(-x)) */
#define ACCEL_FN_SIGMOID 6u    /**< 1 / (1 + exp(-x)) */
#define ACCEL_FN_TANH 7u       /**< tanh x */
#define ACCEL_FN_END 8u

/** Attributes of ACCEL_OP_MATMUL. Open. */
struct accel_matmul {
    uint32_t size;
    uint32_t function; /**< ACCEL_FN_...: applied after the bias, before the residual is added */
    uint32_t rounding; /**< the coarsest type to which a driver may round x: ACCEL_F32 (none), ACCEL_F16, ACCEL_BF16, or
                            ACCEL_Q8_0 (8 bits, a scale for each 32 or fewer elements) */
    uint32_t zero;
};

/** Attributes of ACCEL_OP_RMS_NORM and ACCEL_OP_LAYER_NORM. Open. */
struct accel_norm {
    uint32_t size;
    float epsilon;
};

/* How rotary pairs lie in a head. */
#define ACCEL_PAIR_HALVES 0u     /**< elements i and i + pairs */
#define ACCEL_PAIR_NEIGHBOURS 1u /**< elements 2i and 2i + 1 */

/** Attributes of ACCEL_OP_ROTARY. Open. */
struct accel_rotary {
    uint32_t size;
    uint32_t pairing; /**< ACCEL_PAIR_... */
    float scale;      /**< 1, or the attention factor of the scaling in use */
    uint32_t zero;
};

/** Attributes of ACCEL_OP_ATTENTION. Open. */
struct accel_attention {
    uint32_t size;
    uint32_t kv_heads;
    uint32_t page;   /**< tokens in a page, at least 1 */
    uint32_t window; /**< tokens visible to a query, itself included; 0: all */
    uint32_t causal; /**< 0 or 1 */
    float scale;
    float softcap;     /**< 0: none */
    uint32_t rounding; /**< over quantized caches: the coarsest type to which a driver may round q, ACCEL_Q8_0 (and the
                            weights of values to 14 bits), ACCEL_F32 or 0: none */
    uint32_t sinks;    /**< with a window: first tokens of a sequence that are seen beside it; 0: none */
    uint32_t block;    /**< with a mask: places that share a bit, as queries and as keys; else 0 */
};

/** Attributes of ACCEL_OP_ACTIVATION and ACCEL_OP_GATE. Open. */
struct accel_activation {
    uint32_t size;
    uint32_t function; /**< ACCEL_FN_... */
};

#endif
