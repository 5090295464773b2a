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

#define CLASS_OF_WEIGHT(bits) ((bits) == 32 ? ACCEL_CLASS_F32 : (bits) == 16 ? ACCEL_CLASS_HALF : ACCEL_CLASS_BLOCK)
#define CLASS_OF_ELEMENT(type) ((type) == ACCEL_I32 ? ACCEL_CLASS_I32 : ACCEL_CLASS_REST)

static const struct type_row type_rows[] = {
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, ...) {ACCEL_##ID, values, bytes, CLASS_OF_WEIGHT(bits), #name},
#define ACCEL_ELEMENT(ID, name, id, values, bytes, ...)                                                                \
    {ACCEL_##ID, values, bytes, CLASS_OF_ELEMENT(ACCEL_##ID), #name},
#include <accel/quant/formats.def>
};

/* Planar formats of every group, and the groups. */
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
static const uint32_t planar_groups[] = {
#define ACCEL_PLANAR_GROUP(log2_group) log2_group,
#include <accel/quant/formats.def>
};

/* Finds the format of a planar id, and its group; `*out_group` is 0 for the whole row. */
static const struct planar_row *find_planar(uint32_t type, uint32_t *out_group)
{
    *out_group = ACCEL_PLANAR_LOG2_GROUP(type) ? 1u << ACCEL_PLANAR_LOG2_GROUP(type) : 0;
    for (size_t g = 0; g < sizeof(planar_groups) / sizeof(planar_groups[0]); g++)
        for (size_t i = 0; i < sizeof(planar_rows) / sizeof(planar_rows[0]); i++)
            if (ACCEL_PLANAR(planar_rows[i].bits, planar_groups[g], planar_rows[i].scheme) == type)
                return &planar_rows[i];
    return NULL;
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
    const struct planar_row *planar;
    uint32_t group;

    if (row) {
        *out_layout = (struct accel_type_layout){row->block_values, 1, row->type_class, {row->block_bytes}, {0}};
        return true;
    }
    planar = find_planar(type, &group);
    if (!planar)
        return false;
    *out_layout = (struct accel_type_layout){group ? group : 32, planar->planes, ACCEL_CLASS_BLOCK, {0}, {0}};
    out_layout->plane_bytes[0] = out_layout->block_values / 8 * planar->bits;
    /* Adds a scale of two bytes, and a zero point if the scheme has one: per group, or per row. */
    uint32_t *of_group = group ? out_layout->plane_bytes : out_layout->row_bytes;
    of_group[1] = 2;
    of_group[2] = planar->zero_bytes;
    if (planar->codebook_bytes)
        out_layout->row_bytes[2] = planar->codebook_bytes;
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

static void name_planar(const struct planar_row *planar, uint32_t group, char text[ACCEL_TYPE_TEXT])
{
    if (group)
        snprintf(text, ACCEL_TYPE_TEXT, "%s%u_g%u%s", planar->start, planar->bits, group, planar->end);
    else
        snprintf(text, ACCEL_TYPE_TEXT, "%s%u_row%s", planar->start, planar->bits, planar->end);
}

const char *accel_type_text(uint32_t type, char text[ACCEL_TYPE_TEXT])
{
    uint32_t group;
    const struct type_row *row = find_row(type);
    const struct planar_row *planar = find_planar(type, &group);

    if (row)
        snprintf(text, ACCEL_TYPE_TEXT, "%s", row->name);
    else if (planar)
        name_planar(planar, group, text);
    else
        snprintf(text, ACCEL_TYPE_TEXT, "type 0x%x", type);
    return text;
}
