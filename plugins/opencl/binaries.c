/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cached programs: binaries from the cache file that no pipeline uses yet, and live pipelines, whose programs export
 * their binaries when the cache is written. A program is identified by the hash of its text and options. Creating a
 * pipeline removes its binary from the list.
 *
 * Locks: pipelines_lock guards the list of pipelines, binaries_lock the list of binaries; a thread that holds both
 * locks pipelines_lock first.
 */
#include <string.h>

#include "plugins/opencl/opencl.h"

#define UNUSED_BINARY_BYTES ((uint64_t)8 << 20) /* binaries of pipelines that are not alive, at most */

bool opencl_has_binary(struct gpu_device *device, const uint64_t hash[2])
{
    const struct opencl_binary *entry;

    pthread_mutex_lock(&device->binaries_lock);
    for (entry = device->binaries; entry != NULL; entry = entry->next)
        if (entry->hash[0] == hash[0] && entry->hash[1] == hash[1])
            break;
    pthread_mutex_unlock(&device->binaries_lock);
    return entry != NULL;
}

struct opencl_binary *opencl_remove_binary(struct gpu_device *device, const uint64_t hash[2])
{
    struct opencl_binary **place = &device->binaries;
    struct opencl_binary *entry;

    pthread_mutex_lock(&device->binaries_lock);
    while (*place != NULL && ((*place)->hash[0] != hash[0] || (*place)->hash[1] != hash[1]))
        place = &(*place)->next;
    entry = *place;
    if (entry != NULL)
        *place = entry->next;
    pthread_mutex_unlock(&device->binaries_lock);
    return entry;
}

/* ---- pipelines that are alive ---- */

void opencl_register_pipeline(struct gpu_device *device, struct gpu_pipeline *pipeline)
{
    pthread_mutex_lock(&device->pipelines_lock);
    pipeline->next = device->pipelines;
    device->pipelines = pipeline;
    pthread_mutex_unlock(&device->pipelines_lock);
}

void opencl_unregister_pipeline(struct gpu_device *device, struct gpu_pipeline *pipeline)
{
    struct gpu_pipeline **place = &device->pipelines;

    pthread_mutex_lock(&device->pipelines_lock);
    while (*place != pipeline)
        place = &(*place)->next;
    *place = pipeline->next;
    pthread_mutex_unlock(&device->pipelines_lock);
}

/* Under pipelines_lock. */
static bool is_in_list(const struct gpu_pipeline *one, const uint64_t hash[2])
{
    while (one != NULL && (one->hash[0] != hash[0] || one->hash[1] != hash[1]))
        one = one->next;
    return one != NULL;
}

static bool is_alive(struct gpu_device *device, const uint64_t hash[2])
{
    bool alive;

    pthread_mutex_lock(&device->pipelines_lock);
    alive = is_in_list(device->pipelines, hash);
    pthread_mutex_unlock(&device->pipelines_lock);
    return alive;
}

/* ---- the list ---- */

static struct opencl_binary *new_binary(const struct gpu_device *device, const uint64_t hash[2], uint64_t bytes)
{
    struct opencl_binary *entry;
    void *block = NULL;

    if (device->host->allocate(device->host, ACCEL_MEMORY_HOST, sizeof(*entry) + bytes, 64, &block, NULL) != ACCEL_OK)
        return NULL;
    entry = block;
    memcpy(entry->hash, hash, sizeof(entry->hash));
    entry->bytes = bytes;
    return entry;
}

/* The newest come first; the oldest go where there are too many. */
static void add_binary(struct gpu_device *device, struct opencl_binary *entry)
{
    struct opencl_binary **place, *old;
    uint64_t bytes = 0;

    pthread_mutex_lock(&device->binaries_lock);
    entry->next = device->binaries;
    device->binaries = entry;
    for (place = &device->binaries; *place != NULL && bytes + (*place)->bytes <= UNUSED_BINARY_BYTES;
         place = &(*place)->next)
        bytes += (*place)->bytes;
    old = *place;
    *place = NULL;
    pthread_mutex_unlock(&device->binaries_lock);
    while (old != NULL) {
        struct opencl_binary *next = old->next;

        device->host->release(device->host, old);
        old = next;
    }
}

void opencl_free_binaries(struct gpu_device *device)
{
    while (device->binaries != NULL) {
        struct opencl_binary *entry = device->binaries;

        device->binaries = entry->next;
        device->host->release(device->host, entry);
    }
}

/* ---- writing and reading ---- */

static int32_t write_one(const struct accel_blob_writer *writer, const uint64_t hash[2], const void *binary,
                         uint64_t bytes, struct accel_error *error)
{
    const uint64_t head[3] = {hash[0], hash[1], bytes};
    int32_t code = writer->write(writer, head, sizeof(head), error);

    return code == ACCEL_OK ? writer->write(writer, binary, bytes, error) : code;
}

/* Writes the binary of a program. Binaries that the library cannot export or that exceed the plan's bound are left out.
 */
static int32_t write_pipeline(struct gpu_device *device, const struct gpu_pipeline *pipeline,
                              const struct accel_blob_writer *writer, struct accel_error *error)
{
    const struct opencl_functions *cl = device->cl;
    void *binary = NULL;
    size_t bytes = 0;
    int32_t code;

    if (cl->GetProgramInfo(pipeline->program, CL_PROGRAM_BINARY_SIZES, sizeof(bytes), &bytes, NULL) != CL_SUCCESS ||
        bytes == 0 || bytes > OPENCL_BINARY_BYTES)
        return ACCEL_OK;
    code = device->host->allocate(device->host, ACCEL_MEMORY_HOST, bytes, 64, &binary, error);
    if (code == ACCEL_OK &&
        cl->GetProgramInfo(pipeline->program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL) == CL_SUCCESS)
        code = write_one(writer, pipeline->hash, binary, bytes, error);
    device->host->release(device->host, binary);
    return code;
}

/* Parses the next cached program: its hash and size, and the position of its binary. Returns false at the end, or if
 * the rest is truncated (then *left is not 0). */
static bool parse_binary(const char **at, uint64_t *left, uint64_t head[3], const char **out_binary)
{
    if (*left < 3 * sizeof(*head))
        return false;
    memcpy(head, *at, 3 * sizeof(*head));
    if (head[2] > *left - 3 * sizeof(*head))
        return false;
    *out_binary = *at + 3 * sizeof(*head);
    *at = *out_binary + head[2];
    *left -= 3 * sizeof(*head) + head[2];
    return true;
}

/* Writes the first binaries of `others`, as many as this device would cache. pipelines_lock is held. */
static int32_t write_others(struct gpu_device *device, const char *at, uint64_t left,
                            const struct accel_blob_writer *writer, struct accel_error *error)
{
    const char *binary;
    uint64_t head[3], bytes = 0;
    int32_t code = ACCEL_OK;

    while (code == ACCEL_OK && parse_binary(&at, &left, head, &binary)) {
        if (is_in_list(device->pipelines, head) || opencl_has_binary(device, head) ||
            head[2] > UNUSED_BINARY_BYTES - bytes)
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
    pthread_mutex_lock(&device->binaries_lock);
    for (const struct opencl_binary *entry = device->binaries; entry != NULL && code == ACCEL_OK; entry = entry->next)
        code = write_one(writer, entry->hash, entry->binary, entry->bytes, error);
    pthread_mutex_unlock(&device->binaries_lock);
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

    while (parse_binary(&at, &count, head, &binary)) {
        struct opencl_binary *entry = NULL;

        if (!opencl_has_binary(device, head) && !is_alive(device, head))
            entry = new_binary(device, head, head[2]);
        if (entry != NULL) {
            memcpy(entry->binary, binary, head[2]);
            add_binary(device, entry);
        }
    }
    return count == 0 ? ACCEL_OK : sdk_error(error, ACCEL_E_MISS, "the cached programs are truncated");
}
