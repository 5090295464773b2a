/* SPDX-License-Identifier: Apache-2.0 */
/* View of profiles: the settings that result from the profiles that a user names, without a model file. */
#ifndef ACCELCTL_PROFILE_VIEW_H
#define ACCELCTL_PROFILE_VIEW_H

#include <accel/model/describe.h>

#include "tools/accelctl/profile/profile.h"

struct view {
    struct profile_files files;
    struct selection selection;
    struct accel_model_description *description; /* of --model FILE, or NULL */
    struct accel_plan *plan;
    char *texts[2]; /* of what the command line gives */
};

/* Plans for the profiles that `names` and the options select. Devices have been discovered in the context. Answers
 * -1, or an exit code after an error has been printed. Close the view in every case. */
int view_open(struct accel_context *context, const struct profile_options *chosen, int count, char **names,
              struct view *view);
void view_close(struct view *view);

/* A value for people: "256 tok", "100 MiB". */
const char *view_value(const char *value, const char *unit, char *text, size_t size);
const char *view_fact(const struct accel_named_value *fact, char *text, size_t size);

json_t *view_setting_json(const struct accel_plan *plan, const struct accel_plan_setting *setting);
json_t *view_later_json(const struct accel_plan_unhonored *row);
json_t *view_json(const struct view *view);

#endif
