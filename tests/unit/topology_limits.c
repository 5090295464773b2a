/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of control groups, read from hand-made trees: both versions, nested groups, containers, nonsense. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/topology/limits.h"

#define MOST_FILES 12

struct tree_case {
    const char *name;
    const char *files[MOST_FILES][2]; /* path, text */
    uint64_t quota;                   /* 0: none */
    uint64_t period;
    const char *quota_origin;
    uint64_t limit; /* 0 with a NULL origin: none */
    const char *limit_origin;
    uint64_t room;
    const char *room_origin;
};

#define GROUPS "/proc/self/cgroup"
#define MOUNTS "/proc/self/mountinfo"
#define MOUNT_V2 "30 22 0:26 / /cg rw - cgroup2 none rw\n"

static const struct tree_case cases[] = {
    {.name = "nothing at all", .files = {{"/proc/version", "x"}}},
    {.name = "no limits",
     .files = {{GROUPS, "0::/a\n"},
               {MOUNTS, MOUNT_V2},
               {"/cg/a/cpu.max", "max 100000\n"},
               {"/cg/a/memory.max", "max\n"},
               {"/cg/a/memory.high", "max\n"}}},
    {.name = "one and a half processors",
     .files = {{GROUPS, "0::/a\n"}, {MOUNTS, MOUNT_V2}, {"/cg/a/cpu.max", "150000 100000\n"}},
     .quota = 150000,
     .period = 100000,
     .quota_origin = "/cg/a/cpu.max"},
    {.name = "the parent is tighter, in another period",
     .files = {{GROUPS, "0::/a/b/c\n"},
               {MOUNTS, MOUNT_V2},
               {"/cg/a/b/c/cpu.max", "150000 100000\n"},
               {"/cg/a/cpu.max", "10000 10000\n"},
               {"/cg/cpu.max", "400000 100000\n"}},
     .quota = 10000,
     .period = 10000,
     .quota_origin = "/cg/a/cpu.max"},
    {.name = "high below max, and a parent that is nearly full",
     .files = {{GROUPS, "0::/a/b\n"},
               {MOUNTS, MOUNT_V2},
               {"/cg/a/b/memory.max", "1000\n"},
               {"/cg/a/b/memory.high", "900\n"},
               {"/cg/a/b/memory.current", "500\n"},
               {"/cg/a/b/memory.stat", "anon 100\ninactive_file 300\nfile 1\n"},
               {"/cg/a/memory.max", "5000\n"},
               {"/cg/a/memory.current", "4990\n"}},
     .limit = 900,
     .limit_origin = "/cg/a/b/memory.high",
     .room = 10,
     .room_origin = "/cg/a/memory.max"},
    {.name = "used beyond the limit leaves nothing",
     .files = {{GROUPS, "0::/\n"}, {MOUNTS, MOUNT_V2}, {"/cg/memory.max", "100\n"}, {"/cg/memory.current", "120\n"}},
     .limit = 100,
     .limit_origin = "/cg/memory.max",
     .room = 0,
     .room_origin = "/cg/memory.max"},
    {.name = "version 1, nested, inside a container",
     .files = {{GROUPS, "7:memory:/docker/x\n3:cpuset,cpu,cpuacct:/docker/x\n0::/other\n"},
               {MOUNTS, "1 0 0:1 / / rw - ext4 none rw\n"
                        "2 1 0:2 /docker/x /v1\\040cpu rw master:1 - cgroup none rw,cpuset,cpu,cpuacct\n"
                        "3 1 0:3 / /v1mem rw - cgroup none rw,memory\n"},
               {"/v1 cpu/cpu.cfs_quota_us", "50000\n"},
               {"/v1 cpu/cpu.cfs_period_us", "100000\n"},
               {"/v1mem/docker/x/memory.limit_in_bytes", "4096\n"},
               {"/v1mem/docker/x/memory.usage_in_bytes", "2048\n"},
               {"/v1mem/docker/x/memory.stat", "inactive_file 1\ntotal_inactive_file 1024\n"},
               {"/v1mem/memory.limit_in_bytes", "9223372036854771712\n"}},
     .quota = 50000,
     .period = 100000,
     .quota_origin = "/v1 cpu/cpu.cfs_quota_us",
     .limit = 4096,
     .limit_origin = "/v1mem/docker/x/memory.limit_in_bytes",
     .room = 3072,
     .room_origin = "/v1mem/docker/x/memory.limit_in_bytes"},
    {.name = "version 1 without quota, below a parent with one",
     .files = {{GROUPS, "3:cpu:/a/b\n"},
               {MOUNTS, "2 1 0:2 / /v1 rw - cgroup none rw,cpu\n"},
               {"/v1/a/b/cpu.cfs_quota_us", "-1\n"},
               {"/v1/a/b/cpu.cfs_period_us", "100000\n"},
               {"/v1/a/cpu.cfs_quota_us", "300000\n"},
               {"/v1/a/cpu.cfs_period_us", "100000\n"}},
     .quota = 300000,
     .period = 100000,
     .quota_origin = "/v1/a/cpu.cfs_quota_us"},
    {.name = "a path outside of the mount: the mount point counts",
     .files = {{GROUPS, "0::/../../else\n"}, {MOUNTS, MOUNT_V2}, {"/cg/cpu.max", "1000 1000\n"}},
     .quota = 1000,
     .period = 1000,
     .quota_origin = "/cg/cpu.max"},
    {.name = "nonsense is no limit",
     .files = {{GROUPS, "nonsense\n::\n0:\n0::/a\n"},
               {MOUNTS, "short\n2 1 0:2 /\n1 2 3 4 5 - cgroup2\n \n - \n"
                        "30 22 0:26 / /cg rw - cgroup2 none rw"},
               {"/cg/a/cpu.max", "100000\n"},
               {"/cg/cpu.max", "99999999999999999999999 100000\n"},
               {"/cg/a/memory.max", "12x\n"},
               {"/cg/a/memory.high", "-5\n"},
               {"/cg/memory.max", ""},
               {"/proc/meminfo", "MemTotal\nMemAvailable: none kB\n"}}},
    {.name = "a quota or period of zero is no limit",
     .files = {{GROUPS, "0::/a\n"}, {MOUNTS, MOUNT_V2}, {"/cg/a/cpu.max", "0 100000\n"}, {"/cg/cpu.max", "1000 0\n"}}},
};

static void make_tree(const char *root, const struct tree_case *tree)
{
    struct accel_error error = {0};
    for (int i = 0; i < MOST_FILES && tree->files[i][0]; i++) {
        char *path = accel_file_join(root, tree->files[i][0]);
        char *slash = strrchr(path, '/');
        *slash = '\0';
        assert_int_equal(accel_file_make_folders(path, 0700, &error), ACCEL_OK);
        *slash = '/';
        assert_int_equal(accel_file_write(path, tree->files[i][1], strlen(tree->files[i][1]), 0600, &error), ACCEL_OK);
        free(path);
    }
}

static void check_text(const char *actual, const char *expected)
{
    if (expected == NULL) {
        assert_null(actual);
        return;
    }
    assert_non_null(actual);
    assert_string_equal(actual, expected);
}

static void check_tree(const struct tree_case *tree)
{
    struct accel_host_limits limits;
    struct accel_arena arena = {0};
    struct accel_error error = {0};
    char root[] = "/tmp/accel-test-XXXXXX";
    char command[64];
    print_message("%s\n", tree->name);
    assert_non_null(mkdtemp(root));
    make_tree(root, tree);
    assert_int_equal(accel_limits_read(root, &arena, &limits, &error), ACCEL_OK);
    snprintf(command, sizeof(command), "rm -r '%s'", root);
    assert_int_equal(system(command), 0);
    check_text(limits.cpu.origin, tree->quota_origin);
    assert_int_equal(limits.cpu.quota, tree->quota);
    assert_int_equal(limits.cpu.period, tree->period);
    check_text(limits.memory_limit.origin, tree->limit_origin);
    assert_int_equal(limits.memory_limit.bytes, tree->limit);
    check_text(limits.memory_headroom.origin, tree->room_origin);
    assert_int_equal(limits.memory_headroom.bytes, tree->room);
    assert_null(limits.memory_total.origin);
    assert_null(limits.cpus);
    accel_arena_free(&arena);
}

static void trees(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_tree(&cases[i]);
}

static void live_system(void **state)
{
    struct accel_host_limits limits;
    struct accel_arena arena = {0};
    struct accel_error error = {0};
    (void)state;
    assert_int_equal(accel_limits_read("", &arena, &limits, &error), ACCEL_OK);
    assert_string_equal(limits.memory_total.origin, "/proc/meminfo MemTotal");
    assert_true(limits.memory_total.bytes >= limits.memory_available.bytes);
    assert_non_null(limits.cpus);
    accel_arena_free(&arena);
}

static void no_memory_is_told(void **state)
{
    struct accel_host_limits limits;
    struct accel_arena arena;
    struct accel_error error = {0};
    (void)state;
    accel_arena_init(&arena, 1);
    assert_int_equal(accel_limits_read("", &arena, &limits, &error), ACCEL_E_MEMORY);
    accel_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees),
        cmocka_unit_test(live_system),
        cmocka_unit_test(no_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
