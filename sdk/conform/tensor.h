/* SPDX-License-Identifier: Apache-2.0 */
/** @file A random matrix of any type, with the values that the format registry decodes from it. */
#ifndef ACCEL_SDK_CONFORM_TENSOR_H
#define ACCEL_SDK_CONFORM_TENSOR_H

#include <accel/quant/format.h>

#include "sdk/conform/conform.h"
#include "sdk/conform/list.h"

/** Distinct rows of one tensor: a prime, so that tiles and groups of rows do not all hold identical rows. */
#define CONFORM_DISTINCT 61u

/** Rows of `width` values. The creator owns the tensor. A plane ends at a guard page, with at most 63 bytes
 * between. */
struct conform_tensor {
    struct accel_format format;
    uint64_t rows;
    uint64_t width;
    void *planes[ACCEL_FORMAT_PLANES];
    uint64_t bytes[ACCEL_FORMAT_PLANES];
    float *exact; /**< [rows, width]; of a tall tensor only the distinct rows */
};

/** Fills a tensor with values in -1 .. 1, rounded to the type. Large tensors repeat rows, since rounding is slow. */
void conform_tensor_make(struct conform *conform, uint32_t type, uint64_t rows, uint64_t width,
                         struct conform_tensor *tensor);
/** Fills a tall tensor, which stores only the values of the first CONFORM_DISTINCT rows: row r equals row r %
 * DISTINCT. */
void conform_tensor_make_tall(struct conform *conform, uint32_t type, uint64_t rows, uint64_t width,
                              struct conform_tensor *tensor);
/** Write-protects the planes: a write to them ends the process. */
void conform_tensor_protect(const struct conform_tensor *tensor);
void conform_tensor_free(struct conform_tensor *tensor);

/** Adds a test GROUP/TYPE for each weight type, whose parameter is the type. */
void conform_add_types(struct conform_list *list, const char *group, void (*run)(struct conform *conform));

/** Returns the least width that is a whole number of blocks of the type. */
uint64_t conform_block(uint32_t type);

#endif
