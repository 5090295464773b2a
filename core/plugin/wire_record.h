/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The contents of records of core/plugin/wire.h, for the files that know them. Every length is checked.
 */
#ifndef ACCEL_CORE_PLUGIN_WIRE_RECORD_H
#define ACCEL_CORE_PLUGIN_WIRE_RECORD_H

#include "core/plugin/wire.h"

/** Begins the contents of a record. What would be longer than ACCEL_WIRE_BYTES fails. */
void accel_wire_begin(struct accel_strbuf *record, const void *numbers, size_t bytes);

/** Adds a text with its zero byte to the contents. */
void accel_wire_add_text(struct accel_strbuf *record, const char *text);

/** Appends the record, unless something of it was lost, and frees its contents. */
void accel_wire_end(struct accel_strbuf *record, uint32_t tag, struct accel_strbuf *out);

/** Bytes that are being read: all of them, or those of one record. */
struct accel_wire_reader {
    const char *data;
    size_t bytes;
    size_t place;
};

/** Takes the head of the next record. ACCEL_E_CORRUPT names its place. */
int32_t accel_wire_next(struct accel_wire_reader *all, uint32_t *out_tag, struct accel_wire_reader *out_record,
                        struct accel_error *error);

/** Takes numbers; false where the record has fewer bytes. */
bool accel_wire_numbers(struct accel_wire_reader *record, void *out_numbers, size_t bytes);

/** A text of the record in the arena, made fit for one line; NULL where it has no end, or without memory. */
const char *accel_wire_text(struct accel_wire_reader *record, struct accel_arena *arena);

#endif
