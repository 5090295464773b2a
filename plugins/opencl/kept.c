/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled programs that are kept: as binaries those that the cache held and nobody has made a pipeline of yet; and the
 * pipelines that are alive, whose programs are asked for theirs when the cache is written. A program is found by the
 * hash of its text and options. Making a pipeline takes its binary out of the list.
 *
 * Locks: pipelines_lock of the list of pipelines, kept_lock of the list of binaries; who holds both took pipelines_lock
 * first.
 */
#include "plugins/opencl/opencl.h"

#include <string.h>

#define KEPT_BYTES ((uint64_t)8 << 20) /* binaries of pipelines that are not alive, at most */

bool opencl_kept_has(struct gpu_device *device, const uint64_t hash[2])
{
    const struct opencl_kept *kept;

    pthread_mutex_lock(&device->kept_lock);
    for (kept = device->kept; kept != NULL; kept = kept->next)
        if (kept->hash[0] == hash[0] && kept->hash[1] == hash[1])
            break;
    pthread_mutex_unlock(&device->kept_lock);
    return kept != NULL;
}

struct opencl_kept *opencl_kept_remove(struct gpu_device *device, const uint64_t hash[2])
{
    struct opencl_kept **place = &device->kept;
    struct opencl_kept *kept;

    pthread_mutex_lock(&device->kept_lock);
    while (*place != NULL && ((*place)->hash[0] != hash[0] || (*place)->hash[1] != hash[1]))
        place = &(*place)->next;
    kept = *place;
    if (kept != NULL)
        *place = kept->next;
    pthread_mutex_unlock(&device->kept_lock);
    return kept;
}

/* ---- pipelines that are alive ---- */

void opencl_kept_enter(struct gpu_device *device, struct gpu_pipeline *pipeline)
{
    pthread_mutex_lock(&device->pipelines_lock);
    pipeline->next = device->pipelines;
    device->pipelines = pipeline;
    pthread_mutex_unlock(&device->pipelines_lock);
}

void opencl_kept_leave(struct gpu_device *device, struct gpu_pipeline *pipeline)
{
    struct gpu_pipeline **place = &device->pipelines;

    pthread_mutex_lock(&device->pipelines_lock);
    while (*place != pipeline)
        place = &(*place)->next;
    *place = pipeline->next;
    pthread_mutex_unlock(&device->pipelines_lock);
}

/* Under pipelines_lock. */
static bool is_among(const struct gpu_pipeline *one, const uint64_t hash[2])
{
    while (one != NULL && (one->hash[0] != hash[0] || one->hash[1] != hash[1]))
        one = one->next;
    return one != NULL;
}

static bool is_alive(struct gpu_device *device, const uint64_t hash[2])
{
    bool alive;

    pthread_mutex_lock(&device->pipelines_lock);
    alive = is_among(device->pipelines, hash);
    pthread_mutex_unlock(&device->pipelines_lock);
    return alive;
}

/* ---- the list ---- */

static struct opencl_kept *new_kept(const struct gpu_device *device, const uint64_t hash[2], uint64_t bytes)
{
    struct opencl_kept *kept;
    void *block = NULL;

    if (device->host->allocate(device->host, ACCEL_MEMORY_HOST, sizeof *kept + bytes, 64, &block, NULL) != ACCEL_OK)
        return NULL;
    kept = block;
    memcpy(kept->hash, hash, sizeof kept->hash);
    kept->bytes = bytes;
    return kept;
}

/* The newest come first; the oldest go where there are too many. */
static void add_kept(struct gpu_device *device, struct opencl_kept *kept)
{
    struct opencl_kept **place, *old;
    uint64_t bytes = 0;

    pthread_mutex_lock(&device->kept_lock);
    kept->next = device->kept;
    device->kept = kept;
    for (place = &device->kept; *place != NULL && bytes + (*place)->bytes <= KEPT_BYTES; place = &(*place)->next)
        bytes += (*place)->bytes;
    old = *place;
    *place = NULL;
    pthread_mutex_unlock(&device->kept_lock);
    while (old != NULL) {
        struct opencl_kept *next = old->next;

        device->host->release(device->host, old);
        old = next;
    }
}

void opencl_kept_free(struct gpu_device *device)
{
    while (device->kept != NULL) {
        struct opencl_kept *kept = device->kept;

        device->kept = kept->next;
        device->host->release(device->host, kept);
    }
}

/* ---- writing and reading ---- */

static int32_t write_one(const struct accel_blob_writer *writer, const uint64_t hash[2], const void *binary,
                         uint64_t bytes, struct accel_error *error)
{
    const uint64_t head[3] = {hash[0], hash[1], bytes};
    int32_t code = writer->write(writer, head, sizeof head, error);

    return code == ACCEL_OK ? writer->write(writer, binary, bytes, error) : code;
}

/* The binary of a program. One that the library does not give, or that is larger than plans count with, is left out. */
static int32_t write_pipeline(struct gpu_device *device, const struct gpu_pipeline *pipeline,
                              const struct accel_blob_writer *writer, struct accel_error *error)
{
    const struct opencl_functions *cl = device->cl;
    void *binary = NULL;
    size_t bytes = 0;
    int32_t code;

    if (cl->GetProgramInfo(pipeline->program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS ||
        bytes == 0 || bytes > OPENCL_BINARY_BYTES)
        return ACCEL_OK;
    code = device->host->allocate(device->host, ACCEL_MEMORY_HOST, bytes, 64, &binary, error);
    if (code == ACCEL_OK &&
        cl->GetProgramInfo(pipeline->program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
        code = write_one(writer, pipeline->hash, binary, bytes, error);
    device->host->release(device->host, binary);
    return code;
}

/* Takes the next program of kept bytes: its hash and size, and where its binary is. False at their end, or where they
 * are cut off: then bytes are left. */
static bool next_kept(const char **at, uint64_t *left, uint64_t head[3], const char **out_binary)
{
    if (*left < 3 * sizeof *head)
        return false;
    memcpy(head, *at, 3 * sizeof *head);
    if (head[2] > *left - 3 * sizeof *head)
        return false;
    *out_binary = *at + 3 * sizeof *head;
    *at = *out_binary + head[2];
    *left -= 3 * sizeof *head + head[2];
    return true;
}

/* The first ones, as many as this device would keep. Under pipelines_lock. */
static int32_t write_others(struct gpu_device *device, const char *at, uint64_t left,
                            const struct accel_blob_writer *writer, struct accel_error *error)
{
    const char *binary;
    uint64_t head[3], bytes = 0;
    int32_t code = ACCEL_OK;

    while (code == ACCEL_OK && next_kept(&at, &left, head, &binary)) {
        if (is_among(device->pipelines, head) || opencl_kept_has(device, head) || head[2] > KEPT_BYTES - bytes)
            continue;
        bytes += head[2];
        code = write_one(writer, head, binary, head[2], error);
    }
    return code;
}

/* Front to back: hash, bytes, binary. No pipeline comes or goes meanwhile. */
int32_t opencl_cache_write(struct gpu_device *device, const void *others, uint64_t count,
                           const struct accel_blob_writer *writer, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    pthread_mutex_lock(&device->pipelines_lock);
    pthread_mutex_lock(&device->kept_lock);
    for (const struct opencl_kept *kept = device->kept; kept != NULL && code == ACCEL_OK; kept = kept->next)
        code = write_one(writer, kept->hash, kept->binary, kept->bytes, error);
    pthread_mutex_unlock(&device->kept_lock);
    for (const struct gpu_pipeline *one = device->pipelines; one != NULL && code == ACCEL_OK; one = one->next)
        code = write_pipeline(device, one, writer, error);
    if (code == ACCEL_OK)
        code = write_others(device, others, count, writer, error);
    pthread_mutex_unlock(&device->pipelines_lock);
    return code;
}

int32_t opencl_cache_read(struct gpu_device *device, const void *bytes, uint64_t count, struct accel_error *error)
{
    const char *at = bytes, *binary;
    uint64_t head[3];

    while (next_kept(&at, &count, head, &binary)) {
        struct opencl_kept *kept = NULL;

        if (!opencl_kept_has(device, head) && !is_alive(device, head))
            kept = new_kept(device, head, head[2]);
        if (kept != NULL) {
            memcpy(kept->binary, binary, head[2]);
            add_kept(device, kept);
        }
    }
    return count == 0 ? ACCEL_OK : sdk_error(error, ACCEL_E_MISS, "the kept programs are cut off");
}
