/* SPDX-License-Identifier: Apache-2.0 */
/* Devices are listed from the probe of a driver that opens libraries; it is attached when one of them is opened. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tests/unit/device_support.h"
#include "tests/unit/remove_tree.h"

struct place {
    char root[64], cache[96], drivers[384], log[32768];
};

static void take_log(void *user, uint32_t level, const char *text)
{
    struct place *place = user;
    (void)level;
    if (strlen(place->log) + strlen(text) + 2 < sizeof(place->log))
        strcat(strcat(place->log, text), "\n");
}

static void bring(const struct place *place, const char *name, char *path, size_t size)
{
    char *data = NULL;
    size_t bytes = 0;
    snprintf(path, size, "%s/tests/mock/.libs/%s.so", getenv("ACCEL_TEST_BUILDDIR"), name);
    assert_int_equal(accel_file_read(path, 64u << 20, &data, &bytes, NULL), ACCEL_OK);
    snprintf(path, size, "%s/%s.so", place->root, name);
    assert_int_equal(accel_file_write(path, data, bytes, 0755, NULL), ACCEL_OK);
    free(data);
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    char late[1024], good[1024];
    snprintf(place->root, sizeof(place->root), "/tmp/accel-late-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    snprintf(place->cache, sizeof(place->cache), "%s/cache", place->root);
    bring(place, "late", late, sizeof(late));
    bring(place, "good", good, sizeof(good));
    assert_true(snprintf(place->drivers, sizeof(place->drivers), "%s:%s", late, good) < (int)sizeof(place->drivers));
    setenv("XDG_DATA_HOME", place->root, 1);
    setenv("ASAN_OPTIONS", "handle_segv=0:detect_leaks=0", 1);
    unsetenv("ACCEL_DRIVER_PATH");
    unsetenv("MOCK_LATE");
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    remove_tree(place->root);
    free(place);
    return 0;
}

static struct accel_context *discover(struct place *place, uint32_t flags)
{
    struct accel_context_options options = {.size = sizeof(options), .flags = flags, .log_level = ACCEL_LOG_DEBUG};
    struct accel_context *context = NULL;
    struct accel_error error = {0};
    place->log[0] = '\0';
    options.driver_path = place->drivers;
    options.cache_path = place->cache;
    options.log = take_log;
    options.log_data = place;
    assert_int_equal(accel_context_create(&options, &context, &error), ACCEL_OK);
    if (accel_context_discover(context, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    return context;
}

static void end(struct accel_context *context)
{
    struct accel_error error = {0};
    assert_int_equal(accel_context_free(context, &error), ACCEL_OK);
}

static bool has_device(const struct accel_context *context, const char *name)
{
    const struct accel_listed *listed = accel_context_find(context, name);
    return listed != NULL && strcmp(listed->info.name, name) == 0;
}

static uint32_t attached(const struct place *place, const char *name)
{
    char wanted[64];
    uint32_t count = 0;
    snprintf(wanted, sizeof(wanted), "mock=%s attached=1", name);
    for (const char *at = strstr(place->log, wanted); at != NULL; at = strstr(at + 1, wanted))
        count++;
    return count;
}

/* Fails: the mock opens nothing. */
static int32_t open_late(struct accel_context *context, struct accel_error *error)
{
    struct accel_device *device = NULL;
    *error = (struct accel_error){0};
    return accel_device_open(context, "late", NULL, 0, &device, error);
}

static void waits_until_it_is_asked_for(void **state)
{
    static const uint32_t flags[] = {0, 0, ACCEL_CONTEXT_NO_CACHE};
    struct place *place = *state;
    struct accel_error error;
    /* Probed, from the cache, probed without one. */
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        struct accel_context *context = discover(place, flags[i]);
        assert_true(has_device(context, "late:late0"));
        assert_true(has_device(context, "good:mock0"));
        assert_int_equal(attached(place, "late"), 0);
        assert_int_equal(attached(place, "good"), 1);
        assert_int_equal(open_late(context, &error), ACCEL_E_UNSUPPORTED);
        assert_int_equal(open_late(context, &error), ACCEL_E_UNSUPPORTED);
        assert_int_equal(attached(place, "late"), 1);
        end(context);
    }
}

/* What a driver says of hardware is listed from there, too. */
static void verdicts_are_listed(void **state)
{
    struct place *place = *state;
    struct accel_context *context = discover(place, 0);
    uint32_t late = 0, good = 0;
    for (uint32_t i = 0; i < accel_verdict_count(context); i++) {
        late += strcmp(accel_verdict_get(context, i)->driver, "late") == 0;
        good += strcmp(accel_verdict_get(context, i)->driver, "good") == 0;
    }
    assert_true(late == good && late == accel_hardware_count(context));
    end(context);
}

static void without_a_probe_it_is_attached(void **state)
{
    struct place *place = *state;
    struct accel_context *context = discover(place, ACCEL_CONTEXT_NO_CACHE | ACCEL_CONTEXT_NO_PROBE);
    assert_true(has_device(context, "late:late0"));
    assert_int_equal(attached(place, "late"), 1);
    end(context);
}

/* A device that has gone since the probe is an error once; then the list is made anew. */
static void a_device_that_has_gone(void **state)
{
    struct place *place = *state;
    struct accel_context *context = discover(place, 0);
    struct accel_error error;
    end(context);
    setenv("MOCK_LATE", "late1", 1);
    context = discover(place, 0);
    assert_true(has_device(context, "late:late0"));
    assert_int_equal(open_late(context, &error), ACCEL_E_NOT_FOUND);
    assert_non_null(strstr(error.text, "late:late0 was present when its driver was probed"));
    assert_string_not_equal(error.remedy, "");
    assert_int_equal(open_late(context, &error), ACCEL_E_NOT_FOUND);
    end(context);
    context = discover(place, 0);
    assert_true(has_device(context, "late:late1"));
    assert_int_equal(open_late(context, &error), ACCEL_E_UNSUPPORTED);
    end(context);
    unsetenv("MOCK_LATE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(waits_until_it_is_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(verdicts_are_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_probe_it_is_attached, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_device_that_has_gone, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("device_late", tests, NULL, NULL);
}
