/* SPDX-License-Identifier: Apache-2.0 */
/* Prints which devices a plan leaves idle, and which settings use them. */
#ifndef ACCELCTL_PRINT_IDLE_H
#define ACCELCTL_PRINT_IDLE_H

#include <stdint.h>

#include "tools/accelctl/model.h"

/* Counts the devices like those of the plan, here or in its list, that hold none of its layers. */
uint32_t count_idle_devices(const struct opened *opened);

/* Prints a line if the plan could spread the model over more devices than it uses, or over them more evenly. Both are
 * found by planning again. Prints nothing if the user chose the devices of the layers by placement. */
void print_idle_devices(const struct opened *opened);

#endif
