/* SPDX-License-Identifier: Apache-2.0 */
/* Devices are listed from the probe of a driver that opens libraries, and of one that ended a process; it is attached
 * when one of them is opened. */
#include "config.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
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
    char late[1024], good[1024], turns[1024];
    snprintf(place->root, sizeof(place->root), "/tmp/accel-late-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    snprintf(place->cache, sizeof(place->cache), "%s/cache", place->root);
    bring(place, "late", late, sizeof(late));
    bring(place, "good", good, sizeof(good));
    bring(place, "turns", turns, sizeof(turns));
    assert_true(snprintf(place->drivers, sizeof(place->drivers), "%s:%s:%s", late, good, turns) <
                (int)sizeof(place->drivers));
    setenv("XDG_DATA_HOME", place->root, 1);
    setenv("ASAN_OPTIONS", "handle_segv=0:detect_leaks=0", 1);
    unsetenv("ACCEL_DRIVER_PATH");
    unsetenv("MOCK_LATE");
    unsetenv("MOCK_TURNS");
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
    assert_non_null(strstr(error.text, "late:late0 was there when its driver was probed"));
    assert_string_not_equal(error.remedy, "");
    assert_int_equal(open_late(context, &error), ACCEL_E_NOT_FOUND);
    end(context);
    context = discover(place, 0);
    assert_true(has_device(context, "late:late1"));
    assert_int_equal(open_late(context, &error), ACCEL_E_UNSUPPORTED);
    end(context);
    unsetenv("MOCK_LATE");
}

/* ---- a driver that its probe finds good, and that ends the process ---- */

/* Discovers in a child, which the driver ends, or which is ended in it. Returns how the child ended. */
static int discover_in_child(struct place *place, const char *how)
{
    const struct timespec slice = {0, 20000000};
    int status = 0;
    pid_t child;
    setenv("MOCK_TURNS", how, 1);
    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct accel_context *context;
        signal(SIGSEGV, SIG_DFL); /* as a program has it, not a test */
        context = discover(place, 0);
        _exit(has_device(context, "good:mock0") ? 7 : 8);
    }
    for (int i = 0; i < 150 && strncmp(how, "hang", 4) == 0; i++)
        nanosleep(&slice, NULL);
    if (strncmp(how, "hang", 4) == 0)
        kill(child, SIGTERM);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 1000 + WEXITSTATUS(status);
}

static const struct accel_plugin_info *find_plugin(const struct accel_context *context, const char *name)
{
    for (uint32_t i = 0; i < accel_plugin_count(context); i++)
        if (strcmp(accel_plugin_get(context, i)->name, name) == 0)
            return accel_plugin_get(context, i);
    fail_msg("no plugin %s", name);
    return NULL;
}

/* Once it has ended a process the others go on without it, whatever its probe says; its device is still offered. */
static void one_that_ended_a_process_waits(void **state)
{
    static const struct {
        const char *how;
        int end;
    } ways[] = {{"segv", SIGSEGV}, {"exit", 1000}, {"_exit", 1000}, {"hang", SIGTERM}};
    struct place *place = *state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct accel_device *device = NULL;
        struct accel_error error = {0};
        struct accel_context *context;
        unsetenv("MOCK_TURNS");
        context = discover(place, 0);
        assert_int_equal(attached(place, "turns"), 1);
        end(context);
        assert_int_equal(discover_in_child(place, ways[i].how), ways[i].end);
        /* Probed anew, and then from the cache. */
        assert_int_equal(discover_in_child(place, ways[i].how), 1007);
        assert_int_equal(discover_in_child(place, ways[i].how), 1007);
        unsetenv("MOCK_TURNS");
        context = discover(place, 0);
        assert_null(strstr(place->log, "an earlier process ended")); /* it was told once */
        assert_int_equal(attached(place, "turns"), 0);
        assert_true(has_device(context, "turns:mock0"));
        assert_int_equal(accel_device_open(context, "turns", NULL, 0, &device, &error), ACCEL_E_UNSUPPORTED);
        assert_int_equal(attached(place, "turns"), 1);
        end(context);
    }
}

/* What its probe finds bad now is refused, with the reason. */
static void one_that_ended_a_process_is_probed_anew(void **state)
{
    struct place *place = *state;
    struct accel_context *context = discover(place, 0);
    const struct accel_plugin_info *info;
    end(context);
    assert_int_equal(discover_in_child(place, "segv!"), SIGSEGV);
    for (uint32_t i = 0; i < 2; i++) {
        context = discover(place, 0);
        info = find_plugin(context, "turns");
        assert_int_equal(info->state, ACCEL_PLUGIN_REFUSED);
        assert_int_equal(info->signal, SIGSEGV);
        assert_int_equal(info->from_cache, i);
        assert_true(has_device(context, "good:mock0"));
        end(context);
    }
}

/* Marks do not pile up, and what is in their place does no harm. */
static void marks_go(void **state)
{
    struct place *place = *state;
    char command[512];
    snprintf(command, sizeof(command),
             "mkdir -p '%s'; mkdir '%s/attaching.x'; echo >'%s/attaching.999999999.a'; "
             "touch -d '2 days ago' '%s/attaching.999999999.a'",
             place->cache, place->cache, place->cache, place->cache);
    assert_int_equal(system(command), 0);
    end(discover(place, 0));
    assert_int_equal(discover_in_child(place, "segv"), SIGSEGV);
    unsetenv("MOCK_TURNS");
    end(discover(place, 0));
    snprintf(command, sizeof(command), "test \"$(ls '%s' | tr '\\n' ' ')\" = 'attaching.x plugins.cache '",
             place->cache);
    assert_int_equal(system(command), 0);
}

/* Changes a byte of the one mark: of where its process is known (8), or of when that began (16). */
static void change_mark(const struct place *place, unsigned at)
{
    char command[512];
    snprintf(command, sizeof(command),
             "printf '\\001\\002' | dd of=\"$(ls '%s'/attaching.*)\" bs=1 seek=%u conv=notrunc 2>/dev/null",
             place->cache, at);
    assert_int_equal(system(command), 0);
}

/* A process of another machine or container cannot be seen, and may live. */
static void marks_of_elsewhere_say_nothing(void **state)
{
    struct place *place = *state;
    char command[512];
    struct accel_context *context;
    end(discover(place, 0));
    assert_int_equal(discover_in_child(place, "segv"), SIGSEGV);
    unsetenv("MOCK_TURNS");
    change_mark(place, 8);
    context = discover(place, 0);
    assert_true(find_plugin(context, "turns")->from_cache);
    end(context);
    snprintf(command, sizeof(command), "ls '%s'/attaching.* >/dev/null && touch -d '2 days ago' '%s'/attaching.*",
             place->cache, place->cache);
    assert_int_equal(system(command), 0);
    end(discover(place, 0));
    snprintf(command, sizeof(command), "! ls '%s'/attaching.* 2>/dev/null", place->cache);
    assert_int_equal(system(command), 0);
}

/* Another process that has the number by now does not stand for the one that ended. */
static void a_number_that_is_used_again(void **state)
{
    struct place *place = *state;
    char command[512];
    end(discover(place, 0));
    assert_int_equal(discover_in_child(place, "segv"), SIGSEGV);
    unsetenv("MOCK_TURNS");
    snprintf(command, sizeof(command), "mv '%s'/attaching.* '%s/attaching.%ld.XXXXXX'", place->cache, place->cache,
             (long)getppid());
    assert_int_equal(system(command), 0);
    end(discover(place, 0));
    snprintf(command, sizeof(command), "! ls '%s'/attaching.* 2>/dev/null", place->cache);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(waits_until_it_is_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(verdicts_are_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_probe_it_is_attached, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_device_that_has_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_ended_a_process_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_ended_a_process_is_probed_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(marks_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(marks_of_elsewhere_say_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_number_that_is_used_again, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("device_late", tests, NULL, NULL);
}
