/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/certificate.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/errors.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MOST 65536u /* bytes of a certificate */
#define PATH 4096u

/* Checks the member "hash", which is the hash of the text before it. */
static bool is_whole(const char *text, const char *hash)
{
    const char *end = strstr(text, ",\n  \"hash\":");
    XXH128_hash_t sum;
    char wanted[33];

    if (end == NULL || hash == NULL)
        return false;
    sum = XXH3_128bits(text, (size_t)(end - text));
    snprintf(wanted, sizeof(wanted), "%016llx%016llx", (unsigned long long)sum.high64, (unsigned long long)sum.low64);
    return strcmp(wanted, hash) == 0;
}

static const char *judge(const json_t *read, const char *text, const struct accel_plugin_info *info, const char **why)
{
    *why = "";
    if (!is_whole(text, json_member_text(read, "hash"))) {
        *why = "it was changed after it was written";
        return "damaged";
    }
    if (strcmp(json_member_text(read, "build_id"), info->build_id) != 0)
        *why = "made for another build of the file";
    else if (strcmp(json_member_text(read, "kit"), PACKAGE_VERSION) != 0)
        *why = "made by another version of accel-conform";
    return (*why)[0] == '\0' ? "valid" : "stale";
}

static void add(json_t *list, const char *path, const struct accel_plugin_info *info)
{
    char *text = calloc(1, MOST + 1);
    FILE *file = fopen(path, "re");
    json_t *read = NULL;
    const char *state, *why;

    if (text != NULL && file != NULL && fread(text, 1, MOST, file) > 0)
        read = json_loads(text, 0, NULL);
    if (json_is_object(read) && strcmp(json_member_text(read, "driver"), info->name) == 0) {
        state = judge(read, text, info, &why);
        json_add(list, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:o}", "device",
                                 json_member_text(read, "device"), "state", state, "why", why, "passed",
                                 json_integer_value(json_object_get(read, "passed")), "failed",
                                 json_integer_value(json_object_get(read, "failed")), "expected",
                                 json_integer_value(json_object_get(read, "expected")), "unclaimed",
                                 json_integer_value(json_object_get(read, "unclaimed")), "skipped",
                                 json_integer_value(json_object_get(read, "skipped")), "seed",
                                 json_integer_value(json_object_get(read, "seed")), "date",
                                 json_member_text(read, "date"), "path", json_text(path)));
    }
    json_decref(read);
    if (file != NULL)
        fclose(file);
    free(text);
}

static bool is_for(const struct dirent *entry, const char *driver)
{
    size_t length = strlen(driver), bytes = strlen(entry->d_name);

    return strncmp(entry->d_name, driver, length) == 0 && entry->d_name[length] == '-' && bytes > 5 &&
           strcmp(entry->d_name + bytes - 5, ".json") == 0;
}

static void add_folder(json_t *list, const char *folder, const struct accel_plugin_info *info)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort);
    char path[2 * PATH];

    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        if (is_for(entries[i], info->name))
            add(list, path, info);
        free(entries[i]);
    }
    free(entries);
}

static bool is_valid(const json_t *one)
{
    return strcmp(json_member_text(one, "state"), "valid") == 0;
}

/* Returns whether another certificate for the same device is preferred: the one of this very build, or of stale ones
 * the last. */
static bool is_outdone(const json_t *list, size_t index)
{
    const json_t *one = json_array_get(list, index), *other;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)list, i, other)
    {
        int later = strcmp(json_member_text(other, "date"), json_member_text(one, "date"));

        if (i != index && strcmp(json_member_text(other, "device"), json_member_text(one, "device")) == 0 &&
            (is_valid(other) > is_valid(one) ||
             (is_valid(other) == is_valid(one) && (later > 0 || (later == 0 && i < index)))))
            return true;
    }
    return false;
}

static void drop_outdone(json_t *list)
{
    for (size_t i = json_array_size(list); i-- > 0;)
        if (is_outdone(list, i))
            json_array_remove(list, i);
}

json_t *certificates_of(const struct accel_plugin_info *info)
{
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    size_t length = strlen(info->path);
    json_t *list = json_array();
    char path[PATH + 32];

    if (length > 3 && length < PATH) {
        snprintf(path, sizeof(path), "%.*s.certificate.json", (int)length - 3, info->path);
        add(list, path, info);
    }
    if (cache != NULL && cache[0] == '/')
        snprintf(path, sizeof(path), "%s/accel/certificates", cache);
    else if (home != NULL && home[0] == '/')
        snprintf(path, sizeof(path), "%s/.cache/accel/certificates", home);
    else
        return list;
    add_folder(list, path, info);
    drop_outdone(list);
    return list;
}
