/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The inside of a plan. accel/plan.h is its outside. Records and their strings live in the plan's arena; what a place
 * makes is made anew by the next one, and the arena keeps the old strings until the plan is freed.
 */
#ifndef ACCEL_CORE_PLAN_PLAN_H
#define ACCEL_CORE_PLAN_PLAN_H

#include <accel/plan.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/device/context.h"
#include "core/profile/profile.h"
#include "core/topology/topology.h"

/** Sums that a driver estimates, by class. */
struct accel_plan_estimate {
    bool given[ACCEL_MEMORY_END];
    uint64_t lower[ACCEL_MEMORY_END];
    uint64_t upper[ACCEL_MEMORY_END];
    const char *formula[ACCEL_MEMORY_END];
};

/** A growing list of records, each at an address that stays. Zeroed: empty. */
struct accel_plan_rows {
    void **items;
    uint32_t count;
    uint32_t capacity;
};

struct accel_plan {
    struct accel_context *context;
    const struct accel_listed *device; /**< NULL: none of the platform is here */
    bool is_asked;                     /**< the request named the device */
    const char *platform;              /**< NULL: the driver of the device */
    const char *device_profile;        /**< file of the folder devices that the request named, or NULL */
    struct accel_arena arena;
    struct accel_profile_pair *facts; /**< of device, host, request and caller; those of files come to `shown` */
    uint32_t fact_count;
    struct accel_given *shown; /**< all that rules were asked with */
    const char *model;         /**< what accel_plan_model answers */
    const char *variant;       /**< what accel_plan_variant answers */
    struct accel_settings *settings;
    struct accel_plan_setting *records; /**< one for each of the settings */
    struct accel_thread_plan threads;   /**< count 0: the device borrows none */
    struct accel_plan_cores *cores;     /**< where they are */
    uint32_t cores_count;
    bool pinned;
    const char *moved; /**< why another device is in the place of the one that was named, or NULL */
    const char *fewer; /**< why there are fewer threads than were asked for, or NULL */

    struct accel_plan_node *nodes; /**< of all graphs, one after the other */
    uint32_t node_count;
    uint32_t memory_count;
    struct accel_plan_memory memory[ACCEL_MEMORY_END];
    struct accel_plan_fit fit;
    bool judged; /**< `fit` holds */
    bool placed;
    bool sketched;
    bool spread; /**< the sketch lies on several devices */

    uint32_t converted;         /**< weights that the sketch has in other types than the file */
    uint32_t converted_vectors; /**< of those, norms and biases */
    uint32_t component_count;   /**< of the sketch */

    uint64_t step_weights; /**< bytes that a step of one token reads; 0: not known */
    uint64_t step_state;   /**< the same of a full context */

    struct accel_plan_rows parts;   /**< struct accel_plan_part */
    struct accel_plan_rows weights; /**< struct accel_plan_weight */
    struct accel_plan_rows layers;  /**< struct accel_plan_layer */
    struct accel_plan_rows notes;   /**< struct accel_plan_note; of fallbacks with the policy, "fallback.kv", as key */
    struct accel_plan_rows hints;   /**< the same, made anew by each step: what a run does not do, what the past says */
    struct accel_plan_rows speeds;  /**< struct accel_plan_speed */
    struct accel_plan_past past;
};

/** Adds a copy of a record to a list. False without memory. */
bool accel_plan_rows_add(struct accel_plan *plan, struct accel_plan_rows *rows, const void *record, size_t bytes);

/** Adds a note, or a hint. `key` and `remedy` may be empty. */
int32_t accel_plan_add_note(struct accel_plan *plan, uint32_t level, const char *key, const char *remedy,
                            struct accel_error *error, const char *format, ...) ACCEL_PRINTF(6, 7);
int32_t accel_plan_add_hint(struct accel_plan *plan, uint32_t level, const char *key, const char *remedy,
                            struct accel_error *error, const char *format, ...) ACCEL_PRINTF(6, 7);

/** Text in the plan's arena, NULL without memory. */
const char *accel_plan_text(struct accel_plan *plan, const char *format, ...) ACCEL_PRINTF(2, 3);

int32_t accel_plan_no_memory(struct accel_error *error);

/** Collects the facts of device, host, request and model. */
int32_t accel_plan_make_facts(struct accel_plan *plan, const struct accel_plan_request *request,
                              struct accel_error *error);

/** Takes the facts in force from the settings, which know those of files too. Call it after resolving. */
int32_t accel_plan_take_facts(struct accel_plan *plan, struct accel_error *error);

/** The value of a fact, or NULL where nobody knows it. `out_origin` may be NULL. */
const char *accel_plan_fact(const struct accel_plan *plan, const char *key, const char **out_origin);

/** A fact as a number; false where it is not known or is none. */
bool accel_plan_fact_number(const struct accel_plan *plan, const char *key, uint64_t *out_number,
                            const char **out_origin);

/** Makes the public records of the resolved settings. */
int32_t accel_plan_make_records(struct accel_plan *plan, struct accel_error *error);

/** Chooses threads, and puts the choice into the record of cpu.threads. */
int32_t accel_plan_choose_threads(struct accel_plan *plan, struct accel_error *error);
/** Groups the cores of the machine by where the chosen threads are. */
int32_t accel_plan_group_cores(struct accel_plan *plan, struct accel_error *error);

/** Puts what was decided in the place of a setting's value, which becomes the first loser. Strings are kept as they
 * are; NULL in one of them is ACCEL_E_MEMORY. The value that is there already changes nothing. */
int32_t accel_plan_decide(struct accel_plan *plan, const char *key, const char *value, uint32_t origin,
                          const char *place, const char *because, struct accel_error *error);

/** The value of a setting of keys.def, never NULL. */
const struct accel_profile_setting *accel_plan_value(const struct accel_plan *plan, const char *key);

/** Makes the hints anew: settings that a run does not carry out, past errors and a range of speed from the history. A
 *  history that cannot be read is a hint, never a failure. */
int32_t accel_plan_look_back(struct accel_plan *plan, struct accel_error *error);

/** Adds a hint for each setting that a run would not carry out, and for device and threads where they are others than
 *  were asked for. */
int32_t accel_plan_hint_carried(struct accel_plan *plan, struct accel_error *error);

struct accel_device;

/** Refuses to choose among devices of which `unranked` cannot be ranked, with what is wrong with its profile. Where
 *  `may_name` the remedy offers to name a device. */
int32_t accel_plan_refuse_unranked(const struct accel_context *context, const struct accel_listed *unranked,
                                   bool may_name, struct accel_error *error);

/** ACCEL_E_NOT_FOUND with a remedy where the plan has no device. */
int32_t accel_plan_need_device(const struct accel_plan *plan, struct accel_error *error);

/** Bits for a weight that a node reads and its driver wants so: 1 << ACCEL_RESIDENT and the like, and one where the
 *  node reads all of it in place. */
uint8_t accel_plan_wanted(const struct accel_node *node, uint32_t placement);

/** Asks the driver for the answers to all nodes; fills the node records and, for every value of every graph, where the
 *  driver wants a weight: wanted[graph][value] has the bits of accel_plan_wanted of all its readers. */
int32_t accel_plan_claim(struct accel_plan *plan, struct accel_device *device, const struct accel_plan_work *work,
                         const struct accel_compile_options *options, uint8_t *const *wanted,
                         struct accel_error *error);

/** Holds the answers against the fallback policies. */
int32_t accel_plan_judge(struct accel_plan *plan, const struct accel_plan_work *work, struct accel_error *error);

/** The name of a class of memory, in records of plans and in lines of the history; NULL past the end. */
const char *accel_plan_class_name(uint32_t memory_class);

/** Bytes of a node in a compiled program, where no driver says. */
#define ACCEL_PLAN_NODE_BYTES 512u

/** Bytes of lists and objects of accel/run.h for such work over `weights` weights, and of the device's options. */
uint64_t accel_plan_bookkeeping(const struct accel_device *device, const struct accel_plan_work *work,
                                uint32_t weights);

struct accel_key;

/** The option of the plan's driver that a setting for drivers is passed on to, or NULL: it does not know it. */
const struct accel_option *accel_plan_option_of(const struct accel_plan *plan, const struct accel_key *key);

/** Writes options of the driver for the settings that are passed on and that somebody set to `given`, which has room
 * for accel_key_count(); answers how many. Without memory a key of them is NULL. */
uint32_t accel_plan_pass_options(struct accel_plan *plan, struct accel_given *given);

/** Holds what a step binds and what it keeps against the limits of the device: ACCEL_E_LIMIT with numbers and a remedy
 *  where a run would be refused. */
int32_t accel_plan_check_limits(const struct accel_plan *plan, const struct accel_plan_work *work,
                                struct accel_error *error);
/** The same of the scratch, once the rows of memory are there. */
int32_t accel_plan_check_scratch(const struct accel_plan *plan, const struct accel_device *device,
                                 struct accel_error *error);

/** Fills the rows of memory and the verdict. */
int32_t accel_plan_add_memory(struct accel_plan *plan, struct accel_device *device, const struct accel_plan_work *work,
                              const struct accel_compile_options *options, uint8_t *const *wanted,
                              struct accel_error *error);

#endif
