/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction sequences of x86-64 in assembly, since compilers spilled accumulators of intrinsics or removed
 * products, which halved the measured rate. Registers 0 to 11 are accumulators; 12 is scratch, 13 holds ones, 14
 * and 15 the factors. All factors are zero, which is as fast as any number, except in tiles: those hold numbers,
 * with which they are slower by a fifth. */
#include "config.h"

#include "tools/measure/sequences.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdbool.h>
#if defined(HAVE_AMX) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* Repeats `one` for each of twelve accumulators. */
#define TWELVE(one)                                                                                                    \
    one("0") one("1") one("2") one("3") one("4") one("5") one("6") one("7") one("8") one("9") one("10") one("11")
#define CLOBBERED                                                                                                      \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",         \
        "xmm13", "xmm14", "xmm15", "cc"

/* Defines a function that runs `body` `turns` times; VEX forms clear the upper parts of registers. */
#define SEQUENCE(name, body)                                                                                           \
    static void name(uint64_t turns)                                                                                   \
    {                                                                                                                  \
        __asm__ volatile("vpxor %%xmm13, %%xmm13, %%xmm13\n"                                                           \
                         "vpxor %%xmm14, %%xmm14, %%xmm14\n"                                                           \
                         "vpxor %%xmm15, %%xmm15, %%xmm15\n"                                                           \
                         ".p2align 5\n"                                                                                \
                         "1:\n" body "dec %0\n"                                                                        \
                         "jnz 1b\n"                                                                                    \
                         "vzeroupper\n"                                                                                \
                         : "+r"(turns)                                                                                 \
                         :                                                                                             \
                         : CLOBBERED);                                                                                 \
    }

#define FMA_YMM(i) "vfmadd231ps %%ymm14, %%ymm15, %%ymm" i "\n"
#define FMA_ZMM(i) "vfmadd231ps %%zmm14, %%zmm15, %%zmm" i "\n"
#define VNNI_ZMM(i) "vpdpbusd %%zmm14, %%zmm15, %%zmm" i "\n"
#define BF16_ZMM(i) "vdpbf16ps %%zmm14, %%zmm15, %%zmm" i "\n"
SEQUENCE(fma_ymm, TWELVE(FMA_YMM))

/* VEX form of vpdpbusd as bytes, since some assemblers lack its name: ymm I += ymm14 . ymm15, I < 8. */
#define AVX_VNNI(byte) ".byte 0xc4, 0xc2, 0x0d, 0x50, " byte "\n"
SEQUENCE(avx_vnni, AVX_VNNI("0xc7") AVX_VNNI("0xcf") AVX_VNNI("0xd7") AVX_VNNI("0xdf") AVX_VNNI("0xe7") AVX_VNNI("0xef")
                       AVX_VNNI("0xf7") AVX_VNNI("0xff"))

/* 8-bit products are summed in pairs in 16 bits. PRODUCTS computes four into 8 to 11; MORE adds four more to them,
 * all computed before they are added, since a processor that assigns execution units in instruction order is a
 * tenth slower if the two alternate; WIDEN converts the sums to 32 bits, and adds them to 0 to 3. */
#define PRODUCT(r, to) "vpmaddubsw %%" r "14, %%" r "15, %%" r to "\n"
#define PRODUCTS(r) PRODUCT(r, "8") PRODUCT(r, "9") PRODUCT(r, "10") PRODUCT(r, "11")
#define ADD(r, from, to) "vpaddw %%" r from ", %%" r to ", %%" r to "\n"
#define MORE(r)                                                                                                        \
    PRODUCT(r, "4")                                                                                                    \
    PRODUCT(r, "5")                                                                                                    \
    PRODUCT(r, "6") PRODUCT(r, "7") ADD(r, "4", "8") ADD(r, "5", "9") ADD(r, "6", "10") ADD(r, "7", "11")
#define WIDEN_ONE(r, from, to)                                                                                         \
    "vpmaddwd %%" r "13, %%" r from ", %%" r from "\nvpaddd %%" r from ", %%" r to ", %%" r to "\n"
#define WIDEN(r) WIDEN_ONE(r, "8", "0") WIDEN_ONE(r, "9", "1") WIDEN_ONE(r, "10", "2") WIDEN_ONE(r, "11", "3")
#define SUMS_2(r) PRODUCTS(r) MORE(r) WIDEN(r)
#define SUMS_4(r) PRODUCTS(r) MORE(r) MORE(r) MORE(r) WIDEN(r)
#define SUMS_8(r) PRODUCTS(r) MORE(r) MORE(r) MORE(r) MORE(r) MORE(r) MORE(r) MORE(r) WIDEN(r)
#define AT_ONCE_YMM(i) PRODUCT("ymm", "12") WIDEN_ONE("ymm", "12", i)
SEQUENCE(madd_ymm_1, TWELVE(AT_ONCE_YMM))
SEQUENCE(madd_ymm_2, SUMS_2("ymm"))
SEQUENCE(madd_ymm_4, SUMS_4("ymm"))
SEQUENCE(madd_ymm_8, SUMS_8("ymm"))

#if defined(HAVE_AVX512)
SEQUENCE(fma_zmm, TWELVE(FMA_ZMM))
SEQUENCE(vnni_zmm, TWELVE(VNNI_ZMM))
#define AT_ONCE_ZMM(i) PRODUCT("zmm", "12") WIDEN_ONE("zmm", "12", i)
SEQUENCE(madd_zmm_1, TWELVE(AT_ONCE_ZMM))
SEQUENCE(madd_zmm_8, SUMS_8("zmm"))
#endif
#if defined(HAVE_AVX512BF16)
SEQUENCE(bf16_zmm, TWELVE(BF16_ZMM))
#endif

#if defined(HAVE_AMX) && defined(__linux__)
/* Multiplies with four tiles of accumulators and two of factors on each side, as a GEMM does. Tiles hold BF16 numbers
 * between 0.5 and 1 of either sign, or the same bits as bytes. */
#define TILES(name, dot)                                                                                               \
    static void name(uint64_t turns)                                                                                   \
    {                                                                                                                  \
        struct {                                                                                                       \
            uint8_t palette, rest[15];                                                                                 \
            uint16_t row_bytes[16];                                                                                    \
            uint8_t rows[16];                                                                                          \
        } shapes = {.palette = 1};                                                                                     \
        uint16_t numbers[16 * 32];                                                                                     \
                                                                                                                       \
        for (int t = 0; t < 8; t++) {                                                                                  \
            shapes.row_bytes[t] = 64;                                                                                  \
            shapes.rows[t] = 16;                                                                                       \
        }                                                                                                              \
        for (uint32_t i = 0, number = 1; i < 16 * 32; i++, number = number * 1103515245u + 12345u)                     \
            numbers[i] = (uint16_t)(0x3f00u | (number >> 16 & 0x807fu));                                               \
        __asm__ volatile("ldtilecfg %1\n"                                                                              \
                         "tilezero %%tmm0\ntilezero %%tmm1\ntilezero %%tmm2\ntilezero %%tmm3\n"                        \
                         "tileloadd (%2, %3), %%tmm4\ntileloadd (%2, %3), %%tmm5\n"                                    \
                         "tileloadd (%2, %3), %%tmm6\ntileloadd (%2, %3), %%tmm7\n"                                    \
                         ".p2align 5\n"                                                                                \
                         "1:\n" dot " %%tmm6, %%tmm4, %%tmm0\n" dot " %%tmm7, %%tmm4, %%tmm1\n" dot                    \
                         " %%tmm6, %%tmm5, %%tmm2\n" dot " %%tmm7, %%tmm5, %%tmm3\n"                                   \
                         "dec %0\n"                                                                                    \
                         "jnz 1b\n"                                                                                    \
                         "tilerelease\n"                                                                               \
                         : "+r"(turns)                                                                                 \
                         : "m"(shapes), "r"(numbers), "r"((uint64_t)64)                                                \
                         : "memory", "cc");                                                                            \
    }
TILES(bf16_tiles, "tdpbf16ps")
TILES(byte_tiles, "tdpbssd")
#endif

/* ---- detection ---- */

/* Returns the register state that the system saves (XCR0). */
static uint32_t saved_state(void)
{
    uint32_t a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return 0;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a;
}

/* Returns a bit of a word of CPUID leaf 7; false if the state that `needed` names is not saved. */
static bool has_bit(uint32_t subleaf, uint32_t needed, uint32_t word, uint32_t bit)
{
    uint32_t words[4] = {0};

    if ((saved_state() & needed) == needed)
        (void)__get_cpuid_count(7, subleaf, &words[0], &words[1], &words[2], &words[3]);
    return words[word] >> bit & 1u;
}

#define STATE_YMM 0x06u
#define STATE_ZMM 0xe6u

#define HAS(name, subleaf, needed, word, bit)                                                                          \
    static bool has_##name(void)                                                                                       \
    {                                                                                                                  \
        return has_bit(subleaf, needed, word, bit);                                                                    \
    }
HAS(avx2, 0, STATE_YMM, 1, 5)
HAS(avx_vnni, 1, STATE_YMM, 0, 4)
#if defined(HAVE_AVX512)
HAS(avx512f, 0, STATE_ZMM, 1, 16)
HAS(avx512bw, 0, STATE_ZMM, 1, 30)
HAS(avx512vnni, 0, STATE_ZMM, 2, 11)
#endif
#if defined(HAVE_AVX512BF16)
HAS(avx512bf16, 1, STATE_ZMM, 0, 5)
#endif

static bool has_fma(void)
{
    uint32_t a, b, c = 0, d;

    return has_avx2() && __get_cpuid(1, &a, &b, &c, &d) && (c >> 12 & 1u);
}

#if defined(HAVE_AMX) && defined(__linux__)
#define STATE_TILES 0x600e6u

/* Linux grants the use of AMX once per process, and answers yes again if it has been granted. */
static bool has_amx(void)
{
    const long request_permission = 0x1023, tile_data = 18;

    return has_bit(0, STATE_TILES, 3, 24) && has_bit(0, STATE_TILES, 3, 22) && has_bit(0, STATE_TILES, 3, 25) &&
           syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
#endif

/*
 * Bits of codes: a product of unsigned b bits with 8 signed bits, two of them summed, is at most 2 (2^b - 1) 127; n of
 * these fit 16 bits up to 32767. 8 bits are multiplied as magnitudes of at most 127 with the sign on the other side,
 * and that sign is left out of the count.
 */
const struct measure_sequence measure_machine_sequences[] = {
#if defined(HAVE_AVX512)
    {"fma zmm", "16 floats at once, multiplied and added", MEASURE_F32, 0, 12 * 16, has_avx512f, fma_zmm},
#endif
    {"fma ymm", "8 floats at once, multiplied and added", MEASURE_F32, 0, 12 * 8, has_fma, fma_ymm},
#if defined(HAVE_AVX512BF16)
    {"vdpbf16ps zmm", "32 products of bf16, summed in 16 floats", MEASURE_BF16, 0, 12 * 32, has_avx512bf16, bf16_zmm},
#endif
#if defined(HAVE_AMX) && defined(__linux__)
    {"tdpbf16ps", "16 x 16 x 32 products of bf16, summed in a tile of 16 x 16 floats (AMX)", MEASURE_BF16, 0,
     4 * 16 * 16 * 32, has_amx, bf16_tiles},
    {"tdpbssd", "16 x 16 x 64 products of 8 bits, summed in a tile of 16 x 16 integers (AMX)", MEASURE_INT8_ROW, 8,
     4 * 16 * 16 * 64, has_amx, byte_tiles},
#endif
#if defined(HAVE_AVX512)
    {"vpdpbusd zmm", "64 products of 8 bits, summed in 16 integers (VNNI)", MEASURE_INT8, 8, 12 * 64, has_avx512vnni,
     vnni_zmm},
    {"maddubs zmm", "64 products of 8 bits, widened to 32 bits at once", MEASURE_INT8, 8, 12 * 64, has_avx512bw,
     madd_zmm_1},
    {"maddubs zmm x8", "64 products of 4 with 8 bits, widened after 8 sums in 16 bits", MEASURE_INT8, 4, 4 * 8 * 64,
     has_avx512bw, madd_zmm_8},
#endif
    {"vpdpbusd ymm", "32 products of 8 bits, summed in 8 integers (AVX-VNNI)", MEASURE_INT8, 8, 8 * 32, has_avx_vnni,
     avx_vnni},
    {"maddubs ymm", "32 products of 8 bits, widened to 32 bits at once", MEASURE_INT8, 8, 12 * 32, has_avx2,
     madd_ymm_1},
    {"maddubs ymm x2", "32 products of 6 with 8 bits, widened after 2 sums in 16 bits", MEASURE_INT8, 6, 4 * 2 * 32,
     has_avx2, madd_ymm_2},
    {"maddubs ymm x4", "32 products of 5 with 8 bits, widened after 4 sums in 16 bits", MEASURE_INT8, 5, 4 * 4 * 32,
     has_avx2, madd_ymm_4},
    {"maddubs ymm x8", "32 products of 4 with 8 bits, widened after 8 sums in 16 bits", MEASURE_INT8, 4, 4 * 8 * 32,
     has_avx2, madd_ymm_8},
};
const uint32_t measure_machine_sequence_count = sizeof(measure_machine_sequences) / sizeof(*measure_machine_sequences);
#endif
