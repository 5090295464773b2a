/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Compiles in another process, for drivers whose note says `isolate=compile`: compilers of vendors abort, hang for
 * hours and take all memory. The worker is the program accel-probe; it gets the driver's file, the device, its settings
 * and the graphs on its standard input, writes the blob to descriptor 4, and says how it went on descriptor 3
 * (core/plugin/wire.h). The process that asked loads the blob.
 *
 * A blob is kept in the cache of the context where the device has a fingerprint: one file, whose header names its bytes
 * and hash; one that is damaged is never given to a driver. What ended a worker is kept as well, by driver, device,
 * settings, graphs and fingerprint, so that nobody waits for the same crash twice.
 *
 * Environment: ACCEL_COMPILE_MILLISECONDS is the deadline of a worker, ACCEL_COMPILE_BYTES what it may take of memory.
 */
#ifndef ACCEL_CORE_DEVICE_WORKER_H
#define ACCEL_CORE_DEVICE_WORKER_H

#include <accel/error.h>
#include <accel/graph.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/base/strbuf.h"
#include "core/device/object.h"

/** Deadline of a worker where nobody says another. */
#define ACCEL_WORKER_MILLISECONDS 600000u
/** Most bytes of a blob. */
#define ACCEL_BLOB_BYTES (UINT64_C(8) << 30)
/** Where the worker writes the blob. */
#define ACCEL_WORKER_DESCRIPTOR 4

/** What a worker does. Strings and lists belong to whoever made it: the caller, or the arena of accel_worker_unpack. */
struct accel_worker_job {
    const char *path;   /**< real path of the driver */
    const char *device; /**< "driver:id" */
    uint64_t memory;    /**< bytes that it may take; 0: no limit */
    uint32_t setting_count;
    uint32_t graph_count;
    const struct accel_given *settings;
    const struct accel_graph *const *graphs;
    const struct accel_compile_options *options;
};

/** Appends a job, and reads one. What is read is checked as if a stranger had written it: ACCEL_E_CORRUPT. */
void accel_worker_pack(const struct accel_worker_job *job, struct accel_strbuf *out);
int32_t accel_worker_unpack(const char *data, size_t bytes, struct accel_arena *arena, struct accel_worker_job *out_job,
                            struct accel_error *error);

/** A blob in memory, 64 bytes behind `memory`, which free() frees. */
struct accel_blob {
    char *memory;
    uint64_t bytes;
};
#define ACCEL_BLOB_HEADER 64u

/** The blob of this name in the folder: ACCEL_E_MISS where there is none, ACCEL_E_CORRUPT where it is damaged. */
int32_t accel_blob_read(const char *folder, const char *name, struct accel_blob *out_blob, struct accel_error *error);
/** Keeps a blob; others see the old one or the whole new one. Fills its header. */
int32_t accel_blob_write(const char *folder, const char *name, struct accel_blob *blob, struct accel_error *error);

/** The error that ended a worker of this name before, or ACCEL_OK. What is kept is a comfort: where it cannot be read
 * or written the worker is asked again. */
int32_t accel_quarantine_look(const char *folder, const char *name, const struct accel_log *log,
                              struct accel_error *error);
void accel_quarantine_add(const char *folder, const char *name, const struct accel_log *log,
                          const struct accel_error *why);

/** True where the note of the device's driver asks for a worker. */
bool accel_worker_wanted(const struct accel_device *device);

/** Compiles the module's graphs in a worker, or finds what an earlier one made. `again`: what is kept is stale. The
 *  task is asked whether to go on; ACCEL_E_CANCELLED where it says no. */
int32_t accel_worker_compile(struct accel_module *module, const struct accel_compile_options *options, bool again,
                             const struct accel_task *task, struct accel_blob *out_blob, struct accel_error *error);

/** The worker's side, run by accel-probe: reads the job, compiles, answers. Returns the exit status. */
int accel_worker_main(void);

#endif
