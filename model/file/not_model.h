/* SPDX-License-Identifier: Apache-2.0 */
/* Names what a file or folder is that is no model by itself, and what to pass instead. Any thread. */
#ifndef ACCEL_MODEL_FILE_NOT_MODEL_H
#define ACCEL_MODEL_FILE_NOT_MODEL_H

#include <stdbool.h>

#include "model/file/part.h"

/* Returns whether the name of a file is that of one of several shards: NAME-00001-of-00003.safetensors. */
bool model_is_shard(const char *path);

/* Refuse one shard, and a file of JSON: a configuration, an index, a saved plan. Return ACCEL_E_UNSUPPORTED. */
int32_t model_refuse_shard(const char *path, const char *folder, struct accel_error *error);
int32_t model_refuse_json(const struct model_part *part, const char *folder, struct accel_error *error);

/* Refuses a folder without model.safetensors, its index, and GGUF files. Returns ACCEL_E_NOT_FOUND. */
int32_t model_refuse_folder(const char *folder, struct accel_error *error);

/* Returns the path of a config.json that has no weights beside it: the path itself, or that in the folder `path`. The
 * caller frees it. NULL if there is none. */
char *model_lone_config(const char *path);

/* Returns the folder of a config.json that lies beside weights, which is the model that the path means. The caller
 * frees it. NULL for any other path. */
char *model_config_folder(const char *path);

/* Adds the remedy for a folder without config.json, unless the error has one. */
void model_remedy_config(struct accel_error *error);

#endif
