/* SPDX-License-Identifier: Apache-2.0 */
/** @file Shared by the files of this room only. */
#ifndef ACCEL_CORE_PROFILE_INTERNAL_H
#define ACCEL_CORE_PROFILE_INTERNAL_H

#include <pthread.h>

#include "core/profile/environment.h"
#include "core/profile/folder.h"
#include "core/profile/language.h"
#include "core/profile/profile.h"
#include "core/profile/site.h"

/** A file that was looked for once. Its address stays until the profile is freed. */
struct accel_profile_entry {
    struct accel_profile_entry *next;
    struct accel_profile_file file;
    struct accel_error failure; /**< why the file cannot be used; its code is ACCEL_OK where it can, or is absent */
};

/** What has been read so far. It grows while profiles are resolved, in any thread. */
struct accel_profile_shelf {
    pthread_mutex_t lock;
    struct accel_profile_entry *entries;
    struct accel_profile_names *devices; /**< NULL: the folder was not looked at */
    struct accel_aliases *aliases;       /**< NULL: the table was not read */
    struct accel_error aliases_failure;  /**< why it cannot be used */
};

struct accel_profile {
    char *folder;
    struct accel_profile_file base;
    struct accel_profile_shelf *shelf;
    struct accel_profile_entry *sites[ACCEL_PROFILE_SITES]; /**< weakest first; NULL: none */
};

/** What a resolution came to. The arena holds everything else. */
struct accel_settings {
    struct accel_arena arena;
    uint32_t count;
    uint32_t key_count;
    uint32_t fact_count;
    struct accel_profile_fact *facts;
    struct accel_profile_setting *settings;
};

/** Finds or reads a file. One that is absent or cannot be used is an entry too; only a lack of memory fails. */
int32_t accel_profile_entry_find(const struct accel_profile *profile, uint32_t layer, const char *name,
                                 const struct accel_profile_entry **out_entry, struct accel_error *error);

/** Repeats why a file cannot be used; ACCEL_OK where it can. */
int32_t accel_profile_entry_failure(const struct accel_profile_entry *entry, struct accel_error *error);

/** The files of the folder devices, sorted. They belong to the profile. */
int32_t accel_profile_devices(const struct accel_profile *profile, const struct accel_profile_names **out_names,
                              struct accel_error *error);

/** The table of variables. It belongs to the profile. A table that cannot be used fails each call. */
int32_t accel_profile_aliases(const struct accel_profile *profile, const struct accel_aliases **out_aliases,
                              struct accel_error *error);

/** What is known when settings are resolved: which files count, and the facts of all of them. */
struct accel_profile_scene {
    struct accel_arena *arena; /**< holds everything below but the entries */
    const struct accel_profile *profile;
    struct accel_error *error;
    struct accel_profile_fact *facts;
    struct accel_profile_pair *pairs; /**< the same facts, for conditions */
    uint32_t fact_count;
    uint32_t fact_room;
    const struct accel_profile_entry *platform; /**< NULL: none */
    const struct accel_profile_entry *model;    /**< NULL: none */
    const struct accel_profile_entry **devices;
    uint32_t device_count;
};

/** Finds the files that the facts name or match, and merges what those state into the facts. */
int32_t accel_profile_scene_set(struct accel_profile_scene *scene, const struct accel_profile_pair *facts,
                                uint32_t fact_count);

/** Adds a fact, or overwrites one that is not stronger. */
int32_t accel_profile_scene_add(struct accel_profile_scene *scene, const struct accel_profile_fact *fact);

/** The value of a fact, or NULL. */
const char *accel_profile_scene_find(const struct accel_profile_scene *scene, const char *key);

/** Refuses a name for which a layer has no file, and says which it has. */
int32_t accel_profile_refuse_name(const struct accel_profile *profile, uint32_t layer, const char *name,
                                  const char *place, struct accel_error *error);

#endif
