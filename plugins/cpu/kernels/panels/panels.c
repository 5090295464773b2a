/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of weights to panels, and back. */
#include "config.h"

#include "panels.h"

#include <string.h>

#define TOGETHER 4u /* rows that are made of a panel for kernels that want rows */
#define ROW_MOST (CPU_PANEL_VALUES / 32 * 34)

struct panel_form cpu_panel_form(uint32_t type)
{
    static const struct {
        uint32_t type;
        struct panel_form form;
    } forms[] = {
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

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (forms[i].type == type)
            return forms[i].form;
    return (struct panel_form){0};
}

static size_t row_bytes(const struct panel_form *form, size_t k)
{
    return k / form->block_values * form->block_bytes;
}

static size_t scales_bytes(const struct panel_form *form, size_t k)
{
    return form->planar == 0 ? 0 : k / form->planar * 2;
}

size_t cpu_panel_bytes(const struct panel_form *form, size_t k)
{
    return (row_bytes(form, k) + scales_bytes(form, k)) * PANEL_ROWS;
}

size_t cpu_panels_bytes(uint32_t level, uint32_t type, size_t n, size_t k)
{
    const struct panel_form form = cpu_panel_form(type);
    const size_t group = form.planar > form.block_values ? form.planar : form.block_values;

    if (level < CPU_LEVEL_AVX512 || level > CPU_LEVEL_AMX || form.block_values == 0)
        return 0;
    if (n == 0 || n % PANEL_ROWS != 0 || k == 0 || k % group != 0 || k > CPU_PANEL_VALUES)
        return 0;
    return n / PANEL_ROWS * cpu_panel_bytes(&form, k);
}

/* ---- a block ---- */

static void put_block(const struct panel_form *form, const uint8_t *block, size_t row, uint8_t *out)
{
    const uint32_t flip = form->flip * 0x01010101u;
    uint32_t at = 0;

    if (form->half_at != PANEL_NO_HALF) {
        memcpy(out + 2 * row, block + form->half_at, 2);
        out += PANEL_HALF;
        at = form->half_at == 0 ? 2 : 0;
    }
    for (out += 4 * row; at + 4 <= form->block_bytes; at += 4, out += PANEL_WORD) {
        uint32_t word;

        memcpy(&word, block + at, sizeof(word));
        word ^= flip;
        memcpy(out, &word, sizeof(word));
    }
}

/* Four vectors of one word of four rows each to a vector of each row, and back. */
typedef uint32_t four_words __attribute__((vector_size(16)));

static inline void turn(four_words v[4])
{
    const four_words a = __builtin_shuffle(v[0], v[1], (four_words){0, 4, 1, 5});
    const four_words b = __builtin_shuffle(v[0], v[1], (four_words){2, 6, 3, 7});
    const four_words c = __builtin_shuffle(v[2], v[3], (four_words){0, 4, 1, 5});
    const four_words d = __builtin_shuffle(v[2], v[3], (four_words){2, 6, 3, 7});

    v[0] = __builtin_shuffle(a, c, (four_words){0, 1, 4, 5});
    v[1] = __builtin_shuffle(a, c, (four_words){2, 3, 6, 7});
    v[2] = __builtin_shuffle(b, d, (four_words){0, 1, 4, 5});
    v[3] = __builtin_shuffle(b, d, (four_words){2, 3, 6, 7});
}

/* One block of rows first .. first + count, both multiples of 4, which are `stride` bytes apart: words four at a time,
 * the rest alone. */
static void take_block(const struct panel_form *form, const uint8_t *from, size_t first, size_t count, uint8_t *out,
                       size_t stride)
{
    const uint32_t flip = form->flip * 0x01010101u;
    uint32_t at = 0;

    if (form->half_at != PANEL_NO_HALF) {
        for (size_t r = 0; r < count; r++)
            memcpy(out + r * stride + form->half_at, from + 2 * (first + r), 2);
        from += PANEL_HALF;
        at = form->half_at == 0 ? 2 : 0;
    }
    from += 4 * first;
    for (; at + 16 <= form->block_bytes; at += 16, from += 4 * PANEL_WORD) {
        for (size_t r = 0; r < count; r += 4) {
            four_words v[4];

            for (size_t c = 0; c < 4; c++)
                memcpy(&v[c], from + c * PANEL_WORD + 4 * r, sizeof(v[c]));
            turn(v);
            for (size_t c = 0; c < 4; c++) {
                v[c] ^= flip;
                memcpy(out + (r + c) * stride + at, &v[c], sizeof(v[c]));
            }
        }
    }
    for (; at + 4 <= form->block_bytes; at += 4, from += PANEL_WORD) {
        for (size_t r = 0; r < count; r++) {
            uint32_t word;

            memcpy(&word, from + 4 * r, sizeof(word));
            word ^= flip;
            memcpy(out + r * stride + at, &word, sizeof(word));
        }
    }
}

/* ---- panels ---- */

void cpu_panels_make(const struct cpu_matrix *w, size_t k, size_t begin, size_t end, void *out)
{
    const struct panel_form form = cpu_panel_form(w->type);
    const size_t bytes = cpu_panel_bytes(&form, k), blocks = k / form.block_values;

    for (size_t row = begin; row < end; row++) {
        const uint8_t *from = (const uint8_t *)w->plane[0] + row * w->stride[0];
        uint8_t *panel = (uint8_t *)out + row / PANEL_ROWS * bytes;
        uint8_t *scales = panel + cpu_panel_scales_at(&form, k) + row % PANEL_ROWS * 2;

        for (size_t b = 0; b < blocks; b++)
            put_block(&form, from + b * form.block_bytes, row % PANEL_ROWS, panel + b * form.block_bytes * PANEL_ROWS);
        for (size_t g = 0; form.planar != 0 && g < k / form.planar; g++)
            memcpy(scales + g * PANEL_HALF, (const uint8_t *)w->plane[1] + row * w->stride[1] + 2 * g, 2);
    }
}

void cpu_panel_rows(const struct cpu_matrix *w, size_t k, size_t row, size_t rows, size_t at, size_t count,
                    const struct cpu_matrix *out)
{
    const struct panel_form form = cpu_panel_form(w->type);
    const uint8_t *panel = (const uint8_t *)w->panels + row / PANEL_ROWS * cpu_panel_bytes(&form, k);
    const uint8_t *scales = panel + cpu_panel_scales_at(&form, k);
    const size_t first = at / form.block_values, lane = row % PANEL_ROWS;
    uint8_t *digits = (uint8_t *)(uintptr_t)out->plane[0], *halves = (uint8_t *)(uintptr_t)out->plane[1];

    for (size_t b = 0; b < count / form.block_values; b++)
        take_block(&form, panel + (first + b) * form.block_bytes * PANEL_ROWS, lane, rows,
                   digits + b * form.block_bytes, out->stride[0]);
    for (size_t g = 0; form.planar != 0 && g * form.planar < count; g++)
        for (size_t r = 0; r < rows; r++)
            memcpy(halves + r * out->stride[1] + 2 * g, scales + (at / form.planar + g) * PANEL_HALF + 2 * (lane + r),
                   2);
}

void cpu_panels_by_rows(cpu_matmul_fn *matmul, const struct cpu_matmul *call, size_t begin, size_t end)
{
    const struct panel_form form = cpu_panel_form(call->w.type);
    uint8_t digits[TOGETHER * ROW_MOST], halves[TOGETHER * CPU_PANEL_VALUES / 16];
    struct cpu_matmul part = *call;

    part.n = TOGETHER;
    part.w.panels = NULL;
    part.w.plane[0] = digits;
    part.w.stride[0] = row_bytes(&form, call->k);
    part.w.plane[1] = halves;
    part.w.stride[1] = scales_bytes(&form, call->k);
    for (size_t j = begin; j < end; j += TOGETHER) {
        cpu_panel_rows(&call->w, call->k, j, TOGETHER, 0, call->k, &part.w);
        part.y = call->y + j;
        part.bias = call->bias == NULL ? NULL : call->bias + j;
        part.residual = call->residual == NULL ? NULL : call->residual + j;
        matmul(&part, 0, TOGETHER);
    }
}
