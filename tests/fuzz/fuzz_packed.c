/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders with packed tensors: an input is the text of config.json, a zero byte, and model.safetensors. What opens must
 * read alike in one piece and in several.
 */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "tests/fuzz/fuzz_container.h"

const char *const fuzz_corpus_folder = "tests/fixtures/packed";
const char *const fuzz_corpus_suffix = ".folder";

/* A read that is longer says nothing more. */
#define READ_MOST ((uint64_t)1 << 22)

static char folder[4096], config[4200], weights[4200];

static void remove_folder(void)
{
    unlink(config);
    unlink(weights);
    rmdir(folder);
}

static void make_folder(void)
{
    const char *top = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/fuzz_packed-XXXXXX", top == NULL ? "/tmp" : top);
    fuzz_require(mkdtemp(folder) != NULL);
    snprintf(config, sizeof(config), "%s/config.json", folder);
    snprintf(weights, sizeof(weights), "%s/model.safetensors", folder);
    atexit(remove_folder);
}

static void put(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    fuzz_require(file != NULL && (size == 0 || fwrite(data, 1, size, file) == size));
    fuzz_require(fclose(file) == 0);
}

/* The whole, and the same in pieces that end anywhere. */
static void read_tensor(const struct accel_model_file *file, const struct accel_model_tensor *tensor)
{
    const uint64_t bytes = tensor->bytes, piece = bytes / 3 + 1;
    unsigned char *whole, *pieces;
    if (bytes == 0 || bytes > READ_MOST)
        return;
    whole = malloc((size_t)bytes);
    pieces = malloc((size_t)bytes);
    fuzz_require(whole != NULL && pieces != NULL);
    fuzz_require(accel_model_file_read(file, tensor, 0, bytes, whole, NULL) == ACCEL_OK);
    for (uint64_t at = 0; at < bytes; at += piece) {
        const uint64_t count = bytes - at < piece ? bytes - at : piece;
        fuzz_require(accel_model_file_read(file, tensor, at, count, pieces + at, NULL) == ACCEL_OK);
    }
    fuzz_require(memcmp(whole, pieces, (size_t)bytes) == 0);
    fuzz_require(accel_model_file_read(file, tensor, bytes, 1, pieces, NULL) != ACCEL_OK);
    free(whole);
    free(pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size == 0 ? NULL : memchr(data, 0, size);
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    if (end == NULL)
        return 0;
    if (folder[0] == 0)
        make_folder();
    put(config, data, (size_t)(end - data));
    put(weights, end + 1, size - (size_t)(end - data) - 1);
    if (accel_model_file_open(folder, NULL, &file, &error) != ACCEL_OK) {
        fuzz_require(file == NULL && error.code != ACCEL_OK && strchr(error.text, '\n') == NULL);
        return 0;
    }
    for (uint64_t i = 0; i < accel_model_file_tensor_count(file); i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);
        fuzz_require(accel_model_file_find(file, tensor->name) == tensor);
        read_tensor(file, tensor);
    }
    fuzz_describe(file, folder);
    accel_model_file_close(file);
    return 0;
}
