/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of model/tokenizer share: files of the tree and of the shared fixtures, and tokenizers made of them.
 */
#ifndef ACCEL_TESTS_UNIT_TOKEN_SUPPORT_H
#define ACCEL_TESTS_UNIT_TOKEN_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <accel/model/tokenizer.h>

/* PATH of a file of the source tree. */
static inline void tree_path(char out[4096], const char *name)
{
    const char *top = getenv("ACCEL_TEST_SRCDIR");

    snprintf(out, 4096, "%s/%s", top == NULL ? "." : top, name);
}

/* PATH of a file beside or under the shared fixtures; skips the test by name where it is not there. */
static inline void shared_path(char out[4096], const char *name)
{
    const char *top = getenv("ACCEL_SHARED_FIXTURES");

    snprintf(out, 4096, "%s/%s", top == NULL ? "(ACCEL_SHARED_FIXTURES is not set)" : top, name);
    if (access(out, R_OK) != 0) {
        print_message("skipped: no %s\n", out);
        skip();
    }
}

/* The file's bytes with a zero behind them; free() them. */
static inline char *read_text(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    size_t size = 0, capacity = 1 << 16;
    char *text = malloc(capacity + 1);

    if (file == NULL)
        fail_msg("cannot open %s", path);
    assert_non_null(text);
    for (;;) {
        size_t got = fread(text + size, 1, capacity - size, file);

        size += got;
        if (got == 0)
            break;
        if (size == capacity) {
            capacity *= 2;
            text = realloc(text, capacity + 1);
            assert_non_null(text);
        }
    }
    fclose(file);
    text[size] = '\0';
    *out_size = size;
    return text;
}

/* Fails with the error's text unless `code` is ACCEL_OK. */
static inline void expect_ok(int32_t code, const struct accel_error *error)
{
    if (code != ACCEL_OK)
        fail_msg("%s: %s", accel_error_name(code), error->text);
}

static inline struct accel_tokenizer *tokenizer_of_json(const char *path)
{
    struct accel_error error = {0};
    struct accel_tokenizer *tokenizer = NULL;
    size_t size;
    char *text = read_text(path, &size);

    expect_ok(accel_tokenizer_create_json(text, size, NULL, 0, path, &tokenizer, &error), &error);
    free(text);
    return tokenizer;
}

/* The tokenizer of a GGUF file or of a folder. */
static inline struct accel_tokenizer *tokenizer_of_file(const char *path)
{
    struct accel_error error = {0};
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_model_file *file = NULL;

    expect_ok(accel_model_file_open(path, NULL, &file, &error), &error);
    expect_ok(accel_tokenizer_create_file(file, &tokenizer, &error), &error);
    accel_model_file_close(file);
    return tokenizer;
}

#endif
