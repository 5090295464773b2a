/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of quantization share: a file as another one, and the small model with a text that is no language. */
#ifndef TESTS_QUANTIZE_SUPPORT_H
#define TESTS_QUANTIZE_SUPPORT_H

#include <accel/model/quantize.h>

#include "session_support.h"

/* Writes the model file `in` as `out`: a whole run. */
static inline int32_t write_as(const char *in, const char *out, const struct accel_quantize_options *options,
                               uint64_t *out_resumed, struct accel_error *error)
{
    struct accel_model_file *file = NULL;
    struct accel_quantize_job *job = NULL;
    int32_t code = accel_model_file_open(in, NULL, &file, error);

    if (code == ACCEL_OK)
        code = accel_quantize_plan(file, options, &job, error);
    if (code == ACCEL_OK)
        code = accel_quantize_run(job, out, out_resumed, error);
    accel_quantize_free(job);
    accel_model_file_close(file);
    return code;
}

enum { SUBJECT_TOKENS = 60, SUBJECT_VOCABULARY = 512 };

struct subject {
    struct accel_context *context;
    struct accel_model *model;
    int32_t ids[SUBJECT_TOKENS];
};

/* Group set-up and tear-down: *state is the subject. */
static inline int make_subject(void **state)
{
    static struct subject subject;
    struct accel_error error = {0};
    char path[PATH_BYTES];

    stories_path(path);
    subject.context = make_context();
    OK(accel_model_open(path, NULL, &subject.model, &error));
    for (int i = 0; i < SUBJECT_TOKENS; i++)
        subject.ids[i] = (i * 37 + 11) % SUBJECT_VOCABULARY;
    *state = &subject;
    return 0;
}

static inline int free_subject(void **state)
{
    struct subject *subject = *state;

    close_all(NULL, subject->model, subject->context);
    return 0;
}

#endif
