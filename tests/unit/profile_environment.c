/* SPDX-License-Identifier: Apache-2.0 */
/* The 40 variables of the documents, as other names of settings, with the values that the documents give them. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/profile_support.h"

/** Every variable of the documents, with each value that they give it or that switches it off. */
static const struct {
    const char *name;
    const char *document; /* where it stands first, and its line there */
    int line;
    const char *value;
    const char *settings; /* "KEY=VALUE KEY=VALUE" */
} variables[] = {
    {"WEBGPU_COMPUTE_SHADERS_ENABLED", "S2", 42, "1", "kernels.tuned=true"},
    {"WEBGPU_COMPUTE_SHADERS_ENABLED", "S2", 42, "0", "kernels.tuned=false"},
    {"WEB_PARALLEL_LOADING_ENABLED", "S2", 85, "1", "load.parallel=true"},
    {"WEBGPU_SHADER_PRECOMPILE_ENABLED", "S2", 129, "1", "kernels.precompile=true"},
    {"WEBGPU_DEFAULT_TO_4BIT", "S2", 202, "1", "weights.type=q4"},
    {"WEBGPU_DEFAULT_TO_4BIT", "S2", 202, "0", "weights.type=auto"},
    {"WEBGPU_QUANTIZATION_GROUP_SIZE", "S2", 203, "128", "weights.group=128"},
    {"WEBGPU_QUANTIZATION_GROUP_SIZE", "S2", 203, "512", "weights.group=512"},
    {"WEBGPU_QUANTIZATION_SCHEME", "S2", 204, "symmetric", "weights.scheme=symmetric"},
    {"WEBGPU_QUANTIZATION_SCHEME", "S2", 204, "asymmetric", "weights.scheme=asymmetric"},
    {"WEBGPU_ENABLE_KV_CACHE", "S2", 247, "1", "kv.enabled=true"},
    {"WEBGPU_ENABLE_KV_CACHE", "S2", 247, "0", "kv.enabled=false"},
    {"WEBGPU_KV_CACHE_WINDOW_SIZE", "S2", 248, "2048", "kv.window=2048"},
    {"WEBGPU_KV_CACHE_PRUNING", "S2", 249, "1", "kv.prune=usage kv.full=prune"},
    {"WEBGPU_KV_CACHE_PRUNING", "S2", 249, "0", "kv.prune=off"},
    {"WEBGPU_FLASH_ATTENTION", "S2", 304, "1", "attention.kernel=tiled"},
    {"WEBGPU_FLASH_ATTENTION", "S2", 304, "0", "attention.kernel=eager"},
    {"WEBGPU_FLASH_ATTENTION_BLOCK_SIZE", "S2", 305, "64", "attention.block=64"},
    {"WEBGPU_PROGRESSIVE_LOADING", "S2", 348, "1", "load.progressive=true"},
    {"WEBGPU_MAX_CHUNK_SIZE", "S2", 349, "100", "load.chunk=104857600"},
    {"WEBGPU_DEBUG", "S2", 457, "1", "log.level=debug"},
    {"WEBGPU_SHADER_DEBUG", "S2", 458, "1", "log.kernels=true"},
    {"WEBGPU_TRACE", "S2", 459, "1", "trace.steps=true"},
    {"WEBGPU_QUANTIZATION_DEBUG", "S2", 462, "1", "log.quantization=true"},
    {"WEBGPU_MEMORY_DEBUG", "S2", 463, "1", "log.memory=true"},
    {"WEBGPU_FLASH_ATTENTION_DEBUG", "S2", 464, "1", "log.attention=true"},
    {"WEBGPU_PROGRESSIVE_LOADING_DEBUG", "S2", 465, "1", "log.load=true"},
    {"WEBGPU_MEMORY_PROFILING", "S2", 468, "1", "measure.memory=true"},
    {"WEBGPU_PROFILING_OUTPUT_DIR", "S2", 469, "./profiling_results", "measure.folder=./profiling_results"},
    {"WEBGPU_PERFORMANCE_MONITORING", "S2", 478, "1", "metrics.performance=true"},
    {"WEBGPU_MEMORY_MONITORING", "S2", 481, "1", "metrics.memory=true"},
    {"WEBGPU_QUANTIZATION_METRICS", "S2", 482, "1", "metrics.quantization=true"},
    {"WEBGPU_FLASH_ATTENTION_METRICS", "S2", 483, "1", "metrics.attention=true"},
    {"WEBGPU_4BIT_INFERENCE", "S4", 113, "1", "weights.type=q4"},
    {"WEBGPU_EFFICIENT_KV_CACHE", "S4", 114, "1", "kv.type.k=q4 kv.type.v=q4"},
    {"WEBGPU_EFFICIENT_KV_CACHE", "S4", 114, "0", "kv.type.k=auto kv.type.v=auto"},
    {"WEB_COMPONENT_CACHE", "S4", 115, "1", "cache.components=true"},
    {"WEBGPU_ADAPTIVE_PRECISION", "S4", 161, "1", "precision.adaptive=true"},
    {"WEBGPU_DEFAULT_BITS", "S4", 164, "4", "precision.default=q4"},
    {"WEBGPU_DEFAULT_BITS", "S4", 164, "2", "precision.default=q2"},
    {"WEBGPU_CRITICAL_LAYERS_BITS", "S4", 165, "8", "precision.critical=q8"},
    {"WEBGPU_CRITICAL_LAYERS_BITS", "S4", 165, "16", "precision.critical=f16"},
    {"WEBGPU_MEMORY_THRESHOLD_MB", "S4", 166, "3800", "memory.budget=3984588800"},
    {"WEBGPU_DYNAMIC_ADJUSTMENT", "S4", 167, "1", "precision.dynamic=true"},
    {"WEBGPU_MEASURE_ACCURACY", "S4", 168, "1", "precision.measure=true"},
    {"WEBGPU_4BIT_BLOCK_SIZE", "S4", 171, "128", "weights.group=128"},
    {"WEBGPU_4BIT_SCHEME", "S4", 174, "symmetric", "weights.scheme=symmetric"},
    {"WEBGPU_BROWSER_OPTIMIZATIONS", "S4", 689, "1", "client=auto"},
    {"TARGET_BROWSER", "S4", 692, "firefox", "client=firefox kernels.matmul.workgroup=8x8"},
    {"TARGET_BROWSER", "S4", 692, "chrome", "client=chrome kernels.matmul.workgroup=8x16"},
    {"TARGET_BROWSER", "S4", 692, "edge", "client=edge kernels.matmul.workgroup=8x16"},
    {"TARGET_BROWSER", "S4", 692, "safari", "client=safari kernels.matmul.workgroup=4x4"},
    {"TARGET_BROWSER", "S4", 692, "auto", "client=auto"},
    {"WEBGPU_BROWSER", "S4", 797, "firefox", "client=firefox"},
    {"WEBGPU_BROWSER", "S4", 797, "safari", "client=safari"},
};

#define VARIABLES (sizeof(variables) / sizeof(variables[0]))

/* One "KEY=VALUE" of a variable. What a client's file sets comes from there, and not from the variable. */
static void check_word(const struct fixture *f, size_t index, char *word)
{
    const struct accel_profile_setting *setting;
    char *value = strchr(word, '=');
    *value = 0;
    setting = find(f, word);
    if (strcmp(setting->value, value + 1) != 0)
        fail_msg("%s=%s: %s is %s (%s)", variables[index].name, variables[index].value, word, setting->value,
                 setting->place);
    if (strncmp(word, "kernels.matmul", 14) == 0)
        return;
    assert_int_equal(setting->layer, ACCEL_LAYER_ENVIRONMENT);
    assert_non_null(strstr(setting->place, variables[index].name));
    assert_cited(variables[index].name, setting, "environment", variables[index].document, variables[index].line,
                 variables[index].line);
}

static void test_variables(void **state)
{
    struct fixture *f = *state;
    uint32_t different = 0;
    for (size_t i = 0; i < VARIABLES; i++) {
        char words[200];
        setenv(variables[i].name, variables[i].value, 1);
        resolve(f, "vulkan", "");
        unsetenv(variables[i].name);
        snprintf(words, sizeof(words), "%s", variables[i].settings);
        for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
            check_word(f, i, word);
        different += i == 0 || strcmp(variables[i].name, variables[i - 1].name) != 0;
    }
    assert_int_equal(different, 40);
}

/* The documents have several names for one setting: the later one of the table counts, and ACCEL_... over both. */
static void test_two_names(void **state)
{
    struct fixture *f = *state;
    setenv("WEBGPU_BROWSER", "safari", 1);
    setenv("TARGET_BROWSER", "chrome", 1);
    setenv("WEBGPU_BROWSER_OPTIMIZATIONS", "0", 1);
    resolve(f, "webgpu", "");
    assert_string_equal(find(f, "client")->value, "safari");
    assert_true(comes_from(find(f, "kernels.matmul.workgroup"), "clients/safari"));
    setenv("ACCEL_CLIENT", "edge", 1);
    resolve(f, "webgpu", "");
    unsetenv("ACCEL_CLIENT");
    unsetenv("WEBGPU_BROWSER");
    unsetenv("TARGET_BROWSER");
    unsetenv("WEBGPU_BROWSER_OPTIMIZATIONS");
    assert_string_equal(find(f, "client")->value, "edge");
    assert_true(comes_from(find(f, "kernels.matmul.workgroup"), "clients/edge"));
}

/* Of what nothing honors yet the documents' name is kept beside the value in force, and the user's is refused. */
static void test_later(void **state)
{
    static const struct accel_profile_pair facts[] = {{"platform", "vulkan", "test"}};
    struct fixture *f = *state;
    struct accel_settings *settings = NULL;
    const struct accel_profile_setting *setting;
    setenv("WEB_PARALLEL_LOADING_ENABLED", "1", 1);
    resolve(f, "vulkan", "");
    unsetenv("WEB_PARALLEL_LOADING_ENABLED");
    setting = find_setting(f->settings, "load.parallel");
    assert_string_equal(setting->value, "false");
    assert_int_equal(setting->layer, ACCEL_LAYER_BUILTIN);
    assert_int_equal(setting->overridden_count, 0);
    assert_string_equal(setting->later->value, "true");
    assert_int_equal(setting->later->is_alias, 1);
    setenv("ACCEL_LOAD_PARALLEL", "true", 1);
    assert_int_equal(accel_profile_resolve(f->profile, facts, 1, NULL, 0, &settings, &f->error), ACCEL_E_UNSUPPORTED);
    unsetenv("ACCEL_LOAD_PARALLEL");
    assert_null(settings);
    assert_string_equal(f->error.text,
                        "environment ACCEL_LOAD_PARALLEL: load.parallel=true is not honored yet (later: components)");
}

/* What the documents call "MB" without saying which, and a value that nobody foresaw. */
static void test_values(void **state)
{
    static const struct accel_profile_pair facts[] = {{"platform", "vulkan", "test"}};
    struct fixture *f = *state;
    struct accel_settings *settings = NULL;
    setenv("WEBGPU_MAX_CHUNK_SIZE", "100MB", 1);
    resolve(f, "vulkan", "");
    unsetenv("WEBGPU_MAX_CHUNK_SIZE");
    assert_int_equal(find(f, "load.chunk")->number, 100000000);
    setenv("WEBGPU_DEFAULT_BITS", "5", 1);
    assert_int_equal(accel_profile_resolve(f->profile, facts, 1, NULL, 0, &settings, &f->error), ACCEL_E_INVALID);
    unsetenv("WEBGPU_DEFAULT_BITS");
    assert_null(settings);
    assert_non_null(strstr(f->error.text, "environment.yaml:"));
    assert_non_null(strstr(f->error.text, "WEBGPU_DEFAULT_BITS"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_two_names),
        cmocka_unit_test(test_later),
        cmocka_unit_test(test_values),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
