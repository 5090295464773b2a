/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The closed set of operators. accel/driver/ops.def has a row for each with its number, inputs, outputs and meaning;
 * here are the rules that hold for all of them, and the attributes.
 *
 * Shapes are outermost first; `...` stands for any leading dimensions, the same in every place of one operator.
 * Activations are F32 and rows are contiguous; operators that move elements take I32, F16 and BF16 too. An
 * activation whose row in the table is FLOATS may be F16 or BF16, and an output of its type is so too: elements are
 * widened, arithmetic is that of F32, and the result is rounded to nearest even. A driver claims such nodes one by
 * one; cast is for those that no driver claims. Matrices of embed, matmul, conv and expert_matmul, and states, have any
 * type of accel/types.h that has real values. Weights of norms, biases and the second input of add and mul are F32, F16
 * or BF16, and a driver may refuse the latter two. Inputs are listed in the order of the node's `inputs`; one in
 * brackets is optional and may be ACCEL_NO_VALUE, and so is an output in brackets. Arithmetic is that of F32 with sums
 * in any order, unless an attribute allows rounding.
 *
 * A row names the minor that introduced the operator, the lowest `minor` of a node that uses it. Numbers are never
 * reused.
 */
#ifndef ACCEL_OPS_H
#define ACCEL_OPS_H

#include <accel/abi.h>

/** Numbers of operators, the `op` of a node: ACCEL_OP_EMBED = 1 and so on, and ACCEL_OP_END, one more than the highest
 * of this minor. */
enum {
#define ACCEL_OPERATOR(number, ID, ...) ACCEL_OP_##ID = number,
#include <accel/driver/ops.def>
    ACCEL_OP_END
};

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
    uint32_t rounding; /**< the coarsest type to which a driver may round x: ACCEL_F32 (none), ACCEL_F16, ACCEL_BF16,
                            ACCEL_Q8_0 (8 bits, a scale for each 32 or fewer elements), or ACCEL_Q8_ROW (8 bits, a
                            scale for each row or part of it) */
    uint32_t zero;
};

/** True if x may be rounded to 8 bits with a scale for each 32 elements: `rounding` is that or coarser. */
#define ACCEL_ALLOWS_Q8(rounding) ((rounding) == ACCEL_Q8_0 || (rounding) == ACCEL_Q8_ROW)

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

/** Attributes of ACCEL_OP_SCALE. Open. */
struct accel_scale {
    uint32_t size;
    float scale;
    float add;
    uint32_t zero;
};

/** Attributes of ACCEL_OP_CLAMP. Open. */
struct accel_clamp {
    uint32_t size;
    float low;  /**< -infinity: no limit below */
    float high; /**< at least `low`; infinity: no limit above */
    uint32_t zero;
};

/** Attributes of ACCEL_OP_CONCAT. Open. */
struct accel_axis {
    uint32_t size;
    uint32_t axis; /**< below the rank */
    uint64_t zero;
};

/** Attributes of ACCEL_OP_SLICE. Open. */
struct accel_slice {
    uint32_t size;
    uint32_t axis; /**< below the rank */
    uint64_t begin;
    uint64_t step;   /**< at least 1 */
    uint64_t extent; /**< at least 1; begin + (extent - 1) * step is below the extent of x */
};

/** Attributes of ACCEL_OP_PERMUTE. Open. */
struct accel_permute {
    uint32_t size;
    uint32_t zero;
    uint32_t order[6]; /**< each dimension of x once; 0 past the rank */
};

#define ACCEL_PAD_VALUE 0u  /**< new elements are `value` */
#define ACCEL_PAD_MIRROR 1u /**< elements 1, 2 ... from the end; before and after are below the extent of x */
#define ACCEL_PAD_EDGE 2u   /**< the element at the end */

/** Attributes of ACCEL_OP_PAD. Open. */
struct accel_pad {
    uint32_t size;
    uint32_t axis; /**< below the rank; fixed for ACCEL_PAD_MIRROR */
    uint32_t mode; /**< ACCEL_PAD_... */
    float value;   /**< for ACCEL_PAD_VALUE, else 0 */
    uint64_t before;
    uint64_t after;
};

#define ACCEL_REDUCE_SUM 0u
#define ACCEL_REDUCE_MEAN 1u
#define ACCEL_REDUCE_MAX 2u

/** Attributes of ACCEL_OP_REDUCE. Open. */
struct accel_reduce {
    uint32_t size;
    uint32_t kind; /**< ACCEL_REDUCE_... */
    uint32_t zero;
    uint32_t axis; /**< below the rank; 0 with segments */
};

/** Attributes of ACCEL_OP_GROUP_NORM. Open. */
struct accel_group_norm {
    uint32_t size;
    uint32_t groups; /**< divides the channels */
    float epsilon;
    uint32_t zero;
};

/** Attributes of ACCEL_OP_CONV. Open. Pairs are of height and width; a convolution over one place has its own in [1],
 * and a kernel, stride and dilation of 1 and no padding in [0]. */
struct accel_conv {
    uint32_t size;
    uint32_t groups; /**< divides channels and outputs */
    uint32_t kernel[2];
    uint32_t stride[2];
    uint32_t dilation[2];
    uint32_t before[2]; /**< places of zeros before x */
    uint32_t after[2];  /**< and behind it */
    uint32_t function;  /**< ACCEL_FN_...: applied after the bias */
    uint32_t rounding;  /**< as in accel_matmul */
    uint32_t zero;
    uint32_t transposed; /**< 0 or 1 */
};

#define ACCEL_POOL_MAX 0u
#define ACCEL_POOL_AVERAGE 1u

/** Attributes of ACCEL_OP_POOL. Open. Pairs as in accel_conv. */
struct accel_pool {
    uint32_t size;
    uint32_t kind; /**< ACCEL_POOL_... */
    uint32_t kernel[2];
    uint32_t stride[2];
    uint32_t before[2]; /**< below the kernel */
    uint32_t after[2];  /**< below the kernel */
    uint32_t zero;
    uint32_t count_outside; /**< 0 or 1, 0 for maxima */
};

#define ACCEL_RESIZE_NEAREST 0u
#define ACCEL_RESIZE_LINEAR 1u
#define ACCEL_RESIZE_CUBIC 2u

/** Attributes of ACCEL_OP_RESIZE. Open. */
struct accel_resize {
    uint32_t size;
    uint32_t mode;      /**< ACCEL_RESIZE_... */
    uint32_t extent[2]; /**< height and width of y; [0] is 1 for one place */
    uint32_t zero;
    uint32_t align_corners; /**< 0 or 1, 0 for the nearest place */
};

/** Attributes of ACCEL_OP_TOP_K. Open. */
struct accel_top_k {
    uint32_t size;
    uint32_t k; /**< 1 .. n */
};

/** Attributes of ACCEL_OP_CAST. Open. */
struct accel_cast {
    uint32_t size;
    uint32_t type; /**< of y: ACCEL_F32, ACCEL_F16, ACCEL_BF16 or ACCEL_I32 */
};

/** Attributes of ACCEL_OP_EXPERT_MATMUL. Open. */
struct accel_expert_matmul {
    uint32_t size;
    uint32_t function; /**< ACCEL_FN_...: applied after the bias */
    uint32_t rounding; /**< as in accel_matmul */
    uint32_t experts;  /**< divides the rows of W */
};

/** Attributes of ACCEL_OP_DENSE_ATTENTION. Open. */
struct accel_dense_attention {
    uint32_t size;
    uint32_t causal; /**< 0 or 1 */
    float scale;
    float softcap;   /**< 0: none */
    uint32_t before; /**< window to earlier keys, the query's own place included; 0: all */
    uint32_t after;  /**< window to later keys, the query's own place included; 0: all */
    uint32_t zero;
    uint32_t center; /**< place of `relative` that keys at the place of the query have */
};

#endif
