/* SPDX-License-Identifier: Apache-2.0 */
/** @file Shared by the files of this room: the table of the context's profiles. */
#ifndef ACCEL_CORE_DOCTOR_DOCTOR_H
#define ACCEL_CORE_DOCTOR_DOCTOR_H

#include "core/device/context.h"
#include "core/doctor/table.h"

/** Reads doctor.yaml from the profiles of the context into the arena. */
int32_t accel_doctor_open_table(const struct accel_context *context, struct accel_arena *arena,
                                struct accel_doctor_table *out_table, struct accel_error *error);

#endif
