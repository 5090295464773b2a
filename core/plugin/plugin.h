/* SPDX-License-Identifier: Apache-2.0 */
/** @file Public functions of core/plugin: finds driver files, refuses files that cannot be trusted or are not built as
 * accel/driver.h requires, probes unknown ones in a child process with a deadline, caches the results, and loads the
 * good ones.
 * Search order: options->driver_path, $ACCEL_DRIVER_PATH, the user's data folder (drivers-MAJOR in it), the installed
 * folder of drivers; inside a folder by name. The working directory is never searched. In a program with elevated
 * privileges only the installed folder is searched. Later drivers with the name of a loaded one are duplicates; a
 * refused driver has no duplicates.
 * Every file found becomes one record, in search order. A bad file is a record, never a failure. A loaded driver stays
 * in the process forever (accel_plugins_free frees the records alone).
 * `depends` of a driver's note lists dependencies of its probe, words separated by spaces. `/dev/kfd`, an absolute
 * path, is a file, folder or device node: when it appears, vanishes, changes, or becomes usable, the driver is probed
 * again. `$NAME` is an environment variable, whose changes have this effect too. */
#ifndef ACCEL_CORE_PLUGIN_PLUGIN_H
#define ACCEL_CORE_PLUGIN_PLUGIN_H

#include <stdbool.h>

#include <accel/context.h>
#include <accel/driver.h>
#include <accel/error.h>

#include "core/base/log.h"

/** Lowest ABI minor of a driver that this core accepts. While the major is 0 every minor may be incompatible. */
#define ACCEL_PLUGIN_LOWEST_MINOR ACCEL_ABI_MINOR

/** Default deadline of one probe. */
#define ACCEL_PLUGIN_PROBE_MILLISECONDS 5000u

/** Options of a discovery. Zero in any member means the default. Everything is borrowed for the call. */
struct accel_plugins_options {
    uint32_t flags;                               /**< ACCEL_CONTEXT_NO_CACHE, _NO_PROBE, _ONLY_PATH */
    uint32_t probe_milliseconds;                  /**< deadline of one probe */
    const char *driver_path;                      /**< folders or files, separated by ':'; NULL: none */
    const char *cache_path;                       /**< folder of the result cache; NULL: the user's cache folder */
    const char *probe_path;                       /**< the program accel-probe; NULL: $ACCEL_PROBE, else installed */
    const struct accel_hardware *const *hardware; /**< passed to `enumerate` by a probe; may be NULL */
    uint32_t hardware_count;                      /**< number of hardware entries */
    const struct accel_log *log;                  /**< may be NULL */
    accel_calling_function calling;               /**< as in accel_context_options; may be NULL */
    void *calling_data;
};

/** Parsed note of a driver file. Strings are never NULL; a missing key is empty. */
struct accel_plugin_note {
    uint32_t abi_major;
    uint32_t abi_minor;
    uint32_t abi_lowest;
    uint32_t zero;
    const char *name;
    const char *version;
    const char *licence;
    const char *isa;       /**< instruction sets, separated by spaces */
    const char *libraries; /**< libraries opened at run time, separated by spaces */
    const char *depends;   /**< see the top of this file */
    const char *effects;   /**< of the vendor's libraries: "prints", "threads", "signals", separated by spaces */
    const char *isolate;   /**< "none", "compile" or "device"; never empty */
};

/** One record. Owned by the accel_plugins. */
struct accel_plugin {
    struct accel_plugin_info info;     /**< device_count is 0: the registry counts when it attaches the driver */
    const struct accel_driver *driver; /**< validated copy with strings and options; NULL unless info.state is LOADED */
    const struct accel_plugin_note *note; /**< NULL if no note could be read */
    const char *list; /**< devices enumerated by its probe (accel_ipc_read_list), now or cached; NULL: none */
    size_t list_bytes;
    bool absent; /**< refused by itself: it reports that none of its hardware is present */
};

struct accel_plugins;

/** Finds, checks, probes and loads. Fails only for lack of memory. One thread at a time for one accel_plugins; several
 * discoveries may run at once. May take the deadline of a probe for each plugin that is not in the cache. */
int32_t accel_plugins_discover(const struct accel_plugins_options *options, struct accel_plugins **out_plugins,
                               struct accel_error *error);

/** Frees the records. NULL is allowed. No instance of their drivers may be attached any more. */
void accel_plugins_free(struct accel_plugins *plugins);

/** Returns the number of records. */
uint32_t accel_plugins_count(const struct accel_plugins *plugins);

/** Returns the record at `index`, valid until accel_plugins_free, or NULL past the end. */
struct accel_plugin *accel_plugins_get(const struct accel_plugins *plugins, uint32_t index);

/** Marks a loaded record as refused, with a copy of `why`, if its driver cannot be attached; `driver` becomes NULL. */
void accel_plugins_refuse(struct accel_plugins *plugins, uint32_t index, const struct accel_error *why);

/** Removes the cached probe result of a record whose devices have changed. The next discovery probes again. */
void accel_plugins_stale(struct accel_plugins *plugins, uint32_t index);

/** Acquires the one lock under which libltdl is called. It is not recursive and is the only process-wide state of
 * core/plugin: libltdl has global state too. hwloc calls libltdl as well: load a topology under this lock. */
void accel_plugins_lock(void);
void accel_plugins_unlock(void);

#endif
