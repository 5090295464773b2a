/* SPDX-License-Identifier: Apache-2.0 */
/* Values that a run derives from the model, of settings that profiles recommend. */
#ifndef ACCELCTL_PROFILE_RULE_H
#define ACCELCTL_PROFILE_RULE_H

#include <stdbool.h>

#include <accel/plan.h>

struct rule {
    char value[64];   /* "512 tok", or "up to 4096 tok" if no model is known */
    char reason[160]; /* how the model decides */
};

/* Describes how a run of the plan's model, or of any model if the plan has none, changes the value of a setting; false:
 * it does not. */
bool find_rule(const struct accel_plan *plan, const struct accel_plan_setting *setting, struct rule *out);

/* Formats the value of a setting, or that of its rule. */
const char *shown_value(const struct accel_plan *plan, const struct accel_plan_setting *setting, char *text,
                        size_t size);

#endif
