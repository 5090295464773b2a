/* SPDX-License-Identifier: Apache-2.0 */
/* The registry: a table for scalars and interleaved blocks, arithmetic on the id for planar formats. */
#include <accel/quant/format.h>

#include <stdio.h>
#include <string.h>

struct row {
    uint32_t type;
    uint32_t kind;
    uint32_t values;
    uint32_t bytes;
    uint32_t digit_bits;
    char name[8];
};

static const struct row rows[] = {
    {ACCEL_F32, ACCEL_FORMAT_SCALAR, 1, 4, 32, "f32"},
    {ACCEL_F16, ACCEL_FORMAT_SCALAR, 1, 2, 16, "f16"},
    {ACCEL_BF16, ACCEL_FORMAT_SCALAR, 1, 2, 16, "bf16"},
    {ACCEL_F64, ACCEL_FORMAT_SCALAR, 1, 8, 64, "f64"},
    {ACCEL_I8, ACCEL_FORMAT_SCALAR, 1, 1, 8, "i8"},
    {ACCEL_I16, ACCEL_FORMAT_SCALAR, 1, 2, 16, "i16"},
    {ACCEL_I32, ACCEL_FORMAT_SCALAR, 1, 4, 32, "i32"},
    {ACCEL_I64, ACCEL_FORMAT_SCALAR, 1, 8, 64, "i64"},
    {ACCEL_U8, ACCEL_FORMAT_SCALAR, 1, 1, 8, "u8"},
    {ACCEL_BOOL, ACCEL_FORMAT_SCALAR, 1, 1, 8, "bool"},
    {ACCEL_Q4_0, ACCEL_FORMAT_INTERLEAVED, 32, 18, 4, "q4_0"},
    {ACCEL_Q4_1, ACCEL_FORMAT_INTERLEAVED, 32, 20, 4, "q4_1"},
    {ACCEL_Q5_0, ACCEL_FORMAT_INTERLEAVED, 32, 22, 5, "q5_0"},
    {ACCEL_Q5_1, ACCEL_FORMAT_INTERLEAVED, 32, 24, 5, "q5_1"},
    {ACCEL_Q8_0, ACCEL_FORMAT_INTERLEAVED, 32, 34, 8, "q8_0"},
    {ACCEL_Q2_K, ACCEL_FORMAT_INTERLEAVED, 256, 84, 2, "q2_k"},
    {ACCEL_Q3_K, ACCEL_FORMAT_INTERLEAVED, 256, 110, 3, "q3_k"},
    {ACCEL_Q4_K, ACCEL_FORMAT_INTERLEAVED, 256, 144, 4, "q4_k"},
    {ACCEL_Q5_K, ACCEL_FORMAT_INTERLEAVED, 256, 176, 5, "q5_k"},
    {ACCEL_Q6_K, ACCEL_FORMAT_INTERLEAVED, 256, 210, 6, "q6_k"},
    {ACCEL_IQ4_NL, ACCEL_FORMAT_INTERLEAVED, 32, 18, 4, "iq4_nl"},
    {ACCEL_IQ4_XS, ACCEL_FORMAT_INTERLEAVED, 256, 136, 4, "iq4_xs"},
    {ACCEL_IQ2_XXS, ACCEL_FORMAT_INTERLEAVED, 256, 66, 2, "iq2_xxs"},
    {ACCEL_IQ2_XS, ACCEL_FORMAT_INTERLEAVED, 256, 74, 2, "iq2_xs"},
    {ACCEL_IQ3_XXS, ACCEL_FORMAT_INTERLEAVED, 256, 98, 3, "iq3_xxs"},
    {ACCEL_IQ1_S, ACCEL_FORMAT_INTERLEAVED, 256, 50, 1, "iq1_s"},
    {ACCEL_IQ3_S, ACCEL_FORMAT_INTERLEAVED, 256, 110, 3, "iq3_s"},
    {ACCEL_IQ2_S, ACCEL_FORMAT_INTERLEAVED, 256, 82, 2, "iq2_s"},
    {ACCEL_IQ1_M, ACCEL_FORMAT_INTERLEAVED, 256, 56, 1, "iq1_m"},
    {ACCEL_TQ1_0, ACCEL_FORMAT_INTERLEAVED, 256, 54, 2, "tq1_0"},
    {ACCEL_TQ2_0, ACCEL_FORMAT_INTERLEAVED, 256, 66, 2, "tq2_0"},
    {ACCEL_MXFP4, ACCEL_FORMAT_INTERLEAVED, 32, 17, 4, "mxfp4"},
};

static const uint32_t planar_bits[] = {2, 3, 4, 8};
#define GROUP_LOW 5u  /* log2 of the smallest group */
#define GROUP_HIGH 9u /* log2 of the largest group */

static void finish(struct accel_format *format)
{
    uint32_t bytes = 0;
    for (uint32_t p = 0; p < format->planes; p++)
        bytes += format->plane_bytes[p];
    format->bits_per_value = 8.0 * bytes / format->block_values;
}

/* Writes the planar format of an id; false when bits, group or scheme are none. */
static int describe_planar(uint32_t type, struct accel_format *out)
{
    uint32_t bits = type >> 8 & 0xffu, log2_group = type >> 4 & 0xfu, scheme = type & 0xfu;
    int known = 0;
    for (size_t i = 0; i < sizeof(planar_bits) / sizeof(planar_bits[0]); i++)
        known |= planar_bits[i] == bits;
    if (!known || log2_group < GROUP_LOW || log2_group > GROUP_HIGH || scheme > ACCEL_SCHEME_ASYMMETRIC ||
        type != ACCEL_PLANAR(bits, log2_group, scheme))
        return 0;
    uint32_t group = 1u << log2_group;
    *out = (struct accel_format){.type = type, .kind = ACCEL_FORMAT_PLANAR, .block_values = group, .digit_bits = bits};
    out->planes = scheme == ACCEL_SCHEME_ASYMMETRIC ? 3 : 2;
    out->plane_bytes[0] = group / 8 * bits;
    out->plane_bytes[1] = 2;
    out->plane_bytes[2] = scheme == ACCEL_SCHEME_ASYMMETRIC ? 1 : 0;
    snprintf(out->name, sizeof(out->name), "q%u_g%u%s", bits, group, scheme == ACCEL_SCHEME_ASYMMETRIC ? "a" : "");
    finish(out);
    return 1;
}

int32_t accel_format_describe(uint32_t type, struct accel_format *out_format)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].type != type)
            continue;
        *out_format = (struct accel_format){.type = type,
                                            .kind = rows[i].kind,
                                            .block_values = rows[i].values,
                                            .planes = 1,
                                            .plane_bytes = {rows[i].bytes},
                                            .digit_bits = rows[i].digit_bits};
        memcpy(out_format->name, rows[i].name, sizeof(rows[i].name));
        finish(out_format);
        return ACCEL_OK;
    }
    struct accel_format planar;
    if (!describe_planar(type, &planar))
        return ACCEL_E_UNSUPPORTED;
    *out_format = planar;
    return ACCEL_OK;
}

/* Compares without the locale: names are ASCII. */
static int same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char x = *a >= 'A' && *a <= 'Z' ? (char)(*a + 32) : *a;
        char y = *b >= 'A' && *b <= 'Z' ? (char)(*b + 32) : *b;
        if (x != y)
            return 0;
    }
    return *a == *b;
}

uint32_t accel_format_find(const char *name)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (same_name(rows[i].name, name))
            return rows[i].type;
    }
    size_t kinds = sizeof(planar_bits) / sizeof(planar_bits[0]) * (GROUP_HIGH - GROUP_LOW + 1) * 2;
    for (uint32_t i = 0; i < kinds; i++) {
        uint32_t group = GROUP_LOW + i / 2 % (GROUP_HIGH - GROUP_LOW + 1);
        uint32_t bits = planar_bits[i / 2 / (GROUP_HIGH - GROUP_LOW + 1)];
        struct accel_format format;
        if (describe_planar(ACCEL_PLANAR(bits, group, i % 2), &format) && same_name(format.name, name))
            return format.type;
    }
    return ACCEL_TYPE_NONE;
}

int32_t accel_format_row_bytes(uint32_t type, uint32_t plane, size_t values, size_t *out_bytes)
{
    struct accel_format format;
    int32_t code = accel_format_describe(type, &format);
    if (code != ACCEL_OK)
        return code;
    if (plane >= format.planes || values % format.block_values != 0)
        return ACCEL_E_INVALID;
    size_t blocks = values / format.block_values;
    if (blocks > SIZE_MAX / format.plane_bytes[plane])
        return ACCEL_E_LIMIT;
    *out_bytes = blocks * format.plane_bytes[plane];
    return ACCEL_OK;
}
