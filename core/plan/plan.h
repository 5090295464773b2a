/* SPDX-License-Identifier: Apache-2.0 */
/** @file Defines the internals of a plan; accel/plan.h is the public interface. Records and their strings live in
 * the plan's arena. Placing again replaces the records of the last placement; the arena holds the old strings
 * until the plan is freed. */
#ifndef ACCEL_CORE_PLAN_PLAN_H
#define ACCEL_CORE_PLAN_PLAN_H

#include <stdarg.h>
#include <stdbool.h>

#include <accel/plan.h>

#include "core/base/arena.h"
#include "core/base/rows.h"
#include "core/profile/profile.h"
#include "core/registry/context.h"
#include "core/topology/topology.h"

/** Sums of a driver's estimates, by class. */
struct accel_plan_estimate {
    bool given[ACCEL_MEMORY_END];
    uint64_t lower[ACCEL_MEMORY_END];
    uint64_t upper[ACCEL_MEMORY_END];
    const char *formula[ACCEL_MEMORY_END];
};

/** Devices of one kind that are not present. */
struct accel_plan_described {
    const char *profile;   /**< file of the folder devices; NULL: the request names none */
    const char *name;      /**< device.name of that file */
    const char *platforms; /**< device.platforms of that file, or NULL */
    uint32_t count;
    bool has_count;     /**< the request states a count: "4xa100" */
    uint64_t memory;    /**< usable bytes of each device; 0: not known */
    uint64_t bandwidth; /**< bytes per second of each device; 0: not known */
    uint64_t compute;   /**< 10^12 operations per second of each device; 0: not known */
    const char *memory_origin;
    const char *bandwidth_origin;
    const char *compute_origin;
};

/** Maximum described devices, and maximum kinds of them. */
#define ACCEL_PLAN_DESCRIBED 32u

struct accel_plan {
    struct accel_context *context;
    const struct accel_listed *device; /**< NULL: no device of the platform is present */
    bool is_asked;                     /**< the request names the device */
    const char *asked;                 /**< the device's name in the request, or NULL */
    bool names_platform;               /**< the request names the platform */
    const char *platform;              /**< NULL: the driver of the device */
    const char
        *device_profile; /**< file of the folder devices that the request names (the fastest one of a list), or NULL */
    struct accel_plan_described *described; /**< the devices that a plan without a present device uses */
    uint32_t described_count;
    uint32_t described_devices; /**< number of devices, from the request or the caller's device.count; 0: neither
                                 * states one */
    const char *described_origin;
    const char *described_name; /**< name of a list of several kinds: "1 x Large GPU + 2 x Small GPU"; else NULL */
    struct accel_arena arena;
    bool out_of_memory;               /**< a text or row did not fit since the last accel_plan_finish */
    struct accel_profile_pair *facts; /**< facts of device, host, request and caller; `shown` adds those of files */
    uint32_t fact_count;
    struct accel_named_value *shown; /**< all facts that rules were evaluated with */
    const char *model;               /**< result of accel_plan_model */
    const char *variant;             /**< result of accel_plan_variant */
    struct accel_settings *settings;
    struct accel_plan_setting *records;      /**< one record per setting */
    struct accel_profile_setting **declined; /**< per setting: the value in force if a run cannot honor the resolved
                                              * one, else NULL; the array is NULL before the first of these */
    struct accel_thread_plan threads;        /**< count 0: the device uses no thread team */
    struct accel_plan_cores *cores;          /**< cores of the threads */
    uint32_t cores_count;
    bool pinned;
    const char *listed; /**< a list of names of which `device` is the first present one, or NULL */
    const char *moved;  /**< why another device replaces the named one, or NULL */
    const char *fewer;  /**< why the plan has fewer threads than requested, or NULL */

    struct accel_plan_node *nodes; /**< nodes of all graphs, one graph after the other */
    uint32_t node_count;
    uint32_t memory_count;
    struct accel_plan_memory memory[ACCEL_MEMORY_END];
    struct accel_plan_fit fit;
    bool has_fit; /**< `fit` is valid */
    bool placed;
    struct accel_device
        *opened;             /**< by accel_plan_assign_graphs, until accel_plan_open_device hands it over; or NULL */
    bool has_shapes;         /**< a shape plan was made */
    bool spread;             /**< the shape plan uses several devices */
    bool is_planning_shapes; /**< a shape plan is being made: declines apply to it alone */

    uint32_t converted;         /**< weights whose type in the shape plan differs from the file */
    uint32_t converted_vectors; /**< norms and biases among `converted` */
    uint32_t component_count;   /**< components of the shape plan */

    uint64_t step_weights;  /**< weight bytes that a decode step reads; 0: not known */
    uint64_t step_state;    /**< bytes of a sequence's full KV cache that a decode step reads; 0: not known */
    uint64_t step_elements; /**< weights that each prefill token is multiplied with; 0: not known */
    double bound_decode;    /**< decode tok/s that the bandwidth of described devices allows; 0: not known */
    double bound_prefill;   /**< prefill tok/s that device.compute allows; 0: not known */
    const char *bound_decode_origin;
    const char *bound_prefill_origin;

    struct accel_rows parts;           /**< struct accel_plan_part */
    struct accel_rows weights;         /**< struct accel_plan_weight */
    struct accel_rows layers;          /**< struct accel_plan_layer */
    struct accel_rows notes;           /**< struct accel_plan_note; notes of fallbacks have the policy, "fallback.kv",
                                        * as key */
    struct accel_rows hints;           /**< struct accel_plan_note, rebuilt by each step: settings not honored, and
                                        * results of the history */
    struct accel_rows speeds;          /**< struct accel_plan_speed */
    struct accel_rows laters;          /**< struct accel_plan_unhonored: values of profiles that nothing honors yet */
    struct accel_rows declines;        /**< struct accel_plan_unhonored: recommended values declined for every model */
    struct accel_rows shape_unhonored; /**< struct accel_plan_unhonored: values that one shape plan does not honor */
    struct accel_rows replaced; /**< struct accel_plan_replaced: settings before the declines of one shape plan */
    struct accel_rows unmet;    /**< struct accel_plan_unhonored: values not honored, rebuilt with the hints */
    struct accel_plan_past past;
};

/** A public record before a shape plan declined its value. */
struct accel_plan_replaced {
    size_t index;
    struct accel_plan_setting record;
};

/** Restores the values that the last shape plan declined: the next one may honor them. */
void accel_plan_forget_declines(struct accel_plan *plan);

/** Adds a note to the plan's `notes`, or to its `hints`, which are made anew. `key` and `remedy` may be empty. */
void accel_plan_add_note(struct accel_plan *plan, struct accel_rows *rows, uint32_t level, const char *key,
                         const char *remedy, const char *format, ...) ACCEL_PRINTF(6, 7);

/* Texts and rows that do not fit in memory set `out_of_memory`, so that one check at the end of a public function,
 * accel_plan_finish, is enough. */

/** Formats a text in the plan's arena; "" if memory runs out. */
const char *accel_plan_text(struct accel_plan *plan, const char *format, ...) ACCEL_PRINTF(2, 3);
const char *accel_plan_vtext(struct accel_plan *plan, const char *format, va_list values);

/** Appends a copy of a record. */
void accel_plan_append(struct accel_plan *plan, struct accel_rows *rows, const void *record, size_t bytes);

/** Returns `code`, or ACCEL_E_MEMORY if memory has run out since the last call. */
int32_t accel_plan_finish(struct accel_plan *plan, int32_t code, struct accel_error *error);

/** Formats bytes for people, "12.5 GiB". */
const char *accel_plan_size_text(uint64_t bytes, char text[32]);

/** Collects the facts of device, host, request and model. */
int32_t accel_plan_make_facts(struct accel_plan *plan, const struct accel_plan_request *request,
                              struct accel_error *error);

/** Parses a list of profile devices, "4xa100,h200", from a request. ACCEL_E_NOT_FOUND: no file has one of the
 * names, or a count is 0 or too large. */
int32_t accel_plan_parse_described(struct accel_plan *plan, const char *names, struct accel_error *error);

/** Refuses a described device whose platforms do not include the plan's: ACCEL_E_NOT_FOUND. */
int32_t accel_plan_check_platforms(const struct accel_plan *plan, struct accel_error *error);

/** Reads memory, bandwidth and compute of the devices of a plan without a present device. Call it after the
 * settings are resolved. */
int32_t accel_plan_describe_devices(struct accel_plan *plan, struct accel_error *error);

/** Imports the facts in force from the settings, which include those of files. Call it after the settings are
 * resolved. */
int32_t accel_plan_import_facts(struct accel_plan *plan, struct accel_error *error);

/** Returns the value of a fact, or NULL if it is not known. `out_origin` may be NULL. */
const char *accel_plan_fact(const struct accel_plan *plan, const char *key, const char **out_origin);

/** Returns a fact as a number; false if it is not known or no number. */
bool accel_plan_fact_number(const struct accel_plan *plan, const char *key, uint64_t *out_number,
                            const char **out_origin);

/** Makes the public records of the resolved settings. */
int32_t accel_plan_make_records(struct accel_plan *plan, struct accel_error *error);

/** Chooses threads, and stores the choice in the record of cpu.threads. */
int32_t accel_plan_choose_threads(struct accel_plan *plan, struct accel_error *error);
/** Groups the cores that the chosen threads run on. */
int32_t accel_plan_group_cores(struct accel_plan *plan, struct accel_error *error);

/** Replaces the value of a setting with a decided one; the replaced value becomes the first overridden one. Strings
 * are borrowed. Deciding the present value again changes nothing. */
void accel_plan_decide(struct accel_plan *plan, const char *key, const char *value, uint32_t origin, const char *place,
                       const char *reason);

/** Returns the value in force of a setting of keys.def, never NULL: the resolved one unless that was declined. */
const struct accel_profile_setting *accel_plan_value(const struct accel_plan *plan, const char *key);

/** Rebuilds the hints: settings that a run does not honor, and past errors and a range of speed from the history.
 * An unreadable history is a hint, never a failure. */
int32_t accel_plan_rebuild_hints(struct accel_plan *plan, struct accel_error *error);

/** Adds a hint for each setting that a run would not honor, and for device and threads if they differ from the
 * request. */
int32_t accel_plan_hint_unhonored(struct accel_plan *plan, struct accel_error *error);

/** Adds hints about refused drivers that might have offered the device. Call it with accel_plan_hint_unhonored. */
void accel_plan_hint_refused(struct accel_plan *plan);

/** Returns whether a profile or a variable of the documents recommends the value, as opposed to a value of the user
 * (accel.yaml, ACCEL_..., --set) or a built-in one. */
bool accel_plan_recommends(const struct accel_profile_setting *setting);

/** Adds a row for a value that a run does not honor, once per setting. */
void accel_plan_add_unhonored(struct accel_plan *plan, struct accel_rows *rows,
                              const struct accel_profile_setting *setting, uint32_t outcome, const char *reason);

/** Declines the recommended values that no run on the plan's device honors, whatever the model, and lists those
 * that nothing honors yet. */
int32_t accel_plan_decline_unmet(struct accel_plan *plan, struct accel_error *error);

struct accel_setting_row;

/** Maximum bytes of the reason why a value is not honored. */
#define ACCEL_PLAN_REASON 200u

/** Returns whether no run on the plan's device honors the value of a setting, whatever the model; `reason` then
 * states why. */
bool accel_plan_never_honored(const struct accel_plan *plan, const struct accel_setting_row *key,
                              const struct accel_profile_setting *setting, char reason[ACCEL_PLAN_REASON]);

struct accel_device;

/** Refuses to choose among devices if `unranked` has no rank, and reports the fault of its profile. If `may_name`,
 * the remedy suggests naming a device. */
int32_t accel_plan_refuse_unranked(const struct accel_context *context, const struct accel_listed *unranked,
                                   bool may_name, struct accel_error *error);

/** Returns ACCEL_E_NOT_FOUND with a remedy if the plan has no device. */
int32_t accel_plan_need_device(const struct accel_plan *plan, struct accel_error *error);

/** Returns the bits for a weight that a node reads with this placement: 1 << ACCEL_RESIDENT and the like, and one
 * bit if the node reads all of it in place. */
uint8_t accel_plan_wanted(const struct accel_node *node, uint32_t placement);

/** Estimated bytes of a node in a compiled program if the driver reports none. */
#define ACCEL_PLAN_NODE_BYTES 512u

/** Estimates the bytes of lists and objects of accel/run.h for this work over `weights` weights, and of the
 * device's options. */
uint64_t accel_plan_bookkeeping(const struct accel_device *device, const struct accel_plan_work *work,
                                uint32_t weights);

/** Returns the option of the plan's driver that receives a setting for drivers, or NULL if the driver does not
 * support it. */
const struct accel_option *accel_plan_option_of(const struct accel_plan *plan, const struct accel_setting_row *key);

/** Declines a recommended setting that was passed to the driver: the device is opened without it, and `reason` is
 * noted. `value` is the default of the driver option, which is in force. */
int32_t accel_plan_decline_option(struct accel_plan *plan, const struct accel_profile_setting *setting,
                                  const char *value, const char *reason, struct accel_error *error);

/** Checks the bindings of a step and the state against the limits of the device: ACCEL_E_LIMIT with numbers and a
 * remedy if a run would be refused. */
int32_t accel_plan_check_limits(const struct accel_plan *plan, const struct accel_plan_work *work,
                                struct accel_error *error);
/** Checks the scratch against the limits of the device. Call it after the rows of memory exist. */
int32_t accel_plan_check_scratch(const struct accel_plan *plan, const struct accel_device *device,
                                 struct accel_error *error);

/** Fills the rows of memory and the verdict. */
int32_t accel_plan_add_memory(struct accel_plan *plan, struct accel_device *device, const struct accel_plan_work *work,
                              const struct accel_compile_options *options, uint8_t *const *wanted,
                              struct accel_error *error);

#endif
