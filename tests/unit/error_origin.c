/* SPDX-License-Identifier: Apache-2.0 */
/* Each boundary of the core and of the model library names the origin of the errors that it makes. format_malformed.c
 * tests the origin of malformed model files. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <accel/context.h>
#include <accel/model/chat.h>
#include <accel/model/file.h>
#include <accel/model/tokenizer.h>
#include <accel/profile.h>
#include <accel/run.h>

#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/boundary/import.h"
#include "core/profile/yaml.h"
#include "tools/accel-scores/scores.h"

static struct accel_error error;

static void expect(int32_t code, int32_t wanted, uint32_t origin)
{
    assert_int_equal(code, wanted);
    assert_int_equal(error.code, wanted);
    assert_int_equal(error.origin, origin);
    accel_error_clear(&error);
    assert_int_equal(error.origin, ACCEL_FROM_CALLER);
}

static void callers_and_systems(void **state)
{
    (void)state;
    expect(accel_context_create(NULL, NULL, &error), ACCEL_E_INVALID, ACCEL_FROM_CALLER);
    expect(accel_error_set(&error, ACCEL_E_MEMORY, "none"), ACCEL_E_MEMORY, ACCEL_FROM_SYSTEM);
    expect(accel_error_set(&error, ACCEL_E_IO, "none"), ACCEL_E_IO, ACCEL_FROM_SYSTEM);
    expect(accel_error_set(&error, ACCEL_E_DEVICE_LOST, "none"), ACCEL_E_DEVICE_LOST, ACCEL_FROM_DEVICE);
}

/* The innermost boundary knows best. */
static void the_first_origin_stays(void **state)
{
    (void)state;
    assert_int_equal(accel_error_origin(&error, ACCEL_FROM_FILE, ACCEL_OK), ACCEL_OK);
    assert_int_equal(error.origin, ACCEL_FROM_CALLER);
    accel_error_set(&error, ACCEL_E_CORRUPT, "malformed");
    assert_int_equal(accel_error_origin(&error, ACCEL_FROM_FILE, error.code), ACCEL_E_CORRUPT);
    expect(accel_error_origin(&error, ACCEL_FROM_MODEL, error.code), ACCEL_E_CORRUPT, ACCEL_FROM_FILE);
    assert_int_equal(accel_error_origin(NULL, ACCEL_FROM_MODEL, ACCEL_E_IO), ACCEL_E_IO);
}

static void settings(void **state)
{
    (void)state;
    expect(accel_setting_check("contxt", "1tok", &error), ACCEL_E_NOT_FOUND, ACCEL_FROM_SETTING);
    expect(accel_setting_check("context", "many", &error), ACCEL_E_INVALID, ACCEL_FROM_SETTING);
}

static void files(void **state)
{
    struct accel_yaml_node *root = NULL;
    struct accel_arena arena;
    char *data = NULL;
    (void)state;
    expect(accel_file_read("/nonexistent/file", 10, &data, NULL, &error), ACCEL_E_NOT_FOUND, ACCEL_FROM_FILE);
    expect(accel_file_read("/proc/self/mem", 10, &data, NULL, &error), ACCEL_E_IO, ACCEL_FROM_SYSTEM);
    expect(accel_file_read("/", 10, &data, NULL, &error), ACCEL_E_INVALID, ACCEL_FROM_FILE);
    accel_arena_init(&arena, 0);
    expect(accel_yaml_parse("a.yaml", "a: [", 4, &arena, &root, &error), ACCEL_E_CORRUPT, ACCEL_FROM_FILE);
    accel_arena_free(&arena);
}

static void drivers_and_devices(void **state)
{
    struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};
    struct accel_context *context = NULL;
    struct accel_device *device = NULL;
    (void)state;
    expect(accel_import_code(ACCEL_E_REFUSED, "mock", "compile", &error), ACCEL_E_REFUSED, ACCEL_FROM_DRIVER);
    accel_error_set(&error, ACCEL_E_MEMORY, "the heap is full");
    error.origin = ACCEL_FROM_CALLER;
    expect(accel_import_code(ACCEL_E_MEMORY, "mock", "compile", &error), ACCEL_E_MEMORY, ACCEL_FROM_DRIVER);
    assert_int_equal(accel_context_create(&options, &context, NULL), ACCEL_OK);
    assert_int_equal(accel_context_discover(context, NULL), ACCEL_OK);
    expect(accel_device_open(context, "nothing", NULL, 0, &device, &error), ACCEL_E_NOT_FOUND, ACCEL_FROM_DEVICE);
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
}

/* A template and a tokenizer belong to the model; messages, variables and structs belong to the caller. */
static void models(void **state)
{
    const struct accel_token_text text = {.data = "a", .size = 1};
    struct accel_token_vocabulary vocabulary = {.size = 1, .tokens = &text, .token_count = 1, .model = "unknown"};
    struct accel_chat_request request = {.size = sizeof(request)};
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_chat_template *chat = NULL;
    char *out = NULL;
    size_t size = 0;
    (void)state;
    expect(accel_chat_template_create("{% for", 6, NULL, &chat, &error), ACCEL_E_CORRUPT, ACCEL_FROM_MODEL);
    expect(accel_chat_template_create("\xff", 1, NULL, &chat, &error), ACCEL_E_CORRUPT, ACCEL_FROM_MODEL);
    assert_int_equal(accel_chat_template_create("{{ raise_exception('no') }}", 27, NULL, &chat, &error), ACCEL_OK);
    assert_int_not_equal(accel_chat_render(chat, &request, &out, &size, &error), ACCEL_OK);
    assert_int_equal(error.origin, ACCEL_FROM_MODEL);
    accel_error_clear(&error);
    request.variables = (struct accel_token_text){.data = "[", .size = 1};
    expect(accel_chat_render(chat, &request, &out, &size, &error), ACCEL_E_CORRUPT, ACCEL_FROM_CALLER);
    accel_chat_template_free(chat);
    expect(accel_tokenizer_create_json("{", 1, NULL, 0, NULL, &tokenizer, &error), ACCEL_E_CORRUPT, ACCEL_FROM_MODEL);
    expect(accel_tokenizer_create_json("{}", 2, NULL, 0, NULL, &tokenizer, &error), ACCEL_E_CORRUPT, ACCEL_FROM_MODEL);
    expect(accel_tokenizer_create_vocabulary(&vocabulary, NULL, &tokenizer, &error), ACCEL_E_INVALID,
           ACCEL_FROM_CALLER);
    vocabulary.size = sizeof(vocabulary);
    vocabulary.bos = vocabulary.eos = vocabulary.unk = vocabulary.pad = vocabulary.eot = -1;
    expect(accel_tokenizer_create_vocabulary(&vocabulary, NULL, &tokenizer, &error), ACCEL_E_UNSUPPORTED,
           ACCEL_FROM_MODEL);
}

static void values_of_models(void **state)
{
    const int32_t number = -1;
    const struct accel_model_value value = {
        .size = sizeof(value), .kind = ACCEL_MODEL_SIGNED, .key = "k", .data = &number, .count = 1, .width = 4};
    const struct accel_model_value text = {.size = sizeof(text), .kind = ACCEL_MODEL_TEXT, .key = "t", .count = 1};
    uint64_t out = 0;
    (void)state;
    expect(accel_model_value_u64(&value, 0, &out, &error), ACCEL_E_CORRUPT, ACCEL_FROM_MODEL);
    expect(accel_model_value_u64(&text, 0, &out, &error), ACCEL_E_CORRUPT, ACCEL_FROM_MODEL);
    expect(accel_model_value_u64(&value, 1, &out, &error), ACCEL_E_INVALID, ACCEL_FROM_CALLER);
}

static void scores(void **state)
{
    struct accel_scores *table = NULL;
    (void)state;
    expect(accel_scores_parse("a,b", 3, "t.csv", NULL, &table, &error), ACCEL_E_CORRUPT, ACCEL_FROM_FILE);
    expect(accel_scores_parse("response,label,ES\n0,1,2\n", 24, "t.csv", NULL, &table, &error), ACCEL_E_INVALID,
           ACCEL_FROM_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(callers_and_systems),
        cmocka_unit_test(the_first_origin_stays),
        cmocka_unit_test(settings),
        cmocka_unit_test(files),
        cmocka_unit_test(drivers_and_devices),
        cmocka_unit_test(models),
        cmocka_unit_test(values_of_models),
        cmocka_unit_test(scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
