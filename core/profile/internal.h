/* SPDX-License-Identifier: Apache-2.0 */
/** @file Shared by the files of this module only. */
#ifndef ACCEL_CORE_PROFILE_INTERNAL_H
#define ACCEL_CORE_PROFILE_INTERNAL_H

#include <pthread.h>

#include "core/profile/environment.h"
#include "core/profile/folder.h"
#include "core/profile/language.h"
#include "core/profile/profile.h"

/** The result of searching for a file. Its address is stable until the profile is freed. */
struct accel_profile_entry {
    struct accel_profile_entry *next;
    struct accel_profile_file file;
    struct accel_error failure; /**< why the file cannot be used; the code is ACCEL_OK if it can, or is absent */
};

/** Cache of the files read so far. Resolving profiles adds to it, from any thread. */
struct accel_profile_shelf {
    pthread_mutex_t lock;
    struct accel_profile_entry *entries;
    struct accel_profile_names *devices; /**< NULL: the folder is not listed yet */
    struct accel_aliases *aliases;       /**< NULL: the table is not read yet */
    struct accel_error aliases_failure;  /**< why the table cannot be used */
};

struct accel_profile {
    char *folder;
    struct accel_profile_file base;
    struct accel_profile_shelf *shelf;
    struct accel_profile_entry *sites[ACCEL_PROFILE_SITES]; /**< weakest first; NULL: none */
};

/** Finds a file in the cache, or reads it. Absent and unusable files have an entry, too. Fails only without memory. */
int32_t accel_profile_entry_find(const struct accel_profile *profile, uint32_t layer, const char *name,
                                 const struct accel_profile_entry **out_entry, struct accel_error *error);

/** Returns the error of a file that cannot be used; ACCEL_OK for a usable one. */
int32_t accel_profile_entry_failure(const struct accel_profile_entry *entry, struct accel_error *error);

/** Returns the files of the folder devices, sorted. The profile owns them. */
int32_t accel_profile_devices(const struct accel_profile *profile, const struct accel_profile_names **out_names,
                              struct accel_error *error);

/** Returns the table of variables, which the profile owns. Every call fails if the table cannot be used. */
int32_t accel_profile_aliases(const struct accel_profile *profile, const struct accel_aliases **out_aliases,
                              struct accel_error *error);

/** Input of a resolution: the files that apply, and the facts of all of them. */
struct accel_profile_selection {
    struct accel_arena *arena; /**< holds everything below except the entries */
    const struct accel_profile *profile;
    struct accel_error *error;
    struct accel_profile_fact *facts;
    struct accel_profile_pair *pairs; /**< `facts` in the form of conditions */
    uint32_t fact_count;
    uint32_t fact_capacity;
    const struct accel_profile_entry *platform; /**< NULL: none */
    const struct accel_profile_entry *model;    /**< NULL: none */
    const struct accel_profile_entry **devices;
    uint32_t device_count;
};

/** Finds the files that the facts name or match, and merges their facts into those of the selection. */
int32_t accel_profile_select(struct accel_profile_selection *selection, const struct accel_profile_pair *facts,
                             uint32_t fact_count);

/** Adds a fact, or replaces one that is not stronger. */
int32_t accel_profile_selection_add(struct accel_profile_selection *selection, const struct accel_profile_fact *fact);

/** Returns the value of a fact, or NULL. */
const char *accel_profile_selection_fact(const struct accel_profile_selection *selection, const char *key);

/** Refuses a name for which a layer has no file, and lists the layer's names. */
int32_t accel_profile_refuse_name(const struct accel_profile *profile, uint32_t layer, const char *name,
                                  const char *place, struct accel_error *error);

#endif
