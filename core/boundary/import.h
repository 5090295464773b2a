/* SPDX-License-Identifier: Apache-2.0 */
/** @file Validates and copies every struct that a driver returns. Each struct is copied once, then the copy is checked:
 * sizes, known values, finite numbers, limits of counts, valid UTF-8, zero members zero, unknown tails zero. The rest
 * of the core trusts the copies. A probe uses the same functions, so that the core accepts exactly what a probe
 * accepts; core/plugin/import_driver.h validates the const part of a driver. Pure functions, thread-safe. Errors name
 * the driver, the struct and the member. ACCEL_E_INVALID: a rule is broken; ACCEL_E_UNSUPPORTED: a member that this
 * minor does not define is set; ACCEL_E_LIMIT: over a limit. */
#ifndef ACCEL_CORE_BOUNDARY_IMPORT_H
#define ACCEL_CORE_BOUNDARY_IMPORT_H

#include <stdbool.h>

#include <accel/context.h>
#include <accel/driver.h>

#include "core/base/arena.h"

/* Limits. Values beyond them are faults, and copying them would only use memory. */
#define ACCEL_IMPORT_TEXT 4096u                /* bytes of one string */
#define ACCEL_IMPORT_BYTES (UINT64_C(1) << 50) /* bytes of one heap, more than any machine has */
#define ACCEL_IMPORT_HEAPS 64u                 /* heaps of a device */
#define ACCEL_IMPORT_TYPES 256u                /* types of a device */
#define ACCEL_IMPORT_IN_FLIGHT 0x10000u        /* steps of a queue in flight */

/** Validates the result code of a slot: 0 and known negative codes pass, all others become ACCEL_E_INTERNAL, and so
 * does ACCEL_E_CANCELLED unless the caller has requested cancellation. A failure without a text
 * gets one; a text that does not name the driver gets the driver and the slot as prefix. Texts are sanitized. */
int32_t accel_import_cancellable_code(int32_t code, bool cancel_requested, const char *driver, const char *slot,
                                      struct accel_error *error);

/** Validates the result code of a slot that cannot be cancelled. */
int32_t accel_import_code(int32_t code, const char *driver, const char *slot, struct accel_error *error);

/** Validates the code of a slot that creates a handle: 0 and a handle with a table, or an error and no handle.
 * `handle` begins with the pointer to its table. Returns the resulting code. */
int32_t accel_import_handle(int32_t code, const void *handle, const char *driver, const char *slot,
                            struct accel_error *error);

/** Tables of handles; a set that runs on a driver queue needs no `run`. */
enum accel_table_kind {
    ACCEL_TABLE_INSTANCE,
    ACCEL_TABLE_DEVICE,
    ACCEL_TABLE_MODULE,
    ACCEL_TABLE_WEIGHTS,
    ACCEL_TABLE_BUFFER,
    ACCEL_TABLE_STATE,
    ACCEL_TABLE_QUEUE,
    ACCEL_TABLE_SET,
    ACCEL_TABLE_QUEUED_SET
};

/** Checks that the table of a handle, which begins with its address, has the required slots, later minors' excepted. */
int32_t accel_import_table(const void *handle, enum accel_table_kind kind, const char *driver,
                           struct accel_error *error);

/** Checks the table of a device, and that slots that need each other are there. */
int32_t accel_import_device(const struct accel_driver_device *device, const char *driver, struct accel_error *error);

/** Copies the facts of a device, with all strings and lists, to the arena. `hardware_count` limits their index. */
int32_t accel_import_facts(struct accel_arena *arena, const struct accel_facts *given, uint32_t hardware_count,
                           const char *driver, struct accel_facts **out_facts, struct accel_error *error);

/** Replaces a string by a copy in the arena with control characters replaced; it must not be NULL and has at most
 * ACCEL_IMPORT_TEXT bytes of UTF-8. `what` names it, "accel_facts.name". */
int32_t accel_import_text(struct accel_arena *arena, const char **text, const char *driver, const char *what,
                          struct accel_error *error);

/** Validates a verdict of `enumerate`: its hardware is -1 or less than `hardware_count`, its code is a failure.
 * Replaces the texts of `verdict` by copies in the arena; the remedy may be NULL or empty. */
int32_t accel_import_verdict(struct accel_arena *arena, struct accel_verdict *verdict, uint32_t hardware_count,
                             const char *driver, struct accel_error *error);

/** Copies one result of `claim`: indices within `graphs`, a known answer and placement, a finite tolerance, texts. */
int32_t accel_import_claim(const struct accel_claim *given, const struct accel_graph *const *graphs,
                           uint32_t graph_count, const char *driver, struct accel_claim *out_claim,
                           struct accel_error *error);

#endif
