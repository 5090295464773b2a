/* SPDX-License-Identifier: Apache-2.0 */
/* The method of a job, and the text that it is calibrated with. */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_CALIBRATION_H
#define ACCEL_SDK_MODEL_QUANTIZE_CALIBRATION_H

#include "sdk/model/quantize/internal.h"

/* Takes method and calibration out of the options. ACCEL_E_INVALID: a method that needs a calibration has none, or one
 * without context or text; ACCEL_E_UNSUPPORTED: an unknown method. */
int32_t quantize_calibration_read(struct accel_quantize_job *job, const struct accel_quantize_options *options,
                                  struct accel_error *error);

/* A number that changes with method and calibration, where these decide what is written. */
uint64_t quantize_calibration_identity(const struct accel_quantize_job *job, uint64_t seed);

/* Makes job->statistics where they are not there, which runs the text. The job's progress is asked whether to go on.
 * ACCEL_E_INVALID without a calibration; else as quantize_statistics_create. */
int32_t quantize_job_statistics(struct accel_quantize_job *job, struct accel_error *error);

#endif
