/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each matrix would lose in each candidate type, as menus for a budget (budget.h).
 *
 * Error: rows at equal distances, SAMPLE of them, are encoded as the run will encode them, and held against what they
 * were: e^2 = sum of p[i] (v' - v)^2 over sum of p[i] v^2, with p = E[x^2] of the calibrated input, or 1 without.
 *
 * Loss: e^2 (1 + 10 e^2) times a weight of the tensor, so that losses add up to a divergence. Measured on two models
 * (30 layers of 576 values, and 5 of 64; one tensor, one role and one layer at a time, divergence by eval.h): that of
 * one tensor is proportional to e^2 from 4 down to 2 bits. Those of several add up where they are small; all tensors
 * together come to 1.2 times their sum at 4 bits, 1.5 at 3 and 2.5 at 2, which is what the second term is for. e^2
 * alone tells little of their order (correlation of logarithms 0.5 and -0.2; with p = 1 -0.1 in both), the energy of
 * the error and the number of values not more. A weight for each role leaves a factor of 1.9 and 1.4 to a tensor
 * (standard deviation), but these weights differ by up to 7 between the two models, and one for each layer beside it
 * is no better: it is single tensors that matter, as the last layer's down. And so:
 *  - with calibration the weight is measured, tensor by tensor: the divergence over PROBE_LEAST to PROBE_MOST tokens
 *    with that matrix in about 3 bits, divided by its e^2 there. That costs as many runs over these tokens as there are
 *    matrices, and a progress function sees it.
 *  - without, it is that of the role in a table, made of both models, and larger in the first two layers and the last.
 *
 * What came of it, at the bytes of one type for all, on texts that were not calibrated with (divergence in nats, one
 * type and mix): 30 layers, q3_g64 with importance 1.16 and 0.94; 5 layers, with search and with error compensation
 * q3_g64 0.55 and 0.53, 0.45 and 0.40; q3_g32a 0.47 and 0.19, 0.31 and 0.14; q4_g64 0.123 and 0.099, 0.099 and 0.070.
 */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_SENSITIVITY_H
#define ACCEL_SDK_MODEL_QUANTIZE_SENSITIVITY_H

#include "sdk/model/quantize/budget.h"
#include "sdk/model/quantize/choose.h"
#include "sdk/model/quantize/statistics.h"

/* Makes job->menus. `statistics` may be NULL. Uses the job's threads. ACCEL_E_UNSUPPORTED, ACCEL_E_INVALID: a candidate
 * is no type that can be written; as quantize_probe_run; as reading of the file. */
int32_t quantize_sensitivity(struct accel_quantize_job *job, const struct quantize_rules *rules,
                             const struct quantize_statistics *statistics, struct accel_error *error);

#endif
