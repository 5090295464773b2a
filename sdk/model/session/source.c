/* SPDX-License-Identifier: Apache-2.0 */
#include "sdk/model/session/internal.h"

static int32_t find(const struct accel_source *base, const char *key, uint32_t plane,
                    const struct accel_model_tensor **out_tensor, struct accel_error *error)
{
    const struct file_source *source = (const struct file_source *)base;

    *out_tensor = accel_model_file_find(source->file, key);
    if (*out_tensor == NULL)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "%s: no tensor '%s'", accel_model_file_path(source->file),
                               key);
    if (plane != 0)
        return accel_error_set(error, ACCEL_E_INVALID, "tensor '%s' has one plane, %u was asked for", key, plane);
    return ACCEL_OK;
}

static int32_t source_map(const struct accel_source *base, const char *key, uint32_t plane, const void **out_address,
                          uint64_t *out_bytes, struct accel_error *error)
{
    const struct file_source *source = (const struct file_source *)base;
    const struct accel_model_tensor *tensor;
    int32_t code = find(base, key, plane, &tensor, error);

    *out_address = NULL;
    if (code != ACCEL_OK)
        return code;
    *out_bytes = tensor->bytes;
    if (!source->copy)
        *out_address = accel_model_file_data(source->file, tensor);
    if (*out_address == NULL)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "tensor '%s' is read, not mapped", key);
    return ACCEL_OK;
}

static int32_t source_read(const struct accel_source *base, const char *key, uint32_t plane, uint64_t offset,
                           void *memory, uint64_t bytes, struct accel_error *error)
{
    const struct file_source *source = (const struct file_source *)base;
    const struct accel_model_tensor *tensor;
    int32_t code = find(base, key, plane, &tensor, error);

    if (code != ACCEL_OK)
        return code;
    return accel_model_file_read(source->file, tensor, offset, bytes, memory, error);
}

void file_source_init(struct file_source *source, const struct accel_model_file *file, uint32_t copy)
{
    source->base = (struct accel_source){.size = sizeof source->base, .map = source_map, .read = source_read};
    source->file = file;
    source->copy = copy;
}
