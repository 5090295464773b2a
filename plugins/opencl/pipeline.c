/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelines: a program for each key, compiled from text or made of a binary that an earlier run kept. A binary is found
 * by the hash of text and options; one that the device's compiler does not take any more is compiled again.
 */
#include "plugins/opencl/opencl.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define OPTIONS 1024u
#define LOG_BYTES 4096u
#define KEPT_BYTES ((uint64_t)8 << 20) /* binaries of pipelines that are not alive, at most */

struct options {
    char text[OPTIONS];
    size_t used;
};

static void add(struct options *options, const char *format, ...) ACCEL_PRINTF(2, 3);

static void add(struct options *options, const char *format, ...)
{
    va_list values;
    int wrote;

    if (options->used >= sizeof options->text)
        return;
    va_start(values, format);
    wrote = vsnprintf(options->text + options->used, sizeof options->text - options->used, format, values);
    va_end(values);
    options->used += wrote < 0 ? sizeof options->text : (size_t)wrote;
}

static int32_t make_options(const struct gpu_device *device, const struct gpu_key *key, struct options *options,
                            struct accel_error *error)
{
    const char *name = key->source->constants;

    options->used = 0;
    /* Compilers on top of clang print the number of warnings to the error output of the process. */
    add(options, "%s -w -DACCEL_OPENCL=1 %s", device->standard, key->source->defines);
    for (uint32_t f = 0; f < gpu_feature_count; f++)
        if ((device->limits.features & gpu_features[f].bit) != 0)
            add(options, " -DHAS_%s=1", gpu_features[f].name);
    for (uint32_t c = 0; c < key->constant_count; c++) {
        size_t length = strcspn(name, " ");

        if (length == 0)
            return sdk_error(error, ACCEL_E_INTERNAL, "kernel %s has fewer than %u constants", key->source->name,
                             key->constant_count);
        add(options, " -D%.*s=%uu", (int)length, name, key->constants[c]);
        name += length + (name[length] == ' ');
    }
    if (key->subgroup != 0)
        add(options, " -DSUBGROUP_SIZE=%u", key->subgroup);
    if (options->used >= sizeof options->text)
        return sdk_error(error, ACCEL_E_INTERNAL, "kernel %s: its options are too long", key->source->name);
    return ACCEL_OK;
}

static void hash_of(const struct gpu_key *key, const struct options *options, uint64_t hash[2])
{
    uint8_t bytes[16] = {0};

    gpu_mix(bytes, options->text, options->used);
    gpu_mix(bytes, key->source->code, key->source->bytes);
    memcpy(hash, bytes, sizeof bytes);
}

/* ---- what is kept ---- */

static const struct opencl_kept *find_kept(struct gpu_device *device, const uint64_t hash[2])
{
    const struct opencl_kept *kept;

    pthread_mutex_lock(&device->lock);
    for (kept = device->kept; kept != NULL; kept = kept->next)
        if (kept->hash[0] == hash[0] && kept->hash[1] == hash[1])
            break;
    pthread_mutex_unlock(&device->lock);
    return kept;
}

/* Under `writing`. */
static bool is_among(const struct gpu_pipeline *one, const uint64_t hash[2])
{
    while (one != NULL && (one->hash[0] != hash[0] || one->hash[1] != hash[1]))
        one = one->next;
    return one != NULL;
}

static bool is_alive(struct gpu_device *device, const uint64_t hash[2])
{
    bool alive;

    pthread_mutex_lock(&device->writing);
    alive = is_among(device->pipelines, hash);
    pthread_mutex_unlock(&device->writing);
    return alive;
}

static struct opencl_kept *take_kept(const struct gpu_device *device, const uint64_t hash[2], uint64_t bytes)
{
    struct opencl_kept *kept;
    void *block = NULL;

    if (device->host->allocate(device->host, ACCEL_MEMORY_HOST, sizeof *kept + bytes, 64, &block, NULL) != ACCEL_OK)
        return NULL;
    kept = block;
    memcpy(kept->hash, hash, sizeof kept->hash);
    kept->bytes = bytes;
    return kept;
}

/* The newest come first; the oldest go where there are too many. */
static void add_kept(struct gpu_device *device, struct opencl_kept *kept)
{
    struct opencl_kept **place, *old;
    uint64_t bytes = 0;

    pthread_mutex_lock(&device->lock);
    kept->next = device->kept;
    device->kept = kept;
    for (place = &device->kept; *place != NULL && bytes + (*place)->bytes <= KEPT_BYTES; place = &(*place)->next)
        bytes += (*place)->bytes;
    old = *place;
    *place = NULL;
    pthread_mutex_unlock(&device->lock);
    while (old != NULL) {
        struct opencl_kept *next = old->next;

        device->host->release(device->host, old);
        old = next;
    }
}

void opencl_kept_free(struct gpu_device *device)
{
    while (device->kept != NULL) {
        struct opencl_kept *kept = device->kept;

        device->kept = kept->next;
        device->host->release(device->host, kept);
    }
}

static int32_t write_one(const struct accel_blob_writer *writer, const uint64_t hash[2], const void *binary,
                         uint64_t bytes, struct accel_error *error)
{
    const uint64_t head[3] = {hash[0], hash[1], bytes};
    int32_t code = writer->write(writer, head, sizeof head, error);

    return code == ACCEL_OK ? writer->write(writer, binary, bytes, error) : code;
}

/* The binary of a program. One that the library does not give, or that is larger than plans count with, is left out. */
static int32_t write_pipeline(struct gpu_device *device, const struct gpu_pipeline *pipeline,
                              const struct accel_blob_writer *writer, struct accel_error *error)
{
    const struct opencl_functions *cl = device->cl;
    void *binary = NULL;
    size_t bytes = 0;
    int32_t code;

    if (cl->GetProgramInfo(pipeline->program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS ||
        bytes == 0 || bytes > OPENCL_BINARY_BYTES)
        return ACCEL_OK;
    code = device->host->allocate(device->host, ACCEL_MEMORY_HOST, bytes, 64, &binary, error);
    if (code == ACCEL_OK &&
        cl->GetProgramInfo(pipeline->program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
        code = write_one(writer, pipeline->hash, binary, bytes, error);
    device->host->release(device->host, binary);
    return code;
}

/* Takes the next program of kept bytes: its hash and size, and where its binary is. False at their end, or where they
 * are cut off: then bytes are left. */
static bool next_kept(const char **at, uint64_t *left, uint64_t head[3], const char **out_binary)
{
    if (*left < 3 * sizeof *head)
        return false;
    memcpy(head, *at, 3 * sizeof *head);
    if (head[2] > *left - 3 * sizeof *head)
        return false;
    *out_binary = *at + 3 * sizeof *head;
    *at = *out_binary + head[2];
    *left -= 3 * sizeof *head + head[2];
    return true;
}

/* The first ones, as many as this device would keep. Under `writing`. */
static int32_t write_others(struct gpu_device *device, const char *at, uint64_t left,
                            const struct accel_blob_writer *writer, struct accel_error *error)
{
    const char *binary;
    uint64_t head[3], bytes = 0;
    int32_t code = ACCEL_OK;

    while (code == ACCEL_OK && next_kept(&at, &left, head, &binary)) {
        if (is_among(device->pipelines, head) || find_kept(device, head) != NULL || head[2] > KEPT_BYTES - bytes)
            continue;
        bytes += head[2];
        code = write_one(writer, head, binary, head[2], error);
    }
    return code;
}

/* Front to back: hash, bytes, binary. No pipeline comes or goes meanwhile. */
int32_t opencl_cache_write(struct gpu_device *device, const void *others, uint64_t count,
                           const struct accel_blob_writer *writer, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    pthread_mutex_lock(&device->writing);
    pthread_mutex_lock(&device->lock);
    for (const struct opencl_kept *kept = device->kept; kept != NULL && code == ACCEL_OK; kept = kept->next)
        code = write_one(writer, kept->hash, kept->binary, kept->bytes, error);
    pthread_mutex_unlock(&device->lock);
    for (const struct gpu_pipeline *one = device->pipelines; one != NULL && code == ACCEL_OK; one = one->next)
        code = write_pipeline(device, one, writer, error);
    if (code == ACCEL_OK)
        code = write_others(device, others, count, writer, error);
    pthread_mutex_unlock(&device->writing);
    return code;
}

int32_t opencl_cache_read(struct gpu_device *device, const void *bytes, uint64_t count, struct accel_error *error)
{
    const char *at = bytes, *binary;
    uint64_t head[3];

    while (next_kept(&at, &count, head, &binary)) {
        struct opencl_kept *kept = NULL;

        if (find_kept(device, head) == NULL && !is_alive(device, head))
            kept = take_kept(device, head, head[2]);
        if (kept != NULL) {
            memcpy(kept->binary, binary, head[2]);
            add_kept(device, kept);
        }
    }
    return count == 0 ? ACCEL_OK : sdk_error(error, ACCEL_E_MISS, "the kept programs are cut off");
}

uint32_t opencl_pipeline_kept(struct gpu_device *device, const struct gpu_key *key)
{
    struct options options;
    uint64_t hash[2];

    if (make_options(device, key, &options, NULL) != ACCEL_OK)
        return 0;
    hash_of(key, &options, hash);
    return find_kept(device, hash) != NULL;
}

/* ---- building ---- */

/* Takes an entry out of the list: what it becomes is written from the pipeline, or has been found useless. */
static struct opencl_kept *take_out(struct gpu_device *device, const uint64_t hash[2])
{
    struct opencl_kept **place = &device->kept;
    struct opencl_kept *kept;

    pthread_mutex_lock(&device->lock);
    while (*place != NULL && ((*place)->hash[0] != hash[0] || (*place)->hash[1] != hash[1]))
        place = &(*place)->next;
    kept = *place;
    if (kept != NULL)
        *place = kept->next;
    pthread_mutex_unlock(&device->lock);
    return kept;
}

static cl_program from_binary(struct gpu_device *device, const uint64_t hash[2], const struct options *options)
{
    const struct opencl_functions *cl = device->cl;
    struct opencl_kept *kept = take_out(device, hash);
    const unsigned char *binary;
    size_t bytes;
    cl_int status = CL_SUCCESS, result = CL_SUCCESS;
    cl_program program;

    if (kept == NULL)
        return NULL;
    binary = kept->binary;
    bytes = kept->bytes;
    program = cl->CreateProgramWithBinary(device->context, 1, &device->device, &bytes, &binary, &status, &result);
    if (program != NULL && (result != CL_SUCCESS || status != CL_SUCCESS ||
                            cl->BuildProgram(program, 1, &device->device, options->text, NULL, NULL) != CL_SUCCESS)) {
        cl->ReleaseProgram(program);
        program = NULL;
    }
    device->host->release(device->host, kept);
    return program;
}

/* The compiler's first lines. */
static int32_t refuse(const struct gpu_device *device, const struct gpu_key *key, cl_program program, cl_int result,
                      struct accel_error *error)
{
    char log[LOG_BYTES] = "";

    if (result != CL_BUILD_PROGRAM_FAILURE && result != CL_INVALID_BUILD_OPTIONS)
        return opencl_error(error, result, key->source->name);
    device->cl->GetProgramBuildInfo(program, device->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    for (char *at = log; *at != '\0'; at++)
        *at = *at == '\n' || *at == '\t' ? ' ' : *at;
    return sdk_error(error, ACCEL_E_REFUSED, "the device's compiler refuses kernel %s: %.400s", key->source->name, log);
}

static int32_t from_text(struct gpu_device *device, const struct gpu_key *key, const struct options *options,
                         cl_program *out_program, struct accel_error *error)
{
    const struct opencl_functions *cl = device->cl;
    const char *text = key->source->code;
    size_t bytes = key->source->bytes;
    cl_int result = CL_SUCCESS;
    cl_program program = cl->CreateProgramWithSource(device->context, 1, &text, &bytes, &result);
    int32_t code;

    if (result != CL_SUCCESS)
        return opencl_error(error, result, key->source->name);
    result = cl->BuildProgram(program, 1, &device->device, options->text, NULL, NULL);
    if (result == CL_SUCCESS) {
        size_t binary = 0;

        /* Some libraries compile down to the machine when they are asked for a binary: here, on all threads, between
         * two looks at whether to go on, and not when the cache is written. */
        if (device->keeps)
            cl->GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof binary, &binary, NULL);
        *out_program = program;
        return ACCEL_OK;
    }
    code = refuse(device, key, program, result, error);
    cl->ReleaseProgram(program);
    return code;
}

int32_t opencl_pipeline_create(struct gpu_device *device, const struct gpu_key *key, struct gpu_pipeline **out_pipeline,
                               struct accel_error *error)
{
    const struct accel_host *host = device->host;
    struct gpu_pipeline *pipeline;
    struct options options;
    void *block = NULL;
    int32_t code = make_options(device, key, &options, error);

    *out_pipeline = NULL;
    if (code == ACCEL_OK)
        code = host->allocate(host, ACCEL_MEMORY_PROGRAM, sizeof *pipeline, 64, &block, error);
    if (code != ACCEL_OK)
        return code;
    pipeline = block;
    pipeline->group = key->constants[0];
    hash_of(key, &options, pipeline->hash);
    pipeline->program = from_binary(device, pipeline->hash, &options);
    if (pipeline->program == NULL)
        code = from_text(device, key, &options, &pipeline->program, error);
    if (code != ACCEL_OK) {
        host->release(host, block);
        return code;
    }
    pthread_mutex_lock(&device->writing);
    pipeline->next = device->pipelines;
    device->pipelines = pipeline;
    pthread_mutex_unlock(&device->writing);
    *out_pipeline = pipeline;
    return ACCEL_OK;
}

void opencl_pipeline_free(struct gpu_device *device, struct gpu_pipeline *pipeline)
{
    struct gpu_pipeline **place = &device->pipelines;

    pthread_mutex_lock(&device->writing);
    while (*place != pipeline)
        place = &(*place)->next;
    *place = pipeline->next;
    pthread_mutex_unlock(&device->writing);
    device->cl->ReleaseProgram(pipeline->program);
    device->host->release(device->host, pipeline);
}
