/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The face of core/plugin: finds driver files, refuses those that cannot be trusted or are not built as accel/driver.h
 * says, probes unknown ones in a child process with a deadline, remembers what came of it, and loads the good ones.
 *
 * Order of the search: options->driver_path, $ACCEL_DRIVER_PATH, the user's data folder (drivers-MAJOR in it), the
 * installed folder of drivers; inside a folder by name. The working directory is never searched. In a program with
 * raised rights only the installed folder is. A loaded driver shadows later ones of its name; a refused one does not.
 *
 * Every file that was found becomes one record, in the order of the search. A bad file is a record, never a failure.
 * A driver that was loaded stays in the process for ever (accel_plugins_free frees the records alone).
 *
 * What a driver's probe depends on (`depends` of its note): words separated by spaces. `/dev/kfd`, an absolute path, is
 * a file, folder or device node: when it appears, vanishes, changes, or becomes usable, the driver is probed anew.
 * `$NAME` is a variable of the environment, and the same holds for its value.
 */
#ifndef ACCEL_CORE_PLUGIN_PLUGIN_H
#define ACCEL_CORE_PLUGIN_PLUGIN_H

#include <accel/context.h>
#include <accel/driver.h>
#include <accel/error.h>

#include "core/base/log.h"

/** Lowest minor of a driver that this core works with. While the major is 0 every minor may break. */
#define ACCEL_PLUGIN_LOWEST_MINOR ACCEL_ABI_MINOR

/** Deadline of one probe when the options do not say. */
#define ACCEL_PLUGIN_PROBE_MILLISECONDS 5000u

/** How to discover. Zero in any member means the default. Everything is borrowed for the call. */
struct accel_plugins_options {
    uint32_t flags;                               /**< ACCEL_CONTEXT_NO_CACHE, ACCEL_CONTEXT_NO_PROBE */
    uint32_t probe_milliseconds;                  /**< deadline of one probe */
    const char *driver_path;                      /**< folders or files, ':' between them; NULL: none */
    const char *cache_path;                       /**< folder of the result cache; NULL: the user's cache folder */
    const char *probe_path;                       /**< the program accel-probe; NULL: $ACCEL_PROBE, else installed */
    const struct accel_hardware *const *hardware; /**< what a probe hands to `enumerate`; may be NULL */
    uint32_t hardware_count;                      /**< pieces of hardware */
    const struct accel_log *log;                  /**< may be NULL */
};

/** What the note in a driver file says. Strings are never NULL, empty where the note does not say. */
struct accel_plugin_note {
    uint32_t abi_major;
    uint32_t abi_minor;
    uint32_t abi_lowest;
    uint32_t zero;
    const char *name;
    const char *version;
    const char *licence;
    const char *isa;       /**< instruction sets, separated by spaces */
    const char *libraries; /**< libraries that it will open at run time, separated by spaces */
    const char *depends;   /**< see the top of this file */
    const char *effects;   /**< what the vendor's libraries do: "prints", "threads", "signals", separated by spaces */
    const char *isolate;   /**< "none", "compile" or "device"; never empty */
};

/** One record. Owned by the accel_plugins. */
struct accel_plugin {
    struct accel_plugin_info info;     /**< device_count is 0: whoever attaches the driver counts */
    const struct accel_driver *driver; /**< checked copy, strings and options too; NULL unless info.state is LOADED */
    const struct accel_plugin_note *note; /**< NULL where no note could be read */
    const char *list; /**< what its probe enumerated (accel_wire_read_list), now or when it was kept; NULL: nothing */
    size_t list_bytes;
    const char *died; /**< the slot in which it ended an earlier process, although its probe is good; NULL: in none */
};

struct accel_plugins;

/**
 * Finds, checks, probes and loads. Fails only for lack of memory. One thread at a time for one accel_plugins; several
 * discoveries may run at once. May take the deadline of a probe for each plugin that is not in the cache.
 */
int32_t accel_plugins_discover(const struct accel_plugins_options *options, struct accel_plugins **out_plugins,
                               struct accel_error *error);

/** Frees the records. NULL is allowed. No instance of their drivers may be attached any more. */
void accel_plugins_free(struct accel_plugins *plugins);

/** Number of records. */
uint32_t accel_plugins_count(const struct accel_plugins *plugins);

/** The record at `index`, valid until accel_plugins_free, or NULL past the end. */
struct accel_plugin *accel_plugins_get(const struct accel_plugins *plugins, uint32_t index);

/**
 * Turns a loaded record into a refused one, with the code and the texts of `why`, which are copied: for a driver that
 * cannot be attached. Its `driver` becomes NULL.
 */
void accel_plugins_refuse(struct accel_plugins *plugins, uint32_t index, const struct accel_error *why);

/** Forgets the result of the probe that was kept for a record: what it says of devices is not so any more. The next
 *  discovery probes anew. */
void accel_plugins_stale(struct accel_plugins *plugins, uint32_t index);

/** Around calls of a driver that a probe stands for: whoever comes after a process that ends in them probes anew, and
 *  where that is good again the record says `died`. Any thread; of calls at the same time the first one is marked. What
 *  ends in a later slot (open, compile) is told to the log of the next discovery alone. */
void accel_plugins_enter(struct accel_plugins *plugins, uint32_t index, const char *slot);
void accel_plugins_leave(struct accel_plugins *plugins);

/** What is marked is not to be told by those that come after, nor is what follows. For a handler of a signal. */
void accel_plugins_unmark(struct accel_plugins *plugins);

/** Drivers are not called for now: takes the file of the mark away. */
void accel_plugins_rest(struct accel_plugins *plugins);

/**
 * The one lock under which libltdl is called. It is not recursive and is the only state of the process that this room
 * has: libltdl has global state too. hwloc calls libltdl as well: load a topology under this lock.
 */
void accel_plugins_lock(void);
void accel_plugins_unlock(void);

#endif
