/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the loss of each matrix in each candidate type, as menus for a budget (budget.h).
 *
 * Error: SAMPLE evenly spaced rows are encoded as the run encodes them, and compared with their original values:
 * e^2 = sum of p[i] (v' - v)^2 over sum of p[i] v^2, with p = E[x^2] of the calibrated input, or 1 without.
 *
 * Loss: e^2 (1 + 10 e^2) times a weight of the tensor, so that losses add up to a divergence. Measured on two models
 * (30 layers of 576 values, and 5 of 64; one tensor, one role and one layer at a time, divergence by eval.h): the
 * divergence of one tensor is proportional to e^2 from 4 down to 2 bits. Small divergences of several tensors add up;
 * all tensors together reach 1.2 times their sum at 4 bits, 1.5 at 3 and 2.5 at 2, which the second term models. e^2
 * alone hardly ranks tensors (correlation of logarithms 0.5 and -0.2; with p = 1 -0.1 in both), nor do the energy of
 * the error and the number of values. With a weight for each role, single tensors still deviate by a factor of 1.9 and
 * 1.4 (standard deviation), but the weights differ by up to 7 between the two models, and an additional weight for each
 * layer does not help: single tensors dominate, such as the last layer's down. Therefore:
 *  - with calibration, the weight of each tensor is measured: the divergence over PROBE_LEAST to PROBE_MOST tokens
 *    with that matrix in about 3 bits, divided by its e^2 there. This runs these tokens once per matrix, and reports
 *    progress.
 *  - without calibration, the weight is that of the role in a table, which was fitted to both models; it is larger in
 *    the first two layers and the last one.
 *
 * Results at the bytes of one type for all, on texts that are not part of the calibration (divergence in nats, one type
 * and mix): 30 layers, q3_g64 with importance 1.16 and 0.94; 5 layers, with search and with error compensation q3_g64
 * 0.55 and 0.53, 0.45 and 0.40; q3_g32a 0.47 and 0.19, 0.31 and 0.14; q4_g64 0.123 and 0.099, 0.099 and 0.070.
 */
#ifndef ACCEL_CONVERT_QUANTIZE_SENSITIVITY_H
#define ACCEL_CONVERT_QUANTIZE_SENSITIVITY_H

#include "convert/quantize/budget.h"
#include "convert/quantize/choose.h"
#include "convert/quantize/statistics.h"

/* Makes job->menus. `statistics` may be NULL. Uses the job's threads. ACCEL_E_UNSUPPORTED, ACCEL_E_INVALID: a candidate
 * is no type that can be written; as quantize_probe_run; as reading of the file. */
int32_t quantize_sensitivity(struct accel_quantize_job *job, const struct quantize_rules *rules,
                             const struct quantize_statistics *statistics, struct accel_error *error);

#endif
