/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a snapshot as JSON: its structs by their tables of fields, then the evidence, whose keys are free. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "core/base/pci.h"
#include "core/snapshot/fields.h"
#include "tools/doctor/snapshot.h"

/* The object that is being filled. */
struct output {
    json_t *object;
    bool failed; /* memory ran out */
};

static void write_fields(const struct accel_fields *table, const void *record, struct output *out);

static void put(struct output *out, const char *key, json_t *value)
{
    out->failed |= json_object_set_new(out->object, key, value) != 0;
}

/* Returns a text in which U+FFFD stands for malformed UTF-8. */
static json_t *text_json(const char *text)
{
    json_t *value = text == NULL ? json_null() : json_string(text);
    struct accel_strbuf quoted = {0};
    if (value == NULL) {
        accel_strbuf_json(&quoted, text);
        value = json_loads(accel_strbuf_get(&quoted), JSON_DECODE_ANY, NULL);
        accel_strbuf_free(&quoted);
    }
    return value;
}

/* Returns a number; one beyond 63 bits is a text, which readers take as well. */
static json_t *number_json(uint64_t number)
{
    return number <= INT64_MAX ? json_integer((json_int_t)number) : json_sprintf("%" PRIu64, number);
}

static uint32_t number_at(const void *member)
{
    return *(const uint32_t *)member;
}

static void write_address(const struct accel_field *row, const uint32_t *address, struct output *out)
{
    char text[ACCEL_PCI_TEXT];
    if ((address[0] | address[1] | address[2] | address[3]) == 0 && !row->needed)
        return;
    put(out, row->key, json_string(accel_pci_write(address[0], address[1], address[2], address[3], text)));
}

static void write_bytes(const struct accel_field *row, const uint8_t bytes[FIELD_BYTES], struct output *out)
{
    static const uint8_t none[FIELD_BYTES];
    char text[2 * FIELD_BYTES + 1];
    if (memcmp(bytes, none, sizeof(none)) == 0)
        return;
    for (uint32_t i = 0; i < FIELD_BYTES; i++)
        snprintf(text + 2 * (size_t)i, 3, "%02x", bytes[i]);
    put(out, row->key, json_string(text));
}

static void write_text(const struct accel_field *row, const char *text, struct output *out)
{
    if (text && (text[0] != '\0' || row->needed))
        put(out, row->key, text_json(text));
}

static void write_hexadecimal(const struct accel_field *row, uint32_t value, struct output *out)
{
    char text[16];
    if (value == 0 && !row->needed)
        return;
    snprintf(text, sizeof(text), "0x%04x", value);
    put(out, row->key, json_string(text));
}

/* Returns the word; a value of a later version is written as the first word. */
static const char *word_of(const struct accel_field *row, uint32_t value)
{
    for (uint32_t i = 0; row->words[i]; i++)
        if (i == value)
            return row->words[i];
    return row->words[0];
}

static void write_scalar(const struct accel_field *row, const void *member, struct output *out)
{
    switch (row->type) {
    case FIELD_TEXT:
    case FIELD_MAYBE:
        write_text(row, *(const char *const *)member, out);
        break;
    case FIELD_HEX:
        write_hexadecimal(row, number_at(member), out);
        break;
    case FIELD_ADDRESS:
        write_address(row, member, out);
        break;
    case FIELD_BYTES16:
        write_bytes(row, member, out);
        break;
    case FIELD_WORD:
        put(out, row->key, json_string(word_of(row, number_at(member))));
        break;
    case FIELD_CODE:
        put(out, row->key, json_string(accel_error_name(*(const int32_t *)member)));
        break;
    case FIELD_I32:
        put(out, row->key, json_integer(*(const int32_t *)member));
        break;
    case FIELD_U64:
        if (*(const uint64_t *)member != 0 || row->needed)
            put(out, row->key, number_json(*(const uint64_t *)member));
        break;
    default:
        if (number_at(member) != 0 || row->needed)
            put(out, row->key, number_json(number_at(member)));
    }
}

static void write_bits(const struct accel_field *row, uint32_t bits, struct output *out)
{
    json_t *list = json_array();
    for (uint32_t i = 0; row->words[i]; i++)
        if ((bits & 1u << i) != 0)
            out->failed |= json_array_append_new(list, json_string(row->words[i])) != 0;
    if (bits != 0)
        put(out, row->key, list);
    else
        json_decref(list);
}

/* Returns an object with the fields of a record. */
static json_t *record_json(const struct accel_fields *table, const void *record, struct output *out)
{
    struct output inner = {json_object(), false};
    write_fields(table, record, &inner);
    out->failed |= inner.failed;
    return inner.object;
}

static void write_list(const struct accel_field *row, const char *record, struct output *out)
{
    const void *list = *(const void *const *)(const void *)(record + row->offset);
    uint32_t count = number_at(record + row->count);
    json_t *array;
    if (count == 0 && !row->needed)
        return;
    array = json_array();
    for (uint32_t i = 0; i < count; i++) {
        json_t *item = row->type == FIELD_TEXTS ? text_json(((const char *const *)list)[i])
                       : row->type == FIELD_NUMBERS
                           ? number_json(((const uint32_t *)list)[i])
                           : record_json(row->table, (const char *)list + (size_t)i * row->size, out);
        out->failed |= json_array_append_new(array, item) != 0;
    }
    put(out, row->key, array);
}

static void write_record(const struct accel_field *row, const void *record, struct output *out)
{
    if (record != NULL)
        put(out, row->key, record_json(row->table, record, out));
}

/* Returns whether an embedded struct is present: one that begins with a NULL text is absent. */
static bool is_there(const struct accel_field *row, const char *member)
{
    const struct accel_field *first = &row->table->rows[0];
    return first->type != FIELD_MAYBE || *(const char *const *)(const void *)(member + first->offset) != NULL;
}

static void write_fields(const struct accel_fields *table, const void *record, struct output *out)
{
    const char *members = record;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct accel_field *row = &table->rows[i];
        const char *member = members + row->offset;
        switch (row->type) {
        case FIELD_BITS:
            write_bits(row, number_at(member), out);
            break;
        case FIELD_TEXTS:
        case FIELD_NUMBERS:
        case FIELD_RECORDS:
            write_list(row, members, out);
            break;
        case FIELD_RECORD:
            write_record(row, *(const void *const *)(const void *)member, out);
            break;
        case FIELD_INSIDE:
            write_record(row, is_there(row, member) ? member : NULL, out);
            break;
        default:
            write_scalar(row, member, out);
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

static void write_evidence(const struct accel_evidence *evidence, struct output *out)
{
    json_t *list = json_array();
    for (const struct accel_evidence_item *item = evidence->first; item; item = item->next) {
        struct output inner = {json_object(), false};
        put(&inner, "kind", text_json(item->kind));
        put(&inner, "name", text_json(item->name));
        for (const struct accel_evidence_pair *pair = item->first; pair; pair = pair->next)
            put(&inner, pair->key, text_json(pair->value));
        out->failed |= inner.failed || json_array_append_new(list, inner.object) != 0;
    }
    put(out, ACCEL_SNAPSHOT_EVIDENCE, list);
}

int32_t accel_snapshot_to_json(const struct accel_snapshot *snapshot, const struct accel_evidence *evidence,
                               struct accel_strbuf *out, struct accel_error *error)
{
    struct output output = {json_object(), false};
    char *text = NULL;
    write_fields(&accel_snapshot_fields, snapshot, &output);
    write_evidence(evidence, &output);
    if (!output.failed)
        text = json_dumps(output.object, JSON_INDENT(1));
    json_decref(output.object);
    if (text != NULL)
        accel_strbuf_printf(out, "%s\n", text);
    output.failed = text == NULL || out->failed;
    free(text);
    return output.failed ? accel_error_no_memory(error, "for the JSON of a snapshot") : ACCEL_OK;
}
