/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the quantized checkpoints of other tools as matrices. Such a folder stores a matrix NAME.weight [rows, width]
 * as several tensors:
 *
 * - GPTQ: NAME.qweight I32 [width / 32 * bits, rows] and NAME.qzeros I32 [groups, rows / 32 * bits] are streams of
 * codes, 32 in `bits` words, lowest bits first, down the columns of qweight and along the rows of qzeros; NAME.scales
 * [groups, rows]; optionally NAME.g_idx I32 [width], the group of each column. Version 1 stores zero points less one,
 * modulo 2^bits.
 *
 * - AWQ (gemm): qweight [width, rows / 8] and qzeros [groups, rows / 8], eight columns in a word in the order 0, 2, 4,
 * 6, 1, 3, 5, 7.
 *
 * - compressed-tensors, pack-quantized: NAME.weight_packed I32 [rows, width * bits / 32] is a stream of codes for each
 * row, NAME.weight_shape I64 [2] holds rows and width, NAME.weight_scale [rows, groups] or one for all; asymmetric
 * matrices have NAME.weight_zero_point I32 [rows * bits / 32, groups], streams down the columns. Codes and zero points
 * are stored plus 2^(bits - 1). Optionally NAME.weight_g_idx.
 *
 * - compressed-tensors, int-quantized and naive-quantized: NAME.weight itself is I8 [rows, width], the zero points I8
 * like the scales.
 *
 * - Floats of 8 bits (methods fp8, fbgemm_fp8, modelopt, compressed-tensors): NAME.weight F8_E4M3 or F8_E5M2 [rows,
 * width], and NAME.weight_scale or NAME.weight_scale_inv, which both multiply: one for all, [rows, 1], [rows, groups],
 * or one for each block of rows and columns, [rows / block, width / block], rounded up. MX formats have scales U8,
 * powers of two (E8M0).
 *
 * - Floats of 4 bits (E2M1): NAME.weight_packed or NAME.weight U8 [rows, width / 2], lower half first, and
 * NAME.weight_scale [rows, groups], in NVFP4 F8_E4M3 of groups of 16. These scales are divided by
 * NAME.weight_global_scale (compressed-tensors) or multiplied by NAME.weight_scale_2 (modelopt).
 *
 * - MXFP4 of experts (method mxfp4): NAME_blocks U8 [experts, rows, width / 32, 16], lower half first, and NAME_scales
 * U8 [experts, rows, width / 32] become NAME [experts, rows, width].
 *
 * model_packed_replace replaces these by one tensor NAME.weight, which is assembled when it is read, a band of rows at
 * a time, and never mapped. It has a planar type (accel/quant/format.h), its planes one after the other. Its values are
 * exactly scale * (code - zero) if halves can hold the scales, as for F16 and, except for tiny ones, BF16; other scales
 * are rounded to the nearest half, a relative error of at most 2^-11. Groups that planar types lack are split into
 * smaller ones that share a scale. A matrix that no planar type can represent (columns whose groups do not rise, as
 * activation order leaves them; rows that are not a multiple of 32; scales beyond the normal halves) is decoded: to F16
 * if all values are normal halves, rounded to nearest with the same bound, else to F32, which is exact except for
 * scales in F32, where the product is rounded once. Floats of other types than F8_E4M3, and those that no planar type
 * can represent, are decoded: to F16 if all values are normal halves, else to BF16, a relative error of at most 2^-8
 * with that of the product. MXFP4 becomes the type of GGUF, bit for bit, if rows are whole blocks of 32. NVFP4 does, if
 * rows are whole blocks of 64, where model_packed_keep_blocks requests it: that type has no global scale.
 */
#ifndef ACCEL_MODEL_FILE_PACKED_H
#define ACCEL_MODEL_FILE_PACKED_H

#include <jansson.h>
#include <stdbool.h>

#include <accel/model/file.h>

#define MODEL_PACKED_GPTQ 1u
#define MODEL_PACKED_AWQ 2u
#define MODEL_PACKED_WORDS 3u  /* compressed-tensors, pack-quantized; of a folder: compressed-tensors */
#define MODEL_PACKED_BYTES 4u  /* compressed-tensors, int-quantized */
#define MODEL_PACKED_FLOATS 5u /* floats of 8 or 4 bits */

/* Rows of a band, which are read together; blocks of rows under one scale divide it. */
#define MODEL_PACKED_BAND 256u

/* Scale of a planar float beside that of a checkpoint: ACCEL_SCHEME_FLOAT8 divides its codes. */
#define MODEL_PACKED_FLOAT8_UNIT 256.0f

/* One matrix; belongs to the file's pool. */
struct model_packed {
    struct accel_model_tensor codes; /* as stored in the file */
    struct accel_model_tensor zeros; /* name NULL: symmetric, all zero points are 2^(bits - 1) */
    struct accel_model_tensor scales;
    uint32_t layout; /* MODEL_PACKED_... */
    uint32_t bits;
    uint32_t zero_add; /* added to a stored zero point */
    uint32_t group;    /* group size of the planar type; divides file_group */
    uint64_t file_group;
    uint64_t groups;
    uint64_t rows;
    uint64_t width;
    uint64_t row_block;  /* rows that share a line of scales */
    const float *levels; /* [2^bits]: value of each code; NULL: codes are integers */
    double global;       /* multiplies each scale, or divides it; 1 without */
    bool global_divides;
    bool one_scale;        /* one scale for the whole matrix */
    bool dense;            /* decoded: type is F16, BF16 or F32 */
    bool blocks;           /* type is MXFP4 or NVFP4: a block has its scales and its codes */
    bool is_nvfp4;         /* without `global` it can be blocks of NVFP4, exactly */
    uint64_t parts;        /* not 0: the rows are those of so many matrices, in a tensor of rank 3 */
    const uint32_t *order; /* [width]: group of each column; NULL: groups rise with the columns */
    uint32_t planes;
    uint32_t type;
    uint64_t stored_bytes; /* of the tensors that it is assembled from */
    uint64_t plane_bytes[3];
};

#define MODEL_PACKING_CHOICES 16u

/* The packing of a folder's tensors, from its configuration. */
struct model_packing {
    const char *path; /* of the folder, for messages */
    uint32_t layout;
    uint32_t zero_add;
    uint32_t choice_count; /* each matrix has the choice that matches its shapes */
    struct model_packing_choice {
        uint32_t bits;
        bool floats;
        uint64_t group;     /* 0: a whole row */
        uint64_t row_block; /* rows that share a scale */
    } choices[MODEL_PACKING_CHOICES];
};

/* Reads the quantization_config of a folder. ACCEL_E_UNSUPPORTED names what is not supported. */
int32_t model_packing_read(const json_t *object, struct model_packing *packing, struct accel_error *error);

/* Adds the remedy for a quantization that is not supported, unless the error has one. Returns ACCEL_E_UNSUPPORTED. */
int32_t model_packed_remedy(struct accel_error *error);

/* Replaces the packed tensors of a sealed safetensors file by matrices, as config.json (quantization_config) or
 * quantize_config.json describes. Call once, before the file is shared. ACCEL_E_UNSUPPORTED names other methods; the
 * file is then unchanged. */
int32_t model_packed_replace(struct accel_model_file *file, struct accel_error *error);

/* Turns matrices of NVFP4 into blocks of that type, if all `count` names are such matrices. Products with them lack the
 * factor of model_packed_factor. Call before the file is shared. */
int32_t model_packed_keep_blocks(struct accel_model_file *file, const char *const *names, uint64_t count,
                                 struct accel_error *error);

/* The same for every matrix of NVFP4. */
int32_t model_packed_keep_all(struct accel_model_file *file, struct accel_error *error);

/* Returns what multiplies products with the matrix: the global scale of blocks of NVFP4, else 1. */
float model_packed_factor(const struct model_packed *packed);

/* Reads bytes offset .. offset + bytes of the planes, one after the other; the caller has checked the range. Any
 * thread. */
int32_t model_packed_read(const struct accel_model_file *file, const struct model_packed *packed, uint64_t offset,
                          uint64_t bytes, void *out, struct accel_error *error);

/* Returns an effective zero point from `bytes`, all zero points or a band of them, with lines of `stride` bytes. */
uint32_t model_packed_zero(const struct model_packed *packed, const unsigned char *bytes, uint64_t stride,
                           uint64_t group, uint64_t row);

/* Returns the line stride of stored zero points, in bytes. */
uint64_t model_packed_zero_stride(const struct model_packed *packed);

/* Decodes a scale of type F16, BF16, F32, F8_E4M3 or U8 (a power of two), and applies the global one. */
float model_packed_scale(const struct model_packed *packed, const unsigned char *bytes);

/* Returns the size of a scale of these types, 0 for others. */
uint32_t model_packed_scale_bytes(uint32_t type);

#endif
