/* SPDX-License-Identifier: Apache-2.0 */
/* No driver: preloaded, it gives no memory while the loader opens a file whose path contains MOCK_SHORT, in the program
 * whose name begins with MOCK_SHORT_IN. MOCK_SHORT_TIMES: so many times; without it always. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);

static __thread bool opens;
static int failed;

static bool is_short(void)
{
    const char *times = opens ? getenv("MOCK_SHORT_TIMES") : NULL;
    if (!opens || (times != NULL && failed >= atoi(times)))
        return false;
    failed++;
    errno = ENOMEM;
    return true;
}

__attribute__((__visibility__("default"))) void *malloc(size_t bytes)
{
    return is_short() ? NULL : __libc_malloc(bytes);
}

__attribute__((__visibility__("default"))) void *calloc(size_t count, size_t bytes)
{
    return is_short() ? NULL : __libc_calloc(count, bytes);
}

__attribute__((__visibility__("default"))) void *realloc(void *memory, size_t bytes)
{
    return is_short() ? NULL : __libc_realloc(memory, bytes);
}

__attribute__((__visibility__("default"))) void *dlopen(const char *path, int flags)
{
    const char *part = getenv("MOCK_SHORT"), *program = getenv("MOCK_SHORT_IN");
    void *(*next)(const char *path, int flags);
    void *symbol = dlsym(RTLD_NEXT, "dlopen"), *file;
    memcpy(&next, &symbol, sizeof(next));
    opens = path != NULL && part != NULL && program != NULL && strstr(path, part) != NULL &&
            strstr(program_invocation_short_name, program) != NULL;
    file = next(path, flags);
    opens = false;
    return file;
}
