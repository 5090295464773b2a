/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Disk cache of compiled kernels, for APIs that can export and import them: one file per driver and device fingerprint.
 * The cache never causes a failure: errors of a file are logged, and kernels are compiled.
 *
 * A file is written under a temporary name and a lock, flushed and renamed; leftovers of killed writers are removed
 * after hours. A file is read only if it belongs to the user and is not writable by others, and is passed to a driver
 * only if its hash matches.
 */
#ifndef SDK_GPU_CACHE_H
#define SDK_GPU_CACHE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <accel/driver/sdk.h>

#include "sdk/gpu/api.h"

/** The option `cache` of a driver: "auto" (the user's cache folder), "off", or an absolute folder. */
extern const struct accel_option gpu_cache_option;

/** Values of gpu_cache.exports. */
#define GPU_EXPORTS_UNKNOWN 0u
#define GPU_EXPORTS_NOTHING 1u
#define GPU_EXPORTS_KERNELS 2u

/** The cache of one open device. */
struct gpu_cache {
    const struct gpu_api *api;
    const struct accel_host *host;
    struct gpu_device *device;
    pthread_mutex_t lock;     /**< of the members below, and of the file among the threads of this device */
    uint64_t hash;            /**< of the file's content */
    uint64_t bytes;           /**< the same, 0: there is no file yet */
    _Atomic uint32_t exports; /**< GPU_EXPORTS_...: whether the API exports kernels of this device */
    char folder[384];         /**< empty: the cache is off */
    char file[512];
};

/** Opens the cache of a device and imports its file into the device. `setting` may be NULL: "auto". */
void gpu_cache_open(struct gpu_cache *cache, const struct gpu_api *api, const struct accel_host *host,
                    struct gpu_device *device, const struct accel_setting *setting);
/** Writes the compiled kernels of the device, unless the file has them already. Any thread. */
void gpu_cache_store(struct gpu_cache *cache);
/** Finds out whether the API exports kernels of this device, by one of them, unless the file shows it. Some APIs write
 *  only their header: then nothing larger is ever held. Compiles the kernel at most once. */
void gpu_cache_probe(struct gpu_cache *cache, const struct gpu_key *key);
/** Returns the bound of the host memory (class HOST) that the cache needs while a model is compiled: the file that is
 *  read, its copy in the API, and, unless `has_all` kernels are in the file, what the API writes at once. A larger file
 *  of another process is not included. */
uint64_t gpu_cache_most(const struct gpu_cache *cache, bool has_all);
/** Ends it; the file stays. */
void gpu_cache_close(struct gpu_cache *cache);

#endif
