/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which method each tensor is quantized with, and what that needs: importance of columns, or the factor of one input at
 * a time. Tensors without an input, and what has no levels to choose from, are encoded by search.
 *
 * Threads: one, but quantize_way_of, which any thread may call between two calls of quantize_ways_prepare.
 */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_WAYS_H
#define ACCEL_SDK_MODEL_QUANTIZE_WAYS_H

#include "sdk/model/quantize/encode.h"
#include "sdk/model/quantize/statistics.h"

struct quantize_ways;

/* Runs the calibration text where a method needs it. The job outlives the ways. */
int32_t quantize_ways_create(struct accel_quantize_job *job, struct quantize_ways **out_ways,
                             struct accel_error *error);
/* NULL is allowed. */
void quantize_ways_free(struct quantize_ways *ways);

/* The input that has to be prepared for a tensor; QUANTIZE_NO_INPUT: none. Ask in rising order for the least runs of
 * the text. */
uint32_t quantize_ways_input(const struct quantize_ways *ways, uint64_t tensor);

/* Makes the factor of the input of a tensor; that of another is gone. */
int32_t quantize_ways_prepare(struct quantize_ways *ways, uint64_t tensor, struct accel_error *error);

void quantize_way_of(const struct quantize_ways *ways, uint64_t tensor, struct quantize_way *out_way);

#endif
