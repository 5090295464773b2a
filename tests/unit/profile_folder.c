/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tests/unit/profile_folder.h"

#include <ftw.h>
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

char *profile_folder_create(void)
{
    static const char *const below[] = {"clients", "devices", "models", "etc", "etc/accel", "user", "folder"};
    const char *temporary = getenv("TMPDIR");
    char path[512], *folder;
    snprintf(path, sizeof(path), "%s/accel-profile-XXXXXX", temporary ? temporary : "/tmp");
    assert_non_null(mkdtemp(path));
    folder = strdup(path);
    assert_non_null(folder);
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, below[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    return folder;
}

void profile_folder_write(const char *folder, const char *name, const char *text)
{
    char path[600];
    FILE *file;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
    assert_int_equal(chmod(path, 0644), 0);
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

void profile_folder_remove(char *folder)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(folder);
}
