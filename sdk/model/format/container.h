/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of an open model file, shared by the readers of the formats and by the functions of accel/model/file.h.
 * A reader appends parts, tensors and values; model_container_seal then sorts the names and refuses duplicates, and
 * from there on nothing changes. One thread until sealed, any thread after.
 */
#ifndef ACCEL_SDK_MODEL_FORMAT_CONTAINER_H
#define ACCEL_SDK_MODEL_FORMAT_CONTAINER_H

#include <accel/model/file.h>
#include <stdbool.h>

#include "sdk/model/format/part.h"
#include "sdk/model/format/pool.h"

struct model_packed;
struct model_planes;

/* A tensor and where the file describes it, for messages. */
struct model_tensor {
    struct accel_model_tensor face;
    uint64_t described_at;
    const struct model_packed *packed; /* not NULL: put together from others when it is read */
    const struct model_planes *planes; /* not NULL: its planes lie apart (planes.h) */
};

struct accel_model_file {
    uint32_t format; /* ACCEL_MODEL_GGUF or ACCEL_MODEL_SAFETENSORS */
    uint32_t part_count;
    struct model_part *parts;
    char *path;   /* as it was given */
    char *folder; /* where sibling files are; NULL in memory */

    struct model_pool pool; /* names, values, sorted tables */
    struct model_tensor *tensors;
    uint64_t tensor_count;
    uint64_t tensor_room;
    uint64_t packed_count; /* of tensors with `packed` */
    uint64_t planes_count; /* of tensors with `planes` */
    const struct model_tensor **tensors_by_name;
    struct accel_model_value *values;
    uint64_t value_count;
    uint64_t value_room;
    const struct accel_model_value **values_by_key; /* equal keys of different parts: the first part's only */
    uint64_t key_count;
};

/* Makes room for `count` more tensors or values behind those that are there. */
int32_t model_container_reserve_tensors(struct accel_model_file *file, uint64_t count, struct accel_error *error);
int32_t model_container_reserve_values(struct accel_model_file *file, uint64_t count, struct accel_error *error);

/* Sorts names and keys; a name that stands twice, or a key twice in one part, is ACCEL_E_CORRUPT. */
int32_t model_container_seal(struct accel_model_file *file, struct accel_error *error);

/*
 * Checks that the tensors first .. tensor_count - 1, all of one part, do not overlap. With `dense` they must also
 * cover begin .. end of the file without a hole, as safetensors demands.
 */
int32_t model_container_check_layout(const struct accel_model_file *file, uint64_t first, uint64_t begin, uint64_t end,
                                     bool dense, struct accel_error *error);

/* A name of a tensor or a key: not empty, UTF-8, no zero byte. `what` says whose name it is. */
int32_t model_container_check_name(const struct model_part *part, uint64_t offset, const char *what, const char *name,
                                   uint64_t length, struct accel_error *error);

/* The readers: append the tensors and values of part number `part`. */
int32_t model_gguf_read(struct accel_model_file *file, uint32_t part, struct accel_error *error);
int32_t model_safetensors_read(struct accel_model_file *file, uint32_t part, struct accel_error *error);

/* Opens every shard that the index of a folder names, reads them, and holds them against the index. */
int32_t model_shards_read(struct accel_model_file *file, const char *index_path, struct accel_error *error);

#endif
