/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/plugin/probe.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/env.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/paths.h"
#include "core/base/strbuf.h"
#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/plugin/child.h"
#include "core/plugin/ipc.h"

/* Sanitizes the text of a stream in place: every line is printable, no empty lines at the end. */
static const char *clean(struct accel_child_stream *stream, struct accel_arena *arena)
{
    char *line = stream->data;
    while (stream->bytes > 0 && strchr("\r\n \t", stream->data[stream->bytes - 1]) != NULL)
        stream->data[--stream->bytes] = '\0';
    for (size_t i = 0; i < stream->bytes; i++)
        if (stream->data[i] == '\0')
            stream->data[i] = '?';
    for (;;) {
        char *end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        accel_utf8_one_line(line);
        if (end == NULL)
            break;
        *end = '\n';
        line = end + 1;
    }
    return accel_arena_strdup(arena, stream->data);
}

/* Stores the enumerated list if the answer contains every device. */
static void store_list(const struct accel_ipc_answer *answer, struct accel_arena *arena,
                       struct accel_probe_result *result)
{
    struct accel_ipc_list list;
    if (answer->devices == 0 || accel_ipc_read_list(answer->list, answer->list_bytes, arena, &list, NULL) != ACCEL_OK ||
        list.fact_count != answer->devices)
        return;
    result->list = answer->list;
    result->list_bytes = answer->list_bytes;
}

/* Adds a remedy for a driver that crashed, most often because of vendor libraries. */
static void add_crash_remedy(struct accel_error *verdict, const char *path)
{
    accel_error_remedy(verdict,
                       "update the driver and the libraries of the device's vendor, then probe again with --no-cache; "
                       "accel-conform '%s' shows the fault by itself",
                       path);
}

/* Maps the end of a child to a verdict. Of several faults the most severe counts. */
static void classify_end(const struct accel_probe_job *job, struct accel_child_end *end, struct accel_arena *arena,
                         struct accel_error *verdict, struct accel_probe_result *result)
{
    struct accel_error bad = {0};
    struct accel_ipc_answer answer;
    int32_t code = accel_ipc_read(end->answer, end->answer_bytes, arena, &answer, &bad);
    const char *stage = answer.done ? "exit" : answer.stage;
    bool began = *answer.stage != '\0';
    /* Lack of memory is temporary: a later probe may succeed. */
    result->lasting = began && answer.code != ACCEL_E_MEMORY;
    if (code == ACCEL_E_MEMORY) {
        *verdict = bad;
    } else if (!began && end->timed_out) {
        accel_error_by(verdict, ACCEL_FROM_DRIVER, ACCEL_E_INTERNAL,
                       "%s: no probe: %s did not begin within %u ms and was ended: the deadline passed", job->path,
                       job->program, job->milliseconds);
        accel_error_remedy(verdict, "reinstall accel, or set ACCEL_PROBE to its program accel-probe");
    } else if (!began) {
        /* The driver was not reached: the probe program itself is missing, wrong or broken. */
        accel_error_by(verdict, ACCEL_FROM_DRIVER, ACCEL_E_INTERNAL,
                       "%s: no probe: %s ended before it began (status %d, signal %d)%s%s", job->path, job->program,
                       end->status, end->signal, *bad.text ? ": " : "", bad.text);
        accel_error_remedy(verdict, "reinstall accel, or set ACCEL_PROBE to its program accel-probe");
    } else if (end->timed_out) {
        accel_error_by(verdict, ACCEL_FROM_DRIVER, ACCEL_E_TIMEOUT, "hangs in %s: its probe was ended after %u ms",
                       stage, job->milliseconds);
        add_crash_remedy(verdict, job->path);
    } else if (end->signal != 0) {
        accel_error_by(verdict, ACCEL_FROM_DRIVER, ACCEL_E_INTERNAL,
                       "crashes in %s: its probe ended with %s (signal %d)", stage, accel_signal_name(end->signal),
                       end->signal);
        add_crash_remedy(verdict, job->path);
    } else if (code != ACCEL_OK || end->too_much) {
        accel_error_by(verdict, ACCEL_FROM_DRIVER, ACCEL_E_CORRUPT, "its probe gave a malformed answer in %s: %s",
                       stage, end->too_much ? "too long" : bad.text);
    } else if (answer.failed) {
        accel_error_by(verdict, ACCEL_FROM_DRIVER, answer.code, "%s", answer.text);
        accel_error_remedy(verdict, "%s", answer.remedy);
        verdict->native = answer.native;
    } else if (!answer.done || (end->status != 0 && !end->lost)) {
        accel_error_by(verdict, ACCEL_FROM_DRIVER, ACCEL_E_INTERNAL, "ends the process in %s, with the exit status %d",
                       stage, end->status);
        add_crash_remedy(verdict, job->path);
    } else if (end->output.total > 0 && !accel_word_is_among(job->effects, "prints")) {
        accel_error_by(verdict, ACCEL_FROM_DRIVER, ACCEL_E_INVALID,
                       "writes to standard output (%llu bytes): \"%.160s\"", (unsigned long long)end->output.total,
                       clean(&end->output, arena));
        accel_error_remedy(
            verdict, "if a vendor library of the driver prints, declare effects=prints in the note of the driver");
    } else {
        store_list(&answer, arena, result);
    }
}

static int32_t run(const struct accel_probe_job *job, struct accel_arena *arena, struct accel_child_end *end,
                   struct accel_error *verdict, struct accel_probe_result *result)
{
    char *arguments[] = {(char *)job->program, (char *)job->path, NULL};
    struct accel_strbuf input = {0};
    struct accel_child_job child = {.program = job->program, .arguments = arguments, .milliseconds = job->milliseconds};
    int32_t code;
    for (uint32_t i = 0; i < job->hardware_count; i++)
        accel_ipc_put_hardware(&input, job->hardware[i]);
    child.input = accel_strbuf_get(&input);
    child.input_bytes = input.length;
    code = accel_child_run(&child, end, verdict);
    if (code == ACCEL_OK)
        classify_end(job, end, arena, verdict, result);
    else
        accel_error_remedy(verdict, "reinstall accel, or set ACCEL_PROBE to its program accel-probe");
    accel_strbuf_free(&input);
    return verdict->code;
}

int32_t accel_probe_run(const struct accel_probe_job *job, struct accel_arena *arena,
                        struct accel_probe_result *out_result, struct accel_error *error)
{
    struct accel_error verdict = {0};
    struct accel_child_end *end = calloc(1, sizeof(*end));
    memset(out_result, 0, sizeof(*out_result));
    if (end == NULL)
        return accel_error_no_memory(error, "for a probe");
    out_result->code = run(job, arena, end, &verdict, out_result);
    out_result->signal = end->signal;
    out_result->nanoseconds = end->nanoseconds;
    out_result->detail = clean(&end->complaints, arena);
    out_result->text = accel_arena_strdup(arena, verdict.text);
    out_result->remedy = accel_arena_strdup(arena, verdict.remedy);
    free(end);
    if (out_result->detail == NULL || out_result->text == NULL || out_result->remedy == NULL)
        return accel_error_no_memory(error, "for the result of a probe");
    /* Omits the signal after a timeout: we sent it to end the child at the deadline. */
    if (out_result->code == ACCEL_E_TIMEOUT)
        out_result->signal = 0;
    return ACCEL_OK;
}

int32_t accel_probe_program(const char *given, char **out_program, struct accel_error *error)
{
    char *folder = NULL;
    int32_t code = ACCEL_OK;
    *out_program = NULL;
    if (given == NULL)
        given = accel_env_get("ACCEL_PROBE", NULL);
    if (given != NULL) {
        *out_program = strdup(given);
    } else {
        code = accel_paths_libexec(&folder, error);
        if (code != ACCEL_OK)
            return code;
        *out_program = accel_file_join(folder, "accel-probe");
        free(folder);
    }
    return *out_program ? ACCEL_OK : accel_error_no_memory(error, "for the path of accel-probe");
}
