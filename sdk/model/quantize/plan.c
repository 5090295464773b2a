/* SPDX-License-Identifier: Apache-2.0 */
/* Which type each tensor gets, and where it will lie. */
#include "config.h"

#include <accel/quant/format.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sdk/model/format/open_struct.h"
#include "sdk/model/format/pool.h"
#include "sdk/model/quantize/budget.h"
#include "sdk/model/quantize/layout.h"

/* Changes whenever an encoder writes other digits, so that no file is taken up that an older one began. */
#define ENCODERS 4u

#define THREADS_MAX 1024u

/* Types that can be written, with the number of general.file_type where most matrices have that type. */
static const struct target {
    const char *name;
    const char *shown;
    uint32_t type;
    uint32_t number;
    uint32_t narrow; /* type of matrices whose rows are no whole number of its blocks, where blocks of 32 fit */
} targets[] = {
    {"f32", "F32", ACCEL_F32, 0, ACCEL_F16},
    {"f16", "F16", ACCEL_F16, 1, ACCEL_F16},
    {"bf16", "BF16", ACCEL_BF16, 32, ACCEL_F16},
    {"q8_0", "Q8_0", ACCEL_Q8_0, 7, ACCEL_F16},
    {"q6_k", "Q6_K", ACCEL_Q6_K, 18, ACCEL_Q8_0},
    {"q5_k", "Q5_K", ACCEL_Q5_K, 16, ACCEL_Q5_0},
    {"q5_1", "Q5_1", ACCEL_Q5_1, 9, ACCEL_F16},
    {"q5_0", "Q5_0", ACCEL_Q5_0, 8, ACCEL_F16},
    {"q4_k", "Q4_K", ACCEL_Q4_K, 14, ACCEL_Q4_0},
    {"q4_1", "Q4_1", ACCEL_Q4_1, 3, ACCEL_F16},
    {"q4_0", "Q4_0", ACCEL_Q4_0, 2, ACCEL_F16},
    {"iq4_nl", "IQ4_NL", ACCEL_IQ4_NL, 25, ACCEL_F16},
    {"iq4_xs", "IQ4_XS", ACCEL_IQ4_XS, 30, ACCEL_IQ4_NL},
    {"mxfp4", "MXFP4", ACCEL_MXFP4, 38, ACCEL_F16},
    {"q3_k", "Q3_K", ACCEL_Q3_K, 11, ACCEL_IQ4_NL},
    {"q2_k", "Q2_K", ACCEL_Q2_K, 10, ACCEL_IQ4_NL},
};
#define TARGETS (sizeof(targets) / sizeof(targets[0]))

static const struct target *find_target(const char *name)
{
    for (size_t i = 0; name != NULL && i < TARGETS; i++)
        if (strcasecmp(targets[i].name, name) == 0)
            return &targets[i];
    return NULL;
}

/* The row of a type that is in the table. */
static const struct target *find_type(uint32_t type)
{
    const struct target *target = targets;
    while (target->type != type)
        target++;
    return target;
}

/* True when rows of `width` values are whole blocks of the type. */
static bool divides(uint32_t type, uint64_t width)
{
    struct accel_format format;
    return accel_format_describe(type, &format) == ACCEL_OK && width % format.block_values == 0;
}

static bool is_kept(const struct accel_quantize_options *options, const char *name)
{
    for (uint32_t i = 0; i < options->keep_count; i++)
        if (fnmatch(options->keep[i], name, 0) == 0)
            return true;
    return false;
}

/* True when a row of `width` values can be read from `type`. */
static bool decodes(uint32_t type, uint64_t width)
{
    struct accel_format format;
    float value;
    if (accel_format_describe(type, &format) != ACCEL_OK || width % format.block_values != 0)
        return false;
    if (format.kind == ACCEL_FORMAT_SCALAR)
        return type == ACCEL_F32 || type == ACCEL_F16 || type == ACCEL_BF16 || type == ACCEL_F64;
    return accel_format_decode(type, (const void *const[ACCEL_FORMAT_PLANES]){"", "", "", ""}, 0, &value) == ACCEL_OK;
}

static void keep(struct accel_quantize_row *row, const struct accel_model_tensor *tensor, const char *reason)
{
    row->to = row->from;
    row->to_name = row->from_name;
    row->converted = 0;
    row->reason = reason;
    row->bytes = tensor->bytes;
}

static void decide(const struct accel_quantize_options *options, const struct target *target,
                   const struct accel_model_tensor *tensor, struct accel_quantize_row *row)
{
    uint64_t width = tensor->rank == 0 ? 1 : tensor->dims[tensor->rank - 1];
    *row = (struct accel_quantize_row){.size = sizeof(*row),
                                       .from = tensor->type,
                                       .to = target->type,
                                       .converted = 1,
                                       .from_name = tensor->type_name,
                                       .to_name = target->shown,
                                       .elements = 1,
                                       .name = tensor->name,
                                       .reason = ""};
    for (uint32_t i = 0; i < tensor->rank; i++)
        row->elements *= tensor->dims[i];
    if (is_kept(options, tensor->name))
        keep(row, tensor, "kept as asked");
    else if (row->elements == 0)
        keep(row, tensor, "holds no values");
    else if (tensor->rank < 2)
        keep(row, tensor, "no matrix");
    else if (row->from == row->to)
        keep(row, tensor, "has that type");
    else if (!decodes(row->from, width))
        keep(row, tensor, "its type cannot be decoded");
    else if (!divides(row->to, width)) {
        const struct target *other = find_type(divides(target->narrow, width) ? target->narrow : ACCEL_F16);
        row->to = other->type;
        row->to_name = other->shown;
        row->reason = "rows are no whole number of blocks";
        if (row->from == row->to)
            keep(row, tensor, row->reason);
    }
}

/* ---- the header ---- */

/* The values of the file with general.file_type replaced or added. */
static int32_t make_header(struct accel_quantize_job *job, const struct target *target, struct accel_error *error)
{
    static const char key[] = "general.file_type";
    const char *name = accel_model_file_path(job->file);
    uint64_t count = accel_model_file_value_count(job->file);
    const struct accel_model_value **values = calloc((size_t)count + 1, sizeof(*values));
    int32_t code;
    struct accel_model_value own = {
        .size = sizeof(own), .kind = ACCEL_MODEL_UNSIGNED, .key = key, .data = &target->number, .count = 1, .width = 4};
    bool replaced = false;
    if (values == NULL)
        return model_no_memory(error, name, count * sizeof(*values));
    for (uint64_t i = 0; i < count; i++) {
        values[i] = accel_model_file_value(job->file, i);
        if (strcmp(values[i]->key, key) == 0 && !replaced) {
            values[i] = &own;
            replaced = true;
        }
    }
    if (!replaced)
        values[count++] = &own;
    code = model_gguf_header(name, values, count, job->tensors, job->count, &job->header, error);
    free(values);
    return code;
}

/* Everything that decides the bytes of the file: its header, the file that is read, and the encoders. */
static int32_t identify(struct accel_quantize_job *job, struct accel_error *error)
{
    uint64_t facts[4] = {XXH3_64bits(job->header.data, job->header.bytes), 2 * ENCODERS + job->nearest, 0, 0};
    struct stat status;
    int fd = accel_model_file_part_fd(job->file, 0);
    if (fd >= 0 && fstat(fd, &status) != 0)
        return accel_error_set(error, ACCEL_E_IO, "%s: cannot ask for its state", accel_model_file_path(job->file));
    facts[2] = accel_model_file_part_bytes(job->file, 0);
    if (fd >= 0)
        facts[3] = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    job->identity = XXH3_64bits(facts, sizeof(facts));
    for (uint32_t part = 1; part < accel_model_file_part_count(job->file); part++) {
        fd = accel_model_file_part_fd(job->file, part);
        if (fd < 0 || fstat(fd, &status) != 0)
            return accel_error_set(error, ACCEL_E_IO, "%s: cannot ask for its state",
                                   accel_model_file_part_path(job->file, part));
        facts[2] = accel_model_file_part_bytes(job->file, part);
        facts[3] = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
        job->identity = XXH3_64bits_withSeed(facts, sizeof(facts), job->identity);
    }
    for (uint64_t i = 0; i < job->count; i++)
        job->identity = XXH3_64bits_withSeed(&job->rows[i].converted, sizeof(uint32_t), job->identity);
    return ACCEL_OK;
}

int32_t quantize_plan_gguf(struct accel_quantize_job *job, const struct accel_quantize_options *options,
                           struct accel_error *error)
{
    const struct target *target = find_target(options->type);
    int32_t code;
    for (uint64_t i = 0; i < job->count; i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(job->file, i);
        decide(options, target, tensor, &job->rows[i]);
        job->tensors[i] = (struct model_gguf_tensor){
            .name = tensor->name, .dims = tensor->dims, .rank = tensor->rank, .type = job->rows[i].to};
    }
    code = make_header(job, target, error);
    for (uint64_t i = 0; i < job->count && code == ACCEL_OK; i++)
        job->rows[i].bytes = job->tensors[i].bytes;
    return code;
}

static int32_t fill(struct accel_quantize_job *job, const struct accel_quantize_options *options,
                    struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    job->layout = &quantize_layout_gguf;
    if (accel_model_file_format(job->file) == ACCEL_MODEL_SAFETENSORS) {
        job->layout = &quantize_layout_gptq;
        code = accel_format_describe(accel_format_find(options->type), &job->format);
    }
    if (code == ACCEL_OK)
        code = job->layout->plan(job, options, error);
    return code == ACCEL_OK ? identify(job, error) : code;
}

static int32_t refuse_type(const char *type, struct accel_error *error)
{
    char known[160];
    size_t used = 0;
    for (size_t i = 0; i < TARGETS && used < sizeof(known); i++)
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i == 0 ? "" : ", ", targets[i].name);
    return accel_error_set(error, ACCEL_E_UNSUPPORTED, "type \"%.40s\" is none of %s", type == NULL ? "" : type, known);
}

/* Folders become folders of packed digits, and nothing else. */
static int32_t check_folder(const char *path, const char *type, struct accel_error *error)
{
    struct accel_format format;
    if (type != NULL && accel_format_describe(accel_format_find(type), &format) == ACCEL_OK &&
        format.kind == ACCEL_FORMAT_PLANAR)
        return ACCEL_OK;
    return accel_error_set(error, ACCEL_E_UNSUPPORTED,
                           "%s: is written with types q2, q3, q4 and q8 in groups of 32 to 512, as q4_g128 or q4_g128a "
                           "(with zero points), and not as \"%.40s\"",
                           path, type == NULL ? "" : type);
}

/* A pattern that keeps nothing is one that was meant for another model, or misspelt. */
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
        accel_error_set(error, ACCEL_E_INVALID, "%s: no tensor is called \"%.100s\", which is to be kept",
                        accel_model_file_path(file), options->keep[k]);
        accel_error_remedy(error, "accelctl quantize --dry-run --tensors lists the names");
        return ACCEL_E_INVALID;
    }
    return ACCEL_OK;
}

static int32_t check(const struct accel_model_file *file, const struct accel_quantize_options *options,
                     struct accel_error *error)
{
    const char *path = accel_model_file_path(file);
    int32_t code;
    if (accel_model_file_format(file) == ACCEL_MODEL_SAFETENSORS) {
        code = check_folder(path, options->type, error);
        if (code != ACCEL_OK)
            return code;
    } else if (find_target(options->type) == NULL)
        return refuse_type(options->type, error);
    if ((options->flags & ~ACCEL_QUANTIZE_NEAREST) != 0)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "accel_quantize_options.flags 0x%x has unknown bits",
                               options->flags);
    if (options->threads > THREADS_MAX)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_quantize_options.threads is %u, at most %u",
                               options->threads, THREADS_MAX);
    if (accel_model_file_tensor_count(file) > UINT32_MAX)
        return accel_error_set(error, ACCEL_E_LIMIT, "%s: has more than %u tensors", path, UINT32_MAX);
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
                                       .nearest = (options->flags & ACCEL_QUANTIZE_NEAREST) != 0,
                                       .progress = options->progress,
                                       .progress_data = options->progress_data,
                                       .count = count,
                                       .rows = calloc((size_t)count + 1, sizeof(*job->rows)),
                                       .tensors = calloc((size_t)count + 1, sizeof(*job->tensors))};
    if (job->rows != NULL && job->tensors != NULL)
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
        return accel_error_set(error, ACCEL_E_INVALID, "accel_quantize_plan: an argument is NULL");
    *out_job = NULL;
    code = open_struct_take(options, ACCEL_END_OF(struct accel_quantize_options, progress_data), sizeof(chosen),
                            "accel_quantize_options", &chosen, error);
    if (code == ACCEL_OK)
        code = check(file, &chosen, error);
    if (code != ACCEL_OK)
        return code;
    job = make(file, &chosen);
    if (job == NULL)
        return model_no_memory(error, accel_model_file_path(file),
                               accel_model_file_tensor_count(file) * sizeof(*job->rows));
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
    free(job->places);
    free(job->config);
    quantize_menus_free(job->menus, job->count);
    free(job->chosen);
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

uint64_t accel_quantize_bytes(const struct accel_quantize_job *job) ACCEL_NOEXCEPT
{
    return job == NULL ? 0 : job->header.file_bytes;
}
