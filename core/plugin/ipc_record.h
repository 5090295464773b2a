/* SPDX-License-Identifier: Apache-2.0 */
/** @file Contents of the records of core/plugin/ipc.h. Every length is checked. */
#ifndef ACCEL_CORE_PLUGIN_IPC_RECORD_H
#define ACCEL_CORE_PLUGIN_IPC_RECORD_H

#include "core/plugin/ipc.h"

/** Numbers of a HARDWARE record, followed by its texts: name, compatible, cpu_set, files. */
struct accel_ipc_hardware {
    uint32_t kind, domain, bus, slot, function, vendor, device, device_class;
    int32_t numa_node;
    uint32_t file_count, threads, zero;
    uint64_t memory;
};

/** A VERSION record. */
struct accel_ipc_version {
    uint32_t protocol, abi_major, abi_minor;
};

/** Numbers of a FAILED record, followed by its text and its remedy. */
struct accel_ipc_failed {
    int32_t code, native;
};

/** Numbers of a VERDICT record, followed by its text and its remedy. */
struct accel_ipc_verdict {
    int32_t code, hardware;
};

/** Begins the contents of a record. Contents longer than ACCEL_IPC_BYTES fail. */
void accel_ipc_begin(struct accel_strbuf *record, const void *numbers, size_t bytes);

/** Adds a text with its zero byte to the contents. */
void accel_ipc_add_text(struct accel_strbuf *record, const char *text);

/** Appends the record, unless a part of it was lost, and frees its contents. */
void accel_ipc_end(struct accel_strbuf *record, uint32_t tag, struct accel_strbuf *out);

/** Bytes to read: all records, or the contents of one. */
struct accel_ipc_reader {
    const char *data;
    size_t bytes;
    size_t place;
};

/** Reads the head of the next record. ACCEL_E_CORRUPT names its offset. */
int32_t accel_ipc_next(struct accel_ipc_reader *all, uint32_t *out_tag, struct accel_ipc_reader *out_record,
                       struct accel_error *error);

/** Reads numbers; false if the record has fewer bytes. */
bool accel_ipc_read_numbers(struct accel_ipc_reader *record, void *out_numbers, size_t bytes);

/** Copies a text of the record to the arena, cleaned to one line; NULL if it is not terminated, or without memory. */
const char *accel_ipc_read_text(struct accel_ipc_reader *record, struct accel_arena *arena);

#endif
