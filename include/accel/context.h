/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The context: what the machine has, which plugins were found, which devices they bring, and why others are none.
 *
 * Everything that a program learns or makes hangs on a context; there is no hidden global state, and two contexts do
 * not know each other. A context may be used from any thread, except that `discover` and `free` want it alone. Records
 * that a `get` function returns belong to the context and stay valid until it is freed or discovers again. Strings are
 * UTF-8 and never NULL unless the member says so. Structs are open: the library fills them.
 */
#ifndef ACCEL_CONTEXT_H
#define ACCEL_CONTEXT_H

#include <accel/abi.h>
#include <accel/driver.h>
#include <accel/error.h>

ACCEL_BEGIN_C

/** Version of the library: "0.1.0". */
ACCEL_API const char *accel_version(void) ACCEL_NOEXCEPT;

struct accel_context;

/** Takes one line of log: level (ACCEL_LOG_...), `key=value` text. May be called from any thread. */
typedef void(ACCEL_CALL *accel_log_function)(void *data, uint32_t level, const char *text);

/** Takes the driver and the slot ("open", "free of a set") that the context is about to call, and NULL for both when
 * the call has returned: for a crash report or a watchdog that names them. The strings hold until then. May be called
 * from any thread, before and after each step, and must not call the library. */
typedef void(ACCEL_CALL *accel_calling_function)(void *data, const char *driver, const char *slot);

#define ACCEL_CONTEXT_NO_CACHE 1u   /**< flag: probe plugins anew and keep no result */
#define ACCEL_CONTEXT_NO_PROBE 2u   /**< flag: load plugins that the cache does not know without a probe in a child */
#define ACCEL_CONTEXT_NO_PLUGINS 4u /**< flag: look at the machine alone */
#define ACCEL_CONTEXT_ONLY_PATH 8u  /**< flag: search `driver_path` alone, no other place for drivers */

/** How to make a context. Open. Zero in any member means the default. */
struct accel_context_options {
    uint32_t size;
    uint32_t flags;         /**< ACCEL_CONTEXT_... */
    accel_log_function log; /**< NULL: nothing is logged */
    void *log_data;
    uint32_t log_level;          /**< lines above it are not made; 0: ACCEL_LOG_WARN */
    uint32_t probe_milliseconds; /**< deadline of one probe; 0: 5000 */
    const char *driver_path;     /**< folders or files, ':' between them, searched first; NULL: none */
    const char *profile_path;    /**< folder of the profiles; NULL: ACCEL_PROFILE_PATH, else the installed ones */
    const char *cache_path;      /**< folder for results of probes; NULL: $XDG_CACHE_HOME/accel */
    uint64_t memory_budget;      /**< most bytes that the core and its drivers take, on host and devices; 0: no limit */
    const char *host_path;       /**< snapshot to replay instead of looking at this machine; NULL: this machine. A
                                    context that replays opens no device and loads no plugin, and plans from facts
                                    alone; profiles are those of the machine that replays. */
    const char *site_path; /**< for tests: folder that holds etc/accel/accel.yaml, user/accel.yaml and folder/accel.yaml
                              in place of the system's, the user's and the working folder's; NULL: those */
    accel_calling_function calling; /**< NULL: calls are not reported */
    void *calling_data;
};

/** Creates a context without discovery. `options` may be NULL. */
ACCEL_API int32_t accel_context_create(const struct accel_context_options *options, struct accel_context **out_context,
                                       struct accel_error *error) ACCEL_NOEXCEPT;

/** Frees a context. Everything made from it must have been freed before: else ACCEL_E_BUSY and nothing happens. NULL
 *  is allowed. */
ACCEL_API int32_t accel_context_free(struct accel_context *context, struct accel_error *error) ACCEL_NOEXCEPT;

/** Looks at the machine, finds, probes and loads plugins, and lets them name their devices. A bad plugin is a record,
 *  never a failure of this call. */
ACCEL_API int32_t accel_context_discover(struct accel_context *context, struct accel_error *error) ACCEL_NOEXCEPT;

/* ---- the machine ---- */

/** One fact of the machine or of its limits. Open. */
struct accel_fact {
    uint32_t size;
    uint32_t zero;
    const char *key;    /**< "cpu.quota" */
    const char *value;  /**< "1.5" */
    const char *unit;   /**< "bytes", "cpus" or empty */
    const char *origin; /**< where it was read: "/sys/fs/cgroup/cpu.max" */
};

/** Number of facts of the machine, 0 before discover. */
ACCEL_API uint32_t accel_fact_count(const struct accel_context *context) ACCEL_NOEXCEPT;
/** The fact at `index`, or NULL past the end. */
ACCEL_API const struct accel_fact *accel_fact_get(const struct accel_context *context, uint32_t index) ACCEL_NOEXCEPT;

/** Returns the number of pieces of hardware that drivers receive. */
ACCEL_API uint32_t accel_hardware_count(const struct accel_context *context) ACCEL_NOEXCEPT;
/** The piece of hardware at `index`, as drivers are given it, or NULL past the end. */
ACCEL_API const struct accel_hardware *accel_hardware_get(const struct accel_context *context,
                                                          uint32_t index) ACCEL_NOEXCEPT;

/* ---- a recorded machine ---- */

/** Origin of a replayed machine. Open. Strings belong to the context and are never NULL. */
struct accel_recording {
    uint32_t size;
    uint32_t added_count;     /**< facts that were added by hand */
    const char *path;         /**< of the snapshot */
    const char *about;        /**< words of the recording; may be empty */
    const char *version;      /**< of the library that wrote it; may be empty */
    const char *time;         /**< when, "2026-01-31T12:00:00Z"; may be empty */
    const char *const *added; /**< one line each: what was not recorded but added, and where in the file */
};

/** Returns the recording that a context replays; NULL on a live machine, and before discover. */
ACCEL_API const struct accel_recording *accel_context_recording(const struct accel_context *context) ACCEL_NOEXCEPT;

/* ---- plugins ---- */

#define ACCEL_PLUGIN_LOADED 1u   /**< attached; its devices are in the list */
#define ACCEL_PLUGIN_REFUSED 2u  /**< not trusted, malformed, for another ABI, or failed: `code`, `text`, `remedy` */
#define ACCEL_PLUGIN_SHADOWED 3u /**< a driver of the same name was found earlier */

/** One plugin file that was found. Open. */
struct accel_plugin_info {
    uint32_t size;
    uint32_t state;      /**< ACCEL_PLUGIN_... */
    int32_t code;        /**< ACCEL_OK, or why it was refused */
    int32_t signal;      /**< signal that ended its probe, or 0 */
    const char *path;    /**< absolute */
    const char *name;    /**< from the note, or the file's name */
    const char *version; /**< from the note; may be empty */
    const char *licence; /**< from the note; may be empty */
    const char *text;    /**< why it was refused */
    const char *remedy;
    const char *detail;   /**< last lines that the probe wrote to its error output */
    const char *build_id; /**< hexadecimal, may be empty */
    uint32_t abi_major;
    uint32_t abi_minor;
    uint32_t from_cache; /**< 1: the result of an earlier probe was used */
    uint32_t device_count;
    uint64_t probe_nanoseconds; /**< of the probe, when there was one now */
};

/** Number of plugin files that were found, refused ones too. */
ACCEL_API uint32_t accel_plugin_count(const struct accel_context *context) ACCEL_NOEXCEPT;
/** The plugin at `index`, in the order of the search, or NULL past the end. */
ACCEL_API const struct accel_plugin_info *accel_plugin_get(const struct accel_context *context,
                                                           uint32_t index) ACCEL_NOEXCEPT;

/* ---- devices ---- */

/** One device. Open. Best first, as the profile ranks them. */
struct accel_device_info {
    uint32_t size;
    uint32_t plugin;                 /**< index of its plugin */
    const char *name;                /**< how to ask for it: "cpu:cpu0" (driver:id) */
    const char *driver;              /**< name of the driver */
    const struct accel_facts *facts; /**< as the driver gave them, checked and copied */
    const char *rank_reason;         /**< why it stands where it stands, with the profile's file:line */
    double rank;                     /**< higher is better */
    int32_t duplicate_of;            /**< index of the device that is the same hardware by another driver, or -1 */
    int32_t hardware;                /**< index of its hardware, or -1 */
};

/** Number of devices. */
ACCEL_API uint32_t accel_device_count(const struct accel_context *context) ACCEL_NOEXCEPT;
/** The device at `index`, or NULL past the end. */
ACCEL_API const struct accel_device_info *accel_device_get(const struct accel_context *context,
                                                           uint32_t index) ACCEL_NOEXCEPT;

/** Why something is no device: a driver's verdict, or the core's on hardware that no driver claims. Open. */
struct accel_verdict {
    uint32_t size;
    int32_t code;
    const char *driver; /**< empty: the core's own */
    int32_t hardware;   /**< index, or -1 */
    uint32_t zero;
    const char *subject; /**< the hardware's name and address */
    const char *text;
    const char *remedy; /**< may be empty */
};

/** Number of verdicts, those of drivers first. */
ACCEL_API uint32_t accel_verdict_count(const struct accel_context *context) ACCEL_NOEXCEPT;
/** The verdict at `index`, or NULL past the end. */
ACCEL_API const struct accel_verdict *accel_verdict_get(const struct accel_context *context,
                                                        uint32_t index) ACCEL_NOEXCEPT;

/* ---- memory ---- */

/** Bytes of a class (ACCEL_MEMORY_...; 0: all) that the core and its drivers hold now and held at most. Mapped
 *  weights are not in it. Any thread. */
ACCEL_API int32_t accel_memory_usage(const struct accel_context *context, uint32_t memory_class, uint64_t *out_now,
                                     uint64_t *out_peak) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
