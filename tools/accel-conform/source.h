/* SPDX-License-Identifier: Apache-2.0 */
/** @file Tensors as a source of weights: what is asked past their ends is refused, and so fails the driver's call. */
#ifndef ACCEL_TOOLS_CONFORM_SOURCE_H
#define ACCEL_TOOLS_CONFORM_SOURCE_H

#include "tools/accel-conform/tensor.h"

/** The first member of whoever has the tensors. */
struct conform_source {
    struct accel_source table; /**< first: the driver hands its address back */
    /** The tensor of a key, or NULL. */
    const struct conform_tensor *(*find)(const struct conform_source *source, const char *key);
};

void conform_source_init(struct conform_source *source,
                         const struct conform_tensor *(*find)(const struct conform_source *source, const char *key));

#endif
