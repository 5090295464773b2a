/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/profile/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/profile/language.h"

static const char suffix[] = ".yaml";

/* Returns the profile name of a file name; NULL if the file is no profile, or if memory runs out. */
static char *name_of(const char *leaf)
{
    size_t length = strlen(leaf), tail = sizeof(suffix) - 1;
    char *name;
    if (length <= tail || strcmp(leaf + length - tail, suffix) != 0)
        return NULL;
    name = strndup(leaf, length - tail);
    if (name && !accel_profile_name_valid(name)) {
        free(name);
        return NULL;
    }
    return name;
}

void accel_profile_first_key(const char *text, char key[ACCEL_FIRST_KEY])
{
    *key = '\0';
    text += accel_yaml_mark(text, strlen(text));
    for (const char *line = text; *line && !*key; line += strcspn(line, "\n"), line += *line == '\n')
        if (strncmp(line, "accel-", 6) == 0)
            snprintf(key, ACCEL_FIRST_KEY, "%.*s", (int)strcspn(line, ": \r\n"), line);
}

/* Returns whether a file in the root is another table. One without a kind, or a misspelt one, is a faulty profile. */
static bool is_other_table(const char *folder, const char *leaf)
{
    static const char profile[] = "accel-profile";
    char *path = accel_file_join(folder, leaf), *data = NULL;
    char key[ACCEL_FIRST_KEY] = "";
    if (path && accel_file_read(path, ACCEL_YAML_BYTES, &data, NULL, NULL) == ACCEL_OK)
        accel_profile_first_key(data, key);
    free(data);
    free(path);
    return *key && strncmp(key, profile, sizeof(profile) - 1) != 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int32_t add(struct accel_profile_names *names, char *name, const char *folder, struct accel_error *error)
{
    char **grown;
    if (names->count == ACCEL_PROFILE_FILES_MAX) {
        free(name);
        return accel_error_by(error, ACCEL_FROM_FILE, ACCEL_E_LIMIT, "%.300s: over %u files of profiles", folder,
                              ACCEL_PROFILE_FILES_MAX);
    }
    grown = realloc(names->names, (names->count + (size_t)1) * sizeof(*grown));
    if (grown == NULL) {
        free(name);
        return accel_error_no_memory(error, "for the names of profiles");
    }
    names->names = grown;
    names->names[names->count++] = name;
    return ACCEL_OK;
}

static int32_t read_folder(const char *folder, uint32_t layer, DIR *stream, struct accel_profile_names *names,
                           struct accel_error *error)
{
    const struct dirent *entry;
    int32_t code = ACCEL_OK;
    while (code == ACCEL_OK && (entry = readdir(stream)) != NULL) {
        char *name = name_of(entry->d_name);
        if (name == NULL)
            continue;
        if (layer == ACCEL_LAYER_PLATFORM && (strcmp(name, "base") == 0 || is_other_table(folder, entry->d_name)))
            free(name);
        else
            code = add(names, name, folder, error);
    }
    return code;
}

/* Returns whether a folder could not be opened because it does not exist; a dangling link is an error. */
static bool is_nothing(const char *folder, int system_error)
{
    struct stat facts;
    bool is_nothing = system_error == ENOENT && lstat(folder, &facts) != 0;
    errno = system_error;
    return is_nothing;
}

int32_t accel_profile_names_read(const char *root, uint32_t layer, struct accel_profile_names *out_names,
                                 struct accel_error *error)
{
    char *folder = accel_file_join(root, accel_profile_layer_folder(layer));
    DIR *stream = folder ? opendir(folder) : NULL;
    int32_t code = ACCEL_OK;
    *out_names = (struct accel_profile_names){0};
    if (folder == NULL)
        return accel_error_no_memory(error, "for the names of profiles");
    if (stream) {
        code = read_folder(folder, layer, stream, out_names, error);
        closedir(stream);
    } else if (!is_nothing(folder, errno)) {
        code = accel_error_set(error,
                               errno == EACCES   ? ACCEL_E_DENIED
                               : errno == ENOMEM ? ACCEL_E_MEMORY
                                                 : ACCEL_E_IO,
                               "%.300s: the folder cannot be read: %s", folder, strerror(errno));
    }
    free(folder);
    if (code != ACCEL_OK)
        accel_profile_names_free(out_names);
    else if (out_names->count)
        qsort(out_names->names, out_names->count, sizeof(*out_names->names), compare);
    return code;
}

void accel_profile_names_free(struct accel_profile_names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (struct accel_profile_names){0};
}
