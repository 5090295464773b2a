/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of advice with what each saves and costs. */
#ifndef ACCELCTL_PRINT_STEPS_H
#define ACCELCTL_PRINT_STEPS_H

#include "tools/accelctl/model.h"

void print_steps(const struct accel_model_plan_steps *steps);
/* The settings of all steps that were applied, for the command line; nothing where none was. */
void print_applied(const struct accel_model_plan_steps *steps);
json_t *steps_json(const struct accel_model_plan_steps *steps);

#endif
