/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a plan as members, so that the compiler checks their names. */
#ifndef ACCEL_MODEL_SESSION_SETTINGS_H
#define ACCEL_MODEL_SESSION_SETTINGS_H

#include <stdbool.h>

#include <accel/plan.h>

/* Every setting of accel/keys.def: its record in the plan, which has what the planner decided later, too. */
struct settings {
#define ACCEL_KEY(name, member, ...) const struct accel_plan_setting *member;
#include <accel/keys.def>
#undef ACCEL_KEY
};

/* Fills the members. ACCEL_E_INTERNAL if the library of the plan has another table. */
int32_t settings_read(const struct accel_plan *plan, struct settings *out_settings, struct accel_error *error);

static inline bool setting_is_on(const struct accel_plan_setting *setting)
{
    return setting->word == ACCEL_WORD_TRUE;
}

/* Returns the origin of an error about a setting. */
static inline uint32_t setting_origin(const struct accel_plan_setting *setting)
{
    return setting->origin == ACCEL_ORIGIN_GIVEN ? ACCEL_FROM_SETTING : ACCEL_FROM_FILE;
}

#endif
