/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/run/history.h"

#include <stdio.h>

#include "tools/accelctl/print/brief.h"
#include "tools/accelctl/print/rate.h"
#include "tools/accelctl/print/where.h"
#include "tools/history/history.h"

static uint32_t list_memory_classes(const struct opened *opened, const struct accel_plan *plan, uint64_t resident,
                                    struct accel_history_class *out_classes)
{
    uint32_t count = accel_plan_memory_count(plan);

    for (uint32_t i = 0; i < count; i++) {
        const struct accel_plan_memory *row = accel_plan_memory_get(plan, i);
        uint64_t now = 0, peak = 0;

        accel_memory_usage(opened->context, row->memory_class, &now, &peak);
        peak += row->memory_class == ACCEL_MEMORY_MAPPED ? resident : 0;
        out_classes[i] = (struct accel_history_class){row->memory_class, row->bytes, peak};
    }
    return count;
}

/* Returns the bytes that a decode step of the run read on average: the weights, and the tokens in the KV cache at
 * that time; 0 if it read experts from the disk, whose rate predicts no other run. The plan's steps read a full cache.
 * The cache grows by a token with each step until it is full. */
static uint64_t average_step_bytes(struct accel_session *session, const struct accel_generate_result *result)
{
    const struct accel_plan *plan = accel_session_plan(session);
    const struct accel_plan_speed *speed = accel_plan_speed_get(plan, 0);
    double context = (double)accel_session_context(session), end = (double)accel_session_length(session);
    double steps = (double)result->steps, grown = end - (double)result->prompt_tokens, cached, state = 0;
    const uint64_t sequences = (uint64_t)accel_plan_setting_find(plan, "sequences")->number;

    if (speed == NULL || context <= 0 || limits_experts(plan))
        return 0;
    grown = grown < 0 ? 0 : grown > steps ? steps : grown;
    cached = steps > 0 ? end - grown * grown / (2 * steps) : end;
    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++)
        if (accel_plan_memory_get(plan, i)->memory_class == ACCEL_MEMORY_STATE)
            state = (double)(accel_plan_memory_get(plan, i)->bytes / sequences);
    return cached >= context ? speed->step_bytes
                             : (uint64_t)((double)speed->step_bytes - state * (1 - cached / context));
}

int32_t history_record_run(const struct opened *opened, const struct accel_generate_result *result, uint64_t peak,
                           uint64_t resident, uint64_t disk, struct accel_error *error)
{
    const struct accel_plan *plan = accel_session_plan(opened->session);
    const char *version = plan_fact(plan, "driver.version");
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    struct accel_history_class classes[ACCEL_MEMORY_END];
    struct accel_history_record record = {.kind = ACCEL_HISTORY_RUN};
    uint32_t threads = 0;
    char driver[200], device[300];

    accel_plan_fit(plan, &fit, NULL);
    accel_plan_processor(plan, 0, &threads);
    snprintf(driver, sizeof(driver), "%s %s", accel_plan_device(plan)->driver, version == NULL ? "" : version);
    record.device = devices_text(plan, device, sizeof(device));
    record.driver = driver;
    record.model = accel_plan_model(plan);
    record.settings = accel_plan_variant(plan);
    record.context = accel_session_context(opened->session);
    record.planned = fit.needed;
    record.measured = peak;
    record.step_bytes = average_step_bytes(opened->session, result);
    record.read_bytes = limits_experts(plan) && disk != UINT64_MAX ? disk : 0;
    record.prompt = result->prompt_tokens;
    record.tokens = result->tokens;
    record.prompt_speed = token_rate(result->prompt_tokens, result->prompt_time);
    record.speed = token_rate(result->steps, result->decode_time);
    record.threads = threads;
    record.class_count = list_memory_classes(opened, plan, resident, classes);
    record.classes = classes;
    return history_add(&record, error);
}
