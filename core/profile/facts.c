/* SPDX-License-Identifier: Apache-2.0 */
/* Determines which files apply, and merges their facts with the caller's. */
#include "config.h"

#include <string.h>

#include "core/profile/folder.h"
#include "core/profile/internal.h"

static const char *copy(const struct accel_profile_selection *selection, const char *text)
{
    return accel_arena_strdup(selection->arena, text);
}

const char *accel_profile_selection_fact(const struct accel_profile_selection *selection, const char *key)
{
    for (uint32_t i = 0; i < selection->fact_count; i++)
        if (strcmp(selection->facts[i].key, key) == 0)
            return selection->facts[i].value;
    return NULL;
}

static bool reserve_fact(struct accel_profile_selection *selection)
{
    uint32_t capacity = selection->fact_capacity, count = selection->fact_count;
    return accel_arena_grow(selection->arena, &selection->facts, count, &capacity, sizeof(*selection->facts)) &&
           accel_arena_grow(selection->arena, &selection->pairs, count, &selection->fact_capacity,
                            sizeof(*selection->pairs));
}

int32_t accel_profile_selection_add(struct accel_profile_selection *selection, const struct accel_profile_fact *fact)
{
    const struct accel_fact_row *known = accel_known_fact_find(fact->key);
    struct accel_profile_fact mine = {copy(selection, fact->key),    copy(selection, fact->value),
                                      known ? known->unit : "",      copy(selection, fact->place),
                                      copy(selection, fact->reason), fact->layer};
    uint32_t at = 0;
    if (!mine.key || !mine.value || !mine.place || !mine.reason)
        return accel_error_no_memory(selection->error, "for facts");
    while (at < selection->fact_count && strcmp(selection->facts[at].key, fact->key) != 0)
        at++;
    if (at < selection->fact_count && selection->facts[at].layer > fact->layer)
        return ACCEL_OK;
    if (at == selection->fact_count && !reserve_fact(selection))
        return accel_error_no_memory(selection->error, "for facts");
    selection->facts[at] = mine;
    selection->pairs[at] = (struct accel_profile_pair){mine.key, mine.value, mine.place};
    if (at == selection->fact_count)
        selection->fact_count++;
    return ACCEL_OK;
}

static int32_t add_given(struct accel_profile_selection *selection, const struct accel_profile_pair *facts,
                         uint32_t count)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++)
        code = accel_profile_selection_add(
            selection, &(struct accel_profile_fact){facts[i].key, facts[i].value, "",
                                                    facts[i].origin ? facts[i].origin : "", "", ACCEL_LAYER_GIVEN});
    return code;
}

static int32_t add_stated(struct accel_profile_selection *selection, const struct accel_profile_file *file)
{
    int32_t code = ACCEL_OK;
    for (const struct accel_fact_statement *s = file->facts; s && code == ACCEL_OK; s = s->next)
        code = accel_profile_selection_add(
            selection, &(struct accel_profile_fact){s->fact->name, s->value, "", s->place, s->reason, file->layer});
    return code;
}

/* Finds an entry whose file exists; NULL if the file is absent. */
static int32_t find_entry(const struct accel_profile_selection *selection, uint32_t layer, const char *name,
                          const struct accel_profile_entry **out_entry)
{
    int32_t code = ACCEL_OK;
    *out_entry = NULL;
    if (accel_profile_name_valid(name))
        code = accel_profile_entry_find(selection->profile, layer, name, out_entry, selection->error);
    if (code == ACCEL_OK && *out_entry && (*out_entry)->file.is_absent)
        *out_entry = NULL;
    if (code == ACCEL_OK && *out_entry)
        code = accel_profile_entry_failure(*out_entry, selection->error);
    return code;
}

/* Finds the platform: the driver's, unless the caller names another one. A named platform must have a file. */
static int32_t find_platform(struct accel_profile_selection *selection)
{
    const char *driver = accel_profile_selection_fact(selection, "driver.name");
    const char *platform = accel_profile_selection_fact(selection, "platform");
    int32_t code = ACCEL_OK;
    if (platform == NULL && driver) {
        platform = driver;
        code = accel_profile_selection_add(
            selection, &(struct accel_profile_fact){"platform", driver, "", "driver.name", "", ACCEL_LAYER_BUILTIN});
    }
    if (code != ACCEL_OK || platform == NULL || strcmp(platform, "base") == 0)
        return code;
    code = find_entry(selection, ACCEL_LAYER_PLATFORM, platform, &selection->platform);
    if (code == ACCEL_OK && selection->platform == NULL && (driver == NULL || strcmp(driver, platform) != 0))
        return accel_profile_refuse_name(selection->profile, ACCEL_LAYER_PLATFORM, platform, "", selection->error);
    return code;
}

static int32_t add_named_device(struct accel_profile_selection *selection, const char *name)
{
    const struct accel_profile_entry *entry;
    int32_t code = find_entry(selection, ACCEL_LAYER_DEVICE, name, &entry);
    if (code == ACCEL_OK && entry == NULL)
        return accel_profile_refuse_name(selection->profile, ACCEL_LAYER_DEVICE, name, "", selection->error);
    if (code == ACCEL_OK)
        selection->devices[selection->device_count++] = entry;
    return code;
}

/* Adds the file of a device if it matches. A file without `match` applies only if it is named. */
static int32_t add_matching_device(struct accel_profile_selection *selection, const char *name)
{
    const struct accel_profile_entry *entry;
    int32_t code = find_entry(selection, ACCEL_LAYER_DEVICE, name, &entry);
    if (code == ACCEL_OK && entry && entry->file.match &&
        accel_condition_holds(entry->file.match, selection->pairs, selection->fact_count))
        selection->devices[selection->device_count++] = entry;
    return code;
}

static int32_t find_devices(struct accel_profile_selection *selection)
{
    const char *named = accel_profile_selection_fact(selection, "device.profile");
    const struct accel_profile_names *names;
    int32_t code = accel_profile_devices(selection->profile, &names, selection->error);
    if (code != ACCEL_OK)
        return code;
    selection->devices = accel_arena_array(selection->arena, names->count + (size_t)1, sizeof(*selection->devices));
    if (selection->devices == NULL)
        return accel_error_no_memory(selection->error, "for facts");
    if (named)
        return add_named_device(selection, named);
    for (uint32_t i = 0; i < names->count && code == ACCEL_OK; i++)
        code = add_matching_device(selection, names->names[i]);
    return code;
}

int32_t accel_profile_select(struct accel_profile_selection *selection, const struct accel_profile_pair *facts,
                             uint32_t fact_count)
{
    const char *model;
    int32_t code = add_given(selection, facts, fact_count);
    if (code == ACCEL_OK)
        code = find_platform(selection);
    if (code == ACCEL_OK)
        code = find_devices(selection);
    model = accel_profile_selection_fact(selection, "model.name");
    if (code == ACCEL_OK && model)
        code = find_entry(selection, ACCEL_LAYER_MODEL, model, &selection->model);
    for (uint32_t i = 0; i < selection->device_count && code == ACCEL_OK; i++)
        code = add_stated(selection, &selection->devices[i]->file);
    if (code == ACCEL_OK && selection->model)
        code = add_stated(selection, &selection->model->file);
    return code;
}

int32_t accel_profile_check_platform(const struct accel_profile *profile, const char *name, struct accel_error *error)
{
    const struct accel_profile_selection selection = {.profile = profile, .error = error};
    const struct accel_profile_entry *entry;
    int32_t code = strcmp(name, "base") == 0 ? ACCEL_OK : find_entry(&selection, ACCEL_LAYER_PLATFORM, name, &entry);
    if (code == ACCEL_OK && strcmp(name, "base") != 0 && entry == NULL)
        return accel_profile_refuse_name(profile, ACCEL_LAYER_PLATFORM, name, "", error);
    return code;
}

int32_t accel_profile_facts(const struct accel_profile *profile, const struct accel_profile_pair *facts,
                            uint32_t fact_count, struct accel_profile_facts *out_facts, struct accel_error *error)
{
    struct accel_profile_selection selection = {.profile = profile, .arena = &out_facts->arena, .error = error};
    int32_t code;
    *out_facts = (struct accel_profile_facts){0};
    code = accel_profile_select(&selection, facts, fact_count);
    if (code != ACCEL_OK) {
        accel_profile_facts_free(out_facts);
        return code;
    }
    out_facts->facts = selection.facts;
    out_facts->count = selection.fact_count;
    return ACCEL_OK;
}

void accel_profile_facts_free(struct accel_profile_facts *facts)
{
    accel_arena_free(&facts->arena);
    *facts = (struct accel_profile_facts){0};
}
