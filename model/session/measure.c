/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the steps of a session as its settings require: trace.steps, measure.memory and output.attention append a
 * line of JSON to files in measure.folder after each step, metrics.performance, metrics.memory and metrics.attention
 * add a note to the session after each text, and memory.trim returns unused heap memory to the system after every N
 * texts.
 */
#include "model/session/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "model/session/log.h"

/* Longest path of a file in measure.folder, with its end. */
enum { PATH_BYTES = 4096 };

static const char *const files[MEASURE_FILES] = {
    [MEASURE_STEPS] = "steps.jsonl",
    [MEASURE_MEMORY] = "memory.jsonl",
    [MEASURE_ATTENTION] = "attention.jsonl",
};

const char *const memory_classes[MEMORY_CLASSES] = {"all",        "weights", "mapped",  "state",
                                                    "activation", "scratch", "program", "host"};

uint64_t session_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Sets the error of measure.folder or of a file in it; `native` is the errno, or 0. */
static int32_t refuse_file(const struct accel_session *session, const char *path, const char *why, int native,
                           struct accel_error *error)
{
    const struct accel_plan_setting *folder = session->settings.measure_folder;

    accel_error_set(error, ACCEL_E_IO, "%.300s: measure.folder: cannot write %.300s: %s", folder->place, path, why);
    accel_error_remedy(error, "set measure.folder to a folder that you may write to");
    if (error != NULL) {
        error->origin = ACCEL_FROM_SETTING;
        error->native = native;
    }
    return ACCEL_E_IO;
}

/* Refuses a file that another session, here or in another process, still writes. File systems without locks are
 * accepted. */
static int32_t lock_file(const struct accel_session *session, int handle, const char *path, struct accel_error *error)
{
    const struct accel_plan_setting *folder = session->settings.measure_folder;

    if (flock(handle, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return ACCEL_OK;
    accel_error_set(error, ACCEL_E_BUSY, "%.300s: measure.folder: another run writes %.300s", folder->place, path);
    accel_error_origin(error, ACCEL_FROM_SETTING, ACCEL_E_BUSY);
    accel_error_remedy(error, "wait until that run has ended, or give this one its own measure.folder");
    return ACCEL_E_BUSY;
}

/* Opens a regular file in measure.folder, which is created if it is missing. A FIFO, whose opening would wait for a
 * reader, and a device are refused. */
static int32_t open_file(const struct accel_session *session, const char *name, FILE **out_file,
                         struct accel_error *error)
{
    const struct accel_plan_setting *folder = session->settings.measure_folder;
    char path[PATH_BYTES];
    struct stat status;
    int handle;

    snprintf(path, sizeof(path), "%s/%s", folder->value, name); /* session_measure_check: it fits */
    if (mkdir(folder->value, 0777) != 0 && errno != EEXIST)
        return refuse_file(session, path, strerror(errno), errno, error);
    if (stat(folder->value, &status) == 0 && !S_ISDIR(status.st_mode))
        return refuse_file(session, path, "measure.folder is not a folder", ENOTDIR, error);
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return refuse_file(session, path, "it is not a regular file", 0, error);
    handle = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
    if (handle < 0)
        return refuse_file(session, path, strerror(errno), errno, error);
    /* The file may have been replaced since the check above. */
    if (fstat(handle, &status) == 0 && !S_ISREG(status.st_mode)) {
        close(handle);
        return refuse_file(session, path, "it is not a regular file", 0, error);
    }
    if (lock_file(session, handle, path, error) != ACCEL_OK) {
        close(handle);
        return ACCEL_E_BUSY;
    }
    *out_file = ftruncate(handle, 0) == 0 ? fdopen(handle, "w") : NULL;
    if (*out_file != NULL)
        return ACCEL_OK;
    refuse_file(session, path, strerror(errno), errno, error);
    close(handle);
    return ACCEL_E_IO;
}

int32_t session_measure_check(const struct accel_session *session, struct accel_error *error)
{
    const struct accel_plan_setting *folder = session->settings.measure_folder;
    const size_t most = PATH_BYTES - sizeof("/attention.jsonl"), length = strlen(folder->value);

    if (length > 0 && length <= most)
        return ACCEL_OK;
    if (length == 0)
        accel_error_set(error, ACCEL_E_INVALID, "%.300s: measure.folder is empty", folder->place);
    else
        accel_error_set(error, ACCEL_E_INVALID, "%.300s: measure.folder has %zu bytes, and at most %zu are possible",
                        folder->place, length, most);
    accel_error_remedy(error, "name a folder; the working folder is \".\"");
    return accel_error_origin(error, setting_origin(folder), ACCEL_E_INVALID);
}

int32_t session_measure_begin(struct accel_session *session, struct accel_error *error)
{
    const struct settings *settings = &session->settings;
    const struct accel_plan_setting *const requests[MEASURE_FILES] = {
        [MEASURE_STEPS] = settings->trace_steps,
        [MEASURE_MEMORY] = settings->measure_memory,
        [MEASURE_ATTENTION] = settings->output_attention,
    };
    struct measure *measure = &session->measure;
    int32_t code = ACCEL_OK;

    *measure = (struct measure){.begin = session_now(),
                                .times = setting_is_on(settings->metrics_performance),
                                .memory = setting_is_on(settings->metrics_memory),
                                .attention = setting_is_on(settings->metrics_attention),
                                .trim = (uint64_t)settings->memory_trim->number};
    for (uint32_t i = 0; i < MEASURE_FILES && code == ACCEL_OK; i++)
        if (setting_is_on(requests[i]))
            code = open_file(session, files[i], &measure->files[i].stream, error);
    return code;
}

uint64_t session_measure_now(const struct accel_session *session)
{
    const struct measure *measure = &session->measure;
    bool is_measured = measure->times || measure->attention;

    for (uint32_t i = 0; i < MEASURE_FILES; i++)
        is_measured = is_measured || measure->files[i].stream != NULL;
    return is_measured ? session_now() : 0;
}

/* Ends a line of a file, and records why it could not be written. */
static void end_line(struct measure_file *file, const char *text)
{
    fputs(text, file->stream);
    if (file->failure == 0 && ferror(file->stream))
        file->failure = errno;
}

static void write_memory(struct accel_session *session, uint64_t end)
{
    FILE *file = session->measure.files[MEASURE_MEMORY].stream;

    fprintf(file, "{\"step\": %" PRIu64 ", \"ns\": %" PRIu64, session->measure.steps, end - session->measure.begin);
    for (uint32_t class = 0; class < MEMORY_CLASSES; class ++) {
        uint64_t held = 0, peak = 0;

        if (class == ACCEL_MEMORY_MAPPED)
            held = accel_session_resident(session);
        else
            accel_memory_usage(session->context, class, &held, &peak);
        fprintf(file, ", \"%s\": %" PRIu64, memory_classes[class], held);
    }
    end_line(&session->measure.files[MEASURE_MEMORY], "}\n");
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
        if (measure->attention) {
            const struct attention_reach reach = session_attention_reach(session, &spans[p]);

            measure->attended += reach.tokens;
            measure->attended_bytes += reach.bytes;
        }
    }
    if (measure->files[MEASURE_STEPS].stream != NULL) {
        fprintf(measure->files[MEASURE_STEPS].stream,
                "{\"step\": %" PRIu64 ", \"tokens\": %" PRIu64 ", \"begin_ns\": %" PRIu64 ", \"end_ns\": %" PRIu64,
                measure->steps, tokens, begin - measure->begin, end - measure->begin);
        end_line(&measure->files[MEASURE_STEPS], "}\n");
    }
    if (measure->files[MEASURE_MEMORY].stream != NULL)
        write_memory(session, end);
}

void session_measure_attention(struct accel_session *session, const struct step_span *span, const float *scores,
                               float scale)
{
    struct measure_file *file = &session->measure.files[MEASURE_ATTENTION];
    const struct kv_sequence *sequence = span->sequence;

    if (file->stream == NULL)
        return;
    fprintf(file->stream, "{\"step\": %" PRIu64 ", \"text\": ", session->measure.steps);
    /* Tokens that are fed without accel_generate are of no text. */
    if (sequence->text < 0)
        fputs("null", file->stream);
    else
        fprintf(file->stream, "%" PRId64, sequence->text);
    fprintf(file->stream, ", \"sequence\": %" PRIu64 ", \"tokens\": %" PRIu64 ", \"positions\": [",
            (uint64_t)(sequence - session->kv.sequences), span->count);
    for (uint64_t place = 0; place < sequence->length; place++)
        fprintf(file->stream, "%s%" PRId32, place == 0 ? "" : ", ", sequence->position[place]);
    fputs("], \"weights\": [", file->stream);
    for (uint64_t place = 0; place < sequence->length; place++)
        if (isfinite(scores[place]))
            fprintf(file->stream, "%s%.6g", place == 0 ? "" : ", ", (double)(scores[place] * scale));
        else
            fprintf(file->stream, "%snull", place == 0 ? "" : ", ");
    end_line(file, "]}\n");
}

/* Writes the lines of a step to its file. If they do not fit, the file ends with those of the step before. */
static void flush_file(struct measure_file *file)
{
    int handle = fileno(file->stream);

    if (fflush(file->stream) != 0 && file->failure == 0)
        file->failure = errno;
    if (file->failure == 0) {
        file->bytes = lseek(handle, 0, SEEK_CUR);
        return;
    }
    __fpurge(file->stream);
    if (ftruncate(handle, file->bytes) == 0)
        lseek(handle, file->bytes, SEEK_SET);
}

int32_t session_measure_flush(struct accel_session *session, struct accel_error *error)
{
    for (uint32_t i = 0; i < MEASURE_FILES; i++) {
        struct measure_file *file = &session->measure.files[i];

        if (file->stream != NULL)
            flush_file(file);
        if (file->failure == 0)
            continue;
        accel_error_set(error, ACCEL_E_IO, "%.300s/%s: cannot write: %s", session->settings.measure_folder->value,
                        files[i], strerror(file->failure));
        accel_error_origin(error, ACCEL_FROM_SYSTEM, ACCEL_E_IO);
        accel_error_remedy(error, "free space on the disk, or set measure.folder to another folder");
        if (error != NULL)
            error->native = file->failure;
        return ACCEL_E_IO;
    }
    return ACCEL_OK;
}

static int32_t note_times(struct accel_session *session, struct accel_error *error)
{
    struct measure *measure = &session->measure;
    char text[200];

    snprintf(text, sizeof(text), "measured: %" PRIu64 " steps, mean %.3f ms, minimum %.3f ms, maximum %.3f ms",
             measure->count, (double)measure->total / (double)measure->count / 1e6, (double)measure->shortest / 1e6,
             (double)measure->longest / 1e6);
    measure->count = measure->total = measure->longest = 0;
    return session_note(&session->notes, "metrics.performance", text, error);
}

static int32_t note_memory(struct accel_session *session, struct accel_error *error)
{
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
    return session_note(&session->notes, "metrics.memory", text, error);
}

static int32_t note_attention(struct accel_session *session, struct accel_error *error)
{
    struct measure *measure = &session->measure;
    char text[400];

    snprintf(text, sizeof(text),
             "measured: %" PRIu64 " steps in %.3f ms: attention read %" PRIu64 " tokens in the cache, %" PRIu64
             " bytes of keys and values, kernel %.100s",
             measure->attended_steps, (double)measure->attended_time / 1e6, measure->attended, measure->attended_bytes,
             session_attention_kernel(session));
    measure->attended_steps = measure->attended_time = measure->attended = measure->attended_bytes = 0;
    return session_note(&session->notes, "metrics.attention", text, error);
}

int32_t session_measure_run(struct accel_session *session, struct accel_error *error)
{
    struct measure *measure = &session->measure;
    int32_t code = ACCEL_OK;

    if (measure->times && measure->count != 0)
        code = note_times(session, error);
    if (code == ACCEL_OK && measure->memory)
        code = note_memory(session, error);
    if (code == ACCEL_OK && measure->attention && measure->attended_steps != 0)
        code = note_attention(session, error);
    return code;
}

uint64_t session_measure_number_texts(struct accel_session *session, uint32_t count)
{
    const uint64_t first = session->measure.numbered;

    session->measure.numbered += count;
    return first;
}

void session_measure_text(struct accel_session *session)
{
    struct measure *measure = &session->measure;

    if (measure->trim != 0 && ++measure->texts % measure->trim == 0)
        malloc_trim(0);
}

void session_measure_end(struct accel_session *session)
{
    for (uint32_t i = 0; i < MEASURE_FILES; i++)
        if (session->measure.files[i].stream != NULL)
            fclose(session->measure.files[i].stream);
}
