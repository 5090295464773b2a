/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The plan of a run: its device, settings, weight types, memory and speed, each with its origin.
 *
 * A plan is made in two or three calls, since a model's graphs depend on settings:
 *  1. accel_plan_create chooses the device and resolves the settings from the profiles.
 *  2. accel_plan_sketch, for a model that is known by its shapes, decides weight types and placement, and estimates
 *     memory by formula. This works without graphs and for a platform that has no device on this machine.
 *  3. accel_plan_assign_graphs, with the graphs built for these settings, gets the driver's claims and exact memory,
 *     which replace the estimates. accel_plan_ask is its first half, for callers that decide by the driver's answers.
 * None of them loads weights. One thread at a time may use a plan. Its records are valid until accel_plan_free.
 *
 * Every record has an origin: "measured: " and the measurement, "estimated: " and the formula, "claimed: " and the
 * document, a profile's file:line, or the header field of a model file.
 */
#ifndef ACCEL_PLAN_H
#define ACCEL_PLAN_H

#include <accel/abi.h>
#include <accel/context.h>
#include <accel/error.h>
#include <accel/graph.h>
#include <accel/sketch.h>

ACCEL_BEGIN_C

struct accel_plan;
struct accel_plan_answers;
struct accel_device;

/** A key with its value and the origin of that value: a setting that overrides the profiles, or a fact of the model
 * that conditions of profiles read. Closed. */
struct accel_named_value {
    const char *key;
    const char *value;
    const char *origin; /**< "command line --set kv.type.k=f16"; never NULL */
};

/** A request for a plan. Open. */
struct accel_plan_request {
    uint32_t size;
    uint32_t override_count;
    const char *device; /**< a device's name or id, a driver, a kind, or a list of these; NULL: the best */
    /** Settings that override those of all profiles. An option of a driver with an empty value is set by none of them:
     * the driver chooses. */
    const struct accel_named_value *overrides;
    const struct accel_named_value *model; /**< facts of the model: "model.family", "model.layers", ... */
    uint32_t model_count;
    uint32_t zero;
    /** The platform to plan for: the name of a driver, or of a file in profiles/. NULL: a device of this machine.
     *  With a platform, `device` is one of its devices, as above, or NULL for the best one; the plan has no device if
     *  the platform has none on this machine. `device` may also be a list of files in profiles/devices, "4xa100,h200":
     *  the plan is then spread over all of the list and has no device. The overrides "device.count",
     *  "device.memory", "device.reserve", "device.bandwidth" and "device.compute" are facts of devices that are not on
     * this machine. */
    const char *platform;
};

/** Chooses a device and resolves all settings. ACCEL_E_NOT_FOUND: no such device, with the reasons of those refused.
 *  The context must have discovered. */
ACCEL_API int32_t accel_plan_create(struct accel_context *context, const struct accel_plan_request *request,
                                    struct accel_plan **out_plan, struct accel_error *error) ACCEL_NOEXCEPT;

/** Frees a plan. NULL is allowed. */
ACCEL_API void accel_plan_free(struct accel_plan *plan) ACCEL_NOEXCEPT;

/** The device, or NULL where the plan is for a platform that has none here. */
ACCEL_API const struct accel_device_info *accel_plan_device(const struct accel_plan *plan) ACCEL_NOEXCEPT;

/** The platform: the name of the driver, or what the request named. */
ACCEL_API const char *accel_plan_platform(const struct accel_plan *plan) ACCEL_NOEXCEPT;

/** Number of facts that rules were asked with: of device, host, request and model. */
ACCEL_API uint32_t accel_plan_fact_count(const struct accel_plan *plan) ACCEL_NOEXCEPT;
/** The fact at `index` with its origin, or NULL past the end. */
ACCEL_API const struct accel_named_value *accel_plan_fact_get(const struct accel_plan *plan,
                                                              uint32_t index) ACCEL_NOEXCEPT;

/** The model by what it is, not by its name: "llama, 22 layers x 2048, 1100048384 parameters, 637699456 B"; empty
 *  where the request has no facts of one. Records of the history carry it. */
ACCEL_API const char *accel_plan_model(const struct accel_plan *plan) ACCEL_NOEXCEPT;
/** The settings that decide about memory and speed: "context 2048, batch 256, k f16, v f16, ...". */
ACCEL_API const char *accel_plan_variant(const struct accel_plan *plan) ACCEL_NOEXCEPT;

/** Returns the device of the plan, open with the options of its driver that profiles and caller set ("cpu.isa"). A plan
 * opens its device once, and keeps it open. The caller frees its reference (accel_device_free), before or after the
 * plan. ACCEL_E_NOT_FOUND: the plan has no device; else the errors of accel_device_open. */
ACCEL_API int32_t accel_plan_open_device(struct accel_plan *plan, struct accel_device **out_device,
                                         struct accel_error *error) ACCEL_NOEXCEPT;

/** Lets a plan use the device that another plan of its context has open, if both are for one device with the same
 * options; else the plan opens its own. One thread at a time uses plans that share a device, and what runs them. Both
 * may be NULL. */
ACCEL_API int32_t accel_plan_share_device(struct accel_plan *plan, const struct accel_plan *from,
                                          struct accel_error *error) ACCEL_NOEXCEPT;

/* Origin of a value. */
#define ACCEL_ORIGIN_MEASURED 1u  /**< on this machine */
#define ACCEL_ORIGIN_ESTIMATED 2u /**< by a formula that the origin's text shows */
#define ACCEL_ORIGIN_CLAIMED 3u   /**< by a document or a driver */
#define ACCEL_ORIGIN_PROFILE 4u   /**< a file of the profiles or of the site */
#define ACCEL_ORIGIN_FILE 5u      /**< the model's file */
#define ACCEL_ORIGIN_GIVEN 6u     /**< the caller, the command line or the environment */
#define ACCEL_ORIGIN_BUILTIN 7u   /**< the default of the table of settings */

/** A value that a stronger one has overridden. Closed. */
struct accel_plan_overridden {
    const char *value;  /**< as text, units applied */
    const char *unit;   /**< "tok", "bytes", "ms" or empty */
    const char *place;  /**< as of a setting */
    const char *reason; /**< may be empty */
};

/* The word that a value is, by which code tests it. */
enum {
    ACCEL_WORD_OTHER, /**< a number, a name, or a word without a row */
#define ACCEL_WORD(name, text) ACCEL_WORD_##name,
#include <accel/words.def>
#undef ACCEL_WORD
};

/** One setting in force. Open. */
struct accel_plan_setting {
    uint32_t size;
    uint32_t origin;                                /**< ACCEL_ORIGIN_... */
    const char *key;                                /**< "kv.type.k" */
    const char *value;                              /**< as text, units applied: "f16", "2048", "true" */
    const char *unit;                               /**< "tok", "bytes", "ms" or empty */
    const char *place;                              /**< "profiles/cpu.yaml:12" or the words of the caller */
    const char *reason;                             /**< the profile's reason, may be empty */
    const struct accel_plan_overridden *overridden; /**< [overridden_count], the strongest first */
    uint32_t overridden_count;
    uint32_t word;  /**< ACCEL_WORD_... */
    int64_t number; /**< an integer, bytes, ms, or a flag as 0 and 1; 0 if the value is another word */
};

/** Number of settings: those of the profiles' table, then options of the driver that were set. */
ACCEL_API uint32_t accel_plan_setting_count(const struct accel_plan *plan) ACCEL_NOEXCEPT;
/** The setting at `index`, or NULL past the end. */
ACCEL_API const struct accel_plan_setting *accel_plan_setting_get(const struct accel_plan *plan,
                                                                  uint32_t index) ACCEL_NOEXCEPT;
/** The setting called `key`, or NULL. */
ACCEL_API const struct accel_plan_setting *accel_plan_setting_find(const struct accel_plan *plan,
                                                                   const char *key) ACCEL_NOEXCEPT;
/** Overrides a setting with the value that this model requires, if the profiles leave it open or set more than the
 * model supports. The setting's record then has `value`, `place` (the model's file and field) and `reason`, and lists
 * the old value as overridden. Do not call this for a value that the caller set: refuse the run instead. Strings are
 * copied. ACCEL_E_NOT_FOUND: there is no such setting. */
ACCEL_API int32_t accel_plan_setting_override(struct accel_plan *plan, const char *key, const char *value,
                                              const char *place, const char *reason,
                                              struct accel_error *error) ACCEL_NOEXCEPT;

/** A weight that steps use where the source maps it, or in a copy of the core. Closed. */
struct accel_plan_in_place {
    const char *key;
    uint32_t looked_up; /**< 1: steps read single rows of it so, and no more */
    uint32_t zero;
};

/** Memory that a run of the graphs needs beside their values. Open. */
struct accel_plan_work {
    uint32_t size;
    uint32_t graph_count;
    const struct accel_graph *const *graphs; /**< all that share weights */
    const uint64_t *const *symbols;          /**< of each graph: the highest values that will be used */
    const struct accel_state_part *parts;    /**< of the state */
    uint32_t part_count;
    uint32_t sets;            /**< of each graph: 2 for the highest and for the lowest symbols, else 0 or 1 for one */
    uint64_t slots;           /**< of the state */
    uint64_t host_bytes;      /**< what the application itself keeps: tokenizer, tables */
    const char *host_formula; /**< where that number comes from, or NULL */
    uint64_t file_bytes; /**< bytes of the pages of mapped files that weights lie on; 0: nothing is used in place */
    const char *const *converted; /**< keys of weights that are made when they are loaded, sorted by strcmp: no file has
                                       their bytes */
    uint64_t converted_count;
    /** From accel_plan_ask for these graphs: the device is not asked again. NULL: accel_plan_assign_graphs asks it. */
    const struct accel_plan_answers *answers;
    /** Bytes of the pages of mapped files that hold the weights used in place (accel_plan_in_place), which are ignored
     * if file_bytes is 0. 0: file_bytes, if all weights are used in place. */
    uint64_t in_place_bytes;
};

/** Verifies the graphs, opens the device, and gets the driver's claim for each node and its memory estimates, which
 * accel_plan_assign_graphs computes with. Asking first lets a caller decide by accel_plan_in_place whether files are
 * mapped. The answers live as long as the plan; all of the work but file_bytes and in_place_bytes has to stay the same.
 * The errors are those of accel_plan_assign_graphs. */
ACCEL_API int32_t accel_plan_ask(struct accel_plan *plan, const struct accel_plan_work *work,
                                 const struct accel_plan_answers **out_answers,
                                 struct accel_error *error) ACCEL_NOEXCEPT;
/** Returns the weights that the device does not copy, sorted by key and without converted ones. */
ACCEL_API const struct accel_plan_in_place *accel_plan_in_place(const struct accel_plan_answers *answers,
                                                                uint32_t *out_count) ACCEL_NOEXCEPT;

/** Assigns graphs to the plan's device: asks it (accel_plan_ask), unless the work has its answers, and computes whether
 * the run fits into memory. A run that does not fit is not an error: see accel_plan_fit. `work` is borrowed for the
 * call. The call may be repeated with other work; earlier records of memory and nodes are then out of date, and stay
 * readable. ACCEL_E_REFUSED: the device does not run a node; ACCEL_E_FALLBACK: a node would be emulated and the policy
 * denies that (both errors name the node and the reason, and the records of the nodes exist); ACCEL_E_NOT_FOUND: the
 * plan has no device; ACCEL_E_INVALID: it is spread over several devices, and its stages have graphs
 * (accel_plan_add_stage). */
ACCEL_API int32_t accel_plan_assign_graphs(struct accel_plan *plan, const struct accel_plan_work *work,
                                           struct accel_error *error) ACCEL_NOEXCEPT;

/**
 * Decides the type of every weight, the memory of each class by formula, the placement over devices, and whether it
 * fits. The sketch is borrowed for the call. Types: role.* before the component's type before precision.adaptive before
 * weights.type before what the file has; weights.least is the floor. ACCEL_E_INVALID: the sketch or the placement
 * contradicts itself; ACCEL_E_REFUSED: settings contradict each other or what the device can do; ACCEL_E_FALLBACK: a
 * requested value is not available and the policy denies the next best. Not fitting is no failure. May be repeated
 * until the plan has stages. */
ACCEL_API int32_t accel_plan_sketch(struct accel_plan *plan, const struct accel_sketch *sketch,
                                    struct accel_error *error) ACCEL_NOEXCEPT;

/** Adds the next pipeline stage of a plan that is spread over several devices: a plan for `device`, with the settings
 * that the caller gave and the profiles of that device, to which accel_plan_assign_graphs assigns a part of the graph.
 * Stages on one device share it. The plan owns the stage. ACCEL_E_INVALID: the plan is not spread; else the errors of
 * accel_plan_create. */
ACCEL_API int32_t accel_plan_add_stage(struct accel_plan *plan, const char *device, struct accel_plan **out_stage,
                                       struct accel_error *error) ACCEL_NOEXCEPT;

/** Replaces the estimates of a plan by the figures of its stages: the sum of their bytes per memory class and their
 * nodes, where `graph` is the index of the stage. The plan fits if every stage fits. ACCEL_E_INVALID: the plan has no
 * stages, or one has no assigned graphs. */
ACCEL_API int32_t accel_plan_merge_stages(struct accel_plan *plan, struct accel_error *error) ACCEL_NOEXCEPT;

/** Weights of one component and role that get the same type for the same reason. Open. */
struct accel_plan_part {
    uint32_t size;
    uint32_t count;        /**< weights */
    const char *component; /**< "language" */
    const char *role;      /**< "attention.q" */
    const char *type_name; /**< "q4_g128" */
    const char *file_type; /**< type in the file, empty where that is not known */
    uint64_t elements;
    uint64_t bytes;         /**< scales and zero points too */
    double bits_per_weight; /**< 8 * bytes / elements */
    const char *place;      /**< of the setting that decided, or the sketch's origin */
    const char *reason;
};

/** Number of parts; 0 before accel_plan_sketch. */
ACCEL_API uint32_t accel_plan_part_count(const struct accel_plan *plan) ACCEL_NOEXCEPT;
/** The part at `index`, or NULL past the end. */
ACCEL_API const struct accel_plan_part *accel_plan_part_get(const struct accel_plan *plan,
                                                            uint32_t index) ACCEL_NOEXCEPT;

/** One weight, with the type that it gets. Open. */
struct accel_plan_weight {
    uint32_t size;
    uint32_t converted; /**< 1: a run makes it of another type than the file's when it loads */
    uint32_t type;      /**< ACCEL_F16, ...; ACCEL_TYPE_NONE: no file was read, and nothing decides */
    uint32_t file_type; /**< ACCEL_TYPE_NONE: not known */
    uint64_t bytes;     /**< scales and zero points too */
    const char *name;   /**< as in the file */
};

/** Number of weights; 0 before accel_plan_sketch. */
ACCEL_API uint32_t accel_plan_weight_count(const struct accel_plan *plan) ACCEL_NOEXCEPT;
/** Returns the weight at `index`, in the order of the description, or NULL past the end. */
ACCEL_API const struct accel_plan_weight *accel_plan_weight_get(const struct accel_plan *plan,
                                                                uint32_t index) ACCEL_NOEXCEPT;

/** Neighbouring layers of one component on one device. Open. Weights of no layer are in rows of their own whose first
 *  and last are ACCEL_NO_LAYER: tables before the layers, norm and head behind them. The weights of all rows are those
 * of the plan; after accel_plan_merge_stages the last row of a device has the padding and the copies of its driver. */
struct accel_plan_layer {
    uint32_t size;
    uint32_t first;
    uint32_t last; /**< included */
    uint32_t zero;
    const char *component;
    const char *device; /**< its name, or the platform's where no device is here */
    uint64_t weight_bytes;
    uint64_t state_bytes;
};

/** Number of rows of layers; 0 before accel_plan_sketch. */
ACCEL_API uint32_t accel_plan_layer_count(const struct accel_plan *plan) ACCEL_NOEXCEPT;
/** Returns the row at `index`, components in the order of the description, or NULL past the end. */
ACCEL_API const struct accel_plan_layer *accel_plan_layer_get(const struct accel_plan *plan,
                                                              uint32_t index) ACCEL_NOEXCEPT;

#define ACCEL_NOTE_INFO 1u /**< good to know */
#define ACCEL_NOTE_WARN 2u /**< something must be done before it runs like this, or is not as asked */

/** Something that a reader of the plan should know. Open. */
struct accel_plan_note {
    uint32_t size;
    uint32_t level;     /**< ACCEL_NOTE_... */
    const char *key;    /**< the setting, or empty */
    const char *text;   /**< one line */
    const char *remedy; /**< may be empty */
};

/** Number of notes. */
ACCEL_API uint32_t accel_plan_note_count(const struct accel_plan *plan) ACCEL_NOEXCEPT;
/** The note at `index`, or NULL past the end. */
ACCEL_API const struct accel_plan_note *accel_plan_note_get(const struct accel_plan *plan,
                                                            uint32_t index) ACCEL_NOEXCEPT;

/** Adds a note, and writes it to the log. Strings are copied. It stays until the next accel_plan_sketch. */
ACCEL_API int32_t accel_plan_note(struct accel_plan *plan, const struct accel_plan_note *note,
                                  struct accel_error *error) ACCEL_NOEXCEPT;

/** Writes a note to the log of a context as accel_plan_note does, for what a run notes after its plan was made. */
ACCEL_API void accel_context_note(const struct accel_context *context,
                                  const struct accel_plan_note *note) ACCEL_NOEXCEPT;

/* Outcome of a value that a run does not honor. */
#define ACCEL_UNHONORED_NOTED                                                                                          \
    0u /**< a profile or a variable of the documents recommends it; a run goes on without it */
#define ACCEL_UNHONORED_REFUSED 1u /**< the user gave it, and a run is refused */
#define ACCEL_UNHONORED_LATER                                                                                          \
    2u /**< a profile keeps it for what will honor it, which is the reason: "webgpu driver"                            \
        */

/** A value that a run of the plan does not honor. Open. */
struct accel_plan_unhonored {
    uint32_t size;
    uint32_t outcome;         /**< ACCEL_UNHONORED_... */
    const char *key;          /**< "kv.group" */
    const char *value;        /**< as text, without its unit */
    const char *unit;         /**< "tok", "bytes", "ms" or empty */
    const char *place;        /**< of the value: "profiles/devices/t4.yaml:31" */
    const char *reason;       /**< "keys and values are not quantized" */
    const char *value_reason; /**< the profile's reason for the value; may be empty */
};

/** States the decode speed in tokens per second of a plan with graphs that the bandwidth of memory does not predict,
 * since weights are read from a disk; 0: unknown. Speeds that runs of the model measured replace it. `origin` states
 * where the number comes from, and is copied. ACCEL_E_INVALID: the plan is NULL. */
ACCEL_API int32_t accel_plan_state_speed(struct accel_plan *plan, double speed, const char *origin,
                                         struct accel_error *error) ACCEL_NOEXCEPT;

/** Number of values that a run does not honor. */
ACCEL_API uint32_t accel_plan_unhonored_count(const struct accel_plan *plan) ACCEL_NOEXCEPT;
/** The value at `index`, or NULL past the end. */
ACCEL_API const struct accel_plan_unhonored *accel_plan_unhonored_get(const struct accel_plan *plan,
                                                                      uint32_t index) ACCEL_NOEXCEPT;

/** 1 where a profile or a variable of the documents recommends the value of a setting, so that a run which cannot honor
 *  it calls accel_plan_decline; 0 where the user gave it (accel.yaml, ACCEL_..., the request), so that it is refused,
 *  and where it is built in. */
ACCEL_API uint32_t accel_plan_is_recommended(const struct accel_plan *plan, const char *key) ACCEL_NOEXCEPT;
/** Puts `value` (in the setting's own unit, without it) in the place of a recommended value that a run cannot honor,
 *  and lists the latter as not honored. ACCEL_E_INVALID: the value is not recommended, or `value` is none of the
 *  setting. Strings are copied. */
ACCEL_API int32_t accel_plan_decline(struct accel_plan *plan, const char *key, const char *value, const char *reason,
                                     struct accel_error *error) ACCEL_NOEXCEPT;

/** How fast it will be. Open. Rows exist where bytes of a step are known; both ends are 0 where nothing was measured.
 */
struct accel_plan_speed {
    uint32_t size;
    uint32_t runs;       /**< records of the history behind it */
    const char *name;    /**< "written": steps of one token; "prefill": tokens of a prompt */
    double lower;        /**< tokens a second; 0: not known */
    double upper;        /**< 0: not known */
    uint64_t step_bytes; /**< that a step of one token reads */
    const char *origin;  /**< "measured: ..." or "estimated: ..." */
};

/** Number of rows of speed. */
ACCEL_API uint32_t accel_plan_speed_count(const struct accel_plan *plan) ACCEL_NOEXCEPT;
/** The row at `index`, or NULL past the end. */
ACCEL_API const struct accel_plan_speed *accel_plan_speed_get(const struct accel_plan *plan,
                                                              uint32_t index) ACCEL_NOEXCEPT;

/** How well past plans for this model on this device foretold memory. Open. */
struct accel_plan_past {
    uint32_t size;
    uint32_t runs;     /**< records behind it; 0: none */
    uint64_t planned;  /**< of the last run */
    uint64_t measured; /**< of the last run */
    double last;       /**< (measured - planned) / planned of the last run */
    double worst;      /**< the one that is farthest from 0 */
    const char *origin;
    uint64_t read_bytes; /**< that a decode step of runs with these settings read from disks; 0: not known */
};

/** Past errors. The caller sets past->size. */
ACCEL_API int32_t accel_plan_past(const struct accel_plan *plan, struct accel_plan_past *past,
                                  struct accel_error *error) ACCEL_NOEXCEPT;

/** Checks that a run of this version honors the settings. ACCEL_E_UNSUPPORTED names the first setting of the user
 * that a run would not honor, with its value and place; ACCEL_E_NOT_FOUND: the plan has no device. A value
 * recommended by a profile or a variable of the documents never makes a run fail: accel_plan_unhonored_get lists
 * it. */
ACCEL_API int32_t accel_plan_runnable(const struct accel_plan *plan, struct accel_error *error) ACCEL_NOEXCEPT;

/** Bytes of one class. Open. */
struct accel_plan_memory {
    uint32_t size;
    uint32_t memory_class; /**< ACCEL_MEMORY_... */
    uint64_t bytes;        /**< what the plan counts with (the upper end) */
    uint64_t lower;        /**< the lower end; less than bytes: these are a bound */
    const char *name;      /**< "weights" */
    const char *origin;    /**< "estimated: 2 planes x 22 layers x ..." */
};

/** Number of classes of memory with bytes; 0 before accel_plan_sketch and accel_plan_assign_graphs. */
ACCEL_API uint32_t accel_plan_memory_count(const struct accel_plan *plan) ACCEL_NOEXCEPT;
/** The row at `index`, or NULL past the end. */
ACCEL_API const struct accel_plan_memory *accel_plan_memory_get(const struct accel_plan *plan,
                                                                uint32_t index) ACCEL_NOEXCEPT;

/** The verdict. Open. */
struct accel_plan_fit {
    uint32_t size;
    uint32_t fits;     /**< 1 or 0 */
    uint64_t needed;   /**< bytes in all */
    uint64_t budget;   /**< bytes that may be taken */
    uint64_t short_by; /**< needed - budget, or 0; where several devices are planned: of the one that lacks most */
    const char *budget_origin; /**< origin of the budget, or that it is unknown: never NULL */
};

/** Returns the verdict on memory. The caller sets fit->size. ACCEL_E_INVALID before accel_plan_sketch and
 * accel_plan_assign_graphs. If the amount of memory is unknown, fits is 1 and budget 0. */
ACCEL_API int32_t accel_plan_fit(const struct accel_plan *plan, struct accel_plan_fit *fit,
                                 struct accel_error *error) ACCEL_NOEXCEPT;

/** Whether the bytes that a plan is short by are those of one of its devices: they exceed what the sum lacks. */
static inline uint32_t accel_plan_fit_is_of_one(const struct accel_plan_fit *fit) ACCEL_NOEXCEPT
{
    return fit->needed < fit->budget + fit->short_by;
}

/** Placement of one node. Open. */
struct accel_plan_node {
    uint32_t size;
    uint32_t graph;     /**< index in the work */
    uint32_t node;      /**< index in its graph */
    uint32_t answer;    /**< ACCEL_CLAIM_... */
    const char *name;   /**< of the node; may be empty */
    const char *op;     /**< "matmul" */
    const char *device; /**< on which it runs */
    const char *kernel; /**< as its driver calls it */
    const char *reason; /**< why not natively, or empty */
    double tolerance;   /**< largest error to expect, relative to the largest element of the output */
    uint32_t variant;   /**< of the kernel: ACCEL_VARIANT_... of accel/driver_module.h */
    uint32_t
        precision; /**< coarsest type of its arithmetic: ACCEL_F32, ACCEL_Q8_0 ...; 0: the driver does not state it */
};

/** Number of nodes of all graphs that were placed. */
ACCEL_API uint32_t accel_plan_node_count(const struct accel_plan *plan) ACCEL_NOEXCEPT;
/** The node at `index`, graph after graph, or NULL past the end. */
ACCEL_API const struct accel_plan_node *accel_plan_node_get(const struct accel_plan *plan,
                                                            uint32_t index) ACCEL_NOEXCEPT;

/** Returns the processor on which thread `thread` of a step runs, or -1 if it is not pinned; *out_threads is the thread
 * count. */
ACCEL_API int32_t accel_plan_processor(const struct accel_plan *plan, uint32_t thread,
                                       uint32_t *out_threads) ACCEL_NOEXCEPT;

/** Cores of one package, memory node and kind, and which of their hardware threads compute. Open. */
struct accel_plan_cores {
    uint32_t size;
    uint32_t package; /**< number of the operating system */
    int32_t node;     /**< of memory, number of the operating system; -1: near to none */
    uint32_t cores;   /**< that this process may use */
    uint32_t threads; /**< that the plan has there; 0: they are left alone */
    uint32_t zero;
    const char *kind;       /**< "IntelCore"; "fast" or "slow" where they have no name; empty: there is one kind */
    const char *processors; /**< those of the threads: "0-7,16"; empty: none */
    const char *idle;       /**< other hardware threads of the group, left free; empty: none */
};

/** Number of groups of cores: 0 where the device borrows no threads. */
ACCEL_API uint32_t accel_plan_cores_count(const struct accel_plan *plan) ACCEL_NOEXCEPT;
/** The group at `index`, in the order of the machine, or NULL past the end. */
ACCEL_API const struct accel_plan_cores *accel_plan_cores_get(const struct accel_plan *plan,
                                                              uint32_t index) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
