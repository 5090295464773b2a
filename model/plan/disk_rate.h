/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the disk of a model that is read while it runs. */
#ifndef ACCEL_MODEL_PLAN_DISK_RATE_H
#define ACCEL_MODEL_PLAN_DISK_RATE_H

#include <accel/model/file.h>

enum { DISK_RATE_TEXT = 200 };

/* Reads pieces of the largest file of a model with direct I/O, which the page cache does not answer, and returns bytes
 * per second. Returns 0 if there is no rate. `text`: how it was measured, or why there is none. */
double disk_rate_measure(const struct accel_model_file *file, char text[DISK_RATE_TEXT]);

#endif
