/* SPDX-License-Identifier: Apache-2.0 */
/* Private declarations of the quantize module: planning (plan.c) and writing (run.c). */
#ifndef ACCEL_CONVERT_QUANTIZE_INTERNAL_H
#define ACCEL_CONVERT_QUANTIZE_INTERNAL_H

#include <stdbool.h>

#include <accel/model/quantize.h>
#include <accel/quant/format.h>

#include "model/file/gguf_write.h"

/* Most tensors of a file that a converted tensor is split into, and their offsets. The layout defines their order. */
#define QUANTIZE_PARTS 4u
struct quantize_places {
    uint64_t at[QUANTIZE_PARTS];
};

struct quantize_layout;
struct quantize_statistics;

/* The reason of rows that a pattern of the options keeps, whose bytes are copied unread. */
extern const char quantize_on_request[];

struct accel_quantize_job {
    const struct accel_model_file *file;
    const struct quantize_layout *layout;
    uint32_t threads;
    uint32_t method; /* ACCEL_QUANTIZE_METHOD_..., but not ..._DEFAULT */
    accel_quantize_progress progress;
    void *progress_data;
    uint64_t count;
    uint32_t transposed; /* matrices that keep their type since the file stores them transposed */
    uint64_t transposed_elements;
    struct accel_quantize_row *rows;   /* [count] */
    struct model_gguf_tensor *tensors; /* [count] */
    struct model_gguf_header header;
    uint32_t type;                  /* requested type; of a mix the type of most matrices */
    uint32_t file_type;             /* GGUF's general.file_type */
    const char *mix;                /* "Q4_K_M"; NULL: a plain type was requested */
    struct accel_format *formats;   /* [count] of converted tensors */
    char (*wanted)[16];             /* [count] requested types whose blocks do not divide the rows */
    struct quantize_places *places; /* [count] of converted tensors that become several; NULL in plain GGUF */
    char *config;                   /* text of config.json, of folders only */
    uint64_t identity;              /* of the bytes that will be written */
    /* Calibration options; NULL and 0 without. Statistics are computed on first use. */
    struct quantize_calibration {
        struct accel_context *context;
        const struct accel_model *model;
        const int32_t *ids;
        uint64_t id_count, chunk, moments_bytes;
    } calibration;
    struct quantize_statistics *statistics; /* NULL: not computed yet */
    /* Of a budget only (budget.h); NULL without one. */
    uint32_t *chosen;                /* [count] types; ACCEL_TYPE_NONE: by the rules */
    struct quantize_menu *menus;     /* [count] candidates of each tensor */
    struct accel_format *candidates; /* formats of candidates, whose names the rows refer to */
};

#endif
