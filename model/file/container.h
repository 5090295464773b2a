/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of an open model file, shared by the format readers and by the functions of accel/model/file.h. A reader
 * appends parts, tensors and values; model_container_seal then sorts the names and refuses duplicates. One thread until
 * sealed; immutable and thread-safe after.
 */
#ifndef ACCEL_MODEL_FILE_CONTAINER_H
#define ACCEL_MODEL_FILE_CONTAINER_H

#include <stdbool.h>

#include <accel/model/file.h>

#include "model/file/part.h"
#include "model/file/pool.h"

struct model_derived;
struct model_packed;
struct model_planes;

/* A tensor, with the offset of its description for messages. */
struct model_tensor {
    struct accel_model_tensor face;
    uint64_t described_at;
    const struct model_packed *packed;   /* not NULL: assembled from packed tensors when it is read */
    const struct model_planes *planes;   /* not NULL: its planes are separate tensors (planes.h) */
    const struct model_derived *derived; /* not NULL: made from other tensors when it is read (derived.h) */
};

struct accel_model_file {
    uint32_t format; /* ACCEL_MODEL_GGUF or ACCEL_MODEL_SAFETENSORS */
    uint32_t part_count;
    struct model_part *parts;
    char *path;   /* as the caller gave it */
    char *folder; /* folder of sibling files; NULL in memory */

    struct model_pool pool; /* names, values, sorted tables */
    struct model_tensor *tensors;
    uint64_t tensor_count;
    uint64_t tensor_capacity;
    uint64_t packed_count;  /* of tensors with `packed` */
    uint64_t planes_count;  /* of tensors with `planes` */
    uint64_t derived_count; /* of tensors with `derived` */
    const struct model_tensor **tensors_by_name;
    struct accel_model_value *values;
    uint64_t value_count;
    uint64_t value_capacity;
    const struct accel_model_value **values_by_key; /* equal keys of different parts: the first part's only */
    uint64_t key_count;
};

/* Returns the place of a tensor of the file in its table. */
static inline uint64_t model_tensor_index(const struct accel_model_file *file, const struct accel_model_tensor *tensor)
{
    return (uint64_t)((const struct model_tensor *)(const void *)tensor - file->tensors);
}

/* Maps the parts of a file that was opened with ACCEL_MODEL_OPEN_READ. */
int32_t model_file_map(struct accel_model_file *file, struct accel_error *error);

/* Reads bytes offset .. offset + bytes of a tensor that is not derived; the caller has checked the range. Any thread.
 */
int32_t model_stored_read(const struct accel_model_file *file, const struct model_tensor *tensor, uint64_t offset,
                          uint64_t bytes, void *out, struct accel_error *error);

/* Grow the tables for `count` more tensors or values. */
int32_t model_container_reserve_tensors(struct accel_model_file *file, uint64_t count, struct accel_error *error);
int32_t model_container_reserve_values(struct accel_model_file *file, uint64_t count, struct accel_error *error);

/* Sorts names and keys. A duplicate name, or a duplicate key in one part, is ACCEL_E_CORRUPT. */
int32_t model_container_seal(struct accel_model_file *file, struct accel_error *error);

/*
 * Checks that the tensors first .. tensor_count - 1, all of one part, do not overlap. With `dense` they must also
 * cover begin .. end of the file without a hole, as safetensors demands.
 */
int32_t model_container_check_layout(const struct accel_model_file *file, uint64_t first, uint64_t begin, uint64_t end,
                                     bool dense, struct accel_error *error);

/* Checks a tensor name or key: not empty, UTF-8, no zero byte. `what` names it in messages. */
int32_t model_container_check_name(const struct model_part *part, uint64_t offset, const char *what, const char *name,
                                   uint64_t length, struct accel_error *error);

/* Append the tensors and values of part number `part`. */
int32_t model_gguf_read(struct accel_model_file *file, uint32_t part, struct accel_error *error);
int32_t model_safetensors_read(struct accel_model_file *file, uint32_t part, struct accel_error *error);

/* Finds the only GGUF model of a folder; the caller frees its path, which is NULL without one. ACCEL_E_INVALID names
 * several. */
int32_t model_gguf_find(const char *folder, char **out_path, struct accel_error *error);

/* Opens and reads the other files of a split GGUF model whose part 0 is read; does nothing for others. */
int32_t model_gguf_split_read(struct accel_model_file *file, struct accel_error *error);

/* Opens and reads every shard that the index of a folder names, and checks them against the index. */
int32_t model_shards_read(struct accel_model_file *file, const char *index_path, struct accel_error *error);

#endif
