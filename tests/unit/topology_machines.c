/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded machines: every folder of tests/topologies is loaded and what comes out is compared with its expected.json.
 * A folder holds machine.xml, written by hwloc, and root/, the files of /proc, /sys and /usr/share that are read. A new
 * machine is a new folder; what the test got lies in the build tree as NAME.json.
 */
#include "config.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/strbuf.h"
#include "tests/unit/topology_json.h"

static char *test_path(const char *name, const char *file)
{
    const char *top = getenv("ACCEL_TEST_SRCDIR");
    struct accel_strbuf path = {0};
    accel_strbuf_printf(&path, "%s/tests/topologies/%s%s%s", top ? top : ".", name, file ? "/" : "", file ? file : "");
    return accel_strbuf_detach(&path);
}

static void put_threads(const struct accel_topology *topology, const char *name, uint32_t wanted, uint32_t flags,
                        json_t *object)
{
    struct accel_thread_policy policy = {.wanted = wanted, .flags = flags};
    struct accel_thread_plan plan;
    struct accel_error error = {0};
    int32_t code = accel_topology_threads(topology, &policy, &plan, &error);
    json_t *cpus = json_array();
    for (uint32_t i = 0; code == ACCEL_OK && i < plan.count; i++)
        json_array_append_new(cpus, json_integer(plan.cpus[i]));
    if (code == ACCEL_OK)
        json_object_set_new(object, name,
                            json_pack("{s:O, s:s, s:s}", "cpus", cpus, "reason", plan.reason, "origin", plan.origin));
    else
        json_object_set_new(
            object, name,
            json_pack("{s:s, s:s, s:s}", "error", accel_error_name(code), "text", error.text, "remedy", error.remedy));
    json_decref(cpus);
    accel_thread_plan_free(&plan);
}

static char *describe(const struct accel_topology *topology)
{
    struct accel_strbuf text = {0};
    json_t *threads = json_object(), *object = json_object();
    char *json;
    put_threads(topology, "default", 0, 0, threads);
    put_threads(topology, "smt", 0, ACCEL_THREADS_SMT, threads);
    put_threads(topology, "fast", 0, ACCEL_THREADS_FAST, threads);
    put_threads(topology, "five", 5, 0, threads);
    put_threads(topology, "hundred", 100, 0, threads);
    json_object_set_new(object, "machine", topology_json(topology));
    json_object_set_new(object, "threads", threads);
    json = json_dumps(object, JSON_INDENT(2));
    assert_non_null(json);
    accel_strbuf_printf(&text, "%s\n", json);
    free(json);
    json_decref(object);
    return accel_strbuf_detach(&text);
}

static void check_machine(const char *name)
{
    char *xml = test_path(name, "machine.xml");
    char *root = test_path(name, "root");
    char *expected_path = test_path(name, "expected.json");
    struct accel_topology_source source = {.xml = xml, .root = access(root, R_OK) == 0 ? root : NULL};
    struct accel_topology *topology = NULL;
    struct accel_error error = {0};
    char *expected = NULL;
    char *actual;
    char actual_path[256];
    assert_int_equal(accel_topology_load(&source, &topology, &error), ACCEL_OK);
    actual = describe(topology);
    snprintf(actual_path, sizeof(actual_path), "%s.json", name);
    assert_int_equal(accel_file_write(actual_path, actual, strlen(actual), 0644, &error), ACCEL_OK);
    assert_int_equal(accel_file_read(expected_path, 1 << 20, &expected, NULL, &error), ACCEL_OK);
    if (strcmp(actual, expected) != 0)
        fail_msg("%s: differs from %s", actual_path, expected_path);
    unlink(actual_path);
    accel_topology_free(topology);
    free(actual);
    free(expected);
    free(expected_path);
    free(root);
    free(xml);
}

static void recorded_machines(void **state)
{
    char *folder = test_path("", NULL);
    DIR *dir = opendir(folder);
    uint32_t seen = 0;
    (void)state;
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        /* Snapshots (NAME.json) are tests/unit/snapshot_hosts.c's. */
        if (strchr(entry->d_name, '.') != NULL)
            continue;
        check_machine(entry->d_name);
        seen++;
    }
    closedir(dir);
    free(folder);
    assert_true(seen >= 4);
}

static void live_machine(void **state)
{
    struct accel_topology_source source = {0};
    struct accel_topology *topology = NULL;
    struct accel_error error = {0};
    const struct accel_machine *machine;
    uint32_t usable = 0;
    (void)state;
    assert_int_equal(accel_topology_load(&source, &topology, &error), ACCEL_OK);
    machine = accel_topology_machine(topology);
    assert_true(machine->allowed_cpu_count >= 1);
    assert_true(machine->allowed_cpu_count <= machine->cpu_count);
    assert_true(machine->kind_count >= 1);
    for (uint32_t i = 0; i < machine->core_count; i++)
        usable += machine->cores[i].cpu_count;
    assert_int_equal(usable, machine->allowed_cpu_count);
    assert_non_null(machine->limits.memory_total.origin);
    assert_true(machine->memory_usable.bytes > 0);
    assert_true(machine->memory_usable.bytes <= machine->limits.memory_total.bytes);
    accel_topology_free(topology);
}

static uint32_t count_pci(const char *xml, uint32_t flags)
{
    struct accel_topology_source source = {.xml = xml, .flags = flags};
    struct accel_topology *topology = NULL;
    uint32_t count;
    assert_int_equal(accel_topology_load(&source, &topology, NULL), ACCEL_OK);
    count = accel_topology_machine(topology)->pci_count;
    accel_topology_free(topology);
    return count;
}

static void all_devices(void **state)
{
    char *server = test_path("server-groups-v2", "machine.xml");
    char *virtual = test_path("virtual-machine", "machine.xml");
    (void)state;
    assert_int_equal(count_pci(server, 0), 3);
    assert_int_equal(count_pci(server, ACCEL_TOPOLOGY_ALL_DEVICES), 4);
    assert_int_equal(count_pci(virtual, 0), 0);
    assert_int_equal(count_pci(virtual, ACCEL_TOPOLOGY_ALL_DEVICES), 5);
    free(server);
    free(virtual);
}

static void bad_recordings(void **state)
{
    static const char *const contents[] = {"", "hello\n", "<?xml version=\"1.0\"?>\n<topology version=\"2.0\">\n",
                                           "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM "
                                           "\"hwloc2.dtd\">\n<topology version=\"2.0\">\n</topology>\n"};
    struct accel_topology_source source = {.xml = "no-such-machine.xml"};
    struct accel_topology *topology = (struct accel_topology *)&source;
    struct accel_error error = {0};
    (void)state;
    assert_int_equal(accel_topology_load(&source, &topology, &error), ACCEL_E_NOT_FOUND);
    assert_null(topology);
    assert_non_null(strstr(error.text, "no-such-machine.xml"));
    source.xml = "bad-machine.xml";
    for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
        accel_error_clear(&error);
        assert_int_equal(accel_file_write(source.xml, contents[i], strlen(contents[i]), 0644, &error), ACCEL_OK);
        assert_int_equal(accel_topology_load(&source, &topology, &error), ACCEL_E_CORRUPT);
        assert_non_null(strstr(error.text, "bad-machine.xml"));
    }
    unlink(source.xml);
}

static void recordings_bind_nothing(void **state)
{
    char *xml = test_path("virtual-machine", "machine.xml");
    struct accel_topology_source source = {.xml = xml};
    struct accel_thread_policy policy = {.flags = 64};
    struct accel_thread_plan plan;
    struct accel_topology *topology = NULL;
    struct accel_error error = {0};
    (void)state;
    assert_int_equal(accel_topology_load(&source, &topology, &error), ACCEL_OK);
    assert_int_equal(accel_topology_bind(topology, 0, &error), ACCEL_E_UNSUPPORTED);
    accel_error_clear(&error);
    assert_int_equal(accel_topology_threads(topology, &policy, &plan, &error), ACCEL_E_INVALID);
    accel_thread_plan_free(&plan);
    accel_topology_free(topology);
    free(xml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_machines),
        cmocka_unit_test(live_machine),
        cmocka_unit_test(all_devices),
        cmocka_unit_test(bad_recordings),
        cmocka_unit_test(recordings_bind_nothing),
    };
    /* hwloc's own plugin objects have no place in this process, and some leak. */
    setenv("HWLOC_PLUGINS_PATH", "", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
