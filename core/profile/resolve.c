/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/profile/resolver.h"

static struct accel_key_slot *find_slot(struct accel_resolver *r, const char *name)
{
    struct accel_key_slot *slot = r->first;
    while (slot && strcmp(slot->key->name, name) != 0)
        slot = slot->next;
    return slot;
}

static struct accel_key_slot *add_slot(struct accel_resolver *r, const struct accel_setting_row *key)
{
    struct accel_key_slot *slot = accel_arena_array(&r->settings->arena, 1, sizeof(*slot));
    if (slot == NULL)
        return NULL;
    slot->key = key;
    *r->end = slot;
    r->end = &slot->next;
    return slot;
}

static int32_t add_candidate(struct accel_resolver *r, struct accel_key_slot *slot, const struct accel_key_value *value,
                             const char *place, const char *reason, uint32_t layer)
{
    struct accel_arena *arena = &r->settings->arena;
    struct accel_key_candidate *candidate;
    if (slot == NULL)
        return accel_error_no_memory(r->error, "for settings");
    if (slot->locked_by && slot->locked_layer < layer)
        return accel_error_by(r->error, accel_layer_origin(layer), ACCEL_E_DENIED,
                              "%.160s: setting %s is locked by %.160s", place, slot->key->name, slot->locked_by);
    candidate = accel_arena_array(arena, 1, sizeof(*candidate));
    if (candidate == NULL)
        return accel_error_no_memory(r->error, "for settings");
    candidate->value = *value;
    candidate->layer = layer;
    candidate->place = accel_arena_strdup(arena, place);
    candidate->reason = accel_arena_strdup(arena, reason);
    if (value->word)
        candidate->value.word = accel_arena_strdup(arena, value->word);
    if (!candidate->place || !candidate->reason || (value->word && !candidate->value.word))
        return accel_error_no_memory(r->error, "for settings");
    candidate->weaker = slot->strongest;
    slot->strongest = candidate;
    return ACCEL_OK;
}

static int32_t apply_builtin(struct accel_resolver *r)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < accel_setting_row_count() && code == ACCEL_OK; i++) {
        const struct accel_setting_row *key = accel_setting_row_get(i);
        struct accel_key_value value;
        struct accel_key_slot *slot = add_slot(r, key);
        char why[200], preset[64];
        /* Defaults in keys.def are in the base unit, which the parser requires to be written. */
        snprintf(preset, sizeof(preset), "%s%s", key->preset,
                 key->preset[0] >= '0' && key->preset[0] <= '9' ? strcmp(key->unit, "bytes") ? key->unit : "B" : "");
        if (!accel_key_parse(key, preset, &value, why, sizeof(why)))
            return accel_error_set(r->error, ACCEL_E_INTERNAL, "keys.def: %s: %s", key->name, why);
        code = add_candidate(r, slot, &value, "built in", "", ACCEL_LAYER_BUILTIN);
    }
    return code;
}

static bool is_option_of(const char *driver, const char *name)
{
    size_t length = driver ? strlen(driver) : 0;
    return length && strncmp(name, driver, length) == 0 && name[length] == '.' && name[length + 1] != 0;
}

/* Returns the slot of a setting, or a new one for a driver option. */
static struct accel_key_slot *need_slot(struct accel_resolver *r, const char *name)
{
    struct accel_key_slot *slot = find_slot(r, name);
    struct accel_arena *arena = &r->settings->arena;
    const char *copy = slot ? NULL : accel_arena_strdup(arena, name);
    const struct accel_setting_row *key = copy ? accel_key_of_option(copy, arena) : NULL;
    return key ? add_slot(r, key) : slot;
}

static int32_t apply_locks(struct accel_resolver *r, const struct accel_profile_file *file)
{
    for (const struct accel_lock *lock = file->locks; lock; lock = lock->next) {
        struct accel_key_slot *slot = need_slot(r, lock->key);
        if (slot == NULL)
            return accel_error_no_memory(r->error, "for settings");
        if (slot->locked_by)
            continue;
        slot->locked_by = accel_arena_strdup(&r->settings->arena, lock->place);
        slot->locked_layer = file->layer;
        if (slot->locked_by == NULL)
            return accel_error_no_memory(r->error, "for settings");
    }
    return ACCEL_OK;
}

/* Returns whether a statement applies to this driver. Options of other drivers have no effect here, but every
 * option in the file of a platform, also an inherited one, is the platform's own. */
static bool counts_here(struct accel_resolver *r, const struct accel_profile_file *file,
                        const struct accel_statement *s)
{
    return accel_key_find(s->key->name) || file->layer == ACCEL_LAYER_PLATFORM ||
           is_option_of(r->driver, s->key->name) || find_slot(r, s->key->name) != NULL;
}

static int32_t apply_file(struct accel_resolver *r, const struct accel_profile_file *file)
{
    const struct accel_profile_selection *selection = &r->selection;
    int32_t code = ACCEL_OK;
    for (const struct accel_statement *s = file->first; s && code == ACCEL_OK; s = s->next)
        if (counts_here(r, file, s) && accel_condition_holds(s->conditions, selection->pairs, selection->fact_count))
            code = add_candidate(r, need_slot(r, s->key->name), &s->value, s->place, s->reason, file->layer);
    return code == ACCEL_OK ? apply_locks(r, file) : code;
}

/* Applies a file if its `match` holds. */
static int32_t apply_matching(struct accel_resolver *r, const struct accel_profile_file *file)
{
    return accel_condition_holds(file->match, r->selection.pairs, r->selection.fact_count) ? apply_file(r, file)
                                                                                           : ACCEL_OK;
}

static int32_t apply_entry(struct accel_resolver *r, const struct accel_profile_entry *entry)
{
    return entry ? apply_matching(r, &entry->file) : ACCEL_OK;
}

static int32_t apply_files(struct accel_resolver *r)
{
    int32_t code = apply_matching(r, &r->selection.profile->base);
    if (code == ACCEL_OK)
        code = apply_entry(r, r->selection.platform);
    if (code == ACCEL_OK)
        code = apply_entry(r, r->client);
    /* Files of devices are already selected: their facts must not affect whether they apply. */
    for (uint32_t i = 0; i < r->selection.device_count && code == ACCEL_OK; i++)
        code = apply_file(r, &r->selection.devices[i]->file);
    if (code == ACCEL_OK)
        code = apply_entry(r, r->selection.model);
    for (uint32_t i = 0; i < ACCEL_PROFILE_SITES && code == ACCEL_OK; i++)
        if (r->selection.profile->sites[i]) {
            code = accel_profile_entry_failure(r->selection.profile->sites[i], r->error);
            if (code == ACCEL_OK)
                code = apply_entry(r, r->selection.profile->sites[i]);
        }
    return code;
}

/* Applies a value of the environment or of the caller. */
static int32_t apply_text(struct accel_resolver *r, struct accel_key_slot *slot, const char *text, const char *place,
                          const char *reason, uint32_t layer)
{
    struct accel_key_value value;
    char why[200], lower[ACCEL_KEY_LOWER];
    text = accel_key_spelling(slot->key, text, lower);
    if (!accel_key_parse(slot->key, text, &value, why, sizeof(why))) {
        accel_error_by(r->error, accel_layer_origin(layer), ACCEL_E_INVALID, "%.160s: %s: %s", place, slot->key->name,
                       why);
        return accel_error_advise(r->error, ACCEL_E_INVALID, "accelctl profile settings %s lists the allowed values",
                                  slot->key->name);
    }
    return add_candidate(r, slot, &value, place, reason, layer);
}

/* Refuses a value of the user that nothing honors yet, unless it is the default. */
static int32_t refuse_later(const struct accel_resolver *r, const struct accel_setting_row *key, const char *place,
                            const char *value)
{
    if (strcmp(value, key->preset) == 0)
        return ACCEL_OK;
    accel_error_by(r->error, ACCEL_FROM_SETTING, ACCEL_E_UNSUPPORTED, "%.160s: %s=%.60s is not honored yet (later: %s)",
                   place, key->name, value, key->by);
    return accel_error_advise(r->error, ACCEL_E_UNSUPPORTED, "leave %s out", key->name);
}

static int32_t apply_environment(struct accel_resolver *r)
{
    const struct accel_aliases *aliases;
    const struct accel_environment_setting *setting = NULL;
    int32_t code = accel_profile_aliases(r->selection.profile, &aliases, r->error);
    if (code == ACCEL_OK)
        code = accel_environment_read(aliases, r->driver, &r->settings->arena, &setting, r->error);
    for (; setting && code == ACCEL_OK; setting = setting->next) {
        struct accel_key_slot *slot = need_slot(r, setting->key);
        code = slot ? apply_text(r, slot, setting->text, setting->place, setting->reason, ACCEL_LAYER_ENVIRONMENT)
                    : accel_error_no_memory(r->error, "for settings");
        if (code == ACCEL_OK && !setting->is_alias && slot->key->honored == ACCEL_HONORED_LATER)
            code = refuse_later(r, slot->key, setting->place, setting->text);
        if (code == ACCEL_OK)
            slot->strongest->is_alias = setting->is_alias;
    }
    return code;
}

/* Returns whether a placement by hand uses a device of the option's driver: "0-1=NAME,2-4=DRIVER:cpu0". */
static bool is_option_of_placed(const struct accel_profile_pair *given, uint32_t count, const char *name)
{
    size_t length = strcspn(name, ".");
    bool placed = false;
    for (uint32_t i = 0; i < count && length != 0 && name[length] == '.' && name[length + 1] != 0; i++) {
        const char *at = strcmp(given[i].key, "placement") == 0 ? given[i].value : "";
        while ((at = strchr(at, '=')) != NULL && !placed) {
            at++;
            placed = strncmp(at, name, length) == 0 && at[length] == ':';
        }
    }
    return placed;
}

static int32_t find_given(struct accel_resolver *r, const struct accel_profile_pair *pair,
                          const struct accel_profile_pair *given, uint32_t count, struct accel_key_slot **out_slot)
{
    const char *near = accel_key_meant(pair->key);
    char hint[ACCEL_DID_YOU_MEAN], driver[ACCEL_PROFILE_NAME_MAX + 1];
    *out_slot = find_slot(r, pair->key);
    if (*out_slot)
        return ACCEL_OK;
    if (near == NULL && (is_option_of(r->driver, pair->key) || is_option_of_placed(given, count, pair->key))) {
        *out_slot = need_slot(r, pair->key);
        return *out_slot ? ACCEL_OK : accel_error_no_memory(r->error, "for settings");
    }
    snprintf(driver, sizeof(driver), "%.*s", (int)strcspn(pair->key, "."), pair->key);
    if (near == NULL && strcmp(driver, "base") != 0 &&
        accel_profile_check_platform(r->selection.profile, driver, NULL) == ACCEL_OK) {
        accel_error_by(r->error, ACCEL_FROM_SETTING, ACCEL_E_NOT_FOUND,
                       "%.160s: setting \"%.80s\" is for the driver %s, and the plan is for %s", pair->origin,
                       pair->key, driver, r->driver ? r->driver : "no driver");
        return accel_error_advise(r->error, ACCEL_E_NOT_FOUND,
                                  "leave it out, or choose a device of that driver: --device %s", driver);
    }
    if (near == NULL)
        near = accel_key_suggest(pair->key);
    accel_error_by(r->error, ACCEL_FROM_SETTING, ACCEL_E_NOT_FOUND, "%.160s: setting \"%.80s\" is unknown%s",
                   pair->origin, pair->key, accel_did_you_mean(near, hint));
    return accel_error_advise(r->error, ACCEL_E_NOT_FOUND,
                              "accelctl profile settings lists them, and accelctl plugins the drivers with options");
}

static int32_t apply_given(struct accel_resolver *r, const struct accel_profile_pair *given, uint32_t count)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++) {
        const struct accel_key_group *group = accel_key_group_find(given[i].key);
        for (uint32_t m = 0; m < (group ? 2u : 1u) && code == ACCEL_OK; m++) {
            struct accel_profile_pair pair = given[i];
            struct accel_key_slot *slot;
            pair.key = group ? group->members[m] : pair.key;
            code = find_given(r, &pair, given, count, &slot);
            /* An option without a value is the driver's to choose, whatever other layers set. */
            if (code == ACCEL_OK && *pair.value == 0 && accel_key_find(pair.key) == NULL && !slot->locked_by)
                slot->strongest = NULL;
            else if (code == ACCEL_OK)
                code = apply_text(r, slot, pair.value, pair.origin, "", ACCEL_LAYER_GIVEN);
            if (code == ACCEL_OK && slot->key->honored == ACCEL_HONORED_LATER)
                code = refuse_later(r, slot->key, pair.origin, pair.value);
        }
    }
    return code;
}

/* Applies all layers once. */
static int32_t apply_all(struct accel_resolver *r, const struct accel_profile_pair *given, uint32_t given_count)
{
    int32_t code;
    r->first = NULL;
    r->end = &r->first;
    code = apply_builtin(r);
    if (code == ACCEL_OK)
        code = apply_files(r);
    if (code == ACCEL_OK)
        code = apply_environment(r);
    return code == ACCEL_OK ? apply_given(r, given, given_count) : code;
}

/* ---- the client ---- */

/* Chooses the client's file that the other layers name, and adds its name as a fact. *out_again: the settings must
 * be resolved again with it. */
static int32_t choose_client(struct accel_resolver *r, bool *out_again)
{
    const struct accel_key_candidate *winner = find_slot(r, "client")->strongest;
    const char *name = winner->value.word;
    struct accel_profile_fact fact = {"client.name", name, "", winner->place, winner->reason, ACCEL_LAYER_GIVEN};
    int32_t code;
    *out_again = false;
    if (strcmp(name, "none") == 0)
        return ACCEL_OK;
    /* The driver reports in which program it runs if it can. */
    if (strcmp(name, "auto") == 0 && (fact.value = accel_profile_selection_fact(&r->selection, "client.name")) == NULL)
        return ACCEL_OK;
    if (!accel_profile_name_valid(fact.value))
        return accel_profile_refuse_name(r->selection.profile, ACCEL_LAYER_CLIENT, fact.value, winner->place, r->error);
    code = accel_profile_entry_find(r->selection.profile, ACCEL_LAYER_CLIENT, fact.value, &r->client, r->error);
    if (code == ACCEL_OK && r->client->file.is_absent)
        return accel_profile_refuse_name(r->selection.profile, ACCEL_LAYER_CLIENT, fact.value, winner->place, r->error);
    if (code == ACCEL_OK)
        code = accel_profile_entry_failure(r->client, r->error);
    *out_again = true;
    return code == ACCEL_OK ? accel_profile_selection_add(&r->selection, &fact) : code;
}

/* Adds a setting that differs from `preset` as a fact, on which rules for other settings depend. *out_again as for the
 * client. */
static int32_t add_request_fact(struct accel_resolver *r, const char *key, const char *preset, const char *fact_name,
                                bool *out_again)
{
    const struct accel_key_candidate *winner = find_slot(r, key)->strongest;
    struct accel_profile_fact fact = {fact_name,     winner->value.word, "",
                                      winner->place, winner->reason,     ACCEL_LAYER_GIVEN};
    if (strcmp(winner->value.word, preset) == 0)
        return ACCEL_OK;
    *out_again = true;
    return accel_profile_selection_add(&r->selection, &fact);
}

/* Refuses a client or a goal whose own settings choose another one. */
static int32_t check_choice(struct accel_resolver *r, const char *key, const char *name)
{
    const struct accel_key_candidate *winner = find_slot(r, key)->strongest;
    if (strcmp(winner->value.word, name) == 0)
        return ACCEL_OK;
    return accel_error_by(r->error, ACCEL_FROM_FILE, ACCEL_E_INVALID,
                          "%.200s: with %s %.60s in force, %s becomes %.60s", winner->place, key, name, key,
                          winner->value.word);
}

static int32_t resolve(struct accel_resolver *r, const struct accel_profile_pair *given, uint32_t given_count)
{
    const char *client, *goal;
    bool again;
    int32_t code = apply_all(r, given, given_count);
    if (code == ACCEL_OK)
        code = choose_client(r, &again);
    if (code == ACCEL_OK)
        code = add_request_fact(r, "goal", "balanced", "request.goal", &again);
    if (code == ACCEL_OK)
        code = add_request_fact(r, "memory.efficient", "false", "request.efficient", &again);
    if (code != ACCEL_OK || !again)
        return code;
    client = find_slot(r, "client")->strongest->value.word;
    goal = find_slot(r, "goal")->strongest->value.word;
    code = apply_all(r, given, given_count);
    if (code == ACCEL_OK)
        code = check_choice(r, "client", client);
    return code == ACCEL_OK ? check_choice(r, "goal", goal) : code;
}

int32_t accel_profile_resolve(const struct accel_profile *profile, const struct accel_profile_pair *facts,
                              uint32_t fact_count, const struct accel_profile_pair *given, uint32_t given_count,
                              struct accel_settings **out_settings, struct accel_error *error)
{
    struct accel_resolver r = {.error = error};
    int32_t code;
    *out_settings = NULL;
    r.settings = calloc(1, sizeof(*r.settings));
    if (r.settings == NULL)
        return accel_error_no_memory(r.error, "for settings");
    accel_arena_init(&r.settings->arena, 0);
    r.selection = (struct accel_profile_selection){.profile = profile, .arena = &r.settings->arena, .error = error};
    code = accel_profile_select(&r.selection, facts, fact_count);
    if (code == ACCEL_OK) {
        r.driver = accel_profile_selection_fact(&r.selection, "driver.name");
        if (r.driver == NULL)
            r.driver = accel_profile_selection_fact(&r.selection, "platform");
        code = resolve(&r, given, given_count);
    }
    if (code == ACCEL_OK)
        code = accel_resolver_write(&r);
    if (code == ACCEL_OK)
        *out_settings = r.settings;
    else
        accel_settings_free(r.settings);
    return code;
}
