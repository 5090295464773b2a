/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/doctor/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/strbuf.h"
#include "core/profile/yaml.h"
#include "core/snapshot/fields.h"
#include "tools/doctor/doctor.h"

/* State of reading one file. */
struct reader {
    const char *path;
    struct accel_arena *arena;
    struct accel_error *error;
};

static int32_t refuse(const struct reader *reader, const struct accel_yaml_node *node, const char *text,
                      const char *value)
{
    return accel_yaml_refuse(reader->path, node, reader->error, ACCEL_E_CORRUPT, "%s%s%.80s%s", text,
                             value ? " \"" : "", value ? value : "", value ? "\"" : "");
}

static const char *place_of(const struct reader *reader, const struct accel_yaml_node *node)
{
    struct accel_strbuf text = {0};
    const char *place = NULL;
    accel_strbuf_printf(&text, "%s:%u", reader->path, node->line);
    if (!text.failed)
        place = accel_arena_strdup(reader->arena, text.text);
    accel_strbuf_free(&text);
    return place;
}

/* ---- values ---- */

static int32_t read_text(const struct reader *reader, const struct accel_yaml_node *node, const char **out_text)
{
    if (node->kind != ACCEL_YAML_TEXT || node->text[0] == '\0')
        return refuse(reader, node, "expected a text", NULL);
    *out_text = node->text;
    return ACCEL_OK;
}

static int32_t read_flag(const struct reader *reader, const struct accel_yaml_node *node, bool *out_flag)
{
    bool yes = node->kind == ACCEL_YAML_TEXT && strcmp(node->text, "true") == 0;
    if (!yes && (node->kind != ACCEL_YAML_TEXT || strcmp(node->text, "false") != 0))
        return refuse(reader, node, "expected true or false", NULL);
    *out_flag = yes;
    return ACCEL_OK;
}

/* Reads a list of texts; a single text is a list of one. */
static int32_t read_words(const struct reader *reader, const struct accel_yaml_node *node,
                          struct accel_doctor_words *out_words)
{
    uint32_t count = node->kind == ACCEL_YAML_SEQUENCE ? node->child_count : 1;
    const struct accel_yaml_node *item = node->kind == ACCEL_YAML_SEQUENCE ? node->first : node;
    const char **items = accel_arena_array(reader->arena, count, sizeof(*items));
    if (items == NULL)
        return accel_error_no_memory(reader->error, "to read %.200s", reader->path);
    for (uint32_t i = 0; i < count; i++, item = item->next) {
        int32_t code = read_text(reader, item, &items[i]);
        if (code != ACCEL_OK)
            return code;
    }
    out_words->items = items;
    out_words->count = count;
    return ACCEL_OK;
}

static int32_t read_number(const struct reader *reader, const struct accel_yaml_node *node, uint32_t *out_number)
{
    uint64_t number;
    if (node->kind != ACCEL_YAML_TEXT || !accel_fields_number(node->text, 0xffff, &number))
        return refuse(reader, node, "expected a number of 16 bits, such as 0x1af4", NULL);
    *out_number = (uint32_t)number;
    return ACCEL_OK;
}

static int32_t read_numbers(const struct reader *reader, const struct accel_yaml_node *node,
                            const uint32_t **out_numbers, uint32_t *out_count)
{
    uint32_t count = node->kind == ACCEL_YAML_SEQUENCE ? node->child_count : 1;
    const struct accel_yaml_node *item = node->kind == ACCEL_YAML_SEQUENCE ? node->first : node;
    uint32_t *numbers = accel_arena_array(reader->arena, count, sizeof(*numbers));
    if (numbers == NULL)
        return accel_error_no_memory(reader->error, "to read %.200s", reader->path);
    for (uint32_t i = 0; i < count; i++, item = item->next) {
        int32_t code = read_number(reader, item, &numbers[i]);
        if (code != ACCEL_OK)
            return code;
    }
    *out_numbers = numbers;
    *out_count = count;
    return ACCEL_OK;
}

/* ---- needs ---- */

static bool parse_need_kind(const char *key, enum accel_doctor_need_kind *out_kind)
{
    static const char *const names[] = {
        [DOCTOR_KERNEL] = "kernel", [DOCTOR_NODE] = "node", [DOCTOR_LIBRARY] = "library"};
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], key) != 0)
            continue;
        *out_kind = (enum accel_doctor_need_kind)i;
        return true;
    }
    return false;
}

static int32_t read_level(const struct reader *reader, const struct accel_yaml_node *node, uint32_t *out_state)
{
    bool warn = node->kind == ACCEL_YAML_TEXT && strcmp(node->text, "warn") == 0;
    if (!warn && (node->kind != ACCEL_YAML_TEXT || strcmp(node->text, "bad") != 0))
        return refuse(reader, node, "expected bad or warn", NULL);
    *out_state = warn ? ACCEL_DOCTOR_WARN : ACCEL_DOCTOR_BAD;
    return ACCEL_OK;
}

static int32_t read_need_key(const struct reader *reader, const struct accel_yaml_node *key,
                             struct accel_doctor_need *need)
{
    const struct accel_yaml_node *value = key->value;
    enum accel_doctor_need_kind kind;
    if (parse_need_kind(key->text, &kind)) {
        if (need->names.count != 0)
            return refuse(reader, key, "a need has only one of kernel, node and library, not also", key->text);
        need->kind = kind;
        return read_words(reader, value, &need->names);
    }
    if (strcmp(key->text, "level") == 0)
        return read_level(reader, value, &need->state);
    if (strcmp(key->text, "folders") == 0)
        return read_words(reader, value, &need->folders);
    if (strcmp(key->text, "for") == 0)
        return read_words(reader, value, &need->drivers);
    if (strcmp(key->text, "least") == 0)
        return read_text(reader, value, &need->least);
    if (strcmp(key->text, "remedy") == 0)
        return read_text(reader, value, &need->remedy);
    if (strcmp(key->text, "container") == 0)
        return read_text(reader, value, &need->container);
    if (strcmp(key->text, "because") == 0)
        return read_text(reader, value, &need->reason);
    return refuse(reader, key,
                  "a need knows kernel, node, library, folders, for, least, level, remedy, container and because, not",
                  key->text);
}

static int32_t read_need(const struct reader *reader, const struct accel_yaml_node *node,
                         struct accel_doctor_need *need)
{
    *need = (struct accel_doctor_need){
        .state = ACCEL_DOCTOR_BAD, .least = "", .container = "", .reason = "", .place = place_of(reader, node)};
    if (need->place == NULL)
        return accel_error_no_memory(reader->error, "to read %.200s", reader->path);
    if (node->kind != ACCEL_YAML_MAPPING)
        return refuse(reader, node, "a need is a mapping", NULL);
    for (const struct accel_yaml_node *key = node->first; key; key = key->next) {
        int32_t code = read_need_key(reader, key, need);
        if (code != ACCEL_OK)
            return code;
    }
    if (need->names.count == 0)
        return refuse(reader, node, "a need requires one of kernel, node and library", NULL);
    return need->remedy ? ACCEL_OK : refuse(reader, node, "a need without a remedy", NULL);
}

static int32_t read_needs(const struct reader *reader, const struct accel_yaml_node *list,
                          struct accel_doctor_entry *entry)
{
    struct accel_doctor_need *needs;
    uint32_t count = 0;
    if (list->kind != ACCEL_YAML_SEQUENCE)
        return refuse(reader, list, "needs are a list", NULL);
    needs = accel_arena_array(reader->arena, list->child_count, sizeof(*needs));
    if (needs == NULL)
        return accel_error_no_memory(reader->error, "to read %.200s", reader->path);
    for (const struct accel_yaml_node *node = list->first; node; node = node->next) {
        int32_t code = read_need(reader, node, &needs[count++]);
        if (code != ACCEL_OK)
            return code;
    }
    entry->needs = needs;
    entry->need_count = count;
    return ACCEL_OK;
}

/* ---- entries ---- */

static int32_t read_pci(const struct reader *reader, const struct accel_yaml_node *node,
                        struct accel_doctor_entry *entry)
{
    if (node->kind != ACCEL_YAML_MAPPING)
        return refuse(reader, node, "pci is a mapping", NULL);
    for (const struct accel_yaml_node *key = node->first; key; key = key->next) {
        int32_t code;
        if (strcmp(key->text, "vendor") == 0)
            code = read_number(reader, key->value, &entry->vendor);
        else if (strcmp(key->text, "device") == 0)
            code = read_numbers(reader, key->value, &entry->devices, &entry->device_count);
        else if (strcmp(key->text, "class") == 0)
            code = read_numbers(reader, key->value, &entry->classes, &entry->class_count);
        else
            code = refuse(reader, key, "pci knows vendor, device and class, not", key->text);
        if (code != ACCEL_OK)
            return code;
    }
    return entry->vendor ? ACCEL_OK : refuse(reader, node, "pci without a vendor", NULL);
}

static int32_t read_entry_key(const struct reader *reader, const struct accel_yaml_node *key,
                              struct accel_doctor_entry *entry)
{
    const struct accel_yaml_node *value = key->value;
    if (strcmp(key->text, "pci") == 0)
        return read_pci(reader, value, entry);
    if (strcmp(key->text, "tree") == 0)
        return read_words(reader, value, &entry->tree);
    if (strcmp(key->text, "drivers") == 0)
        return read_words(reader, value, &entry->drivers);
    if (strcmp(key->text, "computes") == 0)
        return read_flag(reader, value, &entry->computes);
    if (strcmp(key->text, "about") == 0)
        return read_text(reader, value, &entry->about);
    if (strcmp(key->text, "because") == 0)
        return read_text(reader, value, &entry->reason);
    if (strcmp(key->text, "needs") == 0)
        return read_needs(reader, value, entry);
    return refuse(reader, key, "hardware knows pci, tree, drivers, computes, about, because and needs, not", key->text);
}

static int32_t read_entry(const struct reader *reader, const struct accel_yaml_node *key,
                          struct accel_doctor_entry *entry)
{
    const struct accel_yaml_node *node = key->value;
    *entry = (struct accel_doctor_entry){
        .name = key->text, .about = "", .reason = "", .place = place_of(reader, key), .computes = true};
    if (entry->place == NULL)
        return accel_error_no_memory(reader->error, "to read %.200s", reader->path);
    if (node->kind != ACCEL_YAML_MAPPING)
        return refuse(reader, node, "hardware is a mapping", NULL);
    for (const struct accel_yaml_node *at = node->first; at; at = at->next) {
        int32_t code = read_entry_key(reader, at, entry);
        if (code != ACCEL_OK)
            return code;
    }
    if (entry->vendor == 0 && entry->tree.count == 0)
        return refuse(reader, key, "hardware without pci and tree is never met:", key->text);
    return ACCEL_OK;
}

static int32_t read_entries(const struct reader *reader, const struct accel_yaml_node *mapping,
                            struct accel_doctor_table *table)
{
    struct accel_doctor_entry *entries;
    uint32_t count = 0;
    if (mapping->kind != ACCEL_YAML_MAPPING)
        return refuse(reader, mapping, "hardware is a mapping", NULL);
    entries = accel_arena_array(reader->arena, mapping->child_count, sizeof(*entries));
    if (entries == NULL)
        return accel_error_no_memory(reader->error, "to read %.200s", reader->path);
    for (const struct accel_yaml_node *key = mapping->first; key; key = key->next) {
        int32_t code = read_entry(reader, key, &entries[count++]);
        if (code != ACCEL_OK)
            return code;
    }
    table->entries = entries;
    table->count = count;
    return ACCEL_OK;
}

static int32_t check_version(const struct reader *reader, const struct accel_yaml_node *key, bool *out_versioned)
{
    *out_versioned = key->value->kind == ACCEL_YAML_TEXT && strcmp(key->value->text, "1") == 0;
    return *out_versioned ? ACCEL_OK : refuse(reader, key, "this version reads accel-doctor: 1", NULL);
}

static int32_t read_root(const struct reader *reader, const struct accel_yaml_node *root,
                         struct accel_doctor_table *table)
{
    bool versioned = false;
    if (root->kind != ACCEL_YAML_MAPPING)
        return refuse(reader, root, "the file is a mapping", NULL);
    for (const struct accel_yaml_node *key = root->first; key; key = key->next) {
        int32_t code;
        if (strcmp(key->text, "hardware") == 0)
            code = read_entries(reader, key->value, table);
        else if (strcmp(key->text, "later") == 0)
            code = read_words(reader, key->value, &table->later);
        else if (strcmp(key->text, "accel-doctor") == 0)
            code = check_version(reader, key, &versioned);
        else
            code = refuse(reader, key, "the file knows accel-doctor, later and hardware, not", key->text);
        if (code != ACCEL_OK)
            return code;
    }
    return versioned ? ACCEL_OK : refuse(reader, root, "the file does not begin with accel-doctor: 1", NULL);
}

int32_t accel_doctor_table_parse(const char *path, const char *data, size_t bytes, struct accel_arena *arena,
                                 struct accel_doctor_table *out_table, struct accel_error *error)
{
    const char *copy = accel_arena_strdup(arena, path);
    const struct reader reader = {copy, arena, error};
    struct accel_yaml_node *root;
    int32_t code;
    *out_table = (struct accel_doctor_table){0};
    if (copy == NULL)
        return accel_error_no_memory(error, "to read %.200s", path);
    code = accel_yaml_parse(path, data, bytes, arena, &root, error);
    return code == ACCEL_OK ? read_root(&reader, root, out_table) : code;
}

int32_t accel_doctor_table_read(const char *path, struct accel_arena *arena, struct accel_doctor_table *out_table,
                                struct accel_error *error)
{
    char *data = NULL;
    size_t bytes = 0;
    int32_t code = accel_file_read(path, ACCEL_YAML_BYTES, &data, &bytes, error);
    if (code == ACCEL_OK)
        code = accel_doctor_table_parse(path, data, bytes, arena, out_table, error);
    free(data);
    return code;
}

/* ---- finding ---- */

static bool has_number(const uint32_t *numbers, uint32_t count, uint32_t wanted)
{
    for (uint32_t i = 0; i < count; i++)
        if (numbers[i] == wanted)
            return true;
    return count == 0;
}

bool accel_doctor_has_word(const struct accel_doctor_words *words, const char *word)
{
    for (uint32_t i = 0; i < words->count; i++)
        if (strcmp(words->items[i], word) == 0)
            return true;
    return false;
}

static bool begins(const struct accel_doctor_words *words, const char *text)
{
    for (uint32_t i = 0; i < words->count; i++)
        if (strncmp(words->items[i], text, strlen(words->items[i])) == 0)
            return true;
    return false;
}

const struct accel_doctor_entry *accel_doctor_table_find(const struct accel_doctor_table *table,
                                                         const struct accel_hardware *hardware)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const struct accel_doctor_entry *entry = &table->entries[i];
        if (hardware->kind == ACCEL_HARDWARE_NODE && begins(&entry->tree, hardware->compatible))
            return entry;
        if (hardware->kind == ACCEL_HARDWARE_PCI && entry->vendor == hardware->vendor &&
            has_number(entry->devices, entry->device_count, hardware->device) &&
            has_number(entry->classes, entry->class_count, hardware->device_class))
            return entry;
    }
    return NULL;
}
