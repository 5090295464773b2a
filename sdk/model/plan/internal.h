/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the plan room: what a model's plan consists of, and what its files ask of each other. */
#ifndef ACCEL_SDK_MODEL_PLAN_INTERNAL_H
#define ACCEL_SDK_MODEL_PLAN_INTERNAL_H

#include <accel/model/describe.h>
#include <accel/model/plan.h>
#include <stdatomic.h>

/* What is planned, shared by a plan and the variants of it that fit, advice and the search for a context make. */
struct plan_subject {
    atomic_uint owners;
    struct accel_model_description *description;
    struct accel_model *model; /* NULL where the file's family does not run, or there is no file */
    struct accel_error reason; /* why there is none */
};

struct accel_model_plan {
    struct accel_context *context;
    struct accel_model_plan_options options; /* strings and settings are copies, kept in `texts` and `given` */
    struct accel_given *given;
    char *texts;
    struct plan_subject *subject;
    struct accel_session *session;       /* NULL: a sketch */
    struct accel_plan *sketch;           /* NULL: the session has the plan */
    struct accel_error reason;           /* why there is no session */
    struct accel_sketch stepped_sketch;  /* that of the description with the types that steps came to */
    struct accel_sketch_weight *stepped; /* its weights; NULL: nothing has stepped */
};

/* Steps matrices down and up as the settings of precision say; nothing where there is no session. */
int32_t model_plan_adapt(struct accel_model_plan *plan, struct accel_error *error);

/* Makes sketch and session again, with the types in `stepped`. */
int32_t model_plan_remake(struct accel_model_plan *plan, struct accel_error *error);

/* Plans `plan` again with settings on top of its own; the caller frees the result. */
int32_t model_plan_vary(const struct accel_model_plan *plan, const struct accel_given *more, uint32_t more_count,
                        struct accel_model_plan **out_plan, struct accel_error *error);

/* Whether a request may have that mode; NULL has none. */
uint32_t model_plan_mode_is(const char *mode);

/* The verdict of a plan; needed 0 where nothing is known. */
struct accel_plan_fit model_plan_verdict(const struct accel_model_plan *plan);

/* Most tokens of a sequence that the model was made for, 0 where nobody says. */
uint64_t model_plan_longest(const struct accel_model_plan *plan);

/* Values of a setting from low to high. Memory grows with the value, or shrinks where the smallest one that fits is
 * wanted. */
struct plan_range {
    const char *key;
    const char *unit; /* behind the number: "tok", "B" or empty */
    uint64_t low;
    uint64_t high;
    uint32_t smallest; /* 1: the smallest value that fits is wanted */
};

/* The value that lies `at` steps from the end of the range that takes least memory, with its unit. */
void plan_range_value(const struct plan_range *range, uint64_t at, char *value, size_t bytes);

/* The largest `at` that fits. *out_fits is 0 where not even 0 does. */
int32_t model_plan_search(const struct accel_model_plan *plan, const struct plan_range *range, uint64_t *out_at,
                          uint32_t *out_fits, struct accel_error *error);

#endif
