/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/profile/resolver.h"

int32_t accel_resolver_no_memory(const struct accel_resolver *r)
{
    return accel_error_set(r->error, ACCEL_E_MEMORY, "no memory for settings");
}

static struct accel_key_slot *find_slot(struct accel_resolver *r, const char *name)
{
    struct accel_key_slot *slot = r->first;
    while (slot && strcmp(slot->key->name, name) != 0)
        slot = slot->next;
    return slot;
}

static struct accel_key_slot *add_slot(struct accel_resolver *r, const struct accel_key *key)
{
    struct accel_key_slot *slot = accel_arena_array(&r->settings->arena, 1, sizeof(*slot));
    if (slot == NULL)
        return NULL;
    slot->key = key;
    *r->end = slot;
    r->end = &slot->next;
    return slot;
}

/* A row for an option of the driver, with a name that the settings own. */
static const struct accel_key *copy_option(struct accel_resolver *r, const char *name)
{
    struct accel_key *key = accel_arena_array(&r->settings->arena, 1, sizeof(*key));
    char *copy = accel_arena_strdup(&r->settings->arena, name);
    if (key == NULL || copy == NULL)
        return NULL;
    *key = (struct accel_key){copy, ACCEL_KEY_TEXT, "", 0, 0, "", "", ACCEL_KEY_BY_DRIVER, ""};
    return key;
}

static int32_t add_candidate(struct accel_resolver *r, struct accel_key_slot *slot, const struct accel_key_value *value,
                             const char *place, const char *because, uint32_t layer)
{
    struct accel_arena *arena = &r->settings->arena;
    struct accel_key_candidate *candidate;
    if (slot->locked_by && slot->locked_layer < layer)
        return accel_error_set(r->error, ACCEL_E_DENIED, "%.160s: setting %s is locked by %.160s", place,
                               slot->key->name, slot->locked_by);
    candidate = accel_arena_array(arena, 1, sizeof(*candidate));
    if (candidate == NULL)
        return accel_resolver_no_memory(r);
    candidate->value = *value;
    candidate->layer = layer;
    candidate->place = accel_arena_strdup(arena, place);
    candidate->because = accel_arena_strdup(arena, because);
    if (value->word)
        candidate->value.word = accel_arena_strdup(arena, value->word);
    if (!candidate->place || !candidate->because || (value->word && !candidate->value.word))
        return accel_resolver_no_memory(r);
    candidate->weaker = slot->strongest;
    slot->strongest = candidate;
    return ACCEL_OK;
}

static int32_t apply_builtin(struct accel_resolver *r)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < accel_key_count() && code == ACCEL_OK; i++) {
        const struct accel_key *key = accel_key_get(i);
        struct accel_key_value value;
        struct accel_key_slot *slot = add_slot(r, key);
        char why[200], preset[64];
        if (slot == NULL)
            return accel_resolver_no_memory(r);
        /* Defaults stand in the base unit; the parser wants it written. */
        snprintf(preset, sizeof(preset), "%s%s", key->preset,
                 key->preset[0] >= '0' && key->preset[0] <= '9' ? strcmp(key->unit, "bytes") ? key->unit : "B" : "");
        if (!accel_key_parse(key, preset, &value, why, sizeof(why)))
            return accel_error_set(r->error, ACCEL_E_INTERNAL, "keys.def: %s: %s", key->name, why);
        code = add_candidate(r, slot, &value, "built in", "", ACCEL_PROFILE_BUILTIN);
    }
    return code;
}

static bool is_option_of(const char *driver, const char *name)
{
    size_t length = driver ? strlen(driver) : 0;
    return length && strncmp(name, driver, length) == 0 && name[length] == '.' && name[length + 1] != 0;
}

/* The slot of a setting, or a new one for an option of a driver. */
static struct accel_key_slot *need_slot(struct accel_resolver *r, const char *name)
{
    struct accel_key_slot *slot = find_slot(r, name);
    const struct accel_key *key = slot ? NULL : copy_option(r, name);
    return slot ? slot : key ? add_slot(r, key) : NULL;
}

static int32_t apply_locks(struct accel_resolver *r, const struct accel_profile_file *file)
{
    for (const struct accel_lock *lock = file->locks; lock; lock = lock->next) {
        struct accel_key_slot *slot = need_slot(r, lock->key);
        if (slot == NULL)
            return accel_resolver_no_memory(r);
        if (slot->locked_by)
            continue;
        slot->locked_by = accel_arena_strdup(&r->settings->arena, lock->place);
        slot->locked_layer = file->layer;
        if (slot->locked_by == NULL)
            return accel_resolver_no_memory(r);
    }
    return ACCEL_OK;
}

/* Options of other drivers say nothing here; those that a platform inherits are its own. */
static bool counts_here(struct accel_resolver *r, const struct accel_profile_file *file,
                        const struct accel_statement *s)
{
    if (accel_key_find(s->key->name) || file->layer == ACCEL_PROFILE_PLATFORM || is_option_of(r->driver, s->key->name))
        return true;
    return find_slot(r, s->key->name) != NULL;
}

static int32_t apply_file(struct accel_resolver *r, const struct accel_profile_file *file)
{
    const struct accel_profile_scene *scene = &r->scene;
    int32_t code = ACCEL_OK;
    for (const struct accel_statement *s = file->first; s && code == ACCEL_OK; s = s->next) {
        struct accel_key_slot *slot;
        if (!counts_here(r, file, s) || !accel_condition_holds(s->conditions, scene->pairs, scene->fact_count))
            continue;
        slot = need_slot(r, s->key->name);
        code =
            slot ? add_candidate(r, slot, &s->value, s->place, s->because, file->layer) : accel_resolver_no_memory(r);
    }
    return code == ACCEL_OK ? apply_locks(r, file) : code;
}

/* A file that counts where its `match` holds. */
static int32_t apply_matching(struct accel_resolver *r, const struct accel_profile_file *file)
{
    return accel_condition_holds(file->match, r->scene.pairs, r->scene.fact_count) ? apply_file(r, file) : ACCEL_OK;
}

static int32_t apply_entry(struct accel_resolver *r, const struct accel_profile_entry *entry)
{
    return entry ? apply_matching(r, &entry->file) : ACCEL_OK;
}

static int32_t apply_files(struct accel_resolver *r)
{
    int32_t code = apply_matching(r, &r->scene.profile->base);
    if (code == ACCEL_OK)
        code = apply_entry(r, r->scene.platform);
    if (code == ACCEL_OK)
        code = apply_entry(r, r->client);
    /* Whether these count was decided before they could state facts. */
    for (uint32_t i = 0; i < r->scene.device_count && code == ACCEL_OK; i++)
        code = apply_file(r, &r->scene.devices[i]->file);
    if (code == ACCEL_OK)
        code = apply_entry(r, r->scene.model);
    for (uint32_t i = 0; i < ACCEL_PROFILE_SITES && code == ACCEL_OK; i++)
        if (r->scene.profile->sites[i]) {
            code = accel_profile_entry_failure(r->scene.profile->sites[i], r->error);
            if (code == ACCEL_OK)
                code = apply_entry(r, r->scene.profile->sites[i]);
        }
    return code;
}

static int32_t apply_text(struct accel_resolver *r, struct accel_key_slot *slot, const char *text, const char *place,
                          const char *because, uint32_t layer)
{
    struct accel_key_value value;
    char why[200];
    if (!accel_key_parse(slot->key, text, &value, why, sizeof(why))) {
        accel_error_set(r->error, ACCEL_E_INVALID, "%.160s: %s: %s", place, slot->key->name, why);
        accel_error_remedy(r->error, "accelctl profile settings %s tells what it may be", slot->key->name);
        return ACCEL_E_INVALID;
    }
    return add_candidate(r, slot, &value, place, because, layer);
}

static int32_t apply_environment(struct accel_resolver *r)
{
    const struct accel_aliases *aliases;
    const struct accel_wish *wish = NULL;
    int32_t code = accel_profile_aliases(r->scene.profile, &aliases, r->error);
    if (code == ACCEL_OK)
        code = accel_environment_wishes(aliases, r->driver, &r->settings->arena, &wish, r->error);
    for (; wish && code == ACCEL_OK; wish = wish->next) {
        struct accel_key_slot *slot = need_slot(r, wish->key);
        code = slot ? apply_text(r, slot, wish->text, wish->place, wish->because, ACCEL_PROFILE_ENVIRONMENT)
                    : accel_resolver_no_memory(r);
    }
    return code;
}

/* Whether layers are placed by hand on a device of the driver that the option belongs to: "0-1=NAME,2-4=DRIVER:cpu0".
 */
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
    char hint[ACCEL_DID_YOU_MEAN];
    *out_slot = find_slot(r, pair->key);
    if (*out_slot)
        return ACCEL_OK;
    if (near == NULL && (is_option_of(r->driver, pair->key) || is_option_of_placed(given, count, pair->key))) {
        *out_slot = need_slot(r, pair->key);
        return *out_slot ? ACCEL_OK : accel_resolver_no_memory(r);
    }
    if (near == NULL)
        near = accel_key_suggest(pair->key);
    accel_error_set(r->error, ACCEL_E_NOT_FOUND, "%.160s: setting \"%.80s\" is unknown%s", pair->origin, pair->key,
                    accel_did_you_mean(near, hint));
    accel_error_remedy(r->error, "accelctl profile settings lists them, and accelctl plugins the drivers with options");
    return ACCEL_E_NOT_FOUND;
}

static int32_t apply_given(struct accel_resolver *r, const struct accel_profile_pair *given, uint32_t count)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++) {
        struct accel_key_slot *slot;
        code = find_given(r, &given[i], given, count, &slot);
        if (code == ACCEL_OK)
            code = apply_text(r, slot, given[i].value, given[i].origin, "", ACCEL_PROFILE_GIVEN);
    }
    return code;
}

/* One pass over all layers. */
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

/* Takes the file of the client that the other layers name, and its name as a fact. *out_again: the rest has to be
 * resolved with it. */
static int32_t choose_client(struct accel_resolver *r, bool *out_again)
{
    const struct accel_key_candidate *winner = find_slot(r, "client")->strongest;
    const char *name = winner->value.word;
    struct accel_profile_fact fact = {"client.name", name, "", winner->place, winner->because, ACCEL_PROFILE_GIVEN};
    int32_t code;
    *out_again = false;
    if (strcmp(name, "none") == 0)
        return ACCEL_OK;
    /* The driver says in which program it runs, where it can. */
    if (strcmp(name, "auto") == 0 && (fact.value = accel_profile_scene_find(&r->scene, "client.name")) == NULL)
        return ACCEL_OK;
    if (!accel_profile_name_valid(fact.value))
        return accel_profile_refuse_name(r->scene.profile, ACCEL_PROFILE_CLIENT, fact.value, winner->place, r->error);
    code = accel_profile_entry_find(r->scene.profile, ACCEL_PROFILE_CLIENT, fact.value, &r->client, r->error);
    if (code == ACCEL_OK && r->client->file.is_absent)
        return accel_profile_refuse_name(r->scene.profile, ACCEL_PROFILE_CLIENT, fact.value, winner->place, r->error);
    if (code == ACCEL_OK)
        code = accel_profile_entry_failure(r->client, r->error);
    *out_again = true;
    return code == ACCEL_OK ? accel_profile_scene_add(&r->scene, &fact) : code;
}

/* What names the client must not depend on it. */
static int32_t check_client(struct accel_resolver *r, const char *name)
{
    const struct accel_key_candidate *winner = find_slot(r, "client")->strongest;
    if (strcmp(winner->value.word, name) == 0)
        return ACCEL_OK;
    return accel_error_set(r->error, ACCEL_E_INVALID, "%.200s: with client %.60s in force, client becomes %.60s",
                           winner->place, name, winner->value.word);
}

static int32_t resolve(struct accel_resolver *r, const struct accel_profile_pair *given, uint32_t given_count)
{
    const char *name;
    bool again;
    int32_t code = apply_all(r, given, given_count);
    if (code == ACCEL_OK)
        code = choose_client(r, &again);
    if (code != ACCEL_OK || !again)
        return code;
    name = find_slot(r, "client")->strongest->value.word;
    code = apply_all(r, given, given_count);
    return code == ACCEL_OK ? check_client(r, name) : code;
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
        return accel_resolver_no_memory(&r);
    accel_arena_init(&r.settings->arena, 0);
    r.scene = (struct accel_profile_scene){.profile = profile, .arena = &r.settings->arena, .error = error};
    code = accel_profile_scene_set(&r.scene, facts, fact_count);
    if (code == ACCEL_OK) {
        r.driver = accel_profile_scene_find(&r.scene, "driver.name");
        if (r.driver == NULL)
            r.driver = accel_profile_scene_find(&r.scene, "platform");
        code = resolve(&r, given, given_count);
    }
    if (code == ACCEL_OK)
        code = accel_resolver_write(&r);
    if (code != ACCEL_OK) {
        accel_settings_free(r.settings);
        return code;
    }
    *out_settings = r.settings;
    return ACCEL_OK;
}
