/* SPDX-License-Identifier: Apache-2.0 */
/** @file Internals of a context: the data it owns. The public interface is accel/context.h. Ownership: records (facts,
 * hardware, devices, verdicts) and their strings live in the arena `records` until the next discover; discover is
 * refused while an object of accel/run.h lives, so that such objects may point to records. Threads: discover and free
 * require exclusive access; between them members are read-only, atomic, or protected by `attaching`. */
#ifndef ACCEL_CORE_REGISTRY_CONTEXT_H
#define ACCEL_CORE_REGISTRY_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <accel/context.h>

#include "core/base/arena.h"
#include "core/base/fork.h"
#include "core/base/log.h"
#include "core/base/rows.h"
#include "core/boundary/host.h"
#include "core/boundary/memory.h"

struct accel_plugins;
struct accel_profile;
struct accel_snapshot;
struct accel_topology;

/** Plugin index of a driver that was not loaded from a plugin file. */
#define ACCEL_NO_PLUGIN 0xffffffffu

/** Sink passed to a driver. It forwards calls from any thread, one at a time, until enumerate returns; later calls of a
 * driver thread get an error, since the receiver is gone. */
struct accel_locked_sink {
    struct accel_device_sink sink;         /**< first: the driver passes its address back */
    const struct accel_device_sink *inner; /**< NULL: enumerate has returned */
    pthread_mutex_t mutex;
};

/** A driver with its instance. Owned by the context, at an address that stays valid until detach. */
struct accel_attached {
    const struct accel_driver *driver;
    struct accel_driver_instance *instance; /**< NULL: not attached */
    struct accel_host_services host;
    struct accel_locked_sink sink; /**< sink of its enumerate */
    uint32_t minor;                /**< negotiated ABI minor */
    uint32_t plugin;               /**< index of its plugin, or ACCEL_NO_PLUGIN */
    uint32_t device_count;
    bool is_deferred; /**< its devices are listed from a cached probe; accel_registry_ensure_attached attaches it */
    struct accel_error deferred_error; /**< error of a deferred attach */
};

/** One device of the list. */
struct accel_listed {
    struct accel_device_info info;
    struct accel_attached *owner;
    uint32_t order;                     /**< position in discovery order */
    bool is_present;                    /**< a deferred driver enumerated the device when it was attached */
    const struct accel_error *unranked; /**< why its profiles cannot rank it; NULL: it is ranked, or has no profile */
};

/** Number of strings in the options. */
#define ACCEL_CONTEXT_TEXTS 5u

struct accel_context {
    struct accel_context_options options; /**< strings point to `texts` */
    char *texts[ACCEL_CONTEXT_TEXTS];     /**< owned copies, or NULL */
    struct accel_log log;
    struct accel_memory memory;
    struct accel_fork_guard fork;
    atomic_uint children; /**< number of live objects of accel/run.h, plans and similar */

    struct accel_arena records;
    struct accel_topology *topology;         /**< NULL before discover */
    struct accel_plugins *plugins;           /**< NULL before discover, or if plugins were disabled */
    struct accel_profile *profile;           /**< NULL if no profile could be read */
    struct accel_error profile_error;        /**< why there is no profile */
    const struct accel_snapshot *snapshot;   /**< replayed snapshot; NULL: this machine */
    const struct accel_recording *recording; /**< public form of the snapshot */
    struct accel_rows recorded_plugins;      /**< struct accel_plugin_info; empty on this machine */
    struct accel_rows facts;                 /**< struct accel_fact */
    struct accel_rows hardware;              /**< struct accel_hardware */
    struct accel_rows attached;              /**< struct accel_attached */
    pthread_mutex_t attaching;               /**< held while a deferred driver is attached */
    struct accel_rows devices;               /**< struct accel_listed, best first */
    struct accel_rows verdicts;              /**< struct accel_verdict of drivers */
    struct accel_rows own_verdicts;          /**< struct accel_verdict of the core */
};

/** Finds a device by "driver:id", or by the name of a driver (its best device). NULL: there is none. */
const struct accel_listed *accel_context_find(const struct accel_context *context, const char *name);

/** Selects a device by what a user wrote: a name as in accel_context_find, a kind ("gpu": the best that is not a
 * software device), an id alone, or a comma-separated list of these, of which the first match counts. `driver`
 * restricts the search unless it is NULL. *out_unranked: accel_context_unranked of all matching devices. */
const struct accel_listed *accel_context_choose(const struct accel_context *context, const char *names,
                                                const char *driver, const struct accel_listed **out_unranked);

/** Returns whether a list of devices names a device itself, by its name or id, and not by its driver or kind. */
bool accel_names_device(const char *names, const struct accel_device_info *info);

/** Returns whether a device may be selected. It is called for duplicates, too, since the ranks decide which of two
 * devices is the duplicate. */
typedef bool (*accel_listed_test)(const struct accel_listed *listed, const void *data);

/** Returns the first device accepted by `may` that could not be ranked while others could, so that the best device is
 * unknown. NULL if the best device is known, or if no device could be ranked, for which every plan fails anyway. */
const struct accel_listed *accel_context_unranked(const struct accel_context *context, accel_listed_test may,
                                                  const void *data);

/** Formats the devices that a user can select, of one driver or of all, with their kinds; empty if there are none. */
void accel_context_choices(const struct accel_context *context, const char *driver, char *text, size_t bytes);

/** Formats "; did you mean "NAME"?" with the device, id, driver or kind nearest to `name`, or "". Returns `text`. */
const char *accel_context_guess(const struct accel_context *context, const char *name, char *text, size_t bytes);

/** Returns the path of folder `name` in the context's cache, which the caller frees; NULL if caching is off. Fails only
 * with ACCEL_E_MEMORY. */
int32_t accel_context_cache_folder(const struct accel_context *context, const char *name, char **out_folder,
                                   struct accel_error *error);

#endif
