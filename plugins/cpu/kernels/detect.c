/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects the instruction sets of this machine. Compiled for the baseline processor, since detection must not use what
 * it detects.
 */
#include "config.h"

#include "kernels.h"

#include <stdbool.h>
#include <stddef.h>

static const char no_instructions[] = "the processor has no such instructions";

#if defined(__x86_64__)

#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* CPUID results: leaf 1 ecx, leaf 7 ebx, ecx, edx, subleaf 1 eax; and the register states in XCR0. */
struct features {
    uint32_t leaf1_c;
    uint32_t leaf7_b, leaf7_c, leaf7_d;
    uint32_t leaf71_a;
    uint64_t saved;
};

static bool has(uint64_t bits, uint64_t wanted)
{
    return (bits & wanted) == wanted;
}

static void features_read(struct features *out)
{
    uint32_t a, b, d, most, unused[3];
    *out = (struct features){0};
    if (!__get_cpuid(1, &a, &b, &out->leaf1_c, &d) || !has(out->leaf1_c, 1u << 27))
        return;
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    out->saved = (uint64_t)high << 32 | low;
    if (!__get_cpuid_count(7, 0, &most, &out->leaf7_b, &out->leaf7_c, &out->leaf7_d) || most == 0)
        return;
    __get_cpuid_count(7, 1, &out->leaf71_a, &unused[0], &unused[1], &unused[2]);
}

#define STATE_AVX 0x6u
#define STATE_AVX512 0xe6u
#define STATE_TILES 0x600e6u

static bool has_instructions(const struct features *f, uint32_t isa)
{
    const uint32_t avx_fma_f16c = 1u << 28 | 1u << 12 | 1u << 29, avx2_bmi2 = 1u << 5 | 1u << 8;
    const uint32_t f_dq_bw_vl = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31, vnni = 1u << 11;
    const uint32_t tile_bf16_int8 = 1u << 24 | 1u << 22 | 1u << 25;
    switch (isa) {
    case CPU_ISA_AVX2:
        return has(f->leaf1_c, avx_fma_f16c) && has(f->leaf7_b, avx2_bmi2);
    case CPU_ISA_AVXVNNI:
        return has(f->leaf71_a, 1u << 4) && has_instructions(f, CPU_ISA_AVX2);
    case CPU_ISA_AVX512:
        return has(f->leaf7_b, f_dq_bw_vl) && has(f->leaf7_c, vnni) && has_instructions(f, CPU_ISA_AVX2);
    case CPU_ISA_AVX512BF16:
        return has(f->leaf71_a, 1u << 5) && has_instructions(f, CPU_ISA_AVX512);
    case CPU_ISA_AMX:
        return has(f->leaf7_d, tile_bf16_int8) && has_instructions(f, CPU_ISA_AVX512BF16);
    default:
        return isa == CPU_ISA_SCALAR;
    }
}

/* Requests AMX tile state, which takes 8 KiB per thread. Linux grants it once for all threads of a process; repeated
 * requests succeed. */
static bool tiles_permitted(void)
{
#if defined(__linux__)
    const long request_permission = 0x1023, tile_data = 18;
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
    return false;
#endif
}

static const char *why_machine_cannot(uint32_t isa)
{
    struct features f;
    features_read(&f);
    if (!has_instructions(&f, isa))
        return no_instructions;
    if ((isa >= CPU_ISA_AVX2 && !has(f.saved, STATE_AVX)) || (isa >= CPU_ISA_AVX512 && !has(f.saved, STATE_AVX512)) ||
        (isa == CPU_ISA_AMX && !has(f.saved, STATE_TILES)))
        return "the operating system does not save its registers";
    if (isa == CPU_ISA_AMX && !tiles_permitted())
        return "the operating system does not permit its tiles";
    return NULL;
}

#elif defined(__aarch64__) && defined(__linux__)

#include <sys/auxv.h>

static const char *why_machine_cannot(uint32_t isa)
{
    /* Bit numbers of the kernel ABI, so that old headers suffice. */
    const unsigned long asimd = 1ul << 1, asimddp = 1ul << 20, i8mm = 1ul << 13;
    const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
    if (isa == CPU_ISA_SCALAR || (isa == CPU_ISA_NEON && (first & asimd) != 0) ||
        (isa == CPU_ISA_DOTPROD && (first & asimddp) != 0) ||
        (isa == CPU_ISA_I8MM && (first & asimddp) != 0 && (second & i8mm) != 0))
        return NULL;
    return no_instructions;
}

#else

static const char *why_machine_cannot(uint32_t isa)
{
    return isa == CPU_ISA_SCALAR ? NULL : no_instructions;
}

#endif

const char *cpu_isa_why_unavailable(uint32_t isa)
{
    const char *reason = why_machine_cannot(isa);
    if (reason == NULL && !cpu_isa_is_built(isa))
        return "it was not built";
    return reason;
}

const char *cpu_vendor(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_is("amd"))
        return "amd";
    if (__builtin_cpu_is("intel"))
        return "intel";
#endif
    return "";
}
