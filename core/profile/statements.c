/* SPDX-License-Identifier: Apache-2.0 */
/* Reads defaults, facts, rules and locks of a profile, each validated against the tables of settings and facts. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/text.h"
#include "core/profile/loader.h"
#include "core/profile/members.h"

static const char *place_of(const struct accel_loader *loader, const struct accel_yaml_node *node)
{
    return accel_members_place(loader->path, node, &loader->file->arena);
}

/* ---- settings ---- */

static int32_t find_platform(const struct accel_loader *loader, const char *name, size_t length, bool *out_found)
{
    char leaf[ACCEL_PROFILE_NAME_MAX + sizeof(".yaml")], *path;
    *out_found = true;
    if (loader->layer == ACCEL_LAYER_PLATFORM && strlen(loader->file->name) == length &&
        strncmp(name, loader->file->name, length) == 0)
        return ACCEL_OK;
    *out_found = false;
    if (loader->root == NULL || length > ACCEL_PROFILE_NAME_MAX)
        return ACCEL_OK;
    snprintf(leaf, sizeof(leaf), "%.*s.yaml", (int)length, name);
    path = accel_file_join(loader->root, leaf);
    if (path == NULL)
        return accel_error_no_memory(loader->error, "to read profile %s", loader->file->name);
    *out_found = access(path, F_OK) == 0;
    free(path);
    return ACCEL_OK;
}

/* Makes a row for an option of a driver that has a file: "cpu.isa". *out_key is NULL if there is no such option. */
static int32_t option_key(const struct accel_loader *loader, const char *name, const struct accel_setting_row **out_key)
{
    size_t length = strcspn(name, ".");
    bool found;
    if (length == 0 || name[length] == 0 || name[length + 1] == 0 || strchr(name, '/') || accel_key_meant(name))
        return ACCEL_OK;
    if (find_platform(loader, name, length, &found) != ACCEL_OK)
        return ACCEL_E_MEMORY;
    if (!found)
        return ACCEL_OK;
    *out_key = accel_key_of_option(name, &loader->file->arena);
    return *out_key ? ACCEL_OK : accel_error_no_memory(loader->error, "to read profile %s", loader->file->name);
}

static int32_t find_key(const struct accel_loader *loader, const struct accel_yaml_node *node,
                        const struct accel_setting_row **out_key)
{
    const bool is_fact = accel_known_fact_find(node->text) != NULL;
    const char *near;
    *out_key = accel_key_find(node->text);
    if (*out_key == NULL && option_key(loader, node->text, out_key) != ACCEL_OK)
        return ACCEL_E_MEMORY;
    if (*out_key)
        return ACCEL_OK;
    near = accel_key_meant(node->text);
    if (near == NULL && strchr(node->text, ':') == NULL && !is_fact)
        near = accel_key_suggest(node->text);
    accel_members_refuse_word(loader->path, node, near, loader->error, "setting \"%.80s\" is unknown", node->text);
    return accel_error_advise(
        loader->error, ACCEL_E_INVALID,
        is_fact ? "it is a fact, which a file of a device states under facts (accelctl profile facts)"
                : "accelctl profile settings lists them, and accelctl plugins the drivers with options");
}

/* Returns the first setting whose name begins with a word and a dot, "kv.type.k" for "kv"; NULL if there is none. */
static const struct accel_setting_row *first_of_group(const char *name)
{
    size_t length = strlen(name);
    for (uint32_t i = 0; i < accel_setting_row_count(); i++) {
        const struct accel_setting_row *key = accel_setting_row_get(i);
        if (strncmp(key->name, name, length) == 0 && key->name[length] == '.')
            return key;
    }
    return NULL;
}

/* Refuses "kv: {type: ...}": names have dots instead of nesting. ACCEL_OK for anything else. */
static int32_t refuse_levels(const struct accel_loader *loader, const struct accel_yaml_node *key)
{
    const struct accel_setting_row *first, *below;
    char name[80];
    if (key->value == NULL || key->value->kind != ACCEL_YAML_MAPPING || accel_key_find(key->text) ||
        (accel_key_group_find(key->text) && key->value->first && strcmp(key->value->first->text, "value") == 0) ||
        (first = first_of_group(key->text)) == NULL)
        return ACCEL_OK;
    if (key->value->first) {
        snprintf(name, sizeof(name), "%.30s.%.40s", key->text, key->value->first->text);
        below = accel_key_find(name) ? accel_key_find(name) : first_of_group(name);
        first = below ? below : first;
    }
    accel_loader_refuse(loader, key, "\"%.80s\" is no setting by itself", key->text);
    return accel_error_advise(loader->error, ACCEL_E_INVALID, "settings are written with dots: %s", first->name);
}

/* Checks that values which nothing honors yet, and only those, are under `later:`. Files of the site are the user's. */
static int32_t check_section(const struct accel_loader *loader, const struct accel_yaml_node *key,
                             const struct accel_setting_row *known, const char *value)
{
    bool is_later = known->honored == ACCEL_HONORED_LATER;
    bool is_site = loader->layer >= ACCEL_LAYER_SYSTEM;
    int32_t code = is_later && is_site ? ACCEL_E_UNSUPPORTED : ACCEL_E_INVALID;
    if (is_later == loader->in_later || (is_site && strcmp(value, known->preset) == 0))
        return ACCEL_OK;
    if (!is_later) {
        accel_yaml_refuse(loader->path, key, loader->error, code, "%s is honored (%s)", known->name, known->by);
        return accel_error_advise(loader->error, code, "write it below \"defaults:\" or \"rules:\"");
    }
    accel_yaml_refuse(loader->path, key, loader->error, code, "%s=%.60s is not honored yet (later: %s)", known->name,
                      value, known->by);
    return accel_error_advise(loader->error, code, is_site ? "leave %s out" : "write %s into a rule below \"later:\"",
                              known->name);
}

static int32_t add_one(struct accel_loader *loader, const struct accel_yaml_node *key,
                       const struct accel_setting_row *known, const struct accel_yaml_node *value,
                       const struct accel_condition *conditions, const char *reason)
{
    struct accel_statement *statement = accel_arena_array(&loader->file->arena, 1, sizeof(*statement));
    char why[200], lower[ACCEL_KEY_LOWER];
    const char *text;
    int32_t code;
    if (value->kind != ACCEL_YAML_TEXT)
        return accel_loader_refuse(loader, value, "a value is plain text");
    text = accel_arena_strdup(&loader->file->arena, accel_key_spelling(known, value->text, lower));
    if (statement == NULL || text == NULL || (statement->place = place_of(loader, key)) == NULL)
        return accel_error_no_memory(loader->error, "to read profile %s", loader->file->name);
    if (!accel_key_parse(known, text, &statement->value, why, sizeof(why))) {
        accel_loader_refuse(loader, value, "%s: %s", key->text, why);
        return accel_error_advise(loader->error, ACCEL_E_INVALID,
                                  "accelctl profile settings %s lists the allowed values", known->name);
    }
    code = check_section(loader, key, known, text);
    if (code != ACCEL_OK)
        return code;
    if (strcmp(known->name, "fallback.device") == 0 && strcmp(statement->value.word, "deny") != 0) {
        accel_loader_refuse(loader, value,
                            "%s: no file can loosen it to \"%s\": only the caller and the environment "
                            "(ACCEL_FALLBACK_DEVICE) can allow another device",
                            key->text, value->text);
        return accel_error_advise(loader->error, ACCEL_E_INVALID,
                                  "leave it out of the file, and type --set fallback.device=%s, or set "
                                  "ACCEL_FALLBACK_DEVICE=%s",
                                  value->text, value->text);
    }
    statement->key = known;
    statement->conditions = conditions;
    statement->reason = reason;
    if (loader->file->last)
        loader->file->last->next = statement;
    else
        loader->file->first = statement;
    loader->file->last = statement;
    return ACCEL_OK;
}

/* Adds a value for a setting, or for each setting of a group. */
static int32_t add_statement(struct accel_loader *loader, const struct accel_yaml_node *key,
                             const struct accel_yaml_node *value, const struct accel_condition *conditions,
                             const char *reason)
{
    const struct accel_key_group *group = accel_key_group_find(key->text);
    const struct accel_setting_row *known;
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; group && i < 2 && code == ACCEL_OK; i++)
        code = add_one(loader, key, accel_key_find(group->members[i]), value, conditions, reason);
    if (group)
        return code;
    code = refuse_levels(loader, key);
    if (code == ACCEL_OK)
        code = find_key(loader, key, &known);
    return code == ACCEL_OK ? add_one(loader, key, known, value, conditions, reason) : code;
}

static int32_t read_members(const struct accel_loader *loader, const struct accel_yaml_node *mapping,
                            struct accel_member *members, uint32_t count)
{
    return accel_members_read(loader->path, mapping, members, count, NULL, loader->faults, loader->error);
}

/* ---- the sections ---- */

/* Reads "key: value", or "key: {value: ..., because: ...}". */
int32_t accel_loader_default(struct accel_loader *loader, const struct accel_yaml_node *key)
{
    struct accel_member members[] = {{"value", true, ACCEL_YAML_TEXT, false, NULL},
                                     {"because", loader->layer < ACCEL_LAYER_SYSTEM, ACCEL_YAML_TEXT, false, NULL}};
    int32_t code;
    if (key->value->kind == ACCEL_YAML_TEXT)
        return add_statement(loader, key, key->value, NULL, "");
    code = refuse_levels(loader, key);
    if (code == ACCEL_OK)
        code = read_members(loader, key->value, members, 2);
    return code == ACCEL_OK
               ? add_statement(loader, key, members[0].value, NULL, members[1].value ? members[1].value->text : "")
               : code;
}

/* Returns whether a file may state a fact: those of devices and models belong into files of devices and models. */
static bool may_state(const struct accel_loader *loader, const char *fact)
{
    static const char *const others[] = {"device.", "driver.", "host.", "client.", "request.", "platform"};
    if (loader->layer == ACCEL_LAYER_DEVICE)
        return strncmp(fact, "device.", 7) == 0 && strcmp(fact, "device.profile") != 0;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strncmp(fact, others[i], strlen(others[i])) == 0)
            return false;
    return true;
}

/* Reads a value in the form of facts: numbers with a unit become numbers in the base unit, without it. */
static int32_t read_fact_value(struct accel_loader *loader, const struct accel_yaml_node *node,
                               const struct accel_fact_row *fact, const char **out_value)
{
    const char *words = accel_known_fact_words(fact->name), *unit = "";
    int64_t number;
    char text[24];
    *out_value = node->text;
    if (*node->text == 0)
        return accel_loader_refuse(loader, node, "fact %s is empty", fact->name);
    if (words && !accel_word_is_among(words, node->text))
        return accel_loader_refuse(loader, node, "fact %s: \"%.60s\" is none of: %s", fact->name, node->text, words);
    if (*fact->unit == 0)
        return ACCEL_OK;
    if (!accel_number_parse(node->text, &number, &unit) || strcmp(unit, fact->unit) != 0)
        return accel_loader_refuse(loader, node, "fact %s: \"%.60s\" is not a whole number with its unit, %s",
                                   fact->name, node->text, strcmp(fact->unit, "bytes") == 0 ? "GiB or GB" : fact->unit);
    snprintf(text, sizeof(text), "%" PRId64, number);
    *out_value = accel_arena_strdup(&loader->file->arena, text);
    return *out_value ? ACCEL_OK : accel_error_no_memory(loader->error, "to read profile %s", loader->file->name);
}

static int32_t find_fact(const struct accel_loader *loader, const struct accel_yaml_node *key,
                         const struct accel_fact_row **out_fact)
{
    *out_fact = accel_known_fact_find(key->text);
    if (*out_fact == NULL)
        return accel_members_refuse_word(loader->path, key, accel_known_fact_suggest(key->text), loader->error,
                                         "fact \"%.80s\" is unknown", key->text);
    if (!may_state(loader, key->text))
        return accel_loader_refuse(loader, key, "fact %s is not for a file of %s to state", key->text,
                                   accel_profile_layer_folder(loader->layer));
    return ACCEL_OK;
}

/* Reads "fact: value", or "fact: {value: ..., because: ...}". */
int32_t accel_loader_fact(struct accel_loader *loader, const struct accel_yaml_node *key)
{
    struct accel_member members[] = {{"value", true, ACCEL_YAML_TEXT, false, NULL},
                                     {"because", true, ACCEL_YAML_TEXT, false, NULL}};
    struct accel_fact_statement *statement = accel_arena_array(&loader->file->arena, 1, sizeof(*statement));
    const struct accel_yaml_node *value = key->value;
    int32_t code = statement ? find_fact(loader, key, &statement->fact)
                             : accel_error_no_memory(loader->error, "to read profile %s", loader->file->name);
    if (code == ACCEL_OK && value->kind != ACCEL_YAML_TEXT) {
        code = read_members(loader, value, members, 2);
        value = members[0].value;
    }
    if (code == ACCEL_OK)
        code = read_fact_value(loader, value, statement->fact, &statement->value);
    if (code != ACCEL_OK)
        return code;
    statement->reason = members[1].value ? members[1].value->text : "";
    statement->place = place_of(loader, key);
    if (statement->place == NULL)
        return accel_error_no_memory(loader->error, "to read profile %s", loader->file->name);
    if (loader->file->last_fact)
        loader->file->last_fact->next = statement;
    else
        loader->file->facts = statement;
    loader->file->last_fact = statement;
    return ACCEL_OK;
}

int32_t accel_loader_rule(struct accel_loader *loader, const struct accel_yaml_node *rule)
{
    struct accel_member members[] = {{"when", false, ACCEL_YAML_TEXT, true, NULL},
                                     {"set", true, ACCEL_YAML_MAPPING, false, NULL},
                                     {"because", true, ACCEL_YAML_TEXT, false, NULL}};
    const struct accel_condition *conditions = NULL;
    int32_t code = read_members(loader, rule, members, 3);
    if (code == ACCEL_OK && members[0].value)
        code = accel_faults_pass(
            loader->faults,
            accel_condition_read(loader->path, members[0].value, &loader->file->arena, &conditions, loader->error),
            loader->error);
    if (code != ACCEL_OK)
        return code;
    for (const struct accel_yaml_node *key = members[1].value->first; key && code == ACCEL_OK; key = key->next)
        code = accel_faults_pass(
            loader->faults, add_statement(loader, key, key->value, conditions, members[2].value->text), loader->error);
    return code;
}

int32_t accel_loader_later(struct accel_loader *loader, const struct accel_yaml_node *rule)
{
    int32_t code;
    if (loader->layer >= ACCEL_LAYER_SYSTEM)
        return accel_loader_refuse(loader, rule, "\"later\" is for profiles, not for files of the site");
    loader->in_later = true;
    code = accel_loader_rule(loader, rule);
    loader->in_later = false;
    return code;
}

int32_t accel_loader_lock(struct accel_loader *loader, const struct accel_yaml_node *node)
{
    struct accel_lock *lock;
    const struct accel_setting_row *key;
    int32_t code;
    if (node->kind != ACCEL_YAML_TEXT)
        return accel_loader_refuse(loader, node, "\"lock\" is a list of settings");
    code = find_key(loader, node, &key);
    if (code != ACCEL_OK)
        return code;
    lock = accel_arena_array(&loader->file->arena, 1, sizeof(*lock));
    if (lock == NULL || (lock->place = place_of(loader, node)) == NULL)
        return accel_error_no_memory(loader->error, "to read profile %s", loader->file->name);
    lock->key = node->text;
    lock->next = loader->file->locks;
    loader->file->locks = lock;
    return ACCEL_OK;
}
