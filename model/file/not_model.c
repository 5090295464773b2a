/* SPDX-License-Identifier: Apache-2.0 */
#include "model/file/not_model.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/file/container.h"
#include "model/file/fault.h"
#include "model/file/text.h"

#define CONFIG_NAME "config.json"

/* "-00001-of-00003.safetensors" */
#define SHARD_END 27u

/* Bytes of a saved plan among which its schema stands. */
enum { SCHEMA_WITHIN = 4096 };

/* Returns whether a file is there, or fails for a reason that opening it would report. */
static bool has_file(const char *folder, const char *name)
{
    char *path = model_text_join(folder, name);
    const bool found = path != NULL && (access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR));
    free(path);
    return found;
}

bool model_is_shard(const char *path)
{
    const size_t length = strlen(path);
    unsigned number, count;
    int read = 0;
    return length >= SHARD_END &&
           sscanf(path + length - SHARD_END, "-%5u-of-%5u.safetensors%n", &number, &count, &read) == 2 &&
           read == (int)SHARD_END && count > 1;
}

/* Finds the first shard of a folder by name; the caller frees it. NULL without one. */
static char *find_shard(const char *folder)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    char *found = NULL;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (!model_is_shard(entry->d_name) || (found != NULL && strcmp(found, entry->d_name) < 0))
            continue;
        free(found);
        found = strdup(entry->d_name);
    }
    if (directory != NULL)
        closedir(directory);
    return found;
}

/* Adds the remedy for a file that belongs to a model: its folder, or its index if that is missing. */
static void remedy_folder(const char *folder, bool is_complete, struct accel_error *error)
{
    if (is_complete)
        accel_error_remedy(error, "name the folder of the model: %.300s", folder);
    else
        accel_error_remedy(error,
                           "download model.safetensors.index.json and all shards into one folder, and name the folder");
}

int32_t model_refuse_shard(const char *path, const char *folder, struct accel_error *error)
{
    model_fault(error, ACCEL_E_UNSUPPORTED, path, MODEL_NO_OFFSET, "is one of several files of a model");
    remedy_folder(folder, has_file(folder, "model.safetensors.index.json"), error);
    return ACCEL_E_UNSUPPORTED;
}

int32_t model_refuse_json(const struct model_part *part, const char *folder, struct accel_error *error)
{
    const bool has_index = has_file(folder, "model.safetensors.index.json");
    char text[SCHEMA_WITHIN + 1] = "";
    const uint64_t have = part->bytes < SCHEMA_WITHIN ? part->bytes : SCHEMA_WITHIN;
    const int32_t code = model_part_read(part, 0, have, text, error);
    if (code != ACCEL_OK)
        return code;
    if (strstr(text, "\"accelctl/plan/") != NULL) {
        model_fault(error, ACCEL_E_UNSUPPORTED, part->path, MODEL_NO_OFFSET, "is a saved plan, not a model");
        accel_error_remedy(error, "accelctl run and accelctl chat follow it; elsewhere name the model");
    } else if (strstr(text, "\"weight_map\"") != NULL) {
        model_fault(error, ACCEL_E_UNSUPPORTED, part->path, MODEL_NO_OFFSET,
                    "is the index of a model in several files, not the model");
        remedy_folder(folder, has_index, error);
    } else {
        model_fault(error, ACCEL_E_UNSUPPORTED, part->path, MODEL_NO_OFFSET,
                    "is JSON, neither GGUF nor safetensors, and no saved plan, which begins with its \"schema\"");
        if (has_index || has_file(folder, "model.safetensors"))
            remedy_folder(folder, true, error);
    }
    return ACCEL_E_UNSUPPORTED;
}

int32_t model_refuse_folder(const char *folder, struct accel_error *error)
{
    char *shard = find_shard(folder), shown[MODEL_QUOTE_BYTES];
    if (shard != NULL) {
        model_fault(error, ACCEL_E_NOT_FOUND, folder, MODEL_NO_OFFSET,
                    "the folder has %s, one of several files of a model, but no model.safetensors.index.json",
                    model_quote(shown, shard, strlen(shard)));
        accel_error_remedy(error, "download the model.safetensors.index.json of the model into the folder");
    } else {
        model_fault(error, ACCEL_E_NOT_FOUND, folder, MODEL_NO_OFFSET,
                    "the folder has neither model.safetensors nor model.safetensors.index.json nor a GGUF file");
        accel_error_remedy(error, has_file(folder, CONFIG_NAME)
                                      ? "download the weights into the folder, beside its config.json; or name the "
                                        "model file itself if it has another name"
                                      : "name the model file itself if it has another name");
    }
    free(shard);
    return ACCEL_E_NOT_FOUND;
}

/* Returns whether a folder has weights that a model is opened with, or a part of them. */
static bool has_weights(const char *folder)
{
    struct accel_error ignored = {0};
    char *shard = find_shard(folder), *gguf = NULL;
    const bool found = has_file(folder, "model.safetensors") || has_file(folder, "model.safetensors.index.json") ||
                       shard != NULL || model_gguf_find(folder, &gguf, &ignored) != ACCEL_OK || gguf != NULL;
    free(shard);
    free(gguf);
    return found;
}

/* Returns the folder of a path to a config.json; the caller frees it. NULL for any other path. */
static char *folder_of_config(const char *path)
{
    struct stat status;
    const char *slash = strrchr(path, '/');
    return strcmp(slash == NULL ? path : slash + 1, CONFIG_NAME) == 0 && stat(path, &status) == 0 &&
                   S_ISREG(status.st_mode)
               ? model_text_folder(path)
               : NULL;
}

char *model_lone_config(const char *path)
{
    struct stat status;
    char *folder = folder_of_config(path), *config = NULL;
    const bool is_folder = folder == NULL && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    if (is_folder)
        folder = strdup(path);
    if (folder != NULL && has_file(folder, CONFIG_NAME) && !has_weights(folder))
        config = is_folder ? model_text_join(folder, CONFIG_NAME) : strdup(path);
    free(folder);
    return config;
}

char *model_config_folder(const char *path)
{
    char *folder = folder_of_config(path);
    if (folder != NULL && has_weights(folder))
        return folder;
    free(folder);
    return NULL;
}

void model_remedy_config(struct accel_error *error)
{
    accel_error_remedy(error, "a model in safetensors needs its config.json in the folder of the weights: download it");
}
