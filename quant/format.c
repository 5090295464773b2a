/* SPDX-License-Identifier: Apache-2.0 */
/* Registry of formats: a table for scalars and interleaved blocks, arithmetic on the id for planar formats. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <accel/quant/format.h>

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
#define PACKED 32u    /* values that are packed together */
#define SCHEMES 4u

/*
 * Quantiles of the normal distribution, scaled to [-1, 1] and with an exact zero: the constants of Dettmers et al.,
 * QLoRA: Efficient Finetuning of Quantized LLMs (2023), appendix E, as binary32.
 */
const float accel_format_nf4[16] = {
    -1.0f,
    -0.6961928009986877f,
    -0.5250730514526367f,
    -0.39491748809814453f,
    -0.28444138169288635f,
    -0.18477343022823334f,
    -0.09105003625154495f,
    0.0f,
    0.07958029955625534f,
    0.16093020141124725f,
    0.24611230194568634f,
    0.33791524171829224f,
    0.44070982933044434f,
    0.5626170039176941f,
    0.7229568362236023f,
    1.0f,
};

static void finish(struct accel_format *format)
{
    uint32_t bytes = 0;
    for (uint32_t p = 0; p < format->planes; p++)
        bytes += format->plane_bytes[p];
    format->bits_per_value = 8.0 * bytes / format->block_values;
}

static bool is_planar_id(uint32_t bits, uint32_t log2_group, uint32_t scheme)
{
    int known = 0;
    for (size_t i = 0; i < sizeof(planar_bits) / sizeof(planar_bits[0]); i++)
        known |= planar_bits[i] == bits;
    return known && (log2_group == 0 || (log2_group >= GROUP_LOW && log2_group <= GROUP_HIGH)) && scheme < SCHEMES &&
           (scheme < ACCEL_SCHEME_NF4 || bits == 4);
}

static void name_planar(struct accel_format *format, uint32_t scheme)
{
    static const char *const starts[SCHEMES] = {"q", "q", "nf", "c"};
    const char *end = scheme == ACCEL_SCHEME_ASYMMETRIC ? "a" : "";
    if (format->group)
        snprintf(format->name, sizeof(format->name), "%s%u_g%u%s", starts[scheme], format->digit_bits & 15u,
                 format->group & 1023u, end);
    else
        snprintf(format->name, sizeof(format->name), "%s%u_row%s", starts[scheme], format->digit_bits & 15u, end);
}

/* Writes the planar format of an id; returns 0 for unknown bits, group or scheme. */
static bool describe_planar(uint32_t type, struct accel_format *out)
{
    uint32_t bits = ACCEL_PLANAR_BITS(type), log2_group = ACCEL_PLANAR_LOG2_GROUP(type),
             scheme = ACCEL_PLANAR_SCHEME(type);
    if (type != ACCEL_PLANAR(bits, log2_group, scheme) || !is_planar_id(bits, log2_group, scheme))
        return false;
    *out = (struct accel_format){.type = type, .kind = ACCEL_FORMAT_PLANAR, .digit_bits = bits};
    out->group = log2_group ? 1u << log2_group : 0;
    out->block_values = log2_group ? out->group : PACKED;
    out->planes = scheme == ACCEL_SCHEME_ASYMMETRIC || scheme == ACCEL_SCHEME_CODEBOOK ? 3 : 2;
    out->plane_bytes[0] = out->block_values / 8 * bits;
    /* Data per group is data per row if the row is the group. */
    uint32_t *of_group = log2_group ? out->plane_bytes : out->row_bytes;
    of_group[1] = 2;
    of_group[2] = scheme == ACCEL_SCHEME_ASYMMETRIC ? 1 : 0;
    if (scheme == ACCEL_SCHEME_CODEBOOK)
        out->row_bytes[2] = 16 * 2;
    name_planar(out, scheme);
    finish(out);
    return true;
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
static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char x = *a >= 'A' && *a <= 'Z' ? (char)(*a + 32) : *a;
        char y = *b >= 'A' && *b <= 'Z' ? (char)(*b + 32) : *b;
        if (x != y)
            return false;
    }
    return *a == *b;
}

uint32_t accel_format_find(const char *name)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (same_name(rows[i].name, name))
            return rows[i].type;
    }
    for (uint32_t i = 0; i < sizeof(planar_bits) / sizeof(planar_bits[0]) * SCHEMES; i++) {
        for (uint32_t log2_group = 0; log2_group <= GROUP_HIGH; log2_group++) {
            struct accel_format format;
            if (describe_planar(ACCEL_PLANAR(planar_bits[i / SCHEMES], log2_group, i % SCHEMES), &format) &&
                same_name(format.name, name))
                return format.type;
        }
    }
    return ACCEL_TYPE_NONE;
}

double accel_format_bits(uint32_t type, size_t width)
{
    struct accel_format format;
    double row = 0;
    if (width == 0 || accel_format_describe(type, &format) != ACCEL_OK || width % format.block_values != 0)
        return 0;
    for (uint32_t p = 0; p < format.planes; p++)
        row += format.row_bytes[p];
    return format.bits_per_value + 8.0 * row / (double)width;
}

uint32_t accel_format_narrow(uint32_t type, size_t width)
{
    struct accel_format format;
    if (accel_format_describe(type, &format) != ACCEL_OK)
        return ACCEL_F16;
    if (width % format.block_values == 0)
        return type;
    for (uint32_t log2_group = GROUP_HIGH; format.group != 0 && log2_group >= GROUP_LOW; log2_group--)
        if (1u << log2_group < format.group && width % (1u << log2_group) == 0)
            return ACCEL_PLANAR(format.digit_bits, log2_group, ACCEL_PLANAR_SCHEME(type));
    return ACCEL_F16;
}

int32_t accel_format_row_bytes(uint32_t type, uint32_t plane, size_t values, size_t *out_bytes)
{
    struct accel_format format;
    int32_t code = accel_format_describe(type, &format);
    if (code != ACCEL_OK)
        return code;
    if (plane >= format.planes || values % format.block_values != 0)
        return ACCEL_E_INVALID;
    size_t blocks = values / format.block_values, each = format.plane_bytes[plane];
    if (each > 0 && blocks > (SIZE_MAX - format.row_bytes[plane]) / each)
        return ACCEL_E_LIMIT;
    *out_bytes = blocks * each + format.row_bytes[plane];
    return ACCEL_OK;
}
