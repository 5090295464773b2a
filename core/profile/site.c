/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/env.h"
#include "core/base/file.h"
#include "core/profile/language.h"

static bool copy(const char *text, char **out_path)
{
    *out_path = strdup(text);
    return *out_path != NULL;
}

static bool path_below(uint32_t layer, const char *below, char **out_path)
{
    *out_path = accel_file_join(below, layer == ACCEL_LAYER_SYSTEM ? "etc/accel/accel.yaml"
                                       : layer == ACCEL_LAYER_USER ? "user/accel.yaml"
                                                                   : "folder/accel.yaml");
    return *out_path != NULL;
}

bool accel_profile_site_path(uint32_t layer, const char *below, char **out_path)
{
    struct accel_error why = {0};
    char *folder;
    int32_t code;
    *out_path = NULL;
    if (below)
        return path_below(layer, below, out_path);
    if (layer == ACCEL_LAYER_SYSTEM)
        return copy("/etc/accel/accel.yaml", out_path);
    if (accel_env_is_elevated())
        return true;
    if (layer == ACCEL_LAYER_FOLDER)
        return copy("./accel.yaml", out_path);
    code = accel_file_user_folder(ACCEL_USER_CONFIG, &folder, &why);
    if (code != ACCEL_OK)
        return code != ACCEL_E_MEMORY;
    *out_path = accel_file_join(folder, "accel.yaml");
    free(folder);
    return *out_path != NULL;
}

int32_t accel_profile_site_read(struct accel_profile_file *file, const char *root, uint32_t layer, const char *path,
                                struct accel_error *error)
{
    const struct accel_profile_source source = {root, layer, "accel", path, NULL};
    struct accel_error why = {0};
    char *data = NULL;
    size_t bytes = 0;
    int32_t code = accel_file_read_trusted(path, ACCEL_YAML_BYTES, &data, &bytes, &why);
    code = accel_yaml_read_code(code, &why);
    if (code == ACCEL_OK)
        code = accel_profile_file_parse(file, &source, data, bytes, error);
    else
        code = accel_profile_file_begin(file, &source, &why, error);
    free(data);
    return code;
}
