/* SPDX-License-Identifier: Apache-2.0 */
/* Which files count, and what all of them and the caller know together. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/profile/folder.h"
#include "core/profile/internal.h"

static int32_t no_memory(const struct accel_profile_scene *scene)
{
    return accel_error_set(scene->error, ACCEL_E_MEMORY, "no memory for facts");
}

static const char *copy(const struct accel_profile_scene *scene, const char *text)
{
    return accel_arena_strdup(scene->arena, text);
}

const char *accel_profile_scene_find(const struct accel_profile_scene *scene, const char *key)
{
    for (uint32_t i = 0; i < scene->fact_count; i++)
        if (strcmp(scene->facts[i].key, key) == 0)
            return scene->facts[i].value;
    return NULL;
}

static int32_t make_room(struct accel_profile_scene *scene)
{
    uint32_t room = scene->fact_room ? scene->fact_room * 2 : 64;
    struct accel_profile_fact *facts = accel_arena_array(scene->arena, room, sizeof(*facts));
    struct accel_profile_pair *pairs = accel_arena_array(scene->arena, room, sizeof(*pairs));
    if (facts == NULL || pairs == NULL)
        return no_memory(scene);
    if (scene->fact_count) {
        memcpy(facts, scene->facts, scene->fact_count * sizeof(*facts));
        memcpy(pairs, scene->pairs, scene->fact_count * sizeof(*pairs));
    }
    scene->facts = facts;
    scene->pairs = pairs;
    scene->fact_room = room;
    return ACCEL_OK;
}

int32_t accel_profile_scene_add(struct accel_profile_scene *scene, const struct accel_profile_fact *fact)
{
    const struct accel_known_fact *known = accel_known_fact_find(fact->key);
    struct accel_profile_fact mine = {copy(scene, fact->key),   copy(scene, fact->value),   known ? known->unit : "",
                                      copy(scene, fact->place), copy(scene, fact->because), fact->layer};
    uint32_t at = 0;
    if (!mine.key || !mine.value || !mine.place || !mine.because)
        return no_memory(scene);
    while (at < scene->fact_count && strcmp(scene->facts[at].key, fact->key) != 0)
        at++;
    if (at < scene->fact_count && scene->facts[at].layer > fact->layer)
        return ACCEL_OK;
    if (at == scene->fact_room && make_room(scene) != ACCEL_OK)
        return ACCEL_E_MEMORY;
    scene->facts[at] = mine;
    scene->pairs[at] = (struct accel_profile_pair){mine.key, mine.value, mine.place};
    if (at == scene->fact_count)
        scene->fact_count++;
    return ACCEL_OK;
}

static int32_t add_given(struct accel_profile_scene *scene, const struct accel_profile_pair *facts, uint32_t count)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++)
        code = accel_profile_scene_add(scene, &(struct accel_profile_fact){facts[i].key, facts[i].value, "",
                                                                           facts[i].origin ? facts[i].origin : "", "",
                                                                           ACCEL_PROFILE_GIVEN});
    return code;
}

static int32_t add_stated(struct accel_profile_scene *scene, const struct accel_profile_file *file)
{
    int32_t code = ACCEL_OK;
    for (const struct accel_fact_statement *s = file->facts; s && code == ACCEL_OK; s = s->next)
        code = accel_profile_scene_add(
            scene, &(struct accel_profile_fact){s->fact->name, s->value, "", s->place, s->because, file->layer});
    return code;
}

/* An entry that is there, or NULL where the file is absent. */
static int32_t find_entry(const struct accel_profile_scene *scene, uint32_t layer, const char *name,
                          const struct accel_profile_entry **out_entry)
{
    int32_t code = ACCEL_OK;
    *out_entry = NULL;
    if (accel_profile_name_valid(name))
        code = accel_profile_entry_find(scene->profile, layer, name, out_entry, scene->error);
    if (code == ACCEL_OK && *out_entry && (*out_entry)->file.is_absent)
        *out_entry = NULL;
    if (code == ACCEL_OK && *out_entry)
        code = accel_profile_entry_failure(*out_entry, scene->error);
    return code;
}

/* The platform is the driver's where the caller did not name another one. One that is named has to have a file. */
static int32_t find_platform(struct accel_profile_scene *scene)
{
    const char *driver = accel_profile_scene_find(scene, "driver.name");
    const char *platform = accel_profile_scene_find(scene, "platform");
    int32_t code = ACCEL_OK;
    if (platform == NULL && driver) {
        platform = driver;
        code = accel_profile_scene_add(
            scene, &(struct accel_profile_fact){"platform", driver, "", "driver.name", "", ACCEL_PROFILE_BUILTIN});
    }
    if (code != ACCEL_OK || platform == NULL || strcmp(platform, "base") == 0)
        return code;
    code = find_entry(scene, ACCEL_PROFILE_PLATFORM, platform, &scene->platform);
    if (code == ACCEL_OK && scene->platform == NULL && (driver == NULL || strcmp(driver, platform) != 0))
        return accel_profile_refuse_name(scene->profile, ACCEL_PROFILE_PLATFORM, platform, "fact platform",
                                         scene->error);
    return code;
}

static int32_t take_named_device(struct accel_profile_scene *scene, const char *name)
{
    const struct accel_profile_entry *entry;
    int32_t code = find_entry(scene, ACCEL_PROFILE_DEVICE, name, &entry);
    if (code == ACCEL_OK && entry == NULL)
        return accel_profile_refuse_name(scene->profile, ACCEL_PROFILE_DEVICE, name, "fact device.profile",
                                         scene->error);
    if (code == ACCEL_OK)
        scene->devices[scene->device_count++] = entry;
    return code;
}

/* A file without `match` counts only where it is named. */
static int32_t take_matching_device(struct accel_profile_scene *scene, const char *name)
{
    const struct accel_profile_entry *entry;
    int32_t code = find_entry(scene, ACCEL_PROFILE_DEVICE, name, &entry);
    if (code == ACCEL_OK && entry && entry->file.match &&
        accel_condition_holds(entry->file.match, scene->pairs, scene->fact_count))
        scene->devices[scene->device_count++] = entry;
    return code;
}

static int32_t find_devices(struct accel_profile_scene *scene)
{
    const char *named = accel_profile_scene_find(scene, "device.profile");
    const struct accel_profile_names *names;
    int32_t code = accel_profile_devices(scene->profile, &names, scene->error);
    if (code != ACCEL_OK)
        return code;
    scene->devices = accel_arena_array(scene->arena, names->count + (size_t)1, sizeof(*scene->devices));
    if (scene->devices == NULL)
        return no_memory(scene);
    if (named)
        return take_named_device(scene, named);
    for (uint32_t i = 0; i < names->count && code == ACCEL_OK; i++)
        code = take_matching_device(scene, names->names[i]);
    return code;
}

static int32_t find_model(struct accel_profile_scene *scene)
{
    const char *name = accel_profile_scene_find(scene, "model.name");
    return name ? find_entry(scene, ACCEL_PROFILE_MODEL, name, &scene->model) : ACCEL_OK;
}

int32_t accel_profile_scene_set(struct accel_profile_scene *scene, const struct accel_profile_pair *facts,
                                uint32_t fact_count)
{
    int32_t code = add_given(scene, facts, fact_count);
    if (code == ACCEL_OK)
        code = find_platform(scene);
    if (code == ACCEL_OK)
        code = find_devices(scene);
    if (code == ACCEL_OK)
        code = find_model(scene);
    for (uint32_t i = 0; i < scene->device_count && code == ACCEL_OK; i++)
        code = add_stated(scene, &scene->devices[i]->file);
    if (code == ACCEL_OK && scene->model)
        code = add_stated(scene, &scene->model->file);
    return code;
}

int32_t accel_profile_facts(const struct accel_profile *profile, const struct accel_profile_pair *facts,
                            uint32_t fact_count, struct accel_profile_facts *out_facts, struct accel_error *error)
{
    struct accel_profile_scene scene = {.profile = profile, .arena = &out_facts->arena, .error = error};
    int32_t code;
    *out_facts = (struct accel_profile_facts){0};
    accel_arena_init(&out_facts->arena, 0);
    code = accel_profile_scene_set(&scene, facts, fact_count);
    if (code != ACCEL_OK) {
        accel_profile_facts_free(out_facts);
        return code;
    }
    out_facts->facts = scene.facts;
    out_facts->count = scene.fact_count;
    return ACCEL_OK;
}

void accel_profile_facts_free(struct accel_profile_facts *facts)
{
    accel_arena_free(&facts->arena);
    *facts = (struct accel_profile_facts){0};
}
