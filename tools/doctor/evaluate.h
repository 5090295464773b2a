/* SPDX-License-Identifier: Apache-2.0 */
/** @file Evaluates evidence, the machine and doctor.yaml into rows. Pure: nothing here inspects the system, so
 * recorded evidence gives the rows of the machine that it was recorded on. Profiles, and the settings of the
 * environment, are those of this process, as for plans. */
#ifndef DOCTOR_EVALUATE_H
#define DOCTOR_EVALUATE_H

#include "core/registry/context.h"
#include "core/snapshot/evidence.h"
#include "tools/doctor/doctor.h"
#include "tools/doctor/table.h"

/** One evaluation. */
struct accel_doctor_case {
    const struct accel_context *context;
    const struct accel_doctor_table *table;
    const struct accel_evidence *evidence;
    struct accel_arena *arena; /**< arena of the rows and their strings */
    struct accel_rows rows;    /**< struct accel_doctor_row */
    bool contained;            /**< the process runs inside a container */
    bool failed;               /**< memory ran out */
};

/** Adds the rows of the system, processors, memory, folders, profiles and plugins. */
void accel_doctor_judge_host(struct accel_doctor_case *doctor);

/** Adds the rows of the hardware. */
void accel_doctor_judge_hardware(struct accel_doctor_case *doctor);

/** A piece of hardware under evaluation. */
struct accel_doctor_subject {
    const struct accel_hardware *hardware;
    uint32_t index;   /**< index of the hardware in the context */
    uint32_t worst;   /**< highest state of a fault of this hardware: ACCEL_DOCTOR_WARN or BAD */
    const char *name; /**< for people, with its address */
};

/** Adds a row for each system requirement that doctor.yaml lists for the subject. Returns false if a mandatory one
 * is not met. */
bool accel_doctor_judge_needs(struct accel_doctor_case *doctor, const struct accel_doctor_subject *subject,
                              const struct accel_doctor_entry *entry);

/** Formats into the arena; "" if memory runs out, and `failed` is set. */
const char *accel_doctor_text(struct accel_doctor_case *doctor, const char *format, ...) ACCEL_PRINTF(2, 3);

/** Joins the words with " or ". Memory as in accel_doctor_text. */
const char *accel_doctor_join(struct accel_doctor_case *doctor, const struct accel_doctor_words *words);

/** Adds a copy of a row. Strings are borrowed: from the arena, or constants. NULL becomes "", and `hardware` stays
 * as the caller set it. */
void accel_doctor_say(struct accel_doctor_case *doctor, const struct accel_doctor_row *row);

#endif
