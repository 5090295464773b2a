/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/profile/environment.h"

#include <stdio.h>
#include <string.h>

#include "core/base/env.h"
#include "core/base/error.h"
#include "core/base/strbuf.h"
#include "core/base/text.h"
#include "core/profile/language.h"

/** State of collecting the settings of the environment. */
struct collector {
    struct accel_arena *arena;
    struct accel_environment_setting *first;
    struct accel_environment_setting **end;
    struct accel_error *error;
    bool is_alias; /* the variable being read belongs to another program */
};

static int32_t add(struct collector *c, const char *key, const char *text, const char *place, const char *reason)
{
    struct accel_environment_setting *setting = accel_arena_array(c->arena, 1, sizeof(*setting));
    if (setting == NULL)
        return accel_error_no_memory(c->error, "for the environment");
    setting->key = accel_arena_strdup(c->arena, key);
    setting->text = accel_arena_strdup(c->arena, text);
    setting->place = accel_arena_strdup(c->arena, place);
    setting->reason = accel_arena_strdup(c->arena, reason);
    setting->is_alias = c->is_alias;
    if (!setting->key || !setting->text || !setting->place || !setting->reason)
        return accel_error_no_memory(c->error, "for the environment");
    *c->end = setting;
    c->end = &setting->next;
    return ACCEL_OK;
}

/* ---- names of the documents ---- */

static int32_t refuse_value(struct collector *c, const struct accel_alias *alias, const char *text)
{
    struct accel_strbuf known;
    accel_strbuf_init(&known, 200);
    for (const struct accel_alias_value *value = alias->values; value; value = value->next)
        accel_strbuf_printf(&known, " %s", value->text);
    accel_error_by(c->error, ACCEL_FROM_SETTING, ACCEL_E_INVALID, "environment %s (%.200s): \"%.60s\" is none of:%s",
                   alias->name, alias->place, text, accel_strbuf_get(&known));
    accel_error_remedy(c->error, "unset %s, or set it to one of:%s", alias->name, accel_strbuf_get(&known));
    accel_strbuf_free(&known);
    return ACCEL_E_INVALID;
}

static int32_t read_alias(struct collector *c, const struct accel_alias *alias, const char *text)
{
    const struct accel_alias_value *value = alias->values;
    char place[400], with_unit[80];
    int32_t code = ACCEL_OK;
    snprintf(place, sizeof(place), "environment %s (%.250s)", alias->name, alias->place);
    if (value == NULL) {
        /* The table's unit applies to a bare number; a number with its own unit is used as written. */
        bool bare = *alias->unit && text[strspn(text, "0123456789")] == 0;
        snprintf(with_unit, sizeof(with_unit), "%.40s%s", text, alias->unit);
        return add(c, alias->key->name, bare ? with_unit : text, place, alias->reason);
    }
    while (value && strcmp(value->text, text) != 0)
        value = value->next;
    if (value == NULL)
        return refuse_value(c, alias, text);
    for (const struct accel_alias_setting *s = value->settings; s && code == ACCEL_OK; s = s->next)
        code = add(c, s->key->name, s->text, place, alias->reason);
    return code;
}

static int32_t read_aliases(struct collector *c, const struct accel_aliases *aliases)
{
    int32_t code = ACCEL_OK;
    c->is_alias = true;
    for (const struct accel_alias *alias = aliases->first; alias && code == ACCEL_OK; alias = alias->next) {
        const char *text = accel_env_get(alias->name, NULL);
        if (text)
            code = read_alias(c, alias, text);
    }
    c->is_alias = false;
    return code;
}

/* ---- ACCEL_... ---- */

/* Adds the value of the variable of a setting or a group to each of its `count` settings. */
static int32_t read_variable(struct collector *c, const char *name, const char *const *keys, uint32_t count)
{
    char variable[80], place[100];
    const char *text;
    int32_t code = ACCEL_OK;
    accel_key_variable(name, variable, sizeof(variable));
    text = accel_env_get(variable, NULL);
    snprintf(place, sizeof(place), "environment %s", variable);
    for (uint32_t i = 0; text && i < count && code == ACCEL_OK; i++)
        code = add(c, keys[i], text, place, "");
    return code;
}

/* Reads the variables of groups first: those of single settings override them. */
static int32_t read_settings(struct collector *c)
{
    const struct accel_key_group *group;
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; code == ACCEL_OK && (group = accel_key_group_get(i)) != NULL; i++)
        code = read_variable(c, group->name, group->members, 2);
    for (uint32_t i = 0; i < accel_setting_row_count() && code == ACCEL_OK; i++)
        code = read_variable(c, accel_setting_row_get(i)->name, &accel_setting_row_get(i)->name, 1);
    return code;
}

/* Writes the name of variable `index` of all settings and groups; false past the end. */
static bool variable_at(uint32_t index, char name[80])
{
    const struct accel_setting_row *row = accel_setting_row_get(index);
    const struct accel_key_group *group = row ? NULL : accel_key_group_get(index - accel_setting_row_count());
    if (row || group)
        accel_key_variable(row ? row->name : group->name, name, 80);
    return row || group;
}

static bool is_setting(const char *variable, size_t length)
{
    char name[80];
    for (uint32_t i = 0; variable_at(i, name); i++)
        if (strlen(name) == length && strncmp(name, variable, length) == 0)
            return true;
    return false;
}

/* Returns the length of the part before the option if a variable is ACCEL_DRIVER_OPTION, else 0. */
static size_t option_begin(const char *driver, const char *variable, size_t length)
{
    char prefix[80];
    size_t begin;
    accel_key_variable(driver, prefix, sizeof(prefix) - 1);
    strcat(prefix, "_");
    begin = strlen(prefix);
    return length > begin && strncmp(variable, prefix, begin) == 0 ? begin : 0;
}

bool accel_environment_is_option(const char *driver, const char *variable)
{
    return option_begin(driver, variable, strlen(variable)) != 0;
}

/* Adds ACCEL_CPU_NAME=value as cpu.name: option names are lower case, and '_' stays. */
static int32_t read_option(struct collector *c, const char *driver, const char *entry)
{
    size_t length = strcspn(entry, "="), begin = option_begin(driver, entry, length);
    char key[160], place[200];
    int made;
    if (begin == 0 || length > 120 || entry[length] == 0 || entry[length + 1] == 0 || is_setting(entry, length))
        return ACCEL_OK;
    made = snprintf(key, sizeof(key), "%s.%.*s", driver, (int)(length - begin), entry + begin);
    for (size_t i = strlen(driver); made > 0 && i < (size_t)made; i++)
        key[i] = accel_lower(key[i]);
    snprintf(place, sizeof(place), "environment %.*s", (int)length, entry);
    return add(c, key, entry + length + 1, place, "");
}

/* ---- limits of the library ---- */

static const struct limit {
    const char *name;
    const char *unit; /* "bytes" or "ms", which a bare number has */
    int64_t least;
    const char *what;
    const char *remedy;
} limits[] = {
    {"ACCEL_COMPILE_MILLISECONDS", "ms", 1, "time from 1 ms on", "a time such as 600000 or 10min"},
    {"ACCEL_COMPILE_BYTES", "bytes", 1, "number of bytes from 1 on", "a size such as 4GiB"},
    {"ACCEL_PACKED_BYTES", "bytes", 0, "number of bytes", "a size such as 16GiB, or to 0 to store no packed weights"},
};

static int32_t parse_limit(const struct limit *limit, const char *text, int64_t *out_number, struct accel_error *error)
{
    const char *unit = "";
    if (accel_number_parse(text, out_number, &unit) && *out_number >= limit->least &&
        (*unit == '\0' || strcmp(unit, limit->unit) == 0))
        return ACCEL_OK;
    accel_error_by(error, ACCEL_FROM_SETTING, ACCEL_E_INVALID, "environment %s: \"%.60s\" is no %s", limit->name, text,
                   limit->what);
    return accel_error_advise(error, ACCEL_E_INVALID, "set %s to %s, or unset it", limit->name, limit->remedy);
}

static const struct limit *find_limit(const char *name)
{
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (strcmp(limits[i].name, name) == 0)
            return &limits[i];
    return NULL;
}

int32_t accel_environment_limit(const char *name, uint64_t fallback, uint64_t *out_limit, struct accel_error *error)
{
    const struct limit *limit = find_limit(name);
    const char *text = accel_env_get(name, NULL);
    int64_t number;
    int32_t code = limit && text ? parse_limit(limit, text, &number, error) : ACCEL_OK;
    if (code == ACCEL_OK)
        *out_limit = limit && text ? (uint64_t)number : fallback;
    return code;
}

int32_t accel_environment_read(const struct accel_aliases *aliases, const char *driver, struct accel_arena *arena,
                               const struct accel_environment_setting **out_settings, struct accel_error *error)
{
    struct collector c = {.arena = arena, .error = error};
    uint64_t limit;
    int32_t code = ACCEL_OK;
    c.end = &c.first;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]) && code == ACCEL_OK; i++)
        code = accel_environment_limit(limits[i].name, 0, &limit, error);
    if (code == ACCEL_OK)
        code = read_aliases(&c, aliases);
    if (code == ACCEL_OK)
        code = read_settings(&c);
    if (driver && strlen(driver) <= ACCEL_PROFILE_NAME_MAX)
        for (const char *const *entry = accel_env_all(); *entry && code == ACCEL_OK; entry++)
            if (strncmp(*entry, "ACCEL_", 6) == 0)
                code = read_option(&c, driver, *entry);
    *out_settings = c.first;
    return code;
}

/* ---- unknown variables ---- */

/* Variables of the library that set no setting. */
static const char *const library_variables[] = {"ACCEL_DRIVER_PATH",   "ACCEL_PROFILE_PATH",
                                                "ACCEL_PROBE",         "ACCEL_COMPILE_MILLISECONDS",
                                                "ACCEL_COMPILE_BYTES", "ACCEL_PACKED_BYTES"};

#define LIBRARY_VARIABLES (sizeof(library_variables) / sizeof(library_variables[0]))

/** The names of all known variables, from the first letter, and without ACCEL_. */
struct known {
    struct accel_arena arena;
    const char **names;
    const char **rests;
    uint32_t count;
};

static bool add_known(struct known *known, const char *name)
{
    const char *copy = accel_arena_strdup(&known->arena, name);
    if (copy == NULL)
        return false;
    known->names[known->count] = copy;
    known->rests[known->count++] = copy + (strncmp(copy, "ACCEL_", 6) == 0 ? 6 : 0);
    return true;
}

static bool collect(struct known *known, const struct accel_aliases *aliases)
{
    size_t capacity = LIBRARY_VARIABLES + aliases->count;
    char name[80];
    bool done;
    for (uint32_t i = 0; variable_at(i, name); i++)
        capacity++;
    known->names = accel_arena_array(&known->arena, capacity, sizeof(*known->names));
    known->rests = accel_arena_array(&known->arena, capacity, sizeof(*known->rests));
    done = known->names && known->rests;
    for (size_t i = 0; i < LIBRARY_VARIABLES && done; i++)
        done = add_known(known, library_variables[i]);
    for (uint32_t i = 0; done && variable_at(i, name); i++)
        done = add_known(known, name);
    for (const struct accel_alias *alias = aliases->first; alias && done; alias = alias->next)
        done = add_known(known, alias->name);
    return done;
}

/* Returns whether the variable is for the tests of this project, which may run beside it. */
static bool is_for_tests(const char *name)
{
    static const char names[] = "ACCEL_SHARED_FIXTURES ACCEL_REAL_MODELS ACCEL_RACES ACCEL_RACES_BY ACCEL_PLANTED "
                                "ACCEL_BOCHS ACCEL_PYTHON";
    return accel_word_is_among(names, name) || accel_has_prefix(name, "ACCEL_TEST_");
}

static bool is_known(const struct known *known, const char *name, const char *const *drivers, uint32_t driver_count)
{
    for (uint32_t i = 0; i < known->count; i++)
        if (strcmp(known->names[i], name) == 0)
            return true;
    for (uint32_t i = 0; i < driver_count; i++)
        if (option_begin(drivers[i], name, strlen(name)))
            return true;
    return false;
}

static bool ends_in(const char *name, const char *word)
{
    size_t whole = strlen(name), length = strlen(word);
    return whole > length && name[whole - length - 1] == '_' && strcmp(name + whole - length, word) == 0;
}

/* Returns the name that was probably meant, or NULL: a name that differs in a few letters, or the shortest name
 * with this ending (ACCEL_CPU_THREADS for ACCEL_THREADS). */
static const char *find_near(const struct known *known, const char *name)
{
    const char *rest = name + (strncmp(name, "ACCEL_", 6) == 0 ? 6 : 0), *best = NULL;
    const char *near = accel_suggest(rest, known->rests, known->count);
    for (uint32_t i = 0; i < known->count; i++) {
        if (near && near == known->rests[i])
            return known->names[i];
        if (ends_in(known->names[i], rest) && (best == NULL || strlen(known->names[i]) < strlen(best)))
            best = known->names[i];
    }
    return best;
}

static bool is_for_us(const struct accel_aliases *aliases, const char *entry)
{
    if (strncmp(entry, "ACCEL_", 6) == 0)
        return true;
    for (const struct accel_alias_prefix *prefix = aliases->prefixes; prefix; prefix = prefix->next)
        if (strncmp(entry, prefix->text, strlen(prefix->text)) == 0)
            return true;
    return false;
}

void accel_environment_unknown(const struct accel_aliases *aliases, const char *const *drivers, uint32_t driver_count,
                               accel_profile_unknown function, void *data)
{
    struct known known = {0};
    bool ready = collect(&known, aliases);
    for (const char *const *entry = accel_env_all(); *entry && ready; entry++) {
        size_t length = strcspn(*entry, "=");
        char name[128];
        if (!is_for_us(aliases, *entry) || length >= sizeof(name) || (*entry)[length] == 0 || (*entry)[length + 1] == 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)length, *entry);
        if (is_known(&known, name, drivers, driver_count) || is_for_tests(name))
            continue;
        /* The device is an option of the command, not a variable. */
        function(data, name, strcmp(name, "ACCEL_DEVICE") == 0 ? "--device NAME" : find_near(&known, name));
    }
    accel_arena_free(&known.arena);
}

int32_t accel_setting_variable(const char *name, char *text, size_t bytes) ACCEL_NOEXCEPT
{
    if (name == NULL || text == NULL || strlen(name) + sizeof("ACCEL_") > bytes)
        return ACCEL_E_LIMIT;
    accel_key_variable(name, text, bytes);
    return ACCEL_OK;
}

int32_t accel_setting_check(const char *name, const char *value, struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct accel_setting_row *key = name == NULL ? NULL : accel_key_find(name);
    struct accel_key_value checked;
    const struct limit *limit = key == NULL && name != NULL && value != NULL ? find_limit(name) : NULL;
    int64_t number;
    char why[200], lower[ACCEL_KEY_LOWER];
    if (limit != NULL)
        return parse_limit(limit, value, &number, error);
    if (key == NULL)
        return accel_error_by(error, ACCEL_FROM_SETTING, ACCEL_E_NOT_FOUND, "setting \"%.80s\" is unknown",
                              name == NULL ? "" : name);
    if (value == NULL)
        return accel_error_by(error, ACCEL_FROM_SETTING, ACCEL_E_INVALID, "%s: there is no value", name);
    if (!accel_key_parse(key, accel_key_spelling(key, value, lower), &checked, why, sizeof(why)))
        return accel_error_by(error, ACCEL_FROM_SETTING, ACCEL_E_INVALID, "%s: %s", name, why);
    return ACCEL_OK;
}
