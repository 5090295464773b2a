/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/graph/types.h"

#include <stddef.h>
#include <stdio.h>

#include "core/base/checked.h"

struct type_row {
    uint32_t type;
    uint32_t block_values;
    uint32_t block_bytes;
    uint32_t type_class;
    const char *name;
};

static const struct type_row type_rows[] = {
    {ACCEL_F32, 1, 4, ACCEL_CLASS_F32, "f32"},
    {ACCEL_F16, 1, 2, ACCEL_CLASS_HALF, "f16"},
    {ACCEL_BF16, 1, 2, ACCEL_CLASS_HALF, "bf16"},
    {ACCEL_F64, 1, 8, ACCEL_CLASS_REST, "f64"},
    {ACCEL_I8, 1, 1, ACCEL_CLASS_REST, "i8"},
    {ACCEL_I16, 1, 2, ACCEL_CLASS_REST, "i16"},
    {ACCEL_I32, 1, 4, ACCEL_CLASS_I32, "i32"},
    {ACCEL_I64, 1, 8, ACCEL_CLASS_REST, "i64"},
    {ACCEL_U8, 1, 1, ACCEL_CLASS_REST, "u8"},
    {ACCEL_BOOL, 1, 1, ACCEL_CLASS_REST, "bool"},
    {ACCEL_Q4_0, 32, 18, ACCEL_CLASS_BLOCK, "q4_0"},
    {ACCEL_Q4_1, 32, 20, ACCEL_CLASS_BLOCK, "q4_1"},
    {ACCEL_Q5_0, 32, 22, ACCEL_CLASS_BLOCK, "q5_0"},
    {ACCEL_Q5_1, 32, 24, ACCEL_CLASS_BLOCK, "q5_1"},
    {ACCEL_Q8_0, 32, 34, ACCEL_CLASS_BLOCK, "q8_0"},
    {ACCEL_Q2_K, 256, 84, ACCEL_CLASS_BLOCK, "q2_k"},
    {ACCEL_Q3_K, 256, 110, ACCEL_CLASS_BLOCK, "q3_k"},
    {ACCEL_Q4_K, 256, 144, ACCEL_CLASS_BLOCK, "q4_k"},
    {ACCEL_Q5_K, 256, 176, ACCEL_CLASS_BLOCK, "q5_k"},
    {ACCEL_Q6_K, 256, 210, ACCEL_CLASS_BLOCK, "q6_k"},
    {ACCEL_IQ4_NL, 32, 18, ACCEL_CLASS_BLOCK, "iq4_nl"},
    {ACCEL_IQ4_XS, 256, 136, ACCEL_CLASS_BLOCK, "iq4_xs"},
    {ACCEL_IQ2_XXS, 256, 66, ACCEL_CLASS_BLOCK, "iq2_xxs"},
    {ACCEL_IQ2_XS, 256, 74, ACCEL_CLASS_BLOCK, "iq2_xs"},
    {ACCEL_IQ3_XXS, 256, 98, ACCEL_CLASS_BLOCK, "iq3_xxs"},
    {ACCEL_IQ1_S, 256, 50, ACCEL_CLASS_BLOCK, "iq1_s"},
    {ACCEL_IQ3_S, 256, 110, ACCEL_CLASS_BLOCK, "iq3_s"},
    {ACCEL_IQ2_S, 256, 82, ACCEL_CLASS_BLOCK, "iq2_s"},
    {ACCEL_IQ1_M, 256, 56, ACCEL_CLASS_BLOCK, "iq1_m"},
    {ACCEL_TQ1_0, 256, 54, ACCEL_CLASS_BLOCK, "tq1_0"},
    {ACCEL_TQ2_0, 256, 66, ACCEL_CLASS_BLOCK, "tq2_0"},
    {ACCEL_MXFP4, 32, 17, ACCEL_CLASS_BLOCK, "mxfp4"},
};

/** Fields of a planar id. */
struct planar {
    uint32_t bits;
    uint32_t group; /* 0: the whole row */
    uint32_t scheme;
};

static bool split_planar(uint32_t type, struct planar *out)
{
    uint32_t bits = ACCEL_PLANAR_BITS(type), log2_group = ACCEL_PLANAR_LOG2_GROUP(type),
             scheme = ACCEL_PLANAR_SCHEME(type);
    if (!ACCEL_IS_PLANAR(type) || (log2_group != 0 && log2_group < 5) || log2_group > 9 ||
        scheme > ACCEL_SCHEME_CODEBOOK)
        return false;
    if (bits != 4 && (scheme >= ACCEL_SCHEME_NF4 || (bits != 2 && bits != 3 && bits != 8)))
        return false;
    *out = (struct planar){bits, log2_group ? 1u << log2_group : 0, scheme};
    return true;
}

static const struct type_row *find_row(uint32_t type)
{
    for (size_t i = 0; i < sizeof(type_rows) / sizeof(type_rows[0]); i++)
        if (type_rows[i].type == type)
            return &type_rows[i];
    return NULL;
}

bool accel_type_describe(uint32_t type, struct accel_type_layout *out_layout)
{
    const struct type_row *row = find_row(type);
    struct planar planar;
    struct accel_type_layout *layout = out_layout;
    if (row) {
        *layout = (struct accel_type_layout){row->block_values, 1, row->type_class, {row->block_bytes}, {0}};
        return true;
    }
    if (!split_planar(type, &planar))
        return false;
    *layout = (struct accel_type_layout){planar.group ? planar.group : 32, 2, ACCEL_CLASS_BLOCK, {0}, {0}};
    layout->plane_bytes[0] = layout->block_values / 8 * planar.bits;
    /* Adds a scale of two bytes, and for asymmetric schemes a zero point of one byte: per group, or per row. */
    uint32_t *of_group = planar.group ? layout->plane_bytes : layout->row_bytes;
    of_group[1] = 2;
    of_group[2] = planar.scheme == ACCEL_SCHEME_ASYMMETRIC;
    if (planar.scheme == ACCEL_SCHEME_CODEBOOK)
        layout->row_bytes[2] = 16 * 2;
    layout->planes += planar.scheme == ACCEL_SCHEME_ASYMMETRIC || planar.scheme == ACCEL_SCHEME_CODEBOOK;
    return true;
}

bool accel_type_plane_bytes(const struct accel_type_layout *layout, uint32_t plane, uint64_t rows, uint64_t width,
                            uint64_t *out_bytes)
{
    uint64_t row;
    return plane < layout->planes && width % layout->block_values == 0 &&
           accel_mul_u64(width / layout->block_values, layout->plane_bytes[plane], &row) &&
           accel_add_u64(row, layout->row_bytes[plane], &row) && accel_mul_u64(rows, row, out_bytes);
}

bool accel_type_bytes(const struct accel_type_layout *layout, uint64_t rows, uint64_t width, uint64_t *out_bytes)
{
    uint64_t sum = 0, plane;
    for (uint32_t p = 0; p < layout->planes; p++)
        if (!accel_type_plane_bytes(layout, p, rows, width, &plane) || !accel_add_u64(sum, plane, &sum))
            return false;
    *out_bytes = sum;
    return true;
}

static void name_planar(const struct planar *planar, char text[ACCEL_TYPE_TEXT])
{
    static const char *const starts[] = {"q", "q", "nf", "c"};
    const char *end = planar->scheme == ACCEL_SCHEME_ASYMMETRIC ? "a" : "";
    if (planar->group)
        snprintf(text, ACCEL_TYPE_TEXT, "%s%u_g%u%s", starts[planar->scheme], planar->bits, planar->group, end);
    else
        snprintf(text, ACCEL_TYPE_TEXT, "%s%u_row%s", starts[planar->scheme], planar->bits, end);
}

const char *accel_type_text(uint32_t type, char text[ACCEL_TYPE_TEXT])
{
    const struct type_row *row = find_row(type);
    struct planar planar;
    if (row)
        snprintf(text, ACCEL_TYPE_TEXT, "%s", row->name);
    else if (split_planar(type, &planar))
        name_planar(&planar, text);
    else
        snprintf(text, ACCEL_TYPE_TEXT, "type 0x%x", type);
    return text;
}
