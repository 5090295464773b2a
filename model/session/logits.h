/* SPDX-License-Identifier: Apache-2.0 */
/* Validates logits, and finds the cause of logits that are not finite. */
#ifndef ACCEL_MODEL_SESSION_LOGITS_H
#define ACCEL_MODEL_SESSION_LOGITS_H

#include <stdbool.h>
#include <stdint.h>

#include <accel/model/session.h>

/* Returns whether a token can be sampled: no logit is NaN or +infinity, and at least one is finite. */
bool logits_are_usable(const float *logits, uint64_t count);

#endif
