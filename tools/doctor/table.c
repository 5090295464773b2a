/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/doctor/table.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/profile/members.h"
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

/* Reads one value into `out`, of the type that the name of the function says. */
typedef int32_t read_fn(const struct reader *reader, const struct accel_yaml_node *node, void *out);

/* A name of a mapping, and where in a struct its value goes. */
struct field {
    const char *name;
    read_fn *read;
    size_t offset;
    bool required;
};

static int32_t read_mapping(const struct reader *reader, const struct accel_yaml_node *node, const struct field *fields,
                            uint32_t count, void *out)
{
    struct accel_member members[ACCEL_MEMBERS_MAX] = {{0}};
    int32_t code;
    for (uint32_t i = 0; i < count; i++)
        members[i] = (struct accel_member){.name = fields[i].name, .required = fields[i].required, .any_kind = true};
    code = accel_members_read(reader->path, node, members, count, NULL, NULL, reader->error);
    for (uint32_t i = 0; code == ACCEL_OK && i < count; i++)
        if (members[i].value)
            code = fields[i].read(reader, members[i].value, (char *)out + fields[i].offset);
    return code;
}

/* Reads a list of values of `bytes` each; a single value is a list of one. */
static int32_t read_list(const struct reader *reader, const struct accel_yaml_node *node, size_t bytes, read_fn *read,
                         void **out_items, uint32_t *out_count)
{
    const struct accel_yaml_node *item = node->kind == ACCEL_YAML_SEQUENCE ? node->first : node;
    char *at;
    int32_t code = ACCEL_OK;
    *out_count = node->kind == ACCEL_YAML_SEQUENCE ? node->child_count : 1;
    *out_items = at = accel_arena_array(reader->arena, *out_count, bytes);
    if (at == NULL)
        return accel_error_no_memory(reader->error, "to read %.200s", reader->path);
    for (uint32_t i = 0; code == ACCEL_OK && i < *out_count; i++, item = item->next)
        code = read(reader, item, at + i * bytes);
    return code;
}

static int32_t set_place(const struct reader *reader, const struct accel_yaml_node *node, const char **out_place)
{
    *out_place = accel_members_place(reader->path, node, reader->arena);
    return *out_place ? ACCEL_OK : accel_error_no_memory(reader->error, "to read %.200s", reader->path);
}

/* ---- values ---- */

static int32_t read_text(const struct reader *reader, const struct accel_yaml_node *node, void *out)
{
    if (node->kind != ACCEL_YAML_TEXT || node->text[0] == '\0')
        return refuse(reader, node, "expected a text", NULL);
    *(const char **)out = node->text;
    return ACCEL_OK;
}

/* Reads whether a text is the first of two words. */
static int32_t read_choice(const struct reader *reader, const struct accel_yaml_node *node, const char *yes,
                           const char *no, bool *out_yes)
{
    char text[40];
    *out_yes = node->kind == ACCEL_YAML_TEXT && strcmp(node->text, yes) == 0;
    if (*out_yes || (node->kind == ACCEL_YAML_TEXT && strcmp(node->text, no) == 0))
        return ACCEL_OK;
    snprintf(text, sizeof(text), "expected %s or %s", yes, no);
    return refuse(reader, node, text, NULL);
}

static int32_t read_flag(const struct reader *reader, const struct accel_yaml_node *node, void *out)
{
    return read_choice(reader, node, "true", "false", out);
}

static int32_t read_words(const struct reader *reader, const struct accel_yaml_node *node, void *out)
{
    struct accel_doctor_words *words = out;
    void *items;
    int32_t code = read_list(reader, node, sizeof(*words->items), read_text, &items, &words->count);
    words->items = items;
    return code;
}

static int32_t read_number(const struct reader *reader, const struct accel_yaml_node *node, void *out)
{
    uint64_t number;
    if (node->kind != ACCEL_YAML_TEXT || !accel_fields_number(node->text, 0xffff, &number))
        return refuse(reader, node, "expected a number of 16 bits, such as 0x1af4", NULL);
    *(uint32_t *)out = (uint32_t)number;
    return ACCEL_OK;
}

static int32_t read_numbers(const struct reader *reader, const struct accel_yaml_node *node, void *out)
{
    struct accel_doctor_numbers *numbers = out;
    void *items;
    int32_t code = read_list(reader, node, sizeof(*numbers->items), read_number, &items, &numbers->count);
    numbers->items = items;
    return code;
}

/* ---- needs ---- */

static int32_t read_level(const struct reader *reader, const struct accel_yaml_node *node, void *out)
{
    bool is_bad;
    int32_t code = read_choice(reader, node, "bad", "warn", &is_bad);
    *(uint32_t *)out = is_bad ? ACCEL_DOCTOR_BAD : ACCEL_DOCTOR_WARN;
    return code;
}

/* A need with the names of each kind, of which it has one. */
struct read_need {
    struct accel_doctor_need need;
    struct accel_doctor_words names[DOCTOR_LIBRARY + 1];
};

static const struct field need_fields[] = {
    {"kernel", read_words, offsetof(struct read_need, names[DOCTOR_KERNEL]), false},
    {"node", read_words, offsetof(struct read_need, names[DOCTOR_NODE]), false},
    {"library", read_words, offsetof(struct read_need, names[DOCTOR_LIBRARY]), false},
    {"level", read_level, offsetof(struct read_need, need.state), false},
    {"folders", read_words, offsetof(struct read_need, need.folders), false},
    {"for", read_words, offsetof(struct read_need, need.drivers), false},
    {"least", read_text, offsetof(struct read_need, need.least), false},
    {"remedy", read_text, offsetof(struct read_need, need.remedy), true},
    {"container", read_text, offsetof(struct read_need, need.container), false},
    {"because", read_text, offsetof(struct read_need, need.reason), false},
};

static int32_t read_need(const struct reader *reader, const struct accel_yaml_node *node, void *out)
{
    struct read_need read = {
        .need = {.state = ACCEL_DOCTOR_BAD, .least = "", .container = "", .reason = ""},
    };
    uint32_t kinds = 0;
    int32_t code = set_place(reader, node, &read.need.place);
    if (code == ACCEL_OK)
        code = read_mapping(reader, node, need_fields, sizeof(need_fields) / sizeof(*need_fields), &read);
    if (code != ACCEL_OK)
        return code;
    for (uint32_t i = 0; i <= DOCTOR_LIBRARY; i++) {
        if (read.names[i].count == 0)
            continue;
        read.need.kind = (enum accel_doctor_need_kind)i;
        read.need.names = read.names[i];
        kinds++;
    }
    if (kinds != 1)
        return refuse(reader, node, "a need requires one of kernel, node and library", NULL);
    *(struct accel_doctor_need *)out = read.need;
    return ACCEL_OK;
}

static int32_t read_needs(const struct reader *reader, const struct accel_yaml_node *node, void *out)
{
    struct accel_doctor_entry *entry = out;
    void *items;
    int32_t code = read_list(reader, node, sizeof(*entry->needs), read_need, &items, &entry->need_count);
    entry->needs = items;
    return code;
}

/* ---- entries ---- */

static const struct field pci_fields[] = {
    {"vendor", read_number, offsetof(struct accel_doctor_entry, vendor), true},
    {"device", read_numbers, offsetof(struct accel_doctor_entry, devices), false},
    {"class", read_numbers, offsetof(struct accel_doctor_entry, classes), false},
};

static int32_t read_pci(const struct reader *reader, const struct accel_yaml_node *node, void *out)
{
    return read_mapping(reader, node, pci_fields, sizeof(pci_fields) / sizeof(*pci_fields), out);
}

static const struct field entry_fields[] = {
    {"pci", read_pci, 0, false},
    {"tree", read_words, offsetof(struct accel_doctor_entry, tree), false},
    {"drivers", read_words, offsetof(struct accel_doctor_entry, drivers), false},
    {"computes", read_flag, offsetof(struct accel_doctor_entry, computes), false},
    {"about", read_text, offsetof(struct accel_doctor_entry, about), false},
    {"because", read_text, offsetof(struct accel_doctor_entry, reason), false},
    {"needs", read_needs, 0, false},
};

static int32_t read_entry(const struct reader *reader, const struct accel_yaml_node *key,
                          struct accel_doctor_entry *entry)
{
    int32_t code;
    *entry = (struct accel_doctor_entry){.name = key->text, .about = "", .reason = "", .computes = true};
    code = set_place(reader, key, &entry->place);
    if (code == ACCEL_OK)
        code = read_mapping(reader, key->value, entry_fields, sizeof(entry_fields) / sizeof(*entry_fields), entry);
    if (code == ACCEL_OK && entry->vendor == 0 && entry->tree.count == 0)
        return refuse(reader, key, "hardware without pci and tree is never met:", key->text);
    return code;
}

static int32_t read_entries(const struct reader *reader, const struct accel_yaml_node *node, void *out)
{
    struct accel_doctor_table *table = out;
    struct accel_doctor_entry *entries;
    int32_t code = ACCEL_OK;
    if (node->kind != ACCEL_YAML_MAPPING)
        return refuse(reader, node, "hardware is a mapping", NULL);
    table->entries = entries = accel_arena_array(reader->arena, node->child_count, sizeof(*entries));
    if (entries == NULL)
        return accel_error_no_memory(reader->error, "to read %.200s", reader->path);
    for (const struct accel_yaml_node *key = node->first; code == ACCEL_OK && key; key = key->next)
        code = read_entry(reader, key, &entries[table->count++]);
    return code;
}

static int32_t check_version(const struct reader *reader, const struct accel_yaml_node *node, void *out)
{
    (void)out;
    return node->kind == ACCEL_YAML_TEXT && strcmp(node->text, "1") == 0
               ? ACCEL_OK
               : refuse(reader, node, "this version reads accel-doctor: 1", NULL);
}

static const struct field root_fields[] = {
    {"accel-doctor", check_version, 0, true},
    {"later", read_words, offsetof(struct accel_doctor_table, later), false},
    {"hardware", read_entries, 0, false},
};

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
    return code == ACCEL_OK
               ? read_mapping(&reader, root, root_fields, sizeof(root_fields) / sizeof(*root_fields), out_table)
               : code;
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

static bool has_number(const struct accel_doctor_numbers *numbers, uint32_t wanted)
{
    for (uint32_t i = 0; i < numbers->count; i++)
        if (numbers->items[i] == wanted)
            return true;
    return numbers->count == 0;
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
            has_number(&entry->devices, hardware->device) && has_number(&entry->classes, hardware->device_class))
            return entry;
    }
    return NULL;
}
