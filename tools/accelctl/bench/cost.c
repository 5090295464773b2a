/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the bytes and multiply-adds of a step from its graph: every weight once, a row of the token embedding
 * for each token, the cached keys and values once, a new row of each; multiply-adds of matrices and of attention.
 * Activations are left out, since they stay in caches. So are norms, rotations and other element-wise work. */
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include <accel/builder.h>

#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/cost.h"
#include "tools/accelctl/bench/machine.h"

/* One step. */
struct step {
    const struct accel_graph *graph;
    uint64_t symbols[16];
    double tokens; /* of all sequences */
    double sequences;
    double length; /* of each sequence, after the step */
    struct bench_cost *cost;
    struct accel_error *error;
};

/* Sets the symbols "tokens" and "outputs" of the step; all others get their lowest value. */
static int32_t set_symbols(struct step *step, uint64_t tokens, uint64_t sequences)
{
    const struct accel_graph *graph = step->graph;

    if (graph->symbol_count > sizeof(step->symbols) / sizeof(*step->symbols))
        return accel_error_set(step->error, ACCEL_E_LIMIT, "a graph of %u symbols", graph->symbol_count);
    for (uint32_t s = 0; s < graph->symbol_count; s++) {
        const char *name = graph->symbols[s]->name;

        step->symbols[s] = graph->symbols[s]->lowest;
        if (strcmp(name, "tokens") == 0)
            step->symbols[s] = tokens * sequences;
        else if (strcmp(name, "outputs") == 0 || strcmp(name, "sequences") == 0)
            step->symbols[s] = sequences;
    }
    return ACCEL_OK;
}

static double extent(const struct step *step, uint32_t value, uint32_t dim)
{
    const struct accel_value *v = step->graph->values[value];
    uint64_t answer = 0;

    (void)accel_dim_value(&v->dims[dim], step->symbols, step->graph->symbol_count, &answer, step->error);
    return (double)answer;
}

static double elements(const struct step *step, uint32_t value)
{
    double product = 1;

    for (uint32_t d = 0; d < step->graph->values[value]->rank; d++)
        product *= extent(step, value, d);
    return product;
}

static double bytes_of(const struct step *step, uint32_t value)
{
    uint64_t bytes = 0;

    (void)accel_value_bytes(step->graph, value, step->symbols, &bytes, step->error);
    return (double)bytes;
}

/* Returns whether a matmul of the graph reads the value too: it then counts there, and as a whole. */
static bool is_multiplied(const struct step *step, uint32_t value)
{
    for (uint32_t n = 0; n < step->graph->node_count; n++)
        if (step->graph->nodes[n]->op == ACCEL_OP_MATMUL && step->graph->nodes[n]->inputs[1] == value)
            return true;
    return false;
}

static void add_matmul(struct step *step, const struct accel_node *node)
{
    const uint32_t weight = node->inputs[1];
    const struct accel_value *w = step->graph->values[weight];
    const struct accel_matmul *how = node->attributes;
    const double k = extent(step, weight, w->rank - 1);

    step->cost->products[bench_products_of(w->type, how->rounding)] += elements(step, node->outputs[0]) * k;
    step->cost->bytes += bytes_of(step, weight);
}

static void add_conv(struct step *step, const struct accel_node *node)
{
    const struct accel_conv *how = node->attributes;
    const uint32_t weight = node->inputs[1], counted = how->transposed ? node->inputs[0] : node->outputs[0];
    double products = elements(step, counted) * extent(step, weight, 1);

    /* Each input of a transposed convolution is multiplied with a kernel row for each output channel of its group. */
    if (how->transposed)
        products = products * extent(step, weight, 0) / extent(step, counted, step->graph->values[counted]->rank - 1);
    step->cost->products[bench_products_of(step->graph->values[weight]->type, how->rounding)] += products;
    step->cost->bytes += bytes_of(step, weight);
}

/* Each chosen expert is read once. */
static void add_expert_matmul(struct step *step, const struct accel_node *node)
{
    const struct accel_expert_matmul *how = node->attributes;
    const uint32_t weight = node->inputs[1];
    const double choices = elements(step, node->inputs[2]), part = elements(step, weight) / how->experts;

    step->cost->products[bench_products_of(step->graph->values[weight]->type, how->rounding)] += choices * part;
    step->cost->bytes += bytes_of(step, weight) * (choices < how->experts ? choices / how->experts : 1);
}

/* Counts all keys for each query: which keys it sees is an input. */
static void add_dense_attention(struct step *step, const struct accel_node *node)
{
    const double keys = extent(step, node->inputs[1], 0);

    step->cost->products[BENCH_F32] += (elements(step, node->inputs[0]) + elements(step, node->outputs[0])) * keys;
    step->cost->bytes += bytes_of(step, node->inputs[1]) + bytes_of(step, node->inputs[2]);
}

/* Adds up the positions that the new tokens of a sequence attend to. */
static double visible(const struct step *step, const struct accel_attention *how)
{
    const double tokens = step->tokens / step->sequences;
    double sum = 0;

    for (double t = 0; t < tokens; t++) {
        double seen = how->causal ? step->length - tokens + t + 1 : step->length;

        sum += how->window != 0 && seen > how->window ? how->window : seen;
    }
    return sum;
}

static void add_attention(struct step *step, const struct accel_node *node)
{
    const struct accel_attention *how = node->attributes;
    const uint32_t q = node->inputs[0], y = node->outputs[0];
    const double per_place = extent(step, q, 1) * (extent(step, q, 2) + extent(step, y, 2));
    double places = step->length;
    const uint32_t type = step->graph->values[node->inputs[1]]->type;
    /* Over caches of floats nothing is rounded, so products are in F32. */
    const uint32_t rounding = ACCEL_IS_PLANAR(type) ? how->rounding : ACCEL_F32;

    if (how->window != 0 && places > how->window + step->tokens / step->sequences)
        places = how->window + step->tokens / step->sequences;
    step->cost->products[bench_products_of(type, rounding)] += step->sequences * visible(step, how) * per_place;
    for (uint32_t i = 1; i <= 2; i++)
        step->cost->bytes +=
            step->sequences * places * bytes_of(step, node->inputs[i]) / extent(step, node->inputs[i], 0);
}

static void add_node(struct step *step, const struct accel_node *node)
{
    switch (node->op) {
    case ACCEL_OP_MATMUL:
        add_matmul(step, node);
        break;
    case ACCEL_OP_EMBED:
        step->cost->bytes +=
            elements(step, node->inputs[1]) * bytes_of(step, node->inputs[0]) / extent(step, node->inputs[0], 0);
        break;
    case ACCEL_OP_ATTENTION:
        add_attention(step, node);
        break;
    case ACCEL_OP_CONV:
        add_conv(step, node);
        break;
    case ACCEL_OP_EXPERT_MATMUL:
        add_expert_matmul(step, node);
        break;
    case ACCEL_OP_DENSE_ATTENTION:
        add_dense_attention(step, node);
        break;
    case ACCEL_OP_CACHE_WRITE:
        step->cost->bytes += step->tokens * bytes_of(step, node->inputs[2]) / extent(step, node->inputs[2], 0);
        break;
    default: /* weights of norms and biases */
        for (uint32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] != ACCEL_NO_VALUE && step->graph->values[node->inputs[i]]->role == ACCEL_ROLE_WEIGHT &&
                !is_multiplied(step, node->inputs[i]))
                step->cost->bytes += bytes_of(step, node->inputs[i]);
    }
}

int32_t bench_cost_step(const struct accel_graph *graph, uint64_t tokens, uint64_t sequences, uint64_t length,
                        struct bench_cost *cost, struct accel_error *error)
{
    struct accel_error own = {0};
    struct step step = {.graph = graph,
                        .tokens = (double)(tokens * sequences),
                        .sequences = (double)sequences,
                        .length = (double)length,
                        .cost = cost,
                        .error = error == NULL ? &own : error};
    const double before = cost->bytes;
    int32_t code = set_symbols(&step, tokens, sequences);

    for (uint32_t n = 0; code == ACCEL_OK && n < graph->node_count; n++)
        add_node(&step, graph->nodes[n]);
    if (cost->bytes - before > cost->step)
        cost->step = cost->bytes - before;
    return code == ACCEL_OK ? step.error->code : code;
}
