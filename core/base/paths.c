/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/paths.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file.h"

/* The part of `path` below `prefix`, without its slash, or NULL where it does not lie below. */
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

char *accel_paths_relocate(const char *library, const char *prefix, const char *libdir, const char *folder)
{
    const char *rest = below(libdir, prefix);
    const char *wanted = below(folder, prefix);
    const char *slash = strrchr(library, '/');
    size_t have, tail;
    char *base, *path;
    if (rest == NULL || wanted == NULL || slash == NULL)
        return NULL;
    have = (size_t)(slash - library);
    tail = strlen(rest);
    if (have <= tail || library[have - tail - 1] != '/' || strncmp(library + have - tail, rest, tail) != 0)
        return NULL;
    base = strndup(library, have - tail - 1);
    path = base ? accel_file_join(*base ? base : "/", wanted) : NULL;
    free(base);
    return path;
}

/* The file that holds this code, links resolved, or NULL. */
static char *own_file(void)
{
    static const char anchor = 0;
    Dl_info info;
    if (dladdr(&anchor, &info) == 0 || info.dli_fname == NULL)
        return NULL;
    return realpath(info.dli_fname, NULL);
}

static bool is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

char *accel_paths_uninstalled(const char *library, const char *name)
{
    static const char folder[] = "/.libs";
    const char *slash = strrchr(library, '/');
    size_t length = slash ? (size_t)(slash - library) : 0;
    char *path, *top;
    if (length < sizeof(folder) || memcmp(slash - (sizeof(folder) - 1), folder, sizeof(folder) - 1) != 0)
        return NULL;
    path = strndup(library, length - (sizeof(folder) - 1));
    top = path ? accel_file_join(path, "uninstalled") : NULL;
    free(path);
    path = top ? accel_file_join(top, name) : NULL;
    free(top);
    return path;
}

static int32_t find(const char *configured, const char *name, char **out_path, struct accel_error *error)
{
    char *library = own_file();
    char *path = library ? accel_paths_relocate(library, ACCEL_PREFIX, ACCEL_LIBDIR, configured) : NULL;
    if (library != NULL && path == NULL)
        path = accel_paths_uninstalled(library, name);
    free(library);
    if (path != NULL && !is_folder(path)) {
        free(path);
        path = NULL;
    }
    if (path == NULL)
        path = strdup(configured);
    *out_path = path;
    return path ? ACCEL_OK : accel_error_set(error, ACCEL_E_MEMORY, "no memory for the path %s", configured);
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
