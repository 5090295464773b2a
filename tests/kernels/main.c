/* SPDX-License-Identifier: Apache-2.0 */
/*
 * [TEST]: every kernel of one ISA, or one test of them: guarded memory, odd sizes, edges. Of an ISA that adds
 * kernels to another one those alone. Exits with 77 if the machine lacks the ISA.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#define EXIT_SKIP 77

/* Returns whether the ISA under test can run here. */
static int usable(struct tables *tables)
{
#ifdef KERNELS_EMULATED
    /* The ISA of the replacements. */
    const uint32_t needed = KERNELS_EMULATED;
#else
    const uint32_t needed = KERNELS_ISA;
#endif
    const char *reason = cpu_isa_why_unavailable(needed);
    if (reason != NULL) {
        printf("skipped: %s: %s\n", cpu_isa_name(needed), reason);
        return 0;
    }
    cpu_kernels_fill(&tables->kernels, KERNELS_ISA);
    cpu_kernels_fill(&tables->twins, CPU_ISA_SCALAR);
    tables->is_sampled = needed != KERNELS_ISA && getenv("ACCEL_TEST_ALL") == NULL;
    return 1;
}

/* Every slot is filled, and no vector ISA falls back to another one. */
static void test_table(void **state)
{
    const struct tables *tables = *state;
    const int scalar = KERNELS_ISA == CPU_ISA_SCALAR;
    const int is_x86 = KERNELS_ISA < CPU_ISA_NEON;
    assert_int_equal(tables->kernels.isa, KERNELS_ISA);
#define CPU_KERNEL(type, place, name)                                                                                  \
    assert_true(tables->kernels.place != NULL);                                                                        \
    assert_true((tables->kernels.place == tables->twins.place) == scalar);
#define CPU_VECTOR(type, place, name)                                                                                  \
    assert_true(scalar || tables->kernels.place != NULL);                                                              \
    assert_true(scalar || tables->kernels.place != tables->twins.place);
#define CPU_PACKED(type, place, name) assert_true((tables->kernels.place != NULL) == (is_x86 && !scalar));
#include "plugins/cpu/kernels/kernels.def"
    for (uint32_t family = 0; family < CPU_PRODUCTS; family++)
        assert_true(tables->kernels.product[family][CPU_F32] == NULL || family == CPU_SCALAR32 ||
                    family == CPU_GEMV32 || family == CPU_GEMM32);
}

/* Returns the ISA that `isa` extends without replacing all of its kernels, or `isa`. */
static uint32_t family_of(uint32_t isa)
{
    if (isa == CPU_ISA_AVXVNNI)
        return CPU_ISA_AVX2;
    return isa == CPU_ISA_AVX512BF16 || isa == CPU_ISA_AMX ? CPU_ISA_AVX512 : isa;
}

/* Tests that ISAs of one family differ in the kernels that one of them adds. */
static void check_added(const struct tables *tables, const struct cpu_kernels *other)
{
    if (family_of(other->isa) == CPU_ISA_AVX2) {
#define CPU_KERNEL(type, place, name)
#define CPU_KERNEL8(type, place, name) assert_true(tables->kernels.place != other->place);
#include "plugins/cpu/kernels/kernels.def"
        return;
    }
    assert_true(tables->kernels.product[CPU_GEMM16][CPU_BF16] != other->product[CPU_GEMM16][CPU_BF16]);
    if (KERNELS_ISA != CPU_ISA_AMX && other->isa != CPU_ISA_AMX)
        return;
#define CPU_KERNEL(type, place, name)
#define CPU_KERNEL16(type, place, name) assert_true(tables->kernels.place != other->place);
#include "plugins/cpu/kernels/kernels.def"
}

/* Tests that an ISA has the kernels of its family but for those that it adds: their tests are those of the family. */
static void test_shared(void **state)
{
    const struct tables *tables = *state;
    struct cpu_kernels family;
    cpu_kernels_fill(&family, family_of(KERNELS_ISA));
    if (family.isa != family_of(KERNELS_ISA))
        skip();
#define CPU_KERNEL(type, place, name) assert_true(tables->kernels.place == family.place);
#define CPU_KERNEL8(type, place, name)                                                                                 \
    assert_true(                                                                                                       \
        (tables->kernels.place == family.place) ==                                                                     \
        (KERNELS_ISA != CPU_ISA_AVXVNNI && (KERNELS_ISA != CPU_ISA_AMX || strncmp(#name, "gemm8_row_", 10) != 0)));
#include "plugins/cpu/kernels/kernels.def"
}

/* An ISA has its own kernels: none is that of an ISA of another family. */
static void test_own(void **state)
{
    const struct tables *tables = *state;
    for (uint32_t isa = CPU_ISA_AVX2; isa < CPU_ISA_COUNT; isa++) {
        struct cpu_kernels other;
        cpu_kernels_fill(&other, isa);
        if (other.isa == KERNELS_ISA || other.isa == CPU_ISA_SCALAR)
            continue;
        if (family_of(other.isa) == family_of(KERNELS_ISA)) {
            check_added(tables, &other);
            continue;
        }
#define CPU_KERNEL(type, place, name) assert_true(tables->kernels.place != other.place);
#define CPU_VECTOR(type, place, name)                                                                                  \
    assert_true(tables->kernels.place == NULL || tables->kernels.place != other.place);
#include "plugins/cpu/kernels/kernels.def"
    }
}

static void test_names(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CPU_ISA_COUNT; i++) {
        for (uint32_t j = 0; j < i; j++)
            assert_string_not_equal(cpu_isa_name(i), cpu_isa_name(j));
    }
    assert_string_equal(cpu_isa_name(CPU_ISA_COUNT), "unknown");
    assert_null(cpu_isa_why_unavailable(CPU_ISA_SCALAR));
    assert_null(cpu_isa_why_unavailable(cpu_isa_detect()));
    /* No machine has ISAs of two families. */
    assert_true(cpu_isa_why_unavailable(CPU_ISA_AVX2) != NULL || cpu_isa_why_unavailable(CPU_ISA_NEON) != NULL);
    assert_non_null(cpu_isa_why_unavailable(CPU_ISA_COUNT));
}

static void test_types(void **state)
{
    (void)state;
    for (int i = 0; i < (int)CPU_TYPES; i++) {
        const int weight = cpu_weight_of(cpu_type_at((uint32_t)i));
        assert_int_equal(i < CPU_PLANAR ? weight : weight >= CPU_PLANAR, i < CPU_PLANAR ? i : 1);
        assert_true(weight < CPU_WEIGHTS);
    }
    for (uint32_t i = 0; i < CPU_TYPES; i++) {
        for (uint32_t j = 0; j < i; j++)
            assert_int_not_equal(cpu_type_at(i), cpu_type_at(j));
    }
    assert_int_equal(cpu_type_at(CPU_TYPES), ACCEL_TYPE_NONE);
    assert_int_equal(cpu_weight_of(ACCEL_PLANAR(5u, 5u, 0u)), -1);
    assert_int_equal(cpu_weight_of(ACCEL_I32), -1);
}

#define TEST(function)                                                                                                 \
    {                                                                                                                  \
#function, function, NULL, NULL, &tables                                                                       \
    }

int main(int argc, char **argv)
{
    static struct tables tables;
    if (!usable(&tables))
        return EXIT_SKIP;
    const struct CMUnitTest tests[] = {
        TEST(test_table),
        TEST(test_own),
        TEST(test_names),
        TEST(test_types),
        TEST(test_matmul),
        TEST(test_matmul8),
        TEST(test_matmul8_rows),
        TEST(test_matmul_alias),
        TEST(test_embed),
        TEST(test_quantize),
        TEST(test_norms),
        TEST(test_softmax),
        TEST(test_argmax),
        TEST(test_rotary),
        TEST(test_functions),
        TEST(test_gate),
        TEST(test_binary),
        TEST(test_cache_write),
        TEST(test_attention),
        TEST(test_attention_pages),
        TEST(test_attention_f16),
        TEST(test_attention_planar),
        TEST(test_attention_groups),
        TEST(test_attention_sinks),
        TEST(test_attention_eager),
        TEST(test_attention_score_sums),
        TEST(test_attention_blocks),
        TEST(test_cache_write_planar),
        TEST(test_matmul_few),
        TEST(test_matmul8_few),
        TEST(test_matmul16),
        TEST(test_panels),
        TEST(test_round16),
    };
    const struct CMUnitTest added[] = {
        TEST(test_table),    TEST(test_shared),  TEST(test_own),          TEST(test_names),
        TEST(test_types),    TEST(test_matmul8), TEST(test_matmul_alias), TEST(test_matmul8_few),
        TEST(test_matmul16), TEST(test_panels),  TEST(test_round16),      TEST(test_matmul8_rows),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    if (family_of(KERNELS_ISA) != KERNELS_ISA)
        return cmocka_run_group_tests_name(cpu_isa_name(KERNELS_ISA), added, NULL, NULL);
    return cmocka_run_group_tests_name(cpu_isa_name(KERNELS_ISA), tests, NULL, NULL);
}
