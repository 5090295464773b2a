/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads layout "accel 1" (quant/LAYOUT.md): tensors of types without a number in the container, each of whose planes is
 * stored as a separate tensor. model_planes_replace replaces these by one tensor that refers to its planes in place:
 * mapped data stays mapped.
 */
#ifndef ACCEL_MODEL_FILE_PLANES_H
#define ACCEL_MODEL_FILE_PLANES_H

#include <accel/model/file.h>
#include <accel/quant/format.h>

/* Keys of the metadata, and the only version. */
#define MODEL_PLANES_LAYOUT "accel.layout"
#define MODEL_PLANES_VERSION "1"
#define MODEL_PLANES_TYPE "accel.type."

/* The location of one plane. Closed. */
struct model_plane {
    uint64_t offset; /* in the part */
    uint64_t bytes;
    uint32_t part;
};

/* The planes of one tensor; belongs to the file's pool. */
struct model_planes {
    uint32_t count;
    struct model_plane plane[ACCEL_FORMAT_PLANES];
};

/* Returns the suffix of a plane's tensor name, and its element type ACCEL_U8 or ACCEL_F16 in *out_type. NULL for a
 * plane that the type lacks. */
const char *model_planes_suffix(const struct accel_format *format, uint32_t plane, uint32_t *out_type);

/* Replaces the planes of a sealed file whose metadata has "accel.layout" by tensors; does nothing for others. Call
 * once, before the file is shared. ACCEL_E_UNSUPPORTED for another version or an unknown type, ACCEL_E_CORRUPT, by
 * name, for planes that do not match. */
int32_t model_planes_replace(struct accel_model_file *file, struct accel_error *error);

/* Reads bytes offset .. offset + bytes of the planes, one after the other; the caller has checked the range. Any
 * thread. */
int32_t model_planes_read(const struct accel_model_file *file, const struct model_planes *planes, uint64_t offset,
                          uint64_t bytes, void *out, struct accel_error *error);

#endif
