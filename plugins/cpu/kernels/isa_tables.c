/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the ISAs, the best one of this machine, and kernel tables of those in this build. */
#include "config.h"

#include <string.h>

#include "kernels.h"

/* Programs that test one ISA by emulation link it, whatever the build contains. */
#if defined(SIMD_EMULATE)
#undef HAVE_AVXVNNI
#undef HAVE_AVX512
#undef HAVE_AVX512BF16
#undef HAVE_AMX
#if defined(EMULATE_AVX512)
#define HAVE_AVX512 1
#define HAVE_AVX512BF16 1
#define HAVE_AMX 1
#endif
#endif
#if defined(EMULATE_AVXVNNI) && !defined(HAVE_AVXVNNI)
#define HAVE_AVXVNNI 1
#endif

/* Extensions require what they extend. */
#if !defined(HAVE_AVX2)
#undef HAVE_AVXVNNI
#endif
#if !defined(HAVE_AVX512)
#undef HAVE_AVX512BF16
#endif
#if !defined(HAVE_AVX512BF16)
#undef HAVE_AMX
#endif

/* Each ISA fills the slots that it has kernels of. */
cpu_fill_fn cpu_fill_scalar, cpu_fill_avx2, cpu_fill_avxvnni, cpu_fill_avx512, cpu_fill_avx512bf16, cpu_fill_amx,
    cpu_fill_neon, cpu_fill_dotprod, cpu_fill_i8mm;

static cpu_fill_fn *const fills[CPU_ISA_COUNT] = {
    [CPU_ISA_SCALAR] = cpu_fill_scalar,
#ifdef HAVE_AVX2
    [CPU_ISA_AVX2] = cpu_fill_avx2,
#endif
#ifdef HAVE_AVXVNNI
    [CPU_ISA_AVXVNNI] = cpu_fill_avxvnni,
#endif
#ifdef HAVE_AVX512
    [CPU_ISA_AVX512] = cpu_fill_avx512,
#endif
#ifdef HAVE_AVX512BF16
    [CPU_ISA_AVX512BF16] = cpu_fill_avx512bf16,
#endif
#ifdef HAVE_AMX
    [CPU_ISA_AMX] = cpu_fill_amx,
#endif
#ifdef HAVE_NEON
    [CPU_ISA_NEON] = cpu_fill_neon,
#endif
#ifdef HAVE_DOTPROD
    [CPU_ISA_DOTPROD] = cpu_fill_dotprod,
#endif
#ifdef HAVE_I8MM
    [CPU_ISA_I8MM] = cpu_fill_i8mm,
#endif
};

/* The name of each ISA, and the one that replaces it if it was not built. `extends`: it has the other's kernels, but
 * for its own. */
static const struct {
    const char *name;
    uint32_t below;
    bool extends;
} isas[CPU_ISA_COUNT] = {
    [CPU_ISA_SCALAR] = {"scalar", CPU_ISA_SCALAR, false},
    [CPU_ISA_AVX2] = {"avx2", CPU_ISA_SCALAR, false},
    [CPU_ISA_AVXVNNI] = {"avxvnni", CPU_ISA_AVX2, true},
    [CPU_ISA_AVX512] = {"avx512", CPU_ISA_AVX2, false},
    [CPU_ISA_AVX512BF16] = {"avx512bf16", CPU_ISA_AVX512, true},
    [CPU_ISA_AMX] = {"amx", CPU_ISA_AVX512BF16, true},
    [CPU_ISA_NEON] = {"neon", CPU_ISA_SCALAR, false},
    [CPU_ISA_DOTPROD] = {"dotprod", CPU_ISA_NEON, false},
    [CPU_ISA_I8MM] = {"i8mm", CPU_ISA_DOTPROD, false},
};

bool cpu_isa_is_built(uint32_t isa)
{
    return isa < CPU_ISA_COUNT && fills[isa] != NULL;
}

const char *cpu_isa_name(uint32_t isa)
{
    return isa < CPU_ISA_COUNT ? isas[isa].name : "unknown";
}

uint32_t cpu_isa_find(const char *name)
{
    uint32_t isa = 0;

    while (isa < CPU_ISA_COUNT && strcmp(isas[isa].name, name) != 0)
        isa++;
    return isa;
}

uint32_t cpu_isa_detect(void)
{
    for (uint32_t isa = CPU_ISA_COUNT - 1; isa > CPU_ISA_SCALAR; isa--) {
        if (cpu_isa_why_unavailable(isa) == NULL)
            return isa;
    }
    return CPU_ISA_SCALAR;
}

static void fill(struct cpu_kernels *table, uint32_t isa)
{
    if (isas[isa].extends)
        fill(table, isas[isa].below);
    fills[isa](table);
}

void cpu_kernels_fill(struct cpu_kernels *out_kernels, uint32_t isa)
{
    while (!cpu_isa_is_built(isa))
        isa = isas[isa].below;
    memset(out_kernels, 0, sizeof(*out_kernels));
    fill(out_kernels, isa);
    out_kernels->isa = isa;
}
