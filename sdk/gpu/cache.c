/* SPDX-License-Identifier: Apache-2.0 */
/* Cache file of compiled kernels (cache.h): a struct header, then the bytes of the API. */
#include "config.h"

#define XXH_INLINE_ALL
#include "sdk/gpu/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define MOST_BYTES ((uint64_t)256 << 20)
#define MAGIC "accelgpu"
#define STALE_SECONDS (6 * 60 * 60) /* longer than any write takes */

struct header {
    char magic[8];
    uint32_t version;
    uint32_t zero;
    uint8_t fingerprint[16];
    uint64_t bytes;
    uint64_t hash;  /* XXH3 of the bytes */
    uint64_t check; /* XXH3 of the header before this */
};

const struct accel_option gpu_cache_option = {
    .size = sizeof(gpu_cache_option),
    .type = ACCEL_OPTION_TEXT,
    .name = "cache",
    .help = "cache of compiled kernels: auto (the user's cache folder), off, or an absolute folder",
    .text = "auto",
};

static uint64_t check_of(const struct header *header)
{
    return XXH3_64bits(header, offsetof(struct header, check));
}

static void fill_header(const struct gpu_cache *cache, uint64_t bytes, uint64_t hash, struct header *out_header)
{
    memset(out_header, 0, sizeof(*out_header));
    memcpy(out_header->magic, MAGIC, sizeof(out_header->magic));
    out_header->version = 1;
    cache->api->fingerprint(cache->device, out_header->fingerprint);
    out_header->bytes = bytes;
    out_header->hash = hash;
    out_header->check = check_of(out_header);
}

/* ---- the place ---- */

/* Variables are not believed in a program that runs with more rights than its user. */
static void find_folder(struct gpu_cache *cache, const struct accel_setting *setting)
{
    const char *text = setting != NULL && setting->text != NULL ? setting->text : "auto";
    const char *base = secure_getenv("XDG_CACHE_HOME");
    const char *home = secure_getenv("HOME");
    int used = 0;

    if (strcmp(text, "off") == 0)
        return;
    if (text[0] == '/')
        used = snprintf(cache->folder, sizeof(cache->folder), "%s", text);
    else if (base != NULL && base[0] == '/')
        used = snprintf(cache->folder, sizeof(cache->folder), "%s/accel/kernels", base);
    else if (home != NULL && home[0] == '/')
        used = snprintf(cache->folder, sizeof(cache->folder), "%s/.cache/accel/kernels", home);
    if (used < 0 || (size_t)used >= sizeof(cache->folder))
        cache->folder[0] = '\0';
}

static void find_file(struct gpu_cache *cache)
{
    uint8_t fingerprint[16];
    char text[33];

    cache->api->fingerprint(cache->device, fingerprint);
    for (uint32_t i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", fingerprint[i]);
    snprintf(cache->file, sizeof(cache->file), "%s/%.32s-%s", cache->folder, cache->api->name, text);
}

/* Makes the folder and those above it that are missing. */
static int make_folder(const char *folder)
{
    char path[sizeof((struct gpu_cache *)0)->folder];
    int made;

    snprintf(path, sizeof(path), "%s", folder);
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        made = mkdir(path, 0700);
        *at = '/';
        if (made != 0 && errno != EEXIST)
            return -1;
    }
    return mkdir(path, 0700) != 0 && errno != EEXIST ? -1 : 0;
}

/* ---- reading ---- */

/* Content of a cache file: the bytes of the API behind their header, in one block of the host's memory. */
struct content {
    unsigned char *block; /* NULL: nothing */
    struct header header;
};

static const char *check_content(const struct gpu_cache *cache, const struct content *content, uint64_t size)
{
    const struct header *header = &content->header;
    struct header expected;

    if (memcmp(header->magic, MAGIC, sizeof(header->magic)) != 0 || header->check != check_of(header) ||
        header->bytes != size - sizeof(*header))
        return "is damaged";
    fill_header(cache, header->bytes, header->hash, &expected);
    if (memcmp(&expected, header, sizeof(*header)) != 0)
        return "is of another device or version";
    return XXH3_64bits(content->block + sizeof(*header), header->bytes) == header->hash ? NULL : "is damaged";
}

/* Reads all of `size` bytes: a file that is mapped and gets shorter meanwhile would end the process. */
static bool read_all(int file, unsigned char *memory, uint64_t size)
{
    for (uint64_t done = 0; done < size;) {
        ssize_t got = read(file, memory + done, size - done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (uint64_t)got;
    }
    return true;
}

static const char too_large[] = "does not fit into memory";

/* Reads and checks the open file. Returns NULL or the reason of the failure; the caller frees the block either way. */
static const char *read_open(const struct gpu_cache *cache, int file, struct content *out_content)
{
    struct stat status;
    void *block = NULL;

    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return "is no file";
    if (status.st_uid != geteuid() || (status.st_mode & 022) != 0)
        return "belongs to another user, or others may write it";
    if (status.st_size < (off_t)sizeof(struct header) || (uint64_t)status.st_size > MOST_BYTES)
        return "is damaged";
    if (cache->host->allocate(cache->host, ACCEL_MEMORY_HOST, (uint64_t)status.st_size, 64, &block, NULL) != ACCEL_OK)
        return too_large;
    out_content->block = block;
    if (!read_all(file, block, (uint64_t)status.st_size))
        return "cannot be read, or gets shorter";
    memcpy(&out_content->header, block, sizeof(out_content->header));
    return check_content(cache, out_content, (uint64_t)status.st_size);
}

/* Reads the current file. Returns NULL and the content (empty if there is no file), or the reason of the failure. */
static const char *read_file(struct gpu_cache *cache, struct content *out_content)
{
    const char *wrong;
    int file;

    memset(out_content, 0, sizeof(*out_content));
    /* Not a regular file is refused; opening a pipe must not wait for its writer. */
    file = open(cache->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return NULL;
    wrong = read_open(cache, file, out_content);
    close(file);
    if (wrong != NULL) {
        cache->host->release(cache->host, out_content->block);
        out_content->block = NULL;
    } else {
        cache->hash = out_content->header.hash;
        cache->bytes = out_content->header.bytes;
    }
    return wrong;
}

/* ---- leftovers of killed writers ---- */

/* DRIVER-FINGERPRINT.new, or with six letters behind the dot as earlier versions named it. */
static bool is_unfinished(const struct gpu_cache *cache, const char *name)
{
    const size_t length = strlen(cache->api->name);
    const char *hex = name + length + 1, *end;

    if (strncmp(name, cache->api->name, length) != 0 || name[length] != '-')
        return false;
    end = hex + strspn(hex, "0123456789abcdef");
    return end - hex == 32 && *end == '.' && (strcmp(end, ".new") == 0 || strlen(end) == 7);
}

/* Only an old file of the user's that no process holds a lock of. */
static void remove_stale_file(int folder, const char *name)
{
    const time_t now = time(NULL);
    struct stat status;
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (file < 0)
        return;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        status.st_mtime < now - STALE_SECONDS && flock(file, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
    close(file);
}

static void remove_stale_files(const struct gpu_cache *cache)
{
    DIR *folder = opendir(cache->folder);
    const struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (is_unfinished(cache, entry->d_name))
            remove_stale_file(dirfd(folder), entry->d_name);
    if (folder != NULL)
        closedir(folder);
}

void gpu_cache_open(struct gpu_cache *cache, const struct gpu_api *api, const struct accel_host *host,
                    struct gpu_device *device, const struct accel_setting *setting)
{
    struct content content;
    const char *wrong;

    memset(cache, 0, sizeof(*cache));
    cache->api = api;
    cache->host = host;
    cache->device = device;
    if (api->cache_read == NULL || api->cache_write == NULL || pthread_mutex_init(&cache->lock, NULL) != 0)
        return;
    find_folder(cache, setting);
    if (cache->folder[0] == '\0') {
        pthread_mutex_destroy(&cache->lock);
        return;
    }
    find_file(cache);
    remove_stale_files(cache);
    wrong = read_file(cache, &content);
    if (content.block != NULL &&
        api->cache_read(device, content.block + sizeof(content.header), content.header.bytes, NULL) != ACCEL_OK) {
        wrong = "is refused by the device's driver";
        cache->hash = cache->bytes = 0;
    }
    host->release(host, content.block);
    if (wrong != NULL)
        sdk_log(host, ACCEL_LOG_WARN, "driver=%s cache=%s text=\"the file %s: kernels are compiled again\"", api->name,
                cache->file, wrong);
}

/* ---- writing ---- */

struct output {
    struct accel_blob_writer writer; /* first: a driver hands its address back */
    XXH3_state_t *state;
    uint64_t bytes;
    int file;
};

static int32_t write_bytes(const struct accel_blob_writer *writer, const void *bytes, uint64_t count,
                           struct accel_error *error)
{
    struct output *out = (struct output *)(uintptr_t)writer;
    const char *at = bytes;

    XXH3_64bits_update(out->state, bytes, count);
    out->bytes += count;
    while (count > 0) {
        ssize_t written = write(out->file, at, count);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return sdk_error(error, ACCEL_E_IO, "write: %s", strerror(errno));
        at += written;
        count -= (uint64_t)written;
    }
    return ACCEL_OK;
}

/* Fills the temporary file and renames it. Kernels of the old file that this device does not hold are copied: they come
 * from other processes and from freed modules. */
static int32_t write_open(struct gpu_cache *cache, struct output *out, const struct content *before, const char *name,
                          struct accel_error *error)
{
    const void *others = before->block == NULL ? NULL : before->block + sizeof(before->header);
    struct header header;
    uint64_t hash;
    int32_t code;

    if (ftruncate(out->file, 0) != 0 || lseek(out->file, sizeof(header), SEEK_SET) < 0)
        return sdk_error(error, ACCEL_E_IO, "%s", strerror(errno));
    code =
        cache->api->cache_write(cache->device, others, others == NULL ? 0 : before->header.bytes, &out->writer, error);
    if (code != ACCEL_OK)
        return code;
    hash = XXH3_64bits_digest(out->state);
    if (out->bytes == 0 || out->bytes > MOST_BYTES - sizeof(header) ||
        (out->bytes == cache->bytes && hash == cache->hash)) {
        unlink(name); /* nothing new */
        return ACCEL_OK;
    }
    fill_header(cache, out->bytes, hash, &header);
    if (pwrite(out->file, &header, sizeof(header), 0) != (ssize_t)sizeof(header) || fsync(out->file) != 0 ||
        rename(name, cache->file) != 0)
        return sdk_error(error, ACCEL_E_IO, "%s", strerror(errno));
    cache->bytes = out->bytes;
    cache->hash = hash;
    return ACCEL_OK;
}

/*
 * Opens and locks NAME.new, so that one process writes at a time; the next writer overwrites a killed writer's file.
 * Returns -1 with errno; EWOULDBLOCK: another process is writing. A file that others can access is left alone.
 */
static int open_temporary(const char *name)
{
    int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat status, named;

    if (file < 0)
        return -1;
    if (flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &status) == 0 && lstat(name, &named) == 0) {
        if (S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_nlink == 1 &&
            (status.st_mode & 077) == 0 && status.st_dev == named.st_dev && status.st_ino == named.st_ino)
            return file;
        /* It was renamed or removed between the two calls, or another user created it. */
        errno = status.st_nlink == 0 || status.st_ino != named.st_ino ? EWOULDBLOCK : EPERM;
    } else if (errno == ENOENT) {
        errno = EWOULDBLOCK;
    }
    close(file);
    return -1;
}

static void store(struct gpu_cache *cache, const struct content *before)
{
    char name[sizeof(cache->file) + 8];
    struct output out = {.writer = {.size = sizeof(out.writer), .write = write_bytes}, .file = -1};
    struct accel_error error = {.code = ACCEL_OK};

    snprintf(name, sizeof(name), "%s.new", cache->file);
    out.state = XXH3_createState();
    if (out.state == NULL) {
        sdk_error(&error, ACCEL_E_MEMORY, "no memory");
    } else if (make_folder(cache->folder) != 0 || (out.file = open_temporary(name)) < 0) {
        if (errno != EWOULDBLOCK) /* else another process is writing its kernels */
            sdk_error(&error, ACCEL_E_IO, "%s", strerror(errno));
    } else {
        XXH3_64bits_reset(out.state);
        if (write_open(cache, &out, before, name, &error) != ACCEL_OK)
            unlink(name);
        close(out.file);
    }
    XXH3_freeState(out.state);
    if (error.code != ACCEL_OK)
        sdk_log(cache->host, ACCEL_LOG_WARN, "driver=%s cache=%s text=\"the file cannot be written: %.300s\"",
                cache->api->name, cache->file, error.text);
}

void gpu_cache_store(struct gpu_cache *cache)
{
    struct content before;

    if (cache->folder[0] == '\0')
        return;
    pthread_mutex_lock(&cache->lock);
    /* Without memory for the old content the file stays unchanged. */
    if (read_file(cache, &before) != too_large)
        store(cache, &before);
    cache->host->release(cache->host, before.block);
    pthread_mutex_unlock(&cache->lock);
}

static int32_t count_bytes(const struct accel_blob_writer *writer, const void *bytes, uint64_t count,
                           struct accel_error *error)
{
    struct output *out = (struct output *)(uintptr_t)writer;

    (void)bytes, (void)error;
    out->bytes += count;
    return ACCEL_OK;
}

void gpu_cache_probe(struct gpu_cache *cache, const struct gpu_key *key)
{
    struct output out = {.writer = {.size = sizeof(out.writer), .write = count_bytes}, .file = -1};
    struct gpu_pipeline *pipeline = NULL;

    if (cache->folder[0] == '\0' || cache->api->cache_header == 0 || cache->bytes != 0 ||
        atomic_load(&cache->exports) != GPU_EXPORTS_UNKNOWN ||
        cache->api->pipeline_create(cache->device, key, &pipeline, NULL) != ACCEL_OK)
        return;
    if (cache->api->cache_write(cache->device, NULL, 0, &out.writer, NULL) == ACCEL_OK)
        atomic_store(&cache->exports, out.bytes > cache->api->cache_header ? GPU_EXPORTS_KERNELS : GPU_EXPORTS_NOTHING);
    cache->api->pipeline_free(cache->device, pipeline);
}

uint64_t gpu_cache_most(const struct gpu_cache *cache, bool has_all)
{
    /* A file no larger than the API's own header shows that this device exports no kernels, as the probe does. */
    const bool is_empty = cache->bytes != 0 ? cache->bytes <= cache->api->cache_header
                                            : atomic_load(&cache->exports) == GPU_EXPORTS_NOTHING;
    const uint64_t bytes = cache->bytes != 0 ? cache->bytes : is_empty ? cache->api->cache_header : 0;

    if (cache->folder[0] == '\0')
        return 0;
    /* An entry of the API's copy takes a few bytes more than in the file, which is little beside a kernel. A kernel
     * that is exported again was taken from the copy before. */
    return 2 * (bytes + sizeof(struct header)) + (is_empty ? 0 : has_all ? bytes / 64 : 2 * cache->api->cache_bytes);
}

void gpu_cache_close(struct gpu_cache *cache)
{
    if (cache->folder[0] != '\0')
        pthread_mutex_destroy(&cache->lock);
    cache->folder[0] = '\0';
}
