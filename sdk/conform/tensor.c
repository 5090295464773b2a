/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/tensor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLANE_ALIGNMENT 64u /* alignment of a plane's first byte */

#define BLOCK_VALUES 256u    /* of the largest block */
#define HALF_EXPONENT 0x400u /* unit of the exponent of a half */

void conform_add_types(struct conform_list *list, const char *group, void (*run)(struct conform *conform))
{
    struct accel_format format;
    uint32_t type;

    for (uint32_t i = 0; (type = accel_format_type(i)) != ACCEL_TYPE_NONE; i++) {
        accel_format_describe(type, &format);
        conform_add(list, CONFORM_DEVICE, type, run, "%s/%s", group, format.name);
    }
}

uint64_t conform_block(uint32_t type)
{
    struct accel_format format;

    return accel_format_describe(type, &format) == ACCEL_OK ? format.block_values : 1;
}

/* Writes the scale of a block, a half, at its offset in the layout. */
static void set_scale(uint32_t type, uint16_t scale, uint8_t *block, uint32_t bytes)
{
    if (type != ACCEL_IQ1_M) {
        memcpy(type == ACCEL_TQ1_0 || type == ACCEL_TQ2_0 ? block + bytes - 2 : block, &scale, sizeof(scale));
        return;
    }
    /* It is spread over the upper nibbles of four bytes of scales, least significant nibble first. */
    for (uint32_t i = 0; i < 4; i++) {
        uint8_t *byte = block + bytes - 8 + 2 * i + 1;

        *byte = (uint8_t)((*byte & 15u) | (scale >> (4 * i) & 15u) << 4);
    }
}

/* Returns the mean square of the values of a block. */
static double mean_square(const struct accel_format *format, const uint8_t *block)
{
    const void *planes[ACCEL_FORMAT_PLANES] = {block};
    float values[BLOCK_VALUES];
    double sum = 0;

    accel_format_decode(format->type, planes, format->block_values, values);
    for (uint32_t i = 0; i < format->block_values; i++)
        sum += (double)values[i] * (double)values[i];
    return sum / format->block_values;
}

/* Generates a block of a type that has no encoder: random codes, and a scale near 1/64, or the power of two of that
 * with which its mean square is at most 1, as tolerances assume. */
static void random_block(struct conform *conform, const struct accel_format *format, uint8_t *block)
{
    const uint32_t type = format->type, bytes = format->plane_bytes[0];
    uint16_t scale = (uint16_t)(0x2000u + conform_below(conform, 0x400u));

    for (uint32_t i = 0; i < bytes; i++)
        block[i] = (uint8_t)conform_below(conform, 256);
    if (type == ACCEL_NVFP4) {
        for (uint32_t g = 0; g < 4; g++)
            block[g] = (uint8_t)(0x08u + conform_below(conform, 0x10u));
        return;
    }
    set_scale(type, scale, block, bytes);
    for (; scale > HALF_EXPONENT && mean_square(format, block) > 1; set_scale(type, scale, block, bytes))
        scale = (uint16_t)(scale - HALF_EXPONENT);
}

static void make_row(struct conform *conform, const struct conform_tensor *tensor, void *const *planes)
{
    float *values = conform_floats(conform, tensor->width);
    uint32_t bytes = tensor->format.plane_bytes[0];

    if (accel_format_encode(tensor->format.type, values, tensor->width, planes) != ACCEL_OK)
        for (uint64_t b = 0; b < tensor->width / tensor->format.block_values; b++)
            random_block(conform, &tensor->format, (uint8_t *)planes[0] + b * bytes);
    free(values);
}

/* ---- guarded memory ---- */

/* Returns the bytes of whole pages that hold a plane. */
static size_t plane_space(uint64_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (size_t)((bytes + PLANE_ALIGNMENT + page - 1) / page * page);
}

static char *plane_pages(void *plane, uint64_t bytes)
{
    return (char *)plane + (bytes + PLANE_ALIGNMENT - 1) / PLANE_ALIGNMENT * PLANE_ALIGNMENT - plane_space(bytes);
}

static void *make_plane(struct conform *conform, uint64_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), space = plane_space(bytes);
    char *pages = mmap(NULL, space + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED) {
        conform_fail(conform, "no memory for %llu bytes of the kit's own", (unsigned long long)bytes);
        conform_end(conform);
    }
    mprotect(pages + space, page, PROT_NONE);
    return pages + space - (bytes + PLANE_ALIGNMENT - 1) / PLANE_ALIGNMENT * PLANE_ALIGNMENT;
}

void conform_tensor_protect(const struct conform_tensor *tensor)
{
    for (uint32_t p = 0; p < tensor->format.planes; p++)
        mprotect(plane_pages(tensor->planes[p], tensor->bytes[p]), plane_space(tensor->bytes[p]), PROT_READ);
}

/* ---- tensors ---- */

/* Generates the values of the first `exact` rows. */
static void make(struct conform *conform, uint32_t type, uint64_t rows, uint64_t width, uint64_t exact,
                 struct conform_tensor *tensor)
{
    size_t stride[ACCEL_FORMAT_PLANES] = {0};

    memset(tensor, 0, sizeof(*tensor));
    tensor->rows = rows;
    tensor->width = width;
    accel_format_describe(type, &tensor->format);
    for (uint32_t p = 0; p < tensor->format.planes; p++) {
        accel_format_row_bytes(type, p, width, &stride[p]);
        tensor->bytes[p] = rows * stride[p];
        tensor->planes[p] = make_plane(conform, tensor->bytes[p]);
    }
    tensor->exact = conform_memory(conform, exact * width, sizeof(float));
    for (uint64_t r = 0; r < rows; r++) {
        void *at[ACCEL_FORMAT_PLANES] = {NULL};

        for (uint32_t p = 0; p < tensor->format.planes; p++) {
            at[p] = (char *)tensor->planes[p] + r * stride[p];
            if (r >= CONFORM_DISTINCT)
                memcpy(at[p], (char *)tensor->planes[p] + r % CONFORM_DISTINCT * stride[p], stride[p]);
        }
        if (r < CONFORM_DISTINCT)
            make_row(conform, tensor, at);
        if (r < exact)
            accel_format_decode(type, (const void *const *)at, width, tensor->exact + r * width);
    }
}

void conform_tensor_make(struct conform *conform, uint32_t type, uint64_t rows, uint64_t width,
                         struct conform_tensor *tensor)
{
    make(conform, type, rows, width, rows, tensor);
}

void conform_tensor_make_tall(struct conform *conform, uint32_t type, uint64_t rows, uint64_t width,
                              struct conform_tensor *tensor)
{
    make(conform, type, rows, width, rows < CONFORM_DISTINCT ? rows : CONFORM_DISTINCT, tensor);
}

void conform_tensor_free(struct conform_tensor *tensor)
{
    for (uint32_t p = 0; p < ACCEL_FORMAT_PLANES; p++)
        if (tensor->planes[p] != NULL)
            munmap(plane_pages(tensor->planes[p], tensor->bytes[p]),
                   plane_space(tensor->bytes[p]) + (size_t)sysconf(_SC_PAGESIZE));
    free(tensor->exact);
    memset(tensor, 0, sizeof(*tensor));
}
