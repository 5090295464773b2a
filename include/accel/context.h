/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The context: the machine's hardware, the plugins that were found, their devices, and the reasons why other hardware
 * is not a device.
 *
 * All objects of the library belong to a context. There is no global state, and contexts are independent of each other.
 * A context may be used from any thread, but accel_context_discover and accel_context_free require that no other call
 * uses it. Records that a `get` function returns belong to the context and stay valid until it is freed or discovers
 * again. Strings are UTF-8 and never NULL unless the member's comment allows it. Structs are open: the library fills
 * them.
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

/** Receives one line of the log: its level (ACCEL_LOG_...) and its text, `key=value` pairs. Called from any thread. */
typedef void(ACCEL_CALL *accel_log_function)(void *data, uint32_t level, const char *text);

/** Receives the names of the driver and of its slot ("open", "free of a set") before each call into a driver, and NULL
 * for both after it, so that a crash report or a watchdog can name them. The strings are valid until the call returns.
 * Called from any thread, also around each step; must not call the library. */
typedef void(ACCEL_CALL *accel_calling_function)(void *data, const char *driver, const char *slot);

#define ACCEL_CONTEXT_NO_CACHE 1u   /**< flag: probe plugins anew and keep no result */
#define ACCEL_CONTEXT_NO_PROBE 2u   /**< flag: load plugins without a cached probe directly, not first in a child */
#define ACCEL_CONTEXT_NO_PLUGINS 4u /**< flag: discover the machine only, load no plugins */
#define ACCEL_CONTEXT_ONLY_PATH 8u  /**< flag: search for drivers in `driver_path` only */

/** Options of a context. Open. Zero in any member means the default. */
struct accel_context_options {
    uint32_t size;
    uint32_t flags;         /**< ACCEL_CONTEXT_... */
    accel_log_function log; /**< NULL: nothing is logged */
    void *log_data;
    uint32_t log_level; /**< highest level that is logged, which log.level of a plan may raise; 0: that of log.level,
                           ACCEL_LOG_WARN before the first plan */
    uint32_t probe_milliseconds; /**< deadline of one probe, without the time in which it had no processor; 0: 5000 */
    const char *driver_path;     /**< folders or files, separated by ':', searched first; NULL: none */
    const char *profile_path;    /**< folder of the profiles; NULL: ACCEL_PROFILE_PATH, else the installed ones */
    const char *cache_path;      /**< folder of cached files; NULL: $XDG_CACHE_HOME/accel */
    uint64_t memory_budget; /**< maximum bytes of the core and its drivers, host and devices together; 0: no limit */
    const char *host_path;  /**< snapshot of another machine to replay; NULL: this machine. A context that replays
                               opens no device and loads no plugin; plans use the recorded facts and the profiles
                               of this machine. */
    const char *site_path;  /**< for tests: folder whose etc/accel/accel.yaml, user/accel.yaml and folder/accel.yaml
                               replace those of the system, the user and the working folder; NULL: no replacement */
    accel_calling_function calling; /**< NULL: calls are not reported */
    void *calling_data;
};

/** Creates a context without discovery. `options` may be NULL. */
ACCEL_API int32_t accel_context_create(const struct accel_context_options *options, struct accel_context **out_context,
                                       struct accel_error *error) ACCEL_NOEXCEPT;

/** Frees a context. ACCEL_E_BUSY, without effect: an object created from it has not been freed. NULL is allowed. */
ACCEL_API int32_t accel_context_free(struct accel_context *context, struct accel_error *error) ACCEL_NOEXCEPT;

/** Discovers the machine and its devices: reads the topology, finds, probes and loads plugins, and enumerates their
 * devices. A plugin that cannot be used is recorded (accel_plugin_get) and does not make this call fail. */
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

/** Returns the number of facts of the machine; 0 before accel_context_discover. */
ACCEL_API uint32_t accel_fact_count(const struct accel_context *context) ACCEL_NOEXCEPT;
/** Returns the fact at `index`, or NULL past the end. */
ACCEL_API const struct accel_fact *accel_fact_get(const struct accel_context *context, uint32_t index) ACCEL_NOEXCEPT;

/** Returns the number of pieces of hardware that drivers receive. */
ACCEL_API uint32_t accel_hardware_count(const struct accel_context *context) ACCEL_NOEXCEPT;
/** Returns the piece of hardware at `index`, as drivers receive it, or NULL past the end. */
ACCEL_API const struct accel_hardware *accel_hardware_get(const struct accel_context *context,
                                                          uint32_t index) ACCEL_NOEXCEPT;

/* ---- a recorded machine ---- */

/** Origin of a replayed machine. Open. Strings belong to the context and are never NULL. */
struct accel_recording {
    uint32_t size;
    uint32_t added_count;     /**< facts that were added by hand */
    const char *path;         /**< of the snapshot */
    const char *about;        /**< description in the snapshot; may be empty */
    const char *version;      /**< of the library that wrote it; may be empty */
    const char *time;         /**< when, "2026-01-31T12:00:00Z"; may be empty */
    const char *const *added; /**< [added_count], one line each: the fact that was added, and its place in the file */
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
    int32_t code;        /**< ACCEL_OK, or the error code of the refusal */
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
    uint64_t probe_nanoseconds; /**< duration of the probe; 0: no probe in this discovery */
    uint32_t option_count;
    uint32_t zero;
    /** [option_count] The options of the driver, checked and copied, also if it was refused after it had been loaded;
     * none of a file that was not loaded, and of a recorded machine. Option "isa" of "cpu" is the setting "cpu.isa". */
    const struct accel_option *const *options;
};

/** Returns the number of plugin files that were found, including refused ones. */
ACCEL_API uint32_t accel_plugin_count(const struct accel_context *context) ACCEL_NOEXCEPT;
/** Returns the plugin at `index`, in the order of the search, or NULL past the end. */
ACCEL_API const struct accel_plugin_info *accel_plugin_get(const struct accel_context *context,
                                                           uint32_t index) ACCEL_NOEXCEPT;

/* ---- devices ---- */

/** One device. Open. The list is sorted by rank, best first. */
struct accel_device_info {
    uint32_t size;
    uint32_t plugin;                 /**< index of its plugin */
    const char *name;                /**< name for accel_device_open and --device, DRIVER:ID: "cpu:cpu0" */
    const char *driver;              /**< name of the driver */
    const struct accel_facts *facts; /**< the driver's facts, checked and copied */
    const char *rank_reason;         /**< reason for the rank, with the profile's file:line */
    double rank;                     /**< higher is better */
    int32_t duplicate_of;            /**< index of another driver's device on the same hardware, ranked higher; or -1 */
    int32_t hardware;                /**< index of its hardware, or -1 */
};

/** Returns the number of devices. */
ACCEL_API uint32_t accel_device_count(const struct accel_context *context) ACCEL_NOEXCEPT;
/** Returns the device at `index`, or NULL past the end. */
ACCEL_API const struct accel_device_info *accel_device_get(const struct accel_context *context,
                                                           uint32_t index) ACCEL_NOEXCEPT;

/** The reason why hardware is not a device: from a driver, or from the core if no driver claims the hardware. Open. */
struct accel_verdict {
    uint32_t size;
    int32_t code;
    const char *driver; /**< empty: the verdict is the core's */
    int32_t hardware;   /**< index for accel_hardware_get; -1: of the driver as a whole */
    uint32_t zero;
    const char *subject; /**< the hardware's name and address */
    const char *text;
    const char *remedy; /**< may be empty */
};

/** Returns the number of verdicts. */
ACCEL_API uint32_t accel_verdict_count(const struct accel_context *context) ACCEL_NOEXCEPT;
/** Returns the verdict at `index`, those of drivers first, or NULL past the end. */
ACCEL_API const struct accel_verdict *accel_verdict_get(const struct accel_context *context,
                                                        uint32_t index) ACCEL_NOEXCEPT;

/* ---- memory ---- */

/** Returns the current and the peak bytes of a memory class (ACCEL_MEMORY_...; 0: all) of the core and its drivers.
 * Mapped weights are not counted. Any thread. */
ACCEL_API int32_t accel_memory_usage(const struct accel_context *context, uint32_t memory_class, uint64_t *out_now,
                                     uint64_t *out_peak) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
