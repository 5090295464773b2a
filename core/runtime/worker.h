/* SPDX-License-Identifier: Apache-2.0 */
/** @file Compiles in a separate process, for drivers whose note has `isolate=compile`: compilers of vendors abort, hang
 * for hours and take all memory. The worker is the program accel-probe; it reads the driver's file, the device, its
 * settings and the graphs from its standard input, writes the blob to descriptor 4, and reports progress and result on
 * descriptor 3 (core/plugin/ipc.h). The calling process loads the blob. The context's cache stores a blob if the device
 * has a fingerprint: one file, whose header has its length and hash; a damaged blob is never passed to a driver. Errors
 * that ended a worker are cached too, by driver, device, settings, graphs and fingerprint, so that a known crash is not
 * repeated. Environment: ACCEL_COMPILE_MILLISECONDS sets the deadline of a worker, ACCEL_COMPILE_BYTES limits its
 * memory. */
#ifndef ACCEL_CORE_RUNTIME_WORKER_H
#define ACCEL_CORE_RUNTIME_WORKER_H

#include <stdbool.h>

#include <accel/error.h>
#include <accel/graph.h>

#include "core/base/strbuf.h"
#include "core/runtime/object.h"

/** Default deadline of a worker. */
#define ACCEL_WORKER_MILLISECONDS 600000u
/** Maximum size of a blob. */
#define ACCEL_BLOB_BYTES (UINT64_C(8) << 30)
/** Descriptor that the worker writes the blob to. */
#define ACCEL_WORKER_DESCRIPTOR 4

/** Job of a worker. Strings and lists belong to its creator: the caller, or the arena of its parser. */
struct accel_worker_job {
    const char *path;   /**< real path of the driver */
    const char *device; /**< "driver:id" */
    uint64_t memory;    /**< memory limit; 0: no limit */
    uint32_t setting_count;
    uint32_t graph_count;
    const struct accel_named_value *settings;
    const struct accel_graph *const *graphs;
    const struct accel_compile_options *options;
};

/** Magic number of a serialized job. */
#define ACCEL_JOB_MAGIC 0x316b7761u

/** Numbers of a serialized job; its texts, settings, buckets and graphs follow. */
struct accel_job_numbers {
    uint32_t magic, graphs, settings, flags, threads, zero;
    uint64_t memory, buckets;
};

/** Serializes a job; tools/accel-probe/job.h parses it. */
void accel_worker_pack(const struct accel_worker_job *job, struct accel_strbuf *out);

/** A blob in memory, 64 bytes after `memory`, which free() frees. */
struct accel_blob {
    char *memory;
    uint64_t bytes;
};
#define ACCEL_BLOB_HEADER 64u

/** Reads the blob of this name from the folder: ACCEL_E_MISS if there is none, ACCEL_E_CORRUPT if it is damaged. */
int32_t accel_blob_read(const char *folder, const char *name, struct accel_blob *out_blob, struct accel_error *error);
/** Stores a blob and fills its header; others see the old blob or the whole new one. */
int32_t accel_blob_write(const char *folder, const char *name, struct accel_blob *blob, struct accel_error *error);

/** Find and store the error that ended a worker of this name before, or ACCEL_OK. The cache is best effort: if it
 * cannot be read or written, the worker runs again. */
int32_t accel_quarantine_find(const char *folder, const char *name, const struct accel_log *log,
                              struct accel_error *error);
void accel_quarantine_add(const char *folder, const char *name, const struct accel_log *log,
                          const struct accel_error *why);

/** Returns whether the note of the device's driver requires a worker. */
bool accel_worker_is_required(const struct accel_device *device);

/** Compiles the module's graphs in a worker, or loads an earlier result from the cache. `again`: the cached blob is
 * stale. Calls the task's progress callback; ACCEL_E_CANCELLED if the callback requests it. */
int32_t accel_worker_compile(struct accel_module *module, const struct accel_compile_options *options, bool again,
                             const struct accel_task *task, struct accel_blob *out_blob, struct accel_error *error);

#endif
