/* SPDX-License-Identifier: Apache-2.0 */
/** @file Facts, settings and their layers: input and output of profiles. Their writer owns the strings. */
#ifndef ACCEL_CORE_PROFILE_SETTING_H
#define ACCEL_CORE_PROFILE_SETTING_H

#include <stdbool.h>
#include <stdint.h>

#include <accel/error.h>
#include <accel/plan.h>
#include <accel/profile.h>

#include "core/base/arena.h"

/** A fact ("driver.name" is "cpu"), or a setting of the caller. Sizes in facts are in bytes. */
struct accel_profile_pair {
    const char *key;
    const char *value;
    const char *origin; /**< words for people: "command line --set context=2048tok"; never NULL */
};

/** A fact in force. */
struct accel_profile_fact {
    const char *key;
    const char *value;  /**< sizes in bytes */
    const char *unit;   /**< "bytes", "tok" or empty */
    const char *place;  /**< "profiles/devices/t4.yaml:7", or the origin that the caller gave */
    const char *reason; /**< or empty */
    uint32_t layer;     /**< ACCEL_LAYER_GIVEN, MODEL, DEVICE, or BUILTIN for a fact derived from another one */
};

/** Merged facts of caller, devices and model. Free with accel_profile_facts_free. */
struct accel_profile_facts {
    struct accel_arena arena;
    uint32_t count;
    struct accel_profile_fact *facts;
};

/** The value of one setting. */
struct accel_profile_setting {
    const char *key;    /**< "kv.type.k" */
    const char *value;  /**< without its unit: "f16", "2048", "true"; sizes in bytes, durations in ms */
    const char *unit;   /**< "tok", "bytes", "ms", or empty */
    const char *place;  /**< "/usr/share/accel/profiles/base.yaml:12", "environment ACCEL_CONTEXT", the giver's words */
    const char *reason; /**< reason in the profile, or empty */
    uint32_t layer;     /**< ACCEL_LAYER_... */
    uint32_t word;      /**< ACCEL_WORD_... */
    bool is_number;     /**< `number` holds the value; otherwise the value is a word, "auto" included */
    int64_t number;     /**< integers, sizes in bytes, durations in ms; flags are 0 and 1 */
    const struct accel_plan_overridden *overridden; /**< overridden values as records, strongest first */
    uint32_t overridden_count;
    bool is_alias; /**< the value comes from a variable of another program, and is a recommendation */
    const struct accel_profile_setting *later; /**< a value that nothing honors yet, or NULL; never in force */
};

/** Returns the origin (ACCEL_FROM_...) of an error in a value of layer `layer`. */
static inline uint32_t accel_layer_origin(uint32_t layer)
{
    return layer >= ACCEL_LAYER_ENVIRONMENT ? ACCEL_FROM_SETTING : ACCEL_FROM_FILE;
}

/** Returns the origin of an error in the value in force. */
static inline uint32_t accel_setting_origin(const struct accel_profile_setting *setting)
{
    return accel_layer_origin(setting->layer);
}

/** Receives an unknown variable of the environment. `near`: the probable name, or NULL. */
typedef void (*accel_profile_unknown)(void *data, const char *name, const char *near);

#endif
