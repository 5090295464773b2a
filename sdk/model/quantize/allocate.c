/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/model/quantize/allocate.h"

#include <stdlib.h>
#include <string.h>

#include "sdk/model/quantize/calibration.h"
#include "sdk/model/quantize/layout.h"
#include "sdk/model/quantize/sensitivity.h"

/* The header grows and shrinks with types; a few turns settle it. */
enum { TURNS = 8 };

/* ---- layout ---- */

/* May be done again with other types. */
static int32_t lay_out(struct accel_quantize_job *job, const struct quantize_rules *rules, struct accel_error *error)
{
    free(job->header.data);
    free(job->places);
    free(job->config);
    memset(&job->header, 0, sizeof job->header);
    job->places = NULL;
    job->config = NULL;
    job->type = rules->type;
    quantize_choose(job, rules);
    job->layout = quantize_layout_for(job);
    return job->layout->header(job, error);
}

/* ---- budget ---- */

static int32_t take_types(struct accel_quantize_job *job, uint64_t room, struct accel_error *error)
{
    int32_t code = quantize_budget_solve(job->menus, job->count, room, error);

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

/* Begins with the smallest candidates: what the file has beside its matrices is known then. */
static int32_t fit(struct accel_quantize_job *job, const struct quantize_rules *rules, struct accel_error *error)
{
    const uint64_t budget = rules->options->budget;
    uint64_t room = quantize_menus_least(job->menus, job->count), beside = 0;
    int32_t code = take_types(job, room, error);

    if (code == ACCEL_OK)
        code = lay_out(job, rules, error);
    if (code == ACCEL_OK && job->header.file_bytes > budget)
        return refuse(job, budget, job->header.file_bytes, error);
    for (uint32_t turn = 0; turn < TURNS && code == ACCEL_OK; turn++) {
        uint64_t needed = job->header.file_bytes - quantize_menus_bytes(job->menus, job->count);

        /* Only ever more is set aside, so that this comes to an end. */
        if (turn > 0 && job->header.file_bytes <= budget)
            return ACCEL_OK;
        beside = needed > beside ? needed : beside;
        room = budget > beside ? budget - beside : 0;
        code = take_types(job, room, error);
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
    job->chosen = calloc((size_t)job->count + 1, sizeof *job->chosen);
    if (job->chosen == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for the choice of %llu types",
                               (unsigned long long)job->count);
    code = job->calibration.model == NULL ? ACCEL_OK : quantize_job_statistics(job, error);
    if (code == ACCEL_OK)
        code = quantize_sensitivity(job, rules, job->statistics, error);
    return code == ACCEL_OK ? fit(job, rules, error) : code;
}
