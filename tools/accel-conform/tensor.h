/* SPDX-License-Identifier: Apache-2.0 */
/** @file A matrix of any type with random content, and the numbers that it stands for by the registry of formats. */
#ifndef ACCEL_TOOLS_CONFORM_TENSOR_H
#define ACCEL_TOOLS_CONFORM_TENSOR_H

#include <accel/quant/format.h>

#include "tools/accel-conform/conform.h"

/** Rows of `width` values. Owned by whoever made it. */
struct conform_tensor {
    struct accel_format format;
    uint64_t rows;
    uint64_t width;
    void *planes[ACCEL_FORMAT_PLANES];
    uint64_t bytes[ACCEL_FORMAT_PLANES];
    float *exact; /**< [rows, width] */
};

/** Every type that a weight may have: the scalars F32, F16, BF16, then blocks, then planar ones. NONE past the last. */
uint32_t conform_type(uint32_t index);

/** Fills a tensor: values in -1 .. 1, rounded to the type. Rows repeat where there are many: rounding is slow. */
void conform_tensor_make(struct conform *conform, uint32_t type, uint64_t rows, uint64_t width,
                         struct conform_tensor *tensor);
void conform_tensor_free(struct conform_tensor *tensor);

/** The least width that is a whole number of blocks of the type. */
uint64_t conform_block(uint32_t type);

#endif
