/* SPDX-License-Identifier: Apache-2.0 */
/* Converts weights to another type while they are read. */
#ifndef ACCEL_MODEL_SESSION_CONVERT_H
#define ACCEL_MODEL_SESSION_CONVERT_H

#include "model/session/state.h"

/* Converts bytes offset .. offset + bytes of one plane of a tensor to the type of `row`, with the scales of least
 * error. A request for whole rows of plane 0 converts all planes at once and caches the others for the requests that
 * follow; any other request converts its rows again. */
int32_t file_source_convert(const struct file_source *source, const struct weight_type *row, uint32_t plane,
                            uint64_t offset, void *memory, uint64_t bytes, struct accel_error *error);

#endif
