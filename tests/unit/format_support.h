/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of model/file share: fixtures by path, and what every error text must look like. */
#ifndef ACCEL_TESTS_UNIT_FORMAT_SUPPORT_H
#define ACCEL_TESTS_UNIT_FORMAT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <accel/model/file.h>
#include <accel/model/safetensors.h>

/* PATH of a file of the source tree, in a buffer of the caller. */
static inline const char *source_path(char out[4096], const char *name)
{
    const char *top = getenv("ACCEL_TEST_SRCDIR");
    snprintf(out, 4096, "%s/%s", top == NULL ? "." : top, name);
    return out;
}

/* PATH of a fixture, in the tree or in the shared folder; skips the test where there is no such folder. */
static inline const char *shared_path(char out[4096], const char *name)
{
    const char *top = getenv("ACCEL_SHARED_FIXTURES"), *tree = getenv("ACCEL_TEST_SRCDIR");
    if (top == NULL) {
        print_message("ACCEL_SHARED_FIXTURES is not set: no %s\n", name);
        skip();
    }
    snprintf(out, 4096, "%s/tests/fixtures/%s", tree == NULL ? "." : tree, name);
    if (*name == '\0' || access(out, R_OK) != 0)
        snprintf(out, 4096, "%s/%s", top == NULL ? "" : top, name);
    return out;
}

/* The whole file, of exactly its size, so that a checker sees a read behind its end. */
static inline unsigned char *read_bytes(const char *path, uint64_t *out_length)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes;
    long length;
    if (file == NULL)
        fail_msg("cannot open %s", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    length = ftell(file);
    assert_true(length >= 0);
    rewind(file);
    bytes = malloc(length == 0 ? 1 : (size_t)length);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)length, file), (size_t)length);
    fclose(file);
    *out_length = (uint64_t)length;
    return bytes;
}

static inline void write_bytes(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

#define FOLDER_BYTES 256u

/* Writes model.safetensors and config.json to a folder that is there. */
static inline void write_checkpoint(const char *folder, const struct accel_safetensors_entry *const *entries,
                                    uint32_t count, const char *config)
{
    struct accel_error error = {0};
    char path[FOLDER_BYTES + 32];
    snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    if (accel_safetensors_write(path, entries, count, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    snprintf(path, sizeof(path), "%s/config.json", folder);
    write_bytes(path, config, strlen(config));
}

static inline void remove_checkpoint(const char *folder)
{
    char path[FOLDER_BYTES + 32];
    snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/config.json", folder);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

/* One line that begins with the file's name. */
static inline void check_error_text(const struct accel_error *error, const char *name)
{
    if (strncmp(error->text, name, strlen(name)) != 0 || strchr(error->text, '\n') != NULL ||
        strlen(error->text) < strlen(name) + 8)
        fail_msg("not a line about %s: %s", name, error->text);
}

/* Reads a tensor in pieces of random sizes, which have to be those of its whole. */
static inline void check_pieces(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                                const unsigned char *whole, uint32_t (*random)(uint32_t end))
{
    unsigned char *pieces = malloc(tensor->bytes);
    struct accel_error error = {0};

    assert_non_null(pieces);
    for (uint64_t at = 0, count; at < tensor->bytes; at += count) {
        count = 1 + random((uint32_t)tensor->bytes / 3);
        count = count < tensor->bytes - at ? count : tensor->bytes - at;
        assert_int_equal(accel_model_file_read(file, tensor, at, count, pieces + at, &error), ACCEL_OK);
    }
    assert_memory_equal(whole, pieces, tensor->bytes);
    free(pieces);
}

#endif
