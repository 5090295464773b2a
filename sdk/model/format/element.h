/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element types as the containers number and spell them: sizes for checking ranges, and the id of accel/types.h. A
 * type that the file format knows and accel has no id for is still sized, so that a file which holds one tensor of it
 * can be opened; whoever needs that tensor refuses it by name.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_ELEMENT_H
#define ACCEL_SDK_MODEL_FORMAT_ELEMENT_H

#include <accel/model/file.h>

struct model_element {
    const char *name;
    uint32_t type;        /* ACCEL_F32 ..., or ACCEL_TYPE_NONE */
    uint32_t block;       /* values in a block; a row of the innermost dimension is whole blocks */
    uint32_t block_bytes; /* bytes of a block */
    uint32_t number;      /* GGUF's */
};

/* By GGUF's number, or NULL: unknown, or removed from the format. */
const struct model_element *model_element_gguf(uint32_t number);

/* The element of GGUF for an id of accel/types.h, or NULL. */
const struct model_element *model_element_gguf_type(uint32_t type);

/* By the spelling of safetensors, or NULL. */
const struct model_element *model_element_safetensors(const char *name);

/* The element of safetensors for an id of accel/types.h, or NULL. */
const struct model_element *model_element_writable(uint32_t type);

/* Bytes of a tensor. ACCEL_E_CORRUPT when the product overflows or a row is not whole blocks; *out_reason says which.
 */
int32_t model_element_bytes(const struct model_element *element, const uint64_t *dims, uint32_t rank,
                            uint64_t *out_bytes, const char **out_reason);

#endif
