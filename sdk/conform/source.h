/* SPDX-License-Identifier: Apache-2.0 */
/** @file Serves tensors as a source of weights. Reads past the end of a tensor are refused, which fails the
 * driver's call. */
#ifndef ACCEL_SDK_CONFORM_SOURCE_H
#define ACCEL_SDK_CONFORM_SOURCE_H

#include "sdk/conform/tensor.h"

/** The first member of each struct that owns such tensors. */
struct conform_source {
    struct accel_source table; /**< first member: callbacks receive its address */
    /** Returns the tensor of a key, or NULL. */
    const struct conform_tensor *(*find)(const struct conform_source *source, const char *key);
};

void conform_source_init(struct conform_source *source,
                         const struct conform_tensor *(*find)(const struct conform_source *source, const char *key));

#endif
