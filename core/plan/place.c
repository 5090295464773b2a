/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns nodes to drivers, the second part of a plan, and checks the assignment against the fallback policies. */
#include "config.h"

#include <inttypes.h>

#include <accel/builder.h>
#include <accel/run.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/open.h"
#include "core/boundary/import.h"
#include "core/graph/types.h"
#include "core/graph/verify.h"
#include "core/plan/honored.h"
#include "core/plan/memory.h"
#include "core/registry/call_guard.h"
#include "core/runtime/object.h"

/** Collects the claims of one call of `claim`. */
struct collector {
    struct accel_claim_sink sink; /* first member: the driver passes its address back */
    struct accel_plan *plan;
    const struct accel_plan_work *work;
    uint8_t *const *wanted;
};

/* Returns the record of node `node` of graph `graph`. */
static struct accel_plan_node *find_record(const struct accel_plan *plan, const struct accel_plan_work *work,
                                           uint32_t graph, uint32_t node)
{
    struct accel_plan_node *record = plan->nodes;
    for (uint32_t g = 0; g < graph; g++)
        record += work->graphs[g]->node_count;
    return record + node;
}

static int32_t import_claim(const struct accel_claim_sink *sink, const struct accel_claim *given,
                            struct accel_error *error) ACCEL_NOEXCEPT
{
    struct collector *c = (struct collector *)(uintptr_t)sink;
    struct accel_plan *plan = c->plan;
    struct accel_plan_node *record;
    const struct accel_node *node;
    const char *driver = plan->device->owner->driver->name;
    struct accel_type_layout layout;
    struct accel_claim claim;
    int32_t code = accel_import_claim(given, c->work->graphs, c->work->graph_count, driver, &claim, error);
    if (code != ACCEL_OK)
        return code;
    if (claim.precision != 0 && !accel_type_describe(claim.precision, &layout))
        return accel_error_driver(error, ACCEL_E_INVALID, driver, "a claim has the precision %u", claim.precision);
    node = c->work->graphs[claim.graph]->nodes[claim.node];
    record = find_record(plan, c->work, claim.graph, claim.node);
    record->answer = claim.answer;
    record->tolerance = claim.tolerance;
    record->variant = claim.variant;
    record->precision = claim.precision;
    code = accel_import_text(&plan->arena, &claim.kernel, driver, "accel_claim.kernel", error);
    if (code == ACCEL_OK)
        code = accel_import_text(&plan->arena, &claim.reason, driver, "accel_claim.reason", error);
    if (code != ACCEL_OK)
        return code;
    record->kernel = claim.kernel;
    record->reason = claim.reason;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != ACCEL_NO_VALUE)
            c->wanted[claim.graph][node->inputs[i]] |= accel_plan_wanted(node, claim.weights);
    return ACCEL_OK;
}

/* Initializes every node with the claim that it has if the driver skips it, and makes the lists of `wanted`. */
static int32_t begin_records(struct accel_plan *plan, const struct accel_plan_work *work, uint8_t **wanted,
                             struct accel_error *error)
{
    struct accel_plan_node *record;
    uint64_t count = 0;
    for (uint32_t g = 0; g < work->graph_count; g++)
        count += work->graphs[g]->node_count;
    plan->nodes = accel_arena_array(&plan->arena, count, sizeof(*plan->nodes));
    plan->node_count = plan->nodes ? (uint32_t)count : 0;
    if (plan->nodes == NULL)
        return accel_error_no_memory(error, "for a plan");
    record = plan->nodes;
    for (uint32_t g = 0; g < work->graph_count; g++) {
        wanted[g] = accel_arena_array(&plan->arena, work->graphs[g]->value_count, 1);
        if (wanted[g] == NULL)
            return accel_error_no_memory(error, "for a plan");
        for (uint32_t n = 0; n < work->graphs[g]->node_count; n++, record++) {
            const struct accel_node *node = work->graphs[g]->nodes[n];
            *record = (struct accel_plan_node){
                .size = sizeof(*record),
                .graph = g,
                .node = n,
                .answer = ACCEL_CLAIM_NO,
                .name = accel_plan_text(plan, "%s", node->name),
                .op = accel_op_name(node->op),
                .device = plan->device->info.name,
                .kernel = "",
                .reason = "the driver does not claim it",
            };
        }
    }
    return ACCEL_OK;
}

/* Requests the driver's claims for all nodes. Fills the node records and, for every value of every graph, the requested
 * placements of a weight: wanted[graph][value] combines the bits of accel_plan_wanted of all its readers. */
static int32_t claim_nodes(struct accel_plan *plan, struct accel_device *device, const struct accel_plan_work *work,
                           const struct accel_compile_options *options, uint8_t **wanted, struct accel_error *error)
{
    struct collector collector = {
        .sink = {.size = sizeof(collector.sink), .claim = import_claim}, .plan = plan, .work = work, .wanted = wanted};
    int32_t code = begin_records(plan, work, wanted, error);
    if (code != ACCEL_OK)
        return code;
    ACCEL_GUARDED(
        code, device->object.context, device->driver, "claim",
        device->handle->table->claim(device->handle, work->graphs, work->graph_count, options, &collector.sink, error));
    return accel_import_code(code, device->driver, "claim", error);
}

/* ---- policies ---- */

static const struct accel_profile_setting *policy_of(const struct accel_plan *plan, uint32_t op)
{
    const struct accel_setting_values *values = plan->settings->values;
    return op == ACCEL_OP_ATTENTION     ? &values->fallback_attention
           : op == ACCEL_OP_CACHE_WRITE ? &values->fallback_kv
                                        : &values->fallback_operator;
}

static int32_t check_policy(const struct accel_plan *plan, const struct accel_plan_node *record, uint32_t op,
                            struct accel_error *error)
{
    const struct accel_profile_setting *policy = policy_of(plan, op);
    if (record->answer == ACCEL_CLAIM_NO) {
        accel_error_set(error, ACCEL_E_REFUSED, "node \"%.120s\" (%s) does not run on %s: %.200s", record->name,
                        record->op, record->device, record->reason);
        return accel_error_advise(
            error, ACCEL_E_REFUSED,
            "name another device, or use a model whose weights this one reads; where something is too large, a "
            "smaller batch or context");
    }
    if (record->answer != ACCEL_CLAIM_EMULATED || policy->word == ACCEL_WORD_ALLOW)
        return ACCEL_OK;
    if (policy->word == ACCEL_WORD_DENY) {
        accel_error_set(error, ACCEL_E_FALLBACK, "node \"%.120s\" (%s) would be emulated on %s: %.200s", record->name,
                        record->op, record->device, record->reason);
        return accel_error_advise(error, ACCEL_E_FALLBACK, "set %s to warn or allow", policy->key);
    }
    accel_log_write(&plan->context->log, ACCEL_LOG_WARN, "plan",
                    "fallback=operator node=\"%s\" op=%s device=%s reason=\"%s\"", record->name, record->op,
                    record->device, record->reason);
    return ACCEL_OK;
}

static int32_t check_policies(struct accel_plan *plan, const struct accel_plan_work *work, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < plan->node_count && code == ACCEL_OK; i++) {
        const struct accel_plan_node *record = &plan->nodes[i];
        code = check_policy(plan, record, work->graphs[record->graph]->nodes[record->node]->op, error);
    }
    return code;
}

/* ---- placement ---- */

static int32_t check_work(const struct accel_plan *plan, const struct accel_plan_work *work, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    if (plan == NULL || work == NULL || plan->spread)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "accel_plan_assign_graphs requires work and a plan for one "
                               "device, such as a stage of a plan for several");
    code = accel_open_check(work, ACCEL_END_OF(struct accel_plan_work, file_bytes), sizeof(*work), "the caller",
                            "accel_plan_work", error);
    if (code != ACCEL_OK)
        return code;
    if (ACCEL_HAS(work, converted_count) && work->converted_count != 0 && work->converted == NULL)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "accel_plan_assign_graphs: keys of converted weights are missing");
    if (work->graph_count == 0 || work->graphs == NULL || work->symbols == NULL || work->sets > 2 ||
        (work->part_count && work->parts == NULL))
        return accel_error_set(
            error, ACCEL_E_INVALID,
            "accel_plan_assign_graphs: graphs, their symbols or the parts are missing, or sets is over 2");
    for (uint32_t g = 0; g < work->graph_count && code == ACCEL_OK; g++) {
        code = accel_graph_verify(work->graphs[g], error);
        if (code == ACCEL_OK)
            code = accel_graph_check_symbols(work->graphs[g], work->symbols[g], error);
    }
    return code;
}

/* Adds one binding set for each graph bucket: the highest symbol values, and the lowest. */
static int32_t make_options(struct accel_plan *plan, const struct accel_plan_work *work,
                            struct accel_compile_options *options, struct accel_error *error)
{
    uint32_t sets = work->sets > 1 ? work->sets : 1;
    uint64_t *buckets, count = 0;
    uint32_t *bucket_counts = accel_arena_array(&plan->arena, work->graph_count, sizeof(*bucket_counts));
    for (uint32_t g = 0; g < work->graph_count; g++)
        count += work->graphs[g]->symbol_count;
    buckets = accel_arena_array(&plan->arena, count * sets, sizeof(*buckets));
    if (buckets == NULL || bucket_counts == NULL)
        return accel_error_no_memory(error, "for a plan");
    *options = (struct accel_compile_options){.size = sizeof(*options),
                                              .buckets = buckets,
                                              .bucket_counts = bucket_counts,
                                              .threads = plan->threads.count ? plan->threads.count : 1};
    for (uint32_t g = 0; g < work->graph_count; g++) {
        bucket_counts[g] = sets;
        for (uint32_t s = 0; s < work->graphs[g]->symbol_count; s++)
            *buckets++ = work->symbols[g][s];
        for (uint32_t s = 0; sets > 1 && s < work->graphs[g]->symbol_count; s++)
            *buckets++ = work->graphs[g]->symbols[s]->lowest;
    }
    return ACCEL_OK;
}

int32_t accel_plan_ask(struct accel_plan *plan, const struct accel_plan_work *work,
                       const struct accel_plan_answers **out_answers, struct accel_error *error)
{
    struct accel_plan_answers *answers;
    struct accel_compile_options options;
    uint8_t **wanted;
    int32_t code = check_work(plan, work, error);
    if (code == ACCEL_OK)
        code = accel_plan_need_device(plan, error);
    if (code != ACCEL_OK)
        return code;
    plan->placed = false;
    plan->has_fit = false;
    plan->memory_count = 0;
    code = make_options(plan, work, &options, error);
    wanted = accel_arena_array(&plan->arena, work->graph_count, sizeof(*wanted));
    answers = accel_arena_array(&plan->arena, 1, sizeof(*answers));
    if (code == ACCEL_OK && (wanted == NULL || answers == NULL))
        code = accel_error_no_memory(error, "for a plan");
    if (code == ACCEL_OK)
        code = accel_plan_need_opened(plan, error);
    if (code == ACCEL_OK)
        code = accel_plan_check_limits(plan, work, error);
    if (code == ACCEL_OK)
        code = claim_nodes(plan, plan->opened, work, &options, wanted, error);
    if (code == ACCEL_OK)
        code = check_policies(plan, work, error);
    if (code == ACCEL_OK)
        code = accel_plan_ask_memory(plan, plan->opened, work, &options, wanted, answers, error);
    code = accel_plan_finish(plan, code, error);
    if (code != ACCEL_OK)
        return code;
    answers->plan = plan;
    *out_answers = answers;
    return ACCEL_OK;
}

int32_t accel_plan_finish_placement(struct accel_plan *plan, int32_t code, struct accel_error *error)
{
    plan->placed = code == ACCEL_OK;
    if (code == ACCEL_OK)
        code = accel_plan_rebuild_hints(plan, error);
    code = accel_plan_finish(plan, code, error);
    plan->placed = code == ACCEL_OK;
    return code;
}

int32_t accel_plan_assign_graphs(struct accel_plan *plan, const struct accel_plan_work *work, struct accel_error *error)
{
    const struct accel_plan_answers *answers = work && ACCEL_HAS(work, answers) ? work->answers : NULL;
    int32_t code = answers ? ACCEL_OK : accel_plan_ask(plan, work, &answers, error);
    if (code == ACCEL_OK && answers->plan != plan)
        code =
            accel_error_set(error, ACCEL_E_INVALID, "accel_plan_assign_graphs: the answers are those for another plan");
    if (code != ACCEL_OK)
        return code;
    code = accel_plan_add_memory(plan, work, answers, error);
    if (code == ACCEL_OK)
        code = accel_plan_check_scratch(plan, plan->opened, error);
    if (code == ACCEL_OK)
        accel_plan_merge_layers(plan, &(struct accel_rows){.items = (void *[]){plan}, .count = 1});
    return accel_plan_finish_placement(plan, code, error);
}

const struct accel_plan_in_place *accel_plan_in_place(const struct accel_plan_answers *answers, uint32_t *out_count)
{
    *out_count = answers->in_place_count;
    return answers->in_place;
}

uint32_t accel_plan_node_count(const struct accel_plan *plan)
{
    return plan ? plan->node_count : 0;
}

const struct accel_plan_node *accel_plan_node_get(const struct accel_plan *plan, uint32_t index)
{
    return index < accel_plan_node_count(plan) ? &plan->nodes[index] : NULL;
}
