/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of misbehaving drivers and a good one: each is one row with the right verdict, and the good one works. */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/plugin/plugin.h"
#include "tests/unit/remove_tree.h"

/* Long enough for a child on a busy machine, since only the driver that hangs takes it all. */
#define DEADLINE_MS 5000u

struct row {
    const char *file, *name;
    uint32_t state;
    int32_t code, signal;
    const char *text, *remedy, *detail; /* parts of them */
    bool probed;
};

/* In the order of the file names, which is the order of the records. */
static const struct row rows[] = {
    {"abort_in_query", "abort-in-query", ACCEL_PLUGIN_REFUSED, ACCEL_E_INTERNAL, SIGABRT, "crashes in query", "",
     "complaint 999\nlast words?[31m", true},
    {"bad_note", "bad_note", ACCEL_PLUGIN_REFUSED, ACCEL_E_CORRUPT, 0, "line 7 is not key=value", "", "", false},
    {"crash_at_exit", "crash-at-exit", ACCEL_PLUGIN_REFUSED, ACCEL_E_INTERNAL, SIGSEGV, "crashes in exit", "", "",
     true},
    {"crash_in_constructor", "crash-in-constructor", ACCEL_PLUGIN_REFUSED, ACCEL_E_INTERNAL, SIGSEGV,
     "crashes in load: its probe ended with SIGSEGV", "", "", true},
    {"crash_in_enumerate", "crash-in-enumerate", ACCEL_PLUGIN_REFUSED, ACCEL_E_INTERNAL, SIGFPE,
     "crashes in enumerate: its probe ended with SIGFPE", "", "", true},
    {"exec_stack", "exec-stack", ACCEL_PLUGIN_REFUSED, ACCEL_E_INVALID, 0, "executable stack", "noexecstack", "",
     false},
    {"exit_in_attach", "exit-in-attach", ACCEL_PLUGIN_REFUSED, ACCEL_E_INTERNAL, 0,
     "ends the process in attach, with the exit status 0", "", "", true},
    {"extra_symbol", "extra-symbol", ACCEL_PLUGIN_REFUSED, ACCEL_E_INVALID, 0, "exports the symbol accel_extra_symbol",
     "", "", false},
    {"garbage_count", "garbage-count", ACCEL_PLUGIN_REFUSED, ACCEL_E_LIMIT, 0, "accel_facts.heap_count 4026531840", "",
     "", true},
    {"garbage_number", "garbage-number", ACCEL_PLUGIN_REFUSED, ACCEL_E_INVALID, 0,
     "garbage.share has a default that is not finite", "", "", true},
    {"garbage_text", "garbage-text", ACCEL_PLUGIN_REFUSED, ACCEL_E_INVALID, 0,
     "accel_facts.id is missing, too long or not UTF-8", "", "", true},
    {"good", "good", ACCEL_PLUGIN_LOADED, ACCEL_OK, 0, "", "", "mock=good attached=1", true},
    {"hang_in_constructor", "hang-in-constructor", ACCEL_PLUGIN_REFUSED, ACCEL_E_TIMEOUT, 0,
     "hangs in load: its probe was ended after 5000 ms", "", "", true},
    {"lazy", "lazy", ACCEL_PLUGIN_REFUSED, ACCEL_E_INVALID, 0, "BIND_NOW is missing", "-z,now", "", false},
    {"leaks", "leaks", ACCEL_PLUGIN_REFUSED, ACCEL_E_INVALID, 0,
     "leaks: detach leaves 3 blocks of the host's memory that it took", "", "", true},
    {"lies_about_memory", "lies-about-memory", ACCEL_PLUGIN_REFUSED, ACCEL_E_LIMIT, 0,
     "accel_heap.bytes 18446744073709551615", "", "", true},
    {"missing_library", "prints", ACCEL_PLUGIN_REFUSED, ACCEL_E_NOT_FOUND, 0, "libq", "", "", true},
    {"missing_symbol", "missing-symbol", ACCEL_PLUGIN_REFUSED, ACCEL_E_NOT_FOUND, 0, "vendor_function_that_is_nowhere",
     "", "", true},
    {"no_entry", "no-entry", ACCEL_PLUGIN_REFUSED, ACCEL_E_INVALID, 0, "does not export accel_driver_query", "", "",
     false},
    {"no_note", "no_note", ACCEL_PLUGIN_REFUSED, ACCEL_E_INVALID, 0, "no .note.accel", "ACCEL_DRIVER", "", false},
    {"prints", "prints", ACCEL_PLUGIN_REFUSED, ACCEL_E_INVALID, 0,
     "writes to standard output (28 bytes): \"welcome to the mock runtime\"", "effects=prints", "", true},
    {"short_structs", "short-structs", ACCEL_PLUGIN_REFUSED, ACCEL_E_INVALID, 0, "accel_facts.size is 48", "", "",
     true},
    {"short_table", "short-table", ACCEL_PLUGIN_REFUSED, ACCEL_E_INVALID, 0, "struct accel_instance_table has 16 bytes",
     "", "", true},
    {"twin", "good", ACCEL_PLUGIN_SHADOWED, ACCEL_OK, 0, "was found before in", "", "", false},
    {"writable", "writable", ACCEL_PLUGIN_REFUSED, ACCEL_E_DENIED, 0, "it is writable by every user (mode 0777)",
     "chmod go-w '", "", false},
    {"wrong_abi", "wrong-abi", ACCEL_PLUGIN_REFUSED, ACCEL_E_ABI, 0,
     "made for the driver ABI 9.7 (lowest minor 3); this library has 0.2", "", "", false},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

/* A folder of drivers, one for the cache, and no drivers of the machine. */
struct place {
    char root[64], drivers[96], cache[96], log[4096];
};

static char *read_mock(const char *name, size_t *out_bytes)
{
    char path[1024];
    char *data = NULL;
    snprintf(path, sizeof(path), "%s/tests/mock/.libs/%s.so", getenv("ACCEL_TEST_BUILDDIR"), name);
    assert_int_equal(accel_file_read(path, 64u << 20, &data, out_bytes, NULL), ACCEL_OK);
    return data;
}

/* Copies a mock to the folder of drivers as `file`. */
static void install(struct place *place, const char *mock, const char *file, mode_t mode)
{
    char path[256];
    size_t bytes = 0;
    char *data = read_mock(mock, &bytes);
    if (strcmp(file, "missing_library") == 0)
        for (size_t i = 0; i + 10 <= bytes; i++)
            /* A build with sanitizers needs the C library through theirs alone. */
            if (memcmp(data + i, "libc.so.6", 10) == 0 || memcmp(data + i, "libubsan.s", 10) == 0)
                data[i + 3] = 'q';
    snprintf(path, sizeof(path), "%s/%s.so", place->drivers, file);
    assert_int_equal(accel_file_write(path, data, bytes, mode, NULL), ACCEL_OK);
    assert_int_equal(chmod(path, mode), 0);
    free(data);
}

static void take_log(void *user, uint32_t level, const char *room, const char *text)
{
    struct place *place = user;
    (void)room;
    if (level <= ACCEL_LOG_WARN)
        strncat(place->log, text, sizeof(place->log) - strlen(place->log) - 1);
}

static struct accel_plugins *discover(struct place *place, uint32_t flags)
{
    struct accel_log log = {take_log, place, ACCEL_LOG_DEBUG};
    struct accel_plugins_options options = {.flags = flags,
                                            .probe_milliseconds = DEADLINE_MS,
                                            .driver_path = place->drivers,
                                            .cache_path = place->cache,
                                            .log = &log};
    struct accel_plugins *plugins = NULL;
    struct accel_error error = {0};
    place->log[0] = '\0';
    assert_int_equal(accel_plugins_discover(&options, &plugins, &error), ACCEL_OK);
    return plugins;
}

/* In a build with sanitizers the children must die as others do, by the signal, and not be judged for leaks. */
static void let_children_die(void)
{
    static const char options[] = "handle_segv=0:handle_sigfpe=0:handle_abort=0:detect_leaks=0";
    const char *given = getenv("ASAN_OPTIONS");
    char all[1024];
    if (given != NULL && strstr(given, options) != NULL)
        return;
    snprintf(all, sizeof(all), "%s%s%s", given ? given : "", given ? ":" : "", options);
    setenv("ASAN_OPTIONS", all, 1);
}

/* Run by hand, the program that probes is the one that was built, not an installed one. */
static void find_probe(void)
{
    const char *build = getenv("ACCEL_TEST_BUILDDIR");
    char path[1024];
    if (build == NULL)
        fail_msg("ACCEL_TEST_BUILDDIR does not say where the drivers are");
    snprintf(path, sizeof(path), "%s/tools/accel-probe/accel-probe", build);
    setenv("ACCEL_PROBE", path, 0);
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    snprintf(place->root, sizeof(place->root), "/tmp/accel-plugins-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    snprintf(place->drivers, sizeof(place->drivers), "%s/drivers", place->root);
    snprintf(place->cache, sizeof(place->cache), "%s/cache", place->root);
    assert_int_equal(mkdir(place->drivers, 0755), 0);
    /* Only the folder above is searched: no drivers of the user, of the variable, of the machine. */
    setenv("XDG_DATA_HOME", place->root, 1);
    unsetenv("ACCEL_DRIVER_PATH");
    setenv("ACCEL_TEST_MOCK", "one", 1);
    find_probe();
    let_children_die();
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

static void check_row(const struct row *row, const struct accel_plugin *plugin, bool from_cache)
{
    const struct accel_plugin_info *info = &plugin->info;
    print_message("%s: %s\n", row->file, info->text);
    assert_non_null(strstr(info->path, row->file));
    assert_string_equal(info->name, row->name);
    assert_int_equal(info->state, row->state);
    assert_int_equal(info->code, row->code);
    assert_int_equal(info->signal, row->signal);
    assert_non_null(strstr(info->text, row->text));
    assert_non_null(strstr(info->remedy, row->remedy));
    assert_non_null(strstr(info->detail, row->detail));
    assert_true(strlen(info->detail) <= 2048);
    assert_int_equal(info->from_cache, from_cache && row->probed);
    assert_int_equal(info->probe_nanoseconds > 0, !from_cache && row->probed);
    assert_int_equal(plugin->driver != NULL, row->state == ACCEL_PLUGIN_LOADED);
}

static void each_sin_is_one_row(void **state)
{
    struct place *place = *state;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const char *mock = rows[i].file;
        if (strcmp(mock, "writable") == 0)
            install(place, "good", mock, 0777);
        else
            install(place, strcmp(mock, "missing_library") == 0 ? "prints" : mock, mock, 0755);
    }
    for (int again = 0; again < 2; again++) {
        struct accel_plugins *plugins = discover(place, 0);
        assert_int_equal(accel_plugins_count(plugins), ROW_COUNT);
        for (uint32_t i = 0; i < ROW_COUNT; i++)
            check_row(&rows[i], accel_plugins_get(plugins, i), again == 1);
        assert_null(accel_plugins_get(plugins, ROW_COUNT));
        accel_plugins_free(plugins);
    }
}

/* ---- what a good one gives ---- */

struct counter {
    struct accel_device_sink sink;
    uint32_t devices;
};

static int32_t ACCEL_CALL count_device(const struct accel_device_sink *sink, const struct accel_facts *facts,
                                       struct accel_error *error)
{
    (void)error;
    assert_string_equal(facts->id, "mock0");
    ((struct counter *)sink)->devices++;
    return ACCEL_OK;
}

static int32_t ACCEL_CALL host_log(const struct accel_host *host, uint32_t level, const char *text)
{
    (void)host;
    (void)level;
    assert_string_equal(text, "mock=good attached=1");
    return ACCEL_OK;
}

static void a_good_driver_works(void **state)
{
    const struct accel_host host = {.size = sizeof(host), .log = host_log};
    struct counter counter = {{sizeof(struct accel_device_sink), 0, count_device, NULL}, 0};
    struct accel_driver_instance *instance = NULL;
    struct accel_error error = {.code = ACCEL_E_DENIED, .text = "no right to the device", .remedy = "ask"};
    struct accel_plugins *plugins;
    struct accel_plugin *plugin;
    install(*state, "good", "good", 0755);
    plugins = discover(*state, 0);
    assert_int_equal(accel_plugins_count(plugins), 1);
    plugin = accel_plugins_get(plugins, 0);
    assert_string_equal(plugin->note->isa, "x86-64");
    assert_string_equal(plugin->note->isolate, "none");
    assert_string_equal(plugin->note->depends, "$ACCEL_TEST_MOCK");
    assert_string_equal(plugin->info.licence, "Apache-2.0");
    assert_int_equal(plugin->info.abi_minor, ACCEL_ABI_MINOR);
    assert_int_equal(plugin->driver->option_count, 1);
    assert_string_equal(plugin->driver->options[0]->name, "good.level");
    assert_int_equal(plugin->driver->attach(&host, 1, &instance, NULL), ACCEL_OK);
    assert_int_equal(instance->table->enumerate(instance, NULL, 0, &counter.sink, NULL), ACCEL_OK);
    assert_int_equal(counter.devices, 1);
    assert_int_equal(instance->table->detach(instance, NULL), ACCEL_OK);
    accel_plugins_refuse(plugins, 0, &error);
    assert_int_equal(plugin->info.state, ACCEL_PLUGIN_REFUSED);
    assert_int_equal(plugin->info.code, ACCEL_E_DENIED);
    assert_string_equal(plugin->info.text, "no right to the device");
    assert_string_equal(plugin->info.remedy, "ask");
    assert_null(plugin->driver);
    accel_plugins_free(plugins);
}

/* ---- the cache ---- */

static bool was_cached(struct place *place, uint32_t flags, uint32_t state)
{
    struct accel_plugins *plugins = discover(place, flags);
    struct accel_plugin *plugin = accel_plugins_get(plugins, 0);
    bool cached;
    assert_int_equal(accel_plugins_count(plugins), 1);
    assert_int_equal(plugin->info.state, state);
    cached = plugin->info.from_cache == 1;
    assert_int_equal(cached, plugin->info.probe_nanoseconds == 0);
    accel_plugins_free(plugins);
    return cached;
}

static void a_result_holds_until_its_key_changes(void **state)
{
    struct place *place = *state;
    install(place, "crash_in_constructor", "driver", 0755);
    assert_false(was_cached(place, 0, ACCEL_PLUGIN_REFUSED));
    /* Quarantine: even without probes the driver is not loaded, which would end this process. */
    assert_true(was_cached(place, 0, ACCEL_PLUGIN_REFUSED));
    assert_true(was_cached(place, ACCEL_CONTEXT_NO_PROBE, ACCEL_PLUGIN_REFUSED));
    assert_false(was_cached(place, ACCEL_CONTEXT_NO_CACHE, ACCEL_PLUGIN_REFUSED));
    /* The file of another time and content. */
    install(place, "good", "driver", 0755);
    assert_false(was_cached(place, 0, ACCEL_PLUGIN_LOADED));
    assert_true(was_cached(place, 0, ACCEL_PLUGIN_LOADED));
    /* A variable that its note names. */
    setenv("ACCEL_TEST_MOCK", "two", 1);
    assert_false(was_cached(place, 0, ACCEL_PLUGIN_LOADED));
    assert_true(was_cached(place, 0, ACCEL_PLUGIN_LOADED));
}

/* A file that was written over, and whose time was set back: the system tells by another time. */
static void times_that_are_set_back_deceive_nobody(void **state)
{
    struct place *place = *state;
    struct timespec times[2];
    struct stat before;
    char path[128], byte = 0;
    int fd;
    install(place, "good", "driver", 0755);
    assert_false(was_cached(place, 0, ACCEL_PLUGIN_LOADED));
    assert_true(was_cached(place, 0, ACCEL_PLUGIN_LOADED));
    snprintf(path, sizeof(path), "%s/driver.so", place->drivers);
    assert_int_equal(stat(path, &before), 0);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, before.st_size - 1), 1);
    assert_int_equal(pwrite(fd, &byte, 1, before.st_size - 1), 1);
    times[0] = before.st_atim;
    times[1] = before.st_mtim;
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
    assert_false(was_cached(place, 0, ACCEL_PLUGIN_LOADED));
    assert_true(was_cached(place, 0, ACCEL_PLUGIN_LOADED));
}

static void a_damaged_cache_is_made_anew(void **state)
{
    struct place *place = *state;
    char path[128];
    char *data = NULL;
    size_t bytes = 0;
    install(place, "good", "driver", 0755);
    assert_false(was_cached(place, 0, ACCEL_PLUGIN_LOADED));
    snprintf(path, sizeof(path), "%s/plugins.cache", place->cache);
    assert_int_equal(accel_file_read(path, 1 << 20, &data, &bytes, NULL), ACCEL_OK);
    for (size_t i = 0; i < 4; i++) {
        char *damaged = malloc(bytes);
        size_t at = i * (bytes - 1) / 3;
        memcpy(damaged, data, bytes);
        damaged[at] ^= 1;
        assert_int_equal(accel_file_write(path, damaged, bytes, 0600, NULL), ACCEL_OK);
        free(damaged);
        assert_false(was_cached(place, 0, ACCEL_PLUGIN_LOADED));
        assert_non_null(strstr(place->log, "damaged"));
        assert_true(was_cached(place, 0, ACCEL_PLUGIN_LOADED));
    }
    assert_int_equal(chmod(path, 0666), 0);
    assert_false(was_cached(place, 0, ACCEL_PLUGIN_LOADED));
    free(data);
}

static void a_cache_that_cannot_be_written_is_only_logged(void **state)
{
    struct place *place = *state;
    assert_int_equal(accel_file_write(place->cache, "", 0, 0600, NULL), ACCEL_OK);
    install(place, "good", "driver", 0755);
    assert_false(was_cached(place, 0, ACCEL_PLUGIN_LOADED));
    assert_non_null(strstr(place->log, "unwritten"));
    assert_false(was_cached(place, 0, ACCEL_PLUGIN_LOADED));
}

/* ---- without a probe ---- */

static void write_sleeper(const struct place *place, char *path, size_t bytes)
{
    FILE *file;
    snprintf(path, bytes, "%s/sleeper", place->root);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("#!/bin/sh\nexec sleep 60\n", file);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
}

static void without_a_probe_nothing_unknown_is_loaded(void **state)
{
    const char *program = getenv("ACCEL_PROBE");
    char *saved = program ? strdup(program) : NULL, sleeper[400];
    struct place *place = *state;
    struct accel_plugins *plugins;
    assert_non_null(saved);
    install(place, "good", "driver", 0755);
    setenv("ACCEL_PROBE", "/nowhere/accel-probe", 1);
    for (int i = 0; i < 2; i++) {
        plugins = discover(place, 0);
        assert_int_equal(accel_plugins_get(plugins, 0)->info.state, ACCEL_PLUGIN_REFUSED);
        assert_int_equal(accel_plugins_get(plugins, 0)->info.code, ACCEL_E_NOT_FOUND);
        assert_int_equal(accel_plugins_get(plugins, 0)->info.from_cache, 0);
        assert_non_null(strstr(accel_plugins_get(plugins, 0)->info.remedy, "ACCEL_PROBE"));
        accel_plugins_free(plugins);
    }
    setenv("ACCEL_PROBE", "/bin/true", 1);
    plugins = discover(place, 0);
    assert_non_null(strstr(accel_plugins_get(plugins, 0)->info.text, "ended before it began"));
    accel_plugins_free(plugins);
    /* One that only sleeps is said to have let the deadline pass. */
    write_sleeper(place, sleeper, sizeof(sleeper));
    setenv("ACCEL_PROBE", sleeper, 1);
    plugins = discover(place, 0);
    assert_non_null(strstr(accel_plugins_get(plugins, 0)->info.text, "did not begin within 5000 ms"));
    assert_non_null(strstr(accel_plugins_get(plugins, 0)->info.text, "the deadline passed"));
    accel_plugins_free(plugins);
    unlink(sleeper);
    plugins = discover(place, ACCEL_CONTEXT_NO_PROBE);
    assert_int_equal(accel_plugins_get(plugins, 0)->info.state, ACCEL_PLUGIN_LOADED);
    accel_plugins_free(plugins);
    setenv("ACCEL_PROBE", saved, 1);
    free(saved);
}

/* Between check and load somebody puts another file, or a link to one, in the place of the driver. */
static void a_file_that_is_swapped_is_not_loaded(void **state)
{
    static const char *const swaps[] = {"mv", "ln -sf"};
    const char *program = getenv("ACCEL_PROBE");
    struct place *place = *state;
    char *saved = strdup(program), script[400], path[200], other[200];
    for (size_t i = 0; i < sizeof(swaps) / sizeof(swaps[0]); i++) {
        struct accel_plugins *plugins;
        FILE *file;
        char *data;
        size_t bytes = 0;
        install(place, "good", "driver", 0755);
        snprintf(path, sizeof(path), "%s/driver.so", place->drivers);
        snprintf(other, sizeof(other), "%s/other", place->root);
        data = read_mock("crash_in_constructor", &bytes);
        assert_int_equal(accel_file_write(other, data, bytes, 0755, NULL), ACCEL_OK);
        free(data);
        snprintf(script, sizeof(script), "%s/swapper", place->root);
        file = fopen(script, "w");
        assert_non_null(file);
        fprintf(file, "#!/bin/sh\n'%s' \"$@\"\n", saved);
        fprintf(file, "%s '%s' '%s'\n", swaps[i], other, path);
        fclose(file);
        assert_int_equal(chmod(script, 0755), 0);
        setenv("ACCEL_PROBE", script, 1);
        plugins = discover(place, ACCEL_CONTEXT_NO_CACHE);
        setenv("ACCEL_PROBE", saved, 1);
        assert_int_equal(accel_plugins_count(plugins), 1);
        print_message("%s\n", accel_plugins_get(plugins, 0)->info.text);
        assert_int_equal(accel_plugins_get(plugins, 0)->info.state, ACCEL_PLUGIN_REFUSED);
        assert_int_equal(accel_plugins_get(plugins, 0)->info.code, ACCEL_E_DENIED);
        assert_non_null(strstr(accel_plugins_get(plugins, 0)->info.text, "replaced while it was probed"));
        accel_plugins_free(plugins);
        unlink(path);
    }
    free(saved);
}

/* A program may reap all its children, or have the system do it: then only the answer tells how it went. */
static void it_works_where_children_are_not_waited_for(void **state)
{
    struct place *place = *state;
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    install(place, "good", "driver", 0755);
    assert_false(was_cached(place, 0, ACCEL_PLUGIN_LOADED));
    install(place, "exit_in_attach", "driver", 0755);
    assert_false(was_cached(place, 0, ACCEL_PLUGIN_REFUSED));
    signal(SIGCHLD, before);
}

static void nothing_to_find_is_no_failure(void **state)
{
    struct accel_plugins *plugins = discover(*state, 0);
    assert_int_equal(accel_plugins_count(plugins), 0);
    accel_plugins_free(plugins);
    accel_plugins_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_sin_is_one_row),
        TEST(a_good_driver_works),
        TEST(a_result_holds_until_its_key_changes),
        TEST(times_that_are_set_back_deceive_nobody),
        TEST(a_damaged_cache_is_made_anew),
        TEST(a_cache_that_cannot_be_written_is_only_logged),
        TEST(without_a_probe_nothing_unknown_is_loaded),
        TEST(a_file_that_is_swapped_is_not_loaded),
        TEST(it_works_where_children_are_not_waited_for),
        TEST(nothing_to_find_is_no_failure),
    };
    return cmocka_run_group_tests_name("plugin_discover", tests, NULL, NULL);
}
