/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the kernel table of the ISA for which this file is compiled. AVX-VNNI has kernels of codes alone, the others
 * are those of AVX2. */
#include "plugins/cpu/kernels/declare.h"

void CPU_NAME(fill)(struct cpu_kernels *table)
{
#if defined(CPU_BUILD_AVXVNNI)
#define CPU_KERNEL(type, slot, name)
#define CPU_KERNEL8(type, slot, name) table->slot = CPU_NAME(name);
#else
#define CPU_KERNEL(type, slot, name) table->slot = CPU_NAME(name);
#endif
#if defined(CPU_BUILD_NEON)
#define CPU_PACKED(type, slot, name)
#endif
#include "plugins/cpu/kernels/kernels.def"
}
