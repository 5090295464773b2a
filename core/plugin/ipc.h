/* SPDX-License-Identifier: Apache-2.0 */
/** @file Messages between a probe's child and its parent: records of {tag, bytes} followed by the bytes, numbers in
 * host representation, since both run on one machine. The parent writes HARDWARE records to the child's input. The
 * child writes to descriptor 3: VERSION first, STAGE before everything that may end it, DEVICE or VERDICT for each
 * enumerated record, and FAILED or DONE last. Messages of a child are untrusted: every length is checked. */
#ifndef ACCEL_CORE_PLUGIN_IPC_H
#define ACCEL_CORE_PLUGIN_IPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/context.h>
#include <accel/driver.h>
#include <accel/error.h>

#include "core/base/arena.h"
#include "core/base/strbuf.h"

#define ACCEL_IPC_PROTOCOL 2u
#define ACCEL_IPC_DESCRIPTOR 3

#define ACCEL_IPC_VERSION 1u  /**< protocol, ABI major, ABI minor */
#define ACCEL_IPC_STAGE 2u    /**< text: the stage that begins */
#define ACCEL_IPC_FAILED 3u   /**< code, native; text and remedy, each with a zero byte */
#define ACCEL_IPC_DONE 4u     /**< number of devices */
#define ACCEL_IPC_HARDWARE 5u /**< one piece of hardware */
#define ACCEL_IPC_DEVICE 6u   /**< facts of one device */
#define ACCEL_IPC_VERDICT 7u  /**< code, hardware; text and remedy, each with a zero byte */

/** Maximum size of one record without its head. */
#define ACCEL_IPC_BYTES 8192u

/** Head of a record. */
struct accel_ipc_head {
    uint32_t tag;
    uint32_t bytes;
};

/** Parsed answer of a child. Texts live in the arena and are never NULL. */
struct accel_ipc_answer {
    const char *stage; /**< last stage that began; empty before the first */
    bool failed;       /**< code, native, text, remedy are set */
    bool done;
    int32_t code;
    int32_t native;
    const char *text;
    const char *remedy;
    uint32_t devices;
    char *list; /**< DEVICE and VERDICT records unchanged, for accel_ipc_read_list */
    size_t list_bytes;
};

/** Enumerated devices and verdicts. Lists and texts live in an arena. */
struct accel_ipc_list {
    const struct accel_facts **facts;
    uint32_t fact_count;
    uint32_t verdict_count;
    struct accel_verdict *verdicts; /**< code, hardware, text, remedy */
};

/** Appends one record. */
void accel_ipc_put(struct accel_strbuf *out, uint32_t tag, const void *data, size_t bytes);

/** Appends a HARDWARE record; hardware with more text than a record can hold is left out. */
void accel_ipc_put_hardware(struct accel_strbuf *out, const struct accel_hardware *hardware);

/** Appends a DEVICE record of facts that core/boundary/import.h has validated. Facts that exceed a record are left
 * out: fewer records than devices mean that the list is incomplete. */
void accel_ipc_put_device(struct accel_strbuf *out, const struct accel_facts *facts);

/** Parses DEVICE and VERDICT records. Their values are not validated here: core/boundary/import.h does that. */
int32_t accel_ipc_read_list(const char *data, size_t bytes, struct accel_arena *arena, struct accel_ipc_list *out_list,
                            struct accel_error *error);

/** Parses a whole answer. ACCEL_E_CORRUPT names the fault; records before it are in *out_answer. */
int32_t accel_ipc_read(const char *data, size_t bytes, struct accel_arena *arena, struct accel_ipc_answer *out_answer,
                       struct accel_error *error);

#endif
