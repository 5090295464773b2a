/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the past says of a plan: how well memory was foretold, and how fast it will be. A step of one token reads every
 * weight and the cache once, so that bytes a second of other runs, over the bytes of this step, are tokens a second.
 */
#include "config.h"

#include <accel/history.h>
#include <inttypes.h>
#include <string.h>

#include "core/base/strbuf.h"
#include "core/plan/sketch.h"
#include "core/profile/keys.h"

/** Runs that count. */
#define RUNS 20u

/** A step may read so many times the bytes of another one whose speed foretells its own. */
#define COMPARABLE 16.0

/** A range that grows with each number. */
struct range {
    double lower;
    double upper;
    uint32_t runs;
};

static void widen(struct range *range, double value)
{
    if (!(value > 0))
        return;
    if (range->runs == 0 || value < range->lower)
        range->lower = value;
    if (range->runs == 0 || value > range->upper)
        range->upper = value;
    range->runs++;
}

/* ---- past errors ---- */

static int32_t note_past(struct accel_plan *plan, const struct accel_history *history, struct accel_error *error)
{
    struct accel_plan_past *past = &plan->past;
    *past = (struct accel_plan_past){.size = sizeof(*past), .origin = ""};
    for (uint32_t i = 0; i < accel_history_count(history); i++) {
        const struct accel_history_record *record = accel_history_get(history, i);
        double difference;
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
    if (past->runs == 0)
        return ACCEL_OK;
    past->origin = accel_plan_text(plan, "measured: %" PRIu32 " runs in %s", past->runs, accel_history_path(history));
    return past->origin ? ACCEL_OK : accel_plan_no_memory(error);
}

/* ---- speed ---- */

static void of_this_model(const struct accel_plan *plan, const struct accel_history *history, struct range *range)
{
    const char *variant = accel_plan_variant(plan);
    for (uint32_t i = 0; i < accel_history_count(history); i++) {
        const struct accel_history_record *record = accel_history_get(history, i);
        if (record->settings && strcmp(record->settings, variant) == 0)
            widen(range, record->speed);
    }
}

/* What other runs on the device have read in a second, for the bytes of this step: with a full cache and an empty one.
 */
static void of_bytes(const struct accel_plan *plan, const struct accel_history *history, struct range *range)
{
    double most = (double)(plan->step_weights + plan->step_state), least = (double)plan->step_weights;
    for (uint32_t i = 0; i < accel_history_count(history); i++) {
        const struct accel_history_record *record = accel_history_get(history, i);
        /* Steps that are much smaller spend their time on other things than bytes. */
        if (record->kind == ACCEL_HISTORY_RUN && (double)record->step_bytes * COMPARABLE < least)
            continue;
        double rate =
            record->kind == ACCEL_HISTORY_BANDWIDTH ? record->bandwidth : record->speed * (double)record->step_bytes;
        uint32_t before = range->runs;
        widen(range, rate / most);
        widen(range, rate / least);
        range->runs = range->runs > before ? before + 1 : before;
    }
}

static int32_t add_speed(struct accel_plan *plan, const struct range *range, const char *origin,
                         struct accel_error *error)
{
    struct accel_plan_speed speed = {
        .size = sizeof(speed),
        .runs = range->runs,
        .name = "written",
        .lower = range->lower,
        .upper = range->upper,
        .step_bytes = plan->step_weights + plan->step_state,
        .origin = origin,
    };
    if (origin == NULL || !accel_plan_rows_add(plan, &plan->speeds, &speed, sizeof(speed)))
        return accel_plan_no_memory(error);
    return ACCEL_OK;
}

/* The devices that layers lie on, each once, as records of runs have them; what a plan lies on whole is its device. */
static const char *place_of(struct accel_plan *plan)
{
    const char *names = plan->device ? plan->device->info.name : "";
    for (uint32_t i = 0; i < plan->layers.count && plan->spread && names; i++) {
        const struct accel_plan_layer *row = plan->layers.items[i];
        bool named = false;
        for (uint32_t j = 0; j < i; j++)
            named = named || strcmp(((const struct accel_plan_layer *)plan->layers.items[j])->device, row->device) == 0;
        if (!named)
            names = i == 0 ? row->device : accel_plan_text(plan, "%s, %s", names, row->device);
    }
    return names;
}

static int32_t find(struct accel_plan *plan, uint32_t kind, const char *model, struct accel_history **out_history,
                    struct accel_error *error)
{
    const char *place = place_of(plan);
    return place ? accel_history_find(plan->context, kind, model, place, RUNS, out_history, error)
                 : accel_plan_no_memory(error);
}

/* The best evidence that there is: this model, other models, a measured bandwidth, a stated one. */
static int32_t foretell(struct accel_plan *plan, const struct accel_history *own, struct accel_error *error)
{
    struct accel_history *others = NULL;
    struct range range = {0};
    const char *origin = NULL, *stated = "";
    uint64_t bandwidth;
    int32_t code;
    of_this_model(plan, own, &range);
    if (plan->spread && !range.runs)
        return add_speed(plan, &range, "not known where layers lie on several devices", error);
    if (range.runs)
        return add_speed(plan, &range,
                         accel_plan_text(plan, "measured: %" PRIu32 " run%s of this model with these settings",
                                         range.runs, range.runs == 1 ? "" : "s"),
                         error);
    for (uint32_t kind = ACCEL_HISTORY_RUN; kind <= ACCEL_HISTORY_BANDWIDTH && plan->device && !range.runs; kind++) {
        code = find(plan, kind, NULL, &others, error);
        if (code != ACCEL_OK)
            return code;
        of_bytes(plan, others, &range);
        if (range.runs)
            origin = accel_plan_text(plan,
                                     "estimated: bytes a second of %" PRIu32 " %s / %" PRIu64 " to %" PRIu64
                                     " bytes of a step (cache empty to full)",
                                     range.runs, kind == ACCEL_HISTORY_RUN ? "runs on this device" : "measurements",
                                     plan->step_weights, plan->step_weights + plan->step_state);
        accel_history_free(others);
        others = NULL;
    }
    if (range.runs)
        return add_speed(plan, &range, origin, error);
    if (accel_plan_fact_number(plan, "device.bandwidth", &bandwidth, &stated) && bandwidth) {
        range.upper = (double)bandwidth / (double)plan->step_weights;
        return add_speed(plan, &range,
                         accel_plan_text(plan,
                                         "claimed: at most device.bandwidth (%s) / %" PRIu64
                                         " bytes of weights, with an empty cache",
                                         stated, plan->step_weights),
                         error);
    }
    return add_speed(plan, &range, "nothing was measured on this device", error);
}

/* ---- the whole ---- */

/* Types of weights in the file, each once. */
static void add_types(const struct accel_plan *plan, struct accel_strbuf *text)
{
    for (uint32_t i = 0; i < plan->parts.count; i++) {
        const struct accel_plan_part *part = plan->parts.items[i];
        bool told = *part->file_type == '\0';
        for (uint32_t j = 0; j < i && !told; j++) {
            const struct accel_plan_part *before = plan->parts.items[j];
            told = strcmp(before->file_type, part->file_type) == 0;
        }
        if (!told)
            accel_strbuf_printf(text, ", %s", part->file_type);
    }
}

/* Settings that runs must share to be compared, options of drivers and types of weights. */
static int32_t note_variant(struct accel_plan *plan, struct accel_error *error)
{
    static const char *const keys[] = {"context",   "batch",     "sequences",           "weights.load",
                                       "kv.type.k", "kv.type.v", "compute.activations", "cpu.threads"};
    struct accel_strbuf text;
    accel_strbuf_init(&text, 0);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const struct accel_plan_setting *setting = accel_plan_setting_find(plan, keys[i]);
        if (setting)
            accel_strbuf_printf(&text, "%s%s %s", i ? ", " : "", keys[i], setting->value);
    }
    for (uint32_t i = 0; i < accel_plan_setting_count(plan); i++)
        if (accel_key_find(plan->records[i].key) == NULL)
            accel_strbuf_printf(&text, ", %s %s", plan->records[i].key, plan->records[i].value);
    add_types(plan, &text);
    /* Types that the file has not make other bytes of every step. */
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
    plan->variant = accel_arena_strdup(&plan->arena, accel_strbuf_get(&text));
    accel_strbuf_free(&text);
    return plan->variant ? ACCEL_OK : accel_plan_no_memory(error);
}

int32_t accel_plan_look_back(struct accel_plan *plan, struct accel_error *error)
{
    struct accel_history *history = NULL;
    const char *model = accel_plan_model(plan);
    int32_t code;
    plan->hints.count = plan->speeds.count = 0;
    code = note_variant(plan, error);
    if (code == ACCEL_OK)
        code = accel_plan_hint_carried(plan, error);
    if (code == ACCEL_OK)
        code = find(plan, ACCEL_HISTORY_RUN, *model ? model : "-", &history, error);
    if (code != ACCEL_OK)
        return code;
    code = note_past(plan, history, error);
    if (code == ACCEL_OK && *accel_history_reason(history))
        code = accel_plan_add_hint(plan, ACCEL_NOTE_INFO, "", "", error, "no history of runs: %s",
                                   accel_history_reason(history));
    if (code == ACCEL_OK && accel_history_damaged(history))
        code =
            accel_plan_add_hint(plan, ACCEL_NOTE_INFO, "", "", error, "%s: %" PRIu32 " damaged lines were passed over",
                                accel_history_path(history), accel_history_damaged(history));
    if (code == ACCEL_OK && plan->step_weights)
        code = foretell(plan, history, error);
    accel_history_free(history);
    return code;
}

const char *accel_plan_variant(const struct accel_plan *plan)
{
    return plan && plan->variant ? plan->variant : "";
}
