/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction sequences of aarch64, as sequences_x86.c has those of x86-64. Accumulators are v0 to v15, factors
 * v16 and v17. */
#include "config.h"

#include "tools/measure/sequences.h"

#if defined(__aarch64__)
#if defined(__linux__)
#include <stdbool.h>
#include <sys/auxv.h>
#endif

#define SIXTEEN(one)                                                                                                   \
    one("0") one("1") one("2") one("3") one("4") one("5") one("6") one("7") one("8") one("9") one("10") one("11")      \
        one("12") one("13") one("14") one("15")
#define CLOBBERED                                                                                                      \
    "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16",       \
        "v17", "cc"
#define SEQUENCE(name, architecture, body)                                                                             \
    static void name(uint64_t turns)                                                                                   \
    {                                                                                                                  \
        __asm__ volatile(".arch " architecture "\n"                                                                    \
                         "movi v16.4s, #0\n"                                                                           \
                         "movi v17.4s, #0\n"                                                                           \
                         "1:\n" body "subs %0, %0, #1\n"                                                               \
                         "b.ne 1b\n"                                                                                   \
                         : "+r"(turns)                                                                                 \
                         :                                                                                             \
                         : CLOBBERED);                                                                                 \
    }

#define FMLA(i) "fmla v" i ".4s, v16.4s, v17.4s\n"
#define SDOT(i) "sdot v" i ".4s, v16.16b, v17.16b\n"
#define SMMLA(i) "smmla v" i ".4s, v16.16b, v17.16b\n"
#define BFMMLA(i) "bfmmla v" i ".4s, v16.8h, v17.8h\n"
SEQUENCE(fmla, "armv8-a", SIXTEEN(FMLA))
SEQUENCE(sdot, "armv8.2-a+dotprod", SIXTEEN(SDOT))
SEQUENCE(smmla, "armv8.2-a+i8mm", SIXTEEN(SMMLA))
SEQUENCE(bfmmla, "armv8.2-a+bf16", SIXTEEN(BFMMLA))

static bool has_simd(void)
{
    return 1;
}

#if defined(__linux__)
#define HAS(name, words, bit)                                                                                          \
    static bool has_##name(void)                                                                                       \
    {                                                                                                                  \
        return getauxval(words) >> bit & 1u;                                                                           \
    }
HAS(dot, AT_HWCAP, 20)
HAS(i8mm, AT_HWCAP2, 13)
HAS(bf16, AT_HWCAP2, 14)
#else
static bool has_dot(void)
{
#if defined(__ARM_FEATURE_DOTPROD)
    return 1;
#else
    return 0;
#endif
}

static bool has_i8mm(void)
{
#if defined(__ARM_FEATURE_MATMUL_INT8)
    return 1;
#else
    return 0;
#endif
}

static bool has_bf16(void)
{
#if defined(__ARM_FEATURE_BF16)
    return 1;
#else
    return 0;
#endif
}
#endif

const struct measure_sequence measure_machine_sequences[] = {
    {"fmla", "4 floats at once, multiplied and added", MEASURE_F32, 0, 16 * 4, has_simd, fmla},
    {"bfmmla", "16 products of bf16, summed in 4 floats", MEASURE_BF16, 0, 16 * 16, has_bf16, bfmmla},
    {"smmla", "32 products of 8 bits, summed in 4 integers (I8MM)", MEASURE_INT8, 8, 16 * 32, has_i8mm, smmla},
    {"sdot", "16 products of 8 bits, summed in 4 integers (DotProd)", MEASURE_INT8, 8, 16 * 16, has_dot, sdot},
};
const uint32_t measure_machine_sequence_count = sizeof(measure_machine_sequences) / sizeof(*measure_machine_sequences);
#elif !defined(__x86_64__)
const struct measure_sequence measure_machine_sequences[1] = {{0}};
const uint32_t measure_machine_sequence_count = 0;
#endif
