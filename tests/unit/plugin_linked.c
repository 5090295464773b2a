/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are not linked as drivers: one for each rule of the ELF check, alone, in pairs and in both orders, and
 * beside a good one. Each is refused by its own row, whoever lies next to it; none of them is ever mapped into this
 * process, whose stack stays what it was.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
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

struct rule {
    const char *file, *name;
    int32_t code;
    const char *text, *remedy; /* parts of them */
};

static const struct rule rules[] = {
    {"extra_symbol", "extra-symbol", ACCEL_E_INVALID, "exports the symbol accel_extra_symbol in addition to", "-z,now"},
    {"no_entry", "no-entry", ACCEL_E_INVALID, "does not export accel_driver_query", "export accel_driver_query"},
    {"no_note", "no_note", ACCEL_E_INVALID, "no .note.accel", "ACCEL_DRIVER"},
    {"two_notes", "two_notes", ACCEL_E_CORRUPT, "2 notes instead of one", ""},
    {"lazy", "lazy", ACCEL_E_INVALID, "BIND_NOW is missing", "-z,now"},
    {"unloadable", "unloadable", ACCEL_E_INVALID, "NODELETE is missing", "-z,nodelete"},
    {"unique", "unique", ACCEL_E_INVALID, "the symbol accel_mock_unique is unique", "-fno-gnu-unique"},
    {"text_relocation", "text-relocation", ACCEL_E_INVALID, "it has text relocations", "-z,now"},
    {"exec_stack", "exec-stack", ACCEL_E_INVALID, "requires an executable stack", "-z,noexecstack"},
    {"writable_code", "writable-code", ACCEL_E_INVALID, "a segment is writable and executable", "-z,now"},
};

#define RULES (sizeof(rules) / sizeof(rules[0]))
#define GOOD RULES /* the index of a file that keeps all of them */

struct place {
    char root[64], drivers[96], cache[96];
    char *data[RULES + 1];
    size_t bytes[RULES + 1];
};

static const char *file_of(size_t rule)
{
    return rule == GOOD ? "good" : rules[rule].file;
}

static void read_mocks(struct place *place)
{
    const char *build = getenv("ACCEL_TEST_BUILDDIR");
    if (build == NULL)
        fail_msg("ACCEL_TEST_BUILDDIR does not say where the drivers are");
    for (size_t i = 0; i <= RULES; i++) {
        char path[1024];
        snprintf(path, sizeof(path), "%s/tests/mock/.libs/%s.so", build, file_of(i));
        if (accel_file_read(path, 64u << 20, &place->data[i], &place->bytes[i], NULL) != ACCEL_OK)
            fail_msg("%s is not built", path);
    }
}

/* The driver at `rule` as the file that is found in this order. */
static void install(const struct place *place, size_t rule, unsigned order, char path[256])
{
    snprintf(path, 256, "%s/%u-%s.so", place->drivers, order, file_of(rule));
    assert_int_equal(accel_file_write(path, place->data[rule], place->bytes[rule], 0755, NULL), ACCEL_OK);
}

static struct accel_plugins *discover(const struct place *place)
{
    struct accel_plugins_options options = {.driver_path = place->drivers, .cache_path = place->cache};
    struct accel_plugins *plugins = NULL;
    struct accel_error error = {0};
    if (accel_plugins_discover(&options, &plugins, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    return plugins;
}

static void check(const struct accel_plugins *plugins, uint32_t index, size_t rule)
{
    const struct accel_plugin *plugin = accel_plugins_get((struct accel_plugins *)(uintptr_t)plugins, index);
    const struct rule *wanted = &rules[rule == GOOD ? 0 : rule];
    assert_non_null(plugin);
    assert_non_null(strstr(plugin->info.path, file_of(rule)));
    if (rule == GOOD) {
        if (plugin->info.state != ACCEL_PLUGIN_LOADED)
            fail_msg("the good one: %s", plugin->info.text);
        assert_non_null(plugin->driver);
        return;
    }
    assert_int_equal(plugin->info.state, ACCEL_PLUGIN_REFUSED);
    assert_null(plugin->driver);
    assert_int_equal(plugin->info.code, wanted->code);
    assert_int_equal(plugin->info.probe_nanoseconds, 0);
    if (strstr(plugin->info.text, wanted->text) == NULL || strstr(plugin->info.remedy, wanted->remedy) == NULL)
        fail_msg("%s: %s (%s)", wanted->file, plugin->info.text, plugin->info.remedy);
}

/* Neither a bad file nor an executable stack is in this process. */
static void check_process(const struct place *place)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, "[stack]") != NULL && strstr(line, "rwx") != NULL)
            fail_msg("the stack became executable: %s", line);
        if (strstr(line, place->drivers) != NULL && strstr(line, "-good.so") == NULL)
            fail_msg("a file that was refused is here: %s", line);
    }
    fclose(maps);
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    char probe[1024];
    assert_non_null(place);
    read_mocks(place);
    strcpy(place->root, "/tmp/accel-linked-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    snprintf(place->drivers, sizeof(place->drivers), "%s/drivers", place->root);
    snprintf(place->cache, sizeof(place->cache), "%s/cache", place->root);
    assert_int_equal(mkdir(place->drivers, 0755), 0);
    setenv("XDG_DATA_HOME", place->root, 1);
    unsetenv("ACCEL_DRIVER_PATH");
    snprintf(probe, sizeof(probe), "%s/tools/accel-probe/accel-probe", getenv("ACCEL_TEST_BUILDDIR"));
    setenv("ACCEL_PROBE", probe, 0);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    remove_tree(place->root);
    for (size_t i = 0; i <= RULES; i++)
        free(place->data[i]);
    free(place);
    return 0;
}

static void alone(void **state)
{
    struct place *place = *state;
    for (size_t rule = 0; rule < RULES; rule++) {
        char path[256];
        struct accel_plugins *plugins;
        install(place, rule, 1, path);
        plugins = discover(place);
        assert_int_equal(accel_plugins_count(plugins), 1);
        check(plugins, 0, rule);
        accel_plugins_free(plugins);
        unlink(path);
    }
    check_process(place);
}

static void in_pairs_and_both_orders(void **state)
{
    struct place *place = *state;
    for (size_t first = 0; first <= RULES; first++)
        for (size_t second = 0; second <= RULES; second++) {
            char one[256], two[256];
            struct accel_plugins *plugins;
            if (first == GOOD && second == GOOD)
                continue;
            install(place, first, 1, one);
            install(place, second, 2, two);
            plugins = discover(place);
            assert_int_equal(accel_plugins_count(plugins), 2);
            check(plugins, 0, first);
            check(plugins, 1, second);
            accel_plugins_free(plugins);
            unlink(one);
            unlink(two);
        }
    check_process(place);
}

static void all_at_once(void **state)
{
    struct place *place = *state;
    struct accel_plugins *plugins;
    char path[256];
    for (unsigned i = 0; i <= RULES; i++)
        install(place, i, 10 + i, path);
    plugins = discover(place);
    assert_int_equal(accel_plugins_count(plugins), RULES + 1);
    for (uint32_t i = 0; i <= RULES; i++)
        check(plugins, i, i);
    accel_plugins_free(plugins);
    check_process(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone),
        cmocka_unit_test(in_pairs_and_both_orders),
        cmocka_unit_test(all_at_once),
    };
    return cmocka_run_group_tests_name("plugin_linked", tests, set_up, tear_down);
}
