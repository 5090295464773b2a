/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the kernels: what a build has of each level. */
#ifndef CPU_KERNELS_LEVELS_H
#define CPU_KERNELS_LEVELS_H

#include "kernels.h"

/* True when the kernels of a level were built. */
int cpu_level_built(uint32_t level);

/* Puts the kernels of a level that was built into an empty table. */
void cpu_level_fill(struct cpu_kernels *out_kernels, uint32_t level);

#endif
