/* SPDX-License-Identifier: Apache-2.0 */
/* Where an installation finds its folders after it was moved. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/base/paths.h"

struct example {
    const char *library, *prefix, *libdir, *folder, *found;
};

static const struct example examples[] = {
    {"/opt/a/lib/libaccel.so.0", "/usr", "/usr/lib", "/usr/share/accel", "/opt/a/share/accel"},
    {"/usr/lib/libaccel.so.0", "/usr/", "/usr//lib", "/usr/lib/accel/drivers-0", "/usr/lib/accel/drivers-0"},
    {"/a/lib/x86_64-linux-gnu/libaccel.so", "/usr", "/usr/lib/x86_64-linux-gnu", "/usr/share/p", "/a/share/p"},
    {"/lib/libaccel.so", "/usr", "/usr/lib", "/usr/share/p", "/share/p"},
    {"/b/build/.libs/libaccel.so", "/usr", "/usr/lib", "/usr/share/p", NULL},
    {"/opt/mylib/libaccel.so", "/usr", "/usr/lib", "/usr/share/p", NULL},
    {"/opt/lib/libaccel.so", "/usr", "/usr/lib", "/srv/p", NULL},
    {"/opt/lib/libaccel.so", "/usr", "/srv/lib", "/usr/share/p", NULL},
    {"/opt/lib/libaccel.so", "/usr", "/usrlocal/lib", "/usr/share/p", NULL},
    {"libaccel.so", "/usr", "/usr/lib", "/usr/share/p", NULL},
};

static void a_moved_tree_keeps_its_shape(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        const struct example *e = &examples[i];
        char *path = accel_paths_relocate(e->library, e->prefix, e->libdir, e->folder);
        if (e->found != NULL) {
            assert_non_null(path);
            assert_string_equal(path, e->found);
        } else {
            assert_null(path);
        }
        free(path);
    }
}

static void the_build_tree_is_known(void **state)
{
    static const char *const elsewhere[] = {"/.libs/libaccel.so", "libaccel.so", "/libaccel.so"};
    static const struct {
        const char *file, *found;
    } built[] = {
        {"/b/build/.libs/libaccel.so.0", "/b/build/uninstalled/drivers"},
        {"/b/build/accelctl-doctor", "/b/build/uninstalled/drivers"},
        {"/b/x.libs/libaccel.so", "/b/x.libs/uninstalled/drivers"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(built) / sizeof(built[0]); i++) {
        char *path = accel_paths_uninstalled(built[i].file, "drivers");
        assert_string_equal(path, built[i].found);
        free(path);
    }
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
        assert_null(accel_paths_uninstalled(elsewhere[i], "drivers"));
}

/* A test program is not an installed library, so the configured folders are what it gets. */
static void outside_of_a_tree_the_configured_folders_hold(void **state)
{
    char *path = NULL;
    (void)state;
    assert_int_equal(accel_paths_drivers(&path, NULL), ACCEL_OK);
    assert_string_equal(path, ACCEL_DRIVERSDIR);
    free(path);
    assert_int_equal(accel_paths_profiles(&path, NULL), ACCEL_OK);
    assert_string_equal(path, ACCEL_PROFILESDIR);
    free(path);
    assert_int_equal(accel_paths_libexec(&path, NULL), ACCEL_OK);
    assert_string_equal(path, ACCEL_LIBEXECDIR);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_moved_tree_keeps_its_shape),
        cmocka_unit_test(the_build_tree_is_known),
        cmocka_unit_test(outside_of_a_tree_the_configured_folders_hold),
    };
    return cmocka_run_group_tests_name("base_paths", tests, NULL, NULL);
}
