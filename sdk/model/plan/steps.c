/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice held against a plan: every step of a topic is planned, so that its bytes are those of a plan and not of a rule
 * of thumb. fit goes on from step to step; advise tries each on the plan as it is.
 */
#include <accel/tables.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/model/plan/internal.h"

enum { SETTINGS_MOST = 16, VALUE = 48 };

/* The texts that are made for one step; all others are the tables'. */
struct step_texts {
    char *settings;
    char *cost;
    char *text;
};

struct accel_model_plan_steps {
    struct accel_tables *tables;
    struct accel_model_plan_step *steps;
    struct step_texts *texts; /* one for each step */
    uint32_t count;
    uint32_t keep_running; /* 1: fit takes no step after which the file could not be run as it is */
};

/* One step that is being tried. */
struct trial {
    const struct accel_advice *advice;
    struct accel_given given[SETTINGS_MOST];
    uint32_t given_count;
    char value[VALUE]; /* of the setting that is searched */
    struct accel_model_plan *plan;
    struct accel_error error;
};

static int32_t no_memory(struct accel_error *error)
{
    return accel_error_set(error, ACCEL_E_MEMORY, "no memory for steps of advice");
}

/* ---- trying ---- */

/* The value of a setting in force as a whole number, 0 for a word. */
static uint64_t value_now(const struct accel_model_plan *plan, const char *key)
{
    const struct accel_plan_setting *setting = accel_plan_setting_find(accel_model_plan_plan(plan), key);

    return setting == NULL ? 0 : strtoull(setting->value, NULL, 10);
}

static const char *unit_of(const struct accel_model_plan *plan, const char *key)
{
    const struct accel_plan_setting *setting = accel_plan_setting_find(accel_model_plan_plan(plan), key);

    if (setting == NULL)
        return "";
    return strcmp(setting->unit, "bytes") == 0 ? "B" : setting->unit;
}

/* The value that the advice leaves to be found: the best that fits, else the one that takes least memory. */
static int32_t find_value(const struct accel_model_plan *plan, struct trial *trial)
{
    const struct accel_advice *advice = trial->advice;
    uint64_t now = value_now(plan, advice->search), bound = strtoull(advice->bound, NULL, 10), at = 0;
    struct plan_range range = {advice->search, unit_of(plan, advice->search), bound, now, 0};
    uint32_t fits = 0;
    int32_t code;

    if (advice->search_wanted == ACCEL_ADVICE_SMALLEST)
        range = (struct plan_range){advice->search, range.unit, now, bound, 1};
    if (range.low >= range.high)
        return ACCEL_OK;
    code = model_plan_search(plan, &range, &at, &fits, &trial->error);
    if (code != ACCEL_OK)
        return code;
    plan_range_value(&range, at, trial->value, sizeof trial->value);
    trial->given[trial->given_count++] = (struct accel_given){advice->search, trial->value, advice->place};
    return ACCEL_OK;
}

/* Plans with the settings of the advice. trial->plan stays NULL where it names none or they cannot be had; then
 * trial->error says why. */
static void try_advice(const struct accel_model_plan *plan, const struct accel_advice *advice, struct trial *trial)
{
    int32_t code = ACCEL_OK;

    *trial = (struct trial){.advice = advice};
    for (uint32_t i = 0; i < advice->set_count && i < SETTINGS_MOST - 1; i++)
        trial->given[trial->given_count++] = advice->set[i];
    if (advice->search_wanted != ACCEL_ADVICE_FIXED)
        code = find_value(plan, trial);
    if (code == ACCEL_OK && trial->given_count != 0)
        model_plan_vary(plan, trial->given, trial->given_count, &trial->plan, &trial->error);
}

/* 1 where every setting of the trial has that value already. */
static uint32_t is_in_force(const struct accel_model_plan *plan, const struct trial *trial)
{
    const struct accel_plan *before = accel_model_plan_plan(plan), *after = accel_model_plan_plan(trial->plan);

    for (uint32_t i = 0; i < trial->given_count; i++) {
        const struct accel_plan_setting *was = accel_plan_setting_find(before, trial->given[i].key);
        const struct accel_plan_setting *is = accel_plan_setting_find(after, trial->given[i].key);

        if (was == NULL || is == NULL || strcmp(was->value, is->value) != 0)
            return 0;
    }
    return 1;
}

/* ---- records ---- */

static char *settings_text(const struct trial *trial)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    if (out == NULL)
        return NULL;
    for (uint32_t i = 0; i < trial->given_count; i++)
        fprintf(out, "%s--set %s=%s", i == 0 ? "" : " ", trial->given[i].key, trial->given[i].value);
    fclose(out);
    return text;
}

static char *cost_text(const struct accel_advice *advice)
{
    size_t bytes = strlen(advice->cost) + strlen(advice->cost_origin) + 4;
    char *text = malloc(bytes);

    if (text != NULL)
        snprintf(text, bytes, "%s%s%s%s", advice->cost, advice->cost_origin[0] == '\0' ? "" : " (", advice->cost_origin,
                 advice->cost_origin[0] == '\0' ? "" : ")");
    return text;
}

/* Fewer bytes in all, or on the device that lacks most. */
static uint32_t saves(const struct accel_model_plan *plan, const struct accel_model_plan *tried)
{
    struct accel_plan_fit before = model_plan_verdict(plan), after = model_plan_verdict(tried);

    return after.needed < before.needed || after.short_by < before.short_by;
}

/* What came of a trial, and why. */
static uint32_t judge(const struct accel_model_plan *plan, const struct trial *trial, uint32_t must_save,
                      uint32_t keep_running, const char **out_text)
{
    *out_text = "";
    if (trial->error.code != ACCEL_OK) {
        *out_text = trial->error.text;
        return ACCEL_PLAN_STEP_REFUSED;
    }
    if (trial->plan == NULL)
        return ACCEL_PLAN_STEP_OFFERED;
    if (is_in_force(plan, trial)) {
        *out_text = "it is so already";
        return ACCEL_PLAN_STEP_SAME;
    }
    if (must_save && !saves(plan, trial->plan)) {
        *out_text = "it saves nothing here";
        return ACCEL_PLAN_STEP_SAME;
    }
    if (keep_running && plan->session != NULL && trial->plan->session == NULL) {
        *out_text = trial->plan->reason.text;
        return ACCEL_PLAN_STEP_REFUSED;
    }
    return ACCEL_PLAN_STEP_OFFERED;
}

static int32_t add_step(struct accel_model_plan_steps *list, const struct accel_model_plan *plan,
                        const struct trial *trial, uint32_t state, const char *why, struct accel_error *error)
{
    struct accel_plan_fit before = model_plan_verdict(plan);
    struct accel_plan_fit after = trial->plan == NULL ? before : model_plan_verdict(trial->plan);
    struct step_texts *texts = &list->texts[list->count];

    *texts = (struct step_texts){settings_text(trial), cost_text(trial->advice), strdup(why)};
    list->steps[list->count++] = (struct accel_model_plan_step){.size = sizeof list->steps[0],
                                                                .state = state,
                                                                .name = trial->advice->id,
                                                                .words = trial->advice->text,
                                                                .settings = texts->settings,
                                                                .cost = texts->cost,
                                                                .needs = trial->advice->needs,
                                                                .because = trial->advice->because,
                                                                .place = trial->advice->place,
                                                                .text = texts->text,
                                                                .before = before.needed,
                                                                .after = after.needed,
                                                                .short_by = after.short_by};
    return texts->settings == NULL || texts->cost == NULL || texts->text == NULL ? no_memory(error) : ACCEL_OK;
}

/* Names the topics there are. */
static int32_t refuse_topic(const struct accel_tables *tables, const char *topic, struct accel_error *error)
{
    char names[200] = "";

    for (uint32_t i = 0; i < accel_advice_topic_count(tables); i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i == 0 ? "" : ", ",
                 accel_advice_topic_get(tables, i, NULL));
    accel_error_set(error, ACCEL_E_NOT_FOUND, "there is no advice on \"%.60s\"", topic);
    accel_error_remedy(error, "topics: %s", names);
    return ACCEL_E_NOT_FOUND;
}

static int32_t make_list(const struct accel_model_plan *plan, const char *topic,
                         struct accel_model_plan_steps **out_list, struct accel_error *error)
{
    struct accel_model_plan_steps *list = calloc(1, sizeof *list);
    uint32_t most;
    int32_t code;

    *out_list = NULL;
    if (list == NULL)
        return no_memory(error);
    code = accel_tables_read(plan->context, &list->tables, error);
    most = code == ACCEL_OK ? accel_advice_count(list->tables, topic) : 0;
    if (code == ACCEL_OK && most == 0)
        code = refuse_topic(list->tables, topic, error);
    list->steps = calloc((size_t)most + 1, sizeof *list->steps);
    list->texts = calloc((size_t)most + 1, sizeof *list->texts);
    if (code == ACCEL_OK && (list->steps == NULL || list->texts == NULL))
        code = no_memory(error);
    if (code == ACCEL_OK)
        *out_list = list;
    else
        accel_model_plan_steps_free(list);
    return code;
}

static void clear_list(struct accel_model_plan_steps *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        free(list->texts[i].settings);
        free(list->texts[i].cost);
        free(list->texts[i].text);
    }
    list->count = 0;
}

void accel_model_plan_steps_free(struct accel_model_plan_steps *list)
{
    if (list == NULL)
        return;
    clear_list(list);
    free(list->texts);
    free(list->steps);
    accel_tables_free(list->tables);
    free(list);
}

uint32_t accel_model_plan_step_count(const struct accel_model_plan_steps *steps)
{
    return steps->count;
}

const struct accel_model_plan_step *accel_model_plan_step_get(const struct accel_model_plan_steps *steps,
                                                              uint32_t index)
{
    return index < steps->count ? &steps->steps[index] : NULL;
}

/* ---- the two ways ---- */

/* Conditions are asked with the facts of the plan. */
static uint32_t applies(const struct accel_model_plan_steps *list, const struct accel_advice *advice,
                        const struct accel_model_plan *plan)
{
    const struct accel_plan *inner = accel_model_plan_plan(plan);
    uint32_t count = accel_plan_fact_count(inner);
    struct accel_given *facts = calloc((size_t)count + 1, sizeof *facts);
    uint32_t holds;

    for (uint32_t i = 0; facts != NULL && i < count; i++)
        facts[i] = *accel_plan_fact_get(inner, i);
    holds = facts != NULL && accel_advice_applies(list->tables, advice, facts, count);
    free(facts);
    return holds;
}

int32_t accel_model_plan_advise(const struct accel_model_plan *plan, const char *topic,
                                struct accel_model_plan_steps **out_steps, struct accel_error *error)
{
    struct accel_model_plan_steps *list;
    uint32_t must_save = strcmp(topic, "oom") == 0;
    int32_t code;

    *out_steps = NULL;
    code = make_list(plan, topic, &list, error);
    for (uint32_t i = 0; code == ACCEL_OK && i < accel_advice_count(list->tables, topic); i++) {
        const struct accel_advice *advice = accel_advice_get(list->tables, topic, i);
        struct trial trial;
        const char *why;
        uint32_t state;

        if (!applies(list, advice, plan))
            continue;
        try_advice(plan, advice, &trial);
        state = judge(plan, &trial, must_save, 0, &why);
        code = add_step(list, plan, &trial, state, why, error);
        accel_model_plan_free(trial.plan);
    }
    if (code == ACCEL_OK)
        *out_steps = list;
    else
        accel_model_plan_steps_free(list);
    return code;
}

/* Rows of advice, as bits. */
enum { ROWS_MOST = 64 };

/* One step of fit: *plan is replaced where it helps. */
static int32_t take_step(struct accel_model_plan_steps *list, const struct accel_advice *advice,
                         struct accel_model_plan **plan, struct accel_error *error)
{
    struct trial trial;
    const char *why;
    uint32_t state;
    int32_t code;

    try_advice(*plan, advice, &trial);
    state = judge(*plan, &trial, 1, list->keep_running, &why);
    if (state == ACCEL_PLAN_STEP_OFFERED && trial.plan != NULL)
        state = ACCEL_PLAN_STEP_APPLIED;
    code = add_step(list, *plan, &trial, state, why, error);
    if (code == ACCEL_OK && state == ACCEL_PLAN_STEP_APPLIED) {
        accel_model_plan_free(*plan);
        *plan = trial.plan;
    } else {
        accel_model_plan_free(trial.plan);
    }
    return code;
}

/* A step that fit leaves out. */
static int32_t pass_over(struct accel_model_plan_steps *list, const struct accel_advice *advice,
                         const struct accel_model_plan *plan, struct accel_error *error)
{
    struct trial trial = {.advice = advice};

    return add_step(list, plan, &trial, ACCEL_PLAN_STEP_SAME, "the others suffice without it", error);
}

/* Step by step until it fits, without those in `left_out`; *out_taken gets those that were applied. */
static int32_t walk(struct accel_model_plan_steps *list, const struct accel_model_plan *plan, uint64_t left_out,
                    struct accel_model_plan **out_fitted, uint64_t *out_taken, struct accel_error *error)
{
    struct accel_model_plan *fitted = NULL;
    uint32_t count = accel_advice_count(list->tables, "oom");
    int32_t code = model_plan_vary(plan, NULL, 0, &fitted, error);

    clear_list(list);
    *out_taken = 0;
    for (uint32_t i = 0; code == ACCEL_OK && i < count && i < ROWS_MOST && !model_plan_verdict(fitted).fits; i++) {
        const struct accel_advice *advice = accel_advice_get(list->tables, "oom", i);

        if (!applies(list, advice, fitted))
            continue;
        if ((left_out >> i & 1) != 0) {
            code = pass_over(list, advice, fitted, error);
            continue;
        }
        code = take_step(list, advice, &fitted, error);
        if (code == ACCEL_OK && list->steps[list->count - 1].state == ACCEL_PLAN_STEP_APPLIED)
            *out_taken |= UINT64_C(1) << i;
    }
    *out_fitted = fitted;
    return code;
}

/* A late step may save so much that earlier ones were for nothing: the costliest that can be left out is, one by one.
 */
static int32_t prune(struct accel_model_plan_steps *list, const struct accel_model_plan *plan, uint64_t taken,
                     uint64_t *out_left_out, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    *out_left_out = 0;
    for (uint32_t i = ROWS_MOST; i > 0 && code == ACCEL_OK; i--) {
        const uint64_t bit = UINT64_C(1) << (i - 1);
        struct accel_model_plan *tried = NULL;
        uint64_t still;

        if ((taken & bit) == 0)
            continue;
        code = walk(list, plan, *out_left_out | bit, &tried, &still, error);
        /* Steps that the first way had no need of are no substitute. */
        if (code == ACCEL_OK && model_plan_verdict(tried).fits && (still & ~taken) == 0)
            *out_left_out |= bit;
        accel_model_plan_free(tried);
    }
    return code;
}

int32_t accel_model_plan_fit(const struct accel_model_plan *plan, struct accel_model_plan **out_fitted,
                             struct accel_model_plan_steps **out_steps, struct accel_error *error)
{
    struct accel_model_plan_steps *list = NULL;
    struct accel_model_plan *fitted = NULL;
    uint64_t taken = 0, left_out = 0;
    int32_t code;

    *out_fitted = NULL;
    *out_steps = NULL;
    code = make_list(plan, "oom", &list, error);
    if (code == ACCEL_OK) {
        list->keep_running = 1;
        code = walk(list, plan, 0, &fitted, &taken, error);
    }
    /* What a run of this file cannot have is better than nothing that fits. */
    if (code == ACCEL_OK && !model_plan_verdict(fitted).fits && plan->session != NULL) {
        accel_model_plan_free(fitted);
        fitted = NULL;
        list->keep_running = 0;
        code = walk(list, plan, 0, &fitted, &taken, error);
    }
    if (code == ACCEL_OK && taken != 0 && model_plan_verdict(fitted).fits) {
        accel_model_plan_free(fitted);
        fitted = NULL;
        code = prune(list, plan, taken, &left_out, error);
        /* The trials of pruning have overwritten the list. */
        if (code == ACCEL_OK)
            code = walk(list, plan, left_out, &fitted, &taken, error);
    }
    if (code == ACCEL_OK) {
        *out_fitted = fitted;
        *out_steps = list;
        return ACCEL_OK;
    }
    accel_model_plan_free(fitted);
    accel_model_plan_steps_free(list);
    return code;
}
