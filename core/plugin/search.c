/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/plugin/search.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <accel/abi.h>

#include "core/base/env.h"
#include "core/base/file.h"
#include "core/base/paths.h"

#define COMPONENT "plugin"

static const char variable_name[] = "ACCEL_DRIVER_PATH";

/* State of one search. */
struct search {
    const struct accel_log *log;
    struct accel_arena *arena;
    struct accel_candidates *found;
    struct accel_error *error;
};

static int32_t add(struct search *search, const char *place, const char *path, size_t bytes)
{
    struct accel_candidates *found = search->found;
    if (found->count == ACCEL_SEARCH_LIMIT) {
        accel_log_write(search->log, ACCEL_LOG_WARN, COMPONENT, "file=\"%.*s\" ignored=\"over %u candidates\"",
                        (int)bytes, path, ACCEL_SEARCH_LIMIT);
        return ACCEL_OK;
    }
    if (!accel_arena_grow(search->arena, &found->list, found->count, &found->capacity, sizeof(*found->list)))
        return accel_error_no_memory(search->error, "to search for drivers");
    found->list[found->count] = (struct accel_candidate){accel_arena_strndup(search->arena, path, bytes), place};
    if (found->list[found->count].path == NULL)
        return accel_error_no_memory(search->error, "to search for drivers");
    found->count++;
    return ACCEL_OK;
}

static int is_driver_file(const struct dirent *entry)
{
    size_t bytes = strlen(entry->d_name);
    return entry->d_name[0] != '.' && bytes > 3 && strcmp(entry->d_name + bytes - 3, ".so") == 0;
}

/* Compares bytes: the order must not depend on the locale, as that of alphasort does. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int32_t add_folder(struct search *search, const char *place, const char *folder)
{
    struct dirent **entries = NULL;
    int32_t code = ACCEL_OK;
    int count = scandir(folder, &entries, is_driver_file, by_name);
    if (count < 0) {
        accel_log_write(search->log, errno == ENOENT ? ACCEL_LOG_DEBUG : ACCEL_LOG_WARN, COMPONENT,
                        "folder=\"%s\" place=%s unreadable=%d", folder, place, errno);
        return ACCEL_OK;
    }
    for (int i = 0; i < count; i++) {
        char *path = code == ACCEL_OK ? accel_file_join(folder, entries[i]->d_name) : NULL;
        if (path != NULL)
            code = add(search, place, path, strlen(path));
        else if (code == ACCEL_OK)
            code = accel_error_no_memory(search->error, "to search for drivers");
        free(path);
        free(entries[i]);
    }
    free(entries);
    return code;
}

/* Returns whether the path looks like a library: "x.so" or "x.so.1". */
static bool is_named_as_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *end = strstr(slash ? slash + 1 : path, ".so");
    return end != NULL && (end[3] == '\0' || end[3] == '.');
}

/* Adds an entry. A named path that is not a folder gets a record whatever its name, so that it is not ignored
 * silently. For a missing path the name decides between file and folder. */
static int32_t add_entry(struct search *search, const char *place, const char *entry, size_t bytes)
{
    struct stat facts;
    char *path;
    int32_t code;
    if (bytes == 0)
        return ACCEL_OK;
    if (entry[0] != '/') {
        accel_log_write(search->log, ACCEL_LOG_WARN, COMPONENT, "entry=\"%.*s\" place=%s ignored=\"not absolute\"",
                        (int)bytes, entry, place);
        return ACCEL_OK;
    }
    path = strndup(entry, bytes);
    if (path == NULL)
        return accel_error_no_memory(search->error, "to search for drivers");
    if (stat(path, &facts) == 0 ? !S_ISDIR(facts.st_mode) : is_named_as_file(path))
        code = add(search, place, path, bytes);
    else
        code = add_folder(search, place, path);
    free(path);
    return code;
}

static int32_t add_list(struct search *search, const char *place, const char *list)
{
    while (list != NULL && *list != '\0') {
        size_t bytes = strcspn(list, ":");
        int32_t code = add_entry(search, place, list, bytes);
        if (code != ACCEL_OK)
            return code;
        list += bytes + (list[bytes] == ':');
    }
    return ACCEL_OK;
}

int32_t accel_search_run(const struct accel_search_places *places, const struct accel_log *log,
                         struct accel_arena *arena, struct accel_candidates *out_candidates, struct accel_error *error)
{
    struct search search = {log, arena, out_candidates, error};
    int32_t code;
    memset(out_candidates, 0, sizeof(*out_candidates));
    code = add_list(&search, "driver_path", places->driver_path);
    if (code == ACCEL_OK)
        code = add_list(&search, variable_name, places->variable);
    /* The two folders are not lists: a ':' in the name of a home folder is part of the name. */
    if (code == ACCEL_OK && places->user != NULL)
        code = add_entry(&search, "user", places->user, strlen(places->user));
    if (code == ACCEL_OK && places->system != NULL)
        code = add_entry(&search, "system", places->system, strlen(places->system));
    return code;
}

static char *user_folder(const struct accel_log *log)
{
    struct accel_error error = {0};
    char name[32] = "drivers-";
    char *data = NULL;
    char *folder;
    if (accel_file_user_folder(ACCEL_USER_DATA, &data, &error) != ACCEL_OK) {
        accel_log_write(log, ACCEL_LOG_INFO, COMPONENT, "place=user ignored=\"%s\"", error.text);
        return NULL;
    }
    _Static_assert(ACCEL_ABI_MAJOR < 10, "the name has one character for the major");
    name[strlen(name)] = (char)('0' + ACCEL_ABI_MAJOR);
    folder = accel_file_join(data, name);
    free(data);
    return folder;
}

void accel_search_restrict(struct accel_search_places *places, bool elevated, const struct accel_log *log)
{
    if (!elevated)
        return;
    if (places->variable != NULL)
        accel_log_write(log, ACCEL_LOG_WARN, COMPONENT, "variable=%s ignored=\"the program has elevated privileges\"",
                        variable_name);
    if (places->driver_path != NULL)
        accel_log_write(log, ACCEL_LOG_WARN, COMPONENT,
                        "driver_path=\"%s\" ignored=\"the program has elevated privileges\"", places->driver_path);
    places->variable = NULL;
    places->driver_path = NULL;
}

int32_t accel_search_places(const char *driver_path, const struct accel_log *log,
                            struct accel_search_places *out_places, struct accel_error *error)
{
    bool ignored = false;
    int32_t code;
    memset(out_places, 0, sizeof(*out_places));
    code = accel_paths_drivers(&out_places->system, error);
    if (code != ACCEL_OK)
        return code;
    out_places->driver_path = driver_path;
    out_places->variable = accel_env_get(variable_name, &ignored);
    if (ignored)
        out_places->variable = "?";
    accel_search_restrict(out_places, accel_env_is_elevated(), log);
    if (!accel_env_is_elevated())
        out_places->user = user_folder(log);
    return ACCEL_OK;
}

void accel_search_places_free(struct accel_search_places *places)
{
    free(places->user);
    free(places->system);
    memset(places, 0, sizeof(*places));
}
