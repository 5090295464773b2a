/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Portable dialect of the kernel texts: it compiles as OpenCL C 1.2 and as GLSL for Vulkan. The two files below define
 * the same macros; a text uses nothing else outside of `#ifdef ACCEL_OPENCL`.
 *
 * A text has, in this order: constants (CONSTANT for those of the pipeline, CONST for derived ones), parameters
 * (PARAMETERS(buffers) ... END_PARAMETERS, read as p.name), buffers (BUFFER_IN, BUFFER_OUT, in the order of their
 * bindings), helpers (FN), local arrays (SHARED), and the kernel: KERNEL IN(...) OUT(...) ENTRY { body }. The arguments
 * repeat the buffers, since OpenCL passes them as arguments and GLSL as globals; SHARED_HERE repeats the local arrays
 * at the start of the body for the same reason. A helper that reads (or writes) a buffer declares (OUT)POINTER(type,
 * name) first (LOCAL_POINTER for a local array), and its caller passes PASS(name); one that reads parameters declares
 * WITH_PARAMETERS after them, and its caller passes PASS(p).
 *
 * HALF_AT(buffer, word, i) and BYTE_AT are element i of the halves (as a float) or bytes that begin at a word; the
 * buffer is one of uint, with BUFFER_PARTS(binding, buffer) behind its BUFFER_IN. They are loads of 16 and 8 bits where
 * the device has them.
 *
 * ATOMIC_ADD(array[i], value) adds to an element of a local array of uint, mul_hi is the high word of a product.
 *
 * Buffers are arrays of words: uint, int or float. The value of binding i begins at word START(i) of its buffer.
 *
 * Vectors of rows: if VEC_ROWS is defined, an item processes VEC rows of a tile of a matrix in vectors vuint and vfloat
 * (8 in OpenCL, 4 in GLSL); otherwise these are scalars and an item has one row. Planes of matrices are buffers of
 * ROW_WORD, read by VLOAD at a multiple of VEC words; LOCAL_LOAD and LOCAL_STORE are the same for local arrays of
 * floats (not if GLSL has VEC_ROWS). DOT4 adds up the products of four signed bytes each, in texts compiled with DOT;
 * with HALVES there is half4, of floats (halves_of) or of the signed bytes of a word (halves_of_bytes).
 *
 * Subgroups: HAS_SUBGROUP implies SUBGROUP_SUM, SUBGROUP_MAX and related macros, on which groups.h is built. A text
 * that includes groups.h has a constant SUBGROUP; 0 disables subgroups.
 */
#include "dialect_glsl.h"
#include "dialect_opencl.h"

/* Common to both. */
#define START(binding) p.start[binding]
#define MOST_NEGATIVE (-3.402823466e38f)

#define FN_NONE 0u
#define FN_RELU 1u
#define FN_GELU 2u
#define FN_GELU_TANH 3u
#define FN_GELU_QUICK 4u
#define FN_SILU 5u
#define FN_SIGMOID 6u
#define FN_TANH 7u
