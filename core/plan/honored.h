/* SPDX-License-Identifier: Apache-2.0 */
/** @file The values that a run honors (runnable.c), the options of drivers (options.c), recommended values that are
 * declined (decline.c), and hints (speed.c, refused.c). */
#ifndef ACCEL_CORE_PLAN_HONORED_H
#define ACCEL_CORE_PLAN_HONORED_H

#include "core/plan/plan.h"

struct accel_setting_row;

/** Maximum bytes of the reason why a value is not honored. */
#define ACCEL_PLAN_REASON 200u

/** Returns whether no run on the plan's device honors a value, whatever the model; `reason` states why. */
bool accel_plan_never_honored(const struct accel_plan *plan, const struct accel_setting_row *key,
                              const struct accel_profile_setting *setting, char reason[ACCEL_PLAN_REASON]);

/** Returns whether a profile or a variable of the documents recommends the value, as opposed to a value of the user
 * (accel.yaml, ACCEL_..., --set) or a built-in one. */
bool accel_plan_recommends(const struct accel_profile_setting *setting);

/** Returns whether the user set the value: it is neither recommended nor built in. */
static inline bool accel_plan_is_users(const struct accel_profile_setting *setting)
{
    return setting->layer != ACCEL_LAYER_BUILTIN && !accel_plan_recommends(setting);
}

/** Returns the unit as written behind a number; a word has none. */
const char *accel_plan_unit(const char *unit, const char *value);

/** Adds a row for a value that a run does not honor, once per setting. */
void accel_plan_add_unhonored(struct accel_plan *plan, struct accel_rows *rows,
                              const struct accel_profile_setting *setting, uint32_t outcome, const char *reason);

/** Declines recommended values that no run on the device honors with any model; lists those that nothing honors yet. */
int32_t accel_plan_decline_unmet(struct accel_plan *plan, struct accel_error *error);

/** Declines a recommended setting that was passed to the driver: the device is opened without it, and `reason` is
 * noted. `value` is the default of the driver option, which is in force. */
int32_t accel_plan_decline_option(struct accel_plan *plan, const struct accel_profile_setting *setting,
                                  const char *value, const char *reason, struct accel_error *error);

/** Restores the values that the last shape plan declined: the next one may honor them. */
void accel_plan_forget_declines(struct accel_plan *plan);

/** Returns the option of the plan's driver that receives a setting for drivers; NULL if it does not support it. */
const struct accel_option *accel_plan_option_of(const struct accel_plan *plan, const struct accel_setting_row *key);

/** Opens the device of the plan with its options, unless it is open. */
int32_t accel_plan_need_opened(struct accel_plan *plan, struct accel_error *error);

/** Stores the variant: settings, driver options and weight types that runs must share to be compared. */
void accel_plan_note_variant(struct accel_plan *plan);

/** Rebuilds the hints: settings that a run does not honor, and past errors and a range of speed from the history.
 * An unreadable history is a hint, never a failure. */
int32_t accel_plan_rebuild_hints(struct accel_plan *plan, struct accel_error *error);

/** Adds a hint for each setting that a run would not honor, and for a device and threads other than the request's. */
int32_t accel_plan_hint_unhonored(struct accel_plan *plan, struct accel_error *error);

/** Adds hints about refused drivers that might have offered the device. Call it with accel_plan_hint_unhonored. */
void accel_plan_hint_refused(struct accel_plan *plan);

#endif
