/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/file/element.h"

#include <string.h>

#include "model/file/checked.h"

/* Numbers and block sizes of ggml's types, as GGUF stores them. Gaps are removed types. */
static const struct model_element gguf_elements[] = {
    {"F32", ACCEL_F32, 1, 4, 0},
    {"F16", ACCEL_F16, 1, 2, 1},
    {"Q4_0", ACCEL_GGML(2u), 32, 18, 2},
    {"Q4_1", ACCEL_GGML(3u), 32, 20, 3},
    {"Q5_0", ACCEL_GGML(6u), 32, 22, 6},
    {"Q5_1", ACCEL_GGML(7u), 32, 24, 7},
    {"Q8_0", ACCEL_GGML(8u), 32, 34, 8},
    {"Q8_1", ACCEL_GGML(9u), 32, 36, 9},
    {"Q2_K", ACCEL_GGML(10u), 256, 84, 10},
    {"Q3_K", ACCEL_GGML(11u), 256, 110, 11},
    {"Q4_K", ACCEL_GGML(12u), 256, 144, 12},
    {"Q5_K", ACCEL_GGML(13u), 256, 176, 13},
    {"Q6_K", ACCEL_GGML(14u), 256, 210, 14},
    {"Q8_K", ACCEL_GGML(15u), 256, 292, 15},
    {"IQ2_XXS", ACCEL_GGML(16u), 256, 66, 16},
    {"IQ2_XS", ACCEL_GGML(17u), 256, 74, 17},
    {"IQ3_XXS", ACCEL_GGML(18u), 256, 98, 18},
    {"IQ1_S", ACCEL_GGML(19u), 256, 50, 19},
    {"IQ4_NL", ACCEL_GGML(20u), 32, 18, 20},
    {"IQ3_S", ACCEL_GGML(21u), 256, 110, 21},
    {"IQ2_S", ACCEL_GGML(22u), 256, 82, 22},
    {"IQ4_XS", ACCEL_GGML(23u), 256, 136, 23},
    {"I8", ACCEL_I8, 1, 1, 24},
    {"I16", ACCEL_I16, 1, 2, 25},
    {"I32", ACCEL_I32, 1, 4, 26},
    {"I64", ACCEL_I64, 1, 8, 27},
    {"F64", ACCEL_F64, 1, 8, 28},
    {"IQ1_M", ACCEL_GGML(29u), 256, 56, 29},
    {"BF16", ACCEL_BF16, 1, 2, 30},
    {"TQ1_0", ACCEL_GGML(34u), 256, 54, 34},
    {"TQ2_0", ACCEL_GGML(35u), 256, 66, 35},
    {"MXFP4", ACCEL_GGML(39u), 32, 17, 39},
    {"NVFP4", ACCEL_GGML(40u), 64, 36, 40},
};

/* Types smaller than a byte have blocks of whole bytes. */
static const struct model_element safetensors_elements[] = {
    {"F32", ACCEL_F32, 1, 4, 0},
    {"F16", ACCEL_F16, 1, 2, 0},
    {"BF16", ACCEL_BF16, 1, 2, 0},
    {"F64", ACCEL_F64, 1, 8, 0},
    {"I8", ACCEL_I8, 1, 1, 0},
    {"I16", ACCEL_I16, 1, 2, 0},
    {"I32", ACCEL_I32, 1, 4, 0},
    {"I64", ACCEL_I64, 1, 8, 0},
    {"U8", ACCEL_U8, 1, 1, 0},
    {"BOOL", ACCEL_BOOL, 1, 1, 0},
    {"U16", ACCEL_TYPE_NONE, 1, 2, 0},
    {"U32", ACCEL_TYPE_NONE, 1, 4, 0},
    {"U64", ACCEL_TYPE_NONE, 1, 8, 0},
    {"F8_E4M3", ACCEL_TYPE_NONE, 1, 1, 0},
    {"F8_E5M2", ACCEL_TYPE_NONE, 1, 1, 0},
    {"F8_E8M0", ACCEL_TYPE_NONE, 1, 1, 0},
    {"F8_E4M3FNUZ", ACCEL_TYPE_NONE, 1, 1, 0},
    {"F8_E5M2FNUZ", ACCEL_TYPE_NONE, 1, 1, 0},
    {"C64", ACCEL_TYPE_NONE, 1, 8, 0},
    {"F4", ACCEL_TYPE_NONE, 2, 1, 0},
    {"F6_E2M3", ACCEL_TYPE_NONE, 4, 3, 0},
    {"F6_E3M2", ACCEL_TYPE_NONE, 4, 3, 0},
};

const struct model_element *model_element_gguf(uint32_t number)
{
    for (size_t i = 0; i < sizeof(gguf_elements) / sizeof(gguf_elements[0]); i++) {
        if (gguf_elements[i].number == number)
            return &gguf_elements[i];
    }
    return NULL;
}

const struct model_element *model_element_gguf_type(uint32_t type)
{
    for (size_t i = 0; i < sizeof(gguf_elements) / sizeof(gguf_elements[0]); i++) {
        if (type != ACCEL_TYPE_NONE && gguf_elements[i].type == type)
            return &gguf_elements[i];
    }
    return NULL;
}

const struct model_element *model_element_safetensors(const char *name)
{
    for (size_t i = 0; i < sizeof(safetensors_elements) / sizeof(safetensors_elements[0]); i++) {
        if (strcmp(safetensors_elements[i].name, name) == 0)
            return &safetensors_elements[i];
    }
    return NULL;
}

const struct model_element *model_element_writable(uint32_t type)
{
    for (size_t i = 0; i < sizeof(safetensors_elements) / sizeof(safetensors_elements[0]); i++) {
        if (type != ACCEL_TYPE_NONE && safetensors_elements[i].type == type)
            return &safetensors_elements[i];
    }
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
