/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the levels, the best of them, and the table of each. */
#include "config.h"

#include "levels.h"

#include <string.h>

const char *cpu_level_name(uint32_t level)
{
    static const char *const names[CPU_LEVELS] = {"scalar", "avx2", "avxvnni", "avx512", "avx512bf16",
                                                  "amx",    "neon", "dotprod", "i8mm"};
    return level < CPU_LEVELS ? names[level] : "unknown";
}

uint32_t cpu_level_detect(void)
{
    for (uint32_t level = CPU_LEVELS - 1; level > CPU_LEVEL_SCALAR; level--) {
        if (cpu_level_obstacle(level) == NULL)
            return level;
    }
    return CPU_LEVEL_SCALAR;
}

void cpu_kernels_fill(struct cpu_kernels *out_kernels, uint32_t level)
{
    /* What each level builds upon. */
    static const uint32_t below[CPU_LEVELS] = {
        [CPU_LEVEL_AVX2] = CPU_LEVEL_SCALAR,    [CPU_LEVEL_AVXVNNI] = CPU_LEVEL_AVX2,
        [CPU_LEVEL_AVX512] = CPU_LEVEL_AVX2,    [CPU_LEVEL_AVX512BF16] = CPU_LEVEL_AVX512,
        [CPU_LEVEL_AMX] = CPU_LEVEL_AVX512BF16, [CPU_LEVEL_NEON] = CPU_LEVEL_SCALAR,
        [CPU_LEVEL_DOTPROD] = CPU_LEVEL_NEON,   [CPU_LEVEL_I8MM] = CPU_LEVEL_DOTPROD,
    };
    while (!cpu_level_built(level))
        level = below[level];
    memset(out_kernels, 0, sizeof(*out_kernels));
    cpu_level_fill(out_kernels, level);
    out_kernels->level = level;
}
