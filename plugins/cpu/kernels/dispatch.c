/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the ISAs, detection of the best one, and the kernel table of each. */
#include "config.h"

#include "isa_tables.h"

#include <string.h>

const char *cpu_isa_name(uint32_t isa)
{
    static const char *const names[CPU_ISA_COUNT] = {"scalar", "avx2", "avxvnni", "avx512", "avx512bf16",
                                                     "amx",    "neon", "dotprod", "i8mm"};
    return isa < CPU_ISA_COUNT ? names[isa] : "unknown";
}

uint32_t cpu_isa_detect(void)
{
    for (uint32_t isa = CPU_ISA_COUNT - 1; isa > CPU_ISA_SCALAR; isa--) {
        if (cpu_isa_why_unavailable(isa) == NULL)
            return isa;
    }
    return CPU_ISA_SCALAR;
}

void cpu_kernels_fill(struct cpu_kernels *out_kernels, uint32_t isa)
{
    /* The ISA that each one extends. */
    static const uint32_t below[CPU_ISA_COUNT] = {
        [CPU_ISA_AVX2] = CPU_ISA_SCALAR,       [CPU_ISA_AVXVNNI] = CPU_ISA_AVX2,   [CPU_ISA_AVX512] = CPU_ISA_AVX2,
        [CPU_ISA_AVX512BF16] = CPU_ISA_AVX512, [CPU_ISA_AMX] = CPU_ISA_AVX512BF16, [CPU_ISA_NEON] = CPU_ISA_SCALAR,
        [CPU_ISA_DOTPROD] = CPU_ISA_NEON,      [CPU_ISA_I8MM] = CPU_ISA_DOTPROD,
    };
    while (!cpu_isa_is_built(isa))
        isa = below[isa];
    memset(out_kernels, 0, sizeof(*out_kernels));
    cpu_isa_fill(out_kernels, isa);
    out_kernels->isa = isa;
}
