/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that ends: every allocation of a call fails in turn until the call succeeds. Each failure must be
 * ACCEL_E_MEMORY (or, inside the JSON parser, which cannot tell, bad syntax) with a line, and leave nothing behind (a
 * leak checker sees it). The linker sends the allocations of the library here (--wrap).
 */
#include "config.h"

#include <jansson.h>
#include <unistd.h>

#include <accel/model/safetensors.h>

#include "model/family/decoder_config.h"
#include "tests/unit/format_support.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t limit);

/* Allocations that still succeed; negative: all. */
static long left = -1;

static int fails(void)
{
    if (left < 0)
        return 0;
    if (left == 0)
        return 1;
    left--;
    return 0;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __real_realloc(old, bytes);
}

char *__wrap_strndup(const char *text, size_t limit)
{
    size_t length = strnlen(text, limit);
    char *copy = __wrap_malloc(length + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, SIZE_MAX);
}

/* Calls `act` with 0, 1, 2 ... allocations until it succeeds. */
static void exhaust(int32_t (*act)(const char *path, struct accel_error *error), const char *path, const char *name)
{
    int32_t code = ACCEL_E_MEMORY;
    long allowed = 0;
    for (; code != ACCEL_OK; allowed++) {
        struct accel_error error = {0};
        left = allowed;
        code = act(path, &error);
        left = -1;
        if (code != ACCEL_OK && code != ACCEL_E_MEMORY && strstr(error.text, "invalid JSON") == NULL)
            fail_msg("after %ld allocations: %d: %s", allowed, code, error.text);
        assert_true(code == ACCEL_OK || error.text[0] != '\0');
        assert_true(allowed < 100000);
    }
    print_message("%s: %ld allocations\n", name, allowed - 1);
    assert_true(allowed > 3);
}

static int32_t open_and_configure(const char *path, struct accel_error *error)
{
    struct accel_decoder_config config;
    struct accel_model_file *file = NULL;
    int32_t code = accel_model_file_open(path, NULL, &file, error);
    if (code == ACCEL_OK) {
        code = accel_decoder_config_read(file, &config, error);
        accel_decoder_config_free(&config);
    }
    accel_model_file_close(file);
    return code;
}

static int32_t write_two(const char *path, struct accel_error *error)
{
    static const uint64_t dims[1] = {4};
    static const float values[4] = {1, 2, 3, 4};
    const struct accel_safetensors_entry one = {sizeof(one), ACCEL_F32, "one", dims, values, 1, 0};
    const struct accel_safetensors_entry two = {sizeof(two), ACCEL_I32, "two", dims, values, 1, 0};
    const struct accel_safetensors_entry *const entries[2] = {&one, &two};
    return accel_safetensors_write(path, entries, 2, error);
}

static void every_allocation_may_fail(void **state)
{
    char path[4096];
    (void)state;
    json_set_alloc_funcs(__wrap_malloc, free);
    exhaust(open_and_configure, source_path(path, "tests/fixtures/malformed/gguf-valid-llama.gguf"),
            "gguf-valid-llama");
    exhaust(open_and_configure, source_path(path, "samples/stories260K/hf"), "samples/stories260K/hf");
    exhaust(write_two, "format-memory.safetensors", "format-memory.safetensors");
    assert_int_equal(unlink("format-memory.safetensors"), 0);
}

static void sharded_models_too(void **state)
{
    char path[4096];
    (void)state;
    json_set_alloc_funcs(__wrap_malloc, free);
    exhaust(open_and_configure, shared_path(path, "llama-sharded"), "llama-sharded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(sharded_models_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
