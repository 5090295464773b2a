/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/quantize/calibration.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "convert/quantize/statistics.h"

static int32_t refuse(struct accel_error *error, const char *what)
{
    accel_error_set(error, ACCEL_E_INVALID, "accel_quantize_options.%s is missing, which a calibration needs", what);
    return accel_error_advise(error, ACCEL_E_INVALID, "give a text to calibrate with, or method search");
}

/* Reports progress in tokens during planning. Later only cancellation is checked, since tokens are not bytes of the
 * file. */
static int32_t ACCEL_CALL ask(void *data, uint64_t done, uint64_t all)
{
    const struct accel_quantize_job *job = data;
    if (job->header.file_bytes == 0)
        return job->progress(job->progress_data, done, all);
    return job->progress(job->progress_data, 0, job->header.file_bytes);
}

static struct quantize_text text_of(struct accel_quantize_job *job)
{
    const struct quantize_calibration *c = &job->calibration;
    return (struct quantize_text){.context = c->context,
                                  .model = c->model,
                                  .ids = c->ids,
                                  .id_count = c->id_count,
                                  .chunk = c->chunk,
                                  .moments_bytes = c->moments_bytes,
                                  .threads = job->threads,
                                  .moments = job->method == ACCEL_QUANTIZE_METHOD_GPTQ,
                                  .progress = job->progress != NULL ? ask : NULL,
                                  .progress_data = job};
}

int32_t quantize_calibration_read(struct accel_quantize_job *job, const struct accel_quantize_options *options,
                                  struct accel_error *error)
{
    uint32_t method = options->method;
    struct quantize_text text;
    if (method == ACCEL_QUANTIZE_METHOD_DEFAULT && (options->flags & ACCEL_QUANTIZE_NEAREST) != 0)
        method = ACCEL_QUANTIZE_METHOD_NEAREST;
    if (method == ACCEL_QUANTIZE_METHOD_DEFAULT)
        method = options->model != NULL ? ACCEL_QUANTIZE_METHOD_GPTQ : ACCEL_QUANTIZE_METHOD_SEARCH;
    if (method > ACCEL_QUANTIZE_METHOD_GPTQ)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "accel_quantize_options.method %u is unknown", method);
    job->method = method;
    job->calibration = (struct quantize_calibration){.context = options->context,
                                                     .model = options->model,
                                                     .ids = options->ids,
                                                     .id_count = options->id_count,
                                                     .chunk = options->chunk,
                                                     .moments_bytes = options->moments_bytes};
    if (options->model == NULL && options->ids == NULL && method < ACCEL_QUANTIZE_METHOD_IMPORTANCE)
        return ACCEL_OK;
    if (options->model == NULL)
        return refuse(error, "model");
    if (options->context == NULL)
        return refuse(error, "context");
    if (options->ids == NULL || options->id_count == 0)
        return refuse(error, "ids");
    text = text_of(job);
    return quantize_text_check(&text, error);
}

uint64_t quantize_calibration_identity(const struct accel_quantize_job *job, uint64_t seed)
{
    const struct quantize_calibration *c = &job->calibration;
    const uint64_t facts[2] = {job->method, c->chunk};
    if (job->method < ACCEL_QUANTIZE_METHOD_IMPORTANCE)
        return XXH3_64bits_withSeed(facts, sizeof(facts[0]), seed);
    seed = XXH3_64bits_withSeed(facts, sizeof(facts), seed);
    return XXH3_64bits_withSeed(c->ids, (size_t)c->id_count * sizeof(*c->ids), seed);
}

int32_t quantize_job_statistics(struct accel_quantize_job *job, struct accel_error *error)
{
    const struct quantize_text text = text_of(job);
    if (job->statistics != NULL)
        return ACCEL_OK;
    if (text.model == NULL)
        return refuse(error, "model");
    return quantize_statistics_create(&text, &job->statistics, error);
}
