/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the file: each thread takes a chunk of rows, encodes it and writes it at its offset. Tensors with error
 * compensation come last, input by input, since the factor of an input takes much memory and serves all tensors that
 * read it.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convert/quantize/layout.h"
#include "convert/quantize/ways.h"
#include "model/file/fault.h"
#include "model/file/parallel.h"
#include "model/file/pool.h"
#include "model/file/replace.h"
#include "model/file/staged.h"
#include "model/file/text.h"

/* Values of a chunk, rounded to whole rows; copies use as many bytes. */
#define CHUNK_VALUES ((uint64_t)1 << 20)

/* Most rows that a thread compensates together: enough for matrix products, few enough to use several threads. */
#define SOLVED_ROWS ((uint64_t)192)

/** Progress of one tensor. */
struct tensor_state {
    uint64_t next;      /* first unassigned row */
    uint64_t unwritten; /* rows */
    struct quantize_sums sums;
};

/** State of a run. The mutex guards at, states, done_bytes, code. */
struct run {
    struct accel_quantize_job *job;
    struct quantize_ways *ways;
    struct model_staged *staged;
    pthread_mutex_t mutex;
    uint64_t *order;             /* [count of the job] tensors */
    uint64_t at;                 /* index in the order of the first tensor with unassigned rows */
    uint64_t end;                /* index in the order of the end of prepared tensors */
    struct tensor_state *states; /* [count of the job] */
    uint64_t done_bytes;
    uint64_t all_bytes;
    int32_t code; /* of the first failure */
    struct accel_error *error;
};

/* Returns the rows of a tensor; copied tensors count bytes. */
static uint64_t count_rows(const struct accel_quantize_job *job, uint64_t index)
{
    const struct accel_quantize_row *row = &job->rows[index];
    uint64_t width = quantize_width(job, index);
    if (!row->converted)
        return row->bytes;
    return width == 0 ? 0 : row->elements / width;
}

static uint64_t rows_of_chunk(const struct run *run, uint64_t index)
{
    const struct accel_quantize_job *job = run->job;
    uint64_t width = job->rows[index].converted ? quantize_width(job, index) : 1;
    uint64_t rows = width >= CHUNK_VALUES ? 1 : CHUNK_VALUES / width;
    uint64_t whole = job->rows[index].converted ? job->layout->rows : 1;
    if (quantize_ways_input(run->ways, index) != QUANTIZE_NO_INPUT && rows > SOLVED_ROWS)
        rows = SOLVED_ROWS;
    return rows < whole ? whole : rows / whole * whole;
}

/* Assigns the next rows to a thread; returns false at the end and after a failure. */
static bool assign_rows(struct run *run, struct quantize_chunk *chunk)
{
    bool taken = false;
    pthread_mutex_lock(&run->mutex);
    while (run->code == ACCEL_OK && run->at < run->end && !taken) {
        uint64_t tensor = run->order[run->at], rows = count_rows(run->job, tensor), most = rows_of_chunk(run, tensor);
        struct tensor_state *state = &run->states[tensor];
        if (state->next >= rows) {
            run->at++;
            continue;
        }
        chunk->tensor = tensor;
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

/* Computes the errors of a completed tensor. */
static void compute_errors(struct accel_quantize_row *row, const struct quantize_sums *sums)
{
    row->relative_error = sums->power > 0 ? sqrt(sums->difference / sums->power) : 0;
    if (sums->output_power > 0)
        row->output_error = sqrt(sums->output_difference / sums->output_power);
}

/* Counts a written chunk, and completes the tensor after its last rows. */
static int32_t complete_chunk(struct run *run, const struct quantize_chunk *chunk, uint64_t bytes,
                              const struct quantize_sums *sums, struct accel_error *error)
{
    struct accel_quantize_job *job = run->job;
    struct accel_quantize_row *row = &job->rows[chunk->tensor];
    struct tensor_state *state = &run->states[chunk->tensor];
    int32_t code = ACCEL_OK;
    bool complete;
    pthread_mutex_lock(&run->mutex);
    state->sums.difference += sums->difference;
    state->sums.power += sums->power;
    state->sums.output_difference += sums->output_difference;
    state->sums.output_power += sums->output_power;
    state->unwritten -= chunk->rows;
    complete = state->unwritten == 0;
    run->done_bytes += bytes;
    if (complete && row->converted)
        compute_errors(row, &state->sums);
    if (run->code == ACCEL_OK && job->progress != NULL &&
        job->progress(job->progress_data, run->done_bytes, run->all_bytes) != 0)
        code = accel_error_set(error, ACCEL_E_CANCELLED, "cancelled after %llu of %llu bytes",
                               (unsigned long long)run->done_bytes, (unsigned long long)run->all_bytes);
    pthread_mutex_unlock(&run->mutex);
    if (complete && code == ACCEL_OK)
        code = model_staged_complete_block(run->staged, (uint32_t)chunk->tensor, row->bytes, error);
    return code;
}

static int32_t copy(struct run *run, struct quantize_chunk *chunk, struct accel_error *error)
{
    const struct model_gguf_tensor *tensor = &run->job->tensors[chunk->tensor];
    const struct quantize_sums none = {0};
    const unsigned char *data;
    int32_t code = ACCEL_OK;
    if (chunk->row == 0 && run->job->rows[chunk->tensor].reason != quantize_on_request)
        code = quantize_check(run->job, chunk, error);
    if (code == ACCEL_OK)
        code = quantize_read(run->job, chunk, chunk->row, chunk->rows, &data, error);
    if (code == ACCEL_OK)
        code = model_staged_write(run->staged, tensor->offset + chunk->row, data, chunk->rows, error);
    if (code == ACCEL_OK)
        quantize_release(run->job, data, chunk->rows);
    return code == ACCEL_OK ? complete_chunk(run, chunk, chunk->rows, &none, error) : code;
}

static int32_t convert(struct run *run, struct quantize_chunk *chunk, struct accel_error *error)
{
    struct quantize_way way;
    struct quantize_sums sums;
    size_t row_bytes;
    int32_t code;
    quantize_way_of(run->ways, chunk->tensor, &way);
    code = quantize_encode(run->job, &way, chunk, &row_bytes, &sums, error);
    if (code == ACCEL_OK)
        code = run->job->layout->write(run->job, run->staged, chunk->tensor, chunk->row, chunk->rows, chunk->out.data,
                                       row_bytes, error);
    return code == ACCEL_OK ? complete_chunk(run, chunk, chunk->rows * row_bytes, &sums, error) : code;
}

static void work(void *data, uint32_t index)
{
    struct run *run = data;
    struct quantize_chunk chunk = {0};
    (void)index;
    while (assign_rows(run, &chunk)) {
        struct accel_error error = {0};
        int32_t code =
            run->job->rows[chunk.tensor].converted ? convert(run, &chunk, &error) : copy(run, &chunk, &error);
        if (code != ACCEL_OK)
            fail(run, code, &error);
    }
    quantize_chunk_free(&chunk);
}

/* Returns whether a path is one of the files that are read. */
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

/* Checks that none of the output's three names (PATH, .part, .part.journal) is a file that is read. */
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

/* Creates the output folder, or checks that it is a folder other than that of the source. */
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

static int32_t make_folder(const char *path, bool *out_made, struct accel_error *error)
{
    *out_made = mkdir(path, 0777) == 0;
    return *out_made || errno == EEXIST ? ACCEL_OK : model_fault_errno(error, path, "cannot create", errno);
}

/* Returns whether an error would recur in a rerun: then nothing is stored for resuming. */
static bool is_lasting(int32_t code)
{
    return code == ACCEL_E_CORRUPT || code == ACCEL_E_UNSUPPORTED || code == ACCEL_E_INVALID;
}

/* Counts the tensors of an earlier run as done. */
static void begin_states(struct run *run)
{
    for (uint64_t i = 0; i < run->job->count; i++) {
        struct accel_quantize_row *row = &run->job->rows[i];
        run->states[i].unwritten = count_rows(run->job, i);
        run->all_bytes += row->bytes;
        row->output_error = -1;
        if (!model_staged_has(run->staged, (uint32_t)i))
            continue;
        run->states[i].next = count_rows(run->job, i);
        run->done_bytes += row->bytes;
        row->relative_error = row->converted ? -1 : 0;
    }
}

/* Sorts tensors without a factor in file order, then those of each input. */
static void sort_tensors(struct run *run)
{
    uint64_t count = 0;
    uint32_t input = QUANTIZE_NO_INPUT;
    while (count < run->job->count) {
        uint32_t next = QUANTIZE_NO_INPUT;
        for (uint64_t i = 0; i < run->job->count; i++) {
            uint32_t own = quantize_ways_input(run->ways, i);
            if (own == input)
                run->order[count++] = i;
            else if (own != QUANTIZE_NO_INPUT && (input == QUANTIZE_NO_INPUT || own > input) && own < next)
                next = own;
        }
        input = next;
    }
}

/* Returns whether a tensor has unassigned rows. */
static bool has_rows(const struct run *run, uint64_t tensor)
{
    return run->states[tensor].next < count_rows(run->job, tensor);
}

/* Processes tensors without an input, then input by input. */
static void process_inputs(struct run *run)
{
    while (run->code == ACCEL_OK && run->at < run->job->count) {
        const uint32_t input = quantize_ways_input(run->ways, run->order[run->at]);
        struct accel_error error = {0};
        int32_t code = ACCEL_OK;
        bool left = false;
        for (run->end = run->at; run->end < run->job->count; run->end++) {
            if (quantize_ways_input(run->ways, run->order[run->end]) != input)
                break;
            left |= has_rows(run, run->order[run->end]);
        }
        if (left && input != QUANTIZE_NO_INPUT)
            code = quantize_ways_prepare(run->ways, run->order[run->at], &error);
        if (code != ACCEL_OK)
            fail(run, code, &error);
        else if (left)
            model_parallel_for(run->job->threads, work, run);
        run->at = run->end;
    }
}

/* Writes the weights, then the files beside them. `folder` NULL: the weights are the only file. The files beside
 * the weights are replaced when the weights are complete, right before these are renamed: a model that the folder
 * contains stays whole until then. */
static int32_t write_staged(struct run *run, const char *path, const char *folder, uint64_t *out_resumed,
                            struct accel_error *error)
{
    const struct accel_quantize_job *job = run->job;
    const struct model_staged_plan plan = {.path = path,
                                           .header = job->header.data,
                                           .header_bytes = job->header.bytes,
                                           .bytes = job->header.file_bytes,
                                           .identity = job->identity,
                                           .blocks = (uint32_t)job->count};
    int32_t code = model_staged_open(&plan, &run->staged, error);
    if (code == ACCEL_OK) {
        pthread_mutex_init(&run->mutex, NULL);
        begin_states(run);
        sort_tensors(run);
        if (out_resumed)
            *out_resumed = model_staged_resumed(run->staged);
        process_inputs(run);
        pthread_mutex_destroy(&run->mutex);
        code = run->code;
        if (is_lasting(code))
            model_staged_discard(run->staged);
    }
    if (code == ACCEL_OK && folder != NULL)
        code = job->layout->folder(job, folder, error);
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
    bool made = false;
    int32_t code = ACCEL_OK;
    if (job == NULL || path == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_quantize_run: job or path is NULL");
    const char *folder = job->layout->folder == NULL ? NULL : path;
    weights = folder == NULL ? strdup(path) : model_text_join(path, "model.safetensors");
    run.states = calloc((size_t)job->count + 1, sizeof(*run.states));
    run.order = calloc((size_t)job->count + 1, sizeof(*run.order));
    if (run.states == NULL || run.order == NULL || weights == NULL)
        code = model_no_memory(error, path, job->count * sizeof(*run.states));
    if (code == ACCEL_OK && folder != NULL)
        code = check_folder(job, path, error);
    if (code == ACCEL_OK)
        code = check_path(job, weights, error);
    if (code == ACCEL_OK)
        code = quantize_ways_create(job, &run.ways, error);
    if (code == ACCEL_OK && folder != NULL)
        code = make_folder(folder, &made, error);
    if (code == ACCEL_OK)
        code = write_staged(&run, weights, folder, out_resumed, error);
    /* A resumable file needs its folder. */
    if (code != ACCEL_OK && made)
        rmdir(folder);
    quantize_ways_free(run.ways);
    free(run.order);
    free(run.states);
    free(weights);
    return code;
}
