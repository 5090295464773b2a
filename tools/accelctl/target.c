/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/accelctl/command.h"
#include "tools/accelctl/errors.h"

static const struct {
    const char *begin;
    const char *name;
} kinds[] = {
    [TARGET_ANY] = {"", "file"},
    [TARGET_JSON] = {"{", "JSON document"},
    [TARGET_HTML] = {"<!", "page of HTML"},
};

/* Returns true for an empty file, and for one that begins as the kind does. A file that cannot be read is not
 * replaced either. */
static bool is_of_kind(const char *path, enum target kind)
{
    const char *wanted = kinds[kind].begin;
    int handle = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    char begin[4];
    ssize_t got = handle < 0 ? -1 : read(handle, begin, strlen(wanted));

    if (handle >= 0)
        close(handle);
    return got == 0 || (got == (ssize_t)strlen(wanted) && memcmp(begin, wanted, strlen(wanted)) == 0);
}

static const char *what_is_wrong(const char *path, enum target kind, char text[256])
{
    size_t length = strlen(path);
    struct stat facts;

    if (strcmp(path, "-") == 0)
        return "is no name of a file here; ./- is one";
    if (length == 0)
        return "the name of the file to write is empty";
    if (path[length - 1] == '/')
        return "the name of a folder, not of a file";
    if (lstat(path, &facts) != 0) {
        snprintf(text, 256, "%s", strerror(errno));
        return errno == ENOENT ? NULL : text;
    }
    if (!S_ISREG(facts.st_mode))
        return S_ISDIR(facts.st_mode)   ? "is a folder, not a regular file"
               : S_ISLNK(facts.st_mode) ? "is a symbolic link, not a regular file"
                                        : "is not a regular file";
    if (kind == TARGET_ANY || is_of_kind(path, kind))
        return NULL;
    snprintf(text, 256, "is there, and no %s, as what would replace it", kinds[kind].name);
    return text;
}

int target_folder_check(uint32_t json, const char *path)
{
    size_t length = strlen(path);
    char folder[1024];
    struct stat facts;

    while (length > 1 && path[length - 1] == '/')
        length--;
    while (length > 0 && path[length - 1] != '/')
        length--;
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length == 0 || length >= sizeof(folder))
        return -1;
    snprintf(folder, sizeof(folder), "%.*s", (int)length, path);
    if (stat(folder, &facts) == 0 || errno != ENOENT)
        return -1;
    return report_error_format(json, EXIT_FAILED, accel_error_name(ACCEL_E_NOT_FOUND),
                               "make the folder first, or name a file in one that is there",
                               "%.450s: cannot be written: there is no folder %.450s", path, folder);
}

int target_check(uint32_t json, const char *path, enum target kind)
{
    char text[256];
    const char *wrong = path == NULL ? NULL : what_is_wrong(path, kind, text);

    if (wrong == NULL)
        return path == NULL ? -1 : target_folder_check(json, path);
    return report_error_format(json, EXIT_USAGE, "usage", "name a new file, or remove what is there", "%.700s%s%s",
                               path, path[0] == '\0' ? "" : ": ", wrong);
}
