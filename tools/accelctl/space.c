/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/space.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

/* The file that Mesa maps has 1.3 MB, and what it compiles comes beside it. */
#define MESA_BYTES ((uint64_t)4 << 20)
/* Below this nothing can be compiled to files. */
#define FULL_BYTES ((uint64_t)256 << 10)
/* What PoCL has on the disk for the kernels of a small model while it links one of them. */
#define POCL_BYTES ((uint64_t)4 << 20)

/* Bytes that the user may still write where `folder` is or would be made; UINT64_MAX where that is not known. */
static uint64_t room_at(const char *folder)
{
    char path[PATH_MAX];
    struct statvfs disk;
    char *slash;

    if (folder[0] != '/' || strlen(folder) >= sizeof path)
        return UINT64_MAX;
    strcpy(path, folder);
    while (statvfs(path, &disk) != 0) {
        slash = strrchr(path, '/');
        if (slash == NULL || slash == path)
            return UINT64_MAX;
        *slash = '\0';
    }
    return (uint64_t)disk.f_bavail * disk.f_frsize;
}

/* The user's cache folder; empty where there is none. */
static void find_cache(char out_path[PATH_MAX])
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    out_path[0] = '\0';
    if (base != NULL && base[0] == '/')
        snprintf(out_path, PATH_MAX, "%s", base);
    else if (home != NULL && home[0] == '/')
        snprintf(out_path, PATH_MAX, "%s/.cache", home);
}

void space_spare_mesa(void)
{
    static const char *const own[] = {"MESA_SHADER_CACHE_DIR", "MESA_GLSL_CACHE_DIR"};
    char path[PATH_MAX];

    find_cache(path);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (getenv(own[i]) != NULL)
            snprintf(path, sizeof path, "%s", getenv(own[i]));
    if (room_at(path) >= MESA_BYTES)
        return;
    setenv("MESA_SHADER_CACHE_DISABLE", "true", 0);
    setenv("MESA_GLSL_CACHE_DISABLE", "true", 0); /* of earlier versions */
}

/* PoCL compiles to files of a folder that it may be given apart from the user's, and takes those away again that did
 * not fit: what is left tells less than how little that is. */
static uint32_t pocl_is_short(char out_remedy[SPACE_TEXT])
{
    const char *path = getenv("POCL_CACHE_DIR");
    uint64_t room = path == NULL ? UINT64_MAX : room_at(path);

    if (room >= POCL_BYTES)
        return 0;
    snprintf(out_remedy, SPACE_TEXT,
             "the disk of POCL_CACHE_DIR=%.300s has room for %llu KiB, and PoCL compiles to files there: make room, or "
             "set it to another folder",
             path, (unsigned long long)(room >> 10));
    return 1;
}

uint32_t space_is_short(char out_remedy[SPACE_TEXT])
{
    char path[PATH_MAX];

    find_cache(path);
    if (room_at(path) >= FULL_BYTES)
        return pocl_is_short(out_remedy);
    snprintf(out_remedy, SPACE_TEXT,
             "the disk of %.400s is full, and compilers need it: make room, or set XDG_CACHE_HOME", path);
    return 1;
}
