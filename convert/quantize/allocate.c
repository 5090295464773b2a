/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/quantize/allocate.h"

#include <stdlib.h>
#include <string.h>

#include "convert/quantize/calibration.h"
#include "convert/quantize/layout.h"
#include "convert/quantize/sensitivity.h"
#include "model/describe/mix.h"

/* Most iterations until the size of the header, which depends on the types, is stable. */
enum { ITERATIONS_MAX = 8 };

/* ---- layout ---- */

/* Lays the file out; may be repeated with other types. */
static int32_t lay_out(struct accel_quantize_job *job, const struct quantize_rules *rules, struct accel_error *error)
{
    free(job->header.data);
    free(job->places);
    free(job->config);
    memset(&job->header, 0, sizeof(job->header));
    job->places = NULL;
    job->config = NULL;
    job->type = rules->type;
    job->mix = rules->mix == NULL ? NULL : model_mix_name(rules->mix);
    job->file_type = rules->mix == NULL ? quantize_file_type(rules->type) : model_mix_number(rules->mix);
    quantize_choose(job, rules);
    job->layout = quantize_layout_for(job);
    return job->layout->header(job, error);
}

/* ---- budget ---- */

static int32_t choose_types(struct accel_quantize_job *job, uint64_t available, struct accel_error *error)
{
    int32_t code = quantize_budget_solve(job->menus, job->count, available, error);

    for (uint64_t i = 0; code == ACCEL_OK && i < job->count; i++) {
        const struct quantize_menu *menu = &job->menus[i];

        job->chosen[i] = menu->count == 0 ? ACCEL_TYPE_NONE : menu->candidates[menu->chosen].type;
    }
    return code;
}

static int32_t refuse(const struct accel_quantize_job *job, uint64_t budget, uint64_t least, struct accel_error *error)
{
    return accel_error_set(error, ACCEL_E_LIMIT,
                           "%s: a budget of %llu bytes; %llu are the least, with each matrix in its smallest candidate",
                           accel_model_file_path(job->file), (unsigned long long)budget, (unsigned long long)least);
}

/* Fits the types to the budget. The first layout uses the smallest candidates, to learn the bytes beside the matrices.
 */
static int32_t fit_budget(struct accel_quantize_job *job, const struct quantize_rules *rules, struct accel_error *error)
{
    const uint64_t budget = rules->options->budget;
    uint64_t available = quantize_menus_least(job->menus, job->count), beside = 0;
    int32_t code = choose_types(job, available, error);

    if (code == ACCEL_OK)
        code = lay_out(job, rules, error);
    if (code == ACCEL_OK && job->header.file_bytes > budget)
        return refuse(job, budget, job->header.file_bytes, error);
    for (uint32_t turn = 0; turn < ITERATIONS_MAX && code == ACCEL_OK; turn++) {
        uint64_t needed = job->header.file_bytes - quantize_menus_bytes(job->menus, job->count);

        /* The reserve only grows, so the loop terminates. */
        if (turn > 0 && job->header.file_bytes <= budget)
            return ACCEL_OK;
        beside = needed > beside ? needed : beside;
        available = budget > beside ? budget - beside : 0;
        code = choose_types(job, available, error);
        if (code == ACCEL_OK)
            code = lay_out(job, rules, error);
    }
    if (code == ACCEL_OK && job->header.file_bytes > budget)
        return refuse(job, budget, job->header.file_bytes, error);
    return code;
}

int32_t quantize_allocate(struct accel_quantize_job *job, const struct quantize_rules *rules, struct accel_error *error)
{
    int32_t code;

    if (rules->options->budget == 0)
        return lay_out(job, rules, error);
    job->chosen = calloc((size_t)job->count + 1, sizeof(*job->chosen));
    if (job->chosen == NULL)
        return accel_error_no_memory(error, "for the choice of %llu types", (unsigned long long)job->count);
    code = job->calibration.model == NULL ? ACCEL_OK : quantize_job_statistics(job, error);
    if (code == ACCEL_OK)
        code = quantize_sensitivity(job, rules, job->statistics, error);
    return code == ACCEL_OK ? fit_budget(job, rules, error) : code;
}
