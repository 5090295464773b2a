/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a recorded plan with one that was made again. */
#ifndef MODEL_PLAN_COMPARE_H
#define MODEL_PLAN_COMPARE_H

#include "model/plan/record.h"

/* Compares all values of the record with the document `now`, except those that differ on another day (doc/plan.md), and
 * changes a bound in `now`.
 * ACCEL_E_REFUSED names the first difference: file, line, member, both values, remedy. */
int32_t plan_compare(const struct plan_record *record, json_t *now, struct accel_error *error);

#endif
