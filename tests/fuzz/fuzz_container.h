/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzz_gguf.c and fuzz_safetensors.c do with a file: everything that a reader of models may do. */
#ifndef ACCEL_TESTS_FUZZ_FUZZ_CONTAINER_H
#define ACCEL_TESTS_FUZZ_FUZZ_CONTAINER_H

#include <stdlib.h>
#include <string.h>

#include <accel/model/file.h>

#include "model/describe/internal.h"
#include "model/family/decoder_config.h"
#include "tests/fuzz/fuzz.h"

static inline void fuzz_require(int holds)
{
    if (!holds)
        abort();
}

static inline uint64_t fuzz_touch(const void *data, uint64_t bytes)
{
    const unsigned char *at = data;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < bytes; i++)
        sum += at[i];
    return sum;
}

/* Checks the collected weights: layers inside of their components, known roles. */
static inline void fuzz_describe(const struct accel_model_file *file, const char *name)
{
    struct accel_model_description *d = calloc(1, sizeof(*d));
    struct accel_error error = {0};
    const struct accel_sketch *shapes;
    int32_t code;
    fuzz_require(d != NULL);
    d->path = name;
    code = describe_file(d, file, &error);
    describe_complete(d);
    if (code == ACCEL_OK)
        code = describe_finish(d, &error);
    if (code == ACCEL_OK)
        code = describe_write_facts(d, &error);
    if (code == ACCEL_OK) {
        shapes = &d->model_shapes;
        fuzz_require(shapes->weight_count == accel_model_file_tensor_count(file));
        for (uint32_t i = 0; i < shapes->weight_count; i++)
            fuzz_require(shapes->weights[i].role != NULL && shapes->weights[i].component != NULL &&
                         (shapes->weights[i].layer < NAME_STAGED || shapes->weights[i].layer == ACCEL_NO_LAYER));
    } else {
        fuzz_require(error.code != ACCEL_OK && strchr(error.text, '\n') == NULL);
    }
    model_pool_free(&d->pool);
    free(d);
}

/* Every byte of a tensor, in as many planes as it has, and its last one as it is read. */
static inline void fuzz_planes(const struct accel_model_file *file, const struct accel_model_tensor *tensor,
                               volatile uint64_t *sum)
{
    const void *data;
    uint64_t bytes, all = 0;
    unsigned char last = 0;
    for (uint32_t p = 0; (data = accel_model_file_plane(file, tensor, p, &bytes)) != NULL; p++) {
        *sum += fuzz_touch(data, bytes);
        all += bytes;
    }
    fuzz_require(all == tensor->bytes);
    if (all > 0)
        fuzz_require(accel_model_file_read(file, tensor, all - 1, 1, &last, NULL) == ACCEL_OK);
}

static inline void fuzz_container(const uint8_t *data, size_t size, const char *name)
{
    struct accel_model_file *file = NULL;
    struct accel_decoder_config config;
    struct accel_error error = {0};
    volatile uint64_t sum = 0;
    if (accel_model_file_open_memory(data, size, name, &file, &error) != ACCEL_OK) {
        fuzz_require(file == NULL && error.code != ACCEL_OK && strchr(error.text, '\n') == NULL);
        return;
    }
    for (uint64_t i = 0; i < accel_model_file_tensor_count(file); i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);
        fuzz_require(accel_model_file_find(file, tensor->name) == tensor);
        fuzz_planes(file, tensor, &sum);
    }
    for (uint64_t i = 0; i < accel_model_file_value_count(file); i++) {
        const struct accel_model_value *value = accel_model_file_value(file, i);
        fuzz_require(accel_model_file_find_value(file, value->key) == value);
        sum += fuzz_touch(value->data, value->count * value->width);
        for (uint64_t k = 0; accel_model_value_text(value, k) != NULL; k++)
            sum += fuzz_touch(accel_model_value_text(value, k)->text, accel_model_value_text(value, k)->length + 1);
    }
    if (accel_decoder_config_read(file, &config, &error) == ACCEL_OK)
        fuzz_require(config.layers > 0 && config.windows != NULL && config.heads % config.kv_heads == 0);
    accel_decoder_config_free(&config);
    fuzz_describe(file, name);
    accel_model_file_close(file);
}

#endif
