/* SPDX-License-Identifier: Apache-2.0 */
/* Stores errors that ended a worker, in a cache file like that of probe results. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/plugin/cache.h"
#include "core/runtime/worker.h"

#define FILE_NAME "quarantine.cache"

/* The file in memory. */
struct quarantine {
    struct accel_cache cache;
    struct accel_arena arena;
    char *path;
};

static struct quarantine *open_quarantine(const char *folder, const struct accel_log *log)
{
    struct quarantine *quarantine = calloc(1, sizeof(*quarantine));
    if (quarantine == NULL)
        return NULL;
    quarantine->path = accel_file_join(folder, FILE_NAME);
    if (quarantine->path != NULL)
        accel_cache_read(quarantine->path, log, &quarantine->arena, &quarantine->cache, NULL);
    return quarantine;
}

static void close_quarantine(struct quarantine *quarantine)
{
    accel_arena_free(&quarantine->arena);
    free(quarantine->path);
    free(quarantine);
}

int32_t accel_quarantine_find(const char *folder, const char *name, const struct accel_log *log,
                              struct accel_error *error)
{
    struct quarantine *quarantine = open_quarantine(folder, log);
    const struct accel_cache_entry *known = quarantine == NULL ? NULL : accel_cache_find(&quarantine->cache, name);
    int32_t code = ACCEL_OK;
    if (known != NULL) {
        code = accel_error_set(error, known->code, "%s (in quarantine)", known->text);
        accel_error_remedy(error, "this driver, these settings and graphs are not compiled again; to retry: rm '%s'",
                           quarantine->path);
    }
    if (quarantine != NULL)
        close_quarantine(quarantine);
    return code;
}

void accel_quarantine_add(const char *folder, const char *name, const struct accel_log *log,
                          const struct accel_error *why)
{
    struct quarantine *quarantine = open_quarantine(folder, log);
    struct accel_cache_entry entry = {
        .code = why->code, .signal = why->native, .path = name, .text = why->text, .remedy = why->remedy, .detail = ""};
    if (quarantine == NULL)
        return;
    memcpy(entry.key, name, sizeof(entry.key));
    if (quarantine->path != NULL && accel_file_make_folders(folder, 0700, NULL) == ACCEL_OK) {
        accel_cache_put(&quarantine->cache, &entry);
        accel_cache_write(&quarantine->cache, quarantine->path, log);
    }
    close_quarantine(quarantine);
}
