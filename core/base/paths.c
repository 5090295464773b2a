/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/paths.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "core/base/file.h"

/* Returns the part of `path` below `prefix`, without its slash, or NULL if it is not below it. */
static const char *below(const char *path, const char *prefix)
{
    size_t length = strlen(prefix);
    while (length > 0 && prefix[length - 1] == '/')
        length--;
    if (strncmp(path, prefix, length) != 0 || path[length] != '/')
        return NULL;
    path += length;
    while (*path == '/')
        path++;
    return *path ? path : NULL;
}

char *accel_paths_relocate(const char *file, const char *prefix, const char *home, const char *folder)
{
    const char *rest = below(home, prefix);
    const char *wanted = below(folder, prefix);
    const char *slash = strrchr(file, '/');
    size_t have, tail;
    char *base, *path;
    if (rest == NULL || wanted == NULL || slash == NULL)
        return NULL;
    have = (size_t)(slash - file);
    tail = strlen(rest);
    if (have <= tail || file[have - tail - 1] != '/' || strncmp(file + have - tail, rest, tail) != 0)
        return NULL;
    base = strndup(file, have - tail - 1);
    path = base ? accel_file_join(*base ? base : "/", wanted) : NULL;
    free(base);
    return path;
}

/* Returns the file that contains this code, links resolved, or NULL. For a program dladdr returns argv[0], which the
 * caller chooses; /proc/self/exe is its file. */
static char *own_file(void)
{
    static const char anchor = 0;
    Dl_info own, program;
    if (dladdr(&anchor, &own) == 0 || own.dli_fname == NULL)
        return NULL;
    if (dladdr((const void *)getauxval(AT_PHDR), &program) != 0 && program.dli_fbase == own.dli_fbase)
        return realpath("/proc/self/exe", NULL);
    return realpath(own.dli_fname, NULL);
}

static bool is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

char *accel_paths_uninstalled(const char *file, const char *name)
{
    static const char libs[] = "/.libs";
    const char *slash = strrchr(file, '/');
    size_t length = slash ? (size_t)(slash - file) : 0;
    char *folder, *top, *path;
    if (length >= sizeof(libs) - 1 && memcmp(slash - (sizeof(libs) - 1), libs, sizeof(libs) - 1) == 0)
        length -= sizeof(libs) - 1;
    if (length == 0)
        return NULL;
    folder = strndup(file, length);
    top = folder ? accel_file_join(folder, "uninstalled") : NULL;
    path = top ? accel_file_join(top, name) : NULL;
    free(folder);
    free(top);
    return path;
}

static int32_t find(const char *configured, const char *name, char **out_path, struct accel_error *error)
{
    char *file = own_file();
    char *path = file ? accel_paths_relocate(file, ACCEL_PREFIX, ACCEL_LIBDIR, configured) : NULL;
    if (file != NULL && path == NULL)
        path = accel_paths_relocate(file, ACCEL_PREFIX, ACCEL_LIBEXECDIR, configured);
    if (file != NULL && path == NULL)
        path = accel_paths_uninstalled(file, name);
    free(file);
    if (path != NULL && !is_folder(path)) {
        free(path);
        path = NULL;
    }
    if (path == NULL)
        path = strdup(configured);
    *out_path = path;
    return path ? ACCEL_OK : accel_error_no_memory(error, "for the path %s", configured);
}

int32_t accel_paths_drivers(char **out_path, struct accel_error *error)
{
    return find(ACCEL_DRIVERSDIR, "drivers", out_path, error);
}

int32_t accel_paths_profiles(char **out_path, struct accel_error *error)
{
    return find(ACCEL_PROFILESDIR, "profiles", out_path, error);
}

int32_t accel_paths_libexec(char **out_path, struct accel_error *error)
{
    return find(ACCEL_LIBEXECDIR, "libexec", out_path, error);
}
