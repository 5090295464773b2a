/* SPDX-License-Identifier: Apache-2.0 */
/*
 * [TEST]: every kernel of one level, or one test of them: guarded memory, odd sizes, edges. Exits with 77 where the
 * machine lacks the level.
 */
#include "support.h"

#include <stdio.h>

#define EXIT_SKIP 77

/* True when the table of the level is the level's own. */
static int usable(struct tables *tables)
{
    uint32_t here = cpu_level_detect();
#ifdef KERNELS_EMULATED
    /* The stand-ins for 512 bits are made of AVX2. */
    if (here < CPU_LEVEL_AVX2) {
        printf("skipped: the emulation of %s needs avx2\n", cpu_level_name(KERNELS_LEVEL));
        return 0;
    }
#else
    if (here + 1 <= KERNELS_LEVEL) {
        printf("skipped: this machine has %s, not %s\n", cpu_level_name(here), cpu_level_name(KERNELS_LEVEL));
        return 0;
    }
#endif
    cpu_kernels_fill(&tables->kernels, KERNELS_LEVEL);
    cpu_kernels_fill(&tables->twins, CPU_LEVEL_SCALAR);
    if (tables->kernels.level != KERNELS_LEVEL) {
        printf("skipped: %s was not built\n", cpu_level_name(KERNELS_LEVEL));
        return 0;
    }
    return 1;
}

/* Every slot is filled and, above the twins, at least one is the level's own. */
static void test_table(void **state)
{
    const struct tables *tables = *state;
    size_t own = 0;
#define CPU_KERNEL_SCALAR(type, place, name, tile)                                                                     \
    assert_true(tables->kernels.place != NULL);                                                                        \
    own += tables->kernels.place != tables->twins.place;
#include "plugins/cpu/kernels/kernels.def"
    assert_true(KERNELS_LEVEL == CPU_LEVEL_SCALAR ? own == 0 : own > 0);
    assert_null(tables->kernels.matmul8[CPU_F32]);
    for (int i = 0; i < (int)CPU_TYPES; i++)
        assert_int_equal(cpu_weight_of(cpu_type_at((uint32_t)i)), i < CPU_PLANAR ? i : CPU_PLANAR);
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
        TEST(test_matmul),
        TEST(test_matmul8),
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
        TEST(test_cache_write_planar),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name(cpu_level_name(KERNELS_LEVEL), tests, NULL, NULL);
}
