/* SPDX-License-Identifier: Apache-2.0 */
/* What ended a worker is kept as results of probes are, in a file of its own. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/device/worker.h"
#include "core/plugin/cache.h"

#define FILE_NAME "quarantine.cache"

/* The file in memory. */
struct kept {
    struct accel_cache cache;
    struct accel_arena arena;
    char *path;
};

static struct kept *open_kept(const char *folder, const struct accel_log *log)
{
    struct kept *kept = calloc(1, sizeof(*kept));
    if (kept == NULL)
        return NULL;
    kept->path = accel_file_join(folder, FILE_NAME);
    if (kept->path != NULL)
        accel_cache_read(kept->path, log, &kept->arena, &kept->cache, NULL);
    return kept;
}

static void close_kept(struct kept *kept)
{
    accel_arena_free(&kept->arena);
    free(kept->path);
    free(kept);
}

int32_t accel_quarantine_look(const char *folder, const char *name, const struct accel_log *log,
                              struct accel_error *error)
{
    struct kept *kept = open_kept(folder, log);
    const struct accel_cache_entry *known = kept == NULL ? NULL : accel_cache_find(&kept->cache, name);
    int32_t code = ACCEL_OK;
    if (known != NULL) {
        code = accel_error_set(error, known->code, "%s (in quarantine)", known->text);
        accel_error_remedy(error, "it is not tried again for this driver, these settings and graphs; to try: rm '%s'",
                           kept->path);
    }
    if (kept != NULL)
        close_kept(kept);
    return code;
}

void accel_quarantine_add(const char *folder, const char *name, const struct accel_log *log,
                          const struct accel_error *why)
{
    struct kept *kept = open_kept(folder, log);
    struct accel_cache_entry entry = {
        .code = why->code, .signal = why->native, .path = name, .text = why->text, .remedy = why->remedy, .detail = ""};
    if (kept == NULL)
        return;
    memcpy(entry.key, name, sizeof(entry.key));
    if (kept->path != NULL && accel_file_make_folders(folder, 0700, NULL) == ACCEL_OK) {
        accel_cache_put(&kept->cache, &entry);
        accel_cache_write(&kept->cache, kept->path, log);
    }
    close_kept(kept);
}
