/* SPDX-License-Identifier: Apache-2.0 */
/* Serializes a worker job. */
#include "config.h"

#include "core/graph/pack.h"
#include "core/runtime/worker.h"

void accel_worker_pack(const struct accel_worker_job *job, struct accel_strbuf *out)
{
    const struct accel_compile_options *options = job->options;
    struct accel_job_numbers numbers = {
        ACCEL_JOB_MAGIC, job->graph_count, job->setting_count, options->flags, options->threads, 0, job->memory, 0};
    for (uint32_t g = 0; g < job->graph_count; g++)
        numbers.buckets += (uint64_t)options->bucket_counts[g] * job->graphs[g]->symbol_count;
    accel_strbuf_append(out, &numbers, sizeof(numbers));
    accel_strbuf_counted(out, job->path);
    accel_strbuf_counted(out, job->device);
    for (uint32_t i = 0; i < job->setting_count; i++) {
        accel_strbuf_counted(out, job->settings[i].key);
        accel_strbuf_counted(out, job->settings[i].value);
        accel_strbuf_counted(out, job->settings[i].origin);
    }
    accel_strbuf_append(out, options->bucket_counts, job->graph_count * sizeof(uint32_t));
    accel_strbuf_append(out, options->buckets, numbers.buckets * sizeof(uint64_t));
    for (uint32_t g = 0; g < job->graph_count; g++)
        accel_graph_pack(job->graphs[g], out);
}
