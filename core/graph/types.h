/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What the ids of accel/types.h mean in bytes: all that shapes and memory plans need. How the bits of a format lie is
 * none of the core's business; a test holds this table against the registry of formats in accel/quant. Pure functions.
 */
#ifndef ACCEL_CORE_GRAPH_TYPES_H
#define ACCEL_CORE_GRAPH_TYPES_H

#include <accel/types.h>
#include <stdbool.h>
#include <stdint.h>

/* Classes of types, as bits: operators say with them what they take. */
#define ACCEL_CLASS_F32 1u   /**< F32 */
#define ACCEL_CLASS_HALF 2u  /**< F16, BF16 */
#define ACCEL_CLASS_I32 4u   /**< I32 */
#define ACCEL_CLASS_BLOCK 8u /**< every format with blocks */
#define ACCEL_CLASS_REST 16u /**< scalars that no operator computes with */

/** Planes that a type has at most. */
#define ACCEL_TYPE_PLANES 3u

/** Bytes of a type. A row is a whole number of blocks. */
struct accel_type_layout {
    uint32_t block_values;                   /**< 1 for scalars */
    uint32_t planes;                         /**< 1 for scalars and interleaved formats */
    uint32_t type_class;                     /**< one of ACCEL_CLASS_... */
    uint32_t plane_bytes[ACCEL_TYPE_PLANES]; /**< of a block in each plane */
    uint32_t row_bytes[ACCEL_TYPE_PLANES];   /**< of a row in each plane, beside those of its blocks */
};

/** Fills the layout; false and nothing written for an id without a meaning. */
bool accel_type_describe(uint32_t type, struct accel_type_layout *out_layout);

/**
 * Bytes of `rows` rows of `width` values in one plane; false where a row is no whole number of blocks, where the type
 * lacks the plane, and where the bytes do not fit.
 */
bool accel_type_plane_bytes(const struct accel_type_layout *layout, uint32_t plane, uint64_t rows, uint64_t width,
                            uint64_t *out_bytes);

/** The same of all planes together. */
bool accel_type_bytes(const struct accel_type_layout *layout, uint64_t rows, uint64_t width, uint64_t *out_bytes);

/** Bytes of a name of a type, its zero byte included. */
#define ACCEL_TYPE_TEXT 24u

/** Writes the name of a type for messages: "f32", "q4_0", "q4_g128", or "type 0x77" for an unknown one; returns it. */
const char *accel_type_text(uint32_t type, char text[ACCEL_TYPE_TEXT]);

#endif
