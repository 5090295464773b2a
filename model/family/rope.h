/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes frequencies of rotary positions: pair i is rotated by position * frequency[i]. Every scaling in use is a
 * choice of frequencies (and of the attention factor, which the configuration holds).
 */
#ifndef ACCEL_MODEL_FAMILY_ROPE_H
#define ACCEL_MODEL_FAMILY_ROPE_H

#include <stdbool.h>

#include "model/family/decoder_config.h"

/* Returns whether the frequencies depend on the length of the sequence. */
bool rope_changes(const struct accel_rope_config *rope);

/**
 * Fills rope->dims / 2 frequencies, computed in double. `length` is the length of the sequence after the step that
 * they are for; only ACCEL_ROPE_DYNAMIC and ACCEL_ROPE_LONG use it. `divisors` (dims / 2, or NULL) divide the result.
 *
 * ACCEL_ROPE_DYNAMIC: up to original_context tokens the frequencies are the plain ones; past it they are those of a
 * base that grows with the length. Keys that are cached keep the frequencies of the step that wrote them, as in the
 * reference implementation; so one pass over a long text and the same text token by token differ past original_context.
 * So it is with ACCEL_ROPE_LONG, whose long divisors apply past it.
 */
void rope_frequencies(const struct accel_rope_config *rope, uint64_t length, const float *divisors, float *out);

#endif
