/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the kernels: the kernel tables of the ISAs in this build. */
#ifndef CPU_KERNELS_ISA_TABLES_H
#define CPU_KERNELS_ISA_TABLES_H

#include <stdbool.h>

#include "kernels.h"

/* Returns whether the kernels of an ISA were built. */
bool cpu_isa_is_built(uint32_t isa);

/* Fills an empty table with the kernels of an ISA that was built. */
void cpu_isa_fill(struct cpu_kernels *out_kernels, uint32_t isa);

#endif
