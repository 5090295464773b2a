/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a snapshot as JSON: its structs by their tables of fields, then the evidence, whose keys are free. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/pci.h"
#include "core/snapshot/fields.h"
#include "tools/doctor/json.h"
#include "tools/doctor/snapshot.h"

static void write_fields(const struct accel_fields *table, const void *record, struct accel_json *json);

static uint32_t number_at(const void *member)
{
    return *(const uint32_t *)member;
}

static void write_address(const struct accel_field *row, const uint32_t *address, struct accel_json *json)
{
    char text[ACCEL_PCI_TEXT];
    if ((address[0] | address[1] | address[2] | address[3]) == 0 && !row->needed)
        return;
    accel_json_member_text(json, row->key, accel_pci_write(address[0], address[1], address[2], address[3], text));
}

static void write_bytes(const struct accel_field *row, const uint8_t bytes[FIELD_BYTES], struct accel_json *json)
{
    static const uint8_t none[FIELD_BYTES];
    char text[2 * FIELD_BYTES + 1];
    if (memcmp(bytes, none, sizeof(none)) == 0)
        return;
    for (uint32_t i = 0; i < FIELD_BYTES; i++)
        snprintf(text + 2 * (size_t)i, 3, "%02x", bytes[i]);
    accel_json_member_text(json, row->key, text);
}

static void write_text(const struct accel_field *row, const char *text, struct accel_json *json)
{
    if (text && (text[0] != '\0' || row->needed))
        accel_json_member_text(json, row->key, text);
}

static void write_hexadecimal(const struct accel_field *row, uint32_t value, struct accel_json *json)
{
    char text[16];
    if (value == 0 && !row->needed)
        return;
    snprintf(text, sizeof(text), "0x%04x", value);
    accel_json_member_text(json, row->key, text);
}

/* Returns the word; a value of a later version is written as the first word. */
static const char *word_of(const struct accel_field *row, uint32_t value)
{
    for (uint32_t i = 0; row->words[i]; i++)
        if (i == value)
            return row->words[i];
    return row->words[0];
}

static void write_scalar(const struct accel_field *row, const void *member, struct accel_json *json)
{
    switch (row->type) {
    case FIELD_TEXT:
    case FIELD_MAYBE:
        write_text(row, *(const char *const *)member, json);
        break;
    case FIELD_HEX:
        write_hexadecimal(row, number_at(member), json);
        break;
    case FIELD_ADDRESS:
        write_address(row, member, json);
        break;
    case FIELD_BYTES16:
        write_bytes(row, member, json);
        break;
    case FIELD_WORD:
        accel_json_member_text(json, row->key, word_of(row, number_at(member)));
        break;
    case FIELD_CODE:
        accel_json_member_text(json, row->key, accel_error_name(*(const int32_t *)member));
        break;
    case FIELD_I32:
        accel_json_member_i64(json, row->key, *(const int32_t *)member);
        break;
    case FIELD_U64:
        if (*(const uint64_t *)member != 0 || row->needed)
            accel_json_member_u64(json, row->key, *(const uint64_t *)member);
        break;
    default:
        if (number_at(member) != 0 || row->needed)
            accel_json_member_u64(json, row->key, number_at(member));
    }
}

static void write_bits(const struct accel_field *row, uint32_t bits, struct accel_json *json)
{
    if (bits == 0)
        return;
    accel_json_member_array(json, row->key);
    for (uint32_t i = 0; row->words[i]; i++)
        if ((bits & 1u << i) != 0)
            accel_json_text(json, row->words[i]);
    accel_json_array_end(json);
}

static void write_list(const struct accel_field *row, const char *record, struct accel_json *json)
{
    const void *list = *(const void *const *)(const void *)(record + row->offset);
    uint32_t count = number_at(record + row->count);
    if (count == 0 && !row->needed)
        return;
    accel_json_member_array(json, row->key);
    for (uint32_t i = 0; i < count; i++) {
        if (row->type == FIELD_TEXTS) {
            accel_json_text(json, ((const char *const *)list)[i]);
        } else if (row->type == FIELD_NUMBERS) {
            accel_json_u64(json, ((const uint32_t *)list)[i]);
        } else {
            accel_json_object_begin(json);
            write_fields(row->table, (const char *)list + (size_t)i * row->size, json);
            accel_json_object_end(json);
        }
    }
    accel_json_array_end(json);
}

static void write_record(const struct accel_field *row, const void *record, struct accel_json *json)
{
    if (record == NULL)
        return;
    accel_json_member_object(json, row->key);
    write_fields(row->table, record, json);
    accel_json_object_end(json);
}

/* Returns whether an embedded struct is present: one that begins with a NULL text is absent. */
static bool is_there(const struct accel_field *row, const char *member)
{
    const struct accel_field *first = &row->table->rows[0];
    return first->type != FIELD_MAYBE || *(const char *const *)(const void *)(member + first->offset) != NULL;
}

static void write_fields(const struct accel_fields *table, const void *record, struct accel_json *json)
{
    const char *members = record;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct accel_field *row = &table->rows[i];
        const char *member = members + row->offset;
        switch (row->type) {
        case FIELD_BITS:
            write_bits(row, number_at(member), json);
            break;
        case FIELD_TEXTS:
        case FIELD_NUMBERS:
        case FIELD_RECORDS:
            write_list(row, members, json);
            break;
        case FIELD_RECORD:
            write_record(row, *(const void *const *)(const void *)member, json);
            break;
        case FIELD_INSIDE:
            write_record(row, is_there(row, member) ? member : NULL, json);
            break;
        default:
            write_scalar(row, member, json);
        }
    }
}

/* ---- the document ---- */

/* Returns whether a line such as <info name="HostName" value="..."/> is private. These names identify machines and
 * people (a control group is named after its container or session), and no evaluation uses them. */
static bool is_private(const char *line)
{
    static const char *const words[] = {"HostName", "Serial", "UUID",     "Address",    "GUID",
                                        "GID",      "Cgroup", "AssetTag", "ProcessName"};
    static const char begin[] = "<info name=\"";
    const char *name = strstr(line, begin);
    const char *end = name ? strchr(name + sizeof(begin) - 1, '"') : NULL;
    for (size_t i = 0; end && i < sizeof(words) / sizeof(words[0]); i++) {
        const char *found = strstr(name, words[i]);
        if (found && found < end)
            return true;
    }
    return false;
}

int32_t accel_snapshot_set_xml(struct accel_snapshot *snapshot, char *xml, struct accel_arena *arena,
                               struct accel_error *error)
{
    const char **lines;
    uint32_t count = 1;
    for (const char *at = xml; *at; at++)
        count += *at == '\n';
    lines = accel_arena_array(arena, count, sizeof(*lines));
    if (lines == NULL)
        return accel_error_no_memory(error, "for snapshot topology");
    count = 0;
    for (char *line = strsep(&xml, "\n"); line; line = strsep(&xml, "\n"))
        if (line[0] != '\0' && !is_private(line))
            lines[count++] = line;
    snapshot->topology.xml = lines;
    snapshot->topology.line_count = count;
    return ACCEL_OK;
}

static void write_evidence(const struct accel_evidence *evidence, struct accel_json *json)
{
    accel_json_member_array(json, ACCEL_SNAPSHOT_EVIDENCE);
    for (const struct accel_evidence_item *item = evidence->first; item; item = item->next) {
        accel_json_object_begin(json);
        accel_json_member_text(json, "kind", item->kind);
        accel_json_member_text(json, "name", item->name);
        for (const struct accel_evidence_pair *pair = item->first; pair; pair = pair->next)
            accel_json_member_text(json, pair->key, pair->value);
        accel_json_object_end(json);
    }
    accel_json_array_end(json);
}

int32_t accel_snapshot_to_json(const struct accel_snapshot *snapshot, const struct accel_evidence *evidence,
                               struct accel_strbuf *out, struct accel_error *error)
{
    struct accel_json json;
    accel_json_init(&json, out, 1);
    accel_json_object_begin(&json);
    write_fields(&accel_snapshot_fields, snapshot, &json);
    write_evidence(evidence, &json);
    accel_json_object_end(&json);
    accel_strbuf_char(out, '\n');
    return accel_json_finish(&json) && !out->failed ? ACCEL_OK
                                                    : accel_error_no_memory(error, "for the JSON of a snapshot");
}
