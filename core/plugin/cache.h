/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Remembers what came of probes: one small text file. An entry holds as long as its key does, and the key is made of
 * all that a probe's result depends on, so that a driver that crashed stays in quarantine until something has changed.
 * A file that is damaged, too long, or could have been written by somebody else is ignored and written anew.
 */
#ifndef ACCEL_CORE_PLUGIN_CACHE_H
#define ACCEL_CORE_PLUGIN_CACHE_H

#include <accel/driver.h>
#include <accel/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/plugin/plugin.h"

/** Most results that are remembered; the oldest go first. */
#define ACCEL_CACHE_ENTRIES 256u

/** What a result depends on. */
struct accel_cache_subject {
    const char *path;        /**< real path of the file */
    const struct stat *file; /**< its identity: device, inode, size, time of the last change */
    const char *build_id;
    const char *depends; /**< of the note */
    const struct accel_hardware *const *hardware;
    uint32_t hardware_count;
    uint32_t milliseconds; /**< the deadline: what hangs for one second may not hang for five */
};

/** One result. Texts are never NULL. */
struct accel_cache_entry {
    char key[ACCEL_HASH_TEXT];
    int32_t code;
    int32_t signal;
    const char *path;
    const char *text;
    const char *remedy;
    const char *detail;
    const char *list; /**< what was enumerated, as accel_wire_read_list reads it; NULL: nothing was kept */
    size_t list_bytes;
};

/** The results in memory. A zeroed one is empty. Texts lie in the arena that it was read with. */
struct accel_cache {
    struct accel_cache_entry entries[ACCEL_CACHE_ENTRIES];
    uint32_t count;
    bool changed; /**< something was put since it was read */
};

/** The key of a subject: hexadecimal. ACCEL_E_MEMORY alone can fail. */
int32_t accel_cache_key(const struct accel_cache_subject *subject, char out_key[ACCEL_HASH_TEXT],
                        struct accel_error *error);

/** Reads a cache file. One that is not there or not good leaves the cache empty, and the log says why. Fails for lack
 * of memory alone. */
int32_t accel_cache_read(const char *path, const struct accel_log *log, struct accel_arena *arena,
                         struct accel_cache *cache, struct accel_error *error);

/** The result with this key, or NULL. Valid until the next put. */
const struct accel_cache_entry *accel_cache_find(const struct accel_cache *cache, const char *key);

/** Takes the result of a path out. False where there is none. */
bool accel_cache_remove(struct accel_cache *cache, const char *path);

/** Puts a result in the place of one with the same path. The texts stay with the caller. */
void accel_cache_put(struct accel_cache *cache, const struct accel_cache_entry *entry);

/** Writes the cache file, folders included, if something was put. A folder that cannot be written is logged only. */
void accel_cache_write(struct accel_cache *cache, const char *path, const struct accel_log *log);

#endif
