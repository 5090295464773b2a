/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Where what a driver says enters the core for good: each struct is copied once, then the copy is checked: sizes, known
 * values, finite numbers, caps on counts, valid UTF-8, zero members zero, unknown tails zero. The rest of the core
 * trusts what comes out. A probe takes with the same functions, so that what it lets pass is what the core takes; the
 * const part of a driver is core/plugin/intake.h's. Pure functions, any thread.
 *
 * Errors name the driver, the struct and the member. ACCEL_E_INVALID: a rule is broken; ACCEL_E_UNSUPPORTED: a member
 * that this minor does not know is set; ACCEL_E_LIMIT: over a cap.
 */
#ifndef ACCEL_CORE_DEVICE_TAKE_H
#define ACCEL_CORE_DEVICE_TAKE_H

#include <accel/context.h>
#include <accel/driver.h>
#include <stdbool.h>

#include "core/base/arena.h"

/* Caps. Beyond them something is broken, and copying it would only take memory. */
#define ACCEL_TAKE_TEXT 4096u                /* bytes of one string */
#define ACCEL_TAKE_BYTES (UINT64_C(1) << 50) /* bytes of one heap: no machine has them */
#define ACCEL_TAKE_HEAPS 64u                 /* heaps of a device */
#define ACCEL_TAKE_TYPES 256u                /* types of a device */
#define ACCEL_TAKE_IN_FLIGHT 0x10000u        /* steps of a queue in flight */

/** A result code of a slot: 0 and known negative codes pass, everything else becomes ACCEL_E_INTERNAL, and so does
 *  ACCEL_E_CANCELLED, which is the caller's word, where nobody asked for it (`asked`). A failure without a text gets
 *  one; a text that does not name the driver begins with its name and the slot, and is made fit to be shown. */
int32_t accel_take_asked(int32_t code, bool asked, const char *driver, const char *slot, struct accel_error *error);

/** The same of a slot that cannot be cancelled. */
int32_t accel_take_code(int32_t code, const char *driver, const char *slot, struct accel_error *error);

/** As accel_take_code for slots that make a handle: 0 and a handle whose table is there, or a code and none.
 *  `handle` begins with the pointer to its table. Returns the code in force. */
int32_t accel_take_handle(int32_t code, const void *handle, const char *driver, const char *slot,
                          struct accel_error *error);

/* Tables of handles: every required slot is there. Slots of later minors are nobody's business here. */
int32_t accel_take_instance(const struct accel_driver_instance *instance, const char *driver,
                            struct accel_error *error);
int32_t accel_take_device(const struct accel_driver_device *device, const char *driver, struct accel_error *error);
int32_t accel_take_module(const struct accel_driver_module *module, const char *driver, struct accel_error *error);
int32_t accel_take_weights(const struct accel_driver_weights *weights, const char *driver, struct accel_error *error);
int32_t accel_take_buffer(const struct accel_driver_buffer *buffer, const char *driver, struct accel_error *error);
int32_t accel_take_state(const struct accel_driver_state *state, const char *driver, struct accel_error *error);
int32_t accel_take_queue(const struct accel_driver_queue *queue, const char *driver, struct accel_error *error);
/** `runs`: the driver has no queues, so that its sets have to run. */
int32_t accel_take_set(const struct accel_driver_set *set, uint32_t runs, const char *driver,
                       struct accel_error *error);

/** Facts of a device, with all they point to, copied to the arena. `hardware_count` bounds their index. */
int32_t accel_take_facts(struct accel_arena *arena, const struct accel_facts *given, uint32_t hardware_count,
                         const char *driver, struct accel_facts **out_facts, struct accel_error *error);

/** A string: not NULL, at most ACCEL_TAKE_TEXT bytes, UTF-8; copied to the arena with control characters replaced.
 *  `what` names it, "accel_facts.name". */
int32_t accel_take_text(struct accel_arena *arena, const char *given, const char *driver, const char *what,
                        char **out_text, struct accel_error *error);

/** A verdict of `enumerate`: its hardware is -1 or one of `hardware_count`, its code a failure; the texts of `verdict`
 *  are replaced by copies in the arena, of which the remedy may be NULL or empty. */
int32_t accel_take_verdict(struct accel_arena *arena, struct accel_verdict *verdict, uint32_t hardware_count,
                           const char *driver, struct accel_error *error);

/** One answer of `claim`: indices within `graphs`, a known answer and placement, a finite tolerance, texts. */
int32_t accel_take_claim(const struct accel_claim *given, const struct accel_graph *const *graphs, uint32_t graph_count,
                         const char *driver, struct accel_claim *out_claim, struct accel_error *error);

#endif
