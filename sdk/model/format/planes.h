/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout "accel 1" (sdk/quant/LAYOUT.md): tensors of types that the container has no number for, each of whose planes
 * lies in the file as a tensor of its own. model_planes_present shows one tensor in place of these, with its planes
 * where they lie: what is mapped stays mapped.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_PLANES_H
#define ACCEL_SDK_MODEL_FORMAT_PLANES_H

#include <accel/model/file.h>
#include <accel/quant/format.h>

/* Keys of the metadata, and the one version that there is. */
#define MODEL_PLANES_LAYOUT "accel.layout"
#define MODEL_PLANES_VERSION "1"
#define MODEL_PLANES_TYPE "accel.type."

/* Where one plane lies. Closed. */
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

/* What follows the name of a tensor in the name of its plane, and what that plane is made of. NULL for a plane that
 * the type lacks. `*out_type` is ACCEL_U8, or ACCEL_F16. */
const char *model_planes_suffix(const struct accel_format *format, uint32_t plane, uint32_t *out_type);

/* Shows the tensors of a sealed file whose metadata say "accel.layout"; does nothing for others. Once, before anybody
 * else has the file. ACCEL_E_UNSUPPORTED for another version or an unknown type, ACCEL_E_CORRUPT, by name, for what
 * does not fit. */
int32_t model_planes_present(struct accel_model_file *file, struct accel_error *error);

/* Bytes offset .. offset + bytes of the planes, one after the other; the range was checked. Any thread. */
int32_t model_planes_read(const struct accel_model_file *file, const struct model_planes *planes, uint64_t offset,
                          uint64_t bytes, void *out, struct accel_error *error);

#endif
