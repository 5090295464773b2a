/* SPDX-License-Identifier: Apache-2.0 */
#include "model/session/logits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/file/fault.h"
#include "model/file/rows.h"
#include "model/session/measure.h"
#include "model/session/state.h"

/* Bounds the search: a user waits for the error. */
enum { SECONDS_MOST = 10, VALUES_EACH = 1 << 20 };

bool logits_are_usable(const float *logits, uint64_t count)
{
    uint32_t found = 0;

    for (uint64_t i = 0; i < count; i++) {
        if (!(logits[i] < INFINITY))
            return 0;
        found |= logits[i] > -INFINITY;
    }
    return found;
}

/* State of the search for a weight that is not finite. */
struct search {
    const struct accel_model_file *file;
    const struct accel_model_tensor *tensor; /* with a value that is not finite, or NULL */
    uint64_t row, column;                    /* of that value */
    bool is_whole;                           /* all weights were read */
    uint64_t end;                            /* of session_now */
    struct accel_error *error;               /* receives read errors */
};

static int32_t search_rows(struct search *search, const struct accel_model_tensor *tensor,
                           const struct model_rows *rows, uint64_t first, uint64_t count, void *bytes, float *values)
{
    int32_t code = model_rows_decode(search->file, tensor, rows, first, count, bytes, values, search->error);

    for (uint64_t i = 0; code == ACCEL_OK && i < count * rows->width && search->tensor == NULL; i++)
        if (!isfinite(values[i])) {
            search->tensor = tensor;
            search->row = first + i / rows->width;
            search->column = i % rows->width;
        }
    return code;
}

/* Tensors of types without a decoder are skipped. */
static int32_t search_tensor(struct search *search, const struct accel_model_tensor *tensor)
{
    struct model_rows rows;
    uint64_t each;
    void *bytes;
    float *values;
    int32_t code = ACCEL_OK;

    if (model_rows_of(tensor, tensor->type, &rows) != ACCEL_OK || rows.width == 0) {
        search->is_whole = false;
        return ACCEL_OK;
    }
    each = rows.width >= VALUES_EACH ? 1 : VALUES_EACH / rows.width;
    each = each < rows.rows ? each : rows.rows;
    bytes = malloc(each * rows.all_bytes);
    values = malloc(each * rows.width * sizeof(*values));
    if (bytes == NULL || values == NULL)
        code = accel_error_no_memory(search->error, "to read the weights once more");
    for (uint64_t row = 0; row < rows.rows && code == ACCEL_OK && search->tensor == NULL; row += each) {
        if (session_now() >= search->end) {
            search->is_whole = false;
            break;
        }
        code = search_rows(search, tensor, &rows, row, rows.rows - row < each ? rows.rows - row : each, bytes, values);
    }
    free(bytes);
    free(values);
    return code;
}

/* Lists the drivers of the session's devices, each once. */
static const char *list_drivers(const struct accel_session *session, char *text, size_t bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < session->pipeline_count && used < bytes; i++) {
        const struct accel_device_info *device = accel_plan_device(session->pipeline[i].plan);

        if (device != NULL && strstr(text, device->driver) == NULL)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", used == 0 ? "" : " or ", device->driver);
    }
    return text;
}

/* Names the settings with which values of a wider range are exact, in the order in which values leave the narrower one:
 * F16 ends at 65504, a block of 8-bit activations with an F16 scale at 127 times that. A setting that is so already is
 * left out. */
static void write_remedy(const struct accel_session *session, struct accel_error *error)
{
    const bool has_cache = session->options.k_type != ACCEL_F32 || session->options.v_type != ACCEL_F32;
    const bool has_activations = session->options.rounding != ACCEL_F32;

    accel_error_remedy(
        error, "%s%s%stry a device of another driver (--device); accel-conform shows what a driver computes wrong",
        has_cache ? "--set kv.type=f32, in case keys or values are over 65504, where F16 ends; " : "",
        has_activations ? "--set compute.activations=f32, in case activations are too large for 8 bits; " : "",
        has_cache || has_activations ? "else " : "");
}

int32_t accel_session_report_nonfinite(const struct accel_session *session, const char *what, struct accel_error *error)
{
    struct search search = {
        .is_whole = true, .end = session_now() + SECONDS_MOST * UINT64_C(1000000000), .error = error};
    const char *path;
    char drivers[200];
    int32_t code = ACCEL_OK;

    if (session == NULL || what == NULL)
        return model_refuse_null(__func__, error);
    search.file = accel_model_file_of(session->model);
    path = accel_model_file_path(search.file);
    for (uint64_t i = 0; i < accel_model_file_tensor_count(search.file) && code == ACCEL_OK && search.tensor == NULL;
         i++)
        code = search_tensor(&search, accel_model_file_tensor(search.file, i));
    if (code != ACCEL_OK)
        return code;
    if (search.tensor != NULL) {
        accel_error_set(error, ACCEL_E_CORRUPT, "%s: tensor %.100s: value %llu of row %llu is not finite", path,
                        search.tensor->name, (unsigned long long)search.column, (unsigned long long)search.row);
        accel_error_remedy(error, "download or convert the model again");
        return accel_error_origin(error, ACCEL_FROM_MODEL, ACCEL_E_CORRUPT);
    }
    accel_error_set(error, ACCEL_E_INTERNAL, "driver %s: it computed %.40s that are not finite, and %s of %s %s",
                    list_drivers(session, drivers, sizeof(drivers)), what,
                    search.is_whole ? "all weights" : "the weights", path,
                    search.is_whole ? "are" : "that were checked are");
    write_remedy(session, error);
    return accel_error_origin(error, ACCEL_FROM_DRIVER, ACCEL_E_INTERNAL);
}
