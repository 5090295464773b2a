/* SPDX-License-Identifier: Apache-2.0 */
/** @file Internals of a resolution: every setting with the values of all layers, until the strongest is written to
 * the result. Everything is in the arena of the resulting settings. */
#ifndef ACCEL_CORE_PROFILE_RESOLVER_H
#define ACCEL_CORE_PROFILE_RESOLVER_H

#include "core/profile/internal.h"

/** A value that one layer gives a setting. Strings belong to the settings. */
struct accel_key_candidate {
    struct accel_key_candidate *weaker;
    struct accel_key_value value;
    const char *place;
    const char *reason;
    uint32_t layer;
    bool is_alias; /* from a variable of another program */
};

/** One setting during the resolution. */
struct accel_key_slot {
    struct accel_key_slot *next;
    const struct accel_setting_row *key;
    struct accel_key_candidate *strongest;
    const char *locked_by; /* place of the lock, or NULL */
    uint32_t locked_layer; /* layer of the lock */
};

/** State of one resolution. */
struct accel_resolver {
    struct accel_settings *settings;
    struct accel_key_slot *first; /* in the order of keys.def, then driver options */
    struct accel_key_slot **end;
    struct accel_profile_selection selection;
    const struct accel_profile_entry *client; /* NULL: none */
    const char *driver;                       /* fact driver.name, else platform, or NULL */
    struct accel_error *error;
};

/** Writes values in force, overridden values and facts into the settings. */
int32_t accel_resolver_write(struct accel_resolver *r);

#endif
