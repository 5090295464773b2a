/* SPDX-License-Identifier: Apache-2.0 */
/* Serializes a worker job. */
#include "config.h"

#include <string.h>

#include "core/base/bytes.h"
#include "core/base/checked.h"
#include "core/graph/pack.h"
#include "core/runtime/worker.h"

#define MAGIC 0x316b7761u
#define MOST_GRAPHS 4096u
#define MOST_SETTINGS 4096u
#define MOST_TEXT 65536u

struct job_numbers {
    uint32_t magic, graphs, settings, flags, threads, zero;
    uint64_t memory, buckets;
};

void accel_worker_pack(const struct accel_worker_job *job, struct accel_strbuf *out)
{
    const struct accel_compile_options *options = job->options;
    struct job_numbers numbers = {
        MAGIC, job->graph_count, job->setting_count, options->flags, options->threads, 0, job->memory, 0};
    for (uint32_t g = 0; g < job->graph_count; g++)
        numbers.buckets += (uint64_t)options->bucket_counts[g] * job->graphs[g]->symbol_count;
    accel_bytes_put(out, &numbers, sizeof(numbers));
    accel_bytes_put_text(out, job->path);
    accel_bytes_put_text(out, job->device);
    for (uint32_t i = 0; i < job->setting_count; i++) {
        accel_bytes_put_text(out, job->settings[i].key);
        accel_bytes_put_text(out, job->settings[i].value);
        accel_bytes_put_text(out, job->settings[i].origin);
    }
    accel_bytes_put(out, options->bucket_counts, job->graph_count * sizeof(uint32_t));
    accel_bytes_put(out, options->buckets, numbers.buckets * sizeof(uint64_t));
    for (uint32_t g = 0; g < job->graph_count; g++)
        accel_graph_pack(job->graphs[g], out);
}

/* ---- reading ---- */

static void read_settings(struct accel_bytes_reader *reader, struct accel_worker_job *job)
{
    struct accel_named_value *settings = accel_bytes_make(reader, job->setting_count + 1u, sizeof(*settings));
    for (uint32_t i = 0; i < job->setting_count && reader->code == ACCEL_OK; i++) {
        settings[i].key = accel_bytes_read_text(reader, MOST_TEXT, false);
        settings[i].value = accel_bytes_read_text(reader, MOST_TEXT, false);
        settings[i].origin = accel_bytes_read_text(reader, MOST_TEXT, false);
    }
    job->settings = settings;
}

static void read_graphs(struct accel_bytes_reader *reader, struct accel_worker_job *job, uint64_t buckets)
{
    const struct accel_graph **graphs = accel_bytes_make(reader, job->graph_count + 1u, sizeof(*graphs));
    uint64_t needed = 0;
    for (uint32_t g = 0; g < job->graph_count && reader->code == ACCEL_OK; g++) {
        size_t used = 0;
        reader->code = accel_graph_unpack(reader->data + reader->place, reader->bytes - reader->place, reader->arena,
                                          &graphs[g], &used, reader->error);
        reader->place += used;
        if (reader->code == ACCEL_OK)
            needed += (uint64_t)job->options->bucket_counts[g] * graphs[g]->symbol_count;
    }
    if (needed != buckets)
        accel_bytes_fail(reader, ACCEL_E_CORRUPT, "its bucket count does not match its graphs");
    job->graphs = graphs;
}

int32_t accel_worker_unpack(const char *data, size_t bytes, struct accel_arena *arena, struct accel_worker_job *out_job,
                            struct accel_error *error)
{
    struct accel_bytes_reader reader = {
        .data = data, .bytes = bytes, .arena = arena, .subject = "a job of a worker", .error = error};
    struct accel_compile_options *options = accel_bytes_make(&reader, 1, sizeof(*options));
    struct job_numbers numbers;
    uint64_t bucket_bytes = 0;
    memset(out_job, 0, sizeof(*out_job));
    accel_bytes_read_numbers(&reader, &numbers, sizeof(numbers), "its header is missing");
    if (numbers.magic != MAGIC || numbers.graphs == 0 || numbers.graphs > MOST_GRAPHS ||
        numbers.settings > MOST_SETTINGS || !accel_mul_u64(numbers.buckets, sizeof(uint64_t), &bucket_bytes))
        accel_bytes_fail(&reader, ACCEL_E_CORRUPT, "its magic number or its counts are wrong");
    if (reader.code != ACCEL_OK)
        return reader.code;
    out_job->memory = numbers.memory;
    out_job->setting_count = numbers.settings;
    out_job->graph_count = numbers.graphs;
    out_job->options = options;
    out_job->path = accel_bytes_read_text(&reader, MOST_TEXT, false);
    out_job->device = accel_bytes_read_text(&reader, MOST_TEXT, false);
    read_settings(&reader, out_job);
    *options =
        (struct accel_compile_options){.size = sizeof(*options), .flags = numbers.flags, .threads = numbers.threads};
    options->bucket_counts =
        accel_bytes_read_copy(&reader, numbers.graphs * sizeof(uint32_t), "the bucket counts are missing");
    /* Graphs without symbols have buckets of no extents: an empty list, not NULL. */
    options->buckets = bucket_bytes != 0 ? accel_bytes_read_copy(&reader, bucket_bytes, "the buckets are missing")
                                         : accel_bytes_make(&reader, 1, sizeof(*options->buckets));
    if (reader.code == ACCEL_OK)
        read_graphs(&reader, out_job, numbers.buckets);
    return reader.code;
}
