/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantized checkpoints of other tools, shown as planar tensors. A matrix NAME.weight [rows, width] lies in such a
 * folder as NAME.qweight (digits in I32 words), NAME.qzeros, NAME.scales and perhaps NAME.g_idx:
 *  - GPTQ: qweight [width / 32 * bits, rows] and qzeros [groups, rows / 32 * bits] are streams of digits, 32 in `bits`
 *    words, lowest bits first, down the columns of the one and along the rows of the other; scales F16 [groups, rows].
 *    Version 1 stores zero points less one, modulo 2^bits.
 *  - AWQ (gemm): qweight [width, rows / 8] and qzeros [groups, rows / 8], eight columns in a word in the order 0, 2, 4,
 *    6, 1, 3, 5, 7.
 * model_packed_present replaces each such four by one tensor of a planar type (accel/quant/format.h), whose bytes are
 * its planes one after the other; they are put together when they are read, a band of rows at a time, and are never
 * mapped. Values are exactly those of the checkpoint: scale * (digit - zero). Groups that the planar types lack are cut
 * into smaller ones that share a scale.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_PACKED_H
#define ACCEL_SDK_MODEL_FORMAT_PACKED_H

#include <accel/model/file.h>

#define MODEL_PACKED_GPTQ 1u
#define MODEL_PACKED_AWQ 2u

/* One matrix; belongs to the file's pool. */
struct model_packed {
    struct accel_model_tensor digits; /* as the file has them */
    struct accel_model_tensor zeros;
    struct accel_model_tensor scales;
    uint32_t layout; /* MODEL_PACKED_... */
    uint32_t bits;
    uint32_t zero_add; /* what a stored zero point lacks */
    uint32_t group;    /* of the planar type; divides file_group */
    uint64_t file_group;
    uint64_t rows;
    uint64_t width;
    uint32_t planes;
    uint32_t type;
    uint64_t plane_bytes[3];
};

/* Shows the packed tensors of a sealed safetensors file that says in config.json (quantization_config) or
 * quantize_config.json how they are packed; before anybody else has the file. ACCEL_E_UNSUPPORTED, by name, for other
 * methods and for activation order; the file is then as it was. */
int32_t model_packed_present(struct accel_model_file *file, struct accel_error *error);

/* Bytes offset .. offset + bytes of the planes, one after the other; the range was checked. Any thread. */
int32_t model_packed_read(const struct accel_model_file *file, const struct model_packed *packed, uint64_t offset,
                          uint64_t bytes, void *out, struct accel_error *error);

/* Zero point of column `row` in a line of packed zero points, as it counts. */
uint32_t model_packed_zero(const struct model_packed *packed, const uint32_t *line, uint64_t row);

#endif
