/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts a plan from the history: the past error of memory estimates, and the speed. A decode step reads every
 * weight and the cache once, so the bytes per second of other runs over the bytes of this step give tok/s. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/strbuf.h"
#include "core/plan/history.h"
#include "core/plan/honored.h"
#include "core/plan/settings.h"
#include "core/profile/keys.h"

/** Maximum runs that enter an average, of the newest records: runs of a few tokens have no speed. */
#define RUNS 20u
#define RECORDS 100u

/** Maximum ratio between the bytes of two steps of which one predicts the other: for steps that read memory, and for
 * smaller ones, which caches serve in part. */
#define COMPARABLE 16.0
#define COMPARABLE_CACHED 4.0

/** Bytes of a step from which on it is limited by the bandwidth of the memory, as caches hold little of it. */
#define MEMORY_BOUND (UINT64_C(64) << 20)

/** Measured rates, at most RUNS of them. */
struct samples {
    double rates[RUNS];
    uint64_t tokens[RUNS]; /* 0: not known */
    uint32_t count;
};

/** The range of a speed. */
struct range {
    double lower;
    double upper;
    uint64_t tokens; /* of the longest run; 0: not known */
    uint32_t runs;
    uint32_t others;    /* runs with another number of threads */
    uint32_t unrelated; /* measurements that do not hold for a step of this size */
};

static void add_sample(struct samples *samples, double rate, uint64_t tokens)
{
    if (!(rate > 0) || samples->count == RUNS)
        return;
    samples->rates[samples->count] = rate;
    samples->tokens[samples->count++] = tokens;
}

static int compare_rates(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* Makes the range from the slowest to the fastest run, of five runs and more from the lower to the upper quartile: a
 * run beside which the machine did something else, or with a clock that was not yet up, does not widen it. Runs of less
 * than half as many tokens as the longest one, whose rates scatter, do not count. */
static void set_quartiles(struct samples *samples, struct range *range)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < samples->count; i++)
        range->tokens = samples->tokens[i] > range->tokens ? samples->tokens[i] : range->tokens;
    for (uint32_t i = 0; i < samples->count; i++)
        if (samples->tokens[i] == 0 || samples->tokens[i] >= range->tokens / 2)
            samples->rates[count++] = samples->rates[i];
    qsort(samples->rates, count, sizeof(samples->rates[0]), compare_rates);
    range->runs = count;
    if (count == 0)
        return;
    range->lower = samples->rates[count < 5 ? 0 : count / 4];
    range->upper = samples->rates[count - 1 - (count < 5 ? 0 : count / 4)];
}

/* Returns the words by which a range of quartiles differs from one of the slowest to the fastest run. */
static const char *half_of(const struct range *range)
{
    return range->runs < 5 ? "" : "the middle half of ";
}

/* ---- past errors ---- */

/* Returns whether a run has enough tokens for a meaningful speed. Earlier versions stored shorter runs. 0: unknown. */
static bool is_long_enough(const struct accel_history_record *record)
{
    return record->tokens == 0 || record->tokens >= ACCEL_HISTORY_TOKENS;
}

/* Returns whether the rates of a run of this model are those of the plan. */
static bool is_alike(const struct accel_plan *plan, const struct accel_history_record *record)
{
    return is_long_enough(record) && strcmp(record->settings, accel_plan_variant(plan)) == 0;
}

static void note_past(struct accel_plan *plan, const struct accel_history *history)
{
    struct accel_plan_past *past = &plan->past;
    double read = 0, tokens = 0;
    *past = (struct accel_plan_past){.size = sizeof(*past), .origin = ""};
    for (uint32_t i = 0; i < history->count && past->runs < RUNS; i++) {
        const struct accel_history_record *record = &history->records[i];
        double difference;
        if (record->read_bytes && is_alike(plan, record)) {
            read += (double)record->read_bytes * (double)record->tokens;
            tokens += (double)record->tokens;
        }
        if (record->planned == 0 || record->measured == 0)
            continue;
        difference = ((double)record->measured - (double)record->planned) / (double)record->planned;
        if (past->runs++ == 0) {
            past->planned = record->planned;
            past->measured = record->measured;
            past->last = past->worst = difference;
        }
        if (difference * difference > past->worst * past->worst)
            past->worst = difference;
    }
    past->read_bytes = tokens > 0 ? (uint64_t)(read / tokens) : 0;
    if (past->runs)
        past->origin = accel_plan_text(plan, "measured: %" PRIu32 " runs in %s", past->runs, history->path);
}

/* ---- speed ---- */

static void of_this_model(const struct accel_plan *plan, const struct accel_history *history, struct range *range)
{
    struct samples samples = {.count = 0};
    for (uint32_t i = 0; i < history->count; i++) {
        const struct accel_history_record *record = &history->records[i];
        if (is_alike(plan, record))
            add_sample(&samples, record->speed, record->tokens);
    }
    set_quartiles(&samples, range);
}

/* Returns whether a record's bytes per second hold for a step of this plan: both read memory, or sizes are alike. */
static bool is_comparable(const struct accel_plan *plan, const struct accel_history_record *record)
{
    double step = (double)(plan->step_weights + plan->step_state), other = (double)record->step_bytes;
    double ratio = other > step ? other / step : step / (other > 1 ? other : 1);
    bool reads_memory = plan->step_weights >= MEMORY_BOUND;
    if (record->kind == ACCEL_HISTORY_BANDWIDTH)
        return reads_memory;
    return is_long_enough(record) &&
           (ratio <= COMPARABLE_CACHED ||
            (reads_memory && record->step_bytes >= MEMORY_BOUND && step / other <= COMPARABLE));
}

/* Makes the range from bytes per second of other runs on the device, for steps with a full and an empty KV cache. */
static void of_bytes(const struct accel_plan *plan, const struct accel_history *history, struct range *range)
{
    struct samples samples = {.count = 0};
    for (uint32_t i = 0; i < history->count; i++) {
        const struct accel_history_record *record = &history->records[i];
        if (!is_comparable(plan, record)) {
            range->unrelated += is_long_enough(record);
            continue;
        }
        /* A record without threads is of a device that uses no thread team. */
        if (record->threads == 0 || plan->threads.count == 0 || record->threads == plan->threads.count)
            add_sample(&samples,
                       record->kind == ACCEL_HISTORY_BANDWIDTH ? record->bandwidth
                                                               : record->speed * (double)record->step_bytes,
                       record->tokens);
        else
            range->others++;
    }
    set_quartiles(&samples, range);
    range->lower /= (double)(plan->step_weights + plan->step_state);
    range->upper /= (double)plan->step_weights;
}

/* Adds a speed: "written" (decode), or "prefill", whose steps read no cache. */
static int32_t add_speed(struct accel_plan *plan, const char *name, const struct range *range, const char *origin)
{
    struct accel_plan_speed speed = {
        .size = sizeof(speed),
        .runs = range->runs,
        .name = name,
        .lower = range->lower,
        .upper = range->upper,
        .step_bytes = plan->step_weights + (strcmp(name, "prefill") == 0 ? 0 : plan->step_state),
        .origin = origin,
    };
    accel_plan_append(plan, &plan->speeds, &speed, sizeof(speed));
    return ACCEL_OK;
}

/* Returns the devices of the layers, each once, in the form of run records; a plan without layers has its device. */
static const char *place_of(struct accel_plan *plan)
{
    const char *names = plan->device ? plan->device->info.name : "";
    for (uint32_t i = 0; i < plan->layers.count; i++) {
        const struct accel_plan_layer *row = plan->layers.items[i];
        bool named = false;
        for (uint32_t j = 0; j < i; j++)
            named = named || strcmp(((const struct accel_plan_layer *)plan->layers.items[j])->device, row->device) == 0;
        if (!named)
            names = i == 0 ? row->device : accel_plan_text(plan, "%s, %s", names, row->device);
    }
    return names;
}

/* Adds the best available evidence of the speed: this model, this model with other settings, other models, a measured
 * bandwidth, a stated one. */
static int32_t predict_decode(struct accel_plan *plan, const struct accel_history *own, struct accel_error *error)
{
    static const char *const sources[][2] = {
        {"run", " of this model with other settings"}, {"run", " of other models"}, {"measurement", ""}};
    const char *place = place_of(plan);
    struct accel_history *others = NULL;
    struct range range = {0};
    const char *stated = "", *tokens = "";
    char least[32], most[32];
    uint64_t bandwidth;
    int32_t code;
    of_this_model(plan, own, &range);
    if (range.tokens)
        tokens = accel_plan_text(plan, ", of %s%" PRIu64 " tokens", range.runs == 1 ? "" : "up to ", range.tokens);
    if (range.runs)
        return add_speed(plan, "written", &range,
                         accel_plan_text(plan, "measured: %s%" PRIu32 " run%s of this model with these settings%s",
                                         half_of(&range), range.runs, range.runs == 1 ? "" : "s", tokens));
    if (plan->bound_decode_origin != NULL) {
        /* A data sheet of a described device states the highest speed, accel_plan_state_speed an expected one. */
        range.upper = plan->bound_decode;
        range.lower = plan->device ? range.upper : 0;
        return add_speed(plan, "written", &range, plan->bound_decode_origin);
    }
    if (plan->spread)
        return add_speed(plan, "written", &range, "no run with these layers on these devices was measured");
    for (uint32_t kind = 0; kind <= ACCEL_HISTORY_BANDWIDTH && *place; kind++) {
        if (kind != 0 &&
            (code = accel_history_find(plan->context, kind, NULL, place, RECORDS, &others, error)) != ACCEL_OK)
            return code;
        of_bytes(plan, kind == 0 ? own : others, &range);
        accel_history_free(others);
        if (range.runs)
            return add_speed(plan, "written", &range,
                             accel_plan_text(plan,
                                             "estimated: bytes/s of %s%" PRIu32
                                             " %s%s%s / %s to %s a step, cache empty to full",
                                             half_of(&range), range.runs, sources[kind][0], range.runs == 1 ? "" : "s",
                                             sources[kind][1], accel_plan_size_text(plan->step_weights, least),
                                             accel_plan_size_text(plan->step_weights + plan->step_state, most)));
    }
    /* Layers on another device do not have the bandwidth of the plan's, and a described one bounds the speed itself. */
    if (plan->device && strcmp(place, plan->device->info.name) == 0 &&
        accel_plan_fact_number(plan, "device.bandwidth", &bandwidth, &stated) && bandwidth) {
        range.upper = (double)bandwidth / (double)plan->step_weights;
        return add_speed(plan, "written", &range,
                         accel_plan_text(plan,
                                         "claimed: at most device.bandwidth (%s) / %s of weights, with an empty cache",
                                         stated, accel_plan_size_text(plan->step_weights, least)));
    }
    stated = range.others      ? "nothing was measured on this device with as many threads; a run measures it"
             : range.unrelated ? "no run of this model, or of one of about its size, was measured on this device"
             : plan->threads.count
                 ? "nothing was measured on this device; accelctl doctor --measure or a run measures it"
                 : "nothing was measured on this device; a run measures it";
    return add_speed(plan, "written", &range, stated);
}

/* ---- variant and hints ---- */

/* Appends the weight types of the file, each once. */
static void add_types(const struct accel_plan *plan, struct accel_strbuf *text)
{
    for (uint32_t i = 0; i < plan->parts.count; i++) {
        const struct accel_plan_part *part = plan->parts.items[i];
        bool is_listed = *part->file_type == '\0';
        for (uint32_t j = 0; j < i && !is_listed; j++) {
            const struct accel_plan_part *before = plan->parts.items[j];
            is_listed = strcmp(before->file_type, part->file_type) == 0;
        }
        if (!is_listed)
            accel_strbuf_printf(text, ", %s", part->file_type);
    }
}

/* Settings of `rare` are in it where they differ from the default. */
void accel_plan_note_variant(struct accel_plan *plan)
{
    static const char *const keys[] = {"context",   "batch",     "sequences",           "weights.load",
                                       "kv.type.k", "kv.type.v", "compute.activations", "cpu.threads"};
    static const char *const rare[] = {"kv.group",         "kv.window",       "kv.sinks",         "kv.full",
                                       "kv.prune",         "attention.page",  "attention.kernel", "cpu.pin",
                                       "compute.type",     "power",           "kernels.simd",     "kernels.subgroups",
                                       "memory.efficient", "output.attention"};
    struct accel_strbuf text = {0};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        accel_strbuf_printf(&text, "%s%s %s", i ? ", " : "", keys[i], accel_plan_setting_find(plan, keys[i])->value);
    for (size_t i = 0; i < sizeof(rare) / sizeof(rare[0]); i++) {
        const size_t at = (size_t)(accel_plan_setting_find(plan, rare[i]) - plan->records);
        if (strcmp(plan->settings->settings[at].value, accel_setting_row_get((uint32_t)at)->preset) != 0)
            accel_strbuf_printf(&text, ", %s %s", rare[i], plan->settings->settings[at].value);
    }
    for (uint32_t i = 0; i < accel_plan_setting_count(plan); i++)
        if (accel_key_find(plan->records[i].key) == NULL)
            accel_strbuf_printf(&text, ", %s %s", plan->records[i].key, plan->records[i].value);
    add_types(plan, &text);
    /* Types that the file does not have change the bytes of every step. */
    for (uint32_t i = 0; plan->converted != 0 && i < plan->parts.count; i++) {
        const struct accel_plan_part *part = plan->parts.items[i];
        if (strcmp(part->type_name, part->file_type) != 0)
            accel_strbuf_printf(&text, ", %s %u x %s", part->role, part->count, part->type_name);
    }
    for (uint32_t i = 0; i < plan->layers.count && plan->spread; i++) {
        const struct accel_plan_layer *row = plan->layers.items[i];
        if (row->first != ACCEL_NO_LAYER)
            accel_strbuf_printf(&text, ", %s %" PRIu32 "-%" PRIu32 " on %s", row->component, row->first, row->last,
                                row->device);
    }
    plan->variant = accel_plan_text(plan, "%s", accel_strbuf_get(&text));
    plan->out_of_memory |= text.failed;
    accel_strbuf_free(&text);
}

int32_t accel_plan_rebuild_hints(struct accel_plan *plan, struct accel_error *error)
{
    struct accel_history *history = NULL;
    const char *model = accel_plan_model(plan);
    int32_t code;
    plan->hints.count = plan->speeds.count = 0;
    accel_plan_note_variant(plan);
    code = accel_plan_hint_unhonored(plan, error);
    if (code == ACCEL_OK)
        code = accel_history_find(plan->context, ACCEL_HISTORY_RUN, *model ? model : "-", place_of(plan), RECORDS,
                                  &history, error);
    if (code != ACCEL_OK)
        return code;
    note_past(plan, history);
    if (*history->reason)
        accel_plan_add_note(plan, &plan->hints, ACCEL_NOTE_INFO, "", "", "no history of runs: %s", history->reason);
    if (history->damaged)
        accel_plan_add_note(plan, &plan->hints, ACCEL_NOTE_INFO, "", "",
                            "%s: %" PRIu32 " damaged lines were passed over", history->path, history->damaged);
    if (plan->step_weights)
        code = predict_decode(plan, history, error);
    /* The operations per second of a data sheet bound the prefill. */
    if (plan->bound_prefill > 0)
        add_speed(plan, "prefill", &(struct range){.upper = plan->bound_prefill}, plan->bound_prefill_origin);
    accel_history_free(history);
    return code;
}

int32_t accel_plan_state_speed(struct accel_plan *plan, double speed, const char *origin, struct accel_error *error)
{
    if (plan == NULL || origin == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_state_speed: plan or origin is NULL");
    plan->bound_decode = speed;
    plan->bound_decode_origin = accel_plan_text(plan, "%s", origin);
    return accel_plan_finish(plan, accel_plan_rebuild_hints(plan, error), error);
}

const char *accel_plan_variant(const struct accel_plan *plan)
{
    return plan && plan->variant ? plan->variant : "";
}
