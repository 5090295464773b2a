/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelines: a program per key, compiled from text or created from a cached binary (binaries.c). A binary that the
 * device's compiler rejects is compiled again.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plugins/opencl/opencl.h"

#define OPTIONS 1024u
#define LOG_BYTES 4096u

struct options {
    char text[OPTIONS];
    size_t used;
};

static void add(struct options *options, const char *format, ...) ACCEL_PRINTF(2, 3);

static void add(struct options *options, const char *format, ...)
{
    va_list values;
    int wrote;

    if (options->used >= sizeof(options->text))
        return;
    va_start(values, format);
    wrote = vsnprintf(options->text + options->used, sizeof(options->text) - options->used, format, values);
    va_end(values);
    options->used += wrote < 0 ? sizeof(options->text) : (size_t)wrote;
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

        add(options, " -D%.*s=%uu", (int)length, name, key->constants[c]);
        name += length + (name[length] == ' ');
    }
    if (key->subgroup != 0)
        add(options, " -DSUBGROUP_SIZE=%u", key->subgroup);
    if (options->used >= sizeof(options->text))
        return sdk_error(error, ACCEL_E_INTERNAL, "kernel %s: its options are too long", key->source->name);
    return ACCEL_OK;
}

static void hash_of(const struct gpu_key *key, const struct options *options, uint64_t hash[2])
{
    uint8_t bytes[16] = {0};

    gpu_mix(bytes, options->text, options->used);
    gpu_mix(bytes, key->source->code, key->source->bytes);
    memcpy(hash, bytes, sizeof(bytes));
}

uint32_t opencl_pipeline_cached(struct gpu_device *device, const struct gpu_key *key)
{
    struct options options;
    uint64_t hash[2];

    if (make_options(device, key, &options, NULL) != ACCEL_OK)
        return 0;
    hash_of(key, &options, hash);
    return opencl_has_binary(device, hash);
}

/* ---- building ---- */

static cl_program from_binary(struct gpu_device *device, const uint64_t hash[2], const struct options *options)
{
    const struct opencl_functions *cl = device->cl;
    struct opencl_binary *entry = opencl_remove_binary(device, hash);
    const unsigned char *binary;
    size_t bytes;
    cl_int status = CL_SUCCESS, result = CL_SUCCESS;
    cl_program program;

    if (entry == NULL)
        return NULL;
    binary = entry->binary;
    bytes = entry->bytes;
    program = cl->CreateProgramWithBinary(device->context, 1, &device->device, &bytes, &binary, &status, &result);
    if (program != NULL && (result != CL_SUCCESS || status != CL_SUCCESS ||
                            cl->BuildProgram(program, 1, &device->device, options->text, NULL, NULL) != CL_SUCCESS)) {
        cl->ReleaseProgram(program);
        program = NULL;
    }
    device->host->release(device->host, entry);
    return program;
}

/* The compiler's first lines. */
static int32_t refuse(const struct gpu_device *device, const struct gpu_key *key, cl_program program, cl_int result,
                      struct accel_error *error)
{
    char log[LOG_BYTES] = "";

    if (result != CL_BUILD_PROGRAM_FAILURE && result != CL_INVALID_BUILD_OPTIONS)
        return opencl_error(error, result, key->source->name);
    device->cl->GetProgramBuildInfo(program, device->device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log, NULL);
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

        /* Exports the binary now: some libraries generate machine code at this point, which should run on all threads
         * and between checks for cancellation, not when the cache is written. */
        if (device->stores_binaries)
            cl->GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(binary), &binary, NULL);
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
        code = host->allocate(host, ACCEL_MEMORY_PROGRAM, sizeof(*pipeline), 64, &block, error);
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
    opencl_register_pipeline(device, pipeline);
    *out_pipeline = pipeline;
    return ACCEL_OK;
}

void opencl_pipeline_free(struct gpu_device *device, struct gpu_pipeline *pipeline)
{
    opencl_unregister_pipeline(device, pipeline);
    device->cl->ReleaseProgram(pipeline->program);
    device->host->release(device->host, pipeline);
}
