/* SPDX-License-Identifier: Apache-2.0 */
/** @file Reads structs from JSON objects by one table each, by which tools/doctor writes them: a row has key, type and
 * offset. Reading is strict: unknown, duplicate and missing keys, wrong types and numbers out of range are errors with
 * file:line:column. Strings and arrays are read into an arena. */
#ifndef ACCEL_CORE_SNAPSHOT_FIELDS_H
#define ACCEL_CORE_SNAPSHOT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/error.h>

#include "core/base/arena.h"
#include "core/profile/yaml.h"

#define FIELD_BYTES 16u /**< size of FIELD_BYTES16 */

/** Type of a member, and its JSON representation. */
enum field_type {
    FIELD_TEXT,    /**< const char *; absent: "" */
    FIELD_MAYBE,   /**< const char *; absent: NULL, and NULL is not written */
    FIELD_U32,     /**< uint32_t */
    FIELD_I32,     /**< int32_t */
    FIELD_U64,     /**< uint64_t */
    FIELD_HEX,     /**< uint32_t as the text "0x1af4" */
    FIELD_ADDRESS, /**< four uint32_t, domain, bus, slot, function, as the text "0000:65:00.0" */
    FIELD_BYTES16, /**< uint8_t[16] as 32 hexadecimal characters; zeros are not written */
    FIELD_WORD,    /**< uint32_t, index in `words`, whose first is for 0; terminated by NULL */
    FIELD_CODE,    /**< int32_t, the name of a status code */
    FIELD_BITS,    /**< uint32_t, a list of `words`, one for each bit from the lowest */
    FIELD_TEXTS,   /**< const char *const *, with its uint32_t count at `count` */
    FIELD_NUMBERS, /**< const uint32_t *, with its uint32_t count at `count` */
    FIELD_RECORDS, /**< array of structs of `size` bytes by `table`, with its uint32_t count at `count` */
    FIELD_RECORD,  /**< pointer to one struct by `table`; absent: NULL */
    FIELD_INSIDE   /**< a struct by `table` that is a member itself; absent: zeros */
};

struct accel_fields;

/** One member. */
struct accel_field {
    const char *key;
    enum field_type type;
    bool needed; /**< required, and always written */
    size_t offset;
    size_t count; /**< offset of the count */
    size_t size;  /**< size of a record */
    const char *const *words;
    const struct accel_fields *table;
};

/** Table of a struct. */
struct accel_fields {
    const struct accel_field *rows;
    uint32_t count;
};

/** Fills a zeroed struct from a mapping. */
int32_t accel_fields_read(const struct accel_fields *table, const char *path, const struct accel_yaml_node *node,
                          struct accel_arena *arena, void *out_record, struct accel_error *error);

/** Parses a whole number of a scalar, at most `most`; decimal, or hexadecimal after "0x". False if it is not one. */
bool accel_fields_number(const char *text, uint64_t most, uint64_t *out_value);

/* ---- tables.c ---- */

/** Members of a snapshot, for reading and writing, except evidence, whose keys are free. */
extern const struct accel_fields accel_snapshot_fields;

/** Words of ACCEL_DEVICE_...; NULL at the end. */
extern const char *const accel_device_kinds[];

#endif
