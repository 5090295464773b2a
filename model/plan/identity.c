/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies model files by size, modification time and a hash of the header (names, types, shapes, offsets,
 * metadata). This detects a file that was replaced or edited by ordinary means; hashing every weight would take
 * seconds, and a plan takes milliseconds.
 */
#include "model/plan/identity.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "model/plan/json.h"

/* Bytes per read, and most hashed bytes of a header. */
enum { CHUNK = 1 << 16, TIME_TEXT = 48 };
#define HEADER_MOST (64ull << 20)

struct identity {
    uint64_t bytes;
    int64_t seconds;
    int64_t nanoseconds;
    uint64_t header;
};

/* Bytes of a part before its first tensor. */
static uint64_t header_bytes(const struct accel_model_file *file, uint32_t part)
{
    uint64_t first = accel_model_file_part_bytes(file, part);

    for (uint64_t i = 0; i < accel_model_file_tensor_count(file); i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);

        if (tensor->part == part && tensor->offset < first)
            first = tensor->offset;
    }
    return first < HEADER_MOST ? first : HEADER_MOST;
}

static uint64_t hash_range(int fd, uint64_t begin, uint64_t bytes)
{
    XXH3_state_t *state = XXH3_createState();
    unsigned char *chunk = malloc(CHUNK);
    uint64_t hash = 0;
    uint64_t at = 0;
    ssize_t got = 1;

    if (state != NULL && chunk != NULL && XXH3_64bits_reset(state) == XXH_OK) {
        while (at < bytes && got > 0) {
            got = pread(fd, chunk, bytes - at < CHUNK ? bytes - at : CHUNK, (off_t)(begin + at));
            if (got > 0)
                XXH3_64bits_update(state, chunk, (size_t)got);
            at += got > 0 ? (uint64_t)got : 0;
        }
        hash = XXH3_64bits_digest(state);
    }
    free(chunk);
    XXH3_freeState(state);
    return hash;
}

static int identify(int fd, uint64_t hashed, struct identity *out)
{
    struct stat status;

    if (fd < 0 || fstat(fd, &status) != 0)
        return 0;
    *out = (struct identity){(uint64_t)status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                             hash_range(fd, 0, hashed)};
    return 1;
}

static void time_text(const struct identity *id, char text[TIME_TEXT])
{
    snprintf(text, TIME_TEXT, "%" PRId64 ".%09" PRId64, id->seconds, id->nanoseconds);
}

static void add_file(json_t *files, const char *path, int fd, uint64_t hashed)
{
    char *real = realpath(path, NULL);
    struct identity id;
    char changed[TIME_TEXT], header[24];

    if (identify(fd, hashed, &id)) {
        time_text(&id, changed);
        snprintf(header, sizeof(header), "%016" PRIx64, id.header);
        json_array_append_new(files,
                              json_pack("{s:o, s:I, s:s, s:s}", "path", plan_text_json(real == NULL ? path : real),
                                        "bytes", (json_int_t)id.bytes, "changed", changed, "header", header));
    }
    free(real);
}

/* The configuration beside safetensors determines the model as much as their header. */
static void add_configuration(json_t *files, const char *part)
{
    static const char *const names[] = {"config.json", "tokenizer.json"};
    const char *slash = strrchr(part, '/');

    for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char path[4200];
        struct stat status;
        int fd;

        snprintf(path, sizeof(path), "%.*s%s", slash == NULL ? 0 : (int)(slash + 1 - part), part, names[i]);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
            continue;
        if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
            add_file(files, path, fd, (uint64_t)status.st_size < HEADER_MOST ? (uint64_t)status.st_size : HEADER_MOST);
        close(fd);
    }
}

json_t *plan_identity(const struct accel_model *model)
{
    const struct accel_model_file *file = accel_model_file_of(model);
    json_t *files = json_array();

    for (uint32_t part = 0; files != NULL && part < accel_model_file_part_count(file); part++)
        add_file(files, accel_model_file_part_path(file, part), accel_model_file_part_fd(file, part),
                 header_bytes(file, part));
    if (files != NULL && accel_model_file_format(file) == ACCEL_MODEL_SAFETENSORS)
        add_configuration(files, accel_model_file_part_path(file, 0));
    return files;
}

void plan_identity_hash(const struct accel_model *model, char text[IDENTITY_TEXT])
{
    const struct accel_model_file *file = accel_model_file_of(model);
    uint64_t hash = 0;

    for (uint32_t part = 0; part < accel_model_file_part_count(file); part++) {
        const uint64_t bytes = accel_model_file_part_bytes(file, part), tail = bytes < CHUNK ? bytes : CHUNK;
        const int fd = accel_model_file_part_fd(file, part);
        const uint64_t facts[] = {hash, bytes, hash_range(fd, 0, header_bytes(file, part)),
                                  hash_range(fd, bytes - tail, tail)};

        hash = XXH3_64bits(facts, sizeof(facts));
    }
    snprintf(text, IDENTITY_TEXT, "%016" PRIx64, hash);
}

int32_t plan_identity_glance(const struct plan_record *record, struct accel_error *error)
{
    const json_t *files = json_object_get(plan_record_part(record, "model"), "files");

    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *then = json_array_get(files, i), *changed = json_object_get(then, "changed");
        const json_t *bytes = json_object_get(then, "bytes");
        const char *path = plan_record_text(then, "path");
        struct stat status;
        struct identity now;
        char text[TIME_TEXT];

        if (path[0] == '\0' || !json_is_string(changed))
            continue;
        if (stat(path, &status) != 0) {
            accel_error_set(error, ACCEL_E_NOT_FOUND, "%s: its model %s is not there", record->path, path);
            accel_error_remedy(error,
                               "name it where it is now, accelctl run MODEL --plan %.200s, or make the plan again with "
                               "accelctl plan MODEL --out FILE",
                               record->path);
            return accel_error_origin(error, ACCEL_FROM_MODEL, ACCEL_E_NOT_FOUND);
        }
        now = (struct identity){(uint64_t)status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec, 0};
        time_text(&now, text);
        if (json_integer_value(bytes) != (json_int_t)status.st_size)
            return accel_error_set(error, ACCEL_E_REFUSED,
                                   "%.160s:%d: model.files.%zu.bytes is %lld, and %lld now: %.160s has another size",
                                   record->path, plan_record_line_of(record, bytes), i,
                                   (long long)json_integer_value(bytes), (long long)status.st_size, path);
        if (strcmp(text, json_string_value(changed)) != 0)
            return accel_error_set(error, ACCEL_E_REFUSED,
                                   "%.160s:%d: model.files.%zu.changed is %.40s, and %s now: %.160s was changed since, "
                                   "or is a copy",
                                   record->path, plan_record_line_of(record, changed), i, json_string_value(changed),
                                   text, path);
    }
    return ACCEL_OK;
}
