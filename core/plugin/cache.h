/* SPDX-License-Identifier: Apache-2.0 */
/** @file Cache of probe results: one small text file. An entry is valid as long as its key matches, a hash of
 * everything that a probe's result depends on, so that a driver that crashed stays in quarantine until something has
 * changed. A file that is damaged, too long, or writable by other users is ignored and rewritten. */
#ifndef ACCEL_CORE_PLUGIN_CACHE_H
#define ACCEL_CORE_PLUGIN_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <accel/driver.h>
#include <accel/error.h>

#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/plugin/plugin.h"

/** Maximum number of cached results; the oldest are evicted first. */
#define ACCEL_CACHE_ENTRIES 256u

/** Inputs of the key of a result. */
struct accel_cache_subject {
    const char *path;        /**< real path of the file */
    const struct stat *file; /**< identity of the file: device, inode, size, times of the last change */
    const char *build_id;
    const char *depends; /**< `depends` of the note */
    const struct accel_hardware *const *hardware;
    uint32_t hardware_count;
    uint32_t milliseconds; /**< deadline: a probe that hangs for one second may finish within five */
};

/** One result. Texts are never NULL. */
struct accel_cache_entry {
    char key[ACCEL_HASH128_HEX_BYTES];
    int32_t code;
    int32_t signal;
    const char *path;
    const char *text;
    const char *remedy;
    const char *detail;
    const char *list; /**< enumerated devices, parsed by accel_ipc_read_list; NULL: not cached */
    size_t list_bytes;
};

/** Cached results in memory. A zeroed struct is empty. Texts live in the arena that it was read with. */
struct accel_cache {
    struct accel_cache_entry entries[ACCEL_CACHE_ENTRIES];
    uint32_t count;
    bool changed; /**< modified since it was read */
};

/** Computes the key of a subject, in hexadecimal. Fails with ACCEL_E_MEMORY only. */
int32_t accel_cache_key(const struct accel_cache_subject *subject, char out_key[ACCEL_HASH128_HEX_BYTES],
                        struct accel_error *error);

/** Reads a cache file. A missing or invalid one leaves the cache empty and is logged. Fails only without memory. */
int32_t accel_cache_read(const char *path, const struct accel_log *log, struct accel_arena *arena,
                         struct accel_cache *cache, struct accel_error *error);

/** Returns the result with this key, or NULL. Valid until the next put. */
const struct accel_cache_entry *accel_cache_find(const struct accel_cache *cache, const char *key);

/** Removes the result of a path. Returns false if there is none. */
bool accel_cache_remove(struct accel_cache *cache, const char *path);

/** Adds a result, or replaces the one with the same path. The caller owns the texts. */
void accel_cache_put(struct accel_cache *cache, const struct accel_cache_entry *entry);

/** Writes the cache file with its folders if the cache was modified. A failure to write is only logged. */
void accel_cache_write(struct accel_cache *cache, const char *path, const struct accel_log *log);

#endif
