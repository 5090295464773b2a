/* SPDX-License-Identifier: Apache-2.0 */
/* Prints steps of advice with the saving and the cost of each. */
#ifndef ACCELCTL_PRINT_STEPS_H
#define ACCELCTL_PRINT_STEPS_H

#include "tools/accelctl/model.h"
#include "tools/tables/steps.h"

void print_steps(const struct plan_steps *steps);
/* Prints the steps that --fit has applied, with settings and cost, and the number of other steps. */
void print_applied_steps(const struct plan_steps *steps);
/* Prints the settings of all applied steps, for the command line; nothing if there is none. */
void print_applied(const struct plan_steps *steps);
json_t *steps_json(const struct plan_steps *steps);

#endif
