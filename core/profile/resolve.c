/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/env.h"
#include "core/base/strbuf.h"
#include "core/profile/internal.h"

/** One value that somebody wants for a setting. Strings belong to the settings. */
struct candidate {
    struct candidate *weaker;
    struct accel_key_value value;
    const char *place;
    const char *because;
    uint32_t layer;
};

/** One setting while it is resolved. */
struct slot {
    struct slot *next;
    const struct accel_key *key;
    struct candidate *strongest;
    const char *locked_by; /* place of the lock, or NULL */
    uint32_t locked_layer; /* layer of the lock */
};

struct accel_settings {
    struct accel_arena arena;
    uint32_t count;
    uint32_t key_count;
    struct accel_profile_setting *settings;
};

/** What one resolution carries along. */
struct resolver {
    struct accel_settings *settings;
    struct slot *first;
    struct slot **end;
    const struct accel_profile_pair *facts;
    uint32_t fact_count;
    const char *driver; /* fact driver.name, or NULL */
    struct accel_error *error;
};

static int32_t no_memory(struct resolver *r)
{
    return accel_error_set(r->error, ACCEL_E_MEMORY, "no memory for settings");
}

static struct slot *find_slot(struct resolver *r, const char *name)
{
    struct slot *slot = r->first;
    while (slot && strcmp(slot->key->name, name) != 0)
        slot = slot->next;
    return slot;
}

static struct slot *add_slot(struct resolver *r, const struct accel_key *key)
{
    struct slot *slot = accel_arena_array(&r->settings->arena, 1, sizeof(*slot));
    if (slot == NULL)
        return NULL;
    slot->key = key;
    *r->end = slot;
    r->end = &slot->next;
    r->settings->count++;
    return slot;
}

/* A row for an option of the driver, with a name that the settings own. */
static const struct accel_key *copy_option(struct resolver *r, const char *name)
{
    struct accel_key *key = accel_arena_array(&r->settings->arena, 1, sizeof(*key));
    char *copy = accel_arena_strdup(&r->settings->arena, name);
    if (key == NULL || copy == NULL)
        return NULL;
    *key = (struct accel_key){copy, ACCEL_KEY_TEXT, "", 0, 0, "", "", ACCEL_KEY_BY_DRIVER, ""};
    return key;
}

static int32_t add_candidate(struct resolver *r, struct slot *slot, const struct accel_key_value *value,
                             const char *place, const char *because, uint32_t layer)
{
    struct accel_arena *arena = &r->settings->arena;
    struct candidate *candidate;
    if (slot->locked_by && slot->locked_layer < layer)
        return accel_error_set(r->error, ACCEL_E_DENIED, "%.160s: setting %s is locked by %.160s", place,
                               slot->key->name, slot->locked_by);
    candidate = accel_arena_array(arena, 1, sizeof(*candidate));
    if (candidate == NULL)
        return no_memory(r);
    candidate->value = *value;
    candidate->layer = layer;
    candidate->place = accel_arena_strdup(arena, place);
    candidate->because = accel_arena_strdup(arena, because);
    if (value->word)
        candidate->value.word = accel_arena_strdup(arena, value->word);
    if (!candidate->place || !candidate->because || (value->word && !candidate->value.word))
        return no_memory(r);
    candidate->weaker = slot->strongest;
    slot->strongest = candidate;
    return ACCEL_OK;
}

static int32_t apply_builtin(struct resolver *r)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < accel_key_count() && code == ACCEL_OK; i++) {
        const struct accel_key *key = accel_key_get(i);
        struct accel_key_value value;
        struct slot *slot = add_slot(r, key);
        char why[200], preset[64];
        if (slot == NULL)
            return no_memory(r);
        /* Defaults stand in the base unit; the parser wants it written. */
        snprintf(preset, sizeof(preset), "%s%s", key->preset,
                 key->preset[0] >= '0' && key->preset[0] <= '9' ? strcmp(key->unit, "bytes") ? key->unit : "B" : "");
        if (!accel_key_parse(key, preset, &value, why, sizeof(why)))
            return accel_error_set(r->error, ACCEL_E_INTERNAL, "keys.def: %s: %s", key->name, why);
        code = add_candidate(r, slot, &value, "built in", "", ACCEL_PROFILE_BUILTIN);
    }
    r->settings->key_count = r->settings->count;
    return code;
}

static int32_t apply_locks(struct resolver *r, const struct accel_profile_file *file, uint32_t layer)
{
    for (const struct accel_lock *lock = file->locks; lock; lock = lock->next) {
        struct slot *slot = find_slot(r, lock->key);
        if (slot == NULL || slot->locked_by)
            continue;
        slot->locked_by = accel_arena_strdup(&r->settings->arena, lock->place);
        slot->locked_layer = layer;
        if (slot->locked_by == NULL)
            return no_memory(r);
    }
    return ACCEL_OK;
}

static int32_t apply_file(struct resolver *r, const struct accel_profile_file *file, uint32_t layer)
{
    int32_t code = ACCEL_OK;
    if (!accel_condition_holds(file->match, r->facts, r->fact_count))
        return ACCEL_OK;
    for (const struct accel_statement *s = file->first; s && code == ACCEL_OK; s = s->next) {
        struct slot *slot = find_slot(r, s->key->name);
        if (!accel_condition_holds(s->conditions, r->facts, r->fact_count))
            continue;
        if (slot == NULL) {
            const struct accel_key *key = copy_option(r, s->key->name);
            slot = key ? add_slot(r, key) : NULL;
        }
        code = slot ? add_candidate(r, slot, &s->value, s->place, s->because, layer) : no_memory(r);
    }
    return code == ACCEL_OK ? apply_locks(r, file, layer) : code;
}

static int32_t apply_platform(struct resolver *r, const struct accel_profile_platform *platform)
{
    int32_t code = platform ? accel_profile_platform_failure(platform, r->error) : ACCEL_OK;
    return code == ACCEL_OK && platform ? apply_file(r, &platform->file, ACCEL_PROFILE_PLATFORM) : code;
}

static int32_t apply_text(struct resolver *r, struct slot *slot, const char *text, const char *place, uint32_t layer)
{
    struct accel_key_value value;
    char why[200];
    if (!accel_key_parse(slot->key, text, &value, why, sizeof(why)))
        return accel_error_set(r->error, ACCEL_E_INVALID, "%.160s: %s: %s", place, slot->key->name, why);
    return add_candidate(r, slot, &value, place, "", layer);
}

static int32_t apply_environment(struct resolver *r)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < accel_key_count() && code == ACCEL_OK; i++) {
        const struct accel_key *key = accel_key_get(i);
        char variable[80], place[100];
        const char *text;
        accel_key_variable(key, variable, sizeof(variable));
        text = accel_env_get(variable, NULL);
        if (text == NULL)
            continue;
        snprintf(place, sizeof(place), "environment %s", variable);
        code = apply_text(r, find_slot(r, key->name), text, place, ACCEL_PROFILE_ENVIRONMENT);
    }
    return code;
}

static bool is_option_of(const char *driver, const char *name)
{
    size_t length = driver ? strlen(driver) : 0;
    return length && strncmp(name, driver, length) == 0 && name[length] == '.' && name[length + 1] != 0;
}

static int32_t find_given(struct resolver *r, const struct accel_profile_pair *pair, struct slot **out_slot)
{
    const struct accel_key *key;
    const char *near;
    *out_slot = find_slot(r, pair->key);
    if (*out_slot)
        return ACCEL_OK;
    if (is_option_of(r->driver, pair->key)) {
        key = copy_option(r, pair->key);
        *out_slot = key ? add_slot(r, key) : NULL;
        return *out_slot ? ACCEL_OK : no_memory(r);
    }
    near = accel_key_suggest(pair->key);
    return accel_error_set(r->error, ACCEL_E_NOT_FOUND, "%.160s: setting \"%.80s\" is unknown%s%s%s", pair->origin,
                           pair->key, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static int32_t apply_given(struct resolver *r, const struct accel_profile_pair *given, uint32_t count)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++) {
        struct slot *slot;
        code = find_given(r, &given[i], &slot);
        if (code == ACCEL_OK)
            code = apply_text(r, slot, given[i].value, given[i].origin, ACCEL_PROFILE_GIVEN);
    }
    return code;
}

/* ---- results ---- */

static const char *value_text(struct resolver *r, const struct accel_key_value *value)
{
    char text[24];
    if (value->word)
        return value->word;
    snprintf(text, sizeof(text), "%" PRId64, value->number);
    return accel_arena_strdup(&r->settings->arena, text);
}

static const char *losers_text(struct resolver *r, const struct candidate *losers)
{
    struct accel_strbuf text;
    const char *copy = NULL;
    accel_strbuf_init(&text, 0);
    for (const struct candidate *loser = losers; loser; loser = loser->weaker) {
        const char *value = value_text(r, &loser->value);
        accel_strbuf_printf(&text, "%s%s (%s%s%s)", loser == losers ? "" : "\n", value ? value : "?", loser->place,
                            *loser->because ? "; " : "", loser->because);
    }
    if (!text.failed)
        copy = accel_arena_strdup(&r->settings->arena, accel_strbuf_get(&text));
    accel_strbuf_free(&text);
    return copy;
}

static const char *unit_of(const struct slot *slot, const struct accel_key_value *value)
{
    if (!value->is_number)
        return "";
    return slot->key->type == ACCEL_KEY_DURATION ? "ms" : slot->key->unit;
}

/* The losers of a slot as records; NULL without memory. */
static const struct accel_plan_loser *loser_records(struct resolver *r, const struct slot *slot, uint32_t *out_count)
{
    const struct candidate *losers = slot->strongest->weaker;
    struct accel_plan_loser *records;
    uint32_t count = 0;
    for (const struct candidate *loser = losers; loser; loser = loser->weaker)
        count++;
    *out_count = count;
    records = accel_arena_array(&r->settings->arena, count + (size_t)1, sizeof(*records));
    count = 0;
    for (const struct candidate *loser = losers; loser && records; loser = loser->weaker) {
        const char *value = value_text(r, &loser->value);
        if (value == NULL)
            return NULL;
        records[count++] = (struct accel_plan_loser){value, unit_of(slot, &loser->value), loser->place, loser->because};
    }
    return records;
}

static int32_t write_settings(struct resolver *r)
{
    struct accel_settings *settings = r->settings;
    struct accel_profile_setting *out = accel_arena_array(&settings->arena, settings->count, sizeof(*out));
    settings->settings = out;
    for (const struct slot *slot = r->first; slot && out; slot = slot->next, out++) {
        const struct candidate *winner = slot->strongest;
        uint32_t losers;
        const struct accel_plan_loser *overruled = loser_records(r, slot, &losers);
        *out = (struct accel_profile_setting){
            .key = slot->key->name,
            .value = value_text(r, &winner->value),
            .unit = unit_of(slot, &winner->value),
            .place = winner->place,
            .because = winner->because,
            .losers = losers_text(r, winner->weaker),
            .layer = winner->layer,
            .is_number = winner->value.is_number,
            .number = winner->value.number,
            .overruled = overruled,
            .overruled_count = losers,
        };
        if (out->value == NULL || out->losers == NULL || overruled == NULL)
            return no_memory(r);
    }
    return settings->settings ? ACCEL_OK : no_memory(r);
}

static const char *find_fact(const struct resolver *r, const char *key)
{
    const char *value = NULL;
    for (uint32_t i = 0; i < r->fact_count; i++)
        if (strcmp(r->facts[i].key, key) == 0)
            value = r->facts[i].value;
    return value;
}

int32_t accel_profile_resolve(const struct accel_profile *profile, const struct accel_profile_pair *facts,
                              uint32_t fact_count, const struct accel_profile_pair *given, uint32_t given_count,
                              struct accel_settings **out_settings, struct accel_error *error)
{
    struct resolver r = {.facts = facts, .fact_count = fact_count, .error = error};
    int32_t code;
    *out_settings = NULL;
    r.settings = calloc(1, sizeof(*r.settings));
    if (r.settings == NULL)
        return no_memory(&r);
    accel_arena_init(&r.settings->arena, 0);
    r.end = &r.first;
    r.driver = find_fact(&r, "driver.name");
    code = apply_builtin(&r);
    if (code == ACCEL_OK)
        code = apply_file(&r, &profile->base, ACCEL_PROFILE_BASE);
    if (code == ACCEL_OK && r.driver)
        code = apply_platform(&r, accel_profile_platform_find(profile, r.driver));
    if (code == ACCEL_OK)
        code = apply_environment(&r);
    if (code == ACCEL_OK)
        code = apply_given(&r, given, given_count);
    if (code == ACCEL_OK)
        code = write_settings(&r);
    if (code != ACCEL_OK) {
        accel_settings_free(r.settings);
        return code;
    }
    *out_settings = r.settings;
    return ACCEL_OK;
}

void accel_settings_free(struct accel_settings *settings)
{
    if (settings == NULL)
        return;
    accel_arena_free(&settings->arena);
    free(settings);
}

uint32_t accel_settings_count(const struct accel_settings *settings)
{
    return settings->count;
}

uint32_t accel_settings_driver_begin(const struct accel_settings *settings)
{
    return settings->key_count;
}

const struct accel_profile_setting *accel_settings_get(const struct accel_settings *settings, uint32_t index)
{
    return index < settings->count ? &settings->settings[index] : NULL;
}

const struct accel_profile_setting *accel_settings_find(const struct accel_settings *settings, const char *key)
{
    for (uint32_t i = 0; i < settings->count; i++)
        if (strcmp(settings->settings[i].key, key) == 0)
            return &settings->settings[i];
    return NULL;
}

int32_t accel_settings_number(const struct accel_settings *settings, const char *key, int64_t *out_number,
                              struct accel_error *error)
{
    const struct accel_profile_setting *setting = accel_settings_find(settings, key);
    if (setting == NULL)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "setting \"%.80s\" is unknown", key);
    if (!setting->is_number)
        return accel_error_set(error, ACCEL_E_INVALID, "setting %s is \"%.80s\" (%.200s), which is no number", key,
                               setting->value, setting->place);
    *out_number = setting->number;
    return ACCEL_OK;
}
