/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled kernels on disk: see cache.h. The file is a struct header and the bytes of the API. */
#include "config.h"

#define XXH_INLINE_ALL
#include "sdk/gpu/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define MOST_BYTES ((uint64_t)256 << 20)
#define MAGIC "accelgpu"

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
    .size = sizeof gpu_cache_option,
    .type = ACCEL_OPTION_TEXT,
    .name = "cache",
    .help = "where compiled kernels are kept: auto (the user's cache folder), off, or an absolute folder",
    .text = "auto",
};

static uint64_t check_of(const struct header *header)
{
    return XXH3_64bits(header, offsetof(struct header, check));
}

static void fill_header(const struct gpu_cache *cache, uint64_t bytes, uint64_t hash, struct header *out_header)
{
    memset(out_header, 0, sizeof *out_header);
    memcpy(out_header->magic, MAGIC, sizeof out_header->magic);
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
        used = snprintf(cache->folder, sizeof cache->folder, "%s", text);
    else if (base != NULL && base[0] == '/')
        used = snprintf(cache->folder, sizeof cache->folder, "%s/accel/kernels", base);
    else if (home != NULL && home[0] == '/')
        used = snprintf(cache->folder, sizeof cache->folder, "%s/.cache/accel/kernels", home);
    if (used < 0 || (size_t)used >= sizeof cache->folder)
        cache->folder[0] = '\0';
}

static void find_file(struct gpu_cache *cache)
{
    uint8_t fingerprint[16];
    char text[33];

    cache->api->fingerprint(cache->device, fingerprint);
    for (uint32_t i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", fingerprint[i]);
    snprintf(cache->file, sizeof cache->file, "%s/%.32s-%s", cache->folder, cache->api->name, text);
}

/* Makes the folder and those above it that are missing. */
static int make_folder(const char *folder)
{
    char path[sizeof((struct gpu_cache *)0)->folder];
    int made;

    snprintf(path, sizeof path, "%s", folder);
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

static const char *read_mapped(struct gpu_cache *cache, const unsigned char *mapped, uint64_t size)
{
    struct header expected, header;
    struct accel_error error = {.code = ACCEL_OK};

    memcpy(&header, mapped, sizeof header);
    if (memcmp(header.magic, MAGIC, sizeof header.magic) != 0 || header.check != check_of(&header) ||
        header.bytes != size - sizeof header)
        return "is damaged";
    fill_header(cache, header.bytes, header.hash, &expected);
    if (memcmp(&expected, &header, sizeof header) != 0)
        return "is of another device or version";
    if (XXH3_64bits(mapped + sizeof header, header.bytes) != header.hash)
        return "is damaged";
    if (cache->api->cache_read(cache->device, mapped + sizeof header, header.bytes, &error) != ACCEL_OK)
        return "is refused by the device's driver";
    cache->hash = header.hash;
    cache->bytes = header.bytes;
    return NULL;
}

/* NULL, or what is wrong with the open file. */
static const char *read_open(struct gpu_cache *cache, int file)
{
    struct stat status;
    const char *wrong;
    void *mapped;

    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return "is no file";
    if (status.st_uid != geteuid() || (status.st_mode & 022) != 0)
        return "belongs to another user, or others may write it";
    if (status.st_size < (off_t)sizeof(struct header) || (uint64_t)status.st_size > MOST_BYTES)
        return "is damaged";
    mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED)
        return "cannot be mapped";
    wrong = read_mapped(cache, mapped, (uint64_t)status.st_size);
    munmap(mapped, (size_t)status.st_size);
    return wrong;
}

void gpu_cache_open(struct gpu_cache *cache, const struct gpu_api *api, const struct accel_host *host,
                    struct gpu_device *device, const struct accel_setting *setting)
{
    const char *wrong;
    int file;

    memset(cache, 0, sizeof *cache);
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
    /* Not a regular file is refused below; opening a pipe must not wait for its writer. */
    file = open(cache->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return;
    wrong = read_open(cache, file);
    close(file);
    if (wrong != NULL)
        sdk_log(host, ACCEL_LOG_WARN, "driver=%s cache=%s text=\"the file %s: kernels are compiled again\"", api->name,
                cache->file, wrong);
}

/* ---- writing ---- */

struct sum {
    struct accel_blob_writer writer; /* first: a driver hands its address back */
    XXH3_state_t *state;
    uint64_t bytes;
    int file;
};

static int32_t take(const struct accel_blob_writer *writer, const void *bytes, uint64_t count,
                    struct accel_error *error)
{
    struct sum *sum = (struct sum *)(uintptr_t)writer;
    const char *at = bytes;

    XXH3_64bits_update(sum->state, bytes, count);
    sum->bytes += count;
    while (count > 0) {
        ssize_t written = write(sum->file, at, count);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return sdk_error(error, ACCEL_E_IO, "write: %s", strerror(errno));
        at += written;
        count -= (uint64_t)written;
    }
    return ACCEL_OK;
}

/* Fills the temporary file and gives it its name. NULL, or what went wrong. */
static const char *write_open(struct gpu_cache *cache, struct sum *sum, const char *name)
{
    struct accel_error error = {.code = ACCEL_OK};
    struct header header;
    uint64_t hash;

    if (lseek(sum->file, sizeof header, SEEK_SET) < 0 ||
        cache->api->cache_write(cache->device, &sum->writer, &error) != ACCEL_OK)
        return "cannot be written";
    hash = XXH3_64bits_digest(sum->state);
    if (sum->bytes == 0 || sum->bytes > MOST_BYTES - sizeof header ||
        (sum->bytes == cache->bytes && hash == cache->hash))
        return ""; /* nothing new */
    fill_header(cache, sum->bytes, hash, &header);
    if (pwrite(sum->file, &header, sizeof header, 0) != (ssize_t)sizeof header || fsync(sum->file) != 0 ||
        rename(name, cache->file) != 0)
        return "cannot be written";
    cache->bytes = sum->bytes;
    cache->hash = hash;
    return NULL;
}

static void store(struct gpu_cache *cache)
{
    char name[sizeof cache->file + 8];
    struct sum sum = {.writer = {.size = sizeof sum.writer, .write = take}, .file = -1};
    const char *wrong = "cannot be written";

    snprintf(name, sizeof name, "%s.XXXXXX", cache->file);
    sum.state = XXH3_createState();
    if (sum.state != NULL && make_folder(cache->folder) == 0) {
        XXH3_64bits_reset(sum.state);
        sum.file = mkostemp(name, O_CLOEXEC);
    }
    if (sum.file >= 0) {
        wrong = write_open(cache, &sum, name);
        close(sum.file);
        if (wrong != NULL)
            unlink(name);
    }
    XXH3_freeState(sum.state);
    if (wrong != NULL && wrong[0] != '\0')
        sdk_log(cache->host, ACCEL_LOG_WARN, "driver=%s cache=%s text=\"the file %s\"", cache->api->name, cache->file,
                wrong);
}

void gpu_cache_store(struct gpu_cache *cache)
{
    if (cache->folder[0] == '\0')
        return;
    pthread_mutex_lock(&cache->lock);
    store(cache);
    pthread_mutex_unlock(&cache->lock);
}

void gpu_cache_close(struct gpu_cache *cache)
{
    if (cache->folder[0] != '\0')
        pthread_mutex_destroy(&cache->lock);
    cache->folder[0] = '\0';
}
