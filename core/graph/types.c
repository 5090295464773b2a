/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/graph/types.h"

#include <stddef.h>
#include <stdio.h>

struct type_row {
    uint32_t type;
    struct accel_type_layout layout;
    const char *name;
};

static const struct type_row type_rows[] = {
    {ACCEL_F32, {1, 4, 1, ACCEL_CLASS_F32}, "f32"},
    {ACCEL_F16, {1, 2, 1, ACCEL_CLASS_HALF}, "f16"},
    {ACCEL_BF16, {1, 2, 1, ACCEL_CLASS_HALF}, "bf16"},
    {ACCEL_F64, {1, 8, 1, ACCEL_CLASS_REST}, "f64"},
    {ACCEL_I8, {1, 1, 1, ACCEL_CLASS_REST}, "i8"},
    {ACCEL_I16, {1, 2, 1, ACCEL_CLASS_REST}, "i16"},
    {ACCEL_I32, {1, 4, 1, ACCEL_CLASS_I32}, "i32"},
    {ACCEL_I64, {1, 8, 1, ACCEL_CLASS_REST}, "i64"},
    {ACCEL_U8, {1, 1, 1, ACCEL_CLASS_REST}, "u8"},
    {ACCEL_BOOL, {1, 1, 1, ACCEL_CLASS_REST}, "bool"},
    {ACCEL_Q4_0, {32, 18, 1, ACCEL_CLASS_BLOCK}, "q4_0"},
    {ACCEL_Q4_1, {32, 20, 1, ACCEL_CLASS_BLOCK}, "q4_1"},
    {ACCEL_Q5_0, {32, 22, 1, ACCEL_CLASS_BLOCK}, "q5_0"},
    {ACCEL_Q5_1, {32, 24, 1, ACCEL_CLASS_BLOCK}, "q5_1"},
    {ACCEL_Q8_0, {32, 34, 1, ACCEL_CLASS_BLOCK}, "q8_0"},
    {ACCEL_Q2_K, {256, 84, 1, ACCEL_CLASS_BLOCK}, "q2_k"},
    {ACCEL_Q3_K, {256, 110, 1, ACCEL_CLASS_BLOCK}, "q3_k"},
    {ACCEL_Q4_K, {256, 144, 1, ACCEL_CLASS_BLOCK}, "q4_k"},
    {ACCEL_Q5_K, {256, 176, 1, ACCEL_CLASS_BLOCK}, "q5_k"},
    {ACCEL_Q6_K, {256, 210, 1, ACCEL_CLASS_BLOCK}, "q6_k"},
    {ACCEL_IQ4_NL, {32, 18, 1, ACCEL_CLASS_BLOCK}, "iq4_nl"},
    {ACCEL_IQ4_XS, {256, 136, 1, ACCEL_CLASS_BLOCK}, "iq4_xs"},
    {ACCEL_IQ2_XXS, {256, 66, 1, ACCEL_CLASS_BLOCK}, "iq2_xxs"},
    {ACCEL_IQ2_XS, {256, 74, 1, ACCEL_CLASS_BLOCK}, "iq2_xs"},
    {ACCEL_IQ3_XXS, {256, 98, 1, ACCEL_CLASS_BLOCK}, "iq3_xxs"},
    {ACCEL_IQ1_S, {256, 50, 1, ACCEL_CLASS_BLOCK}, "iq1_s"},
    {ACCEL_IQ3_S, {256, 110, 1, ACCEL_CLASS_BLOCK}, "iq3_s"},
    {ACCEL_IQ2_S, {256, 82, 1, ACCEL_CLASS_BLOCK}, "iq2_s"},
    {ACCEL_IQ1_M, {256, 56, 1, ACCEL_CLASS_BLOCK}, "iq1_m"},
    {ACCEL_TQ1_0, {256, 54, 1, ACCEL_CLASS_BLOCK}, "tq1_0"},
    {ACCEL_TQ2_0, {256, 66, 1, ACCEL_CLASS_BLOCK}, "tq2_0"},
    {ACCEL_MXFP4, {32, 17, 1, ACCEL_CLASS_BLOCK}, "mxfp4"},
};

/** The parts of a planar id. */
struct planar {
    uint32_t bits;
    uint32_t group;
    uint32_t scheme;
};

static bool split_planar(uint32_t type, struct planar *out)
{
    uint32_t bits = type >> 8 & 0xffu, log2_group = type >> 4 & 0xfu, scheme = type & 0xfu;
    if (type >> 16 != 1 || log2_group < 5 || log2_group > 9 || scheme > ACCEL_SCHEME_ASYMMETRIC)
        return false;
    if (bits != 2 && bits != 3 && bits != 4 && bits != 8)
        return false;
    *out = (struct planar){bits, 1u << log2_group, scheme};
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
    if (row) {
        *out_layout = row->layout;
        return true;
    }
    if (!split_planar(type, &planar))
        return false;
    /* Digits without padding, a scale of two bytes, and for asymmetric schemes a zero point of one byte. */
    *out_layout = (struct accel_type_layout){planar.group, planar.group / 8 * planar.bits + 2 + planar.scheme,
                                             2 + planar.scheme, ACCEL_CLASS_BLOCK};
    return true;
}

const char *accel_type_text(uint32_t type, char text[ACCEL_TYPE_TEXT])
{
    const struct type_row *row = find_row(type);
    struct planar planar;
    if (row)
        snprintf(text, ACCEL_TYPE_TEXT, "%s", row->name);
    else if (split_planar(type, &planar))
        snprintf(text, ACCEL_TYPE_TEXT, "q%u_g%u%s", planar.bits, planar.group, planar.scheme ? "a" : "");
    else
        snprintf(text, ACCEL_TYPE_TEXT, "type 0x%x", type);
    return text;
}
