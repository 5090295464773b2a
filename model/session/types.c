/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the weights of a session that are converted when they are loaded, because the plan has them in other types than
 * the file. */
#include "model/session/types.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct weight_type *)a)->name, ((const struct weight_type *)b)->name);
}

int32_t session_types_create(struct accel_session *session, struct accel_error *error)
{
    uint32_t all = accel_plan_weight_count(session->plan), count = 0;
    struct weight_type *rows = calloc((size_t)all + 1, sizeof(*rows));

    session->types.rows = rows;
    session->converted = calloc((size_t)all + 1, sizeof(*session->converted));
    if (rows == NULL || session->converted == NULL)
        return accel_error_no_memory(error, "for the types of %u weights", all);
    for (uint32_t i = 0; i < all; i++) {
        const struct accel_plan_weight *weight = accel_plan_weight_get(session->plan, i);
        const struct accel_model_tensor *tensor = accel_model_file_find(session->model->file, weight->name);

        /* The file owns the tensor's name and outlives the session; the plan's name lives until it is replanned. */
        if (weight->converted && tensor != NULL && tensor->rank == 2)
            rows[count++] = (struct weight_type){.name = tensor->name, .type = weight->type};
    }
    qsort(rows, count, sizeof(*rows), compare);
    for (uint32_t i = 0; i < count; i++)
        session->converted[i] = rows[i].name;
    session->types.count = count;
    return ACCEL_OK;
}

void session_types_free(struct accel_session *session)
{
    free((void *)session->types.rows);
    free(session->converted);
    free(session->conversion.planes);
}
