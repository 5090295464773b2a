/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Evaluation: evidence, the machine and doctor.yaml become rows. Pure: nothing is looked at here, so that recorded
 * evidence gives the rows that it would have given there.
 */
#ifndef ACCEL_CORE_DOCTOR_EVALUATE_H
#define ACCEL_CORE_DOCTOR_EVALUATE_H

#include <accel/doctor.h>

#include "core/device/context.h"
#include "core/doctor/table.h"
#include "core/snapshot/evidence.h"

/** One evaluation. */
struct accel_doctor_case {
    const struct accel_context *context;
    const struct accel_doctor_table *table;
    const struct accel_evidence *evidence;
    struct accel_arena *arena; /**< of the rows and their strings */
    struct accel_rows rows;    /**< struct accel_doctor_row */
    bool contained;            /**< inside of a container */
    bool failed;               /**< memory ran out */
};

/** Rows of the system, processors, memory, folders, profiles and plugins. */
void accel_doctor_judge_host(struct accel_doctor_case *doctor);

/** Rows of the hardware. */
void accel_doctor_judge_hardware(struct accel_doctor_case *doctor);

/** Formats into the arena; "" without memory, and `failed` is set. */
const char *accel_doctor_text(struct accel_doctor_case *doctor, const char *format, ...) ACCEL_PRINTF(2, 3);

/** Adds a copy of a row. Strings are borrowed from the arena or const; NULL becomes "", hardware is taken as given. */
void accel_doctor_say(struct accel_doctor_case *doctor, const struct accel_doctor_row *row);

#endif
