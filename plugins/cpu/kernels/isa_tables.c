/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel tables of the ISAs in this build. */
#include "config.h"

#include <stdbool.h>

#include "declare.h"
#include "isa_tables.h"

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

typedef void fill_fn(struct cpu_kernels *table);

static void fill_scalar(struct cpu_kernels *table)
{
#define CPU_KERNEL(type, slot, name) table->slot = cpu_##name##_scalar;
#define CPU_VECTOR(type, slot, name)
#include "kernels.def"
    for (uint32_t w = 0; w < CPU_WEIGHTS; w++) {
        table->product[CPU_SCALAR32][w] = cpu_matmul_scalar;
        table->embed[w] = cpu_embed_scalar;
    }
#define CODES(ID, name) table->product[CPU_SCALAR8][CPU_##ID] = cpu_matmul8_scalar;
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, ...)                                              \
    CPU_CODE_##code(CPU_NOTHING, CPU_NOTHING, CPU_NOTHING, CODES, CODES, ID, name)
#include <accel/quant/formats.def>
    CPU_PLANAR_OWN(CODES)
    CPU_PLANAR_CODES(CODES)
}

#ifdef HAVE_AVX2
static void fill_avx2(struct cpu_kernels *table)
{
#define CPU_KERNEL(type, slot, name) table->slot = cpu_##name##_avx2;
#include "kernels.def"
}
#endif

#ifdef HAVE_AVXVNNI
static void fill_avxvnni(struct cpu_kernels *table)
{
    fill_avx2(table);
#define CPU_KERNEL(type, slot, name)
#define CPU_KERNEL8(type, slot, name) table->slot = cpu_##name##_avxvnni;
#include "kernels.def"
}
#endif

#ifdef HAVE_AVX512
static void fill_avx512(struct cpu_kernels *table)
{
#define CPU_KERNEL(type, slot, name) table->slot = cpu_##name##_avx512;
#define CPU_FIELDS(type, slot, name)
#include "kernels.def"
}
#endif

#ifdef HAVE_AVX512BF16
static void fill_avx512bf16(struct cpu_kernels *table)
{
    fill_avx512(table);
    table->round16 = cpu_round16_avx512bf16;
    table->product[CPU_GEMM16][CPU_BF16] = cpu_gemm16_bf16_avx512bf16;
}
#endif

#ifdef HAVE_AMX
static void fill_amx(struct cpu_kernels *table)
{
    fill_avx512bf16(table);
#define CPU_KERNEL(type, slot, name)
#define CPU_KERNEL16(type, slot, name) table->slot = cpu_##name##_amx;
#include "kernels.def"
}
#endif

#ifdef HAVE_NEON
static void fill_neon(struct cpu_kernels *table)
{
#define CPU_KERNEL(type, slot, name) table->slot = cpu_##name##_neon;
#define CPU_FIELDS(type, slot, name)
#define CPU_PACKED(type, slot, name)
#include "kernels.def"
}
#endif

#ifdef HAVE_DOTPROD
static void fill_dotprod(struct cpu_kernels *table)
{
#define CPU_KERNEL(type, slot, name) table->slot = cpu_##name##_dotprod;
#define CPU_FIELDS(type, slot, name)
#define CPU_PACKED(type, slot, name)
#include "kernels.def"
}
#endif

#ifdef HAVE_I8MM
static void fill_i8mm(struct cpu_kernels *table)
{
#define CPU_KERNEL(type, slot, name) table->slot = cpu_##name##_i8mm;
#define CPU_FIELDS(type, slot, name)
#define CPU_PACKED(type, slot, name)
#include "kernels.def"
}
#endif

static fill_fn *const fills[CPU_ISA_COUNT] = {
    [CPU_ISA_SCALAR] = fill_scalar,
#ifdef HAVE_AVX2
    [CPU_ISA_AVX2] = fill_avx2,
#endif
#ifdef HAVE_AVXVNNI
    [CPU_ISA_AVXVNNI] = fill_avxvnni,
#endif
#ifdef HAVE_AVX512
    [CPU_ISA_AVX512] = fill_avx512,
#endif
#ifdef HAVE_AVX512BF16
    [CPU_ISA_AVX512BF16] = fill_avx512bf16,
#endif
#ifdef HAVE_AMX
    [CPU_ISA_AMX] = fill_amx,
#endif
#ifdef HAVE_NEON
    [CPU_ISA_NEON] = fill_neon,
#endif
#ifdef HAVE_DOTPROD
    [CPU_ISA_DOTPROD] = fill_dotprod,
#endif
#ifdef HAVE_I8MM
    [CPU_ISA_I8MM] = fill_i8mm,
#endif
};

bool cpu_isa_is_built(uint32_t isa)
{
    return isa < CPU_ISA_COUNT && fills[isa] != NULL;
}

void cpu_isa_fill(struct cpu_kernels *out_kernels, uint32_t isa)
{
    fills[isa](out_kernels);
}
