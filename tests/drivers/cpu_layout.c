/* SPDX-License-Identifier: Apache-2.0 */
/* [TEST]: which types the cpu driver packs, by layout, layout_types and instruction set; in how many streams types are
 * read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/cpu/kernels/kernels.h"
#include "plugins/cpu/layout.h"

static uint64_t bit(uint32_t type)
{
    return UINT64_C(1) << cpu_weight_of(type);
}

static int32_t choose(const char *layout, const char *types, uint32_t isa, const char *vendor, struct cpu_layout *out,
                      struct accel_error *error)
{
    const struct accel_setting settings[] = {{.name = "layout", .text = layout},
                                             {.name = "layout_types", .text = types}};

    *error = (struct accel_error){0};
    return cpu_layout_choose(settings, 2, isa, vendor, out, error);
}

static uint64_t packed(const char *layout, const char *types, uint32_t isa)
{
    struct accel_error error;
    struct cpu_layout out;

    assert_int_equal(choose(layout, types, isa, "", &out, &error), ACCEL_OK);
    return out.packed;
}

/* Every type that kernels of `isa` read packed. */
static uint64_t packable(uint32_t isa)
{
    uint64_t types = 0;

    for (uint32_t i = 0; i < CPU_TYPES; i++)
        if (cpu_packed_bytes(isa, cpu_type_at(i), 16, 256) != 0)
            types |= bit(cpu_type_at(i));
    return types;
}

static void a_layout_for_all_types(void **state)
{
    static const struct accel_setting chosen[] = {
        {.name = "isa", .text = "auto"}, {.name = "isa", .text = "scalar"}, {.name = "simd", .integer = 0}};
    static const int32_t codes[] = {ACCEL_OK, ACCEL_E_UNSUPPORTED, ACCEL_E_UNSUPPORTED};
    struct accel_error error = {0};
    struct cpu_layout out = {.packed = 1};

    (void)state;
    for (uint32_t isa = 0; isa < CPU_ISA_COUNT; isa++) {
        assert_int_equal(packed("rows", "", isa), 0);
        assert_int_equal(packed("rows", "avx2:q2_k=rows", isa), 0);
        assert_int_equal(packed("panels", "", isa), packable(isa));
        assert_int_equal(packed("panels", "avx2:q2_k=rows amx:q8_0=rows", isa), packable(isa));
        assert_int_equal(packed("auto", "", isa), packable(isa));
        assert_int_equal(packed("auto", "   ", isa), packable(isa));
    }
    assert_int_equal(cpu_layout_choose(NULL, 0, CPU_ISA_AVX2, "amd", &out, &error), ACCEL_OK);
    assert_int_equal(out.packed, 0);
    assert_int_equal(out.streams[cpu_weight_of(ACCEL_Q4_0)].count, 0);
    /* An instruction set that is asked for and packs nothing contradicts panels; the best of a machine does not. */
    for (uint32_t i = 0; i < sizeof(chosen) / sizeof(*chosen); i++) {
        const struct accel_setting settings[] = {{.name = "layout", .text = "panels"}, chosen[i]};

        assert_int_equal(cpu_layout_choose(settings, 2, CPU_ISA_SCALAR, "", &out, &error), codes[i]);
        assert_int_equal(codes[i] != ACCEL_OK, strstr(error.text, "cpu.isa=scalar has no packed weights") != NULL);
    }
}

static void rows_for_types_of_an_isa(void **state)
{
    (void)state;
    for (uint32_t isa = 0; isa < CPU_ISA_COUNT; isa++) {
        const uint64_t all = packable(isa);

        assert_int_equal(packed("auto", "avx2:q2_k,Q6_K=rows  avx512:q4_g128=rows", isa),
                         isa == CPU_ISA_AVX2                           ? all & ~bit(ACCEL_Q2_K) & ~bit(ACCEL_Q6_K)
                         : isa >= CPU_ISA_AVX512 && isa <= CPU_ISA_AMX ? all & ~bit(ACCEL_Q4_G128)
                                                                       : all);
        assert_int_equal(packed("auto", "avx512@amd:q4_0=rows", isa), all);
    }
}

/* A word with a vendor is for its processors; of several about a type the last decides. */
static void streams_for_types_of_a_vendor(void **state)
{
    static const char words[] = "avx512:q4_0=4+2048 avx512@amd:q4_0,q8_0=1+256 avx512@amd:q6_k=rows avx2:f16=1+0";
    const int q4_0 = cpu_weight_of(ACCEL_Q4_0), q8_0 = cpu_weight_of(ACCEL_Q8_0), f16 = cpu_weight_of(ACCEL_F16);
    struct accel_error error;
    struct cpu_layout out;

    (void)state;
    assert_int_equal(choose("auto", words, CPU_ISA_AVX512BF16, "amd", &out, &error), ACCEL_OK);
    assert_int_equal(out.packed, packable(CPU_ISA_AVX512BF16) & ~bit(ACCEL_Q6_K));
    assert_int_equal(out.streams[q4_0].count, 1);
    assert_int_equal(out.streams[q4_0].ahead, 256);
    assert_int_equal(out.streams[q8_0].ahead, 256);
    assert_int_equal(out.streams[f16].count, 0);
    assert_int_equal(choose("panels", words, CPU_ISA_AVX512, "intel", &out, &error), ACCEL_OK);
    assert_int_equal(out.packed, packable(CPU_ISA_AVX512));
    assert_int_equal(out.streams[q4_0].count, 4);
    assert_int_equal(out.streams[q4_0].ahead, 2048);
    assert_int_equal(out.streams[q8_0].count, 0);
    assert_int_equal(choose("rows", words, CPU_ISA_AVX2, "", &out, &error), ACCEL_OK);
    assert_int_equal(out.streams[f16].count, 1);
    assert_int_equal(out.streams[f16].ahead, 0);
}

#define LONG "q4_0,q4_0,q4_0,q4_0,q4_0,q4_0,q4_0,q4_0,q4_0,q4_0,q4_0,q4_0,q4_0,q4_0,q4_0,q4_0,q4_0,q4_0,q4_0,q4_0,"

/* A word that names nothing is refused whatever layout is set, with the word and a remedy. */
static void words_that_are_refused(void **state)
{
    static const struct {
        const char *words, *text;
    } cases[] = {
        {"q2_k", "\"q2_k\": no instruction set, types and value"},
        {"avx2:q2_k", "\"avx2:q2_k\": no instruction set, types and value"},
        {"avx2=rows:q2_k", "no instruction set, types and value"},
        {"avx:q2_k=rows", "\"avx\": there is no such instruction set"},
        {":q2_k=rows", "\"\": there is no such instruction set"},
        {"avx2:=rows", "\"\": there is no such type"},
        {"avx2:q2_k=rows amx:q4_0x=rows", "\"amx:q4_0x=rows\": \"q4_0x\": there is no such type"},
        {"avx2:q2_k,=rows", "\"\": there is no such type"},
        {"avx2:a_name_that_is_longer_than_any_type_has=rows", "there is no such type"},
        {"avx2:" LONG LONG LONG "q4_0=rows", "longer than 255 characters"},
        {"avx2:iq4_xs=rows", "\"iq4_xs\": weights of this type are not packed for this instruction set"},
        {"neon:q4_0=rows", "\"q4_0\": weights of this type are not packed for this instruction set"},
        {"scalar:q4_0=rows", "weights of this type are not packed"},
        {"avx2:q4_g64=rows", "weights of this type are not packed"},
        {"avx2:f16=rows", "weights of this type are not packed"},
        {"avx512:f16=2+256",
         "\"f16\": weights of this type are not packed for this instruction set (f16 and bf16 have one stream"},
        {"avx2@via:q4_0=rows", "\"via\": there is no such vendor"},
        {"avx2@:q4_0=rows", "\"\": there is no such vendor"},
        {"avx2:q4_0=panels", "\"panels\": neither rows nor"},
        {"avx2:q4_0=5+0", "\"5+0\": neither rows nor"},
        {"avx2:q4_0=0+0", "\"0+0\": neither rows nor"},
        {"avx2:q4_0=1+4097", "\"1+4097\": neither rows nor"},
        {"avx2:q4_0=1+12x", "\"1+12x\": neither rows nor"},
        {"avx2:q4_0=-1+1", "\"-1+1\": neither rows nor"},
    };
    static const char *const layouts[] = {"auto", "rows", "panels"};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (size_t l = 0; l < 3; l++) {
            struct accel_error error;
            struct cpu_layout out;

            assert_int_equal(choose(layouts[l], cases[i].words, CPU_ISA_AVX2, "", &out, &error), ACCEL_E_INVALID);
            assert_int_equal(error.origin, ACCEL_FROM_SETTING);
            assert_non_null(strstr(error.text, "cpu.layout_types"));
            if (strstr(error.text, cases[i].text) == NULL)
                fail_msg("%s: %s", cases[i].words, error.text);
            assert_int_not_equal(error.remedy[0], '\0');
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layout_for_all_types),
        cmocka_unit_test(rows_for_types_of_an_isa),
        cmocka_unit_test(streams_for_types_of_a_vendor),
        cmocka_unit_test(words_that_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
