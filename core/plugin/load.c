/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/plugin/load.h"

#include <dlfcn.h>
#include <link.h>
#include <ltdl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "core/plugin/intake.h"

/* The text of libltdl's last failure belongs to it and is only right under the lock. */
static int32_t fail_ltdl(struct accel_error *error, const char *path, const char *what)
{
    const char *text = lt_dlerror();
    return accel_error_set(error, ACCEL_E_NOT_FOUND, "%s: %s: %s", path, what, text ? text : "no reason given");
}

/* libltdl says "file not found" whatever happened. The loader itself is asked again for the reason, which names the
 * library or the symbol that is missing. */
static int32_t fail_open(struct accel_error *error, const char *path)
{
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *text = module ? NULL : dlerror();
    size_t bytes = strlen(path);
    if (module != NULL)
        dlclose(module);
    if (text == NULL)
        return fail_ltdl(error, path, "cannot be loaded");
    /* The reason begins with the path where it is about this file. */
    if (strncmp(text, path, bytes) == 0 && text[bytes] == ':')
        text += bytes + 1 + strspn(text + bytes + 1, " ");
    accel_error_set(error, ACCEL_E_NOT_FOUND, "%s: cannot be loaded: %s", path, text);
    accel_error_remedy(error, "install what is missing, or another build of this driver");
    return ACCEL_E_NOT_FOUND;
}

/* True when the symbol lies in the file `path` and not in a library that it pulled in. */
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

/* Under the lock, with libltdl initialised. */
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
            code = fail_open(error, path);
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
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "%s: its entry %s lies in another file", path,
                               ACCEL_DRIVER_SYMBOL);
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
    /* A resident module keeps libltdl in use for ever: the last lt_dlexit would forget it and lose its memory. */
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
        return accel_error_set(error, ACCEL_E_INVALID, "%s: bad facts: its query answered the code %d", path, code);
    if (code != ACCEL_OK) {
        own.text[sizeof(own.text) - 1] = '\0';
        return accel_error_set(error, code, "%s: its query refuses: %s", path,
                               accel_intake_text(own.text, "text", NULL) == ACCEL_OK ? own.text : "(garbled)");
    }
    return accel_intake_driver(given, note, arena, out_driver, error);
}
