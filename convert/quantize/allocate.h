/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns types to all tensors, by rules and budget, and lays the file out. */
#ifndef ACCEL_CONVERT_QUANTIZE_ALLOCATE_H
#define ACCEL_CONVERT_QUANTIZE_ALLOCATE_H

#include "convert/quantize/choose.h"

/* Fills rows, formats, tensors, layout and header of the job, and menus and types of a budget. ACCEL_E_LIMIT, with the
 * smallest possible size, if the budget is too small; else as quantize_sensitivity and as layouts. */
int32_t quantize_allocate(struct accel_quantize_job *job, const struct quantize_rules *rules,
                          struct accel_error *error);

#endif
