/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a conversion: the type and the location of each tensor. */
#include <fnmatch.h>
#include <stdlib.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "convert/quantize/allocate.h"
#include "convert/quantize/budget.h"
#include "convert/quantize/calibration.h"
#include "convert/quantize/layout.h"
#include "convert/quantize/statistics.h"
#include "model/file/fault.h"
#include "model/file/open_struct.h"
#include "model/file/pool.h"

/* Version of the encoders' output: a file of another version is not resumed. */
#define ENCODERS 7u

#define THREADS_MAX 1024u

/* Identifies a source file and its version by ctime, which programs cannot set. mtime is not enough: unpacked
 * archives restore it, so another model with an identical header may have it, too. */
static int32_t identify_part(struct accel_quantize_job *job, uint32_t part, struct accel_error *error)
{
    const int fd = accel_model_file_part_fd(job->file, part);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return accel_error_set(error, ACCEL_E_IO, "%s: cannot ask for its state",
                               accel_model_file_part_path(job->file, part));
    const uint64_t facts[7] = {accel_model_file_part_bytes(job->file, part),
                               (uint64_t)status.st_dev,
                               (uint64_t)status.st_ino,
                               (uint64_t)status.st_mtim.tv_sec,
                               (uint64_t)status.st_mtim.tv_nsec,
                               (uint64_t)status.st_ctim.tv_sec,
                               (uint64_t)status.st_ctim.tv_nsec};
    job->identity = XXH3_64bits_withSeed(facts, sizeof(facts), job->identity);
    return ACCEL_OK;
}

/* Hashes everything that determines the bytes of the output: its header, the source files, and the encoders. */
static int32_t identify(struct accel_quantize_job *job, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    job->identity = XXH3_64bits_withSeed(job->header.data, job->header.bytes, ENCODERS);
    for (uint32_t part = 0; part < accel_model_file_part_count(job->file) && code == ACCEL_OK; part++)
        code = identify_part(job, part, error);
    if (code != ACCEL_OK)
        return code;
    for (uint64_t i = 0; i < job->count; i++) {
        const uint32_t row[2] = {job->rows[i].converted, job->rows[i].to};
        job->identity = XXH3_64bits_withSeed(row, sizeof(row), job->identity);
    }
    job->identity = quantize_calibration_identity(job, job->identity);
    return ACCEL_OK;
}

/* Refuses a file of which less would be converted than stays because its matrices are stored transposed. */
static int32_t check_transposed(const struct accel_quantize_job *job, struct accel_error *error)
{
    uint64_t converted = 0;
    for (uint64_t i = 0; i < job->count; i++)
        converted += job->rows[i].converted ? job->rows[i].elements : 0;
    if (converted >= job->transposed_elements)
        return ACCEL_OK;
    model_fault(error, ACCEL_E_UNSUPPORTED, accel_model_file_path(job->file), MODEL_NO_OFFSET,
                "%s of its matrices can be quantized: %u are stored transposed, with inputs first",
                converted == 0 ? "none" : "few", job->transposed);
    return accel_error_advise(error, ACCEL_E_UNSUPPORTED,
                              "let each run convert them when it loads: accelctl run MODEL --set weights.type=q4; or "
                              "quantize a GGUF file of the model, which convert_hf_to_gguf.py of llama.cpp makes");
}

static int32_t fill(struct accel_quantize_job *job, const struct accel_quantize_options *options,
                    struct accel_error *error)
{
    struct quantize_rules rules = {0};
    int32_t code = quantize_rules_read(job->file, options, &rules, error);
    if (code == ACCEL_OK)
        code = quantize_allocate(job, &rules, error);
    quantize_rules_free(&rules);
    if (code == ACCEL_OK)
        code = check_transposed(job, error);
    return code == ACCEL_OK ? identify(job, error) : code;
}

/* Refuses a pattern that matches no tensor: it is misspelt, or meant for another model. */
static int32_t check_keep(const struct accel_model_file *file, const struct accel_quantize_options *options,
                          struct accel_error *error)
{
    uint64_t count = accel_model_file_tensor_count(file), matched;
    if (options->keep_count > 0 && options->keep == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_quantize_options.keep is NULL");
    for (uint32_t k = 0; k < options->keep_count; k++) {
        for (matched = 0; matched < count; matched++)
            if (fnmatch(options->keep[k], accel_model_file_tensor(file, matched)->name, 0) == 0)
                break;
        if (matched < count)
            continue;
        accel_error_set(error, ACCEL_E_INVALID, "%s: no tensor is called \"%.100s\", which the caller excludes",
                        accel_model_file_path(file), options->keep[k]);
        return accel_error_advise(error, ACCEL_E_INVALID, "accelctl quantize --dry-run --tensors lists the names");
    }
    return ACCEL_OK;
}

static int32_t check(const struct accel_model_file *file, const struct accel_quantize_options *options,
                     struct accel_error *error)
{
    const char *path = accel_model_file_path(file);
    if ((options->flags & ~(ACCEL_QUANTIZE_NEAREST | ACCEL_QUANTIZE_MIX)) != 0)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "accel_quantize_options.flags 0x%x has unknown bits",
                               options->flags);
    if (options->threads > THREADS_MAX)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_quantize_options.threads is %u, at most %u",
                               options->threads, THREADS_MAX);
    if (accel_model_file_tensor_count(file) > UINT32_MAX)
        return model_fault(error, ACCEL_E_LIMIT, path, MODEL_NO_OFFSET, "it has more than %u tensors", UINT32_MAX);
    return check_keep(file, options, error);
}

static struct accel_quantize_job *make(const struct accel_model_file *file,
                                       const struct accel_quantize_options *options)
{
    uint64_t count = accel_model_file_tensor_count(file);
    struct accel_quantize_job *job = calloc(1, sizeof(*job));
    if (job == NULL)
        return NULL;
    *job = (struct accel_quantize_job){.file = file,
                                       .threads = options->threads == 0 ? 1 : options->threads,
                                       .progress = options->progress,
                                       .progress_data = options->progress_data,
                                       .count = count,
                                       .rows = calloc((size_t)count + 1, sizeof(*job->rows)),
                                       .tensors = calloc((size_t)count + 1, sizeof(*job->tensors)),
                                       .formats = calloc((size_t)count + 1, sizeof(*job->formats)),
                                       .wanted = calloc((size_t)count + 1, sizeof(*job->wanted))};
    if (job->rows != NULL && job->tensors != NULL && job->formats != NULL && job->wanted != NULL)
        return job;
    accel_quantize_free(job);
    return NULL;
}

int32_t accel_quantize_plan(const struct accel_model_file *file, const struct accel_quantize_options *options,
                            struct accel_quantize_job **out_job, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_quantize_options chosen;
    struct accel_quantize_job *job;
    int32_t code;
    if (file == NULL || options == NULL || out_job == NULL)
        return model_refuse_null(__func__, error);
    *out_job = NULL;
    code = open_struct_import(options, ACCEL_END_OF(struct accel_quantize_options, progress_data), sizeof(chosen),
                              "accel_quantize_options", &chosen, error);
    if (code == ACCEL_OK)
        code = check(file, &chosen, error);
    if (code != ACCEL_OK)
        return code;
    job = make(file, &chosen);
    if (job == NULL)
        return model_no_memory(error, accel_model_file_path(file),
                               accel_model_file_tensor_count(file) * sizeof(*job->rows));
    code = quantize_calibration_read(job, &chosen, error);
    if (code == ACCEL_OK)
        code = fill(job, &chosen, error);
    if (code == ACCEL_OK)
        *out_job = job;
    else
        accel_quantize_free(job);
    return code;
}

void accel_quantize_free(struct accel_quantize_job *job) ACCEL_NOEXCEPT
{
    if (job == NULL)
        return;
    free(job->header.data);
    free(job->rows);
    free(job->tensors);
    free(job->formats);
    free(job->wanted);
    free(job->places);
    free(job->config);
    quantize_statistics_free(job->statistics);
    quantize_menus_free(job->menus, job->count);
    free(job->chosen);
    free(job->candidates);
    free(job);
}

uint64_t accel_quantize_count(const struct accel_quantize_job *job) ACCEL_NOEXCEPT
{
    return job == NULL ? 0 : job->count;
}

const struct accel_quantize_row *accel_quantize_get(const struct accel_quantize_job *job, uint64_t index) ACCEL_NOEXCEPT
{
    return index < accel_quantize_count(job) ? &job->rows[index] : NULL;
}

const char *accel_quantize_layout(const struct accel_quantize_job *job) ACCEL_NOEXCEPT
{
    return job == NULL ? NULL : job->layout->name;
}

const char *accel_quantize_mix(const struct accel_quantize_job *job) ACCEL_NOEXCEPT
{
    return job == NULL ? NULL : job->mix;
}

uint64_t accel_quantize_bytes(const struct accel_quantize_job *job) ACCEL_NOEXCEPT
{
    return job == NULL ? 0 : job->header.file_bytes;
}
