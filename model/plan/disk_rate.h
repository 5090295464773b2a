/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the disk of a model that is read while it runs. */
#ifndef ACCEL_MODEL_PLAN_DISK_RATE_H
#define ACCEL_MODEL_PLAN_DISK_RATE_H

#include <accel/model/file.h>

enum { DISK_RATE_TEXT = 200 };

struct disk_rate {
    double bytes;              /* in a second; 0: there is no rate */
    char text[DISK_RATE_TEXT]; /* how it was measured, or why there is none; empty: it was not measured yet */
};

/* Reads pieces of the largest file of a model with direct I/O, which the page cache does not answer. */
void disk_rate_measure(const struct accel_model_file *file, struct disk_rate *out_rate);

#endif
