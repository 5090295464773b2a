/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the graph of a case, asks the driver for its claim, and runs the case. */
#include "config.h"

#include "sdk/conform/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/conform/direct.h"
#include "sdk/conform/list.h"
#include "sdk/conform/reference.h"
#include "sdk/conform/step.h"

const struct trial_rounding trial_roundings[TRIAL_BY_ROW + 1] = {
    {ACCEL_F32, TRIAL_F32, ""},
    {ACCEL_Q8_0, TRIAL_ROUNDED_Q8, ", x may be rounded to q8"},
    {ACCEL_F16, TRIAL_ROUNDED_F16, ", x may be rounded to f16"},
    {ACCEL_BF16, TRIAL_ROUNDED_Q8, ", x may be rounded to bf16"},
    {ACCEL_Q8_ROW, TRIAL_ROUNDED_Q8, ", x may be rounded to q8_row"},
};

double trial_product_scale(uint64_t k, uint32_t rounding)
{
    return sqrt((double)k) / (rounding == 0 ? 2 : 1);
}

void trial_begin(struct trial *trial, struct conform *conform, double ceiling, const char *format, ...)
{
    char name[300];
    va_list values;

    va_start(values, format);
    vsnprintf(name, sizeof(name), format, values);
    va_end(values);
    memset(trial, 0, sizeof(*trial));
    trial->conform = conform;
    trial->ceiling = ceiling;
    trial->is_symbolic = conform_below(conform, 2) == 0;
    trial->by_row = true;
    conform_case(conform, "%s%s", name, trial->is_symbolic ? ", number of rows not fixed" : "");
    trial->code = accel_builder_create("case", &trial->builder, &conform->error);
}

struct accel_dim trial_fixed(uint64_t extent)
{
    return (struct accel_dim){.add = extent};
}

struct accel_dim trial_rows(struct trial *trial, uint64_t rows)
{
    trial->rows = rows;
    trial->highest = rows;
    if (!trial->is_symbolic)
        return trial_fixed(rows);
    trial->highest += conform_below(trial->conform, 20);
    if (trial->code == ACCEL_OK)
        trial->code =
            accel_builder_symbol(trial->builder, "rows", 1, trial->highest, &trial->symbol, &trial->conform->error);
    /* One of four, without a random number: cases keep theirs. */
    trial->is_masked = trial->conform->begun % 4 == 3;
    if (trial->code == ACCEL_OK && trial->is_masked)
        trial->code = accel_builder_mask(trial->builder, trial->symbol, &trial->conform->error);
    return (struct accel_dim){.symbol = trial->symbol, .multiply = 1, .divide = 1};
}

static uint32_t add_value(struct trial *trial, uint32_t role, const char *name, uint32_t type, uint32_t rank,
                          const struct accel_dim *dims)
{
    uint32_t value = 0;

    if (trial->code == ACCEL_OK)
        trial->code = accel_builder_value(trial->builder, role, name, type, rank, dims, &value, &trial->conform->error);
    return trial->code == ACCEL_OK && value < TRIAL_VALUES ? value : 0;
}

uint32_t trial_input(struct trial *trial, const char *name, uint32_t type, uint32_t rank, const struct accel_dim *dims,
                     const void *bytes)
{
    uint32_t value = add_value(trial, ACCEL_ROLE_INPUT, name, type, rank, dims);

    trial->values[value].bytes = bytes;
    return value;
}

uint32_t trial_weight(struct trial *trial, const char *name, uint32_t rank, const struct conform_tensor *tensor)
{
    struct accel_dim dims[2] = {trial_fixed(tensor->rows), trial_fixed(tensor->width)};
    uint32_t value = add_value(trial, ACCEL_ROLE_WEIGHT, name, tensor->format.type, rank, rank == 1 ? dims + 1 : dims);

    conform_tensor_protect(tensor);
    trial->values[value].weight = tensor;
    return value;
}

uint32_t trial_state(struct trial *trial, const char *name, uint32_t type, uint64_t slots, uint64_t row)
{
    struct accel_dim dims[2] = {trial_fixed(slots), trial_fixed(row)};
    uint32_t value = add_value(trial, ACCEL_ROLE_STATE, name, type, 2, dims);

    trial->values[value].slots = slots;
    return value;
}

uint32_t trial_node(struct trial *trial, uint32_t op, const char *name, const uint32_t *inputs, uint32_t count,
                    const void *attributes)
{
    uint32_t value = 0;

    if (trial->code == ACCEL_OK)
        trial->code =
            accel_builder_node(trial->builder, op, name, inputs, count, attributes, &value, &trial->conform->error);
    return value;
}

void trial_node_pair(struct trial *trial, uint32_t op, const char *name, const uint32_t *inputs, uint32_t count,
                     const void *attributes, uint32_t out_values[2])
{
    out_values[0] = out_values[1] = 0;
    if (trial->code == ACCEL_OK)
        trial->code = accel_builder_node_outputs(trial->builder, op, name, inputs, count, attributes, out_values, 2,
                                                 &trial->conform->error);
}

void trial_output(struct trial *trial, uint32_t value, const double *want, double scale)
{
    if (trial->code == ACCEL_OK)
        trial->code = accel_builder_output(trial->builder, value, NULL, &trial->conform->error);
    if (value >= TRIAL_VALUES)
        return;
    trial->values[value].want = want;
    trial->values[value].scale = scale;
}

void trial_expect(struct trial *trial, uint32_t value, double scale)
{
    trial_output(trial, value, NULL, scale);
    if (value < TRIAL_VALUES)
        trial->values[value].is_expected = true;
}

/* ---- the references ---- */

static void load_value(const struct trial *trial, uint32_t v, struct reference_value *value)
{
    const struct accel_value *made = trial->graph->values[v];
    const struct trial_value *data = &trial->values[v];
    uint64_t count = 1;

    value->rank = made->rank;
    for (uint32_t d = 0; d < made->rank; d++) {
        accel_dim_value(&made->dims[d], &trial->rows, 1, &value->extents[d], NULL);
        count *= value->extents[d];
    }
    value->at = conform_memory(trial->conform, count, sizeof(double));
    for (uint64_t i = 0; i < count && (data->weight != NULL || data->bytes != NULL); i++)
        value->at[i] =
            data->weight != NULL ? (double)data->weight->exact[i] : conform_element(made->type, data->bytes, i);
}

static void compute_node(struct reference_value *values, const struct accel_node *node)
{
    const struct conform_operator *row = conform_operator_find(node->op);
    struct reference_call call = {.attributes = node->attributes};

    for (uint32_t i = 0; i < node->input_count; i++)
        call.inputs[i] = node->inputs[i] == ACCEL_NO_VALUE ? NULL : &values[node->inputs[i]];
    for (uint32_t i = 0; i < node->output_count; i++)
        call.outputs[i] = &values[node->outputs[i]];
    row->compute(&call);
}

/* Computes the expected outputs for all rows of the step, and with them all values of the graph. */
static void compute_wants(struct trial *trial, struct reference_value values[TRIAL_VALUES])
{
    const struct accel_graph *graph = trial->graph;
    bool is_expected = false;

    memset(values, 0, TRIAL_VALUES * sizeof(*values));
    for (uint32_t v = 0; v < graph->value_count; v++)
        is_expected |= trial->values[v].is_expected;
    if (!is_expected)
        return;
    for (uint32_t v = 0; v < graph->value_count; v++)
        load_value(trial, v, &values[v]);
    for (uint32_t n = 0; n < graph->node_count; n++)
        compute_node(values, graph->nodes[n]);
    for (uint32_t v = 0; v < graph->value_count; v++)
        if (trial->values[v].is_expected)
            trial->values[v].want = values[v].at;
}

/* ---- the claim ---- */

struct collector {
    struct accel_claim_sink sink; /* first member: callbacks receive its address */
    const struct accel_graph *graph;
    double tolerance;  /* largest tolerance of all nodes */
    uint32_t answered; /* answered nodes, as bits */
    bool is_refused, is_likely;
    char reason[256];
    char fault[256]; /* first broken rule */
};

static int32_t collect_claim(const struct accel_claim_sink *sink, const struct accel_claim *claim,
                             struct accel_error *error) ACCEL_NOEXCEPT
{
    struct collector *collector = (struct collector *)(uintptr_t)sink;

    (void)error;
    if (claim->graph != 0 || claim->node >= collector->graph->node_count || claim->kernel == NULL ||
        claim->reason == NULL) {
        snprintf(collector->fault, sizeof(collector->fault), "a claim for graph %u, node %u, or without texts",
                 claim->graph, claim->node);
        return ACCEL_E_INVALID;
    }
    collector->answered |= 1u << claim->node;
    collector->is_likely |= claim->answer == ACCEL_CLAIM_LIKELY;
    if (claim->answer == ACCEL_CLAIM_NO) {
        if (!collector->is_refused)
            snprintf(collector->reason, sizeof(collector->reason), "%s", claim->reason);
        if (claim->reason[0] == '\0')
            snprintf(collector->fault, sizeof(collector->fault), "node %u is refused without a reason", claim->node);
        collector->is_refused = true;
        return ACCEL_OK;
    }
    if (claim->tolerance > collector->tolerance)
        collector->tolerance = claim->tolerance;
    if (collector->graph->nodes[claim->node]->op == ACCEL_OP_ATTENTION && claim->variant == ACCEL_VARIANT_PLAIN)
        snprintf(collector->fault, sizeof(collector->fault), "attention (node %u) names no variant", claim->node);
    return ACCEL_OK;
}

/* Returns whether the driver claims the case, and the tolerance of the claim. */
static bool ask(struct trial *trial, double *out_tolerance)
{
    struct conform *conform = trial->conform;
    struct collector collector = {.sink = {.size = sizeof(collector.sink), .claim = collect_claim},
                                  .graph = trial->graph};
    const uint32_t one = 1;
    struct accel_compile_options options = {.size = sizeof(options), .buckets = &trial->highest, .bucket_counts = &one};
    struct accel_driver_device *device = direct_device(conform);
    int32_t code = device->table->claim(device, &trial->graph, 1, &options, &collector.sink, &conform->error);

    if (collector.fault[0] != '\0') {
        conform_fail(conform, "claim: %s", collector.fault);
        return false;
    }
    if (!conform_ok(conform, code, "claim"))
        return false;
    if (collector.is_refused) {
        conform_unclaimed(conform, collector.reason);
        return false;
    }
    if (collector.answered != (1u << trial->graph->node_count) - 1) {
        conform_fail(conform, "claim: some nodes got no answer");
        return false;
    }
    trial->is_likely = collector.is_likely;
    *out_tolerance = collector.tolerance < trial->ceiling ? collector.tolerance : trial->ceiling;
    if (trial->ceiling != TRIAL_EXACT && collector.tolerance > trial->ceiling)
        conform_fail(conform, "claim: it states a tolerance of %g, and the class of this case allows %g",
                     collector.tolerance, trial->ceiling);
    return true;
}

/* ---- the run ---- */

#define REPEATED 2u /* cases of a test that are repeated, unless the user selects cases */

/* Keeps modules open for a while: drivers may share compiled code among modules, and shared code must outlive the
 * module that compiled it. */
static void keep(struct trial *trial, struct accel_module *module)
{
    struct conform *conform = trial->conform;
    struct conform_held *entry = &conform->held[conform->held_next++ % CONFORM_HELD];

    accel_module_free(entry->module);
    accel_builder_free(entry->builder);
    *entry = (struct conform_held){module, trial->builder};
    trial->builder = NULL;
}

static void run_steps(struct trial *trial, double tolerance)
{
    const uint64_t rows[3] = {trial->rows, 1, trial->rows};
    uint32_t count = trial->is_symbolic && trial->by_row ? 3 : 2;
    bool is_good;
    struct step step;

    is_good = step_make(&step, trial);
    for (uint32_t i = 0; i < count && is_good; i++)
        is_good = step_run(&step, trial, count == 3 ? rows[i] : trial->rows, tolerance);
    /* A driver without queues runs in the caller's thread and borrows further threads. */
    if (is_good && step.threads > 1 && !ACCEL_CAN(direct_device(trial->conform)->table, queue_create))
        is_good = step_run_late(&step, trial, trial->rows, tolerance);
    if (is_good && trial->conform->begun <= REPEATED && trial->conform->from == 0)
        step_repeat(&step, trial, trial->rows);
    keep(trial, step_free(&step));
}

bool trial_run(struct trial *trial)
{
    struct conform *conform = trial->conform;
    struct reference_value values[TRIAL_VALUES];
    double tolerance = 0;
    bool is_taken = false;

    if (trial->code == ACCEL_OK)
        trial->code = accel_builder_finish(trial->builder, &trial->graph, &conform->error);
    if (conform_ok(conform, trial->code, "the kit's own graph") && !conform_is_early(conform) &&
        ask(trial, &tolerance)) {
        is_taken = true;
        if (trial->compute != NULL)
            trial->compute(trial->data);
        compute_wants(trial, values);
        run_steps(trial, tolerance);
        for (uint32_t v = 0; v < TRIAL_VALUES; v++)
            free(values[v].at);
    }
    accel_builder_free(trial->builder);
    return is_taken;
}
