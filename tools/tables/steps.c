/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluates advice on a plan: every step of a topic is planned, so its bytes are those of a real plan and not of a
 * rule of thumb. fit accumulates steps; advise tries each step on the unchanged plan.
 */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/model/describe.h>

#include "core/base/arena.h"
#include "core/base/strbuf.h"
#include "core/profile/keys.h"
#include "tools/tables/steps.h"
#include "tools/tables/tables.h"

enum { SETTINGS_MOST = 16, VALUE = 48 };

struct plan_steps {
    struct accel_tables *tables;
    struct plan_step *steps;
    uint32_t count;
    struct accel_arena texts; /* generated for the steps; all other texts belong to the tables */
    bool must_run;            /* fit skips steps after which the current file could not run */
    bool are_searches_last;   /* fit searches values with the fixed steps in force */
};

/* One step under trial. */
struct trial {
    const struct accel_advice *advice;
    struct accel_named_value overrides[SETTINGS_MOST];
    uint32_t override_count;
    char value[VALUE]; /* value of the searched setting */
    bool is_least;     /* no value of the searched setting fits: with this one the plan lacks least */
    struct accel_model_plan *plan;
    struct accel_error error;
    struct accel_error reason; /* why the tried plan does not run */
    char idle[400];            /* a value that a run does not honor, or that changes little */
};

/* Returns the verdict of a plan; `needed` is 0 if it is unknown. */
static struct accel_plan_fit verdict_of(const struct accel_model_plan *plan)
{
    struct accel_plan_fit fit = {.size = sizeof(fit)};

    if (accel_plan_fit(accel_model_plan_plan(plan), &fit, NULL) != ACCEL_OK)
        fit = (struct accel_plan_fit){.size = sizeof(fit), .budget_origin = ""};
    return fit;
}

/* ---- trials ---- */

/* Returns the effective value of a setting as an integer, 0 for a word. */
static uint64_t value_now(const struct accel_model_plan *plan, const char *key)
{
    const struct accel_plan_setting *setting = accel_plan_setting_find(accel_model_plan_plan(plan), key);

    return setting == NULL ? 0 : strtoull(setting->value, NULL, 10);
}

/* Returns the bound of the value that the advice searches: a number, or a fact of the plan. */
static uint64_t bound_of(const struct accel_model_plan *plan, const struct accel_advice *advice)
{
    const struct accel_plan *inner = accel_model_plan_plan(plan);

    for (uint32_t i = 0; i < accel_plan_fact_count(inner); i++)
        if (strcmp(accel_plan_fact_get(inner, i)->key, advice->bound) == 0)
            return strtoull(accel_plan_fact_get(inner, i)->value, NULL, 10);
    return strtoull(advice->bound, NULL, 10);
}

static const char *unit_of(const struct accel_model_plan *plan, const char *key)
{
    const struct accel_plan_setting *setting = accel_plan_setting_find(accel_model_plan_plan(plan), key);

    if (setting == NULL)
        return "";
    return strcmp(setting->unit, "bytes") == 0 ? "B" : setting->unit;
}

/* Searches the value that the advice leaves open: the best that fits, else the one with which the plan lacks least. */
static int32_t find_value(const struct accel_model_plan *plan, struct trial *trial)
{
    const struct accel_advice *advice = trial->advice;
    uint64_t now = value_now(plan, advice->search), bound = bound_of(plan, advice), value = 0;
    struct accel_model_plan_range range = {advice->search, unit_of(plan, advice->search), bound, now, 0, 0};
    uint32_t fits = 0;
    int32_t code;

    if (advice->search_wanted == ACCEL_ADVICE_SMALLEST)
        range = (struct accel_model_plan_range){advice->search, range.unit, now, bound, 1, 0};
    if (range.low >= range.high)
        return ACCEL_OK;
    code = accel_model_plan_search(plan, &range, &value, &fits, &trial->error);
    if (code != ACCEL_OK)
        return code;
    trial->is_least = !fits;
    snprintf(trial->value, sizeof(trial->value), "%" PRIu64 "%s", value, range.unit);
    trial->overrides[trial->override_count++] = (struct accel_named_value){advice->search, trial->value, advice->place};
    return ACCEL_OK;
}

/* Plans with the settings of the advice. trial->plan stays NULL if the advice has no settings or they cannot be
 * planned; trial->error gives the reason then. */
static void try_advice(const struct accel_model_plan *plan, const struct accel_advice *advice, struct trial *trial)
{
    int32_t code = ACCEL_OK;

    *trial = (struct trial){.advice = advice};
    for (uint32_t i = 0; i < advice->set_count && i < SETTINGS_MOST - 1; i++)
        trial->overrides[trial->override_count++] = advice->set[i];
    if (advice->search_wanted != ACCEL_ADVICE_FIXED)
        code = find_value(plan, trial);
    if (code == ACCEL_OK && trial->override_count != 0)
        accel_model_plan_vary(plan, trial->overrides, trial->override_count, &trial->plan, &trial->error);
}

/* Returns whether every setting of the trial already has its value. */
static bool is_in_force(const struct accel_model_plan *plan, const struct trial *trial)
{
    const struct accel_plan *before = accel_model_plan_plan(plan), *after = accel_model_plan_plan(trial->plan);

    for (uint32_t i = 0; i < trial->override_count; i++) {
        const struct accel_plan_setting *was = accel_plan_setting_find(before, trial->overrides[i].key);
        const struct accel_plan_setting *is = accel_plan_setting_find(after, trial->overrides[i].key);

        if (was == NULL || is == NULL || strcmp(was->value, is->value) != 0)
            return false;
    }
    return true;
}

/* Formats a text into the arena; NULL without memory. */
ACCEL_PRINTF(2, 3) static char *text_of(struct accel_arena *arena, const char *format, ...)
{
    struct accel_strbuf buf = {0};
    va_list values;
    char *text;

    va_start(values, format);
    accel_strbuf_vprintf(&buf, format, values);
    va_end(values);
    text = buf.failed ? NULL : accel_arena_strdup(arena, accel_strbuf_get(&buf));
    accel_strbuf_free(&buf);
    return text;
}

/* ---- weights of a quantized file ---- */

/* Returns the bits of a type by its name: 4 for "q4", "q4_1", "iq4_nl" and "nf4", 16 for "bf16"; 0 if the name has
 * none. */
static unsigned long bits_of(const char *type)
{
    return strtoul(type + strcspn(type, "0123456789"), NULL, 10);
}

/* Returns the type of most of the file's weights if it is quantized, else NULL. */
static const char *quantized_type(const struct accel_model_plan *plan)
{
    const struct accel_plan *inner = accel_model_plan_plan(plan);

    for (uint32_t i = 0; i < accel_plan_fact_count(inner); i++) {
        const struct accel_named_value *fact = accel_plan_fact_get(inner, i);

        if (strcmp(fact->key, "model.weights") == 0 && bits_of(fact->value) != 0 && bits_of(fact->value) < 16)
            return fact->value;
    }
    return NULL;
}

/* Returns whether a step for all weights requests no fewer bits than the file has: precision lost by rounding cannot
 * be restored. */
static bool has_fewer_bits(const struct accel_model_plan *plan, struct trial *trial)
{
    const char *type = quantized_type(plan);

    for (uint32_t i = 0; type != NULL && i < trial->override_count; i++) {
        const unsigned long wanted = bits_of(trial->overrides[i].value);

        if (strcmp(trial->overrides[i].key, "weights.type") != 0 || wanted < bits_of(type))
            continue;
        snprintf(trial->idle, sizeof(trial->idle),
                 wanted == bits_of(type)
                     ? "most weights of the file are %.30s already"
                     : "weights of the file are %.30s, and more bits do not bring back what rounding "
                       "lost: take a file with more",
                 type);
        return true;
    }
    return false;
}

/* Matrices of a model, and those that a trial converts from the type of the file. */
struct converted {
    uint32_t count;
    uint32_t all;
    uint64_t elements;
    uint64_t all_elements;
};

static struct converted count_converted(const struct accel_model_plan *plan)
{
    const struct accel_plan *inner = accel_model_plan_plan(plan);
    struct converted sum = {0};

    for (uint32_t i = 0; i < accel_plan_part_count(inner); i++) {
        const struct accel_plan_part *part = accel_plan_part_get(inner, i);
        const bool is_converted = strcmp(part->type_name, part->file_type) != 0;

        if (strcmp(part->role, "norm") == 0)
            continue;
        sum.all += part->count;
        sum.all_elements += part->elements;
        sum.count += is_converted ? part->count : 0;
        sum.elements += is_converted ? part->elements : 0;
    }
    return sum;
}

/* Returns whether the trial sets the type of weights, and a run with it converts less than half of the elements of a
 * quantized file: the others have as few bits. */
static bool converts_few(const struct accel_model_plan *plan, const struct trial *trial, struct converted *out_sum)
{
    bool sets_type = false;

    for (uint32_t i = 0; i < trial->override_count; i++)
        sets_type = sets_type || strcmp(trial->overrides[i].key, "weights.type") == 0;
    if (!sets_type || trial->plan == NULL || quantized_type(plan) == NULL)
        return false;
    *out_sum = count_converted(trial->plan);
    return out_sum->elements < out_sum->all_elements / 2;
}

/* accelctl quantize refuses a quantized file: then the step requires another file. It does not quantize transposed
 * matrices, which a run converts when it loads them: then the step requires no file. Neither does a step that leaves
 * most matrices as they are. */
static char *needs_text(struct accel_arena *arena, const struct accel_model_plan *plan, const struct trial *trial)
{
    const struct accel_advice *advice = trial->advice;
    struct converted sum;
    static const char command[] = "accelctl quantize --type ";
    const char *in = strstr(advice->needs, " IN OUT");
    bool is_loaded = accel_model_description_is_transposed(accel_model_plan_description(plan)) != 0 ||
                     converts_few(plan, trial, &sum);

    if (in == NULL || strncmp(advice->needs, command, sizeof(command) - 1) != 0 ||
        (quantized_type(plan) == NULL && !is_loaded))
        return accel_arena_strdup(arena, advice->needs);
    if (is_loaded)
        return accel_arena_strdup(arena, "");
    /* Models are also published in this type, as gpt-oss: there are no other weights. */
    return text_of(arena,
                   strcmp(quantized_type(plan), "mxfp4") == 0
                       ? "%.*s --requantize IN OUT if the model was published in mxfp4; else of its original weights"
                       : "%.*s ORIGINAL OUT, with the original weights (F16, BF16 or F32): this file is quantized",
                   (int)(in - advice->needs), advice->needs);
}

/* ---- records ---- */

static char *settings_text(struct accel_arena *arena, const struct trial *trial)
{
    char *text = accel_arena_strdup(arena, "");

    for (uint32_t i = 0; i < trial->override_count && text != NULL; i++)
        text = text_of(arena, "%s%s--set %s=%s", text, i == 0 ? "" : " ", trial->overrides[i].key,
                       trial->overrides[i].value);
    return text;
}

enum { TYPES = 200 };

/* Writes the types of a plan's matrices, each once, in the order of its parts; none of no plan. */
static void write_types(const struct accel_model_plan *plan, char text[TYPES])
{
    const struct accel_plan *inner = plan == NULL ? NULL : accel_model_plan_plan(plan);

    text[0] = '\0';
    for (uint32_t i = 0; inner != NULL && i < accel_plan_part_count(inner); i++) {
        const struct accel_plan_part *part = accel_plan_part_get(inner, i);
        const size_t used = strlen(text);
        bool is_listed = strcmp(part->role, "norm") == 0;

        for (uint32_t j = 0; j < i && !is_listed; j++)
            is_listed = strcmp(accel_plan_part_get(inner, j)->role, "norm") != 0 &&
                        strcmp(accel_plan_part_get(inner, j)->type_name, part->type_name) == 0;
        if (!is_listed)
            snprintf(text + used, TYPES - used, "%s%s", used == 0 ? "" : ", ", part->type_name);
    }
}

/* Returns the types that a trial gives to matrices, or an empty text if it changes none. */
static char *weights_text(struct accel_arena *arena, const struct accel_model_plan *plan, const struct trial *trial)
{
    char before[TYPES], after[TYPES];

    write_types(plan, before);
    write_types(trial->plan, after);
    return accel_arena_strdup(arena, strcmp(before, after) == 0 ? "" : after);
}

static char *cost_text(struct accel_arena *arena, const struct accel_model_plan *plan, const struct trial *trial)
{
    const struct accel_advice *advice = trial->advice;
    const bool has_origin = advice->cost_origin[0] != '\0';
    struct converted sum;
    char few[160] = "";

    if (converts_few(plan, trial, &sum))
        snprintf(few, sizeof(few),
                 "converts %" PRIu32 " of %" PRIu32 " matrices, as the others have as few bits; if all are "
                 "converted: ",
                 sum.count, sum.all);
    return text_of(arena, "%s%s%s%s%s", few, advice->cost, has_origin ? " (" : "", advice->cost_origin,
                   has_origin ? ")" : "");
}

/* Returns whether the trial needs fewer bytes, or more devices or another split of the layers lessen what a device
 * lacks. A split lessens nothing if all devices together have too little. */
static bool saves_memory(const struct accel_model_plan *plan, const struct accel_model_plan *tried)
{
    struct accel_plan_fit before = verdict_of(plan), after = verdict_of(tried);

    return after.needed < before.needed ||
           (after.short_by < before.short_by && (after.budget > before.budget || after.needed <= after.budget));
}

/* Returns the note on the limit of experts that a plan has chosen by itself (a driver's option expert_bytes), NULL if
 * it has none. */
static const struct accel_plan_note *find_limit(const struct accel_model_plan *plan)
{
    const struct accel_plan *inner = accel_model_plan_plan(plan);

    for (uint32_t i = 0; i < accel_plan_note_count(inner); i++) {
        const struct accel_plan_note *note = accel_plan_note_get(inner, i);
        const char *option = strchr(note->key, '.');

        if (option != NULL && strcmp(option, ".expert_bytes") == 0 && accel_plan_setting_find(inner, note->key) != NULL)
            return note;
    }
    return NULL;
}

static bool lists_unhonored(const struct accel_plan *plan, const char *key)
{
    for (uint32_t i = 0; i < accel_plan_unhonored_count(plan); i++)
        if (strcmp(accel_plan_unhonored_get(plan, i)->key, key) == 0)
            return true;
    return false;
}

/* Returns whether the trial has a value that a run does not honor and that the previous plan did not have. */
static bool is_idle(const struct accel_model_plan *plan, struct trial *trial)
{
    const struct accel_plan *before = accel_model_plan_plan(plan), *after = accel_model_plan_plan(trial->plan);

    for (uint32_t i = 0; i < accel_plan_unhonored_count(after); i++) {
        const struct accel_plan_unhonored *row = accel_plan_unhonored_get(after, i);

        if (row->outcome == ACCEL_UNHONORED_LATER || lists_unhonored(before, row->key))
            continue;
        snprintf(trial->idle, sizeof(trial->idle), "a run does not honor %s=%s: %s", row->key, row->value, row->reason);
        return true;
    }
    return false;
}

/* Returns the outcome of a trial and sets its reason. */
static uint32_t evaluate_trial(const struct accel_model_plan *plan, struct trial *trial, bool must_save, bool must_run,
                               const char **out_text)
{
    const struct accel_plan_note *limit;
    struct accel_session *session;

    *out_text = "";
    if (trial->error.code != ACCEL_OK) {
        *out_text = trial->error.text;
        return ACCEL_PLAN_STEP_REFUSED;
    }
    if (trial->plan == NULL && trial->advice->search_wanted == ACCEL_ADVICE_FIXED)
        return ACCEL_PLAN_STEP_OFFERED;
    if (trial->plan == NULL || is_in_force(plan, trial)) {
        *out_text = trial->advice->search_wanted != ACCEL_ADVICE_FIXED && verdict_of(plan).fits
                        ? "the plan fits without it"
                        : "it is so already";
        return ACCEL_PLAN_STEP_SAME;
    }
    if (!must_save && has_fewer_bits(plan, trial)) {
        *out_text = trial->idle;
        return ACCEL_PLAN_STEP_SAME;
    }
    if (must_save && !saves_memory(plan, trial->plan)) {
        *out_text = "it saves nothing here";
        return ACCEL_PLAN_STEP_SAME;
    }
    if (must_run && accel_model_plan_exact(plan) && !accel_model_plan_exact(trial->plan)) {
        accel_model_plan_session(trial->plan, &session, &trial->reason);
        *out_text = trial->reason.text;
        return ACCEL_PLAN_STEP_REFUSED;
    }
    if (must_run && accel_model_plan_exact(plan) && is_idle(plan, trial)) {
        *out_text = trial->idle;
        return ACCEL_PLAN_STEP_SAME;
    }
    limit = find_limit(trial->plan);
    if (limit != NULL && find_limit(plan) == NULL) {
        snprintf(trial->idle, sizeof(trial->idle),
                 "%.80s=%s is chosen then: experts beyond it are read from the file as tokens are routed to them, and "
                 "most of the saving is theirs",
                 limit->key, accel_plan_setting_find(accel_model_plan_plan(trial->plan), limit->key)->value);
        *out_text = trial->idle;
    } else if (trial->is_least) {
        snprintf(trial->idle, sizeof(trial->idle), "no value of %s fits without other changes: %s is short by least",
                 trial->advice->search, trial->value);
        *out_text = trial->idle;
    } else if (value_now(trial->plan, "sequences") > value_now(plan, "sequences")) {
        snprintf(trial->idle, sizeof(trial->idle),
                 "memory holds %" PRIu64 " sequences then, as %.200s has it; without the change it holds %" PRIu64,
                 value_now(trial->plan, "sequences"),
                 accel_plan_setting_find(accel_model_plan_plan(trial->plan), "sequences")->place,
                 value_now(plan, "sequences"));
        *out_text = trial->idle;
    }
    return ACCEL_PLAN_STEP_OFFERED;
}

static int32_t add_step(struct plan_steps *list, const struct accel_model_plan *plan, const struct trial *trial,
                        uint32_t state, const char *why, struct accel_error *error)
{
    struct accel_plan_fit before = verdict_of(plan);
    struct accel_plan_fit after = trial->plan == NULL ? before : verdict_of(trial->plan);
    struct plan_step *step = &list->steps[list->count++];

    *step = (struct plan_step){.state = state,
                               .name = trial->advice->id,
                               .words = trial->advice->text,
                               .settings = settings_text(&list->texts, trial),
                               .weights = weights_text(&list->texts, plan, trial),
                               .cost = cost_text(&list->texts, plan, trial),
                               .needs = needs_text(&list->texts, plan, trial),
                               .source = trial->advice->source,
                               .place = trial->advice->place,
                               .text = accel_arena_strdup(&list->texts, why),
                               .before = before.needed,
                               .after = after.needed,
                               .short_by = after.short_by};
    if (step->settings && step->weights && step->cost && step->needs && step->text)
        return ACCEL_OK;
    return accel_error_no_memory(error, "for steps of advice");
}

/* Refuses an unknown topic and lists the known ones. */
static int32_t refuse_topic(const struct accel_tables *tables, const char *topic, struct accel_error *error)
{
    char names[200] = "", hint[ACCEL_DID_YOU_MEAN];
    const char *topics[32];
    uint32_t count = 0;

    for (uint32_t i = 0; i < accel_advice_topic_count(tables); i++) {
        const char *known = accel_advice_topic_get(tables, i, NULL);

        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i == 0 ? "" : ", ", known);
        if (count < sizeof(topics) / sizeof(*topics))
            topics[count++] = known;
    }
    accel_error_set(error, ACCEL_E_NOT_FOUND, "there is no advice on \"%.60s\"%s", topic,
                    accel_did_you_mean(accel_suggest(topic, topics, count), hint));
    return accel_error_advise(error, ACCEL_E_NOT_FOUND, "topics: %s", names);
}

static int32_t make_list(struct accel_context *context, const char *topic, struct plan_steps **out_list,
                         struct accel_error *error)
{
    struct plan_steps *list = calloc(1, sizeof(*list));
    uint32_t most;
    int32_t code;

    *out_list = NULL;
    if (list == NULL)
        return accel_error_no_memory(error, "for steps of advice");
    code = accel_tables_read(context, &list->tables, error);
    most = code == ACCEL_OK ? accel_advice_count(list->tables, topic) : 0;
    if (code == ACCEL_OK && most == 0)
        code = refuse_topic(list->tables, topic, error);
    list->steps = calloc((size_t)most + 1, sizeof(*list->steps));
    if (code == ACCEL_OK && list->steps == NULL)
        code = accel_error_no_memory(error, "for steps of advice");
    if (code == ACCEL_OK)
        *out_list = list;
    else
        plan_steps_free(list);
    return code;
}

static void clear_list(struct plan_steps *list)
{
    accel_arena_free(&list->texts);
    list->count = 0;
}

void plan_steps_free(struct plan_steps *list)
{
    if (list == NULL)
        return;
    clear_list(list);
    free(list->steps);
    accel_tables_free(list->tables);
    free(list);
}

uint32_t plan_step_count(const struct plan_steps *steps)
{
    return steps->count;
}

const struct plan_step *plan_step_get(const struct plan_steps *steps, uint32_t index)
{
    return index < steps->count ? &steps->steps[index] : NULL;
}

/* ---- fit and advise ---- */

/* Evaluates the conditions of a step with the facts of the plan. */
static bool applies(const struct plan_steps *list, const struct accel_advice *advice,
                    const struct accel_model_plan *plan)
{
    const struct accel_plan *inner = accel_model_plan_plan(plan);
    uint32_t count = accel_plan_fact_count(inner);
    struct accel_named_value *facts = calloc((size_t)count + 1, sizeof(*facts));
    bool holds;

    for (uint32_t i = 0; facts != NULL && i < count; i++)
        facts[i] = *accel_plan_fact_get(inner, i);
    holds = facts != NULL && accel_advice_applies(list->tables, advice, facts, count);
    free(facts);
    return holds;
}

int32_t advise_on_plan(struct accel_context *context, const struct accel_model_plan *plan, const char *topic,
                       struct plan_steps **out_steps, struct accel_error *error)
{
    struct plan_steps *list;
    bool must_save = strcmp(topic, "oom") == 0;
    int32_t code;

    *out_steps = NULL;
    code = make_list(context, topic, &list, error);
    for (uint32_t i = 0; code == ACCEL_OK && i < accel_advice_count(list->tables, topic); i++) {
        const struct accel_advice *advice = accel_advice_get(list->tables, topic, i);
        struct trial trial;
        const char *why;
        uint32_t state;

        if (!applies(list, advice, plan))
            continue;
        try_advice(plan, advice, &trial);
        state = evaluate_trial(plan, &trial, must_save, true, &why);
        code = add_step(list, plan, &trial, state, why, error);
        accel_model_plan_free(trial.plan);
    }
    if (code == ACCEL_OK)
        *out_steps = list;
    else
        plan_steps_free(list);
    return code;
}

/* Rows of advice, as bits. */
enum { ROWS_MOST = 64 };

static const char not_needed[] = "not needed beside the others";

/* Tries one step of fit; replaces *plan if it helps and the step may be applied. */
static int32_t try_step(struct plan_steps *list, const struct accel_advice *advice, bool may_apply,
                        struct accel_model_plan **plan, struct accel_error *error)
{
    struct trial trial;
    const char *why;
    uint32_t state;
    int32_t code;

    try_advice(*plan, advice, &trial);
    state = evaluate_trial(*plan, &trial, true, list->must_run, &why);
    if (state == ACCEL_PLAN_STEP_OFFERED && trial.plan != NULL)
        state = may_apply ? ACCEL_PLAN_STEP_APPLIED : ACCEL_PLAN_STEP_SAME;
    if (state == ACCEL_PLAN_STEP_SAME && why[0] == '\0')
        why = not_needed;
    code = add_step(list, *plan, &trial, state, why, error);
    if (code == ACCEL_OK && state == ACCEL_PLAN_STEP_APPLIED) {
        accel_model_plan_free(*plan);
        *plan = trial.plan;
    } else {
        accel_model_plan_free(trial.plan);
    }
    return code;
}

/* Records a step that fit skips. */
static int32_t add_skipped_step(struct plan_steps *list, const struct accel_advice *advice,
                                const struct accel_model_plan *plan, struct accel_error *error)
{
    struct trial trial = {.advice = advice};

    return add_step(list, plan, &trial, ACCEL_PLAN_STEP_SAME, not_needed, error);
}

/* Returns the step that fit tries at `position`, which is below twice the number of steps, or NULL. The searches in
 * `late` follow all other steps, in the second half. */
static const struct accel_advice *step_at(const struct plan_steps *list, uint32_t position, uint64_t late,
                                          uint32_t *out_row)
{
    const uint32_t count = accel_advice_count(list->tables, "oom");
    const struct accel_advice *advice;
    bool is_late;

    *out_row = position % count;
    if (*out_row >= ROWS_MOST)
        return NULL;
    advice = accel_advice_get(list->tables, "oom", *out_row);
    is_late = advice->search_wanted != ACCEL_ADVICE_FIXED && (late >> *out_row & 1) != 0;
    return is_late == (position >= count) ? advice : NULL;
}

/* Applies the steps in `allowed` but not in `left_out`, one by one, until the plan fits; *out_applied gets the
 * applied ones. */
static int32_t apply_steps(struct plan_steps *list, const struct accel_model_plan *plan, uint64_t allowed,
                           uint64_t left_out, struct accel_model_plan **out_fitted, uint64_t *out_applied,
                           struct accel_error *error)
{
    struct accel_model_plan *fitted = NULL;
    uint32_t positions = 2 * accel_advice_count(list->tables, "oom"), i;
    uint64_t late = list->are_searches_last ? allowed & ~left_out : 0;
    int32_t code = accel_model_plan_vary(plan, NULL, 0, &fitted, error);

    clear_list(list);
    *out_applied = 0;
    for (uint32_t at = 0; code == ACCEL_OK && at < positions && !verdict_of(fitted).fits; at++) {
        const struct accel_advice *advice = step_at(list, at, late, &i);

        if (advice == NULL || !applies(list, advice, fitted))
            continue;
        if ((left_out >> i & 1) != 0) {
            code = add_skipped_step(list, advice, fitted, error);
            continue;
        }
        code = try_step(list, advice, (allowed >> i & 1) != 0, &fitted, error);
        if (code == ACCEL_OK && list->steps[list->count - 1].state == ACCEL_PLAN_STEP_APPLIED)
            *out_applied |= UINT64_C(1) << i;
    }
    *out_fitted = fitted;
    return code;
}

/* Returns whether a search behind `row`, which costs more than that step, ends at a worse value than before. */
static bool worsens_search(const struct plan_steps *list, uint32_t row, uint64_t applied,
                           const struct accel_model_plan *before, const struct accel_model_plan *after)
{
    for (uint32_t i = row + 1; i < ROWS_MOST; i++) {
        const struct accel_advice *advice = (applied >> i & 1) != 0 ? accel_advice_get(list->tables, "oom", i) : NULL;
        uint64_t was, is;

        if (advice == NULL || advice->search_wanted == ACCEL_ADVICE_FIXED)
            continue;
        was = value_now(before, advice->search);
        is = value_now(after, advice->search);
        if (advice->search_wanted == ACCEL_ADVICE_SMALLEST ? is > was : is < was)
            return true;
    }
    return false;
}

/* Removes redundant steps: a late step may save so much that earlier ones are unnecessary. Removes one at a time,
 * the costliest first, and replaces *fitted, the plan with all of them. */
static int32_t remove_redundant_steps(struct plan_steps *list, const struct accel_model_plan *plan, uint64_t applied,
                                      struct accel_model_plan **fitted, uint64_t *out_left_out,
                                      struct accel_error *error)
{
    uint64_t still;
    int32_t code;

    *out_left_out = 0;
    accel_model_plan_free(*fitted);
    code = apply_steps(list, plan, applied, 0, fitted, &still, error);
    for (uint32_t i = ROWS_MOST; i > 0 && code == ACCEL_OK; i--) {
        const uint64_t bit = UINT64_C(1) << (i - 1);
        struct accel_model_plan *tried = NULL;

        if ((applied & bit) == 0)
            continue;
        /* Steps that the first pass did not apply must not replace the removed one. */
        code = apply_steps(list, plan, applied, *out_left_out | bit, &tried, &still, error);
        if (code == ACCEL_OK && verdict_of(tried).fits && !worsens_search(list, i - 1, applied, *fitted, tried)) {
            struct accel_model_plan *before = *fitted;

            *out_left_out |= bit;
            *fitted = tried;
            tried = before;
        }
        accel_model_plan_free(tried);
    }
    return code;
}

static bool share_setting(const struct accel_advice *advice, const struct accel_advice *other)
{
    for (uint32_t i = 0; i < advice->set_count; i++)
        for (uint32_t j = 0; j < other->set_count; j++)
            if (strcmp(advice->set[i].key, other->set[j].key) == 0)
                return true;
    return false;
}

/* Returns the applied steps of which a later one replaces a setting, as 4 bits for weights are replaced by 2. */
static uint64_t find_replaced_steps(const struct plan_steps *list, uint64_t applied)
{
    uint64_t replaced = 0;

    for (uint32_t i = 0; i < ROWS_MOST; i++)
        for (uint32_t j = i + 1; j < ROWS_MOST; j++)
            if ((applied >> i & 1) != 0 && (applied >> j & 1) != 0 &&
                share_setting(accel_advice_get(list->tables, "oom", i), accel_advice_get(list->tables, "oom", j)))
                replaced |= UINT64_C(1) << i;
    return replaced;
}

int32_t fit_model_plan(struct accel_context *context, const struct accel_model_plan *plan,
                       struct accel_model_plan **out_fitted, struct plan_steps **out_steps, struct accel_error *error)
{
    struct plan_steps *list = NULL;
    struct accel_model_plan *fitted = NULL;
    uint64_t applied = 0, left_out = 0;
    int32_t code;

    *out_fitted = NULL;
    *out_steps = NULL;
    code = make_list(context, "oom", &list, error);
    if (code == ACCEL_OK) {
        list->must_run = true;
        code = apply_steps(list, plan, UINT64_MAX, 0, &fitted, &applied, error);
    }
    /* A step that this file cannot run is better than no fitting plan. */
    if (code == ACCEL_OK && !verdict_of(fitted).fits && accel_model_plan_exact(plan)) {
        accel_model_plan_free(fitted);
        fitted = NULL;
        list->must_run = false;
        code = apply_steps(list, plan, UINT64_MAX, 0, &fitted, &applied, error);
    }
    if (code == ACCEL_OK && applied != 0) {
        list->are_searches_last = verdict_of(fitted).fits;
        if (list->are_searches_last)
            code = remove_redundant_steps(list, plan, applied, &fitted, &left_out, error);
        else
            left_out = find_replaced_steps(list, applied);
        accel_model_plan_free(fitted);
        fitted = NULL;
        list->are_searches_last = true;
        /* The trials of pruning overwrote the list. */
        if (code == ACCEL_OK)
            code = apply_steps(list, plan, applied, left_out, &fitted, &applied, error);
    }
    if (code == ACCEL_OK) {
        *out_fitted = fitted;
        *out_steps = list;
        return ACCEL_OK;
    }
    accel_model_plan_free(fitted);
    plan_steps_free(list);
    return code;
}
