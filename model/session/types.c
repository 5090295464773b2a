/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the weights of a session that are converted when they are loaded, because the plan or the graph has them in
 * another form than the file, and those that no mapping can serve, because the file stores them as several tensors. */
#include "model/session/types.h"

#include <stdlib.h>
#include <string.h>

#include "model/file/derived.h"

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct weight_type *)a)->name, ((const struct weight_type *)b)->name);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lists the converted weights and the tensors that are assembled when they are read: a run allocates all of these. */
static int32_t list_made(struct accel_session *session, struct accel_error *error)
{
    const struct accel_model_file *file = session->model->file;
    const struct weight_types *types = &session->types;
    const uint64_t tensors = accel_model_file_tensor_count(file);
    uint64_t ignored;

    session->made_count = 0;
    session->made = calloc(types->count + (size_t)tensors + 1, sizeof(*session->made));
    if (session->made == NULL)
        return accel_error_no_memory(error, "for the names of %llu tensors", (unsigned long long)tensors);
    for (uint64_t i = 0; i < types->count; i++)
        session->made[session->made_count++] = types->rows[i].name;
    for (uint64_t i = 0; i < tensors; i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);

        if (accel_model_file_plane(file, tensor, 0, &ignored) == NULL && weights_find_type(types, tensor->name) == NULL)
            session->made[session->made_count++] = tensor->name;
    }
    qsort(session->made, session->made_count, sizeof(*session->made), compare_names);
    return ACCEL_OK;
}

/* Makes `rows`, with space for the vectors of the model behind them, the list of the session. */
static int32_t set_rows(struct accel_session *session, struct weight_type *rows, uint32_t count,
                        struct accel_error *error)
{
    const struct weight_types *vectors = &session->model->vectors;

    if (vectors->count != 0)
        memcpy(rows + count, vectors->rows, vectors->count * sizeof(*rows));
    count += vectors->count;
    qsort(rows, count, sizeof(*rows), compare);
    session->types = (struct weight_types){rows, count};
    return list_made(session, error);
}

static int compare_weights(const void *a, const void *b)
{
    return strcmp((*(const struct accel_plan_weight *const *)a)->name,
                  (*(const struct accel_plan_weight *const *)b)->name);
}

/* Returns the planned weight of a name, NULL if the run does not convert it. */
static const struct accel_plan_weight *find_planned(const struct accel_plan_weight *const *weights, uint32_t count,
                                                    const char *name)
{
    const struct accel_plan_weight wanted = {.name = name}, *key = &wanted;
    const struct accel_plan_weight *const *found =
        name == NULL ? NULL : bsearch(&key, weights, count, sizeof(const struct accel_plan_weight *), compare_weights);

    return found == NULL ? NULL : *found;
}

int32_t session_types_create(struct accel_session *session, struct accel_error *error)
{
    const struct accel_model_file *file = session->model->file;
    const uint64_t tensors = accel_model_file_tensor_count(file);
    const uint32_t all = accel_plan_weight_count(session->plan);
    const struct accel_plan_weight **weights = calloc((size_t)all + 1, sizeof(const struct accel_plan_weight *));
    struct weight_type *rows = calloc((size_t)tensors + session->model->vectors.count + 1, sizeof(*rows));
    uint32_t converted = 0, count = 0;

    if (rows == NULL || weights == NULL) {
        free(weights);
        free(rows);
        return accel_error_no_memory(error, "for the types of %u weights", all);
    }
    for (uint32_t i = 0; i < all; i++) {
        weights[converted] = accel_plan_weight_get(session->plan, i);
        converted += weights[converted]->converted;
    }
    qsort(weights, converted, sizeof(*weights), compare_weights);
    for (uint64_t i = 0; i < tensors; i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(file, i);
        const struct accel_plan_weight *weight = find_planned(weights, converted, tensor->name);

        /* The plan has the tensors of the file: experts one by one, whose types are alike. */
        if (weight == NULL)
            weight = find_planned(weights, converted, model_derived_source(tensor, 0));
        /* The file owns the tensor's name and outlives the session; the plan's name lives until it is replanned. */
        if (weight != NULL && tensor->rank >= 2)
            rows[count++] = (struct weight_type){.name = tensor->name, .type = weight->type};
    }
    free(weights);
    return set_rows(session, rows, count, error);
}

int32_t session_types_replace(struct accel_session *session, const struct weight_type *rows, uint32_t count,
                              struct accel_error *error)
{
    struct weight_type *own = calloc((size_t)count + session->model->vectors.count + 1, sizeof(*own));

    if (own == NULL)
        return accel_error_no_memory(error, "for the types of %u weights", count);
    if (count != 0)
        memcpy(own, rows, count * sizeof(*own));
    session_types_free(session);
    return set_rows(session, own, count, error);
}

void session_types_free(struct accel_session *session)
{
    free((void *)session->types.rows);
    free(session->made);
    free(session->conversion.planes);
}
