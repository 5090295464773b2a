/* SPDX-License-Identifier: Apache-2.0 */
/* [TEST]: memory for the rounded rows of the most tokens serves steps with fewer, at every ISA and with every type.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plugins/cpu/operators/operators.h"

#define ROWS_MOST 200u

static uint64_t bytes_for(const struct cpu_device *device, uint32_t type, uint32_t variant, uint64_t rows,
                          uint64_t width)
{
    const struct sdk_tensor x = {.type = ACCEL_F32, .rows = rows, .width = width};
    const struct sdk_tensor w = {.type = type, .rows = 64, .width = width};
    const struct sdk_call call = {.inputs = {&x, &w}, .device = device, .variant = variant};
    uint32_t format;

    return cpu_matmul_act(&call, &format);
}

static void fewer_rows_fit(void **state)
{
    static const uint64_t widths[] = {32, 64, 576, 2048};

    (void)state;
    for (uint32_t isa = 0; isa < CPU_ISA_COUNT; isa++) {
        struct cpu_device device;

        cpu_kernels_fill(&device.kernels, isa);
        for (uint32_t t = 0; t < CPU_TYPES; t++) {
            const uint32_t type = cpu_type_at(t), weight = (uint32_t)cpu_weight_of(type);

            for (uint32_t i = 0; i < 2 * sizeof(widths) / sizeof(widths[0]); i++) {
                const uint32_t variant = weight | (i % 2 ? CPU_ROUNDED : 0);
                uint64_t before = 0;

                for (uint64_t rows = 1; rows <= ROWS_MOST; rows++) {
                    const uint64_t bytes = bytes_for(&device, type, variant, rows, widths[i / 2]);

                    if (bytes < before)
                        fail_msg("%s, type 0x%x, width %u: %u rows have %llu bytes, %u rows %llu", cpu_isa_name(isa),
                                 type, (unsigned)widths[i / 2], (unsigned)rows, (unsigned long long)bytes,
                                 (unsigned)rows - 1, (unsigned long long)before);
                    before = bytes;
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fewer_rows_fit)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
