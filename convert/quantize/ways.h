/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the method of each tensor and prepares its data: importance of columns, or the factor of one input at a time.
 * Tensors without an input, and types without codes to choose, are encoded by search. One thread, except
 * quantize_way_of, which any thread may call between two calls of quantize_ways_prepare.
 */
#ifndef ACCEL_CONVERT_QUANTIZE_WAYS_H
#define ACCEL_CONVERT_QUANTIZE_WAYS_H

#include "convert/quantize/encode.h"
#include "convert/quantize/statistics.h"

struct quantize_ways;

/* Runs the calibration text if a method requires it. The job must outlive the ways. */
int32_t quantize_ways_create(struct accel_quantize_job *job, struct quantize_ways **out_ways,
                             struct accel_error *error);
/* NULL is allowed. */
void quantize_ways_free(struct quantize_ways *ways);

/* Returns the input to prepare for a tensor, or QUANTIZE_NO_INPUT. Increasing order needs the fewest runs of the text.
 */
uint32_t quantize_ways_input(const struct quantize_ways *ways, uint64_t tensor);

/* Computes the factor of a tensor's input, replacing that of another one. */
int32_t quantize_ways_prepare(struct quantize_ways *ways, uint64_t tensor, struct accel_error *error);

void quantize_way_of(const struct quantize_ways *ways, uint64_t tensor, struct quantize_way *out_way);

#endif
