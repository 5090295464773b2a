/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the memory of a run by class and computes the verdict. The sum is the peak of a run: allocations of the core and
 * its drivers, and the pages of mapped weights that steps touch. Every row states the origin of its number. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <accel/builder.h>

#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/boundary/import.h"
#include "core/graph/lifetime.h"
#include "core/graph/types.h"
#include "core/plan/history.h"
#include "core/plan/memory.h"
#include "core/plan/shape_plan.h"
#include "core/registry/call_guard.h"
#include "core/runtime/object.h"

/** State of one question for memory, or of one addition of memory rows. */
struct adder {
    struct accel_plan *plan;
    struct accel_device *device;
    const struct accel_plan_work *work;
    struct accel_plan_answers answers;
    struct accel_error *error;
};

/** A weight of any graph. */
struct accel_plan_read {
    const struct accel_value *value;
    uint32_t wanted; /* accel_plan_wanted of all its readers, combined */
    float share;     /* that a step of one token reads; 0: only EMBED reads it, single rows */
    bool made;       /* converted at load time, and so never used in place from a mapped file */
    uint64_t bytes;
};

static int32_t too_large(const struct adder *a)
{
    return accel_error_set(a->error, ACCEL_E_LIMIT, "the memory of the plan does not fit 64 bits");
}

void accel_plan_add_row(struct accel_plan *plan, uint32_t memory_class, uint64_t lower, uint64_t upper,
                        const char *origin)
{
    if (upper == 0)
        return;
    plan->memory[plan->memory_count++] = (struct accel_plan_memory){
        .size = sizeof(struct accel_plan_memory),
        .memory_class = memory_class,
        .bytes = upper,
        .lower = lower,
        .name = accel_history_class_name(memory_class),
        .origin = origin,
    };
}

/* ---- the driver's own numbers ---- */

/* Maximum rows of one estimate: a driver has a few for each class and heap, and their formulas are joined. */
#define MAX_ESTIMATES 256u

/** The sink that a driver writes its estimates to. */
struct estimate_sink {
    struct accel_estimate_sink sink; /* first member */
    struct adder *adder;
    uint32_t count;
    struct accel_error error; /* our first error: a driver may ignore the code that the sink returns */
};

static int32_t add_estimate(struct adder *a, uint32_t memory_class, uint64_t lower, uint64_t upper, const char *formula,
                            struct accel_error *error)
{
    struct accel_plan_estimate *e = &a->answers.estimate;
    const char *driver = a->device->driver;
    int32_t code;
    if (memory_class == 0 || memory_class >= ACCEL_MEMORY_END || lower > upper)
        return accel_error_driver(error, ACCEL_E_INVALID, driver,
                                  "estimate of class %" PRIu32 " from %" PRIu64 " to %" PRIu64, memory_class, lower,
                                  upper);
    code = accel_import_text(&a->plan->arena, &formula, driver, "estimate formula", error);
    if (code != ACCEL_OK)
        return code;
    if (!accel_add_u64(e->lower[memory_class], lower, &e->lower[memory_class]) ||
        !accel_add_u64(e->upper[memory_class], upper, &e->upper[memory_class]))
        return accel_error_driver(error, ACCEL_E_LIMIT, driver, "the sum of its estimates does not fit 64 bits");
    e->formula[memory_class] = e->given[memory_class]
                                   ? accel_plan_text(a->plan, "%s; %s", e->formula[memory_class], formula)
                                   : accel_plan_text(a->plan, "estimated by driver %s: %s", driver, formula);
    e->given[memory_class] = true;
    return ACCEL_OK;
}

static int32_t import_estimate(const struct accel_estimate_sink *sink, uint32_t heap, uint32_t memory_class,
                               uint64_t lower, uint64_t upper, const char *formula,
                               struct accel_error *error) ACCEL_NOEXCEPT
{
    struct estimate_sink *s = (struct estimate_sink *)(uintptr_t)sink;
    struct accel_error *first = &s->error;
    (void)heap;
    if (first->code == ACCEL_OK && ++s->count > MAX_ESTIMATES)
        accel_error_by(first, ACCEL_FROM_DRIVER, ACCEL_E_LIMIT, "driver %s: its estimate has more than %u rows",
                       s->adder->device->driver, MAX_ESTIMATES);
    if (first->code == ACCEL_OK && add_estimate(s->adder, memory_class, lower, upper, formula, first) == ACCEL_OK)
        return ACCEL_OK;
    /* Returns the first error without formatting another text: a million calls would take time. */
    return accel_error_copy(error, first);
}

static int32_t query_estimate(struct adder *a, const struct accel_compile_options *options)
{
    const struct accel_device_table *table = a->device->handle->table;
    struct estimate_sink sink = {.sink = {sizeof(sink.sink), 0, import_estimate}, .adder = a};
    int32_t code;
    if (!ACCEL_CAN(table, estimate))
        return ACCEL_OK;
    ACCEL_GUARDED(
        code, a->device->object.context, a->device->driver, "estimate",
        table->estimate(a->device->handle, a->work->graphs, a->work->graph_count, options, &sink.sink, a->error));
    if (sink.error.code != ACCEL_OK) {
        accel_error_clear(a->error);
        return accel_error_copy(a->error, &sink.error);
    }
    return accel_import_code(code, a->device->driver, "estimate", a->error);
}

static int32_t add_estimated(struct adder *a, uint32_t memory_class)
{
    const struct accel_plan_estimate *e = &a->answers.estimate;
    accel_plan_add_row(a->plan, memory_class, e->lower[memory_class], e->upper[memory_class], e->formula[memory_class]);
    return ACCEL_OK;
}

/* ---- weights ---- */

static int compare_weights(const void *a, const void *b)
{
    return strcmp(((const struct accel_plan_read *)a)->value->key, ((const struct accel_plan_read *)b)->value->key);
}

/* Bits of accel_plan_wanted beside placements: a node that reads all of the weight in place. */
#define STREAMED_IN_PLACE (1u << 4)

uint8_t accel_plan_wanted(const struct accel_node *node, uint32_t placement)
{
    const bool streams = placement == ACCEL_MAPPED && node->op != ACCEL_OP_EMBED;
    return (uint8_t)(1u << placement | (streams ? STREAMED_IN_PLACE : 0));
}

/* Finds the share of each value of one graph that a step of one token reads: of experts those that are chosen. */
static void find_shares(const struct accel_graph *graph, float *shares)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct accel_node *node = graph->nodes[n];
        const struct accel_expert_matmul *chosen = node->op == ACCEL_OP_EXPERT_MATMUL ? node->attributes : NULL;
        float share = chosen ? (float)graph->values[node->inputs[2]]->dims[1].add / (float)chosen->experts
                             : node->op != ACCEL_OP_EMBED;
        for (uint32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] != ACCEL_NO_VALUE && share > shares[node->inputs[i]])
                shares[node->inputs[i]] = share;
    }
}

static int compare_keys(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

/* Returns whether the work converts a weight. */
static bool is_made(const struct adder *a, uint32_t value, const struct accel_graph *graph)
{
    const struct accel_plan_work *work = a->work;
    return ACCEL_HAS(work, converted_count) && work->converted_count != 0 &&
           bsearch(graph->values[value]->key, work->converted, work->converted_count, sizeof(*work->converted),
                   compare_keys) != NULL;
}

static int32_t list_graph(struct adder *a, uint32_t g, const uint8_t *wanted, struct accel_plan_read *list,
                          uint32_t *count)
{
    const struct accel_graph *graph = a->work->graphs[g];
    float *shares = accel_arena_array(&a->plan->arena, graph->value_count, sizeof(*shares));
    if (shares == NULL)
        return accel_error_no_memory(a->error, "for a plan");
    find_shares(graph, shares);
    for (uint32_t v = 0; v < graph->value_count; v++) {
        struct accel_plan_read *weight = &list[*count];
        if (graph->values[v]->role != ACCEL_ROLE_WEIGHT)
            continue;
        *weight = (struct accel_plan_read){
            .value = graph->values[v], .wanted = wanted[v], .share = shares[v], .made = is_made(a, v, graph)};
        if (accel_value_bytes(graph, v, a->work->symbols[g], &weight->bytes, a->error) != ACCEL_OK)
            return ACCEL_E_INVALID;
        ++*count;
    }
    return ACCEL_OK;
}

/* Lists the weights of all graphs, each key once. */
static int32_t list_weights(struct adder *a, uint8_t *const *wanted)
{
    uint64_t most = 0;
    uint32_t found = 0, merged = 0;
    struct accel_plan_read *list;
    int32_t code = ACCEL_OK;
    for (uint32_t g = 0; g < a->work->graph_count; g++)
        most += a->work->graphs[g]->value_count;
    list = accel_arena_array(&a->plan->arena, most, sizeof(*list));
    if (list == NULL)
        return accel_error_no_memory(a->error, "for a plan");
    for (uint32_t g = 0; g < a->work->graph_count && code == ACCEL_OK; g++)
        code = list_graph(a, g, wanted[g], list, &found);
    if (found)
        qsort(list, found, sizeof(*list), compare_weights);
    for (uint32_t i = 0; i < found; i++) {
        if (merged && compare_weights(&list[merged - 1], &list[i]) == 0) {
            list[merged - 1].wanted |= list[i].wanted;
            list[merged - 1].share = list[i].share > list[merged - 1].share ? list[i].share : list[merged - 1].share;
        } else {
            list[merged++] = list[i];
        }
    }
    a->answers.weights = list;
    a->answers.weight_count = merged;
    return code;
}

/** Sums over the weights. */
struct weight_sums {
    uint64_t mapped, mapped_lower, owned, baked;
    uint32_t mapped_count, owned_count, baked_count, made_count;
};

/* Returns whether the driver has a weight container. A driver without one reads resident weights in place, too. */
static bool has_container(const struct adder *a)
{
    return ACCEL_CAN(a->device->handle->table, weights_create);
}

static bool is_in_place(const struct adder *a, const struct accel_plan_read *weight)
{
    return (weight->wanted & 1u << ACCEL_MAPPED) != 0 ||
           (!has_container(a) && (weight->wanted & 1u << ACCEL_RESIDENT) != 0);
}

/* Returns whether steps read single rows of the weight in place. Elsewhere they may read all of it. */
static bool is_looked_up(const struct adder *a, const struct accel_plan_read *weight)
{
    return weight->share == 0 || (has_container(a) && (weight->wanted & STREAMED_IN_PLACE) == 0);
}

static bool sum_one(const struct adder *a, const struct accel_plan_read *weight, struct weight_sums *sums)
{
    bool own_container = has_container(a);
    bool in_place = is_in_place(a, weight);
    bool fits = true;
    sums->made_count += weight->made;
    if (in_place && a->work->file_bytes != 0 && !weight->made) {
        sums->mapped_count++;
        fits = accel_add_u64(sums->mapped, weight->bytes, &sums->mapped);
        if (!is_looked_up(a, weight))
            sums->mapped_lower += weight->bytes;
    } else if (in_place) {
        sums->owned_count++;
        fits = accel_add_u64(sums->owned, weight->bytes, &sums->owned);
    }
    if (own_container && (weight->wanted & 1u << ACCEL_RESIDENT) != 0) {
        sums->owned_count++;
        fits = fits && accel_add_u64(sums->owned, weight->bytes, &sums->owned);
    }
    if ((weight->wanted & 1u << ACCEL_BAKED) != 0) {
        sums->baked_count++;
        fits = fits && accel_add_u64(sums->baked, weight->bytes, &sums->baked);
    }
    return fits;
}

static int32_t add_weights(struct adder *a)
{
    const struct accel_plan_work *work = a->work;
    struct weight_sums sums = {0};
    uint64_t pages;
    a->plan->step_weights = 0;
    for (uint32_t i = 0; i < a->answers.weight_count; i++) {
        if (!sum_one(a, &a->answers.weights[i], &sums))
            return too_large(a);
        a->plan->step_weights += (uint64_t)((double)a->answers.weights[i].bytes * (double)a->answers.weights[i].share);
    }
    if (a->answers.estimate.given[ACCEL_MEMORY_WEIGHTS])
        add_estimated(a, ACCEL_MEMORY_WEIGHTS);
    else if (sums.owned || sums.baked)
        accel_plan_add_row(a->plan, ACCEL_MEMORY_WEIGHTS, sums.owned, sums.owned + sums.baked,
                           accel_plan_text(a->plan,
                                           "estimated: types x shapes of %u weights in memory, %u in the program",
                                           sums.owned_count, sums.baked_count));
    /* The whole pages that hold weights used in place have a little more bytes than the weights; 0: unknown. */
    pages = ACCEL_HAS(work, in_place_bytes) ? work->in_place_bytes : 0;
    if (pages == 0 && sums.mapped_count + sums.made_count == a->answers.weight_count)
        pages = work->file_bytes;
    if (sums.mapped && pages > sums.mapped) {
        sums.mapped_lower += pages - sums.mapped;
        sums.mapped = pages;
    }
    if (sums.mapped && a->answers.estimate.given[ACCEL_MEMORY_MAPPED])
        accel_plan_add_row(a->plan, ACCEL_MEMORY_MAPPED, pages + a->answers.estimate.lower[ACCEL_MEMORY_MAPPED],
                           pages + a->answers.estimate.upper[ACCEL_MEMORY_MAPPED],
                           accel_plan_text(a->plan, "file: %" PRIu64 " bytes of pages used where it is mapped; %s",
                                           pages, a->answers.estimate.formula[ACCEL_MEMORY_MAPPED]));
    else if (sums.mapped)
        accel_plan_add_row(a->plan, ACCEL_MEMORY_MAPPED, sums.mapped_lower, sums.mapped,
                           accel_plan_text(a->plan,
                                           "file: the mapped pages of %u weights; %" PRIu64
                                           " bytes of them are tables of which a step reads single rows",
                                           sums.mapped_count, sums.mapped - sums.mapped_lower));
    return ACCEL_OK;
}

/* ---- state, activations, scratch ---- */

static int32_t add_state(struct adder *a)
{
    uint64_t row = 0, half = 0, bytes;
    const uint64_t sequences = (uint64_t)a->plan->settings->values->sequences.number;
    if (a->answers.estimate.given[ACCEL_MEMORY_STATE]) {
        bytes = a->answers.estimate.upper[ACCEL_MEMORY_STATE] / sequences;
        a->plan->step_state = accel_plan_step_state(a->plan, bytes, a->work->slots / sequences);
        return add_estimated(a, ACCEL_MEMORY_STATE);
    }
    for (uint32_t i = 0; i < a->work->part_count; i++) {
        const struct accel_state_part *part = &a->work->parts[i];
        struct accel_type_layout layout;
        if (!accel_type_describe(part->type, &layout) || part->row % layout.block_values != 0)
            return accel_error_set(a->error, ACCEL_E_INVALID, "part %" PRIu32 " of the state has no size", i);
        if (!accel_type_bytes(&layout, 1, part->row, &bytes) || !accel_add_u64(row, bytes, &row) ||
            !accel_mul_u64(part->row, 2, &bytes) || !accel_add_u64(half, bytes, &half))
            return too_large(a);
    }
    if (!accel_mul_u64(row, a->work->slots, &bytes))
        return too_large(a);
    a->plan->step_state = accel_plan_step_state(a->plan, bytes / sequences, a->work->slots / sequences);
    accel_plan_add_row(a->plan, ACCEL_MEMORY_STATE, bytes, bytes,
                       accel_plan_text(a->plan,
                                       "estimated: %" PRIu32 " caches x %" PRIu64 " slots, %" PRIu64
                                       " bytes for a slot in all caches, %.2fx of f16",
                                       a->work->part_count, a->work->slots, row,
                                       half == 0 ? 1.0 : (double)row / (double)half));
    return ACCEL_OK;
}

/* Adds inputs and outputs, one buffer each. */
static int32_t add_activations(struct adder *a)
{
    uint64_t bytes = 0, one;
    uint32_t count = 0;
    for (uint32_t g = 0; g < a->work->graph_count; g++)
        for (uint32_t v = 0; v < a->work->graphs[g]->value_count; v++) {
            uint32_t role = a->work->graphs[g]->values[v]->role;
            if (role != ACCEL_ROLE_INPUT && role != ACCEL_ROLE_OUTPUT)
                continue;
            if (accel_value_bytes(a->work->graphs[g], v, a->work->symbols[g], &one, a->error) != ACCEL_OK)
                return ACCEL_E_INVALID;
            if (!accel_add_u64(bytes, one, &bytes))
                return too_large(a);
            count++;
        }
    accel_plan_add_row(a->plan, ACCEL_MEMORY_ACTIVATION, bytes, bytes,
                       accel_plan_text(a->plan,
                                       "estimated: %" PRIu32 " inputs and outputs of %" PRIu32
                                       " graphs, types x shapes for the highest symbols",
                                       count, a->work->graph_count));
    return ACCEL_OK;
}

/* Adds scratch of the largest graph: binding sets share scratch. */
static int32_t add_scratch(struct adder *a)
{
    uint64_t most = 0, bytes;
    if (a->answers.estimate.given[ACCEL_MEMORY_SCRATCH])
        return add_estimated(a, ACCEL_MEMORY_SCRATCH);
    for (uint32_t g = 0; g < a->work->graph_count; g++) {
        const struct accel_graph *graph = a->work->graphs[g];
        uint64_t *offsets = accel_arena_array(&a->plan->arena, graph->value_count, sizeof(*offsets));
        if (offsets == NULL)
            return accel_error_no_memory(a->error, "for a plan");
        if (accel_graph_plan_buffers(graph, a->work->symbols[g], 64, offsets, &bytes, a->error) != ACCEL_OK)
            return ACCEL_E_INVALID;
        most = bytes > most ? bytes : most;
    }
    accel_plan_add_row(a->plan, ACCEL_MEMORY_SCRATCH, 0, most,
                       "estimated: intermediates of the largest graph by lifetime; the driver gives no estimate, and "
                       "its work space is not in it");
    return ACCEL_OK;
}

static int32_t add_program(struct adder *a)
{
    if (a->answers.estimate.given[ACCEL_MEMORY_PROGRAM])
        return add_estimated(a, ACCEL_MEMORY_PROGRAM);
    accel_plan_add_row(
        a->plan, ACCEL_MEMORY_PROGRAM, 0, (uint64_t)a->plan->node_count * ACCEL_PLAN_NODE_BYTES,
        accel_plan_text(a->plan, "estimated: %u bytes for each of %" PRIu32 " nodes; the driver gives no estimate",
                        ACCEL_PLAN_NODE_BYTES, a->plan->node_count));
    return ACCEL_OK;
}

static int32_t add_host(struct adder *a)
{
    const struct accel_plan_estimate *estimate = &a->answers.estimate;
    uint64_t own = accel_plan_bookkeeping(a->device, a->work, a->answers.weight_count), bytes;
    uint64_t driver = estimate->given[ACCEL_MEMORY_HOST] ? estimate->upper[ACCEL_MEMORY_HOST] : 0;
    const char *formula = a->work->host_formula ? a->work->host_formula : "nothing";
    const char *drivers = "";
    if (!accel_add_u64(own, a->work->host_bytes, &bytes) || !accel_add_u64(bytes, driver, &bytes))
        return too_large(a);
    if (estimate->given[ACCEL_MEMORY_HOST])
        drivers = accel_plan_text(a->plan, "%" PRIu64 " bytes %s; ", driver, estimate->formula[ACCEL_MEMORY_HOST]);
    accel_plan_add_row(a->plan, ACCEL_MEMORY_HOST, bytes - driver + estimate->lower[ACCEL_MEMORY_HOST], bytes,
                       accel_plan_text(a->plan,
                                       "estimated: %" PRIu64 " bytes of lists and objects of the library; %sof the "
                                       "application: %s",
                                       own, drivers, formula));
    return ACCEL_OK;
}

/* ---- the verdict ---- */

/* Computes the budget of a device with its own memory: the memory that is free now if the driver can report it. */
static void device_budget(const struct adder *a, struct accel_plan_budget *budget)
{
    const struct accel_facts *facts = a->plan->device->info.facts;
    const struct accel_device_table *table = a->device->handle->table;
    struct accel_memory_now now = {0};
    int32_t code = ACCEL_E_UNSUPPORTED;
    accel_plan_device_budget(a->plan, a->plan->device, budget);
    if (accel_plan_uses_host_memory(a->plan->device))
        return;
    if (ACCEL_CAN(table, memory)) {
        ACCEL_GUARDED(code, a->device->object.context, a->device->driver, "memory",
                      table->memory(a->device->handle, 0, &now, NULL));
    }
    if (code == ACCEL_OK) {
        /* A driver that reports more free memory than the device has did not measure it; its facts are then more
         * reliable. */
        if (now.free > now.total || (facts->heaps[0].bytes != 0 && now.free > facts->heaps[0].bytes))
            return;
        budget->bytes = now.free;
        budget->origin = accel_plan_text(a->plan, "measured: free memory of heap %s, reported by driver %s",
                                         facts->heaps[0].name, a->device->driver);
    }
}

static int32_t compute_fit(struct adder *a)
{
    struct accel_plan_budget budget;
    uint64_t needed = 0;
    for (uint32_t i = 0; i < a->plan->memory_count; i++)
        if (!accel_add_u64(needed, a->plan->memory[i].bytes, &needed))
            return too_large(a);
    device_budget(a, &budget);
    accel_plan_whole_budget(a->plan, &budget);
    accel_plan_device_cap(a->plan, &budget);
    a->plan->has_fit = true;
    accel_plan_compute_fit(a->plan, needed, &budget);
    return ACCEL_OK;
}

/* Lists the weights that the device does not copy; the rest of the answers exists. */
static int32_t list_in_place(struct adder *a)
{
    struct accel_plan_answers *answers = &a->answers;
    struct accel_plan_in_place *list =
        accel_arena_array(&a->plan->arena, (size_t)answers->weight_count + 1, sizeof(*list));
    if (list == NULL)
        return accel_error_no_memory(a->error, "for a plan");
    for (uint32_t i = 0; i < answers->weight_count; i++)
        if (is_in_place(a, &answers->weights[i]) && !answers->weights[i].made)
            list[answers->in_place_count++] =
                (struct accel_plan_in_place){answers->weights[i].value->key, is_looked_up(a, &answers->weights[i]), 0};
    answers->in_place = list;
    return ACCEL_OK;
}

int32_t accel_plan_ask_memory(struct accel_plan *plan, struct accel_device *device, const struct accel_plan_work *work,
                              const struct accel_compile_options *options, uint8_t *const *wanted,
                              struct accel_plan_answers *out_answers, struct accel_error *error)
{
    struct adder a = {.plan = plan, .device = device, .work = work, .error = error};
    int32_t code = query_estimate(&a, options);
    if (code == ACCEL_OK)
        code = list_weights(&a, wanted);
    if (code == ACCEL_OK)
        code = list_in_place(&a);
    *out_answers = a.answers;
    return code;
}

int32_t accel_plan_add_memory(struct accel_plan *plan, const struct accel_plan_work *work,
                              const struct accel_plan_answers *answers, struct accel_error *error)
{
    struct adder a = {.plan = plan, .device = plan->opened, .work = work, .answers = *answers, .error = error};
    static int32_t (*const steps[])(struct adder *) = {add_weights, add_state, add_activations, add_scratch,
                                                       add_program, add_host,  compute_fit};
    int32_t code = ACCEL_OK;
    plan->memory_count = 0;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && code == ACCEL_OK; i++)
        code = steps[i](&a);
    return code;
}

/* ---- public functions ---- */

uint32_t accel_plan_memory_count(const struct accel_plan *plan)
{
    return plan ? plan->memory_count : 0;
}

const struct accel_plan_memory *accel_plan_memory_get(const struct accel_plan *plan, uint32_t index)
{
    return index < accel_plan_memory_count(plan) ? &plan->memory[index] : NULL;
}

int32_t accel_plan_fit(const struct accel_plan *plan, struct accel_plan_fit *fit, struct accel_error *error)
{
    uint32_t size;
    if (plan == NULL || fit == NULL || fit->size < sizeof(size))
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_fit requires a plan and a record with its size");
    if (!plan->has_fit)
        return accel_error_set(error, ACCEL_E_INVALID, "the plan has no assigned graphs");
    size = fit->size < sizeof(*fit) ? fit->size : (uint32_t)sizeof(*fit);
    memcpy(fit, &plan->fit, size);
    fit->size = size;
    return ACCEL_OK;
}
