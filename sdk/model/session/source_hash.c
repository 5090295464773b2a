/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What names the content of a weight, for those who keep what they made of it. Hashing the bytes would take as long as
 * reading the model: a weight is named by the files that it comes from, as the system tells one file from another and
 * from what it was before (device, number, size, and the times of the last change of its bytes and of any other kind,
 * of which nobody can put back the second), by its own name, and by the type that it is given. What writes to a file
 * through a shared mapping while it is read here may change bytes without another time: systems note the first store to
 * a page only, until they have written it back.
 */
#define _GNU_SOURCE
#include "config.h"

#include "sdk/model/session/internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A file that was changed so lately may change again without another time: clocks of file systems tick slowly. */
enum { SETTLED_SECONDS = 2 };

/* How files are read and weights are made is another with each version of this library. */
static const char version[] = "weights 1 " VERSION;

static int is_settled(const struct timespec *changed, const struct timespec *now)
{
    return changed->tv_sec + SETTLED_SECONDS < now->tv_sec;
}

static int add_file(XXH3_state_t *state, int fd)
{
    struct timespec now;
    struct stat s;

    if (fd < 0 || fstat(fd, &s) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0 || !is_settled(&s.st_mtim, &now) ||
        !is_settled(&s.st_ctim, &now))
        return 0;
    {
        const uint64_t facts[] = {(uint64_t)s.st_dev,         (uint64_t)s.st_ino,          (uint64_t)s.st_size,
                                  (uint64_t)s.st_mtim.tv_sec, (uint64_t)s.st_mtim.tv_nsec, (uint64_t)s.st_ctim.tv_sec,
                                  (uint64_t)s.st_ctim.tv_nsec};

        XXH3_128bits_update(state, facts, sizeof facts);
    }
    return 1;
}

/* What stands beside a file of weights says how they are read. One that is not there is as good as one that is. */
static int add_beside(XXH3_state_t *state, const char *part, const char *name)
{
    const char *slash = strrchr(part, '/');
    char path[4200];
    int fd, done;
    int length = snprintf(path, sizeof path, "%.*s%s", slash == NULL ? 0 : (int)(slash + 1 - part), part, name);

    if (length < 0 || (size_t)length >= sizeof path)
        return 0;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        XXH3_128bits_update(state, "none", 4);
        return 1;
    }
    done = add_file(state, fd);
    close(fd);
    return done;
}

void file_source_identify(struct file_source *source)
{
    static const char *const beside[] = {"config.json", "quantize_config.json"};
    const struct accel_model_file *file = source->file;
    XXH3_state_t *state = XXH3_createState();
    XXH128_canonical_t canonical;
    int whole = state != NULL && XXH3_128bits_reset(state) == XXH_OK;

    for (uint32_t part = 0; whole && part < accel_model_file_part_count(file); part++)
        whole = add_file(state, accel_model_file_part_fd(file, part));
    for (size_t i = 0; whole && accel_model_file_format(file) == ACCEL_MODEL_SAFETENSORS && i < 2; i++)
        whole = add_beside(state, accel_model_file_part_path(file, 0), beside[i]);
    source->identified = (uint32_t)whole;
    if (whole) {
        XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
        memcpy(source->identity, canonical.digest, sizeof source->identity);
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

    if (tensor == NULL)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "%s: no tensor '%s'", accel_model_file_path(source->file),
                               key);
    if (!source->identified)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "%s: no file, or one that was changed just now",
                               accel_model_file_path(source->file));
    /* Who is to be told what a conversion loses wants it made. */
    if (other != NULL && source->told != NULL)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "tensor '%s': what its conversion loses is to be told", key);
    facts.part = tensor->part;
    facts.offset = tensor->offset;
    facts.bytes = tensor->bytes;
    facts.type = tensor->type;
    facts.made = other == NULL ? 0 : (uint64_t)other->type + 1;
    memcpy(facts.identity, source->identity, sizeof facts.identity);
    seed = XXH3_64bits_withSeed(&facts, sizeof facts, XXH3_64bits(version, sizeof version));
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_withSeed(key, strlen(key), seed));
    memcpy(out_hash, canonical.digest, 16);
    return ACCEL_OK;
}
