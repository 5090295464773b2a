/* SPDX-License-Identifier: Apache-2.0 */
/* Files, folders of the user, the environment and the fork guard. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/env.h"
#include "core/base/file.h"
#include "core/base/fork.h"
#include "tests/unit/remove_tree.h"

static char folder[64];

static char *in_folder(const char *name)
{
    char *path = accel_file_join(folder, name);
    assert_non_null(path);
    return path;
}

static int enter(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/accel-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    remove_tree(folder);
    return 0;
}

static uint32_t count_entries(const char *path)
{
    DIR *dir = opendir(path);
    uint32_t count = 0;
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void write_and_read(void **state)
{
    struct accel_error error = {0};
    char *path = in_folder("a");
    struct stat facts;
    char *data;
    size_t bytes;
    (void)state;
    assert_int_equal(accel_file_write(path, "one\0two", 7, 0600, &error), ACCEL_OK);
    assert_int_equal(accel_file_write(path, "three\0four", 10, 0600, &error), ACCEL_OK);
    assert_int_equal(accel_file_read(path, 10, &data, &bytes, &error), ACCEL_OK);
    assert_int_equal(bytes, 10);
    assert_memory_equal(data, "three\0four", 11);
    free(data);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0600);
    assert_int_equal(count_entries(folder), 1);
    assert_int_equal(accel_file_read(path, 9, &data, &bytes, &error), ACCEL_E_LIMIT);
    assert_null(data);
    assert_non_null(strstr(error.text, path));
    assert_non_null(strstr(error.text, "9 bytes"));
    free(path);
}

/* The umask decides as it does for any file; of two files that are written at a time neither takes the other's name. */
static void umask_counts(void **state)
{
    struct accel_error error = {0};
    char *path = in_folder("masked");
    mode_t before = umask(027);
    struct stat facts;
    (void)state;
    assert_int_equal(accel_file_write(path, "x", 1, 0666, &error), ACCEL_OK);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0640);
    assert_int_equal(umask(before), 027);
    assert_int_equal(count_entries(folder), 1);
    free(path);
}

static void read_refuses(void **state)
{
    struct accel_error error = {0};
    char *missing = in_folder("missing");
    char *pipe = in_folder("pipe");
    char *loop = in_folder("loop");
    char *data;
    (void)state;
    assert_int_equal(accel_file_read(missing, 10, &data, NULL, &error), ACCEL_E_NOT_FOUND);
    assert_int_equal(error.native, ENOENT);
    accel_error_clear(&error);
    assert_int_equal(accel_file_read(folder, 10, &data, NULL, &error), ACCEL_E_INVALID);
    accel_error_clear(&error);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(accel_file_read(pipe, 10, &data, NULL, &error), ACCEL_E_INVALID);
    accel_error_clear(&error);
    assert_int_equal(symlink(loop, loop), 0);
    assert_int_equal(accel_file_read(loop, 10, &data, NULL, &error), ACCEL_E_IO);
    assert_int_equal(error.native, ELOOP);
    accel_error_clear(&error);
    /* A file of /proc says that it is empty, and is not. */
    assert_int_equal(accel_file_read("/proc/self/status", 1 << 16, &data, NULL, &error), ACCEL_OK);
    assert_non_null(strstr(data, "Pid:"));
    free(data);
    assert_int_equal(accel_file_read("/proc/self/status", 100, &data, NULL, NULL), ACCEL_E_LIMIT);
    free(missing);
    free(pipe);
    free(loop);
}

static void write_fails_cleanly(void **state)
{
    struct accel_error error = {0};
    char *nowhere = in_folder("no/such/file");
    char *blocked = in_folder("blocked");
    uint32_t before;
    (void)state;
    assert_int_equal(accel_file_write(nowhere, "x", 1, 0600, &error), ACCEL_E_NOT_FOUND);
    accel_error_clear(&error);
    assert_int_equal(mkdir(blocked, 0700), 0);
    before = count_entries(folder);
    assert_int_equal(accel_file_write(blocked, "x", 1, 0600, &error), ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "not a regular file"));
    assert_int_equal(accel_file_write("", "x", 1, 0600, NULL), ACCEL_E_INVALID);
    assert_int_equal(rmdir(blocked), 0);
    assert_int_equal(symlink("/dev/null", blocked), 0);
    assert_int_equal(accel_file_write(blocked, "x", 1, 0600, NULL), ACCEL_E_INVALID);
    unlink(blocked);
    assert_int_equal(mkfifo(blocked, 0600), 0);
    assert_int_equal(accel_file_write(blocked, "x", 1, 0600, NULL), ACCEL_E_INVALID);
    assert_int_equal(count_entries(folder), before);
    free(nowhere);
    free(blocked);
}

static void make_folders(void **state)
{
    struct accel_error error = {0};
    char *deep = in_folder("x/y//z");
    char *file = in_folder("x/file");
    char *under = in_folder("x/file/more");
    struct stat facts;
    (void)state;
    assert_int_equal(accel_file_make_folders(deep, 0700, &error), ACCEL_OK);
    assert_int_equal(accel_file_make_folders(deep, 0700, &error), ACCEL_OK);
    assert_int_equal(stat(deep, &facts), 0);
    assert_true(S_ISDIR(facts.st_mode));
    assert_int_equal(accel_file_write(file, "", 0, 0600, &error), ACCEL_OK);
    assert_int_equal(accel_file_make_folders(under, 0700, &error), ACCEL_E_NOT_FOUND);
    assert_int_equal(error.native, ENOTDIR);
    free(deep);
    free(file);
    free(under);
}

static void join_paths(void **state)
{
    static const char *const cases[][3] = {
        {"/a", "b", "/a/b"}, {"/a/", "/b", "/a/b"}, {"/", "b", "/b"}, {"", "b", "/b"}, {"a//", "b/c", "a/b/c"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *path = accel_file_join(cases[i][0], cases[i][1]);
        assert_string_equal(path, cases[i][2]);
        free(path);
    }
}

static void user_folders(void **state)
{
    struct accel_error error = {0};
    char *path;
    (void)state;
    setenv("HOME", "/home/someone", 1);
    setenv("XDG_CACHE_HOME", "/var/tmp/cache", 1);
    setenv("XDG_DATA_HOME", "relative", 1);
    assert_int_equal(accel_file_user_folder(ACCEL_USER_CACHE, &path, &error), ACCEL_OK);
    assert_string_equal(path, "/var/tmp/cache/accel");
    free(path);
    assert_int_equal(accel_file_user_folder(ACCEL_USER_DATA, &path, &error), ACCEL_OK);
    assert_string_equal(path, "/home/someone/.local/share/accel");
    free(path);
    unsetenv("XDG_STATE_HOME");
    assert_int_equal(accel_file_user_folder(ACCEL_USER_STATE, &path, &error), ACCEL_OK);
    assert_string_equal(path, "/home/someone/.local/state/accel");
    free(path);
    setenv("XDG_DATA_HOME", "", 1);
    unsetenv("HOME");
    assert_int_equal(accel_file_user_folder(ACCEL_USER_DATA, &path, &error), ACCEL_E_NOT_FOUND);
    assert_null(path);
    assert_non_null(strstr(error.remedy, "XDG_DATA_HOME"));
}

static void environment(void **state)
{
    bool ignored = true;
    (void)state;
    setenv("ACCEL_TEST_VARIABLE", "value", 1);
    assert_string_equal(accel_env_get("ACCEL_TEST_VARIABLE", &ignored), "value");
    assert_false(ignored);
    setenv("ACCEL_TEST_VARIABLE", "", 1);
    assert_null(accel_env_get("ACCEL_TEST_VARIABLE", &ignored));
    assert_false(ignored);
    unsetenv("ACCEL_TEST_VARIABLE");
    assert_null(accel_env_get("ACCEL_TEST_VARIABLE", NULL));
    assert_false(accel_env_is_elevated());
}

static int exit_of_child(const struct accel_fork_guard *guard)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(accel_fork_guard_is_child(guard) ? 42 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void fork_guard(void **state)
{
    struct accel_fork_guard guard = {0};
    struct accel_fork_guard plain = {.process = getpid()};
    (void)state;
    accel_fork_guard_open(&guard);
    assert_false(accel_fork_guard_is_child(&guard));
    assert_int_equal(exit_of_child(&guard), 42);
    assert_false(accel_fork_guard_is_child(&guard));
    accel_fork_guard_close(&guard);
    /* The form for kernels that cannot wipe a page. */
    assert_false(accel_fork_guard_is_child(&plain));
    assert_int_equal(exit_of_child(&plain), 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(write_and_read, enter, leave),
        cmocka_unit_test_setup_teardown(umask_counts, enter, leave),
        cmocka_unit_test_setup_teardown(read_refuses, enter, leave),
        cmocka_unit_test_setup_teardown(write_fails_cleanly, enter, leave),
        cmocka_unit_test_setup_teardown(make_folders, enter, leave),
        cmocka_unit_test(join_paths),
        cmocka_unit_test(user_folders),
        cmocka_unit_test(environment),
        cmocka_unit_test(fork_guard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
