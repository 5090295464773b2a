/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/plugin/load.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <ltdl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/base/error.h"
#include "core/plugin/import_driver.h"

/* Global like the state that it protects: libltdl has one list of modules and one error text per process. */
static pthread_mutex_t ltdl_mutex = PTHREAD_MUTEX_INITIALIZER;

void accel_plugins_lock(void)
{
    pthread_mutex_lock(&ltdl_mutex);
}

void accel_plugins_unlock(void)
{
    pthread_mutex_unlock(&ltdl_mutex);
}

/* Reports the last failure of libltdl, whose text belongs to libltdl and is valid only under the lock. */
static int32_t fail_ltdl(struct accel_error *error, const char *path, const char *what)
{
    const char *text = lt_dlerror();
    return accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_NOT_FOUND, "%s: %s: %s", path, what,
                          text ? text : "no reason given");
}

static bool is_limited(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static int32_t fail_loader(struct accel_error *error, const char *path, const char *text, int native)
{
    size_t bytes = strlen(path);
    if (native == ENOMEM) {
        accel_error_set(error, ACCEL_E_MEMORY, "%s: no memory to load it and its libraries", path);
        return accel_error_advise(error, ACCEL_E_MEMORY, "free memory, or let the process have more (ulimit -v)");
    }
    /* Skips the path at the beginning of the reason. */
    if (strncmp(text, path, bytes) == 0 && text[bytes] == ':')
        text += bytes + 1 + strspn(text + bytes + 1, " ");
    accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_NOT_FOUND, "%s: cannot be loaded: %s", path, text);
    /* The loader does not report why it could not map a file. */
    return accel_error_advise(error, ACCEL_E_NOT_FOUND, "install what is missing, or another build of this driver%s",
                              is_limited() ? ", or let the process have more memory (ulimit -v)" : "");
}

/* Calls the loader directly, since libltdl reports "file not found" for every failure. The loader's error names
 * the missing library or symbol; if the loader succeeds now, so does libltdl. */
static int32_t open_again(const char *path, lt_dladvise advise, lt_dlhandle *out_module, struct accel_error *error)
{
    void *file;
    int native;
    errno = 0;
    file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    native = errno;
    if (file == NULL)
        return fail_loader(error, path, dlerror(), native);
    *out_module = lt_dlopenadvise(path, advise);
    dlclose(file);
    return *out_module == NULL ? fail_ltdl(error, path, "cannot be loaded") : ACCEL_OK;
}

/* Returns whether the symbol lies in the file `path` and not in a library that it loaded. */
static bool lies_in(const void *symbol, const char *path)
{
    struct link_map *map = NULL;
    struct stat wanted, found;
    Dl_info info;
    if (dladdr1(symbol, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL)
        return false;
    return stat(path, &wanted) == 0 && stat(map->l_name, &found) == 0 && wanted.st_dev == found.st_dev &&
           wanted.st_ino == found.st_ino;
}

/* Requires the lock and an initialized libltdl. */
static int32_t open_module(const char *path, lt_dlhandle *out_module, struct accel_error *error)
{
    lt_dladvise advise = NULL;
    int32_t code = ACCEL_OK;
    if (lt_dladvise_init(&advise) != 0)
        return fail_ltdl(error, path, "cannot be loaded");
    if (lt_dladvise_local(&advise) != 0 || lt_dladvise_resident(&advise) != 0)
        code = fail_ltdl(error, path, "cannot be loaded");
    if (code == ACCEL_OK) {
        *out_module = lt_dlopenadvise(path, advise);
        if (*out_module == NULL)
            code = open_again(path, advise, out_module, error);
    }
    lt_dladvise_destroy(&advise);
    return code;
}

static int32_t find_entry(const char *path, lt_dlhandle module, accel_driver_query_function *out_query,
                          struct accel_error *error)
{
    void *symbol = lt_dlsym(module, ACCEL_DRIVER_SYMBOL);
    if (symbol == NULL)
        return fail_ltdl(error, path, "no entry " ACCEL_DRIVER_SYMBOL);
    if (!lies_in(symbol, path))
        return accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_NOT_FOUND, "%s: its entry %s lies in another file",
                              path, ACCEL_DRIVER_SYMBOL);
    /* ISO C has no conversion from an object to a function; POSIX promises that the bits are the same. */
    memcpy(out_query, &symbol, sizeof(symbol));
    return ACCEL_OK;
}

int32_t accel_load_open(const char *path, accel_driver_query_function *out_query, struct accel_error *error)
{
    lt_dlhandle module = NULL;
    int32_t code;
    *out_query = NULL;
    accel_plugins_lock();
    if (lt_dlinit() != 0) {
        code = fail_ltdl(error, path, "libltdl does not start");
        accel_plugins_unlock();
        return code;
    }
    code = open_module(path, &module, error);
    if (code == ACCEL_OK)
        code = find_entry(path, module, out_query, error);
    /* A resident module keeps libltdl in use forever: the last lt_dlexit would leak its memory. */
    if (module == NULL)
        lt_dlexit();
    accel_plugins_unlock();
    return code;
}

int32_t accel_load_query(const char *path, accel_driver_query_function query, const struct accel_plugin_note *note,
                         struct accel_arena *arena, const struct accel_driver **out_driver, struct accel_error *error)
{
    const struct accel_driver *given = NULL;
    struct accel_error own = {0};
    int32_t code = query(ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR, &given, &own);
    *out_driver = NULL;
    if (code > 0)
        return accel_error_by(error, ACCEL_FROM_DRIVER, ACCEL_E_INVALID,
                              "%s: bad facts: its query returned the code %d", path, code);
    if (code != ACCEL_OK) {
        own.text[sizeof(own.text) - 1] = '\0';
        return accel_error_by(error, ACCEL_FROM_DRIVER, code, "%s: its query failed: %s", path,
                              accel_check_driver_text(own.text, "text", NULL) == ACCEL_OK ? own.text : "(garbled)");
    }
    return accel_import_driver(given, note, arena, out_driver, error);
}
