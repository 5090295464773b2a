/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps element types of the containers to sizes and to the ids of accel/types.h. A type that accel has no id for is
 * still sized, so that a file with one such tensor can be opened; reading that tensor is refused by name.
 */
#ifndef ACCEL_MODEL_FILE_ELEMENT_H
#define ACCEL_MODEL_FILE_ELEMENT_H

#include <accel/model/file.h>

struct model_element {
    const char *name;
    uint32_t type;        /* ACCEL_F32 ..., or ACCEL_TYPE_NONE */
    uint32_t block;       /* values in a block; a row of the innermost dimension is whole blocks */
    uint32_t block_bytes; /* bytes of a block */
    uint32_t number;      /* GGUF's, or ACCEL_NOT_IN_GGUF */
};

/* Finds an element by GGUF's number; NULL: unknown, or removed from the format. */
const struct model_element *model_element_gguf(uint32_t number);

/* Finds the GGUF element of an id of accel/types.h, or NULL. */
const struct model_element *model_element_gguf_type(uint32_t type);

/* Finds an element by its safetensors name, or NULL. */
const struct model_element *model_element_safetensors(const char *name);

/* Finds the safetensors element of an id of accel/types.h, or NULL. */
const struct model_element *model_element_writable(uint32_t type);

/* Computes the bytes of a tensor. ACCEL_E_CORRUPT, with a reason, if the product overflows or a row is not whole
 * blocks. */
int32_t model_element_bytes(const struct model_element *element, const uint64_t *dims, uint32_t rank,
                            uint64_t *out_bytes, const char **out_reason);

#endif
