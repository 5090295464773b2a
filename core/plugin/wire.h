/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What a probe's child and its parent say to each other: records of {tag, bytes} and then the bytes, numbers as they
 * lie in memory, since both run on one machine. The parent writes HARDWARE records to the child's input. The child
 * writes a VERSION first, a STAGE before everything that may end it, a DEVICE or VERDICT for what is enumerated, and
 * FAILED or DONE last, to descriptor 3.
 * Nothing that comes from a child is believed: every length is checked.
 */
#ifndef ACCEL_CORE_PLUGIN_WIRE_H
#define ACCEL_CORE_PLUGIN_WIRE_H

#include <accel/context.h>
#include <accel/driver.h>
#include <accel/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/strbuf.h"

#define ACCEL_WIRE_PROTOCOL 2u
#define ACCEL_WIRE_DESCRIPTOR 3

#define ACCEL_WIRE_VERSION 1u  /**< protocol, ABI major, ABI minor */
#define ACCEL_WIRE_STAGE 2u    /**< text: what comes now */
#define ACCEL_WIRE_FAILED 3u   /**< code, native; text and remedy, each with a zero byte */
#define ACCEL_WIRE_DONE 4u     /**< number of devices */
#define ACCEL_WIRE_HARDWARE 5u /**< one piece of hardware */
#define ACCEL_WIRE_DEVICE 6u   /**< facts of one device */
#define ACCEL_WIRE_VERDICT 7u  /**< code, hardware; text and remedy, each with a zero byte */

/** Most bytes of one record, its head not counted. */
#define ACCEL_WIRE_BYTES 8192u

/** Head of a record. */
struct accel_wire_head {
    uint32_t tag;
    uint32_t bytes;
};

/** What a child's answer says. Texts lie in the arena and are never NULL. */
struct accel_wire_answer {
    const char *stage; /**< the last one that began; empty before the first */
    bool failed;       /**< code, native, text, remedy are set */
    bool done;
    int32_t code;
    int32_t native;
    const char *text;
    const char *remedy;
    uint32_t devices;
    char *list; /**< the DEVICE and VERDICT records as they came, for accel_wire_read_list */
    size_t list_bytes;
};

/** What a driver enumerates. Lists and texts lie in an arena. */
struct accel_wire_list {
    const struct accel_facts **facts;
    uint32_t fact_count;
    uint32_t verdict_count;
    struct accel_verdict *verdicts; /**< code, hardware, text, remedy */
};

/** Appends one record. */
void accel_wire_put(struct accel_strbuf *out, uint32_t tag, const void *data, size_t bytes);

/** Appends the records that the child writes. */
void accel_wire_put_version(struct accel_strbuf *out);
void accel_wire_put_stage(struct accel_strbuf *out, const char *stage);
void accel_wire_put_failed(struct accel_strbuf *out, const struct accel_error *error);
void accel_wire_put_done(struct accel_strbuf *out, uint32_t devices);

/** Appends a HARDWARE record; hardware with more text than a record holds is left out. */
void accel_wire_put_hardware(struct accel_strbuf *out, const struct accel_hardware *hardware);

/** Appends a DEVICE record, of facts that accel_take_facts has checked. What has no room in a record is left out, so
 *  that fewer records than devices say that the list is not whole. */
void accel_wire_put_device(struct accel_strbuf *out, const struct accel_facts *facts);

/** Appends a VERDICT record. */
void accel_wire_put_verdict(struct accel_strbuf *out, const struct accel_verdict *verdict);

/** Reads DEVICE and VERDICT records. Values are those of the wire: accel_take_facts checks them. */
int32_t accel_wire_read_list(const char *data, size_t bytes, struct accel_arena *arena,
                             struct accel_wire_list *out_list, struct accel_error *error);

/** Reads a whole answer. ACCEL_E_CORRUPT names what is wrong; what came before is in *out_answer. */
int32_t accel_wire_read(const char *data, size_t bytes, struct accel_arena *arena, struct accel_wire_answer *out_answer,
                        struct accel_error *error);

/** Reads HARDWARE records. */
int32_t accel_wire_read_hardware(const char *data, size_t bytes, struct accel_arena *arena,
                                 const struct accel_hardware *const **out_list, uint32_t *out_count,
                                 struct accel_error *error);

#endif
