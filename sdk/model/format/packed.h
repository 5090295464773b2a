/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantized checkpoints of other tools, shown as matrices. A matrix NAME.weight [rows, width] lies in such a folder as
 * several tensors:
 *  - GPTQ: NAME.qweight I32 [width / 32 * bits, rows] and NAME.qzeros I32 [groups, rows / 32 * bits] are streams of
 *    digits, 32 in `bits` words, lowest bits first, down the columns of the one and along the rows of the other;
 *    NAME.scales [groups, rows]; perhaps NAME.g_idx I32 [width], the group of each column. Version 1 stores zero points
 *    less one, modulo 2^bits.
 *  - AWQ (gemm): qweight [width, rows / 8] and qzeros [groups, rows / 8], eight columns in a word in the order 0, 2, 4,
 *    6, 1, 3, 5, 7.
 *  - compressed-tensors, pack-quantized: NAME.weight_packed I32 [rows, width * bits / 32] is a stream of digits for
 * each row, NAME.weight_shape I64 [2] its rows and width, NAME.weight_scale [rows, groups], or one for all; asymmetric
 *    ones have NAME.weight_zero_point I32 [rows * bits / 32, groups], streams down the columns. Digits and zero points
 *    are stored plus 2^(bits - 1). Perhaps NAME.weight_g_idx.
 *  - compressed-tensors, int-quantized and naive-quantized: NAME.weight itself is I8 [rows, width], the zero points I8
 *    like the scales.
 * model_packed_present replaces these by one tensor NAME.weight, put together when it is read, a band of rows at a
 * time, and never mapped. It is of a planar type (accel/quant/format.h), its planes one after the other, and exactly
 * scale * (digit - zero) where halves hold the scales, as they hold those in F16 and, but for tiny ones, in BF16; other
 * scales are rounded to the nearest half, a relative error of at most 2^-11. Groups that the planar types lack are cut
 * into smaller ones that share a scale. What no planar type says (columns whose groups do not rise, as activation order
 * leaves them; rows that are no whole number of 32; scales beyond the normal halves) is decoded: as F16 where all
 * values are normal halves, rounded to nearest with the same bound, else as F32, which is exact but for scales in F32,
 * where the product is rounded once.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_PACKED_H
#define ACCEL_SDK_MODEL_FORMAT_PACKED_H

#include <accel/model/file.h>
#include <jansson.h>
#include <stdbool.h>

#define MODEL_PACKED_GPTQ 1u
#define MODEL_PACKED_AWQ 2u
#define MODEL_PACKED_WORDS 3u /* compressed-tensors, pack-quantized; of a folder: compressed-tensors */
#define MODEL_PACKED_BYTES 4u /* compressed-tensors, int-quantized */

/* One matrix; belongs to the file's pool. */
struct model_packed {
    struct accel_model_tensor digits; /* as the file has them */
    struct accel_model_tensor zeros;  /* name NULL: every zero point is in the middle */
    struct accel_model_tensor scales;
    uint32_t layout; /* MODEL_PACKED_... */
    uint32_t bits;
    uint32_t zero_add; /* what a stored zero point lacks */
    uint32_t group;    /* of the planar type; divides file_group */
    uint64_t file_group;
    uint64_t groups;
    uint64_t rows;
    uint64_t width;
    bool one_scale;        /* for the whole matrix */
    bool dense;            /* decoded: type is F16 or F32 */
    const uint32_t *order; /* [width], the group of each column; NULL: they rise */
    uint32_t planes;
    uint32_t type;
    uint64_t plane_bytes[3];
};

#define MODEL_PACKING_CHOICES 16u

/* What the configuration of a folder says of its packed tensors. */
struct model_packing {
    const char *path; /* of the folder, for messages */
    uint32_t layout;
    uint32_t zero_add;
    uint32_t choice_count; /* a matrix is of the one that its shapes fit */
    struct {
        uint32_t bits;
        uint64_t group; /* 0: a row */
    } choices[MODEL_PACKING_CHOICES];
};

/* Reads the quantization_config of a folder. ACCEL_E_UNSUPPORTED, by name, for what is not read here. */
int32_t model_packing_read(const json_t *object, struct model_packing *packing, struct accel_error *error);

/* Shows the packed tensors of a sealed safetensors file that says in config.json (quantization_config) or
 * quantize_config.json how they are packed; before anybody else has the file. ACCEL_E_UNSUPPORTED, by name, for other
 * methods; the file is then as it was. */
int32_t model_packed_present(struct accel_model_file *file, struct accel_error *error);

/* Bytes offset .. offset + bytes of the planes, one after the other; the range was checked. Any thread. */
int32_t model_packed_read(const struct accel_model_file *file, const struct model_packed *packed, uint64_t offset,
                          uint64_t bytes, void *out, struct accel_error *error);

/* A zero point as it counts, out of all of them or of a band: `stride` bytes from line to line. */
uint32_t model_packed_zero(const struct model_packed *packed, const unsigned char *bytes, uint64_t stride,
                           uint64_t group, uint64_t row);

/* Bytes from line to line of the zero points as they are stored. */
uint64_t model_packed_zero_stride(const struct model_packed *packed);

/* A scale of type F16, BF16 or F32. */
float model_packed_scale(uint32_t type, const unsigned char *bytes);

#endif
