/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Compiled kernels kept on disk, for APIs that can write and read theirs: one file for each driver and fingerprint of a
 * device. A cache is never a reason to fail: what goes wrong with a file is logged, and kernels are compiled.
 *
 * A file is written beside its name, under a lock, flushed and renamed; what a killed writer left there goes when it is
 * hours old; a file is read only where it belongs to the user and nobody else may write it, and given to a driver only
 * when its hash is right.
 */
#ifndef SDK_GPU_CACHE_H
#define SDK_GPU_CACHE_H

#include <accel/driver/sdk.h>
#include <pthread.h>

#include "sdk/gpu/api.h"

/** The option `cache` of a driver: "auto" (the user's cache folder), "off", or an absolute folder. */
extern const struct accel_option gpu_cache_option;

/** The cache of one open device. */
struct gpu_cache {
    const struct gpu_api *api;
    const struct accel_host *host;
    struct gpu_device *device;
    pthread_mutex_t lock; /**< of the members below, and of the file among the threads of this device */
    uint64_t hash;        /**< of what the file holds */
    uint64_t bytes;       /**< the same, 0: there is no file yet */
    char folder[384];     /**< empty: nothing is kept */
    char file[512];
};

/** Finds the place of a device's file and gives what it holds to the device. `setting` may be NULL: "auto". */
void gpu_cache_open(struct gpu_cache *cache, const struct gpu_api *api, const struct accel_host *host,
                    struct gpu_device *device, const struct accel_setting *setting);
/** Writes what the device has compiled by now, unless the file holds that already. Any thread. */
void gpu_cache_store(struct gpu_cache *cache);
/** Most host memory (class HOST) that it takes while a model is compiled: a file that is read, what the API keeps of it
 *  until the kernels are made, and what the API writes at once. A larger file that another process writes meanwhile
 *  is not foreseen. */
uint64_t gpu_cache_most(const struct gpu_cache *cache);
/** Ends it; the file stays. */
void gpu_cache_close(struct gpu_cache *cache);

#endif
