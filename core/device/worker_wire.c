/* SPDX-License-Identifier: Apache-2.0 */
/* A job as bytes. */
#include "config.h"

#include <string.h>

#include "core/base/checked.h"
#include "core/device/worker.h"
#include "core/graph/pack.h"

#define MARK 0x316b7761u
#define MOST_GRAPHS 4096u
#define MOST_SETTINGS 4096u
#define MOST_TEXT 65536u

struct job_numbers {
    uint32_t mark, graphs, settings, flags, ranks, zero;
    uint64_t memory, buckets;
};

static void put_text(struct accel_strbuf *out, const char *text)
{
    uint32_t bytes = (uint32_t)strlen(text);
    accel_strbuf_append(out, (const char *)&bytes, sizeof(bytes));
    accel_strbuf_append(out, text, bytes);
}

void accel_worker_pack(const struct accel_worker_job *job, struct accel_strbuf *out)
{
    const struct accel_compile_options *options = job->options;
    struct job_numbers numbers = {
        MARK, job->graph_count, job->setting_count, options->flags, options->ranks, 0, job->memory, 0};
    for (uint32_t g = 0; g < job->graph_count; g++)
        numbers.buckets += (uint64_t)options->bucket_counts[g] * job->graphs[g]->symbol_count;
    accel_strbuf_append(out, (const char *)&numbers, sizeof(numbers));
    put_text(out, job->path);
    put_text(out, job->device);
    for (uint32_t i = 0; i < job->setting_count; i++) {
        put_text(out, job->settings[i].key);
        put_text(out, job->settings[i].value);
        put_text(out, job->settings[i].origin);
    }
    accel_strbuf_append(out, (const char *)options->bucket_counts, job->graph_count * sizeof(uint32_t));
    if (numbers.buckets != 0)
        accel_strbuf_append(out, (const char *)options->buckets, numbers.buckets * sizeof(uint64_t));
    for (uint32_t g = 0; g < job->graph_count; g++)
        accel_graph_pack(job->graphs[g], out);
}

/* ---- reading ---- */

struct reader {
    const char *data;
    size_t bytes;
    size_t place;
    struct accel_arena *arena;
    int32_t code;
    struct accel_error *error;
};

static void fail(struct reader *reader, int32_t code, const char *what)
{
    if (reader->code == ACCEL_OK)
        reader->code = accel_error_set(reader->error, code, "a job of a worker: %s at byte %zu", what, reader->place);
}

/* An aligned copy of the next bytes with a zero byte behind them, or NULL. */
static void *take(struct reader *reader, uint64_t bytes, const char *what)
{
    char *copy;
    if (bytes > reader->bytes - reader->place)
        fail(reader, ACCEL_E_CORRUPT, what);
    if (reader->code != ACCEL_OK)
        return NULL;
    copy = accel_arena_alloc(reader->arena, (size_t)bytes + 1, 16);
    if (copy == NULL)
        fail(reader, ACCEL_E_MEMORY, "no memory");
    else
        memcpy(copy, reader->data + reader->place, (size_t)bytes);
    reader->place += (size_t)bytes;
    return copy;
}

static const char *take_text(struct reader *reader)
{
    const uint32_t *bytes = take(reader, sizeof(*bytes), "the length of a text is missing");
    if (bytes != NULL && *bytes > MOST_TEXT)
        fail(reader, ACCEL_E_CORRUPT, "too long a text");
    return bytes == NULL ? NULL : take(reader, *bytes, "a text is missing");
}

static void take_settings(struct reader *reader, struct accel_worker_job *job)
{
    struct accel_given *settings = accel_arena_array(reader->arena, job->setting_count + 1u, sizeof(*settings));
    if (settings == NULL) {
        fail(reader, ACCEL_E_MEMORY, "no memory");
        return;
    }
    for (uint32_t i = 0; i < job->setting_count && reader->code == ACCEL_OK; i++) {
        settings[i].key = take_text(reader);
        settings[i].value = take_text(reader);
        settings[i].origin = take_text(reader);
    }
    job->settings = settings;
}

static void take_graphs(struct reader *reader, struct accel_worker_job *job, uint64_t buckets)
{
    const struct accel_graph **graphs = accel_arena_array(reader->arena, job->graph_count + 1u, sizeof(*graphs));
    uint64_t needed = 0;
    if (graphs == NULL)
        fail(reader, ACCEL_E_MEMORY, "no memory");
    for (uint32_t g = 0; g < job->graph_count && reader->code == ACCEL_OK; g++) {
        size_t used = 0;
        reader->code = accel_graph_unpack(reader->data + reader->place, reader->bytes - reader->place, reader->arena,
                                          &graphs[g], &used, reader->error);
        reader->place += used;
        if (reader->code == ACCEL_OK)
            needed += (uint64_t)job->options->bucket_counts[g] * graphs[g]->symbol_count;
    }
    if (needed != buckets)
        fail(reader, ACCEL_E_CORRUPT, "another number of buckets than its graphs have");
    job->graphs = graphs;
}

int32_t accel_worker_unpack(const char *data, size_t bytes, struct accel_arena *arena, struct accel_worker_job *out_job,
                            struct accel_error *error)
{
    struct reader reader = {data, bytes, 0, arena, ACCEL_OK, error};
    struct accel_compile_options *options = accel_arena_array(arena, 1, sizeof(*options));
    const struct job_numbers *numbers = take(&reader, sizeof(*numbers), "its head is missing");
    uint64_t bucket_bytes = 0;
    memset(out_job, 0, sizeof(*out_job));
    if (numbers == NULL || options == NULL) {
        fail(&reader, ACCEL_E_MEMORY, "no memory");
        return reader.code;
    }
    if (numbers->mark != MARK || numbers->graphs == 0 || numbers->graphs > MOST_GRAPHS ||
        numbers->settings > MOST_SETTINGS || !accel_mul_u64(numbers->buckets, sizeof(uint64_t), &bucket_bytes))
        return accel_error_set(error, ACCEL_E_CORRUPT, "a job of a worker: not one, or wrong counts");
    out_job->memory = numbers->memory;
    out_job->setting_count = numbers->settings;
    out_job->graph_count = numbers->graphs;
    out_job->options = options;
    out_job->path = take_text(&reader);
    out_job->device = take_text(&reader);
    take_settings(&reader, out_job);
    *options = (struct accel_compile_options){.size = sizeof(*options), .flags = numbers->flags};
    options->ranks = numbers->ranks;
    options->bucket_counts = take(&reader, numbers->graphs * sizeof(uint32_t), "the counts of buckets are missing");
    options->buckets = take(&reader, bucket_bytes, "the buckets are missing");
    if (reader.code == ACCEL_OK)
        take_graphs(&reader, out_job, numbers->buckets);
    return reader.code;
}
