/* SPDX-License-Identifier: Apache-2.0 */
/* From rules to a file that is laid out: a budget's types are chosen, and the header is made. */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_ALLOCATE_H
#define ACCEL_SDK_MODEL_QUANTIZE_ALLOCATE_H

#include "sdk/model/quantize/choose.h"

/* Fills rows, formats, tensors, layout and header of the job, and menus and types of a budget. ACCEL_E_LIMIT with the
 * least that is possible where the budget is too small; else as quantize_sensitivity and as layouts. */
int32_t quantize_allocate(struct accel_quantize_job *job, const struct quantize_rules *rules,
                          struct accel_error *error);

#endif
