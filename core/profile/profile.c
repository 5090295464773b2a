/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/strbuf.h"
#include "core/base/text.h"
#include "core/profile/folder.h"
#include "core/profile/internal.h"

static struct accel_profile_shelf *make_shelf(void)
{
    struct accel_profile_shelf *shelf = calloc(1, sizeof(*shelf));
    if (shelf && pthread_mutex_init(&shelf->lock, NULL) != 0) {
        free(shelf);
        return NULL;
    }
    return shelf;
}

int32_t accel_profile_create(const char *folder, struct accel_profile **out_profile, struct accel_error *error)
{
    struct accel_profile *profile;
    int32_t code;
    *out_profile = NULL;
    profile = calloc(1, sizeof(*profile));
    if (profile == NULL || (profile->shelf = make_shelf()) == NULL || (profile->folder = strdup(folder)) == NULL) {
        accel_profile_free(profile);
        return accel_error_no_memory(error, "for profiles");
    }
    code = accel_profile_file_read(&profile->base, folder, ACCEL_LAYER_BASE, "base", error);
    if (code != ACCEL_OK) {
        accel_profile_free(profile);
        return code;
    }
    *out_profile = profile;
    return ACCEL_OK;
}

static void free_entry(struct accel_profile_entry *entry)
{
    accel_profile_file_free(&entry->file);
    free(entry);
}

static void free_shelf(struct accel_profile_shelf *shelf)
{
    while (shelf->entries) {
        struct accel_profile_entry *next = shelf->entries->next;
        free_entry(shelf->entries);
        shelf->entries = next;
    }
    if (shelf->devices)
        accel_profile_names_free(shelf->devices);
    free(shelf->devices);
    if (shelf->aliases)
        accel_aliases_free(shelf->aliases);
    free(shelf->aliases);
    pthread_mutex_destroy(&shelf->lock);
    free(shelf);
}

void accel_profile_free(struct accel_profile *profile)
{
    if (profile == NULL)
        return;
    for (uint32_t i = 0; i < ACCEL_PROFILE_SITES; i++)
        if (profile->sites[i])
            free_entry(profile->sites[i]);
    if (profile->shelf)
        free_shelf(profile->shelf);
    accel_profile_file_free(&profile->base);
    free(profile->folder);
    free(profile);
}

int32_t accel_profile_entry_failure(const struct accel_profile_entry *entry, struct accel_error *error)
{
    return accel_error_copy(error, &entry->failure);
}

static struct accel_profile_entry *look_up(const struct accel_profile_shelf *shelf, uint32_t layer, const char *name)
{
    for (struct accel_profile_entry *entry = shelf->entries; entry; entry = entry->next)
        if (entry->file.layer == layer && strcmp(entry->file.name, name) == 0)
            return entry;
    return NULL;
}

/* Reads a file into the cache. Lack of memory is temporary, so it leaves no entry; an error in the file stays. */
static int32_t read_entry(const struct accel_profile *profile, uint32_t layer, const char *name,
                          struct accel_profile_entry **out_entry, struct accel_error *error)
{
    struct accel_profile_entry *entry = calloc(1, sizeof(*entry));
    int32_t code;
    if (entry == NULL)
        return accel_error_no_memory(error, "for profile %s", name);
    code = accel_profile_file_read(&entry->file, profile->folder, layer, name, &entry->failure);
    if (code == ACCEL_E_MEMORY || entry->file.name == NULL) {
        accel_error_copy(error, &entry->failure);
        free_entry(entry);
        return code;
    }
    /* A missing file is no error; an existing file that inherits a missing one is. */
    if (entry->file.is_absent)
        accel_error_clear(&entry->failure);
    entry->next = profile->shelf->entries;
    profile->shelf->entries = entry;
    *out_entry = entry;
    return ACCEL_OK;
}

int32_t accel_profile_entry_find(const struct accel_profile *profile, uint32_t layer, const char *name,
                                 const struct accel_profile_entry **out_entry, struct accel_error *error)
{
    struct accel_profile_entry *entry;
    int32_t code = ACCEL_OK;
    pthread_mutex_lock(&profile->shelf->lock);
    entry = look_up(profile->shelf, layer, name);
    if (entry == NULL)
        code = read_entry(profile, layer, name, &entry, error);
    pthread_mutex_unlock(&profile->shelf->lock);
    *out_entry = entry;
    return code;
}

int32_t accel_profile_devices(const struct accel_profile *profile, const struct accel_profile_names **out_names,
                              struct accel_error *error)
{
    struct accel_profile_shelf *shelf = profile->shelf;
    int32_t code = ACCEL_OK;
    pthread_mutex_lock(&shelf->lock);
    if (shelf->devices == NULL) {
        struct accel_profile_names *names = calloc(1, sizeof(*names));
        code = names ? accel_profile_names_read(profile->folder, ACCEL_LAYER_DEVICE, names, error)
                     : accel_error_no_memory(error, "for the names of profiles");
        if (code == ACCEL_OK)
            shelf->devices = names;
        else
            free(names);
    }
    *out_names = shelf->devices;
    pthread_mutex_unlock(&shelf->lock);
    return code;
}

static int32_t add_site(struct accel_profile *profile, uint32_t index, const char *below, struct accel_error *error)
{
    uint32_t layer = ACCEL_LAYER_SYSTEM + index;
    struct accel_profile_entry *entry;
    char *path;
    int32_t code = ACCEL_OK;
    if (!accel_profile_site_path(layer, below, &path) || (path && (entry = calloc(1, sizeof(*entry))) == NULL)) {
        free(path);
        return accel_error_no_memory(error, "for the files of the site");
    }
    if (path == NULL)
        return ACCEL_OK;
    code = accel_profile_site_read(&entry->file, profile->folder, layer, path, &entry->failure);
    free(path);
    if (code == ACCEL_E_MEMORY || entry->file.is_absent) {
        free_entry(entry);
        return code == ACCEL_E_MEMORY ? accel_error_set(error, code, "no memory for the files of the site") : ACCEL_OK;
    }
    profile->sites[index] = entry;
    return ACCEL_OK;
}

int32_t accel_profile_add_sites(struct accel_profile *profile, const char *below, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < ACCEL_PROFILE_SITES && code == ACCEL_OK; i++)
        if (profile->sites[i] == NULL)
            code = add_site(profile, i, below, error);
    return code;
}

/* Reads the table of variables. As for files, lack of memory is temporary, and an error in the table stays. */
static int32_t read_aliases(const struct accel_profile *profile, struct accel_error *error)
{
    struct accel_profile_shelf *shelf = profile->shelf;
    struct accel_aliases *aliases = calloc(1, sizeof(*aliases));
    int32_t code = aliases ? accel_aliases_read(aliases, profile->folder, &shelf->aliases_failure) : ACCEL_E_MEMORY;
    if (code == ACCEL_E_MEMORY) {
        accel_error_clear(&shelf->aliases_failure);
        if (aliases)
            accel_aliases_free(aliases);
        free(aliases);
        return accel_error_set(error, code, "no memory for the table of variables");
    }
    shelf->aliases = aliases;
    return ACCEL_OK;
}

int32_t accel_profile_aliases(const struct accel_profile *profile, const struct accel_aliases **out_aliases,
                              struct accel_error *error)
{
    struct accel_profile_shelf *shelf = profile->shelf;
    int32_t code = ACCEL_OK;
    pthread_mutex_lock(&shelf->lock);
    if (shelf->aliases == NULL)
        code = read_aliases(profile, error);
    if (code == ACCEL_OK)
        code = accel_error_copy(error, &shelf->aliases_failure);
    *out_aliases = shelf->aliases;
    pthread_mutex_unlock(&shelf->lock);
    return code;
}

int32_t accel_profile_unknown_each(const struct accel_profile *profile, accel_profile_unknown function, void *data,
                                   struct accel_error *error)
{
    const struct accel_aliases *aliases;
    struct accel_profile_names platforms;
    int32_t code = accel_profile_aliases(profile, &aliases, error);
    if (code == ACCEL_OK)
        code = accel_profile_names_read(profile->folder, ACCEL_LAYER_PLATFORM, &platforms, error);
    if (code != ACCEL_OK)
        return code;
    accel_environment_unknown(aliases, (const char *const *)platforms.names, platforms.count, function, data);
    accel_profile_names_free(&platforms);
    return ACCEL_OK;
}

int32_t accel_profile_add(struct accel_profile *profile, const char *name, struct accel_error *error)
{
    const struct accel_profile_entry *entry;
    int32_t code;
    if (!accel_profile_name_valid(name))
        return accel_error_set(error, ACCEL_E_INVALID, "\"%.80s\" is no name of a platform", name);
    /* The base is a layer already. */
    if (strcmp(name, "base") == 0)
        return ACCEL_OK;
    code = accel_profile_entry_find(profile, ACCEL_LAYER_PLATFORM, name, &entry, error);
    return code == ACCEL_OK ? accel_profile_entry_failure(entry, error) : code;
}

/* Suggests the nearest name, else the name of a file whose `about` mentions the wanted one. */
static const char *suggest_name(const struct accel_profile *profile, const struct accel_profile_names *known,
                                uint32_t layer, const char *name)
{
    const char *near = accel_suggest(name, (const char *const *)known->names, known->count);
    for (uint32_t i = 0; i < known->count && near == NULL; i++) {
        const struct accel_profile_entry *entry = NULL;
        if (accel_profile_entry_find(profile, layer, known->names[i], &entry, NULL) == ACCEL_OK &&
            entry->failure.code == ACCEL_OK && strlen(name) >= 3 && accel_contains_words(entry->file.about, name))
            near = known->names[i];
    }
    return near;
}

/* Bytes of the names that a remedy lists; more names than that are counted. */
enum { REMEDY_LIST = 200 };

int32_t accel_profile_refuse_name(const struct accel_profile *profile, uint32_t layer, const char *name,
                                  const char *place, struct accel_error *error)
{
    struct accel_profile_names known;
    struct accel_strbuf list;
    char hint[ACCEL_DID_YOU_MEAN];
    const char *near;
    size_t bytes = 0;
    int32_t code;
    accel_strbuf_init(&list, REMEDY_LIST);
    if (accel_profile_names_read(profile->folder, layer, &known, NULL) != ACCEL_OK)
        known = (struct accel_profile_names){0};
    for (uint32_t i = 0; i < known.count; i++) {
        accel_strbuf_printf(&list, "%s%s", i ? ", " : "", known.names[i]);
        bytes += strlen(known.names[i]) + 2;
    }
    near = suggest_name(profile, &known, layer, name);
    accel_did_you_mean(near, hint);
    /* A device with another number is another device. */
    if (near && layer == ACCEL_LAYER_DEVICE && accel_number_in(name) != accel_number_in(near))
        snprintf(hint, sizeof(hint), "; the nearest is \"%.80s\"", near);
    code = accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_NOT_FOUND, "%.160s%sthere is no %s \"%.60s\"%s", place,
                          *place ? ": " : "", accel_profile_layer_name(layer), name, hint);
    if (bytes < REMEDY_LIST)
        accel_error_remedy(error, "files of that kind: %s", known.count ? accel_strbuf_get(&list) : "none");
    else
        accel_error_remedy(error, "accelctl profile list %ss lists the %" PRIu32 " files of that kind%s",
                           accel_profile_layer_name(layer), known.count,
                           layer == ACCEL_LAYER_DEVICE ? "; --set device.memory=36GiB --set device.bandwidth=150GB "
                                                         "(and device.count=2) describe a device without one"
                                                       : "");
    accel_strbuf_free(&list);
    accel_profile_names_free(&known);
    return code;
}
