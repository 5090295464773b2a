/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/** What one resolution carries along. */
struct resolver {
    struct accel_settings *settings;
    struct slot *first;
    struct slot **end;
    struct accel_profile_scene scene;
    const struct accel_profile_entry *client; /* NULL: none */
    const char *driver;                       /* fact driver.name, else platform, or NULL */
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
    return code;
}

static bool is_option_of(const char *driver, const char *name)
{
    size_t length = driver ? strlen(driver) : 0;
    return length && strncmp(name, driver, length) == 0 && name[length] == '.' && name[length + 1] != 0;
}

/* The slot of a setting, or a new one for an option of a driver. */
static struct slot *need_slot(struct resolver *r, const char *name)
{
    struct slot *slot = find_slot(r, name);
    const struct accel_key *key = slot ? NULL : copy_option(r, name);
    return slot ? slot : key ? add_slot(r, key) : NULL;
}

static int32_t apply_locks(struct resolver *r, const struct accel_profile_file *file)
{
    for (const struct accel_lock *lock = file->locks; lock; lock = lock->next) {
        struct slot *slot = need_slot(r, lock->key);
        if (slot == NULL)
            return no_memory(r);
        if (slot->locked_by)
            continue;
        slot->locked_by = accel_arena_strdup(&r->settings->arena, lock->place);
        slot->locked_layer = file->layer;
        if (slot->locked_by == NULL)
            return no_memory(r);
    }
    return ACCEL_OK;
}

/* Options of other drivers say nothing here; those that a platform inherits are its own. */
static bool counts_here(struct resolver *r, const struct accel_profile_file *file, const struct accel_statement *s)
{
    if (accel_key_find(s->key->name) || file->layer == ACCEL_PROFILE_PLATFORM || is_option_of(r->driver, s->key->name))
        return true;
    return find_slot(r, s->key->name) != NULL;
}

static int32_t apply_file(struct resolver *r, const struct accel_profile_file *file)
{
    const struct accel_profile_scene *scene = &r->scene;
    int32_t code = ACCEL_OK;
    for (const struct accel_statement *s = file->first; s && code == ACCEL_OK; s = s->next) {
        struct slot *slot;
        if (!counts_here(r, file, s) || !accel_condition_holds(s->conditions, scene->pairs, scene->fact_count))
            continue;
        slot = need_slot(r, s->key->name);
        code = slot ? add_candidate(r, slot, &s->value, s->place, s->because, file->layer) : no_memory(r);
    }
    return code == ACCEL_OK ? apply_locks(r, file) : code;
}

/* A file that counts where its `match` holds. */
static int32_t apply_matching(struct resolver *r, const struct accel_profile_file *file)
{
    return accel_condition_holds(file->match, r->scene.pairs, r->scene.fact_count) ? apply_file(r, file) : ACCEL_OK;
}

static int32_t apply_entry(struct resolver *r, const struct accel_profile_entry *entry)
{
    return entry ? apply_matching(r, &entry->file) : ACCEL_OK;
}

static int32_t apply_files(struct resolver *r)
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

static int32_t apply_text(struct resolver *r, struct slot *slot, const char *text, const char *place,
                          const char *because, uint32_t layer)
{
    struct accel_key_value value;
    char why[200];
    if (!accel_key_parse(slot->key, text, &value, why, sizeof(why)))
        return accel_error_set(r->error, ACCEL_E_INVALID, "%.160s: %s: %s", place, slot->key->name, why);
    return add_candidate(r, slot, &value, place, because, layer);
}

static int32_t apply_environment(struct resolver *r)
{
    const struct accel_aliases *aliases;
    const struct accel_wish *wish = NULL;
    int32_t code = accel_profile_aliases(r->scene.profile, &aliases, r->error);
    if (code == ACCEL_OK)
        code = accel_environment_wishes(aliases, r->driver, &r->settings->arena, &wish, r->error);
    for (; wish && code == ACCEL_OK; wish = wish->next) {
        struct slot *slot = need_slot(r, wish->key);
        code = slot ? apply_text(r, slot, wish->text, wish->place, wish->because, ACCEL_PROFILE_ENVIRONMENT)
                    : no_memory(r);
    }
    return code;
}

static int32_t find_given(struct resolver *r, const struct accel_profile_pair *pair, struct slot **out_slot)
{
    const char *near = accel_key_meant(pair->key);
    char hint[ACCEL_DID_YOU_MEAN];
    *out_slot = find_slot(r, pair->key);
    if (*out_slot)
        return ACCEL_OK;
    if (near == NULL && is_option_of(r->driver, pair->key)) {
        *out_slot = need_slot(r, pair->key);
        return *out_slot ? ACCEL_OK : no_memory(r);
    }
    if (near == NULL)
        near = accel_key_suggest(pair->key);
    return accel_error_set(r->error, ACCEL_E_NOT_FOUND, "%.160s: setting \"%.80s\" is unknown%s", pair->origin,
                           pair->key, accel_did_you_mean(near, hint));
}

static int32_t apply_given(struct resolver *r, const struct accel_profile_pair *given, uint32_t count)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++) {
        struct slot *slot;
        code = find_given(r, &given[i], &slot);
        if (code == ACCEL_OK)
            code = apply_text(r, slot, given[i].value, given[i].origin, "", ACCEL_PROFILE_GIVEN);
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

static int32_t write_setting(struct resolver *r, const struct slot *slot, struct accel_profile_setting *out)
{
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
    return out->value && out->losers && overruled ? ACCEL_OK : no_memory(r);
}

/* An option that is only locked has no value. */
static int32_t write_settings(struct resolver *r)
{
    struct accel_settings *settings = r->settings;
    int32_t code = ACCEL_OK;
    for (const struct slot *slot = r->first; slot; slot = slot->next)
        settings->count += slot->strongest != NULL;
    settings->key_count = accel_key_count();
    settings->settings = accel_arena_array(&settings->arena, settings->count, sizeof(*settings->settings));
    if (settings->settings == NULL)
        return no_memory(r);
    settings->count = 0;
    for (const struct slot *slot = r->first; slot && code == ACCEL_OK; slot = slot->next)
        if (slot->strongest)
            code = write_setting(r, slot, &settings->settings[settings->count++]);
    settings->facts = r->scene.facts;
    settings->fact_count = r->scene.fact_count;
    return code;
}

/* One pass over all layers. */
static int32_t apply_all(struct resolver *r, const struct accel_profile_pair *given, uint32_t given_count)
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
static int32_t choose_client(struct resolver *r, bool *out_again)
{
    const struct candidate *winner = find_slot(r, "client")->strongest;
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
static int32_t check_client(struct resolver *r, const char *name)
{
    const struct candidate *winner = find_slot(r, "client")->strongest;
    if (strcmp(winner->value.word, name) == 0)
        return ACCEL_OK;
    return accel_error_set(r->error, ACCEL_E_INVALID, "%.200s: with client %.60s in force, client becomes %.60s",
                           winner->place, name, winner->value.word);
}

static int32_t resolve(struct resolver *r, const struct accel_profile_pair *given, uint32_t given_count)
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
    struct resolver r = {.error = error};
    int32_t code;
    *out_settings = NULL;
    r.settings = calloc(1, sizeof(*r.settings));
    if (r.settings == NULL)
        return no_memory(&r);
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
        code = write_settings(&r);
    if (code != ACCEL_OK) {
        accel_settings_free(r.settings);
        return code;
    }
    *out_settings = r.settings;
    return ACCEL_OK;
}
