/* SPDX-License-Identifier: Apache-2.0 */
/* Prints which devices a plan leaves idle, and which settings use them. */
#ifndef ACCELCTL_PRINT_IDLE_H
#define ACCELCTL_PRINT_IDLE_H

#include "tools/accelctl/model.h"

/* Prints a line if the plan could spread the model over more devices than it uses, or over them more evenly. Both are
 * found by planning again. Prints nothing if the user chose the devices of the layers. */
void print_idle_devices(const struct opened *opened);

#endif
