/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with raised rights believes nothing of its caller's environment. The test, when root runs it, makes a
 * set-uid copy of itself, which a user without rights starts with every variable set; the copy is the one that checks.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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
#include "core/plugin/plugin.h"
#include "core/plugin/probe.h"
#include "tests/unit/remove_tree.h"

#define NOBODY 65534u
/* Exit statuses of the copy. */
#define NOT_ELEVATED 77
#define WRONG 1

/* ---- the copy ---- */

static int say(const char *what)
{
    printf("wrong: %s\n", what);
    fflush(stdout);
    return WRONG;
}

static char logged[16384];

static void take_log(void *user, uint32_t level, const char *room, const char *text)
{
    (void)user, (void)room;
    if (level <= ACCEL_LOG_WARN && strlen(logged) + strlen(text) + 2 < sizeof(logged))
        strcat(strcat(logged, text), "\n");
}

static int check_drivers(const char *folder)
{
    struct accel_log log = {take_log, NULL, ACCEL_LOG_DEBUG};
    struct accel_plugins_options options = {.flags = ACCEL_CONTEXT_NO_CACHE, .driver_path = folder, .log = &log};
    struct accel_plugins *plugins = NULL;
    int status = 0;
    if (accel_plugins_discover(&options, &plugins, NULL) != ACCEL_OK)
        return say("discover fails");
    for (uint32_t i = 0; i < accel_plugins_count(plugins); i++)
        if (strncmp(accel_plugins_get(plugins, i)->info.path, folder, strlen(folder)) == 0)
            status = say("a driver of the caller was looked at");
    accel_plugins_free(plugins);
    if (strstr(logged, "ACCEL_DRIVER_PATH") == NULL || strstr(logged, folder) == NULL)
        status = say("the log does not say what was ignored");
    return status;
}

static int check_elevated(const char *folder)
{
    static const char *const variables[] = {"ACCEL_DRIVER_PATH", "ACCEL_PROBE", "ACCEL_PROFILE_PATH",
                                            "XDG_CACHE_HOME",    "HOME",        "ACCEL_COMPILE_BYTES"};
    char *path = NULL;
    bool ignored = false;
    if (!accel_env_is_elevated())
        return NOT_ELEVATED;
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        if (accel_env_get(variables[i], &ignored) != NULL || !ignored)
            return say(variables[i]);
    if (accel_env_all()[0] != NULL)
        return say("the environment is listed");
    if (accel_file_user_folder(ACCEL_USER_CACHE, &path, NULL) != ACCEL_E_DENIED ||
        accel_file_user_folder(ACCEL_USER_DATA, &path, NULL) != ACCEL_E_DENIED ||
        accel_file_user_folder(ACCEL_USER_CONFIG, &path, NULL) != ACCEL_E_DENIED ||
        accel_file_user_folder(ACCEL_USER_STATE, &path, NULL) != ACCEL_E_DENIED)
        return say("folders of the user are used");
    if (accel_probe_program(NULL, &path, NULL) == ACCEL_OK && strcmp(path, "/tmp/accel-probe") == 0)
        return say("the probe is the caller's");
    free(path);
    return check_drivers(folder);
}

/* ---- the test ---- */

static void copy_file(const char *from, const char *to, mode_t mode)
{
    char *data = NULL;
    size_t bytes = 0;
    assert_int_equal(accel_file_read(from, 256u << 20, &data, &bytes, NULL), ACCEL_OK);
    assert_int_equal(accel_file_write(to, data, bytes, mode, NULL), ACCEL_OK);
    free(data);
}

static void start(const char *program, const char *folder)
{
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        _exit(99);
    setenv("ACCEL_DRIVER_PATH", folder, 1);
    setenv("ACCEL_PROBE", "/tmp/accel-probe", 1);
    setenv("ACCEL_PROFILE_PATH", folder, 1);
    setenv("ACCEL_COMPILE_BYTES", "1", 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("HOME", folder, 1);
    execl(program, program, folder, (char *)NULL);
    _exit(98);
}

static void a_program_with_raised_rights_believes_no_variable(void **state)
{
    char root[] = "/tmp/accel-elevated-XXXXXX", program[64], driver[80], own[512], mock[600];
    int status = 0;
    pid_t child;
    (void)state;
    if (geteuid() != 0) {
        print_message("SKIP: only root can make a set-uid program\n");
        skip();
    }
    assert_non_null(mkdtemp(root));
    assert_int_equal(chmod(root, 0755), 0);
    snprintf(program, sizeof(program), "%s/program", root);
    snprintf(driver, sizeof(driver), "%s/good.so", root);
    snprintf(own, sizeof(own), "/proc/%d/exe", (int)getpid());
    snprintf(mock, sizeof(mock), "%s/tests/mock/.libs/good.so", getenv("ACCEL_TEST_BUILDDIR"));
    own[readlink("/proc/self/exe", own, sizeof(own) - 1)] = '\0';
    copy_file(own, program, 04755);
    copy_file(mock, driver, 0755);
    child = fork();
    if (child == 0)
        start(program, root);
    assert_int_equal(waitpid(child, &status, 0), child);
    remove_tree(root);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_ELEVATED) {
        print_message("SKIP: this system gives set-uid programs no rights\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_program_with_raised_rights_believes_no_variable)};
    if (count == 2)
        return check_elevated(arguments[1]);
    return cmocka_run_group_tests_name("plugin_elevated", tests, NULL, NULL);
}
