/* SPDX-License-Identifier: Apache-2.0 */
/** @file Sizes of the ids of accel/types.h in bytes, for shapes and memory plans, from accel/quant/formats.def. The
 * core does not know the bit layout of a format; a test compares its answers with the registry of formats in
 * accel/quant. Pure functions. */
#ifndef ACCEL_CORE_GRAPH_TYPES_H
#define ACCEL_CORE_GRAPH_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include <accel/types.h>

/* Classes of types, as bits, that operators accept. */
#define ACCEL_CLASS_F32 1u   /**< F32 */
#define ACCEL_CLASS_HALF 2u  /**< F16, BF16 */
#define ACCEL_CLASS_I32 4u   /**< I32 */
#define ACCEL_CLASS_BLOCK 8u /**< every other format of weights */
#define ACCEL_CLASS_REST 16u /**< scalars without compute operators */

/** Maximum number of planes of a type. */
#define ACCEL_TYPE_PLANES 3u

/** Layout of a type. A row is a whole number of blocks. */
struct accel_type_layout {
    uint32_t block_values;                   /**< 1 for scalars */
    uint32_t planes;                         /**< 1 for scalars and interleaved formats */
    uint32_t type_class;                     /**< one of ACCEL_CLASS_... */
    uint32_t plane_bytes[ACCEL_TYPE_PLANES]; /**< bytes of a block in each plane */
    uint32_t row_bytes[ACCEL_TYPE_PLANES];   /**< bytes of a row in each plane, in addition to those of its blocks */
};

/** Fills the layout; false for an unknown id, and nothing is written. */
bool accel_type_describe(uint32_t type, struct accel_type_layout *out_layout);

/** Computes the bytes of `rows` rows of `width` values in one plane; false if a row is no whole number of blocks,
 * if the type lacks the plane, and on overflow. */
bool accel_type_plane_bytes(const struct accel_type_layout *layout, uint32_t plane, uint64_t rows, uint64_t width,
                            uint64_t *out_bytes);

/** Computes the bytes of all planes together, see accel_type_plane_bytes. */
bool accel_type_bytes(const struct accel_type_layout *layout, uint64_t rows, uint64_t width, uint64_t *out_bytes);

/** Buffer size for the name of a type, with its zero byte. */
#define ACCEL_TYPE_TEXT 24u

/** Writes the name of a type for messages: "f32", "q4_0", "q4_g128", or "type 0x77" for an unknown one; returns it. */
const char *accel_type_text(uint32_t type, char text[ACCEL_TYPE_TEXT]);

#endif
