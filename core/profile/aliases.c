/* SPDX-License-Identifier: Apache-2.0 */
/* Reads environment.yaml, the table of other names that the environment may use for settings. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/profile/environment.h"
#include "core/profile/members.h"
#include "core/profile/yaml.h"

/** State of reading one table. */
struct reading {
    struct accel_aliases *aliases;
    struct accel_faults *faults; /* NULL: reading stops at the first error */
    struct accel_error *error;
};

static int32_t refuse(const struct reading *r, const struct accel_yaml_node *node, const char *text)
{
    return accel_yaml_refuse(r->aliases->path, node, r->error, ACCEL_E_INVALID, "%s", text);
}

static int32_t find_key(const struct reading *r, const struct accel_yaml_node *node,
                        const struct accel_setting_row **out_key)
{
    *out_key = accel_key_find(node->text);
    if (*out_key)
        return ACCEL_OK;
    return accel_members_refuse_word(r->aliases->path, node, accel_key_suggest(node->text), r->error,
                                     "setting \"%.80s\" is unknown", node->text);
}

/* Adds a setting of a value, after a check that the setting accepts it. */
static int32_t add_setting(const struct reading *r, struct accel_alias_value *value,
                           const struct accel_setting_row *key, const struct accel_yaml_node *node)
{
    struct accel_alias_setting *setting = accel_arena_array(&r->aliases->arena, 1, sizeof(*setting));
    struct accel_alias_setting **end = &value->settings;
    struct accel_key_value checked;
    char why[200];
    if (setting == NULL)
        return accel_error_no_memory(r->error, "to read the table of variables");
    if (node->kind != ACCEL_YAML_TEXT)
        return refuse(r, node, "a value is plain text");
    if (!accel_key_parse(key, node->text, &checked, why, sizeof(why)))
        return accel_yaml_refuse(r->aliases->path, node, r->error, ACCEL_E_INVALID, "%s: %s", key->name, why);
    setting->key = key;
    setting->text = node->text;
    while (*end)
        end = &(*end)->next;
    *end = setting;
    return ACCEL_OK;
}

static int32_t add_settings(const struct reading *r, struct accel_alias_value *value,
                            const struct accel_yaml_node *mapping)
{
    int32_t code = ACCEL_OK;
    if (mapping->kind != ACCEL_YAML_MAPPING)
        return refuse(r, mapping, "each value of \"set\" requires a mapping of settings");
    for (const struct accel_yaml_node *node = mapping->first; node && code == ACCEL_OK; node = node->next) {
        const struct accel_setting_row *key;
        code = find_key(r, node, &key);
        if (code == ACCEL_OK)
            code = add_setting(r, value, key, node->value);
        code = accel_faults_pass(r->faults, code, r->error);
    }
    return code;
}

/* Reads the values of an alias: {"1": q4, "0": auto} of one setting, or {"1": {weights.type: q4}, "0": {}}. */
static int32_t read_values(const struct reading *r, struct accel_alias *alias, const struct accel_yaml_node *mapping)
{
    struct accel_alias_value **end = &alias->values;
    int32_t code = ACCEL_OK;
    if (mapping->first == NULL)
        return refuse(r, mapping, "at least one value belongs here");
    for (const struct accel_yaml_node *node = mapping->first; node && code == ACCEL_OK; node = node->next) {
        struct accel_alias_value *value = accel_arena_array(&r->aliases->arena, 1, sizeof(*value));
        if (value == NULL)
            return accel_error_no_memory(r->error, "to read the table of variables");
        value->text = node->text;
        *end = value;
        end = &value->next;
        code = alias->key ? add_setting(r, value, alias->key, node->value) : add_settings(r, value, node->value);
        code = accel_faults_pass(r->faults, code, r->error);
    }
    return code;
}

static int32_t check_unit(const struct reading *r, const struct accel_alias *alias, const struct accel_yaml_node *node)
{
    const char *base = "", *wanted = alias->key->type == ACCEL_SETTING_DURATION ? "ms" : alias->key->unit;
    int64_t number;
    char text[40];
    snprintf(text, sizeof(text), "1%.30s", node->text);
    if (*node->text == 0 || !accel_number_parse(text, &number, &base) || strcmp(base, wanted) != 0)
        return accel_yaml_refuse(r->aliases->path, node, r->error, ACCEL_E_INVALID, "\"%.20s\" is no unit of %s",
                                 node->text, alias->key->name);
    return ACCEL_OK;
}

static int32_t check_name(const struct reading *r, const struct accel_yaml_node *node)
{
    size_t length = strspn(node->text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (length == 0 || length > 80 || node->text[length] != 0 || (*node->text >= '0' && *node->text <= '9'))
        return refuse(r, node, "the name of a variable consists of capitals, numerals and '_', at most 80");
    if (strncmp(node->text, "ACCEL_", 6) == 0)
        return refuse(r, node, "ACCEL_... are the settings' own names, which no table changes");
    return ACCEL_OK;
}

static int32_t fill(const struct reading *r, struct accel_alias *alias, const struct accel_yaml_node *node)
{
    struct accel_member members[] = {
        {"key", false, ACCEL_YAML_TEXT, false, NULL},       {"unit", false, ACCEL_YAML_TEXT, false, NULL},
        {"values", false, ACCEL_YAML_MAPPING, false, NULL}, {"set", false, ACCEL_YAML_MAPPING, false, NULL},
        {"because", true, ACCEL_YAML_TEXT, false, NULL},
    };
    const struct accel_yaml_node *key, *unit, *values, *set;
    int32_t code = accel_members_read(r->aliases->path, node->value, members, 5, NULL, r->faults, r->error);
    if (code != ACCEL_OK)
        return code;
    key = members[0].value;
    unit = members[1].value;
    values = members[2].value;
    set = members[3].value;
    if ((key == NULL) == (set == NULL) || (set && (unit || values)) || (unit && values))
        return refuse(r, node, "a variable has either \"set\", or \"key\" with \"unit\", with \"values\", or alone");
    alias->reason = members[4].value->text;
    if (key)
        code = find_key(r, key, &alias->key);
    if (code == ACCEL_OK && unit) {
        alias->unit = unit->text;
        code = check_unit(r, alias, unit);
    }
    if (code == ACCEL_OK && (set || values))
        code = read_values(r, alias, set ? set : values);
    return code;
}

static int32_t read_alias(const struct reading *r, const struct accel_yaml_node *node)
{
    struct accel_alias *alias = accel_arena_array(&r->aliases->arena, 1, sizeof(*alias));
    int32_t code;
    if (alias == NULL || (alias->place = accel_members_place(r->aliases->path, node, &r->aliases->arena)) == NULL)
        return accel_error_no_memory(r->error, "to read the table of variables");
    alias->name = node->text;
    alias->unit = "";
    code = accel_faults_pass(r->faults, check_name(r, node), r->error);
    if (code == ACCEL_OK)
        code = accel_faults_pass(r->faults, fill(r, alias, node), r->error);
    if (r->aliases->last)
        r->aliases->last->next = alias;
    else
        r->aliases->first = alias;
    r->aliases->last = alias;
    r->aliases->count++;
    return code;
}

static int32_t read_prefixes(const struct reading *r, const struct accel_yaml_node *list)
{
    int32_t code = ACCEL_OK;
    for (const struct accel_yaml_node *node = list ? list->first : NULL; node && code == ACCEL_OK; node = node->next) {
        struct accel_alias_prefix *prefix = accel_arena_array(&r->aliases->arena, 1, sizeof(*prefix));
        if (prefix == NULL)
            return accel_error_no_memory(r->error, "to read the table of variables");
        prefix->text = node->kind == ACCEL_YAML_TEXT ? node->text : "";
        prefix->next = r->aliases->prefixes;
        r->aliases->prefixes = prefix;
        code = node->kind == ACCEL_YAML_TEXT ? check_name(r, node) : refuse(r, node, "a prefix is plain text");
        code = accel_faults_pass(r->faults, code, r->error);
    }
    return code;
}

static int32_t read_table(const struct reading *r, const char *data, size_t bytes)
{
    struct accel_member members[] = {{"accel-environment", true, ACCEL_YAML_TEXT, false, NULL},
                                     {"about", false, ACCEL_YAML_TEXT, false, NULL},
                                     {"prefixes", false, ACCEL_YAML_SEQUENCE, false, NULL},
                                     {"variables", true, ACCEL_YAML_MAPPING, false, NULL}};
    struct accel_yaml_node *root;
    int32_t code = accel_yaml_parse(r->aliases->path, data, bytes, &r->aliases->arena, &root, r->error);
    if (code == ACCEL_OK)
        code = accel_members_read(r->aliases->path, root, members, 4, NULL, r->faults, r->error);
    if (code == ACCEL_OK && strcmp(members[0].value->text, "1") != 0)
        return refuse(r, members[0].value, "only version 1 of the table is known");
    if (code != ACCEL_OK)
        return code;
    code = read_prefixes(r, members[2].value);
    for (const struct accel_yaml_node *node = members[3].value->first; node && code == ACCEL_OK; node = node->next)
        code = read_alias(r, node);
    return code;
}

static int32_t begin(struct accel_aliases *aliases, const char *path, struct accel_error *error)
{
    *aliases = (struct accel_aliases){0};
    accel_arena_init(&aliases->arena, (size_t)64 << 20);
    aliases->path = accel_arena_strdup(&aliases->arena, path);
    return aliases->path ? ACCEL_OK : accel_error_no_memory(error, "to read the table of variables");
}

int32_t accel_aliases_parse(struct accel_aliases *aliases, const char *path, const char *data, size_t bytes,
                            struct accel_faults *faults, struct accel_error *error)
{
    const struct reading r = {aliases, faults, error};
    int32_t code = begin(aliases, path, error);
    return code == ACCEL_OK ? read_table(&r, data, bytes) : code;
}

int32_t accel_aliases_read(struct accel_aliases *aliases, const char *root, struct accel_error *error)
{
    const struct reading r = {aliases, NULL, error};
    char *path = accel_file_join(root, "environment.yaml"), *data = NULL;
    size_t bytes;
    int32_t code = begin(aliases, path ? path : "", error);
    if (code == ACCEL_OK && path == NULL)
        code = accel_error_no_memory(r.error, "to read the table of variables");
    if (code == ACCEL_OK) {
        struct accel_error why = {0};
        code = accel_file_read(path, ACCEL_YAML_BYTES, &data, &bytes, &why);
        aliases->is_absent = code == ACCEL_E_NOT_FOUND;
        if (code != ACCEL_OK && !aliases->is_absent)
            accel_error_copy(error, &why);
    }
    free(path);
    if (code == ACCEL_OK)
        code = read_table(&r, data, bytes);
    free(data);
    return aliases->is_absent ? ACCEL_OK : code;
}

void accel_aliases_free(struct accel_aliases *aliases)
{
    accel_arena_free(&aliases->arena);
    *aliases = (struct accel_aliases){0};
}
