/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a mapping into a struct. */
#include "config.h"

#include "core/snapshot/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/checked.h"
#include "core/base/pci.h"

/* State of one read. */
struct reading {
    const char *path;
    struct accel_arena *arena;
    struct accel_error *error;
};

bool accel_fields_number(const char *text, uint64_t most, uint64_t *out_value)
{
    bool hexadecimal = text[0] == '0' && text[1] == 'x';
    const char *number = hexadecimal ? text + 2 : text;
    char *end;
    uint64_t value;
    if (number[0] == '\0' || strspn(number, hexadecimal ? "0123456789abcdefABCDEF" : "0123456789") != strlen(number))
        return false;
    errno = 0;
    value = strtoull(number, &end, hexadecimal ? 16 : 10);
    if (errno != 0 || value > most)
        return false;
    *out_value = value;
    return true;
}

static int32_t refuse(const struct reading *reading, const struct accel_yaml_node *node, const struct accel_field *row,
                      const char *required)
{
    return accel_yaml_refuse(reading->path, node, reading->error, ACCEL_E_CORRUPT, "%s: \"%.80s\" is not %s", row->key,
                             node->kind == ACCEL_YAML_TEXT ? node->text : "a list or an object", required);
}

/* ---- scalars ---- */

static int32_t read_word(const struct reading *reading, const struct accel_field *row,
                         const struct accel_yaml_node *node, uint32_t *out_value)
{
    for (uint32_t i = 0; row->words[i]; i++) {
        if (strcmp(row->words[i], node->text) != 0)
            continue;
        *out_value = i;
        return ACCEL_OK;
    }
    return refuse(reading, node, row, "one of the known words");
}

static int32_t read_code(const struct reading *reading, const struct accel_field *row,
                         const struct accel_yaml_node *node, int32_t *out_code)
{
    /* Codes are dense from 0 down; the first code without a name ends them. */
    const char *unknown = accel_error_name(INT32_MIN);
    for (int32_t code = 0; strcmp(accel_error_name(code), unknown) != 0; code--) {
        if (strcmp(accel_error_name(code), node->text) != 0)
            continue;
        *out_code = code;
        return ACCEL_OK;
    }
    return refuse(reading, node, row, "the name of a status");
}

static int32_t read_bytes(const struct reading *reading, const struct accel_field *row,
                          const struct accel_yaml_node *node, uint8_t out_bytes[FIELD_BYTES])
{
    if (strlen(node->text) != 2 * FIELD_BYTES || strspn(node->text, "0123456789abcdef") != 2 * FIELD_BYTES)
        return refuse(reading, node, row, "32 hexadecimal digits");
    for (uint32_t i = 0; i < FIELD_BYTES; i++) {
        char pair[3] = {node->text[2 * i], node->text[2 * i + 1], '\0'};
        out_bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return ACCEL_OK;
}

static int32_t read_number(const struct reading *reading, const struct accel_field *row,
                           const struct accel_yaml_node *node, void *member)
{
    uint64_t value;
    bool wide = row->type == FIELD_U64;
    if (!accel_fields_number(node->text, wide ? UINT64_MAX : UINT32_MAX, &value))
        return refuse(reading, node, row, wide ? "a whole number" : "a whole number of 32 bits");
    if (wide)
        *(uint64_t *)member = value;
    else
        *(uint32_t *)member = (uint32_t)value;
    return ACCEL_OK;
}

static int32_t read_scalar(const struct reading *reading, const struct accel_field *row,
                           const struct accel_yaml_node *node, void *member)
{
    if (node->kind != ACCEL_YAML_TEXT)
        return refuse(reading, node, row, "a single value");
    switch (row->type) {
    case FIELD_TEXT:
    case FIELD_MAYBE:
        *(const char **)member = node->text;
        return ACCEL_OK;
    case FIELD_I32:
        return accel_parse_i32(node->text, member) ? ACCEL_OK : refuse(reading, node, row, "a number of 32 bits");
    case FIELD_ADDRESS:
        return accel_pci_read(node->text, member) ? ACCEL_OK : refuse(reading, node, row, "a PCI address");
    case FIELD_BYTES16:
        return read_bytes(reading, row, node, member);
    case FIELD_WORD:
        return read_word(reading, row, node, member);
    case FIELD_CODE:
        return read_code(reading, row, node, member);
    default:
        return read_number(reading, row, node, member);
    }
}

/* ---- lists ---- */

static int32_t read_bits(const struct reading *reading, const struct accel_field *row,
                         const struct accel_yaml_node *list, uint32_t *out_bits)
{
    for (const struct accel_yaml_node *node = list->first; node; node = node->next) {
        uint32_t bit = 0;
        int32_t code =
            node->kind == ACCEL_YAML_TEXT ? read_word(reading, row, node, &bit) : refuse(reading, node, row, "a word");
        if (code != ACCEL_OK)
            return code;
        *out_bits |= 1u << bit;
    }
    return ACCEL_OK;
}

static size_t element_bytes(const struct accel_field *row)
{
    if (row->type == FIELD_RECORDS)
        return row->size;
    return row->type == FIELD_TEXTS ? sizeof(const char *) : sizeof(uint32_t);
}

static int32_t read_element(const struct reading *reading, const struct accel_field *row,
                            const struct accel_yaml_node *node, void *element)
{
    struct accel_field scalar = *row;
    if (row->type == FIELD_RECORDS)
        return accel_fields_read(row->table, reading->path, node, reading->arena, element, reading->error);
    scalar.type = row->type == FIELD_TEXTS ? FIELD_TEXT : FIELD_U32;
    return read_scalar(reading, &scalar, node, element);
}

static int32_t read_list(const struct reading *reading, const struct accel_field *row,
                         const struct accel_yaml_node *list, char *record)
{
    size_t bytes = element_bytes(row);
    char *elements, *at;
    if (list->kind != ACCEL_YAML_SEQUENCE)
        return refuse(reading, list, row, "a list");
    if (row->type == FIELD_BITS)
        return read_bits(reading, row, list, (uint32_t *)(void *)(record + row->offset));
    elements = at = accel_arena_array(reading->arena, list->child_count, bytes);
    if (elements == NULL)
        return accel_error_no_memory(reading->error, "to read %.200s", reading->path);
    for (const struct accel_yaml_node *node = list->first; node; node = node->next, at += bytes) {
        int32_t code = read_element(reading, row, node, at);
        if (code != ACCEL_OK)
            return code;
    }
    *(const void **)(void *)(record + row->offset) = elements;
    *(uint32_t *)(void *)(record + row->count) = list->child_count;
    return ACCEL_OK;
}

/* ---- structs ---- */

static int32_t read_inner(const struct reading *reading, const struct accel_field *row,
                          const struct accel_yaml_node *node, void *member)
{
    void *record = member;
    if (row->type == FIELD_RECORD) {
        record = accel_arena_array(reading->arena, 1, row->size);
        if (record == NULL)
            return accel_error_no_memory(reading->error, "to read %.200s", reading->path);
        *(void **)member = record;
    }
    return accel_fields_read(row->table, reading->path, node, reading->arena, record, reading->error);
}

static int32_t read_member(const struct reading *reading, const struct accel_field *row,
                           const struct accel_yaml_node *node, char *record)
{
    switch (row->type) {
    case FIELD_BITS:
    case FIELD_TEXTS:
    case FIELD_NUMBERS:
    case FIELD_RECORDS:
        return read_list(reading, row, node, record);
    case FIELD_RECORD:
    case FIELD_INSIDE:
        return read_inner(reading, row, node, record + row->offset);
    default:
        return read_scalar(reading, row, node, record + row->offset);
    }
}

static int32_t check_keys(const struct accel_fields *table, const struct reading *reading,
                          const struct accel_yaml_node *mapping)
{
    for (const struct accel_yaml_node *node = mapping->first; node; node = node->next) {
        uint32_t i = 0;
        while (i < table->count && strcmp(table->rows[i].key, node->text) != 0)
            i++;
        if (i == table->count)
            return accel_yaml_refuse(reading->path, node, reading->error, ACCEL_E_CORRUPT, "key \"%.80s\" is unknown",
                                     node->text);
    }
    return ACCEL_OK;
}

int32_t accel_fields_read(const struct accel_fields *table, const char *path, const struct accel_yaml_node *node,
                          struct accel_arena *arena, void *out_record, struct accel_error *error)
{
    const struct reading reading = {path, arena, error};
    char *record = out_record;
    int32_t code;
    if (node->kind != ACCEL_YAML_MAPPING)
        return accel_yaml_refuse(path, node, error, ACCEL_E_CORRUPT, "an object is required here");
    code = check_keys(table, &reading, node);
    for (uint32_t i = 0; i < table->count && code == ACCEL_OK; i++) {
        const struct accel_field *row = &table->rows[i];
        const struct accel_yaml_node *value = accel_yaml_find(node, row->key);
        if (value)
            code = read_member(&reading, row, value, record);
        else if (row->needed)
            code = accel_yaml_refuse(path, node, error, ACCEL_E_CORRUPT, "key \"%s\" is missing", row->key);
        else if (row->type == FIELD_TEXT)
            *(const char **)(void *)(record + row->offset) = "";
    }
    return code;
}
