/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this room: what is decided (plan.c) and what is written (run.c). */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_INTERNAL_H
#define ACCEL_SDK_MODEL_QUANTIZE_INTERNAL_H

#include <accel/model/quantize.h>
#include <accel/quant/format.h>
#include <stdbool.h>

#include "sdk/model/format/gguf_write.h"

/* Most tensors of a file that a converted tensor becomes, and where they begin in it. Which is which is the layout's.
 */
#define QUANTIZE_PARTS 4u
struct quantize_places {
    uint64_t at[QUANTIZE_PARTS];
};

struct quantize_layout;
struct quantize_statistics;

struct accel_quantize_job {
    const struct accel_model_file *file;
    const struct quantize_layout *layout;
    uint32_t threads;
    uint32_t method; /* ACCEL_QUANTIZE_METHOD_..., but not ..._DEFAULT */
    accel_quantize_progress progress;
    void *progress_data;
    uint64_t count;
    struct accel_quantize_row *rows;   /* [count] */
    struct model_gguf_tensor *tensors; /* [count] */
    struct model_gguf_header header;
    uint32_t type;                  /* that was asked for */
    struct accel_format *formats;   /* [count] of converted tensors */
    char (*wanted)[16];             /* [count] names of types that rows do not allow */
    struct quantize_places *places; /* [count] of converted tensors that become several; NULL in plain GGUF */
    char *config;                   /* text of config.json, of folders only */
    uint64_t identity;              /* of the bytes that will be written */
    /* Calibration: what is kept of the options; NULL and 0 without. The statistics are made by the first who asks. */
    struct quantize_calibration {
        struct accel_context *context;
        const struct accel_model *model;
        const int32_t *ids;
        uint64_t id_count, chunk, moments_bytes;
    } calibration;
    struct quantize_statistics *statistics; /* NULL: not asked for yet */
    /* Of a budget only (budget.h); NULL without one. */
    uint32_t *chosen;                /* [count] types; ACCEL_TYPE_NONE: by the rules */
    struct quantize_menu *menus;     /* [count] what each tensor may become */
    struct accel_format *candidates; /* their types, whose names rows show */
};

#endif
