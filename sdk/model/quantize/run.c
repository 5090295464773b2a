/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the file: threads take a run of rows each, decode, encode, and write it where it belongs. */
#include "config.h"

#include <accel/quant/format.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sdk/model/format/place.h"
#include "sdk/model/format/pool.h"
#include "sdk/model/format/staged.h"
#include "sdk/model/format/text.h"
#include "sdk/model/quantize/layout.h"

/* Values that a thread works on at a time, rounded to whole rows; copies take as many bytes. */
#define CHUNK_VALUES ((uint64_t)1 << 20)

#define HALF_LARGEST 65504.0f

/** What is left of one tensor. */
struct tensor_state {
    uint64_t next;      /* first row that nobody has taken */
    uint64_t unwritten; /* rows */
    double error;       /* sum of squared differences */
    double power;       /* sum of squares */
};

/** One run. Behind the mutex: tensor, states, done_bytes, code. */
struct run {
    struct accel_quantize_job *job;
    struct model_staged *staged;
    pthread_mutex_t mutex;
    uint64_t tensor;             /* the first that has rows to take */
    struct tensor_state *states; /* [count of the job] */
    uint64_t done_bytes;
    uint64_t all_bytes;
    int32_t code; /* of the first failure */
    struct accel_error *error;
};

/** Memory that grows with what is wanted of it; what it held is lost then. */
struct room {
    void *data;
    size_t bytes;
};

/** Rows of one tensor, and room for them. */
struct chunk {
    uint64_t tensor;
    uint64_t row; /* the first */
    uint64_t rows;
    struct room in;     /* bytes as they are in the file, where it is not mapped */
    struct room values; /* floats [rows][width] */
    struct room out;    /* bytes as they will be */
    struct room again;  /* floats [width] that were stored */
};

static uint64_t width_of(const struct model_gguf_tensor *tensor)
{
    return tensor->rank == 0 ? 1 : tensor->dims[tensor->rank - 1];
}

/* Rows of a tensor; those that are copied count bytes. */
static uint64_t rows_of(const struct accel_quantize_job *job, uint64_t index)
{
    const struct accel_quantize_row *row = &job->rows[index];
    if (!row->converted)
        return row->bytes;
    return width_of(&job->tensors[index]) == 0 ? 0 : row->elements / width_of(&job->tensors[index]);
}

static uint64_t rows_of_chunk(const struct accel_quantize_job *job, uint64_t index)
{
    uint64_t width = job->rows[index].converted ? width_of(&job->tensors[index]) : 1;
    uint64_t rows = width >= CHUNK_VALUES ? 1 : CHUNK_VALUES / width;
    uint64_t whole = job->rows[index].converted ? job->layout->rows : 1;
    return rows < whole ? whole : rows / whole * whole;
}

/* Takes the next rows; false at the end, and after a failure. */
static bool take(struct run *run, struct chunk *chunk)
{
    bool taken = false;
    pthread_mutex_lock(&run->mutex);
    while (run->code == ACCEL_OK && run->tensor < run->job->count && !taken) {
        struct tensor_state *state = &run->states[run->tensor];
        uint64_t rows = rows_of(run->job, run->tensor), most = rows_of_chunk(run->job, run->tensor);
        if (state->next >= rows) {
            run->tensor++;
            continue;
        }
        chunk->tensor = run->tensor;
        chunk->row = state->next;
        chunk->rows = rows - state->next < most ? rows - state->next : most;
        state->next += chunk->rows;
        taken = true;
    }
    pthread_mutex_unlock(&run->mutex);
    return taken;
}

static void fail(struct run *run, int32_t code, const struct accel_error *why)
{
    pthread_mutex_lock(&run->mutex);
    if (run->code == ACCEL_OK) {
        run->code = code;
        if (run->error)
            *run->error = *why;
    }
    pthread_mutex_unlock(&run->mutex);
}

/* Counts what was written; a tensor whose last rows these were is done. */
static int32_t settle(struct run *run, const struct chunk *chunk, uint64_t bytes, double difference, double power,
                      struct accel_error *error)
{
    struct accel_quantize_job *job = run->job;
    struct accel_quantize_row *row = &job->rows[chunk->tensor];
    struct tensor_state *state = &run->states[chunk->tensor];
    int32_t code = ACCEL_OK;
    bool complete;
    pthread_mutex_lock(&run->mutex);
    state->error += difference;
    state->power += power;
    state->unwritten -= chunk->rows;
    complete = state->unwritten == 0;
    run->done_bytes += bytes;
    if (complete && row->converted)
        row->relative_error = state->power > 0 ? sqrt(state->error / state->power) : 0;
    if (run->code == ACCEL_OK && job->progress != NULL &&
        job->progress(job->progress_data, run->done_bytes, run->all_bytes) != 0)
        code = accel_error_set(error, ACCEL_E_CANCELLED, "cancelled after %llu of %llu bytes",
                               (unsigned long long)run->done_bytes, (unsigned long long)run->all_bytes);
    pthread_mutex_unlock(&run->mutex);
    if (complete && code == ACCEL_OK)
        code = model_staged_piece_done(run->staged, (uint32_t)chunk->tensor, row->bytes, error);
    return code;
}

static int32_t make_room(const struct run *run, struct room *room, uint64_t wanted, struct accel_error *error)
{
    void *larger;
    if (wanted <= room->bytes)
        return ACCEL_OK;
    larger = wanted > SIZE_MAX ? NULL : malloc((size_t)wanted);
    if (larger == NULL)
        return model_no_memory(error, accel_model_file_path(run->job->file), wanted);
    free(room->data);
    *room = (struct room){larger, (size_t)wanted};
    return ACCEL_OK;
}

/* Bytes of the file as it is: from where it is mapped, else read into the chunk's room. */
static int32_t read_rows(const struct run *run, struct chunk *chunk, uint64_t offset, uint64_t bytes,
                         const unsigned char **out_data, struct accel_error *error)
{
    const struct accel_model_file *file = run->job->file;
    const struct accel_model_tensor *tensor = accel_model_file_tensor(file, chunk->tensor);
    const unsigned char *data = accel_model_file_data(file, tensor);
    int32_t code;
    *out_data = data != NULL ? data + offset : NULL;
    if (data != NULL)
        return ACCEL_OK;
    code = make_room(run, &chunk->in, bytes, error);
    *out_data = chunk->in.data;
    return code == ACCEL_OK ? accel_model_file_read(file, tensor, offset, bytes, chunk->in.data, error) : code;
}

static int32_t copy(struct run *run, struct chunk *chunk, struct accel_error *error)
{
    const struct model_gguf_tensor *tensor = &run->job->tensors[chunk->tensor];
    const unsigned char *data;
    int32_t code = read_rows(run, chunk, chunk->row, chunk->rows, &data, error);
    if (code == ACCEL_OK)
        code = model_staged_write(run->staged, tensor->offset + chunk->row, data, chunk->rows, error);
    return code == ACCEL_OK ? settle(run, chunk, chunk->rows, 0, 0, error) : code;
}

/* Pointers to the planes of a row, which lie one after the other; answers their bytes together. */
static size_t planes_at(uint32_t type, size_t width, const void *row, const void *out_planes[ACCEL_FORMAT_PLANES])
{
    struct accel_format format;
    size_t bytes = 0, plane;
    if (accel_format_describe(type, &format) != ACCEL_OK)
        return 0;
    for (uint32_t p = 0; p < format.planes; p++) {
        if (accel_format_row_bytes(type, p, width, &plane) != ACCEL_OK)
            return 0;
        out_planes[p] = (const unsigned char *)row + bytes;
        bytes += plane;
    }
    return bytes;
}

static int32_t refuse_tensor(const struct run *run, const struct chunk *chunk, int32_t code, struct accel_error *error)
{
    return accel_error_set(error, code, "%s: tensor %.100s cannot be converted", accel_model_file_path(run->job->file),
                           run->job->rows[chunk->tensor].name);
}

static int32_t keep_it(const struct run *run, const struct chunk *chunk, int32_t code, struct accel_error *error)
{
    accel_error_remedy(error, "--keep '%.80s' copies it as it is", run->job->rows[chunk->tensor].name);
    return code;
}

/* Of the block in which `at` lies, the value of the largest size. */
static size_t worst_of_block(uint32_t type, const float *values, size_t at, size_t width)
{
    struct accel_format format;
    size_t block = 1, worst = at;
    if (accel_format_describe(type, &format) == ACCEL_OK && format.block_values > 0)
        block = format.kind == ACCEL_FORMAT_PLANAR && format.group == 0 ? width : format.block_values;
    for (size_t i = at / block * block; i < (at / block + 1) * block && i < width; i++)
        worst = fabsf(values[i]) > fabsf(values[worst]) ? i : worst;
    return worst;
}

/* Scales are halves: what is too large for one becomes infinite, or is cut to less than half of itself where encoders
 * keep to the largest scale. Of a block that has such a value, only the largest tells: others may round to nothing. */
static bool is_too_large(uint32_t type, const float *values, float again, size_t at, size_t width)
{
    if (!isfinite(again))
        return true;
    return fabsf(values[at]) > HALF_LARGEST && fabsf(again) < fabsf(values[at]) / 2 &&
           worst_of_block(type, values, at, width) == at;
}

/* Names the value for which the block around `at` cannot be stored. */
static int32_t refuse_overflow(const struct run *run, const struct chunk *chunk, uint64_t row, size_t at, size_t width,
                               struct accel_error *error)
{
    const struct accel_quantize_row *tensor = &run->job->rows[chunk->tensor];
    const float *values = (const float *)chunk->values.data + row * width;
    size_t worst = worst_of_block(tensor->to, values, at, width);
    accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: tensor %.100s: value %zu of row %llu is %g, too large for %s",
                    accel_model_file_path(run->job->file), tensor->name, worst, (unsigned long long)(chunk->row + row),
                    (double)values[worst], tensor->to_name);
    return keep_it(run, chunk, ACCEL_E_UNSUPPORTED, error);
}

/* The sum of squared differences between the values and what will be stored of them, row by row. */
static int32_t measure(const struct run *run, const struct chunk *chunk, size_t width, size_t row_bytes,
                       double *difference, double *power, struct accel_error *error)
{
    const unsigned char *out = chunk->out.data;
    float *again = chunk->again.data;
    const uint32_t type = run->job->rows[chunk->tensor].to;
    int32_t code = ACCEL_OK;
    for (uint64_t row = 0; row < chunk->rows && code == ACCEL_OK; row++) {
        const float *values = (const float *)chunk->values.data + row * width;
        const void *planes[ACCEL_FORMAT_PLANES] = {NULL};
        planes_at(type, width, out + row * row_bytes, planes);
        code = accel_format_decode(type, planes, width, again);
        for (size_t i = 0; i < width && code == ACCEL_OK; i++) {
            if (is_too_large(type, values, again[i], i, width))
                return refuse_overflow(run, chunk, row, i, width, error);
            double d = (double)again[i] - (double)values[i];
            *difference += d * d;
            *power += (double)values[i] * (double)values[i];
        }
    }
    return code == ACCEL_OK ? ACCEL_OK : refuse_tensor(run, chunk, code, error);
}

static int32_t refuse_values(const struct run *run, const struct chunk *chunk, uint64_t at, struct accel_error *error)
{
    uint64_t width = width_of(&run->job->tensors[chunk->tensor]);
    accel_error_set(error, ACCEL_E_CORRUPT, "%s: tensor %.100s: value %llu of row %llu is not finite",
                    accel_model_file_path(run->job->file), run->job->rows[chunk->tensor].name,
                    (unsigned long long)(at % width), (unsigned long long)(chunk->row + at / width));
    return keep_it(run, chunk, ACCEL_E_CORRUPT, error);
}

static int32_t encode_rows(const struct run *run, struct chunk *chunk, const unsigned char *data, size_t width,
                           size_t from_bytes, size_t to_bytes, struct accel_error *error)
{
    const struct accel_quantize_row *row = &run->job->rows[chunk->tensor];
    int32_t code = ACCEL_OK;
    for (uint64_t r = 0; r < chunk->rows && code == ACCEL_OK; r++) {
        const void *from[ACCEL_FORMAT_PLANES] = {data + r * from_bytes};
        const void *planes[ACCEL_FORMAT_PLANES] = {NULL};
        void *to[ACCEL_FORMAT_PLANES];
        float *values = (float *)chunk->values.data + r * width;
        planes_at(row->to, width, (unsigned char *)chunk->out.data + r * to_bytes, planes);
        for (uint32_t p = 0; p < ACCEL_FORMAT_PLANES; p++)
            to[p] = (void *)(uintptr_t)planes[p];
        code = accel_format_decode(row->from, from, width, values);
        for (size_t i = 0; i < width && code == ACCEL_OK; i++)
            if (!isfinite(values[i]))
                return refuse_values(run, chunk, r * width + i, error);
        if (code == ACCEL_OK)
            code = run->job->nearest ? accel_format_encode(row->to, values, width, to)
                                     : accel_format_fit(row->to, values, NULL, width, to);
    }
    return code == ACCEL_OK ? ACCEL_OK : refuse_tensor(run, chunk, code, error);
}

static int32_t convert(struct run *run, struct chunk *chunk, struct accel_error *error)
{
    const struct model_gguf_tensor *tensor = &run->job->tensors[chunk->tensor];
    const struct accel_quantize_row *row = &run->job->rows[chunk->tensor];
    size_t width = (size_t)width_of(tensor), from_bytes = 0, to_bytes = 0;
    double difference = 0, power = 0;
    const void *planes[ACCEL_FORMAT_PLANES];
    const unsigned char *data;
    int32_t code = accel_format_row_bytes(row->from, 0, width, &from_bytes);
    if (code == ACCEL_OK && (to_bytes = planes_at(row->to, width, "", planes)) == 0)
        code = ACCEL_E_INVALID;
    if (code != ACCEL_OK)
        return refuse_tensor(run, chunk, code, error);
    code = make_room(run, &chunk->values, chunk->rows * width * sizeof(float), error);
    if (code == ACCEL_OK)
        code = make_room(run, &chunk->out, chunk->rows * to_bytes, error);
    if (code == ACCEL_OK)
        code = make_room(run, &chunk->again, width * sizeof(float), error);
    if (code == ACCEL_OK)
        code = read_rows(run, chunk, chunk->row * from_bytes, chunk->rows * from_bytes, &data, error);
    if (code == ACCEL_OK)
        code = encode_rows(run, chunk, data, width, from_bytes, to_bytes, error);
    if (code == ACCEL_OK)
        code = measure(run, chunk, width, to_bytes, &difference, &power, error);
    if (code == ACCEL_OK)
        code = run->job->layout->write(run->job, run->staged, chunk->tensor, chunk->row, chunk->rows, chunk->out.data,
                                       to_bytes, error);
    if (code != ACCEL_OK)
        return code;
    return settle(run, chunk, chunk->rows * to_bytes, difference, power, error);
}

static void *work(void *data)
{
    struct run *run = data;
    struct chunk chunk = {0};
    while (take(run, &chunk)) {
        struct accel_error error = {0};
        int32_t code =
            run->job->rows[chunk.tensor].converted ? convert(run, &chunk, &error) : copy(run, &chunk, &error);
        if (code != ACCEL_OK)
            fail(run, code, &error);
    }
    free(chunk.in.data);
    free(chunk.values.data);
    free(chunk.out.data);
    free(chunk.again.data);
    return NULL;
}

/* The caller is one of the threads. Where another cannot be had, the rest do its part. */
static void work_together(struct run *run)
{
    uint32_t started = 0, wanted = run->job->threads - 1;
    pthread_t *threads = calloc(wanted + 1, sizeof(*threads));
    sigset_t all, before;
    /* Signals are for the caller's thread. */
    sigfillset(&all);
    /* A fault is handled where it happens: a mapped file that shrinks is one. */
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (threads != NULL && started < wanted && pthread_create(&threads[started], NULL, work, run) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(run);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

/* True when the file of that name is one of those that are read. */
static bool is_read(const struct accel_model_file *file, const char *path)
{
    struct stat in, out;
    if (stat(path, &out) != 0)
        return false;
    for (uint32_t part = 0; part < accel_model_file_part_count(file); part++) {
        int fd = accel_model_file_part_fd(file, part);
        if (fd >= 0 && fstat(fd, &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return true;
    }
    return false;
}

/* The file that is written has three names in the course of time, and none may be that of one that is read. */
static int32_t check_path(const struct accel_quantize_job *job, const char *path, struct accel_error *error)
{
    static const char *const suffixes[] = {"", ".part", ".part.journal"};
    size_t bytes = strlen(path) + sizeof(".part.journal");
    char *name = malloc(bytes);
    int32_t code = name == NULL ? model_no_memory(error, path, bytes) : ACCEL_OK;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]) && code == ACCEL_OK; i++) {
        snprintf(name, bytes, "%s%s", path, suffixes[i]);
        if (is_read(job->file, name))
            code = accel_error_set(error, ACCEL_E_INVALID, "%s: is the file that is read; write to another name", name);
        else
            code = model_check_target(name, error);
    }
    free(name);
    return code;
}

/* A folder is made, or has to be one, and another one than that of the files that are read. */
static int32_t check_folder(const struct accel_quantize_job *job, const char *path, struct accel_error *error)
{
    struct stat in, out;
    bool same = false;
    if (path[0] == '\0')
        return model_check_target(path, error);
    if (stat(path, &out) != 0)
        return ACCEL_OK;
    if (!S_ISDIR(out.st_mode))
        return accel_error_set(error, ACCEL_E_INVALID, "%s: is no folder, and a folder is to be written", path);
    for (uint32_t part = 0; part < accel_model_file_part_count(job->file) && !same; part++) {
        char *folder = model_text_folder(accel_model_file_part_path(job->file, part));
        same = folder != NULL && stat(folder, &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino;
        free(folder);
    }
    if (same)
        return accel_error_set(error, ACCEL_E_INVALID, "%s: is the file that is read; write to another name", path);
    return ACCEL_OK;
}

/* What a rerun of the same command would meet again: nothing is kept for it. */
static bool is_lasting(int32_t code)
{
    return code == ACCEL_E_CORRUPT || code == ACCEL_E_UNSUPPORTED || code == ACCEL_E_INVALID;
}

/* What an earlier run wrote counts as done. */
static void begin_states(struct run *run)
{
    for (uint64_t i = 0; i < run->job->count; i++) {
        struct accel_quantize_row *row = &run->job->rows[i];
        run->states[i].unwritten = rows_of(run->job, i);
        run->all_bytes += row->bytes;
        if (!model_staged_has(run->staged, (uint32_t)i))
            continue;
        run->states[i].next = rows_of(run->job, i);
        run->done_bytes += row->bytes;
        row->relative_error = row->converted ? -1 : 0;
    }
}

static int32_t write_staged(struct run *run, const char *path, uint64_t *out_resumed, struct accel_error *error)
{
    const struct accel_quantize_job *job = run->job;
    const struct model_staged_plan plan = {.path = path,
                                           .header = job->header.data,
                                           .header_bytes = job->header.bytes,
                                           .bytes = job->header.file_bytes,
                                           .identity = job->identity,
                                           .pieces = (uint32_t)job->count};
    int32_t code = model_staged_open(&plan, &run->staged, error);
    if (code == ACCEL_OK) {
        pthread_mutex_init(&run->mutex, NULL);
        begin_states(run);
        if (out_resumed)
            *out_resumed = model_staged_resumed(run->staged);
        work_together(run);
        pthread_mutex_destroy(&run->mutex);
        code = run->code;
        if (is_lasting(code))
            model_staged_discard(run->staged);
    }
    if (code == ACCEL_OK)
        code = model_staged_finish(run->staged, error);
    model_staged_close(run->staged);
    return code;
}

int32_t accel_quantize_run(struct accel_quantize_job *job, const char *path, uint64_t *out_resumed,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    struct run run = {.job = job, .error = error};
    char *weights;
    int32_t code = ACCEL_OK;
    if (job == NULL || path == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_quantize_run: job or path is NULL");
    /* A folder without its weights is none, so that they come last. */
    weights = job->layout->folder == NULL ? strdup(path) : model_text_join(path, "model.safetensors");
    run.states = calloc((size_t)job->count + 1, sizeof(*run.states));
    if (run.states == NULL || weights == NULL)
        code = model_no_memory(error, path, job->count * sizeof(*run.states));
    if (code == ACCEL_OK && job->layout->folder != NULL)
        code = check_folder(job, path, error);
    if (code == ACCEL_OK)
        code = check_path(job, weights, error);
    if (code == ACCEL_OK && job->layout->folder != NULL)
        code = job->layout->folder(job, path, error);
    if (code == ACCEL_OK)
        code = write_staged(&run, weights, out_resumed, error);
    free(run.states);
    free(weights);
    return code;
}
