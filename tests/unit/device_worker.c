/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling in a worker: what its compiler does wrong is an error with the reason, and the process goes on. */
#include "config.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/runtime/worker.h"
#include "tests/unit/device_support.h"
#include "tests/unit/remove_tree.h"
#include "tools/accel-probe/job.h"

struct place {
    char root[64], cache[96], driver[512], log[16384];
    struct accel_context *context;
    struct sum_graph sum;
};

static void take_log(void *user, uint32_t level, const char *text)
{
    struct place *place = user;
    (void)level;
    if (strlen(place->log) + strlen(text) + 2 < sizeof(place->log))
        strcat(strcat(place->log, text), "\n");
}

static int set_up(void **state)
{
    struct accel_context_options options = {.size = sizeof(options)};
    struct place *place = calloc(1, sizeof(*place));
    struct accel_error error = {0};
    char *data = NULL;
    size_t bytes = 0;
    snprintf(place->root, sizeof(place->root), "/tmp/accel-worker-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    snprintf(place->cache, sizeof(place->cache), "%s/cache", place->root);
    snprintf(place->driver, sizeof(place->driver), "%s/tests/mock/.libs/compiler.so", getenv("ACCEL_TEST_BUILDDIR"));
    assert_int_equal(accel_file_read(place->driver, 64u << 20, &data, &bytes, NULL), ACCEL_OK);
    snprintf(place->driver, sizeof(place->driver), "%s/compiler.so", place->root);
    assert_int_equal(accel_file_write(place->driver, data, bytes, 0755, NULL), ACCEL_OK);
    free(data);
    setenv("XDG_DATA_HOME", place->root, 1);
    setenv("ASAN_OPTIONS", "handle_segv=0:handle_abort=0:detect_leaks=0", 1);
    unsetenv("ACCEL_DRIVER_PATH");
    options.driver_path = place->driver;
    options.cache_path = place->cache;
    options.log = take_log;
    options.log_data = place;
    options.log_level = ACCEL_LOG_INFO;
    assert_int_equal(accel_context_create(&options, &place->context, &error), ACCEL_OK);
    if (accel_context_discover(place->context, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    sum_graph_make(&place->sum);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    struct accel_error error = {0};
    accel_builder_free(place->sum.builder);
    assert_int_equal(accel_context_free(place->context, &error), ACCEL_OK);
    remove_tree(place->root);
    unsetenv("ACCEL_COMPILE_MILLISECONDS");
    unsetenv("ACCEL_COMPILE_BYTES");
    free(place);
    return 0;
}

/* Opens the device in a mode and compiles the sum. */
static int32_t compile_with(struct place *place, const char *mode, const struct accel_task *task,
                            struct accel_error *error)
{
    struct accel_named_value given = {.key = "compiler.mode", .value = mode, .origin = "the test"};
    struct accel_device *device = NULL;
    struct accel_module *module = NULL;
    int32_t code;
    memset(error, 0, sizeof(*error));
    place->log[0] = '\0';
    if (accel_device_open(place->context, "compiler:d0", &given, 1, &device, error) != ACCEL_OK)
        fail_msg("%s", error->text);
    code = accel_module_create(device, &place->sum.graph, 1, NULL, NULL, task, &module, error);
    assert_int_equal(module != NULL, code == ACCEL_OK);
    accel_module_free(module);
    accel_device_free(device);
    print_message("%s: %s\n", mode, error->text);
    return code;
}

static int32_t compile(struct place *place, const char *mode, struct accel_error *error)
{
    return compile_with(place, mode, NULL, error);
}

static bool worked(const struct place *place)
{
    return strstr(place->log, "component=worker driver=compiler") != NULL;
}

static void a_blob_is_made_once(void **state)
{
    struct accel_error error;
    assert_int_equal(compile(*state, "good", &error), ACCEL_OK);
    assert_true(worked(*state));
    assert_int_equal(compile(*state, "good", &error), ACCEL_OK);
    assert_false(worked(*state));
}

/* What compilers do, and what becomes of it. */
static const struct {
    const char *mode, *text;
    int32_t code, native;
    bool lasting;
} ends[] = {
    {"crash",
     "crashes in compile: its worker ended with SIGSEGV (signal 11); last error output: internal compiler error",
     ACCEL_E_INTERNAL, SIGSEGV, true},
    {"exit", "ends its worker in compile, with the exit status 0; last error output: the compiler begins",
     ACCEL_E_INTERNAL, 0, true},
    {"nothing", "compile received a writer and wrote nothing", ACCEL_E_INTERNAL, 0, false},
    {"refuse", "the compiler does not like the graph", ACCEL_E_REFUSED, 0, false},
    {"damaged", "load was given what compile did not write", ACCEL_E_CORRUPT, 0, false},
};

static void each_end_is_an_error(void **state)
{
    struct accel_error error;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        assert_int_equal(compile(*state, ends[i].mode, &error), ends[i].code);
        assert_non_null(strstr(error.text, ends[i].text));
        assert_int_equal(error.native, ends[i].native);
        assert_true(worked(*state));
        assert_int_equal(compile(*state, ends[i].mode, &error), ends[i].code);
        assert_int_equal(strstr(error.text, "(in quarantine)") != NULL, ends[i].lasting);
        assert_int_equal(strstr(error.remedy, "rm '") != NULL, ends[i].lasting);
    }
    /* Other settings are another name. */
    assert_int_equal(compile(*state, "good", &error), ACCEL_OK);
}

static void a_hang_is_ended(void **state)
{
    struct accel_error error;
    setenv("ACCEL_COMPILE_MILLISECONDS", "3000", 1);
    assert_int_equal(compile(*state, "hang", &error), ACCEL_E_TIMEOUT);
    assert_non_null(strstr(error.text, "hangs in compile: its worker was ended after 3000 ms"));
    assert_int_equal(error.native, 0);
    assert_int_equal(compile(*state, "hang", &error), ACCEL_E_TIMEOUT);
    assert_non_null(strstr(error.text, "(in quarantine)"));
}

static int32_t stop(const struct accel_task *task, uint64_t done, uint64_t total)
{
    (void)task, (void)done, (void)total;
    return ACCEL_E_CANCELLED;
}

/* The caller need not wait for a deadline; nothing is held against the graph. */
static void a_caller_may_stop_it(void **state)
{
    const struct accel_task task = {.size = sizeof(task), .progress = stop};
    struct accel_error error;
    setenv("ACCEL_COMPILE_MILLISECONDS", "60000", 1);
    assert_int_equal(compile_with(*state, "hang", &task, &error), ACCEL_E_CANCELLED);
    assert_non_null(strstr(error.text, "driver compiler: compiling was cancelled"));
    assert_true(worked(*state));
    assert_int_equal(compile_with(*state, "hang", &task, &error), ACCEL_E_CANCELLED);
    assert_true(worked(*state));
}

static void memory_has_a_limit(void **state)
{
    struct accel_error error;
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    setenv("ACCEL_COMPILE_BYTES", "268435456", 1);
    assert_int_equal(compile(*state, "memory", &error), ACCEL_E_INTERNAL);
    assert_non_null(strstr(error.text, "SIGABRT"));
    assert_non_null(strstr(error.text, "out of memory after"));
    assert_int_equal(compile(*state, "good", &error), ACCEL_OK);
}

/* The one blob in the cache. */
static void find_blob(const struct place *place, char *path, size_t bytes)
{
    char command[256];
    FILE *pipe;
    snprintf(command, sizeof(command), "ls '%s'/compiled/*.blob", place->cache);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(path, (int)bytes, pipe));
    pclose(pipe);
    path[strcspn(path, "\n")] = '\0';
}

static void a_damaged_blob_reaches_no_driver(void **state)
{
    struct place *place = *state;
    struct accel_error error;
    char path[512], *data = NULL;
    size_t bytes = 0;
    assert_int_equal(compile(place, "good", &error), ACCEL_OK);
    find_blob(place, path, sizeof(path));
    assert_int_equal(accel_file_read(path, 1 << 20, &data, &bytes, NULL), ACCEL_OK);
    for (size_t at = 0; at < bytes; at += 7) {
        data[at] ^= 1;
        assert_int_equal(accel_file_write(path, data, bytes, 0600, NULL), ACCEL_OK);
        data[at] ^= 1;
        assert_int_equal(compile(place, "good", &error), ACCEL_OK);
        assert_true(worked(place));
        assert_non_null(strstr(place->log, "damaged"));
    }
    for (size_t cut = 0; cut < bytes; cut += 31) {
        assert_int_equal(accel_file_write(path, data, cut, 0600, NULL), ACCEL_OK);
        assert_int_equal(compile(place, "good", &error), ACCEL_OK);
        assert_true(worked(place));
    }
    /* One that others may write is as good as damaged. */
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(compile(place, "good", &error), ACCEL_OK);
    assert_true(worked(place));
    free(data);
}

/* ---- the job as bytes ---- */

static void a_job_comes_back(void **state)
{
    struct place *place = *state;
    struct accel_named_value given = {"compiler.mode", "good", "here"};
    uint64_t buckets[] = {1, 8};
    uint32_t counts[] = {2};
    struct accel_compile_options options = {
        .size = sizeof(options), .buckets = buckets, .bucket_counts = counts, .threads = 3};
    struct accel_worker_job job = {.path = "/x/y.so",
                                   .device = "compiler:d0",
                                   .memory = 77,
                                   .setting_count = 1,
                                   .graph_count = 1,
                                   .settings = &given,
                                   .graphs = &place->sum.graph,
                                   .options = &options};
    struct accel_worker_job back;
    struct accel_strbuf first = {0}, second = {0};
    struct accel_arena arena = {0};
    struct accel_error error = {0};
    accel_worker_pack(&job, &first);
    if (parse_job(first.text, first.length, &arena, &back, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    assert_string_equal(back.path, "/x/y.so");
    assert_string_equal(back.settings[0].value, "good");
    assert_int_equal(back.options->buckets[1], 8);
    assert_int_equal(back.options->threads, 3);
    accel_worker_pack(&back, &second);
    assert_int_equal(first.length, second.length);
    assert_memory_equal(first.text, second.text, first.length);
    for (size_t cut = 0; cut < first.length; cut++) {
        char *part = malloc(cut + 1);
        memcpy(part, first.text, cut);
        memset(&error, 0, sizeof(error));
        assert_true(parse_job(part, cut, &arena, &back, &error) < 0);
        assert_true(error.text[0] != '\0');
        free(part);
    }
    accel_arena_free(&arena);
    accel_strbuf_free(&first);
    accel_strbuf_free(&second);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_blob_is_made_once),  TEST(each_end_is_an_error), TEST(a_hang_is_ended),
        TEST(a_caller_may_stop_it), TEST(memory_has_a_limit),   TEST(a_damaged_blob_reaches_no_driver),
        TEST(a_job_comes_back),
    };
    return cmocka_run_group_tests_name("device_worker", tests, NULL, NULL);
}
