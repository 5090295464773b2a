/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/model/quantize/layout.h"

static int32_t write_rows(const struct accel_quantize_job *job, struct model_staged *staged, uint64_t index,
                          uint64_t first, uint64_t rows, const unsigned char *data, size_t row_bytes,
                          struct accel_error *error)
{
    return model_staged_write(staged, job->tensors[index].offset + first * row_bytes, data, rows * row_bytes, error);
}

const struct quantize_layout quantize_layout_gguf = {
    .name = "GGUF", .rows = 1, .plan = quantize_plan_gguf, .write = write_rows};
