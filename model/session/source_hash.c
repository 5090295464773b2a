/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the cache key of a weight. Hashing its bytes would take as long as reading the model, so the key covers the
 * identity of its files (device, inode, size, mtime, and ctime, which no program can set back), its name, and its
 * target type. A program that writes to the file through a shared mapping meanwhile may change bytes without a new
 * time: the system records the first store to a page only, until it has written it back.
 */
#define _GNU_SOURCE
#include "config.h"

#include "model/session/source_hash.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A file changed within this time may change again without a new time: file system clocks are coarse. */
enum { STABLE_SECONDS = 2 };

/* Reading and conversion may differ between library versions, so keys include the version. */
static const char version[] = "weights 1 " VERSION;

static bool is_stable(const struct timespec *changed, const struct timespec *now)
{
    return changed->tv_sec + STABLE_SECONDS < now->tv_sec;
}

static bool hash_file(XXH3_state_t *state, int fd)
{
    struct timespec now;
    struct stat s;

    if (fd < 0 || fstat(fd, &s) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0 || !is_stable(&s.st_mtim, &now) ||
        !is_stable(&s.st_ctim, &now))
        return false;
    {
        const uint64_t facts[] = {(uint64_t)s.st_dev,         (uint64_t)s.st_ino,          (uint64_t)s.st_size,
                                  (uint64_t)s.st_mtim.tv_sec, (uint64_t)s.st_mtim.tv_nsec, (uint64_t)s.st_ctim.tv_sec,
                                  (uint64_t)s.st_ctim.tv_nsec};

        XXH3_128bits_update(state, facts, sizeof(facts));
    }
    return true;
}

/* Adds a configuration file beside the weights, which affects how they are read. A missing file is hashed as missing.
 */
static int hash_sibling(XXH3_state_t *state, const char *part, const char *name)
{
    const char *slash = strrchr(part, '/');
    char path[4200];
    int fd, done;
    int length = snprintf(path, sizeof(path), "%.*s%s", slash == NULL ? 0 : (int)(slash + 1 - part), part, name);

    if (length < 0 || (size_t)length >= sizeof(path))
        return 0;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        XXH3_128bits_update(state, "none", 4);
        return 1;
    }
    done = hash_file(state, fd);
    close(fd);
    return done;
}

void file_source_identify(struct file_source *source)
{
    static const char *const beside[] = {"config.json", "quantize_config.json", "hf_quant_config.json"};
    const struct accel_model_file *file = source->file;
    XXH3_state_t *state = XXH3_createState();
    XXH128_canonical_t canonical;
    bool whole = state != NULL && XXH3_128bits_reset(state) == XXH_OK;

    for (uint32_t part = 0; whole && part < accel_model_file_part_count(file); part++)
        whole = hash_file(state, accel_model_file_part_fd(file, part));
    for (size_t i = 0;
         whole && accel_model_file_format(file) == ACCEL_MODEL_SAFETENSORS && i < sizeof(beside) / sizeof(beside[0]);
         i++)
        whole = hash_sibling(state, accel_model_file_part_path(file, 0), beside[i]);
    source->identified = (uint32_t)whole;
    if (whole) {
        XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
        memcpy(source->identity, canonical.digest, sizeof(source->identity));
    }
    XXH3_freeState(state);
}

int32_t file_source_hash(const struct accel_source *base, const char *key, uint8_t out_hash[16],
                         struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct file_source *source = (const struct file_source *)base;
    const struct weight_type *other = weights_find_type(source->types, key);
    const struct accel_model_tensor *tensor = accel_model_file_find(source->file, key);
    XXH128_canonical_t canonical;
    struct {
        uint64_t part, offset, bytes, type, made;
        uint8_t identity[16];
    } facts = {0};
    uint64_t seed;
    uint32_t add;

    if (tensor == NULL)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "%s: no tensor '%s'", accel_model_file_path(source->file),
                               key);
    if (!source->identified)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: no file, or it was changed seconds ago",
                               accel_model_file_path(source->file));
    /* A cached result would skip the conversion whose loss is to be reported. */
    if (other != NULL && !other->is_vector && source->report != NULL)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "tensor '%s': the loss of its conversion is to be reported",
                               key);
    facts.part = tensor->part;
    facts.offset = tensor->offset;
    facts.bytes = tensor->bytes;
    facts.type = tensor->type;
    if (other != NULL) {
        memcpy(&add, &other->add, sizeof(add));
        facts.made = (uint64_t)add << 32 | (other->type + UINT64_C(1));
    }
    memcpy(facts.identity, source->identity, sizeof(facts.identity));
    seed = XXH3_64bits_withSeed(&facts, sizeof(facts), XXH3_64bits(version, sizeof(version)));
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_withSeed(key, strlen(key), seed));
    memcpy(out_hash, canonical.digest, 16);
    return ACCEL_OK;
}
