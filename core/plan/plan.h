/* SPDX-License-Identifier: Apache-2.0 */
/** @file Defines the internals of a plan; accel/plan.h is the public interface. Records and their strings live in the
 * plan's arena. Placing again replaces the last placement's records; their strings stay until the plan is freed. */
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
    uint64_t reserve;   /**< bytes of its memory that are not usable */
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
    const char *device_profile;        /**< file of the folder devices that the request names (the fastest), or NULL */
    struct accel_plan_described *described; /**< the devices that a plan without a present device uses */
    uint32_t described_count;
    uint32_t described_devices; /**< number of devices of the request or the caller's device.count; 0: none */
    const char *described_origin;
    const char *described_name; /**< name of a list of several kinds: "1 x Large GPU + 2 x Small GPU"; else NULL */
    struct accel_arena arena;
    bool out_of_memory;               /**< a text or row did not fit since the last accel_plan_finish */
    struct accel_profile_pair *facts; /**< facts of device, host, request and caller; `shown` adds those of files */
    uint32_t fact_count;
    struct accel_named_value *shown;    /**< all facts that rules were evaluated with */
    const char *model;                  /**< result of accel_plan_model */
    const char *variant;                /**< result of accel_plan_variant */
    struct accel_settings *settings;    /**< as resolved, unless a value was declined */
    struct accel_plan_setting *records; /**< of each setting with the value that the plan decided, in the same order */
    struct accel_thread_plan threads;   /**< count 0: the device uses no thread team */
    struct accel_plan_cores *cores;     /**< cores of the threads */
    uint32_t cores_count;
    bool pinned;
    const char *moved; /**< why another device replaces the named one, or NULL */
    const char *fewer; /**< why the plan has fewer threads than requested, or NULL */

    struct accel_plan_node *nodes; /**< nodes of all graphs, one graph after the other */
    uint32_t node_count;
    uint32_t memory_count;
    struct accel_plan_memory memory[ACCEL_MEMORY_END];
    struct accel_plan_fit fit;
    bool has_fit; /**< `fit` is valid */
    bool placed;
    struct accel_device *opened;                 /**< the plan's reference to its open device, or NULL */
    const struct accel_named_value *opened_with; /**< options that the device was opened with */
    uint32_t opened_count;                       /**< of `opened_with` */
    bool has_shapes;                             /**< a shape plan was made */
    bool spread;                                 /**< the shape plan uses several devices */
    bool is_planning_shapes;                     /**< a shape plan is being made: declines apply to it alone */

    uint32_t converted;         /**< weights whose type in the shape plan differs from the file */
    uint32_t converted_vectors; /**< norms and biases among `converted` */
    uint32_t component_count;   /**< components of the shape plan */

    uint64_t step_weights;  /**< weight bytes that a decode step reads; 0: not known */
    uint64_t step_state;    /**< bytes that a decode step reads of a sequence's full KV cache; 0: not known */
    uint64_t step_elements; /**< weights that each prefill token is multiplied with; 0: not known */
    double bound_decode;    /**< decode tok/s that the bandwidth of described devices allows; 0: not known */
    double bound_prefill;   /**< prefill tok/s that device.compute allows; 0: not known */
    const char *bound_decode_origin;
    const char *bound_prefill_origin;

    struct accel_rows stages;   /**< struct accel_plan, owned: pipeline stages of a spread plan, on the heap */
    struct accel_rows parts;    /**< struct accel_plan_part */
    struct accel_rows weights;  /**< struct accel_plan_weight */
    struct accel_rows layers;   /**< struct accel_plan_layer */
    struct accel_rows notes;    /**< struct accel_plan_note; the key of a fallback is its policy, "fallback.kv" */
    struct accel_rows hints;    /**< struct accel_plan_note, rebuilt by each step: unhonored values, history */
    struct accel_rows speeds;   /**< struct accel_plan_speed */
    struct accel_rows laters;   /**< struct accel_plan_unhonored: values of profiles that nothing honors yet */
    struct accel_rows declines; /**< struct accel_plan_unhonored: recommended values declined for every model */
    struct accel_rows shape_unhonored; /**< struct accel_plan_unhonored: values that one shape plan does not honor */
    struct accel_rows replaced; /**< struct accel_plan_replaced: settings before the declines of one shape plan */
    struct accel_rows unmet;    /**< struct accel_plan_unhonored: values not honored, rebuilt with the hints */
    struct accel_plan_past past;
};

/** A setting before a shape plan declined its value. */
struct accel_plan_replaced {
    size_t index;
    struct accel_plan_setting record;
    struct accel_profile_setting setting;
};

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

/** Refuses to choose among devices if `unranked` has no rank, and reports the fault of its profile. If `may_name`,
 * the remedy suggests naming a device. */
int32_t accel_plan_refuse_unranked(const struct accel_context *context, const struct accel_listed *unranked,
                                   bool may_name, struct accel_error *error);

/** Returns ACCEL_E_NOT_FOUND with a remedy if the plan has no device. */
int32_t accel_plan_need_device(const struct accel_plan *plan, struct accel_error *error);

#endif
