/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Inside of a resolution: every setting with all values that layers want for it, until the strongest is written out.
 * All of it lives in the arena of the settings that come of it.
 */
#ifndef ACCEL_CORE_PROFILE_RESOLVER_H
#define ACCEL_CORE_PROFILE_RESOLVER_H

#include "core/profile/internal.h"

/** One value that somebody wants for a setting. Strings belong to the settings. */
struct accel_key_candidate {
    struct accel_key_candidate *weaker;
    struct accel_key_value value;
    const char *place;
    const char *because;
    uint32_t layer;
};

/** One setting while it is resolved. */
struct accel_key_slot {
    struct accel_key_slot *next;
    const struct accel_key *key;
    struct accel_key_candidate *strongest;
    const char *locked_by; /* place of the lock, or NULL */
    uint32_t locked_layer; /* layer of the lock */
};

/** What one resolution carries along. */
struct accel_resolver {
    struct accel_settings *settings;
    struct accel_key_slot *first; /* in the order of keys.def, then options of the driver */
    struct accel_key_slot **end;
    struct accel_profile_scene scene;
    const struct accel_profile_entry *client; /* NULL: none */
    const char *driver;                       /* fact driver.name, else platform, or NULL */
    struct accel_error *error;
};

int32_t accel_resolver_no_memory(const struct accel_resolver *r);

/** Writes winners, losers and facts into the settings. */
int32_t accel_resolver_write(struct accel_resolver *r);

#endif
