/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Evaluation: evidence, the machine and doctor.yaml become rows. Pure: nothing is looked at here, so that recorded
 * evidence gives the rows that it would have given there. The profiles, and what the environment sets of them, are
 * those of this process, as they are for plans.
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

/** A piece of hardware that is judged. */
struct accel_doctor_subject {
    const struct accel_hardware *hardware;
    uint32_t index;   /**< of it in the context */
    uint32_t worst;   /**< highest state that a fault may have here: ACCEL_DOCTOR_WARN or BAD */
    const char *name; /**< for people, with its address */
};

/** Rows of what doctor.yaml says that the subject needs of the system. False: without something it cannot be used. */
bool accel_doctor_judge_needs(struct accel_doctor_case *doctor, const struct accel_doctor_subject *subject,
                              const struct accel_doctor_entry *entry);

/** Formats into the arena; "" without memory, and `failed` is set. */
const char *accel_doctor_text(struct accel_doctor_case *doctor, const char *format, ...) ACCEL_PRINTF(2, 3);

/** The words with " or " between them, as accel_doctor_text. */
const char *accel_doctor_join(struct accel_doctor_case *doctor, const struct accel_doctor_words *words);

/** Adds a copy of a row. Strings are borrowed from the arena or const; NULL becomes "", hardware is taken as given. */
void accel_doctor_say(struct accel_doctor_case *doctor, const struct accel_doctor_row *row);

#endif
