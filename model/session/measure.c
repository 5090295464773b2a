/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the steps of a session as its settings require: trace.steps, measure.memory and output.attention append a
 * line of JSON to files in measure.folder after each step, metrics.performance, metrics.memory and metrics.attention
 * add a note to the plan after each text, and memory.trim returns unused heap memory to the system after every N texts.
 */
#include "model/session/measure.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "model/session/log.h"

const char *const memory_classes[MEMORY_CLASSES] = {"all",        "weights", "mapped",  "state",
                                                    "activation", "scratch", "program", "host"};

uint64_t session_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static const char *value_of(const struct accel_session *session, const char *key)
{
    return accel_plan_setting_find(session->plan, key)->value;
}

static bool is_on(const struct accel_session *session, const char *key)
{
    return strcmp(value_of(session, key), "true") == 0;
}

static int32_t open_file(const struct accel_session *session, const char *name, FILE **out_file,
                         struct accel_error *error)
{
    const struct accel_plan_setting *folder = accel_plan_setting_find(session->plan, "measure.folder");
    char path[4096];

    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder->value, name) >= sizeof(path))
        return accel_error_set(error, ACCEL_E_LIMIT,
                               "%s: measure.folder is too long: the path of %s in it has more than %zu bytes",
                               folder->place, name, sizeof(path) - 1);
    if (mkdir(folder->value, 0777) == 0 || errno == EEXIST)
        *out_file = fopen(path, "w");
    if (*out_file != NULL)
        return ACCEL_OK;
    accel_error_set(error, ACCEL_E_IO, "%.300s: measure.folder: cannot write %.300s: %s", folder->place, path,
                    strerror(errno));
    accel_error_remedy(error, "set measure.folder to a folder that you may write to");
    return ACCEL_E_IO;
}

int32_t session_measure_begin(struct accel_session *session, struct accel_error *error)
{
    struct measure *measure = &session->measure;
    int32_t code = ACCEL_OK;

    *measure = (struct measure){.begin = session_now(),
                                .times = is_on(session, "metrics.performance"),
                                .memory = is_on(session, "metrics.memory"),
                                .attention = is_on(session, "metrics.attention"),
                                .trim = strtoull(value_of(session, "memory.trim"), NULL, 10)};
    if (is_on(session, "trace.steps"))
        code = open_file(session, "steps.jsonl", &measure->steps_file, error);
    if (code == ACCEL_OK && is_on(session, "measure.memory"))
        code = open_file(session, "memory.jsonl", &measure->memory_file, error);
    if (code == ACCEL_OK && is_on(session, "output.attention"))
        code = open_file(session, "attention.jsonl", &measure->attention_file, error);
    return code;
}

uint64_t session_measure_now(const struct accel_session *session)
{
    const struct measure *measure = &session->measure;

    return measure->times || measure->attention || measure->steps_file != NULL || measure->memory_file != NULL ||
                   measure->attention_file != NULL
               ? session_now()
               : 0;
}

static void write_memory(const struct accel_session *session, uint64_t end)
{
    FILE *file = session->measure.memory_file;

    fprintf(file, "{\"step\": %" PRIu64 ", \"ns\": %" PRIu64, session->measure.steps, end - session->measure.begin);
    for (uint32_t class = 0; class < MEMORY_CLASSES; class ++) {
        uint64_t held = 0, peak = 0;

        if (class == ACCEL_MEMORY_MAPPED)
            held = accel_session_resident(session);
        else
            accel_memory_usage(session->context, class, &held, &peak);
        fprintf(file, ", \"%s\": %" PRIu64, memory_classes[class], held);
    }
    fputs("}\n", file);
}

void session_measure_step(struct accel_session *session, uint64_t begin, const struct step_span *spans, uint32_t count)
{
    struct measure *measure = &session->measure;
    uint64_t end = session_measure_now(session), time = end - begin, tokens = 0;

    if (end == 0)
        return;
    measure->steps++;
    measure->count++;
    measure->total += time;
    measure->shortest = measure->count == 1 || time < measure->shortest ? time : measure->shortest;
    measure->longest = time > measure->longest ? time : measure->longest;
    measure->attended_steps++;
    measure->attended_time += time;
    for (uint32_t p = 0; p < count; p++) {
        tokens += spans[p].count;
        measure->attended += spans[p].place + spans[p].count;
        measure->attended_bytes += measure->attention ? session_attention_bytes(session, &spans[p]) : 0;
    }
    if (measure->steps_file != NULL)
        fprintf(measure->steps_file,
                "{\"step\": %" PRIu64 ", \"tokens\": %" PRIu64 ", \"begin_ns\": %" PRIu64 ", \"end_ns\": %" PRIu64
                "}\n",
                measure->steps, tokens, begin - measure->begin, end - measure->begin);
    if (measure->memory_file != NULL)
        write_memory(session, end);
}

void session_measure_attention(const struct accel_session *session, const struct step_span *span, const float *scores)
{
    const struct measure *measure = &session->measure;
    const float scale = 1.0f / (float)(session->model->config.heads * session->model->config.layers);
    const struct kv_sequence *sequence = span->sequence;

    if (measure->attention_file == NULL)
        return;
    fprintf(measure->attention_file,
            "{\"step\": %" PRIu64 ", \"sequence\": %" PRIu64 ", \"tokens\": %" PRIu64 ", \"positions\": [",
            measure->steps, (uint64_t)(sequence - session->kv.sequences), span->count);
    for (uint64_t place = 0; place < sequence->length; place++)
        fprintf(measure->attention_file, "%s%" PRId32, place == 0 ? "" : ", ", sequence->position[place]);
    fputs("], \"weights\": [", measure->attention_file);
    for (uint64_t place = 0; place < sequence->length; place++)
        if (isfinite(scores[place]))
            fprintf(measure->attention_file, "%s%.6g", place == 0 ? "" : ", ", (double)(scores[place] * scale));
        else
            fprintf(measure->attention_file, "%snull", place == 0 ? "" : ", ");
    fputs("]}\n", measure->attention_file);
}

static int32_t note_times(struct accel_session *session, struct accel_error *error)
{
    struct measure *measure = &session->measure;
    struct accel_plan_note note = {
        .size = sizeof(note), .level = ACCEL_NOTE_INFO, .key = "metrics.performance", .remedy = ""};
    char text[200];

    snprintf(text, sizeof(text), "measured: %" PRIu64 " steps, mean %.3f ms, minimum %.3f ms, maximum %.3f ms",
             measure->count, (double)measure->total / (double)measure->count / 1e6, (double)measure->shortest / 1e6,
             (double)measure->longest / 1e6);
    note.text = text;
    measure->count = measure->total = measure->longest = 0;
    return accel_plan_note(session->plan, &note, error);
}

static int32_t note_memory(struct accel_session *session, struct accel_error *error)
{
    struct accel_plan_note note = {
        .size = sizeof(note), .level = ACCEL_NOTE_INFO, .key = "metrics.memory", .remedy = ""};
    char text[400] = "measured: peak bytes:";

    for (uint32_t class = 1; class < MEMORY_CLASSES; class ++) {
        uint64_t held = 0, peak = 0;
        size_t used = strlen(text);

        if (class == ACCEL_MEMORY_MAPPED)
            peak = accel_session_resident(session);
        else
            accel_memory_usage(session->context, class, &held, &peak);
        snprintf(text + used, sizeof(text) - used, " %s %" PRIu64 ",", memory_classes[class], peak);
    }
    text[strlen(text) - 1] = '\0';
    note.text = text;
    return accel_plan_note(session->plan, &note, error);
}

static int32_t note_attention(struct accel_session *session, struct accel_error *error)
{
    struct measure *measure = &session->measure;
    struct accel_plan_note note = {
        .size = sizeof(note), .level = ACCEL_NOTE_INFO, .key = "metrics.attention", .remedy = ""};
    char text[400];

    snprintf(text, sizeof(text),
             "measured: %" PRIu64 " steps in %.3f ms: attention to %" PRIu64 " tokens in the cache read %" PRIu64
             " bytes of keys and values, kernel %.100s",
             measure->attended_steps, (double)measure->attended_time / 1e6, measure->attended, measure->attended_bytes,
             session_attention_kernel(session));
    note.text = text;
    measure->attended_steps = measure->attended_time = measure->attended = measure->attended_bytes = 0;
    return accel_plan_note(session->plan, &note, error);
}

/* Writes what is buffered of a file; a write that failed since it was opened is an error. */
static int32_t flush_file(const struct accel_session *session, const char *name, FILE *file, struct accel_error *error)
{
    int number;

    errno = 0;
    if (file == NULL || (fflush(file) == 0 && !ferror(file)))
        return ACCEL_OK;
    /* A write that failed before this one left no number; a full disk is the likely cause. */
    number = errno != 0 ? errno : ENOSPC;
    accel_error_set(error, ACCEL_E_IO, "%.300s/%s: cannot write: %s", value_of(session, "measure.folder"), name,
                    strerror(number));
    accel_error_origin(error, ACCEL_FROM_SYSTEM, ACCEL_E_IO);
    if (error != NULL)
        error->native = number;
    accel_error_remedy(error, "free space on the disk, or set measure.folder to another folder");
    return ACCEL_E_IO;
}

int32_t session_measure_text(struct accel_session *session, struct accel_error *error)
{
    struct measure *measure = &session->measure;
    int32_t code = flush_file(session, "steps.jsonl", measure->steps_file, error);

    if (code == ACCEL_OK)
        code = flush_file(session, "memory.jsonl", measure->memory_file, error);
    if (code == ACCEL_OK)
        code = flush_file(session, "attention.jsonl", measure->attention_file, error);
    if (code == ACCEL_OK && measure->times && measure->count != 0)
        code = note_times(session, error);
    if (code == ACCEL_OK && measure->memory)
        code = note_memory(session, error);
    if (code == ACCEL_OK && measure->attention && measure->attended_steps != 0)
        code = note_attention(session, error);
    if (measure->trim != 0 && ++measure->texts % measure->trim == 0)
        malloc_trim(0);
    return code;
}

void session_measure_end(struct accel_session *session)
{
    if (session->measure.steps_file != NULL)
        fclose(session->measure.steps_file);
    if (session->measure.memory_file != NULL)
        fclose(session->measure.memory_file);
    if (session->measure.attention_file != NULL)
        fclose(session->measure.attention_file);
}
