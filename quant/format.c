/* SPDX-License-Identifier: Apache-2.0 */
/* Registry of formats: the rows of formats.def. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <accel/quant/format.h>

struct row {
    uint32_t type;
    uint32_t values;
    uint32_t bytes;
    uint32_t digit_bits;
    char name[8];
};

static const struct row rows[] = {
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, ...) {ACCEL_##ID, values, bytes, bits, #name},
#define ACCEL_ELEMENT(ID, name, id, values, bytes, bits, ...) {ACCEL_##ID, values, bytes, bits, #name},
#include <accel/quant/formats.def>
};

static const struct planar_row {
    uint32_t scheme;
    const char *start; /* of the name */
    const char *end;
    uint32_t bits;
    uint32_t planes;
    uint32_t zero_bytes;     /* per group */
    uint32_t codebook_bytes; /* per row */
} planar_rows[] = {
#define ACCEL_PLANAR_FORMAT(...) {__VA_ARGS__},
#include <accel/quant/formats.def>
};

/* log2 of the groups; 0: the whole row */
static const uint32_t planar_groups[] = {
#define ACCEL_PLANAR_GROUP(log2_group) log2_group,
#include <accel/quant/formats.def>
};

#define PACKED 32u /* values that are packed together */
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

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

static void name_planar(struct accel_format *format, const struct planar_row *row)
{
    if (format->group)
        snprintf(format->name, sizeof(format->name), "%s%u_g%u%s", row->start, row->bits & 15u, format->group & 1023u,
                 row->end);
    else
        snprintf(format->name, sizeof(format->name), "%s%u_row%s", row->start, row->bits & 15u, row->end);
}

static void describe_planar(const struct planar_row *row, uint32_t log2_group, struct accel_format *out)
{
    *out = (struct accel_format){.type = ACCEL_PLANAR(row->bits, log2_group, row->scheme),
                                 .kind = ACCEL_FORMAT_PLANAR,
                                 .planes = row->planes,
                                 .digit_bits = row->bits};
    out->group = log2_group ? 1u << log2_group : 0;
    out->block_values = log2_group ? out->group : PACKED;
    out->plane_bytes[0] = out->block_values / 8 * row->bits;
    /* Data per group is data per row if the row is the group. */
    uint32_t *of_group = log2_group ? out->plane_bytes : out->row_bytes;
    of_group[1] = 2;
    of_group[2] = row->zero_bytes;
    if (row->codebook_bytes)
        out->row_bytes[2] = row->codebook_bytes;
    name_planar(out, row);
    finish(out);
}

/* Writes the planar format of an id; false for unknown bits, group or scheme. */
static bool find_planar(uint32_t type, struct accel_format *out)
{
    for (size_t i = 0; i < COUNT(planar_rows); i++) {
        for (size_t g = 0; g < COUNT(planar_groups); g++) {
            if (ACCEL_PLANAR(planar_rows[i].bits, planar_groups[g], planar_rows[i].scheme) != type)
                continue;
            describe_planar(&planar_rows[i], planar_groups[g], out);
            return true;
        }
    }
    return false;
}

int32_t accel_format_describe(uint32_t type, struct accel_format *out_format)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (rows[i].type != type)
            continue;
        *out_format =
            (struct accel_format){.type = type,
                                  .kind = rows[i].values == 1 ? ACCEL_FORMAT_SCALAR : ACCEL_FORMAT_INTERLEAVED,
                                  .block_values = rows[i].values,
                                  .planes = 1,
                                  .plane_bytes = {rows[i].bytes},
                                  .digit_bits = rows[i].digit_bits};
        memcpy(out_format->name, rows[i].name, sizeof(rows[i].name));
        finish(out_format);
        return ACCEL_OK;
    }
    return find_planar(type, out_format) ? ACCEL_OK : ACCEL_E_UNSUPPORTED;
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
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (same_name(rows[i].name, name))
            return rows[i].type;
    }
    for (size_t i = 0; i < COUNT(planar_rows); i++) {
        for (size_t g = 0; g < COUNT(planar_groups); g++) {
            struct accel_format format;
            describe_planar(&planar_rows[i], planar_groups[g], &format);
            if (same_name(format.name, name))
                return format.type;
        }
    }
    return ACCEL_TYPE_NONE;
}

uint32_t accel_format_type(uint32_t index)
{
    static const uint32_t types[] = {
#define ACCEL_FORMAT(ID, ...) ACCEL_##ID,
#include <accel/quant/formats.def>
    };
    const struct planar_row *row;
    if (index < COUNT(types))
        return types[index];
    index -= COUNT(types);
    if (index >= COUNT(planar_rows) * COUNT(planar_groups))
        return ACCEL_TYPE_NONE;
    row = &planar_rows[index / COUNT(planar_groups)];
    return ACCEL_PLANAR(row->bits, planar_groups[index % COUNT(planar_groups)], row->scheme);
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
    uint32_t largest = 0;
    for (size_t g = 0; format.group != 0 && g < COUNT(planar_groups); g++) {
        const uint32_t log2_group = planar_groups[g], group = 1u << log2_group;
        if (log2_group > largest && group < format.group && width % group == 0)
            largest = log2_group;
    }
    return largest ? ACCEL_PLANAR(format.digit_bits, largest, ACCEL_PLANAR_SCHEME(type)) : ACCEL_F16;
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
