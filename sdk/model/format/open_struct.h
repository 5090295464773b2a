/* SPDX-License-Identifier: Apache-2.0 */
/* Open structs of callers: their members are read and written only as far as their size says. Any thread. */
#ifndef ACCEL_SDK_MODEL_FORMAT_OPEN_STRUCT_H
#define ACCEL_SDK_MODEL_FORMAT_OPEN_STRUCT_H

#include <accel/error.h>
#include <stddef.h>
#include <stdint.h>

/* Copies an open struct of a caller: `minimum` bytes have to be there, `known` are copied (the rest of them zeroed),
 * and what lies past them has to be zero. `what` is its tag. */
int32_t open_struct_take(const void *given, size_t minimum, size_t known, const char *what, void *out_copy,
                         struct accel_error *error);
/* Fills in a caller's open struct after its size, no further than that size. `filled` has `known` bytes. */
void open_struct_give(void *out, const void *filled, size_t known);

#endif
