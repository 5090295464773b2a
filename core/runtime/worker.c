/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles in a worker: the side of the calling process. */
#include "config.h"

#include "core/runtime/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/plugin/child.h"
#include "core/plugin/ipc.h"
#include "core/plugin/plugin.h"
#include "core/plugin/probe.h"
#include "core/profile/environment.h"
#include "core/runtime/device.h"
#include "core/runtime/task.h"
#include "core/topology/topology.h"

#define ERROR_LINE 160u

/* State of one compile. */
struct attempt {
    struct accel_module *module;
    struct accel_device *device;
    struct accel_context *context;
    const struct accel_plugin *plugin;
    struct accel_strbuf input;
    char *folder;                       /* cache folder, or NULL */
    char name[ACCEL_HASH128_HEX_BYTES]; /* name of the blob; empty: not cached */
    uint64_t milliseconds;
    const struct accel_task *task;
};

bool accel_worker_is_required(const struct accel_device *device)
{
    const struct accel_plugin *plugin = accel_device_plugin(device);
    return plugin != NULL && plugin->note != NULL && strcmp(plugin->note->isolate, "compile") == 0;
}

/* ---- cache ---- */

/* Names the blob by a hash of everything that it depends on; without a fingerprint that is unknown. */
static void name_blob(struct attempt *attempt)
{
    const char *build = attempt->plugin->info.build_id;
    uint8_t fingerprint[16];
    struct accel_hash128 hash;
    uint64_t seed;
    if (attempt->input.failed || accel_device_fingerprint(attempt->device, fingerprint) != ACCEL_OK)
        return;
    seed = accel_hash64(fingerprint, sizeof(fingerprint), accel_hash64(build, strlen(build), 0));
    hash = accel_hash128(attempt->input.text, attempt->input.length, seed);
    accel_hash128_to_hex(hash, attempt->name);
}

/* ---- the worker ---- */

/* Returns the last line of the worker's standard error, sanitized for a message. */
static const char *last_error_line(struct accel_child_stream *stream)
{
    char *line;
    while (stream->bytes > 0 && strchr("\r\n \t", stream->data[stream->bytes - 1]) != NULL)
        stream->data[--stream->bytes] = '\0';
    line = strrchr(stream->data, '\n');
    line = line ? line + 1 : stream->data;
    accel_utf8_one_line(line);
    line[accel_utf8_cut(line, strlen(line), ERROR_LINE)] = '\0';
    return line;
}

/* Maps the end of the worker to an error. *out_lasting: a second run would fail in the same way. */
static int32_t classify_end(const struct attempt *attempt, struct accel_child_end *end, uint64_t bytes,
                            bool *out_lasting, struct accel_error *error)
{
    const char *driver = attempt->device->driver;
    const char *line = last_error_line(&end->complaints);
    const char *quote = *line ? "; last error output: " : "";
    struct accel_ipc_answer answer;
    struct accel_arena arena = {0};
    int32_t code = accel_ipc_read(end->answer, end->answer_bytes, &arena, &answer, NULL);
    *out_lasting = true;
    if (end->stopped) {
        *out_lasting = false;
        code = accel_error_driver(error, ACCEL_E_CANCELLED, driver, "compiling was cancelled");
    } else if (end->timed_out) {
        code = accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_TIMEOUT,
                              "driver %s hangs in %s: its worker was ended after %llu ms%s%s", driver, answer.stage,
                              (unsigned long long)attempt->milliseconds, quote, line);
        accel_error_remedy(error, "set ACCEL_COMPILE_MILLISECONDS to give workers more time");
    } else if (end->signal != 0) {
        code = accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_INTERNAL,
                              "driver %s crashes in %s: its worker ended with %s (signal %d)%s%s", driver, answer.stage,
                              accel_signal_name(end->signal), end->signal, quote, line);
    } else if (code == ACCEL_OK && answer.failed) {
        *out_lasting = false;
        code = accel_error_set(error, answer.code, "%s", answer.text);
        accel_error_remedy(error, "%s", answer.remedy);
    } else if (code != ACCEL_OK || end->too_much || !answer.done || (end->status != 0 && !end->lost)) {
        code = accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_INTERNAL,
                              "driver %s ends its worker in %s, with the exit status %d%s%s", driver, answer.stage,
                              end->status, quote, line);
    } else if (answer.devices != (uint32_t)bytes || bytes == 0) {
        code = accel_error_driver(error, ACCEL_E_CORRUPT, driver, "its worker reported %u bytes, but the blob has %llu",
                                  answer.devices, (unsigned long long)bytes);
    }
    if (error != NULL && end->signal != 0 && error->code == code)
        error->native = end->timed_out ? 0 : end->signal;
    accel_arena_free(&arena);
    return code;
}

/* Reads the blob. The worker has ended, so that the bytes cannot change after they are checked. */
static int32_t read_blob(int fd, uint64_t bytes, struct accel_blob *out_blob, struct accel_error *error)
{
    uint64_t done = 0;
    out_blob->bytes = bytes;
    out_blob->memory = bytes > ACCEL_BLOB_BYTES ? NULL : malloc((size_t)bytes + ACCEL_BLOB_HEADER);
    if (out_blob->memory == NULL)
        return accel_error_no_memory(error, "for a blob of %llu bytes", (unsigned long long)bytes);
    while (done < bytes) {
        ssize_t got = pread(fd, out_blob->memory + ACCEL_BLOB_HEADER + done, (size_t)(bytes - done), (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            free(out_blob->memory);
            *out_blob = (struct accel_blob){0};
            return accel_error_set(error, ACCEL_E_IO, "a worker's blob cannot be read: error %d", errno);
        }
        done += (uint64_t)got;
    }
    return ACCEL_OK;
}

static bool is_stopped(void *data)
{
    const struct accel_task *task = ((const struct attempt *)data)->task;
    return task->progress(task, 0, 1) != ACCEL_OK;
}

static int32_t run(struct attempt *attempt, struct accel_child_end *end, struct accel_blob *out_blob, bool *out_lasting,
                   struct accel_error *error)
{
    char *program = NULL;
    struct stat facts = {0};
    int fd = fcntl(memfd_create("accel-blob", MFD_CLOEXEC), F_DUPFD_CLOEXEC, ACCEL_WORKER_DESCRIPTOR + 1);
    int32_t code = accel_probe_program(NULL, &program, error);
    if (code == ACCEL_OK && fd < 0)
        code = accel_error_set(error, ACCEL_E_IO, "no file for a worker's blob: error %d", errno);
    if (code == ACCEL_OK) {
        char *arguments[] = {program, (char *)"--compile", NULL};
        struct accel_child_job job = {.program = program,
                                      .arguments = arguments,
                                      .input = attempt->input.text,
                                      .input_bytes = attempt->input.length,
                                      .milliseconds = (uint32_t)attempt->milliseconds,
                                      .extra = fd,
                                      .stop = is_stopped,
                                      .data = attempt};
        code = accel_child_run(&job, end, error);
    }
    if (code == ACCEL_OK && fstat(fd, &facts) == 0)
        code = classify_end(attempt, end, (uint64_t)facts.st_size, out_lasting, error);
    if (code == ACCEL_OK)
        code = read_blob(fd, (uint64_t)facts.st_size, out_blob, error);
    if (fd >= 0)
        close(fd);
    free(program);
    return code;
}

static int32_t compile_and_log(struct attempt *attempt, struct accel_blob *out_blob, struct accel_error *error)
{
    struct accel_child_end *end = calloc(1, sizeof(*end));
    struct accel_error own = {0};
    bool lasting = false;
    int32_t code;
    if (end == NULL)
        return accel_error_no_memory(error, "for a worker");
    code = run(attempt, end, out_blob, &lasting, &own);
    accel_log_write(&attempt->context->log, ACCEL_LOG_INFO, "worker",
                    "driver=%s code=%s ms=%llu bytes=%llu text=\"%s\"", attempt->device->driver, accel_error_name(code),
                    (unsigned long long)(end->nanoseconds / 1000000u), (unsigned long long)out_blob->bytes, own.text);
    free(end);
    if (code == ACCEL_OK)
        return code;
    if (lasting && attempt->folder != NULL && attempt->name[0] != '\0')
        accel_quarantine_add(attempt->folder, attempt->name, &attempt->context->log, &own);
    if (error != NULL)
        *error = own;
    return code;
}

/* Gets the blob from the cache, or from a worker. */
static int32_t find_or_compile(struct attempt *attempt, bool again, struct accel_blob *out_blob,
                               struct accel_error *error)
{
    bool cached = attempt->folder != NULL && attempt->name[0] != '\0';
    struct accel_error why = {0};
    int32_t code = ACCEL_E_MISS;
    if (cached && !again) {
        code = accel_blob_read(attempt->folder, attempt->name, out_blob, &why);
        if (code == ACCEL_OK)
            return code;
        if (code != ACCEL_E_NOT_FOUND)
            accel_log_write(&attempt->context->log, ACCEL_LOG_WARN, "worker", "ignored=\"%s\"", why.text);
    }
    code = cached ? accel_quarantine_find(attempt->folder, attempt->name, &attempt->context->log, error) : ACCEL_OK;
    if (code == ACCEL_OK)
        code = compile_and_log(attempt, out_blob, error);
    if (code == ACCEL_OK && cached && accel_blob_write(attempt->folder, attempt->name, out_blob, &why) != ACCEL_OK)
        accel_log_write(&attempt->context->log, ACCEL_LOG_WARN, "worker", "unwritten=\"%s\"", why.text);
    return code;
}

static int32_t check_baked(const struct accel_module *module, struct accel_error *error)
{
    for (uint32_t i = 0; i < module->weight_count; i++)
        if ((module->weights[i].placements & 1u << ACCEL_BAKED) != 0)
            return accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_UNSUPPORTED,
                                  "driver %s bakes the weight %s, but a worker receives no weights",
                                  module->device->driver, module->weights[i].value->key);
    return ACCEL_OK;
}

int32_t accel_worker_compile(struct accel_module *module, const struct accel_compile_options *options, bool again,
                             const struct accel_task *task, struct accel_blob *out_blob, struct accel_error *error)
{
    struct accel_device *device = module->device;
    struct accel_task_bridge bridge;
    struct attempt attempt = {.module = module,
                              .device = device,
                              .context = device->object.context,
                              .plugin = accel_device_plugin(device),
                              .task = accel_task_bridge_init(&bridge, device->object.context, task)};
    /* The deadline of a child has 32 bits. */
    const uint64_t day = 86400000u;
    const struct accel_machine *machine = accel_topology_machine(attempt.context->topology);
    struct accel_worker_job job = {.path = attempt.plugin->info.path,
                                   .device = device->listed->info.name,
                                   .setting_count = device->setting_count,
                                   .settings = device->settings,
                                   .graphs = module->graphs,
                                   .graph_count = module->graph_count,
                                   .options = options};
    uint64_t memory = 0;
    int32_t code;
    memset(out_blob, 0, sizeof(*out_blob));
    if (!ACCEL_CAN(device->handle->table, load))
        return accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_UNSUPPORTED,
                              "driver %s requires isolated compile but cannot load the compiled module",
                              device->driver);
    code = check_baked(module, error);
    if (code == ACCEL_OK)
        code = accel_environment_limit("ACCEL_COMPILE_MILLISECONDS", ACCEL_WORKER_MILLISECONDS, &attempt.milliseconds,
                                       error);
    if (code == ACCEL_OK)
        code = accel_environment_limit("ACCEL_COMPILE_BYTES", machine->memory_usable.bytes, &memory, error);
    if (attempt.milliseconds > day)
        attempt.milliseconds = day;
    if (code == ACCEL_OK)
        code = accel_context_cache_folder(attempt.context, "compiled", &attempt.folder, error);
    if (code != ACCEL_OK)
        return code;
    accel_worker_pack(&job, &attempt.input); /* without the memory limit, which is not part of the name */
    name_blob(&attempt);
    accel_strbuf_free(&attempt.input);
    job.memory = memory;
    accel_worker_pack(&job, &attempt.input);
    if (attempt.input.failed)
        code = accel_error_no_memory(error, "for the job of a worker");
    if (code == ACCEL_OK)
        code = find_or_compile(&attempt, again, out_blob, error);
    accel_strbuf_free(&attempt.input);
    free(attempt.folder);
    accel_task_bridge_end(&bridge);
    return code;
}
