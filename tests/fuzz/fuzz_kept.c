/* SPDX-License-Identifier: Apache-2.0 */
/* Files that earlier runs left behind: results of probes, blobs, and kernels of devices. Their hashes are put right, so
 * that what lies behind them is tried as well. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/strbuf.h"
#include "core/plugin/cache.h"
#include "core/runtime/worker.h"
#include "sdk/gpu/cache.h"
#include "tests/fuzz/fuzz.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

const char *const fuzz_corpus_folder = "tests/fixtures/kept";
const char *const fuzz_corpus_suffix = ".cache";

/* What a driver called "fuzz" calls its file, for a device whose fingerprint is zero. */
#define KERNELS "fuzz-00000000000000000000000000000000"

/* A folder of this process for the file; removed at its end. */
static char folder[64];

static void leave(void)
{
    char path[128];
    static const char *const names[] = {"a.cache", "b.blob", KERNELS};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void enter(void)
{
    struct stat facts;
    if (folder[0] != '\0')
        return;
    strcpy(folder, stat("/dev/shm", &facts) == 0 ? "/dev/shm/accel-fuzz-XXXXXX" : "/tmp/accel-fuzz-XXXXXX");
    if (mkdtemp(folder) == NULL)
        exit(99);
    atexit(leave);
}

static void put_file(const char *name, const void *data, size_t bytes, char path[128])
{
    FILE *file;
    snprintf(path, 128, "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, bytes, file) != bytes)
        exit(99);
    fclose(file);
    chmod(path, 0600);
}

static void give_as_cache(const char *data, size_t bytes)
{
    struct accel_cache *cache = calloc(1, sizeof(*cache));
    struct accel_arena arena = {0};
    char path[128];
    if (cache == NULL)
        exit(99);
    put_file("a.cache", data, bytes, path);
    if (accel_cache_read(path, NULL, &arena, cache, NULL) != ACCEL_OK)
        abort();
    for (uint32_t i = 0; i < cache->count; i++)
        if (strlen(cache->entries[i].key) != ACCEL_HASH128_HEX_BYTES - 1 || cache->entries[i].code > 0 ||
            cache->entries[i].text == NULL || accel_cache_find(cache, cache->entries[i].key) == NULL)
            abort();
    accel_arena_free(&arena);
    free(cache);
}

/* The same with its last line made anew. */
static void give_with_end(const char *data, size_t bytes)
{
    struct accel_strbuf text = {0};
    char hash[ACCEL_HASH128_HEX_BYTES];
    size_t end = bytes;
    while (end > 0 && (end == bytes || data[end - 1] != '\n'))
        end--;
    accel_hash128_to_hex(accel_hash128(data, end, 0), hash);
    accel_strbuf_append(&text, data, end);
    accel_strbuf_printf(&text, "end %s\n", hash);
    give_as_cache(accel_strbuf_get(&text), text.length);
    accel_strbuf_free(&text);
}

/* Bytes that say nothing true of themselves are no blob; those that were written come back. */
static void give_as_blob(const char *data, size_t bytes)
{
    struct accel_blob blob;
    struct accel_error error = {0};
    char path[128];
    put_file("b.blob", data, bytes, path);
    if (accel_blob_read(folder, "b", &blob, &error) == ACCEL_OK) {
        if (blob.bytes + ACCEL_BLOB_HEADER != bytes || memcmp(blob.memory, data, bytes) != 0)
            abort();
        free(blob.memory);
    } else if (error.code == ACCEL_OK || blob.memory != NULL) {
        abort();
    }
}

static void fingerprint(const struct gpu_device *device, uint8_t out_fingerprint[16])
{
    (void)device;
    memset(out_fingerprint, 0, 16);
}

/* What is handed over has the right hash, whoever wrote it: its bytes can be read, and it is what was kept. */
static uint64_t read_bytes, read_hash;

static int32_t read_kernels(struct gpu_device *device, const void *bytes, uint64_t count, struct accel_error *error)
{
    (void)device;
    read_bytes = count;
    read_hash = XXH3_64bits(bytes, count);
    return count % 2 == 0 ? ACCEL_OK : accel_error_set(error, ACCEL_E_CORRUPT, "an odd number of bytes");
}

static int32_t write_kernels(struct gpu_device *device, const void *others, uint64_t count,
                             const struct accel_blob_writer *writer, struct accel_error *error)
{
    (void)device, (void)others, (void)count;
    return writer->write(writer, "new", 3, error);
}

static int32_t no_log(const struct accel_host *host, uint32_t level, const char *text)
{
    (void)host, (void)level;
    if (strchr(text, '\n') != NULL)
        abort();
    return ACCEL_OK;
}

static int32_t take(const struct accel_host *host, uint32_t memory_class, uint64_t bytes, uint64_t alignment,
                    void **out_memory, struct accel_error *error)
{
    (void)host, (void)memory_class, (void)alignment, (void)error;
    *out_memory = malloc(bytes);
    return *out_memory != NULL ? ACCEL_OK : ACCEL_E_MEMORY;
}

static int32_t give_back(const struct accel_host *host, void *memory)
{
    (void)host;
    free(memory);
    return ACCEL_OK;
}

/* As a file of kernels: as it is, or after a header that says what is true of it. */
static void give_as_kernels(const char *data, size_t bytes, int is_right)
{
    static const struct gpu_api api = {
        .name = "fuzz", .fingerprint = fingerprint, .cache_read = read_kernels, .cache_write = write_kernels};
    const struct accel_host host = {.size = sizeof(host), .log = no_log, .allocate = take, .release = give_back};
    const struct accel_setting setting = {.text = folder};
    struct accel_strbuf text = {0};
    uint64_t words[7] = {0};
    struct gpu_cache cache;
    char path[128];
    read_bytes = 0;
    if (is_right) {
        memcpy(words, "accelgpu", 8);
        words[1] = 1;
        words[4] = bytes;
        words[5] = XXH3_64bits(data, bytes);
        words[6] = XXH3_64bits(words, 48);
        accel_strbuf_append(&text, (const char *)words, sizeof(words));
    }
    accel_strbuf_append(&text, data, bytes);
    put_file(KERNELS, accel_strbuf_get(&text), text.length, path);
    gpu_cache_open(&cache, &api, &host, NULL, &setting);
    if ((is_right && (read_bytes != bytes || read_hash != words[5])) ||
        (cache.bytes != 0 && (cache.bytes != read_bytes || cache.hash != read_hash)))
        abort();
    gpu_cache_store(&cache);
    gpu_cache_close(&cache);
    accel_strbuf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enter();
    give_as_cache((const char *)data, size);
    give_with_end((const char *)data, size);
    give_as_blob((const char *)data, size);
    give_as_kernels((const char *)data, size, 0);
    give_as_kernels((const char *)data, size, 1);
    return 0;
}
