/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stages ACTUAL EXPECTED FIXTURE.json: both files hold the same tensors, and every one is within the fixture's
 * tolerance, max |a - b| / max |b|.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/model/file.h>

static float *read_values(const struct accel_model_file *file, const struct accel_model_tensor *tensor)
{
    float *values = malloc(tensor->bytes);
    struct accel_error error = {0};

    if (values == NULL || accel_model_file_read(file, tensor, 0, tensor->bytes, values, &error) != ACCEL_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(2);
    }
    return values;
}

/* 1 when the stage differs, which has been said. */
static int differs(const struct accel_model_file *actual, const struct accel_model_file *expected,
                   const struct accel_model_tensor *right, double tolerance)
{
    const struct accel_model_tensor *left = accel_model_file_find(actual, right->name);
    double largest = 0, worst = 0;
    float *a, *b;

    /* The reference has the scores of experts without a dimension of sequences. */
    if (left == NULL || left->type != ACCEL_F32 || left->bytes != right->bytes ||
        left->dims[left->rank - 1] != right->dims[right->rank - 1]) {
        fprintf(stderr, "%s is missing, or of another type or shape\n", right->name);
        return 1;
    }
    a = read_values(actual, left);
    b = read_values(expected, right);
    for (uint64_t i = 0; i < right->bytes / sizeof(*b); i++) {
        double difference = fabs((double)a[i] - (double)b[i]);

        largest = fmax(largest, fabs((double)b[i]));
        worst = difference > worst || isnan(difference) ? difference : worst;
    }
    free(a);
    free(b);
    if (worst <= tolerance * largest)
        return 0;
    fprintf(stderr, "%s differs by %g of %g, tolerance %g\n", right->name, worst, largest, tolerance);
    return 1;
}

int main(int count, char **arguments)
{
    struct accel_model_file *actual = NULL, *expected = NULL;
    struct accel_error error = {0};
    json_t *fixture;
    double tolerance;
    int failed = 0;

    if (count != 4)
        return 2;
    fixture = json_load_file(arguments[3], 0, NULL);
    tolerance = json_number_value(json_object_get(json_object_get(fixture, "tolerance"), "float32"));
    if (tolerance <= 0 || accel_model_file_open(arguments[1], NULL, &actual, &error) != ACCEL_OK ||
        accel_model_file_open(arguments[2], NULL, &expected, &error) != ACCEL_OK) {
        fprintf(stderr, "stages: %s\n", tolerance <= 0 ? "no tolerance" : error.text);
        return 2;
    }
    for (uint64_t i = 0; i < accel_model_file_tensor_count(expected); i++)
        failed |= differs(actual, expected, accel_model_file_tensor(expected, i), tolerance);
    if (accel_model_file_tensor_count(actual) != accel_model_file_tensor_count(expected)) {
        fprintf(stderr, "%llu tensors, not %llu\n", (unsigned long long)accel_model_file_tensor_count(actual),
                (unsigned long long)accel_model_file_tensor_count(expected));
        failed = 1;
    }
    accel_model_file_close(actual);
    accel_model_file_close(expected);
    json_decref(fixture);
    return failed;
}
