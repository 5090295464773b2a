/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accel-probe/job.h"

#include <string.h>

#include "core/base/checked.h"
#include "tools/accel-probe/graph.h"
#include "tools/accel-probe/reader.h"

#define MOST_GRAPHS 4096u
#define MOST_SETTINGS 4096u
#define MOST_TEXT 65536u

static void read_settings(struct byte_reader *reader, struct accel_worker_job *job)
{
    struct accel_named_value *settings = make_array(reader, job->setting_count + 1u, sizeof(*settings));
    for (uint32_t i = 0; i < job->setting_count && reader->code == ACCEL_OK; i++) {
        settings[i].key = read_text(reader, MOST_TEXT, false);
        settings[i].value = read_text(reader, MOST_TEXT, false);
        settings[i].origin = read_text(reader, MOST_TEXT, false);
    }
    job->settings = settings;
}

static void read_graphs(struct byte_reader *reader, struct accel_worker_job *job, uint64_t buckets)
{
    const struct accel_graph **graphs = make_array(reader, job->graph_count + 1u, sizeof(*graphs));
    uint64_t needed = 0;
    for (uint32_t g = 0; g < job->graph_count && reader->code == ACCEL_OK; g++) {
        size_t used = 0;
        reader->code = parse_graph(reader->data + reader->place, reader->bytes - reader->place, reader->arena,
                                   &graphs[g], &used, reader->error);
        reader->place += used;
        if (reader->code == ACCEL_OK)
            needed += (uint64_t)job->options->bucket_counts[g] * graphs[g]->symbol_count;
    }
    if (needed != buckets)
        fail_reading(reader, ACCEL_E_CORRUPT, "its bucket count does not match its graphs");
    job->graphs = graphs;
}

int32_t parse_job(const char *data, size_t bytes, struct accel_arena *arena, struct accel_worker_job *out_job,
                  struct accel_error *error)
{
    struct byte_reader reader = {
        .data = data, .bytes = bytes, .arena = arena, .subject = "a job of a worker", .error = error};
    struct accel_compile_options *options = make_array(&reader, 1, sizeof(*options));
    struct accel_job_numbers numbers;
    uint64_t bucket_bytes = 0;
    memset(out_job, 0, sizeof(*out_job));
    read_numbers(&reader, &numbers, sizeof(numbers), "its header is missing");
    if (numbers.magic != ACCEL_JOB_MAGIC || numbers.graphs == 0 || numbers.graphs > MOST_GRAPHS ||
        numbers.settings > MOST_SETTINGS || !accel_mul_u64(numbers.buckets, sizeof(uint64_t), &bucket_bytes))
        fail_reading(&reader, ACCEL_E_CORRUPT, "its magic number or its counts are wrong");
    if (reader.code != ACCEL_OK)
        return reader.code;
    out_job->memory = numbers.memory;
    out_job->setting_count = numbers.settings;
    out_job->graph_count = numbers.graphs;
    out_job->options = options;
    out_job->path = read_text(&reader, MOST_TEXT, false);
    out_job->device = read_text(&reader, MOST_TEXT, false);
    read_settings(&reader, out_job);
    *options =
        (struct accel_compile_options){.size = sizeof(*options), .flags = numbers.flags, .threads = numbers.threads};
    options->bucket_counts = read_copy(&reader, numbers.graphs * sizeof(uint32_t), "the bucket counts are missing");
    /* Graphs without symbols have buckets of no extents: an empty list, not NULL. */
    options->buckets = bucket_bytes != 0 ? read_copy(&reader, bucket_bytes, "the buckets are missing")
                                         : make_array(&reader, 1, sizeof(*options->buckets));
    if (reader.code == ACCEL_OK)
        read_graphs(&reader, out_job, numbers.buckets);
    return reader.code;
}
