/* SPDX-License-Identifier: Apache-2.0 */
/* Packs weights. */
#include "config.h"

#include "panels.h"

#include <string.h>

struct panel_format cpu_panel_format(uint32_t type)
{
    static const struct {
        uint32_t type;
        struct panel_format format;
    } formats[] = {
        {ACCEL_Q4_0, {32, 18, 0, 0, 0}},
        {ACCEL_Q4_1, {32, 20, PANEL_NO_HALF, 0, 0}},
        {ACCEL_Q8_0, {32, 34, 0, 0x80, 0}},
        {ACCEL_Q4_G32, {32, 16, PANEL_NO_HALF, 0, 32}},
        {ACCEL_Q4_G128, {32, 16, PANEL_NO_HALF, 0, 128}},
        {ACCEL_Q8_G32, {32, 32, PANEL_NO_HALF, 0, 32}},
        {ACCEL_Q8_G128, {32, 32, PANEL_NO_HALF, 0, 128}},
        {ACCEL_Q2_K, {256, 84, PANEL_NO_HALF, 0, 0}},
        {ACCEL_Q3_K, {256, 110, 108, 0, 0}},
        {ACCEL_Q4_K, {256, 144, PANEL_NO_HALF, 0, 0}},
        {ACCEL_Q5_K, {256, 176, PANEL_NO_HALF, 0, 0}},
        {ACCEL_Q6_K, {256, 210, 208, 0, 0}},
    };

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (formats[i].type == type)
            return formats[i].format;
    return (struct panel_format){0};
}

size_t cpu_panel_bytes(const struct panel_format *format, size_t k)
{
    return cpu_panel_scales_at(format, k) + (format->planar == 0 ? 0 : k / format->planar * PANEL_HALF);
}

size_t cpu_packed_bytes(uint32_t isa, uint32_t type, size_t n, size_t k)
{
    const struct panel_format format = cpu_panel_format(type);
    const size_t group = format.planar > format.block_values ? format.planar : format.block_values;

    if (isa < CPU_ISA_AVX2 || isa > CPU_ISA_AMX || format.block_values == 0)
        return 0;
    if (n == 0 || n % PANEL_ROWS != 0 || k == 0 || k % group != 0 || k > CPU_PANEL_VALUES)
        return 0;
    return n / PANEL_ROWS * cpu_panel_bytes(&format, k);
}

static void pack_block(uint32_t type, const struct panel_format *format, const uint8_t *block, size_t row, uint8_t *out)
{
    const uint32_t flip = format->flip * 0x01010101u;
    uint32_t at = 0;

    if (format->half_at != PANEL_NO_HALF) {
        memcpy(out + 2 * row, block + format->half_at, 2);
        out += PANEL_HALF;
        at = format->half_at == 0 ? 2 : 0;
    }
    for (size_t i = 0; at + 4 <= format->block_bytes; at += 4, i++) {
        uint32_t word;

        memcpy(&word, block + at, sizeof(word));
        word ^= flip;
        memcpy(out + cpu_panel_word(type, i) * PANEL_WORD + 4 * row, &word, sizeof(word));
    }
}

void cpu_pack_weights(const struct cpu_matrix *w, size_t k, size_t begin, size_t end, void *out)
{
    const struct panel_format format = cpu_panel_format(w->type);
    const size_t bytes = cpu_panel_bytes(&format, k), blocks = k / format.block_values;

    for (size_t row = begin; row < end; row++) {
        const uint8_t *from = (const uint8_t *)w->plane[0] + row * w->stride[0];
        uint8_t *panel = (uint8_t *)out + row / PANEL_ROWS * bytes;
        uint8_t *scales = panel + cpu_panel_scales_at(&format, k) + row % PANEL_ROWS * 2;

        for (size_t b = 0; b < blocks; b++)
            pack_block(w->type, &format, from + b * format.block_bytes, row % PANEL_ROWS,
                       panel + b * format.block_bytes * PANEL_ROWS);
        for (size_t g = 0; format.planar != 0 && g < k / format.planar; g++)
            memcpy(scales + g * PANEL_HALF, (const uint8_t *)w->plane[1] + row * w->stride[1] + 2 * g, 2);
    }
}
