/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles in a worker: the side of the worker. Faults of the driver end this process alone. */
#include "config.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/boundary/import.h"
#include "core/plugin/load.h"
#include "core/registry/registry.h"
#include "core/runtime/task.h"
#include "core/runtime/worker.h"
#include "tools/accel-probe/job.h"
#include "tools/accel-probe/messages.h"
#include "tools/accel-probe/probe.h"

#define INPUT_LIMIT (1u << 30)

/* Writes to the descriptor of the blob. */
struct writer {
    struct accel_blob_writer face; /* first: the driver passes its address back */
    uint64_t bytes;
    int32_t code;
};

static int32_t write_blob(const struct accel_blob_writer *face, const void *bytes, uint64_t count,
                          struct accel_error *error) ACCEL_NOEXCEPT
{
    struct writer *writer = (struct writer *)(uintptr_t)face;
    const char *data = bytes;
    if (count > ACCEL_BLOB_BYTES - writer->bytes)
        return writer->code = accel_error_set(error, ACCEL_E_LIMIT, "a blob of more than %llu bytes",
                                              (unsigned long long)ACCEL_BLOB_BYTES);
    while (count != 0) {
        ssize_t wrote = write(ACCEL_WORKER_DESCRIPTOR, data, (size_t)count);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return writer->code = accel_error_set(error, ACCEL_E_IO, "the blob cannot be written: error %d", errno);
        data += wrote;
        count -= (uint64_t)wrote;
        writer->bytes += (uint64_t)wrote;
    }
    return ACCEL_OK;
}

/* Limits the memory of the process. A sanitizer's own memory exceeds every limit. */
static void limit_memory(uint64_t memory)
{
#ifndef __SANITIZE_ADDRESS__
    struct rlimit limit = {memory, memory};
    if (memory != 0)
        setrlimit(RLIMIT_DATA, &limit);
#else
    (void)memory;
#endif
}

static int32_t read_job(struct accel_strbuf *input, struct accel_arena *arena, struct accel_worker_job *job,
                        struct accel_error *error)
{
    read_input(input, INPUT_LIMIT);
    if (input->failed)
        return accel_error_no_memory(error, "for the job");
    return parse_job(accel_strbuf_get(input), input->length, arena, job, error);
}

static int32_t compile(const struct accel_worker_job *job, struct accel_device *device, uint64_t *out_bytes,
                       struct accel_error *error)
{
    struct writer writer = {.face = {.size = sizeof(writer.face), .write = write_blob}};
    struct accel_driver_module *module = NULL;
    struct accel_task_bridge bridge;
    int32_t code;
    send_stage("compile");
    code =
        device->handle->table->compile(device->handle, job->graphs, job->graph_count, job->options, NULL, &writer.face,
                                       accel_task_bridge_init(&bridge, device->object.context, NULL), &module, error);
    accel_task_bridge_end(&bridge);
    code = accel_import_code(code, device->driver, "compile", error);
    if (code == ACCEL_OK && writer.code != ACCEL_OK)
        code = accel_error_set(error, writer.code, "driver %s: compile ignored that its blob could not be written",
                               device->driver);
    if (code == ACCEL_OK && (writer.bytes == 0 || module != NULL))
        code = accel_error_driver(error, ACCEL_E_INTERNAL, device->driver, "compile received a writer and %s",
                                  module ? "returned a module" : "wrote nothing");
    *out_bytes = writer.bytes;
    return code;
}

static int32_t run_job(const struct accel_worker_job *job, struct accel_context *context, uint64_t *out_bytes,
                       struct accel_error *error)
{
    accel_driver_query_function query = NULL;
    const struct accel_driver *driver = NULL;
    struct accel_device *device = NULL;
    int32_t code = accel_context_discover(context, error);
    if (code != ACCEL_OK)
        return code;
    send_stage("load");
    code = accel_load_open(job->path, &query, error);
    if (code == ACCEL_OK)
        code = accel_load_query(job->path, query, NULL, &context->records, &driver, error);
    send_stage("attach");
    if (code == ACCEL_OK)
        code = accel_context_attach_driver(context, driver, error);
    send_stage("open");
    if (code == ACCEL_OK)
        code = accel_device_open(context, job->device, job->settings, job->setting_count, &device, error);
    if (code == ACCEL_OK)
        code = compile(job, device, out_bytes, error);
    send_stage("close");
    accel_device_free(device);
    return code;
}

int compile_job(void)
{
    struct accel_context_options options = {.size = sizeof(options),
                                            .flags = ACCEL_CONTEXT_NO_PLUGINS | ACCEL_CONTEXT_NO_CACHE};
    struct accel_context *context = NULL;
    struct accel_worker_job job = {0};
    struct accel_arena arena = {0};
    struct accel_strbuf input = {0};
    struct accel_strbuf record = {0};
    struct accel_error error = {0};
    uint64_t bytes = 0;
    int32_t code;
    put_version(&record);
    send_records(&record);
    send_stage("begin");
    code = read_job(&input, &arena, &job, &error);
    shelter(ACCEL_WORKER_DESCRIPTOR);
    limit_memory(job.memory);
    if (code == ACCEL_OK)
        code = accel_context_create(&options, &context, &error);
    if (code == ACCEL_OK)
        code = run_job(&job, context, &bytes, &error);
    accel_context_free(context, NULL);
    if (code == ACCEL_OK) {
        put_done(&record, (uint32_t)bytes);
    } else {
        error.code = code;
        put_failure(&record, &error);
    }
    send_records(&record);
    accel_arena_free(&arena);
    accel_strbuf_free(&input);
    return 0;
}
