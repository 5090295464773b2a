/* SPDX-License-Identifier: Apache-2.0 */
/** @file Reads doctor.yaml: the table of the system requirements of each vendor's hardware. The names of vendors
 * are in that file alone. profiles/README.md documents its format. Everything is in the arena that the caller
 * passes, and read-only after reading. */
#ifndef DOCTOR_TABLE_H
#define DOCTOR_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <accel/driver.h>
#include <accel/error.h>

#include "core/base/arena.h"

/** A list of texts. */
struct accel_doctor_words {
    const char *const *items;
    uint32_t count;
};

/** A list of numbers. */
struct accel_doctor_numbers {
    const uint32_t *items;
    uint32_t count;
};

/** Kind of a requirement. */
enum accel_doctor_need_kind {
    DOCTOR_KERNEL, /**< a kernel module that drives the PCI function: one of `names` */
    DOCTOR_NODE,   /**< a device node that this process can read and write: a path, or a pattern with one match that
                    * suffices */
    DOCTOR_LIBRARY /**< a library that the loader finds: one of the patterns `names` */
};

/** One requirement. */
struct accel_doctor_need {
    enum accel_doctor_need_kind kind;
    uint32_t state; /**< ACCEL_DOCTOR_BAD, or WARN if the hardware works without, less well */
    struct accel_doctor_words names;
    struct accel_doctor_words folders; /**< of libraries: folders that contain them although the loader does not
                                        * search there */
    struct accel_doctor_words drivers; /**< drivers that require it; none: all */
    const char *least;                 /**< minimum version, or empty */
    const char *remedy;
    const char *container; /**< remedy inside a container, or empty */
    const char *reason;
    const char *place; /**< file:line */
};

/** One kind of hardware. */
struct accel_doctor_entry {
    const char *name;  /**< for people */
    const char *about; /**< description of hardware that computes nothing; may be empty */
    const char *reason;
    const char *place;
    uint32_t vendor;                     /**< PCI vendor; 0: no PCI function */
    struct accel_doctor_numbers devices; /**< PCI devices; none: all of the vendor */
    struct accel_doctor_numbers classes; /**< 16-bit PCI classes; none: all */
    struct accel_doctor_words tree;      /**< prefixes of `compatible` in the device tree */
    struct accel_doctor_words drivers;   /**< accel drivers that support it, best first; none: no driver does */
    bool computes;                       /**< false: a display adapter or the like */
    const struct accel_doctor_need *needs;
    uint32_t need_count;
};

/** The contents of the file. */
struct accel_doctor_table {
    struct accel_doctor_words later; /**< drivers that no release has yet */
    const struct accel_doctor_entry *entries;
    uint32_t count;
};

/** Reads `path`. Errors name file:line:column. */
int32_t accel_doctor_table_read(const char *path, struct accel_arena *arena, struct accel_doctor_table *out_table,
                                struct accel_error *error);

/** Reads the table from memory; `path` is for messages. */
int32_t accel_doctor_table_parse(const char *path, const char *data, size_t bytes, struct accel_arena *arena,
                                 struct accel_doctor_table *out_table, struct accel_error *error);

/** Returns whether a list has a word. */
bool accel_doctor_has_word(const struct accel_doctor_words *words, const char *word);

/** Returns the first entry that matches a piece of hardware, or NULL. */
const struct accel_doctor_entry *accel_doctor_table_find(const struct accel_doctor_table *table,
                                                         const struct accel_hardware *hardware);

#endif
