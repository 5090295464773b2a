/* SPDX-License-Identifier: Apache-2.0 */
/* decoded MODEL OUT.safetensors: the values of every matrix of a model as this project decodes them, in F32. */
#include <stdio.h>
#include <stdlib.h>

#include <accel/model/safetensors.h>
#include <accel/model/session.h>
#include <accel/quant/format.h>

static void stop(const struct accel_error *error, const char *what)
{
    fprintf(stderr, "%s\n", error != NULL ? error->text : what);
    exit(2);
}

static float *decode(const struct accel_model_file *file, const struct accel_model_tensor *tensor)
{
    const uint64_t rows = tensor->dims[0], width = tensor->dims[1];
    unsigned char *bytes = malloc((size_t)tensor->bytes);
    float *values = malloc((size_t)(rows * width) * sizeof(*values));
    struct accel_error error = {0};
    struct accel_format format;

    if (bytes == NULL || values == NULL || accel_format_describe(tensor->type, &format) != ACCEL_OK)
        stop(NULL, tensor->name);
    if (accel_model_file_read(file, tensor, 0, tensor->bytes, bytes, &error) != ACCEL_OK)
        stop(&error, NULL);
    for (uint64_t r = 0; r < rows; r++) {
        const void *planes[ACCEL_FORMAT_PLANES] = {NULL};
        const unsigned char *begin = bytes;

        for (uint32_t p = 0; p < format.planes; p++) {
            size_t row = 0;

            if (accel_format_row_bytes(tensor->type, p, (size_t)width, &row) != ACCEL_OK)
                stop(NULL, tensor->name);
            planes[p] = begin + r * row;
            begin += rows * row;
        }
        if (accel_format_decode(tensor->type, planes, (size_t)width, values + r * width) != ACCEL_OK)
            stop(NULL, tensor->name);
    }
    free(bytes);
    return values;
}

int main(int count, char **arguments)
{
    struct accel_safetensors_entry *list;
    const struct accel_safetensors_entry **entries;
    const struct accel_model_file *file;
    struct accel_model *model = NULL;
    struct accel_error error = {0};
    uint64_t tensors, used = 0;

    if (count != 3)
        return 2;
    if (accel_model_open(arguments[1], NULL, &model, &error) != ACCEL_OK)
        stop(&error, NULL);
    file = accel_model_file_of(model);
    tensors = accel_model_file_tensor_count(file);
    list = calloc((size_t)tensors + 1, sizeof(*list));
    entries = calloc((size_t)tensors + 1, sizeof(*entries));
    for (uint64_t i = 0; list != NULL && entries != NULL && i < tensors; i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);

        if (tensor->rank != 2)
            continue;
        list[used] = (struct accel_safetensors_entry){
            sizeof(*list), ACCEL_F32, tensor->name, tensor->dims, decode(file, tensor), tensor->rank, 0};
        entries[used] = &list[used];
        used++;
    }
    if (accel_safetensors_write(arguments[2], entries, used, &error) != ACCEL_OK)
        stop(&error, NULL);
    for (uint64_t i = 0; i < used; i++)
        free((void *)(uintptr_t)list[i].data);
    free(entries);
    free(list);
    accel_model_close(model);
    return 0;
}
