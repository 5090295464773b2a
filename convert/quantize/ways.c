/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/quantize/ways.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "convert/quantize/calibration.h"
#include "convert/quantize/dense.h"
#include "convert/quantize/gptq_solve.h"
#include "model/file/fault.h"
#include "model/file/pool.h"

/* Rows of a tensor sampled for output errors. */
#define SAMPLED ((uint64_t)128)

/* Damping added to each mean square, since a text is a limited sample: a share of the mean square itself, and of
 * the median. The median is used because a few inputs are often a thousand times as large as all others and
 * dominate the mean. */
#define DAMPING_OWN 0.02f
#define DAMPING_MEDIAN 0.01f

/* Least share of the mean that is added against rounding errors. */
#define DAMPING_LEAST 1e-6

struct quantize_ways {
    struct accel_quantize_job *job;
    uint32_t *inputs; /* [count] */
    struct dense_team team;
    /* Buffers of one input. */
    struct quantize_buffer factor; /* floats [width, width] */
    struct quantize_buffer damped; /* floats [width, width]: moments with damping */
    struct quantize_buffer cost;   /* floats [width] */
    const float *moments;
    float damping;
};

/* Returns whether every value of the type is a code multiplied by a scale. */
static bool has_levels(uint32_t type)
{
    unsigned char nothing[1] = {0};
    void *planes[ACCEL_FORMAT_PLANES] = {nothing, nothing, nothing, nothing};
    return accel_format_put(type, planes, 0, 0, 0, NULL) == ACCEL_OK;
}

static uint32_t input_of(const struct accel_quantize_job *job, uint64_t tensor)
{
    const struct accel_quantize_row *row = &job->rows[tensor];
    uint64_t width = 0;
    if (job->method != ACCEL_QUANTIZE_METHOD_GPTQ || !row->converted || !has_levels(row->to) ||
        quantize_statistics_power(job->statistics, row->name, &width) == NULL || width != quantize_width(job, tensor))
        return QUANTIZE_NO_INPUT;
    return quantize_statistics_input(job->statistics, row->name);
}

int32_t quantize_ways_create(struct accel_quantize_job *job, struct quantize_ways **out_ways, struct accel_error *error)
{
    struct quantize_ways *ways = calloc(1, sizeof(*ways));
    int32_t code = ACCEL_OK;
    *out_ways = ways;
    if (ways != NULL)
        ways->inputs = calloc((size_t)job->count + 1, sizeof(*ways->inputs));
    if (ways == NULL || ways->inputs == NULL)
        return model_no_memory(error, accel_model_file_path(job->file), job->count * sizeof(*ways->inputs));
    ways->job = job;
    if (job->method == ACCEL_QUANTIZE_METHOD_GPTQ || job->method == ACCEL_QUANTIZE_METHOD_IMPORTANCE)
        code = quantize_job_statistics(job, error);
    if (code == ACCEL_OK)
        code = dense_team_create(job->threads, &ways->team, error);
    for (uint64_t i = 0; i < job->count && code == ACCEL_OK; i++)
        ways->inputs[i] = input_of(job, i);
    return code;
}

void quantize_ways_free(struct quantize_ways *ways)
{
    if (ways == NULL)
        return;
    dense_team_free(&ways->team);
    free(ways->factor.data);
    free(ways->damped.data);
    free(ways->cost.data);
    free(ways->inputs);
    free(ways);
}

uint32_t quantize_ways_input(const struct quantize_ways *ways, uint64_t tensor)
{
    return ways->inputs[tensor];
}

static int compare_floats(const void *one, const void *other)
{
    const float a = *(const float *)one, b = *(const float *)other;
    return (a > b) - (a < b);
}

/* Damps the moments; uses the costs buffer to find the median. */
static void damp(struct quantize_ways *ways, size_t width)
{
    float *damped = ways->damped.data, *sorted = ways->cost.data;
    memcpy(damped, ways->moments, width * width * sizeof(*damped));
    for (size_t i = 0; i < width; i++)
        sorted[i] = damped[i * width + i];
    qsort(sorted, width, sizeof(*sorted), compare_floats);
    const float more = DAMPING_MEDIAN * sorted[width / 2];
    for (size_t i = 0; i < width; i++)
        damped[i * width + i] += DAMPING_OWN * damped[i * width + i] + more;
}

int32_t quantize_ways_prepare(struct quantize_ways *ways, uint64_t tensor, struct accel_error *error)
{
    const struct accel_quantize_job *job = ways->job;
    const char *path = accel_model_file_path(job->file);
    const uint64_t width = quantize_width(job, tensor);
    double share = DAMPING_LEAST, mean = 0;
    uint32_t input;
    int32_t code = quantize_statistics_moments(job->statistics, job->rows[tensor].name, &ways->moments, &input, error);
    if (code == ACCEL_OK && width > SIZE_MAX / sizeof(float) / width)
        code = model_fault(error, ACCEL_E_LIMIT, path, MODEL_NO_OFFSET, "tensor %.100s has rows of %llu values",
                           job->rows[tensor].name, (unsigned long long)width);
    if (code == ACCEL_OK)
        code = quantize_buffer_grow(&ways->factor, width * width * sizeof(float), path, error);
    if (code == ACCEL_OK)
        code = quantize_buffer_grow(&ways->cost, width * sizeof(float), path, error);
    if (code == ACCEL_OK)
        code = quantize_buffer_grow(&ways->damped, width * width * sizeof(float), path, error);
    if (code == ACCEL_OK) {
        damp(ways, (size_t)width);
        code = dense_inverse_factor(ways->damped.data, (size_t)width, &ways->team, &share, ways->factor.data, error);
    }
    if (code != ACCEL_OK)
        return code;
    for (uint64_t i = 0; i < width; i++)
        mean += (double)((const float *)ways->damped.data)[i * width + i] / (double)width;
    /* A zero matrix of moments counts as the identity, as in the factor. */
    ways->damping = mean > 0 ? (float)(share * mean) : 1;
    gptq_weights(ways->factor.data, (size_t)width, ways->cost.data);
    return ACCEL_OK;
}

void quantize_way_of(const struct quantize_ways *ways, uint64_t tensor, struct quantize_way *out_way)
{
    const struct accel_quantize_job *job = ways->job;
    const uint64_t width = quantize_width(job, tensor), rows = width ? job->rows[tensor].elements / width : 0;
    uint64_t known = 0;
    *out_way = (struct quantize_way){.method = job->method};
    if (ways->inputs[tensor] != QUANTIZE_NO_INPUT) {
        out_way->sampled = (uint32_t)(rows / SAMPLED < UINT32_MAX ? (rows + SAMPLED - 1) / SAMPLED : UINT32_MAX);
        out_way->damping = ways->damping;
        out_way->weight = ways->cost.data;
        out_way->moments = ways->moments;
        out_way->damped = ways->damped.data;
        out_way->u = ways->factor.data;
        return;
    }
    if (job->method == ACCEL_QUANTIZE_METHOD_IMPORTANCE)
        out_way->weight = quantize_statistics_power(job->statistics, job->rows[tensor].name, &known);
    if (known != width)
        out_way->weight = NULL;
    if (job->method == ACCEL_QUANTIZE_METHOD_GPTQ || out_way->weight == NULL)
        out_way->method = job->method == ACCEL_QUANTIZE_METHOD_NEAREST ? job->method : ACCEL_QUANTIZE_METHOD_SEARCH;
}
