/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the records of settings, and decides the number of threads and their cores. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/plan/settings.h"
#include "core/profile/keys.h"

static uint32_t origin_of(uint32_t layer)
{
    if (layer == ACCEL_LAYER_BUILTIN)
        return ACCEL_ORIGIN_BUILTIN;
    return layer < ACCEL_LAYER_ENVIRONMENT ? ACCEL_ORIGIN_PROFILE : ACCEL_ORIGIN_GIVEN;
}

int32_t accel_plan_make_records(struct accel_plan *plan, struct accel_error *error)
{
    uint32_t count = plan->settings->count;
    plan->records = accel_arena_array(&plan->arena, count, sizeof(*plan->records));
    if (plan->records == NULL)
        return accel_error_no_memory(error, "for a plan");
    for (uint32_t i = 0; i < count; i++) {
        const struct accel_profile_setting *setting = &plan->settings->settings[i];
        plan->records[i] = (struct accel_plan_setting){
            .size = sizeof(plan->records[i]),
            .origin = origin_of(setting->layer),
            .key = setting->key,
            .value = setting->value,
            .unit = setting->unit,
            .place = setting->place,
            .reason = setting->reason,
            .overridden = setting->overridden,
            .overridden_count = setting->overridden_count,
            .word = setting->word,
            .number = setting->number,
        };
    }
    return ACCEL_OK;
}

/* Replaces "auto", or a number that is not available; the profile's value becomes the first overridden one. */
void accel_plan_decide(struct accel_plan *plan, const struct accel_profile_setting *setting, const char *value,
                       uint32_t origin, const char *place, const char *reason)
{
    const size_t index = (size_t)(setting - plan->settings->settings);
    const struct accel_setting_row *row = accel_setting_row_get((uint32_t)index);
    const bool is_number = row && *value >= '0' && *value <= '9';
    struct accel_plan_setting *record = &plan->records[index];
    struct accel_plan_overridden *overridden;
    /* The shape plan, session and plan may decide the same value one after the other. */
    if (strcmp(record->value, value) == 0)
        return;
    overridden = accel_arena_array(&plan->arena, record->overridden_count + (size_t)1, sizeof(*overridden));
    if (overridden == NULL) {
        plan->out_of_memory = true;
        return;
    }
    overridden[0] = (struct accel_plan_overridden){record->value, record->unit, record->place, record->reason};
    for (uint32_t i = 0; i < record->overridden_count; i++)
        overridden[i + 1] = record->overridden[i];
    record->overridden = overridden;
    record->overridden_count++;
    record->value = value;
    record->word = accel_key_word(value);
    /* A number has its setting's unit, and a word has none. */
    record->unit = is_number ? row->unit : "";
    record->number = is_number ? strtoll(value, NULL, 10) : record->word == ACCEL_WORD_TRUE;
    record->place = place;
    record->reason = reason;
    record->origin = origin;
}

/* Handles a request for more threads than the machine has: the policy decides whether fewer suffice. */
static int32_t fewer_threads(struct accel_plan *plan, struct accel_thread_policy *policy, struct accel_error *error)
{
    const struct accel_topology *topology = plan->context->topology;
    const struct accel_profile_setting *fallback = &plan->settings->values->fallback_threads;
    uint32_t wanted = policy->wanted;
    int32_t code;
    if (fallback->word == ACCEL_WORD_DENY)
        return ACCEL_E_FALLBACK;
    accel_error_clear(error);
    policy->wanted = accel_topology_machine(topology)->allowed_cpu_count;
    code = accel_topology_threads(topology, policy, &plan->threads, error);
    if (code == ACCEL_OK && fallback->word == ACCEL_WORD_WARN)
        accel_log_write(&plan->context->log, ACCEL_LOG_WARN, "plan", "fallback=threads from=%u to=%u", wanted,
                        plan->threads.count);
    if (code == ACCEL_OK)
        plan->fewer = accel_plan_text(plan, "%u threads of %u that were requested", plan->threads.count, wanted);
    return code;
}

/* Refuses the number of threads and names its origin. */
static int32_t refuse_threads(const struct accel_profile_setting *threads, const struct accel_error *why,
                              struct accel_error *error)
{
    if (!threads->is_number || why->code == ACCEL_E_MEMORY)
        return accel_error_copy(error, why);
    accel_error_by(error, accel_setting_origin(threads), why->code, "%.160s: cpu.threads=%s: %s", threads->place,
                   threads->value, why->text);
    return accel_error_advise(
        error, why->code, "%s%s", why->remedy,
        why->code == ACCEL_E_FALLBACK ? ", or set fallback.threads to warn or allow, and fewer will do" : "");
}

int32_t accel_plan_choose_threads(struct accel_plan *plan, struct accel_error *error)
{
    const struct accel_topology *topology = plan->context->topology;
    const struct accel_profile_setting *threads = &plan->settings->values->cpu_threads;
    const struct accel_profile_setting *pin = &plan->settings->values->cpu_pin;
    uint32_t power = plan->settings->values->power.word;
    uint32_t most = plan->device ? plan->device->info.facts->limits->threads : 0;
    struct accel_thread_policy policy = {0};
    struct accel_error why = {0};
    int32_t code;
    /* The device uses no thread team: one thread index, wherever the caller runs. */
    if (most == 0)
        return ACCEL_OK;
    if (power == ACCEL_WORD_EFFICIENT)
        policy.flags = ACCEL_THREADS_SLOW;
    else if (power == ACCEL_WORD_PERFORMANCE)
        policy.flags = ACCEL_THREADS_FAST;
    policy.wanted = threads->is_number ? (uint32_t)threads->number : 0;
    code = accel_topology_threads(topology, &policy, &plan->threads, &why);
    if (code == ACCEL_OK && policy.wanted == 0 && plan->threads.count > most) {
        accel_thread_plan_free(&plan->threads);
        policy.wanted = most;
        code = accel_topology_threads(topology, &policy, &plan->threads, &why);
    } else if (code == ACCEL_E_FALLBACK) {
        code = fewer_threads(plan, &policy, &why);
    }
    if (code != ACCEL_OK)
        return refuse_threads(threads, &why, error);
    code = accel_plan_group_cores(plan, error);
    if (code != ACCEL_OK)
        return code;
    plan->pinned = pin->number != 0 && !accel_topology_machine(topology)->recorded;
    if (threads->is_number && plan->threads.count == (uint64_t)threads->number)
        return ACCEL_OK;
    accel_plan_decide(plan, threads, accel_plan_text(plan, "%u", plan->threads.count), ACCEL_ORIGIN_MEASURED,
                      accel_plan_text(plan, "%s", plan->threads.origin),
                      accel_plan_text(plan, "%s", plan->threads.reason));
    return ACCEL_OK;
}

int32_t accel_plan_setting_override(struct accel_plan *plan, const char *key, const char *value, const char *place,
                                    const char *reason, struct accel_error *error)
{
    const struct accel_plan_setting *record;
    if (plan == NULL || key == NULL || value == NULL || place == NULL || reason == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_setting_override: an argument is NULL");
    record = accel_plan_setting_find(plan, key);
    if (record == NULL)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "accel_plan_setting_override: no setting is called %s", key);
    accel_plan_decide(plan, &plan->settings->settings[record - plan->records], accel_plan_text(plan, "%s", value),
                      ACCEL_ORIGIN_FILE, accel_plan_text(plan, "%s", place), accel_plan_text(plan, "%s", reason));
    return accel_plan_finish(plan, ACCEL_OK, error);
}

uint32_t accel_plan_setting_count(const struct accel_plan *plan)
{
    return plan ? plan->settings->count : 0;
}

const struct accel_plan_setting *accel_plan_setting_get(const struct accel_plan *plan, uint32_t index)
{
    return index < accel_plan_setting_count(plan) ? &plan->records[index] : NULL;
}

const struct accel_plan_setting *accel_plan_setting_find(const struct accel_plan *plan, const char *key)
{
    for (uint32_t i = 0; key && i < accel_plan_setting_count(plan); i++)
        if (strcmp(plan->records[i].key, key) == 0)
            return &plan->records[i];
    return NULL;
}

int32_t accel_plan_processor(const struct accel_plan *plan, uint32_t thread, uint32_t *out_threads)
{
    uint32_t threads = plan && plan->threads.count ? plan->threads.count : 1;
    if (out_threads)
        *out_threads = threads;
    if (plan == NULL || !plan->pinned || thread >= plan->threads.count)
        return -1;
    return (int32_t)plan->threads.cpus[thread];
}
