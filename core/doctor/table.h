/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * doctor.yaml: what each maker's hardware needs of the system, as a table. All names of makers stand there, none here.
 * The file is documented in profiles/README.md. Everything lies in the arena that it was read with; read-only then.
 */
#ifndef ACCEL_CORE_DOCTOR_TABLE_H
#define ACCEL_CORE_DOCTOR_TABLE_H

#include <accel/driver.h>
#include <accel/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"

/** A list of texts. */
struct accel_doctor_words {
    const char *const *items;
    uint32_t count;
};

/** What kind of thing is needed. */
enum accel_doctor_need_kind {
    DOCTOR_KERNEL, /**< the module of the kernel that drives the function: one of `names` */
    DOCTOR_NODE,   /**< a device node that may be read and written: a path, or a pattern of which one is enough */
    DOCTOR_LIBRARY /**< a library where the loader looks: one of the patterns `names` */
};

/** One need. */
struct accel_doctor_need {
    enum accel_doctor_need_kind kind;
    uint32_t state; /**< ACCEL_DOCTOR_BAD, or WARN where it works without, less well */
    struct accel_doctor_words names;
    struct accel_doctor_words folders; /**< of libraries: where they lie when the loader does not look there */
    struct accel_doctor_words drivers; /**< drivers that need it; none: all */
    const char *least;                 /**< lowest version, or empty */
    const char *remedy;
    const char *container; /**< remedy inside of a container, or empty */
    const char *because;
    const char *place; /**< file:line */
};

/** One kind of hardware. */
struct accel_doctor_entry {
    const char *name;  /**< for people */
    const char *about; /**< what it is where it computes nothing; may be empty */
    const char *because;
    const char *place;
    uint32_t vendor;         /**< of PCI; 0: no PCI function */
    const uint32_t *devices; /**< PCI devices; none: all of the vendor */
    const uint32_t *classes; /**< PCI classes of 16 bits; none: all */
    uint32_t device_count;
    uint32_t class_count;
    struct accel_doctor_words tree;    /**< beginnings of `compatible` in the firmware's tree */
    struct accel_doctor_words drivers; /**< drivers of accel that use it, best first; none: there is none */
    bool computes;                     /**< false: a display adapter or the like */
    const struct accel_doctor_need *needs;
    uint32_t need_count;
};

/** The file. */
struct accel_doctor_table {
    const struct accel_doctor_entry *entries;
    uint32_t count;
};

/** Reads `path`. Errors name file:line:column. */
int32_t accel_doctor_table_read(const char *path, struct accel_arena *arena, struct accel_doctor_table *out_table,
                                struct accel_error *error);

/** The same from memory; `path` is for messages. */
int32_t accel_doctor_table_parse(const char *path, const char *data, size_t bytes, struct accel_arena *arena,
                                 struct accel_doctor_table *out_table, struct accel_error *error);

/** The first entry that knows a piece of hardware, or NULL. */
const struct accel_doctor_entry *accel_doctor_table_find(const struct accel_doctor_table *table,
                                                         const struct accel_hardware *hardware);

#endif
