/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The inside of a context: what it owns, and how drivers get into it. accel/context.h is its outside.
 *
 * Ownership: records (facts, hardware, devices, verdicts) and their strings live in the arena `records` until the next
 * discover; that one is refused while an object of accel/run.h lives, so that such objects may point to records.
 * Threads: discover and free alone; the rest is read-only between them, atomic, or under `attaching`.
 */
#ifndef ACCEL_CORE_DEVICE_CONTEXT_H
#define ACCEL_CORE_DEVICE_CONTEXT_H

#include <accel/context.h>
#include <accel/snapshot.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/fork.h"
#include "core/base/log.h"
#include "core/base/rows.h"
#include "core/base/surroundings.h"
#include "core/device/host.h"
#include "core/device/memory.h"
#include "core/profile/profile.h"

struct accel_plugin;
struct accel_plugins;
struct accel_profile_list;
struct accel_snapshot;
struct accel_topology;

/** Stands for a driver that came from no plugin file. */
#define ACCEL_NO_PLUGIN 0xffffffffu

/** One driver with its instance. Owned by the context, at an address that stays until detach. */
struct accel_attached {
    const struct accel_driver *driver;
    struct accel_driver_instance *instance; /**< NULL: not attached */
    struct accel_host_services host;
    uint32_t minor;  /**< in force */
    uint32_t plugin; /**< index of its plugin, or ACCEL_NO_PLUGIN */
    uint32_t device_count;
    bool waits;              /**< its devices are listed from a probe: accel_registry_need attaches it */
    struct accel_error late; /**< why that failed */
};

/** One device of the list. */
struct accel_listed {
    struct accel_device_info info;
    struct accel_attached *owner;
    uint32_t order;                     /**< in which it was found */
    bool here;                          /**< of a driver that waited: it enumerated the device when it was attached */
    const struct accel_error *unranked; /**< why its profiles cannot be used; NULL: they rank it, or there are none */
};

/** Strings of the options. */
#define ACCEL_CONTEXT_TEXTS 5u

struct accel_context {
    struct accel_context_options options; /**< strings are those of `texts` */
    char *texts[ACCEL_CONTEXT_TEXTS];     /**< owned copies, or NULL */
    struct accel_log log;
    struct accel_memory memory;
    struct accel_fork_guard fork;
    atomic_uint children; /**< objects of accel/run.h, plans and the like that are alive */

    struct accel_arena records;
    struct accel_topology *topology;         /**< NULL before discover */
    struct accel_plugins *plugins;           /**< NULL before discover, or where plugins were not wanted */
    struct accel_profile *profile;           /**< NULL where no profile could be read */
    struct accel_error profile_error;        /**< why there is none */
    struct accel_profile_list *profiles;     /**< NULL before accel_profile_load */
    const struct accel_snapshot *snapshot;   /**< what is replayed; NULL: this machine */
    const struct accel_recording *recording; /**< the same as applications see it */
    struct accel_rows recorded_plugins;      /**< struct accel_plugin_info; empty on this machine */
    struct accel_rows facts;                 /**< struct accel_fact */
    struct accel_rows hardware;              /**< struct accel_hardware */
    struct accel_rows attached;              /**< struct accel_attached */
    pthread_mutex_t attaching;               /**< held while a driver that waited is attached */
    struct accel_rows devices;               /**< struct accel_listed, best first */
    struct accel_rows verdicts;              /**< struct accel_verdict of drivers */
    struct accel_rows own_verdicts;          /**< struct accel_verdict of the core */

    _Atomic(const char *) calling_driver; /**< whose slot was called last and has not come back, or NULL */
    _Atomic(const char *) calling_slot;
};

/** The machine, or NULL before discover. */
const struct accel_topology *accel_context_topology(const struct accel_context *context);

/** The profiles of the context, or NULL where none could be read (the log says why). */
const struct accel_profile *accel_context_profile(const struct accel_context *context);

/** The folder of the profiles that the context uses, for what lies there beside them: what the options name, else the
 *  environment, else the installed one. Freed with free(); it may not exist. Needs no discovery. */
int32_t accel_context_profile_folder(const struct accel_context *context, char **out_folder, struct accel_error *error);

/** Finds a device by "driver:id", or by the name of a driver (its best device). NULL: there is none. */
const struct accel_listed *accel_context_find(const struct accel_context *context, const char *name);

/** Finds a device for what a person says: as above, or by a kind ("gpu": the best that is no software), or by its id
 *  alone, or the first that is found of a list of these with commas between. `driver`, unless it is NULL, is whose
 *  devices are meant. *out_unranked: as with accel_context_unranked, of all that the word would fit. */
const struct accel_listed *accel_context_choose(const struct accel_context *context, const char *names,
                                                const char *driver, const struct accel_listed **out_unranked);

/** Which devices are to be chosen from. Duplicates are asked about too: ranked, one might be the original. */
typedef bool (*accel_listed_test)(const struct accel_listed *listed, const void *data);

/** The first of the devices that `may` takes that could not be ranked, where it takes others that could: the best of
 *  them is not known, and the one in front is no answer. NULL: it is known, or no device could be ranked and every
 *  plan fails by itself. */
const struct accel_listed *accel_context_unranked(const struct accel_context *context, accel_listed_test may,
                                                  const void *data);

/** Writes the devices that may be chosen, of one driver or of all, with their kinds; empty where there are none. */
void accel_context_choices(const struct accel_context *context, const char *driver, char *text, size_t bytes);

/** "cpu", "gpu", "npu", "other"; empty for 0. */
const char *accel_device_kind_name(uint32_t kind);

/* ---- registry ---- */

/**
 * Attaches a driver whose const part core/plugin has checked, and takes its devices. `plugin` is the index of its
 * plugin or ACCEL_NO_PLUGIN. A failure leaves nothing of the driver behind but its verdicts. Call accel_registry_finish
 * after the last one.
 */
int32_t accel_registry_attach(struct accel_context *context, const struct accel_driver *driver, uint32_t plugin,
                              struct accel_error *error);

/** Lists the devices of a plugin from what its probe wrote down, and leaves the driver alone. False, and nothing is
 *  listed: there is no such list, or it may not be used, and the driver is to be attached. */
bool accel_registry_list(struct accel_context *context, const struct accel_plugin *plugin, uint32_t index);

/** Attaches the driver of a listed device where that waits to be asked for. ACCEL_E_NOT_FOUND: the device has gone;
 * else what the driver answers. Any thread. */
int32_t accel_registry_need(struct accel_context *context, const struct accel_listed *listed,
                            struct accel_error *error);

/** Ends the instance of a driver, if it has one. */
void accel_registry_detach(struct accel_context *context, struct accel_attached *owner);

/** Takes one device of a driver: checks and copies its facts. */
int32_t accel_registry_take(struct accel_context *context, struct accel_attached *owner,
                            const struct accel_facts *facts, struct accel_error *error);

/** Takes one verdict of a driver: `code`, `driver`, `hardware`, `text` and `remedy` are set, and are copied. */
int32_t accel_registry_judge(struct accel_context *context, const struct accel_verdict *verdict,
                             struct accel_error *error);

/** Says whose slot is being called, and that it has come back: cheap enough for every step. */
static inline void accel_context_enter(struct accel_context *context, const char *driver, const char *slot)
{
    atomic_store_explicit(&context->calling_slot, slot, memory_order_relaxed);
    atomic_store_explicit(&context->calling_driver, driver, memory_order_relaxed);
}
static inline void accel_context_leave(struct accel_context *context)
{
    atomic_store_explicit(&context->calling_driver, NULL, memory_order_relaxed);
}

/** One call of a slot that may be called often. */
struct accel_call {
    struct accel_context *context;
    const char *driver;
    const char *slot;
    struct accel_surroundings_few before;
};

/** Around it: says whose it is, and puts back of the caller's what is cheap to note. */
void accel_call_begin(struct accel_call *call, struct accel_context *context, const char *driver, const char *slot);
void accel_call_end(const struct accel_call *call);

/** Before a slot of a driver: says that it is called and notes what is its caller's, but for what its note says that it
 * changes. */
void accel_context_before(struct accel_context *context, const struct accel_attached *owner, const char *slot,
                          struct accel_surroundings *out_before);

/** After it: puts back what it left changed in its caller; the log says what. Returns the bits of
 *  accel_surroundings_restore. */
uint32_t accel_context_restore(struct accel_context *context, const struct accel_surroundings *before,
                               const char *driver, const char *slot);

/** The same as a verdict of the driver, while the context discovers; nothing for no bits. */
int32_t accel_context_tell_changed(struct accel_context *context, const char *driver, const char *slot,
                                   uint32_t changed, struct accel_error *error);

/** Ranks devices, marks duplicates, and says why hardware that nobody claims is no device. May be repeated. */
int32_t accel_registry_finish(struct accel_context *context, struct accel_error *error);

/** Detaches all drivers and forgets their devices. */
void accel_registry_forget(struct accel_context *context);

/** For tests and for programs that link a driver in: attach and finish in one. The context has discovered. */
int32_t accel_context_attach_driver(struct accel_context *context, const struct accel_driver *driver,
                                    struct accel_error *error);

/** The folder of that name in the cache of the context, which the caller frees; NULL where nothing is kept.
 *  ACCEL_E_MEMORY alone is a failure. */
int32_t accel_context_cache_folder(const struct accel_context *context, const char *name, char **out_folder,
                                   struct accel_error *error);

/** Reads the profiles, before devices are ranked; what is wrong with them goes to the log and into `profile_error`, and
 *  a lack of memory is the only failure. */
int32_t accel_context_profile_open(struct accel_context *context, struct accel_error *error);
void accel_context_profile_close(struct accel_context *context);

/** Frees the list of accel_profile_load. */
void accel_context_profiles_forget(struct accel_context *context);

/** Most facts of one device. */
#define ACCEL_DEVICE_PAIRS 16u

/** Facts of a device, as profiles ask for them. Strings belong to the device and to this struct. */
struct accel_device_pairs {
    struct accel_profile_pair pairs[ACCEL_DEVICE_PAIRS];
    uint32_t count;
    char memory[32];
    char threads[32];
};

void accel_device_pairs_fill(const struct accel_listed *listed, struct accel_device_pairs *out);

/** Rank of a device and why, as text in the arena `records`. */
int32_t accel_rank_device(struct accel_context *context, struct accel_listed *listed, struct accel_error *error);

/* ---- a recorded machine ---- */

/** Reads the snapshot of the options into the records. */
int32_t accel_replay_begin(struct accel_context *context, struct accel_error *error);

/** ACCEL_OK on this machine, else ACCEL_E_UNSUPPORTED: devices of a recorded machine are planned for, not opened. */
int32_t accel_replay_refuse(const struct accel_context *context, const char *device, struct accel_error *error);

/** Lists its plugins, devices and verdicts; the machine has been discovered. */
int32_t accel_replay_devices(struct accel_context *context, struct accel_error *error);

/* ---- machine ---- */

/** Loads the topology and fills hardware and facts. What a snapshot leaves out is derived from its topology, as on a
 *  live machine. */
int32_t accel_machine_discover(struct accel_context *context, struct accel_error *error);

/** Fills the facts; the topology has been loaded. */
int32_t accel_machine_facts(struct accel_context *context, struct accel_error *error);

/** Adds a piece of hardware with copies of its strings; for tests too. */
int32_t accel_machine_add(struct accel_context *context, const struct accel_hardware *hardware,
                          struct accel_error *error);

/** Writes a piece of hardware for people: "Example GPU (0000:65:00.0)". Returns `text`. */
const char *accel_machine_text(const struct accel_hardware *hardware, char *text, size_t bytes);

#endif
