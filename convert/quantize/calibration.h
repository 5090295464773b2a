/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the method of a job and its calibration text. */
#ifndef ACCEL_CONVERT_QUANTIZE_CALIBRATION_H
#define ACCEL_CONVERT_QUANTIZE_CALIBRATION_H

#include "convert/quantize/internal.h"

/* Reads method and calibration from the options. ACCEL_E_INVALID: the method needs a calibration and has none, or the
 * calibration has no context or text; ACCEL_E_UNSUPPORTED: an unknown method. */
int32_t quantize_calibration_read(struct accel_quantize_job *job, const struct accel_quantize_options *options,
                                  struct accel_error *error);

/* Returns a hash of method and calibration, if these affect the output. */
uint64_t quantize_calibration_identity(const struct accel_quantize_job *job, uint64_t seed);

/* Creates job->statistics unless they exist, by running the text. The job's progress callback can cancel.
 * ACCEL_E_INVALID without a calibration; else as quantize_statistics_create. */
int32_t quantize_job_statistics(struct accel_quantize_job *job, struct accel_error *error);

#endif
