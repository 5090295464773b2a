/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/plugin/search.h"

#include <accel/abi.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/env.h"
#include "core/base/file.h"
#include "core/base/paths.h"

#define ROOM "plugin"

static const char variable_name[] = "ACCEL_DRIVER_PATH";

static int32_t no_memory(struct accel_error *error)
{
    return accel_error_set(error, ACCEL_E_MEMORY, "no memory to search for drivers");
}

/* What one search works on. */
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
        accel_log_write(search->log, ACCEL_LOG_WARN, ROOM, "file=\"%.*s\" ignored=\"over %u candidates\"", (int)bytes,
                        path, ACCEL_SEARCH_LIMIT);
        return ACCEL_OK;
    }
    if (found->count == found->capacity) {
        uint32_t capacity = found->capacity ? 2 * found->capacity : 16;
        struct accel_candidate *list = accel_arena_array(search->arena, capacity, sizeof(*list));
        if (list == NULL)
            return no_memory(search->error);
        if (found->count > 0)
            memcpy(list, found->list, found->count * sizeof(*list));
        found->list = list;
        found->capacity = capacity;
    }
    found->list[found->count] = (struct accel_candidate){accel_arena_strndup(search->arena, path, bytes), place};
    if (found->list[found->count].path == NULL)
        return no_memory(search->error);
    found->count++;
    return ACCEL_OK;
}

static int is_driver_file(const struct dirent *entry)
{
    size_t bytes = strlen(entry->d_name);
    return entry->d_name[0] != '.' && bytes > 3 && strcmp(entry->d_name + bytes - 3, ".so") == 0;
}

/* By bytes: the order must not depend on the locale, as that of alphasort does. */
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
        accel_log_write(search->log, errno == ENOENT ? ACCEL_LOG_DEBUG : ACCEL_LOG_WARN, ROOM,
                        "folder=\"%s\" place=%s unreadable=%d", folder, place, errno);
        return ACCEL_OK;
    }
    for (int i = 0; i < count; i++) {
        char *path = code == ACCEL_OK ? accel_file_join(folder, entries[i]->d_name) : NULL;
        if (path != NULL)
            code = add(search, place, path, strlen(path));
        else if (code == ACCEL_OK)
            code = no_memory(search->error);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return code;
}

/* "x.so" and "x.so.1", as libraries are called. */
static bool is_named_as_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *end = strstr(slash ? slash + 1 : path, ".so");
    return end != NULL && (end[3] == '\0' || end[3] == '.');
}

/* What was named and is no folder is a file, whatever it is called, and gets a record: it must not be passed over in
 * silence. Of what is not there the name tells which of them was meant. */
static int32_t add_entry(struct search *search, const char *place, const char *entry, size_t bytes)
{
    struct stat facts;
    char *path;
    int32_t code;
    if (bytes == 0)
        return ACCEL_OK;
    if (entry[0] != '/') {
        accel_log_write(search->log, ACCEL_LOG_WARN, ROOM, "entry=\"%.*s\" place=%s ignored=\"not absolute\"",
                        (int)bytes, entry, place);
        return ACCEL_OK;
    }
    path = strndup(entry, bytes);
    if (path == NULL)
        return no_memory(search->error);
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
    /* The two folders are not lists: a ':' in the name of a home folder is a ':'. */
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
    if (accel_file_user_data(&data, &error) != ACCEL_OK) {
        accel_log_write(log, ACCEL_LOG_INFO, ROOM, "place=user ignored=\"%s\"", error.text);
        return NULL;
    }
    _Static_assert(ACCEL_ABI_MAJOR < 10, "one digit");
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
        accel_log_write(log, ACCEL_LOG_WARN, ROOM, "variable=%s ignored=\"the program has raised rights\"",
                        variable_name);
    if (places->driver_path != NULL)
        accel_log_write(log, ACCEL_LOG_WARN, ROOM, "driver_path=\"%s\" ignored=\"the program has raised rights\"",
                        places->driver_path);
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
