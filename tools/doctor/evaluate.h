/* SPDX-License-Identifier: Apache-2.0 */
/** @file Computes the rows of the doctor's report from evidence, the description of the machine and doctor.yaml.
 * Nothing here inspects the system, so recorded evidence gives the rows of the machine on which it was recorded.
 * Profiles and environment variables are those of this process, as for plans. */
#ifndef DOCTOR_EVALUATE_H
#define DOCTOR_EVALUATE_H

#include "core/registry/context.h"
#include "tools/doctor/doctor.h"
#include "tools/doctor/evidence.h"
#include "tools/doctor/table.h"

/** One evaluation. */
struct accel_doctor_evaluation {
    const struct accel_context *context;
    const struct accel_doctor_table *table;
    const struct accel_evidence *evidence;
    struct accel_arena *arena; /**< arena of the rows and their strings */
    struct accel_rows rows;    /**< struct accel_doctor_row */
    bool in_container;         /**< the process runs inside a container */
    bool failed;               /**< memory ran out */
};

/** Adds the rows of the system, processors, memory, folders, profiles and plugins. */
void accel_doctor_check_host(struct accel_doctor_evaluation *doctor);

/** Adds the rows of the hardware. */
void accel_doctor_check_hardware(struct accel_doctor_evaluation *doctor);

/** A piece of hardware under evaluation. */
struct accel_doctor_subject {
    const struct accel_hardware *hardware;
    uint32_t index;   /**< index of the hardware in the context */
    uint32_t worst;   /**< most severe state of its rows: ACCEL_DOCTOR_WARN if a driver claims it, else _BAD */
    const char *name; /**< display name, with its PCI address or device-tree node */
};

/** Adds a row for each system requirement that doctor.yaml lists for the subject. Returns false if a mandatory one
 * is not met. */
bool accel_doctor_check_needs(struct accel_doctor_evaluation *doctor, const struct accel_doctor_subject *subject,
                              const struct accel_doctor_entry *entry);

/** Formats a text into the arena. If memory runs out, returns "" and sets `failed`. */
const char *accel_doctor_text(struct accel_doctor_evaluation *doctor, const char *format, ...) ACCEL_PRINTF(2, 3);

/** Joins the words with " or ". Memory as in accel_doctor_text. */
const char *accel_doctor_join(struct accel_doctor_evaluation *doctor, const struct accel_doctor_words *words);

/** Adds a copy of a row. Its strings are not copied: they are constants or lie in the arena. NULL strings become "".
 * The caller sets `hardware`, -1 for none. */
void accel_doctor_add_row(struct accel_doctor_evaluation *doctor, const struct accel_doctor_row *row);

#endif
