/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this room: what is decided (plan.c) and what is written (run.c). */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_INTERNAL_H
#define ACCEL_SDK_MODEL_QUANTIZE_INTERNAL_H

#include <accel/model/quantize.h>

#include "sdk/model/format/gguf_write.h"

struct accel_quantize_job {
    const struct accel_model_file *file;
    uint32_t threads;
    uint32_t nearest; /* 1: no search for scales */
    accel_quantize_progress progress;
    void *progress_data;
    uint64_t count;
    struct accel_quantize_row *rows;   /* [count] */
    struct model_gguf_tensor *tensors; /* [count] */
    struct model_gguf_header header;
    uint64_t identity; /* of the bytes that will be written */
};

#endif
