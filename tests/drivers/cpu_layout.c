/* SPDX-License-Identifier: Apache-2.0 */
/* [TEST]: which types the cpu driver packs, by layout, layout_rows and instruction set. */
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

static int32_t choose(const char *layout, const char *rows, uint32_t isa, uint64_t *out_packed,
                      struct accel_error *error)
{
    const struct accel_setting settings[] = {{.name = "layout", .text = layout}, {.name = "layout_rows", .text = rows}};

    *error = (struct accel_error){0};
    return cpu_layout_choose(settings, 2, isa, out_packed, error);
}

static uint64_t packed(const char *layout, const char *rows, uint32_t isa)
{
    struct accel_error error;
    uint64_t types = 0;

    assert_int_equal(choose(layout, rows, isa, &types, &error), ACCEL_OK);
    return types;
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
    uint64_t types = 1;

    (void)state;
    for (uint32_t isa = 0; isa < CPU_ISA_COUNT; isa++) {
        assert_int_equal(packed("rows", "", isa), 0);
        assert_int_equal(packed("rows", "avx2:q2_k", isa), 0);
        assert_int_equal(packed("panels", "", isa), packable(isa));
        assert_int_equal(packed("panels", "avx2:q2_k amx:q8_0", isa), packable(isa));
        assert_int_equal(packed("auto", "", isa), packable(isa));
        assert_int_equal(packed("auto", "   ", isa), packable(isa));
    }
    assert_int_equal(cpu_layout_choose(NULL, 0, CPU_ISA_AVX2, &types, &error), ACCEL_OK);
    assert_int_equal(types, 0);
    /* An instruction set that is asked for and packs nothing contradicts panels; the best of a machine does not. */
    for (uint32_t i = 0; i < sizeof(chosen) / sizeof(*chosen); i++) {
        const struct accel_setting settings[] = {{.name = "layout", .text = "panels"}, chosen[i]};

        assert_int_equal(cpu_layout_choose(settings, 2, CPU_ISA_SCALAR, &types, &error), codes[i]);
        assert_int_equal(codes[i] != ACCEL_OK, strstr(error.text, "cpu.isa=scalar has no packed weights") != NULL);
    }
}

static void rows_for_types_of_an_isa(void **state)
{
    static const char words[] = "avx2:q2_k  AVX2:none";
    struct accel_error error;
    uint64_t types;

    (void)state;
    for (uint32_t isa = 0; isa < CPU_ISA_COUNT; isa++) {
        const uint64_t all = packable(isa);

        assert_int_equal(packed("auto", "avx2:q2_k avx2:Q6_K avx512:q4_g128", isa),
                         isa == CPU_ISA_AVX2     ? all & ~bit(ACCEL_Q2_K) & ~bit(ACCEL_Q6_K)
                         : isa == CPU_ISA_AVX512 ? all & ~bit(ACCEL_Q4_G128)
                                                 : all);
    }
    assert_int_equal(choose("auto", words, CPU_ISA_AVX2, &types, &error), ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "\"AVX2:none\": there is no such instruction set"));
}

/* A word that names nothing is refused whatever layout is set, with the word and a remedy. */
static void words_that_are_refused(void **state)
{
    static const struct {
        const char *words, *text;
    } cases[] = {
        {"q2_k", "\"q2_k\": no instruction set and type with ':' between them"},
        {"avx:q2_k", "\"avx:q2_k\": there is no such instruction set"},
        {":q2_k", "\":q2_k\": there is no such instruction set"},
        {"avx2:", "\"avx2:\": there is no such type"},
        {"avx2:q2_k amx:q4_0x", "\"amx:q4_0x\": there is no such type"},
        {"avx2:q2_k,q3_k", "\"avx2:q2_k,q3_k\": there is no such type"},
        {"avx2:a_name_that_is_longer_than_any_type_has", "there is no such type"},
        {"avx2:iq4_xs", "\"avx2:iq4_xs\": weights of this type are not packed for this instruction set"},
        {"neon:q4_0", "\"neon:q4_0\": weights of this type are not packed for this instruction set"},
        {"scalar:q4_0", "weights of this type are not packed"},
        {"avx2:q4_g64", "weights of this type are not packed"},
    };
    static const char *const layouts[] = {"auto", "rows", "panels"};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (size_t l = 0; l < 3; l++) {
            struct accel_error error;
            uint64_t types;

            assert_int_equal(choose(layouts[l], cases[i].words, CPU_ISA_AVX2, &types, &error), ACCEL_E_INVALID);
            assert_int_equal(error.origin, ACCEL_FROM_SETTING);
            assert_non_null(strstr(error.text, "cpu.layout_rows"));
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
        cmocka_unit_test(words_that_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
