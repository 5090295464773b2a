/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged files get the verdict that their index says, and every truncation of a good file is an error, not a crash. */
#include "config.h"

#include <jansson.h>

#include <accel/model/session.h>

#include "model/family/decoder_config.h"
#include "tests/unit/format_support.h"

#define FOLDER "tests/fixtures/malformed"

/* Opens a file in all three ways, which must agree, and keeps the first. */
static int32_t open_every_way(const char *path, struct accel_model_file **out_file, struct accel_error *error)
{
    struct accel_model_open_options options = {sizeof(options), ACCEL_MODEL_OPEN_READ};
    struct accel_model_file *read = NULL, *memory = NULL;
    struct accel_error second = {0}, third = {0};
    uint64_t length;
    unsigned char *bytes = read_bytes(path, &length);
    int32_t code = accel_model_file_open(path, NULL, out_file, error);
    assert_int_equal(accel_model_file_open(path, &options, &read, &second), code);
    assert_int_equal(accel_model_file_open_memory(bytes, length, path, &memory, &third), code);
    assert_string_equal(second.text, error->text);
    assert_string_equal(third.text, error->text);
    accel_model_file_close(read);
    accel_model_file_close(memory);
    free(bytes);
    return code;
}

/* Whoever opens a file touches every byte of every tensor and every value. */
static uint64_t touch(const struct accel_model_file *file)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < accel_model_file_tensor_count(file); i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);
        const unsigned char *data = accel_model_file_data(file, tensor);
        assert_ptr_equal(accel_model_file_find(file, tensor->name), tensor);
        for (uint64_t k = 0; k < tensor->bytes; k++)
            sum += data[k];
    }
    for (uint64_t i = 0; i < accel_model_file_value_count(file); i++) {
        const struct accel_model_value *value = accel_model_file_value(file, i);
        const unsigned char *data = value->data;
        for (uint64_t k = 0; k < value->count * value->width; k++)
            sum += data[k];
        for (uint64_t k = 0; accel_model_value_text(value, k) != NULL; k++)
            sum += strlen(accel_model_value_text(value, k)->text) + accel_model_value_text(value, k)->length;
    }
    return sum;
}

static void check_message(const char *name, const struct accel_error *error)
{
    if (strstr(error->text, name) == NULL || strstr(error->text, "offset 0x") == NULL ||
        strchr(error->text, '\n') != NULL)
        fail_msg("the message does not name the file and the offset: %s", error->text);
}

/* A file that the container takes is either sound, or refused as a model by its configuration or by its family. */
static void check_model(const char *name, const char *path, const struct accel_model_file *file, const char *expect)
{
    struct accel_decoder_config config;
    struct accel_model *model = NULL;
    struct accel_error first = {0}, error = {0};
    int32_t configured = accel_decoder_config_read(file, &config, &first);
    int32_t code = accel_model_open(path, NULL, &model, &error);
    if (strcmp(expect, "model") == 0 && code == ACCEL_OK)
        fail_msg("%s: accepted as a model", name);
    if (strcmp(name, "gguf-valid-llama.gguf") == 0)
        assert_int_equal(code, ACCEL_OK);
    if (configured != ACCEL_OK) {
        assert_null(config.architecture);
        check_message(name, &first);
        assert_string_equal(first.text, error.text);
    }
    if (code != ACCEL_OK) {
        assert_null(model);
        assert_int_equal(error.origin, ACCEL_FROM_MODEL);
        check_message(name, &error);
    }
    accel_decoder_config_free(&config);
    accel_model_close(model);
}

static void check_container(const char *name, const char *expect)
{
    char path[4096], relative[512];
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    int32_t code;
    snprintf(relative, sizeof(relative), FOLDER "/%s", name);
    source_path(path, relative);
    code = open_every_way(path, &file, &error);
    if (code != ACCEL_OK) {
        assert_null(file);
        if (strcmp(expect, "ok") == 0 || strcmp(expect, "model") == 0)
            fail_msg("%s: %s", name, error.text);
        check_message(name, &error);
        return;
    }
    if (strcmp(expect, "error") == 0)
        fail_msg("%s was accepted", name);
    touch(file);
    if (accel_model_file_format(file) == ACCEL_MODEL_GGUF)
        check_model(name, path, file, expect);
    accel_model_file_close(file);
}

static void every_file_gets_its_verdict(void **state)
{
    char path[4096];
    json_t *index = json_load_file(source_path(path, FOLDER "/index.json"), 0, NULL);
    const char *name;
    json_t *entry;
    (void)state;
    assert_int_equal(json_object_size(index), 164);
    json_object_foreach(index, name, entry) check_container(name, json_string_value(json_object_get(entry, "expect")));
    json_decref(index);
}

/* Every length from nothing to the whole. In exactly sized memory, so that a reader that goes too far is caught. */
static void check_truncations(const char *name, uint64_t step)
{
    char path[4096];
    uint64_t length;
    unsigned char *whole = read_bytes(source_path(path, name), &length);
    for (uint64_t cut = 0; cut <= length; cut += step) {
        struct accel_model_file *file = NULL;
        struct accel_error error = {0};
        unsigned char *part = malloc(cut == 0 ? 1 : (size_t)cut);
        int32_t code;
        assert_non_null(part);
        memcpy(part, whole, (size_t)cut);
        code = accel_model_file_open_memory(part, cut, "cut", &file, &error);
        assert_int_equal(code == ACCEL_OK, cut == length);
        if (code != ACCEL_OK)
            check_error_text(&error, "cut: offset 0x");
        accel_model_file_close(file);
        free(part);
    }
    free(whole);
}

static void every_truncation_is_an_error(void **state)
{
    (void)state;
    check_truncations(FOLDER "/gguf-valid.gguf", 1);
    check_truncations(FOLDER "/gguf-valid-llama.gguf", 1);
    check_truncations(FOLDER "/st-valid.safetensors", 1);
    check_truncations(FOLDER "/st-valid-order.safetensors", 1);
    /* A real model is too long for every length; a prime step meets all of its parts. */
    check_truncations("samples/stories260K/stories260K-q8_0.gguf", 997);
    check_truncations("samples/stories260K/hf/model.safetensors", 2003);
}

/* A flipped bit of the header gives an error or a file whose tables hold; which of the two does not matter here. */
static void flipped_bytes_do_no_harm(void **state)
{
    static const char *const names[] = {FOLDER "/gguf-valid.gguf", FOLDER "/st-valid.safetensors",
                                        FOLDER "/gguf-valid-llama.gguf"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char path[4096];
        uint64_t length;
        unsigned char *bytes = read_bytes(source_path(path, names[i]), &length);
        for (uint64_t k = 0; k < (length < 1500 ? length : 1500) * 8; k++) {
            struct accel_model_file *file = NULL;
            bytes[k / 8] ^= (unsigned char)(1u << k % 8);
            if (accel_model_file_open_memory(bytes, length, "flipped", &file, NULL) == ACCEL_OK) {
                struct accel_decoder_config config;
                touch(file);
                accel_decoder_config_read(file, &config, NULL);
                accel_decoder_config_free(&config);
            }
            accel_model_file_close(file);
            bytes[k / 8] ^= (unsigned char)(1u << k % 8);
        }
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_gets_its_verdict),
        cmocka_unit_test(every_truncation_is_an_error),
        cmocka_unit_test(flipped_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
