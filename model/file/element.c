/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file/element.h"

#include <string.h>

#include <accel/quant/format.h>

#include "model/file/checked.h"

/* Formats of accel/quant/formats.def. */
static const struct model_element elements[] = {
#define ACCEL_FORMAT(ID, name, id, values, bytes, bits, group, code, number, ...)                                      \
    {#ID, ACCEL_##ID, values, bytes, number},
#define ACCEL_ELEMENT(ID, name, id, values, bytes, bits, group, code, number, ...)                                     \
    {#ID, ACCEL_##ID, values, bytes, number},
#include <accel/quant/formats.def>
};

/* Types of GGUF files that are no format of accel. */
static const struct model_element gguf_only[] = {
    {"Q8_1", ACCEL_GGML(9u), 32, 36, 9},
    {"Q8_K", ACCEL_GGML(15u), 256, 292, 15},
};

/* Types of safetensors files that are no format of accel. Types smaller than a byte have blocks of whole bytes. */
static const struct model_element safetensors_only[] = {
    {"U16", ACCEL_TYPE_NONE, 1, 2, ACCEL_NOT_IN_GGUF},
    {"U32", ACCEL_TYPE_NONE, 1, 4, ACCEL_NOT_IN_GGUF},
    {"U64", ACCEL_TYPE_NONE, 1, 8, ACCEL_NOT_IN_GGUF},
    {"F8_E8M0", ACCEL_TYPE_NONE, 1, 1, ACCEL_NOT_IN_GGUF},
    {"F8_E4M3FNUZ", ACCEL_TYPE_NONE, 1, 1, ACCEL_NOT_IN_GGUF},
    {"F8_E5M2FNUZ", ACCEL_TYPE_NONE, 1, 1, ACCEL_NOT_IN_GGUF},
    {"C64", ACCEL_TYPE_NONE, 1, 8, ACCEL_NOT_IN_GGUF},
    {"F4", ACCEL_TYPE_NONE, 2, 1, ACCEL_NOT_IN_GGUF},
    {"F6_E2M3", ACCEL_TYPE_NONE, 4, 3, ACCEL_NOT_IN_GGUF},
    {"F6_E3M2", ACCEL_TYPE_NONE, 4, 3, ACCEL_NOT_IN_GGUF},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const struct model_element *model_element_gguf(uint32_t number)
{
    for (size_t i = 0; i < COUNT(elements); i++)
        if (elements[i].number == number && number != ACCEL_NOT_IN_GGUF)
            return &elements[i];
    for (size_t i = 0; i < COUNT(gguf_only); i++)
        if (gguf_only[i].number == number)
            return &gguf_only[i];
    return NULL;
}

const struct model_element *model_element_gguf_type(uint32_t type)
{
    for (size_t i = 0; i < COUNT(elements); i++)
        if (elements[i].type == type && elements[i].number != ACCEL_NOT_IN_GGUF)
            return &elements[i];
    for (size_t i = 0; i < COUNT(gguf_only); i++)
        if (gguf_only[i].type == type)
            return &gguf_only[i];
    return NULL;
}

const struct model_element *model_element_safetensors(const char *name)
{
    for (size_t i = 0; i < COUNT(elements); i++)
        if (elements[i].block == 1 && strcmp(elements[i].name, name) == 0)
            return &elements[i];
    for (size_t i = 0; i < COUNT(safetensors_only); i++)
        if (strcmp(safetensors_only[i].name, name) == 0)
            return &safetensors_only[i];
    return NULL;
}

const struct model_element *model_element_writable(uint32_t type)
{
    for (size_t i = 0; i < COUNT(elements); i++)
        if (elements[i].block == 1 && elements[i].type == type)
            return &elements[i];
    return NULL;
}

int32_t model_element_bytes(const struct model_element *element, const uint64_t *dims, uint32_t rank,
                            uint64_t *out_bytes, const char **out_reason)
{
    uint64_t row = rank == 0 ? 1 : dims[rank - 1];
    uint64_t bytes = element->block_bytes;
    bool empty = false;
    *out_reason = "a row of the innermost dimension is not a whole number of blocks of its type";
    if (row % element->block != 0)
        return ACCEL_E_CORRUPT;
    *out_reason = "the product of its dimensions does not fit in 64 bits";
    for (uint32_t i = 0; i < rank; i++) {
        uint64_t count = i + 1 == rank ? row / element->block : dims[i];
        /* A zero must not hide an overflow of the other dimensions. */
        empty = empty || count == 0;
        if (!multiply_u64(bytes, count == 0 ? 1 : count, &bytes))
            return ACCEL_E_CORRUPT;
    }
    *out_bytes = empty ? 0 : bytes;
    return ACCEL_OK;
}
