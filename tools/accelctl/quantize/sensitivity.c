/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "tools/accelctl/errors.h"
#include "tools/accelctl/quantize/quantize.h"

enum { COLUMNS_MOST = 40 };

/* Types that at least one tensor may get, each with a column. */
struct columns {
    const char *names[COLUMNS_MOST];
    uint32_t count;
};

static uint32_t column_of(struct columns *columns, const char *name)
{
    uint32_t i = 0;

    while (i < columns->count && strcmp(columns->names[i], name) != 0)
        i++;
    if (i == columns->count && i < COLUMNS_MOST)
        columns->names[columns->count++] = name;
    return i;
}

static void find_columns(const struct accel_quantize_job *job, struct columns *columns)
{
    const struct accel_quantize_candidate *candidate;

    for (uint64_t i = 0; i < accel_quantize_count(job); i++)
        for (uint32_t j = 0; (candidate = accel_quantize_candidate_get(job, i, j)) != NULL; j++)
            column_of(columns, candidate->type_name);
}

/* Prints the error in each column; a star marks the type that a budget gives the tensor. */
static void print_tensor(const struct accel_quantize_job *job, uint64_t index, struct columns *columns, uint32_t stars)
{
    const struct accel_quantize_candidate *candidate, *found[COLUMNS_MOST] = {NULL};
    char name[256];

    for (uint32_t j = 0; (candidate = accel_quantize_candidate_get(job, index, j)) != NULL; j++) {
        uint32_t column = column_of(columns, candidate->type_name);

        if (column < COLUMNS_MOST)
            found[column] = candidate;
    }
    print("  %-36s", clean_text(accel_quantize_get(job, index)->name, name, sizeof(name)));
    for (uint32_t i = 0; i < columns->count; i++)
        if (found[i] == NULL)
            print(" %10s", "-");
        else
            print(" %9.5f%s", found[i]->error, stars && found[i]->chosen ? "*" : " ");
    print("\n");
}

/* Returns the bytes of the candidate of a column; of the smallest candidate if it is missing, as F16 for rows that
 * no group size divides. */
static uint64_t bytes_in(const struct accel_quantize_job *job, uint64_t index, const char *type)
{
    const struct accel_quantize_candidate *candidate;
    uint64_t bytes = accel_quantize_get(job, index)->bytes;

    for (uint32_t j = 0; (candidate = accel_quantize_candidate_get(job, index, j)) != NULL; j++) {
        if (strcmp(candidate->type_name, type) == 0)
            return candidate->bytes;
        bytes = j == 0 ? candidate->bytes : bytes;
    }
    return bytes;
}

/* Prints, for each column, the bytes of all tensors if each that can gets the type of the column. */
static void print_bytes(const struct accel_quantize_job *job, const struct columns *columns)
{
    print("  %-36s", "all tensors, where it fits");
    for (uint32_t i = 0; i < columns->count; i++) {
        uint64_t bytes = 0;
        char text[32];

        for (uint64_t j = 0; j < accel_quantize_count(job); j++)
            bytes += bytes_in(job, j, columns->names[i]);
        print(" %9s ", bytes_text(bytes, text));
    }
    print("\n");
}

void sensitivity_print(const struct accel_quantize_job *job, const struct outcome *outcome)
{
    struct columns columns = {.count = 0};
    uint32_t limited = outcome->limited;

    find_columns(job, &columns);
    print("  %-36s", outcome->calibration > 0 ? "relative error of outputs" : "relative error of weights");
    for (uint32_t i = 0; i < columns.count; i++)
        print(" %9s ", columns.names[i]);
    print("\n");
    for (uint64_t i = 0; i < accel_quantize_count(job); i++)
        if (accel_quantize_candidate_get(job, i, 0) != NULL)
            print_tensor(job, i, &columns, limited);
    print_bytes(job, &columns);
    print(limited ? "* is what --budget chooses, by these errors and by what each matrix means to the model\n"
                  : "With --budget SIZE a star shows the type that each matrix would get.\n");
}

json_t *sensitivity_json(const struct accel_quantize_job *job, uint64_t index)
{
    const struct accel_quantize_candidate *candidate = accel_quantize_candidate_get(job, index, 0);
    json_t *list = candidate == NULL ? json_null() : json_array();

    for (uint32_t j = 0; (candidate = accel_quantize_candidate_get(job, index, j)) != NULL; j++)
        json_array_append_new(list, json_pack("{s:s, s:I, s:f, s:f, s:b}", "type", candidate->type_name, "bytes",
                                              (json_int_t)candidate->bytes, "error", candidate->error, "loss",
                                              candidate->loss, "chosen", candidate->chosen != 0));
    return list;
}
