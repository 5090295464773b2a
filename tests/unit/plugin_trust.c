/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are looked for, and which of them may be loaded. */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/plugin/search.h"
#include "core/plugin/trust.h"
#include "tests/unit/remove_tree.h"

/* ---- the rule, on facts that need no such files ---- */

struct rule_case {
    mode_t mode;
    uid_t owner;
    bool elevated, is_file;
    const char *fault, *remedy; /* NULL: trusted */
};

/* The caller is user 1000. */
static const struct rule_case rule_cases[] = {
    {S_IFREG | 0644, 1000, false, true, NULL, NULL},
    {S_IFREG | 0755, 0, false, true, NULL, NULL},
    {S_IFREG | 0644, 0, true, true, NULL, NULL},
    {S_IFREG | 0644, 1000, true, true, "owned by user 1000, not by root", "chown 0 '/x'"},
    {S_IFREG | 0644, 1001, false, true, "owned by user 1001, neither root nor user 1000", "chown 1000 '/x'"},
    {S_IFREG | 0664, 1000, false, true, "it is writable by its group (mode 0664)", "chmod go-w '/x'"},
    {S_IFREG | 0646, 0, false, true, "it is writable by every user (mode 0646)", "chmod go-w '/x'"},
    /* Sticky means nothing on a file. */
    {S_IFREG | 01666, 0, false, true, "it is writable by every user", "chmod go-w '/x'"},
    {S_IFDIR | 0755, 0, false, true, "not a regular file", ""},
    {S_IFIFO | 0600, 1000, false, true, "not a regular file", ""},
    {S_IFDIR | 0755, 0, false, false, NULL, NULL},
    {S_IFDIR | 01777, 0, false, false, NULL, NULL},
    {S_IFDIR | 01777, 1001, false, false, "owned by user 1001", "chown"},
    {S_IFDIR | 0777, 0, false, false, "it is writable by every user (mode 0777)", "chmod go-w '/x'"},
    {S_IFDIR | 0775, 1000, false, false, "it is writable by its group", "chmod go-w '/x'"},
    {S_IFREG | 0644, 0, false, false, "not a folder", ""},
};

static void the_rule_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rule_cases) / sizeof(rule_cases[0]); i++) {
        const struct rule_case *c = &rule_cases[i];
        struct accel_trust trust = {1000, c->elevated};
        struct stat facts = {.st_mode = c->mode, .st_uid = c->owner};
        struct accel_error error = {0};
        int32_t code = accel_trust_entry(&trust, "/x", &facts, c->is_file, &error);
        assert_int_equal(code, c->fault ? ACCEL_E_DENIED : ACCEL_OK);
        assert_non_null(strstr(error.text, c->fault ? c->fault : ""));
        assert_non_null(strstr(error.remedy, c->remedy ? c->remedy : ""));
    }
}

/* A name with a quote is no part of a command that a user may copy. */
static void quotes_end_no_command(void **state)
{
    const struct accel_trust trust = {1000, false};
    const struct stat facts = {.st_mode = S_IFREG | 0666, .st_uid = 1000};
    struct accel_error error = {0};

    (void)state;
    assert_int_equal(accel_trust_entry(&trust, "/x'; y '", &facts, true, &error), ACCEL_E_DENIED);
    assert_string_equal(error.remedy, "chmod go-w, for this path");
}

/* ---- on real folders ---- */

struct place {
    char root[64];
    char log[8192];
};

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    snprintf(place->root, sizeof(place->root), "/tmp/accel-trust-XXXXXX");
    assert_non_null(mkdtemp(place->root));
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

static char *below(const struct place *place, const char *name)
{
    char *path = accel_file_join(place->root, name);
    assert_non_null(path);
    return path;
}

static void make_file(const struct place *place, const char *name)
{
    char *path = below(place, name);
    assert_int_equal(accel_file_write(path, "x", 1, 0644, NULL), ACCEL_OK);
    free(path);
}

static void make_folder(const struct place *place, const char *name, mode_t mode)
{
    char *path = below(place, name);
    assert_int_equal(accel_file_make_folders(path, 0755, NULL), ACCEL_OK);
    assert_int_equal(chmod(path, mode), 0);
    free(path);
}

static int32_t check(const struct place *place, const char *name, char **out_path, struct accel_error *error)
{
    struct accel_trust trust = {(uint32_t)geteuid(), false};
    struct stat facts;
    char *path = below(place, name);
    int32_t code = accel_trust_check(&trust, path, out_path, &facts, error);
    free(path);
    return code;
}

static void every_folder_above_counts(void **state)
{
    struct place *place = *state;
    struct accel_error error = {0};
    char *path = NULL;
    char *target = below(place, "open/below/a.so");
    char *link = below(place, "link.so");
    char *loop = below(place, "loop.so");
    make_folder(place, "open/below", 0755);
    make_file(place, "open/below/a.so");
    assert_int_equal(check(place, "open/below/a.so", &path, &error), ACCEL_OK);
    free(path);
    make_folder(place, "open", 0777);
    assert_int_equal(check(place, "open/below/a.so", &path, &error), ACCEL_E_DENIED);
    assert_non_null(strstr(error.text, "/open: not trusted"));
    free(path);
    /* A link in a good place does not make what it names better. */
    assert_int_equal(symlink(target, link), 0);
    memset(&error, 0, sizeof(error));
    assert_int_equal(check(place, "link.so", &path, &error), ACCEL_E_DENIED);
    assert_non_null(strstr(path, "open/below/a.so"));
    free(path);
    make_folder(place, "open", 0755);
    memset(&error, 0, sizeof(error));
    assert_int_equal(check(place, "link.so", &path, &error), ACCEL_OK);
    free(path);
    assert_int_equal(check(place, "nothing.so", &path, &error), ACCEL_E_NOT_FOUND);
    assert_int_equal(error.origin, ACCEL_FROM_FILE);
    assert_null(path);
    assert_int_equal(symlink(loop, loop), 0);
    memset(&error, 0, sizeof(error));
    assert_true(check(place, "loop.so", &path, &error) < 0);
    assert_non_null(strstr(error.text, "loop.so: cannot resolve: "));
    assert_int_equal(error.native, ELOOP);
    assert_int_equal(error.origin, ACCEL_FROM_SYSTEM);
    memset(&error, 0, sizeof(error));
    assert_int_equal(check(place, "open", &path, &error), ACCEL_E_DENIED);
    assert_non_null(strstr(error.text, "not a regular file"));
    free(path);
    free(loop);
    free(link);
    free(target);
}

static void take_log(void *user, uint32_t level, const char *room, const char *text)
{
    struct place *place = user;
    (void)level;
    (void)room;
    strncat(place->log, text, sizeof(place->log) - strlen(place->log) - 2);
    strcat(place->log, "\n");
}

static void the_order_is_that_of_places_and_names(void **state)
{
    static const char *const expected[] = {"named/z.so", "one/a.so.1", "one/readme", "one/a.so",  "one/b.so",
                                           "two/a.so",   "lost.so",    "lost.so.2",  "user/u.so", "system/s.so"};
    struct place *place = *state;
    struct accel_log log = {take_log, place, ACCEL_LOG_DEBUG};
    struct accel_candidates found;
    struct accel_arena arena = {0};
    char driver_path[512], variable[512];
    struct accel_search_places places = {driver_path, variable, below(place, "user"), below(place, "system")};
    static const char *const files[] = {"named/z.so", "one/b.so", "one/a.so", "one/.hidden.so", "one/readme",
                                        "one/a.so.1", "one/.so",  "two/a.so", "user/u.so",      "system/s.so"};
    static const char *const folders[] = {"named", "one", "two", "user", "system"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        make_folder(place, folders[i], 0755);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        make_file(place, files[i]);
    snprintf(driver_path, sizeof(driver_path), "%s/named/z.so:%s/one/a.so.1:%s/one/readme:.:one:%s/gone:%s/one",
             place->root, place->root, place->root, place->root, place->root);
    snprintf(variable, sizeof(variable), "::%s/two/:%s/lost.so:%s/lost.so.2", place->root, place->root, place->root);
    assert_int_equal(accel_search_run(&places, &log, &arena, &found, NULL), ACCEL_OK);
    /* A file that was named is a candidate whatever it is called, and though it is not there, so that it gets a record;
     * a folder is not. */
    assert_int_equal(found.count, sizeof(expected) / sizeof(expected[0]));
    for (uint32_t i = 0; i < found.count; i++) {
        size_t begin = strlen(found.list[i].path) - strlen(expected[i]);
        assert_string_equal(found.list[i].path + begin, expected[i]);
    }
    assert_string_equal(found.list[8].place, "user");
    assert_non_null(strstr(place->log, "entry=\".\" place=driver_path ignored=\"not absolute\""));
    assert_non_null(strstr(place->log, "entry=\"one\" place=driver_path ignored=\"not absolute\""));
    assert_non_null(strstr(place->log, "gone"));
    accel_arena_free(&arena);
    free(places.user);
    free(places.system);
}

/* A program with raised rights, as far as a test can be one. */
static void with_raised_rights_only_the_installed_folder_is_searched(void **state)
{
    struct place *place = *state;
    struct accel_log log = {take_log, place, ACCEL_LOG_WARN};
    struct accel_search_places places = {"/api", "/variable", NULL, NULL};
    accel_search_restrict(&places, true, &log);
    assert_null(places.driver_path);
    assert_null(places.variable);
    assert_non_null(strstr(place->log, "ACCEL_DRIVER_PATH"));
    assert_non_null(strstr(place->log, "driver_path=\"/api\""));
    places = (struct accel_search_places){"/api", "/variable", NULL, NULL};
    accel_search_restrict(&places, false, &log);
    assert_string_equal(places.driver_path, "/api");
    assert_string_equal(places.variable, "/variable");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_holds),
        cmocka_unit_test(quotes_end_no_command),
        cmocka_unit_test_setup_teardown(every_folder_above_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_order_is_that_of_places_and_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(with_raised_rights_only_the_installed_folder_is_searched, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("plugin_trust", tests, NULL, NULL);
}
