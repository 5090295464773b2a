/* SPDX-License-Identifier: Apache-2.0 */
/* Measures operators of a driver, one at a time and as the core runs them: a graph of one node is compiled, bound
 * and run on a queue with the threads of the plan, so that it works for any driver. Weights of a GEMV are larger
 * than the caches, as those of a model are. */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>
#include <accel/run.h>

#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/cost.h"
#include "tools/accelctl/bench/operator.h"
#include "tools/accelctl/bench/rows.h"

enum { BINDS = 8, PLANES = ACCEL_FORMAT_PLANES };

/* Least duration of one round. */
#define ROUND_SECONDS 0.004

/* Weights of one tensor, made here. */
struct made_weight {
    struct accel_source base;
    char *planes[PLANES];
    uint64_t bytes[PLANES];
};

/* Resources of one operator's run. */
struct trial {
    struct bench *bench;
    const struct bench_operator *what;
    struct accel_device *device;
    struct accel_queue *queue;
    struct accel_builder *builder;
    const struct accel_graph *graph;
    struct made_weight weight;
    struct accel_module *module;
    struct accel_weights *weights;
    struct accel_state *state;
    struct accel_buffer *buffers[BINDS];
    struct accel_bind binds[BINDS];
    uint32_t bind_count;
    struct accel_set *set;
    struct accel_error error;
};

/* ---- weights ---- */

static int32_t weight_map(const struct accel_source *base, const char *key, uint32_t plane, const void **out_address,
                          uint64_t *out_bytes, struct accel_error *error)
{
    const struct made_weight *weight = (const struct made_weight *)base;

    if (plane >= PLANES || weight->planes[plane] == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "weight '%s' has no plane %u", key, plane);
    *out_address = weight->planes[plane];
    *out_bytes = weight->bytes[plane];
    return ACCEL_OK;
}

static int32_t weight_read(const struct accel_source *base, const char *key, uint32_t plane, uint64_t offset,
                           void *memory, uint64_t bytes, struct accel_error *error)
{
    const void *address = NULL;
    uint64_t all = 0;
    int32_t code = weight_map(base, key, plane, &address, &all, error);

    if (code == ACCEL_OK && (offset > all || bytes > all - offset))
        code = accel_error_set(error, ACCEL_E_INVALID, "weight '%s' has %" PRIu64 " bytes", key, all);
    if (code == ACCEL_OK)
        memcpy(memory, (const char *)address + offset, bytes);
    return code;
}

/* Encodes one row of random values, and copies it to all rows. */
static int32_t make_weight(struct trial *t, const struct accel_value *value)
{
    const uint64_t rows = value->rank == 1 ? 1 : value->dims[0].add, width = value->dims[value->rank - 1].add;
    struct made_weight *weight = &t->weight;
    struct accel_format format;
    float *row = malloc(width * sizeof(*row));
    void *planes[PLANES] = {NULL};
    size_t row_bytes[PLANES] = {0};
    int32_t code = accel_format_describe(value->type, &format);

    if (row == NULL)
        return accel_error_no_memory(&t->error, "for a row of a weight");
    bench_graph_fill(t->what, &(struct accel_value){.type = ACCEL_F32, .name = "w"}, row, width * sizeof(*row));
    for (uint32_t p = 0; code == ACCEL_OK && p < format.planes; p++) {
        code = accel_format_row_bytes(value->type, p, width, &row_bytes[p]);
        weight->bytes[p] = rows * row_bytes[p];
        planes[p] = weight->planes[p] = code == ACCEL_OK ? aligned_alloc(64, (weight->bytes[p] + 64) / 64 * 64) : NULL;
        if (code == ACCEL_OK && planes[p] == NULL)
            code = ACCEL_E_MEMORY;
    }
    if (code == ACCEL_OK)
        code = accel_format_encode(value->type, row, width, planes);
    for (uint32_t p = 0; code == ACCEL_OK && p < format.planes; p++)
        for (uint64_t r = 1; r < rows; r++)
            memcpy(weight->planes[p] + r * row_bytes[p], weight->planes[p], row_bytes[p]);
    free(row);
    return code == ACCEL_OK ? code : accel_error_set(&t->error, code, "no such weight can be made");
}

/* ---- one trial ---- */

static int32_t upload(struct trial *t, const struct accel_value *value, struct accel_buffer *buffer, uint64_t bytes)
{
    void *memory = accel_buffer_address(buffer);
    void *copy = memory == NULL ? calloc(1, bytes) : NULL;
    struct accel_step step = {
        .size = sizeof(step), .kind = ACCEL_STEP_UPDATE, .target = buffer, .bytes = bytes, .data = copy};
    const struct accel_step *const list[] = {&step};
    uint64_t reached = 0;
    int32_t code = ACCEL_OK;

    if (memory == NULL && copy == NULL)
        return accel_error_no_memory(&t->error, "for a copy of %" PRIu64 " bytes", bytes);
    bench_graph_fill(t->what, value, memory == NULL ? copy : memory, bytes);
    if (memory == NULL)
        code = accel_queue_submit(t->queue, list, 1, NULL, 0, &reached, &t->error);
    if (memory == NULL && code == ACCEL_OK)
        code = accel_queue_wait(t->queue, reached, UINT64_MAX, &t->error);
    free(copy);
    return code;
}

static int32_t bind_buffer(struct trial *t, uint32_t index)
{
    const struct accel_value *value = t->graph->values[index];
    struct accel_buffer **buffer = &t->buffers[t->bind_count];
    uint64_t bytes = 0;
    int32_t code = accel_value_bytes(t->graph, index, NULL, &bytes, &t->error);

    if (code == ACCEL_OK)
        code = accel_buffer_create(t->device, bytes, 0, buffer, &t->error);
    if (code == ACCEL_OK && value->role == ACCEL_ROLE_INPUT)
        code = upload(t, value, *buffer, bytes);
    t->binds[t->bind_count++] = (struct accel_bind){.value = index, .buffer = *buffer};
    return code;
}

/* Binds keys or values, the two parts of one state. */
static int32_t bind_state(struct trial *t, uint32_t index, uint32_t part)
{
    const struct accel_value *value = t->graph->values[index];
    const struct accel_state_part one = {.type = value->type, .row = value->dims[1].add};
    const struct accel_state_part parts[] = {one, one};
    int32_t code = ACCEL_OK;

    if (t->state == NULL)
        code = accel_state_create(t->device, parts, 2, value->dims[0].add, &t->state, &t->error);
    t->binds[t->bind_count++] = (struct accel_bind){.value = index, .part = part, .state = t->state};
    return code;
}

static int32_t bind_all(struct trial *t)
{
    uint32_t part = 0;
    int32_t code = ACCEL_OK;

    for (uint32_t v = 0; code == ACCEL_OK && v < t->graph->value_count && t->bind_count < BINDS; v++) {
        const uint32_t role = t->graph->values[v]->role;

        if (role == ACCEL_ROLE_INPUT || role == ACCEL_ROLE_OUTPUT)
            code = bind_buffer(t, v);
        else if (role == ACCEL_ROLE_STATE)
            code = bind_state(t, v, part++);
    }
    return code;
}

static int32_t prepare(struct trial *t)
{
    const struct accel_graph *graphs[1];
    int32_t code = bench_graph(t->what, &t->builder, &t->graph, &t->error);
    uint32_t has_weight = 0;

    for (uint32_t v = 0; code == ACCEL_OK && v < t->graph->value_count; v++)
        if (t->graph->values[v]->role == ACCEL_ROLE_WEIGHT) {
            has_weight = 1;
            code = make_weight(t, t->graph->values[v]);
        }
    t->weight.base = (struct accel_source){.size = sizeof(t->weight.base), .map = weight_map, .read = weight_read};
    graphs[0] = t->graph;
    if (code == ACCEL_OK)
        code = accel_module_create(t->device, graphs, 1, NULL, &t->weight.base, NULL, &t->module, &t->error);
    if (code == ACCEL_OK && has_weight)
        code = accel_weights_create(t->module, &t->weight.base, NULL, &t->weights, &t->error);
    if (code == ACCEL_OK)
        code = bind_all(t);
    return code == ACCEL_OK
               ? accel_set_create(t->module, 0, t->queue, NULL, t->binds, t->bind_count, t->weights, &t->set, &t->error)
               : code;
}

static void release(struct trial *t)
{
    accel_set_free(t->set);
    for (uint32_t i = 0; i < BINDS; i++)
        accel_buffer_free(t->buffers[i]);
    accel_state_free(t->state);
    accel_weights_free(t->weights);
    accel_module_free(t->module);
    accel_builder_free(t->builder);
    for (uint32_t p = 0; p < PLANES; p++)
        free(t->weight.planes[p]);
}

/* Measures the seconds of one run, over `repeats` runs. */
static int32_t run_times(struct trial *t, uint64_t repeats, double *out_seconds)
{
    const double begun = measure_seconds();
    int32_t code = ACCEL_OK;

    for (uint64_t i = 0; code == ACCEL_OK && i < repeats; i++)
        code = accel_set_run(t->set, NULL, &t->error);
    *out_seconds = (measure_seconds() - begun) / (double)repeats;
    return code;
}

/* Returns whether a run touches only those rows of a value that the second input of the node names. */
static bool is_read_by_row(const struct accel_graph *graph, uint32_t value)
{
    const struct accel_node *node = graph->nodes[0];

    return ((node->op == ACCEL_OP_EMBED || node->op == ACCEL_OP_GATHER) && value == node->inputs[0]) ||
           graph->values[value]->role == ACCEL_ROLE_STATE;
}

/* Computes the cost: matrices and attention as in a model; other operators move their inputs and outputs. */
static int32_t find_cost(struct trial *t, struct bench_cost *cost)
{
    const struct accel_node *node = t->graph->nodes[0];
    const uint32_t op = node->op;
    int32_t code = ACCEL_OK;

    if (op == ACCEL_OP_MATMUL || op == ACCEL_OP_ATTENTION || op == ACCEL_OP_CONV || op == ACCEL_OP_EXPERT_MATMUL ||
        op == ACCEL_OP_DENSE_ATTENTION)
        return bench_cost_step(t->graph, t->what->m, 1, t->what->length, cost, &t->error);
    for (uint32_t v = 0; code == ACCEL_OK && v < t->graph->value_count; v++) {
        uint64_t bytes = 0;

        code = accel_value_bytes(t->graph, v, NULL, &bytes, &t->error);
        if (is_read_by_row(t->graph, v))
            bytes = bytes / t->graph->values[v]->dims[0].add * t->graph->values[node->inputs[1]]->dims[0].add;
        cost->bytes += (double)bytes;
    }
    cost->step = cost->bytes;
    return code;
}

static int32_t time_trial(struct trial *t, struct bench_row *row)
{
    double seconds = 0;
    uint64_t repeats = 1;
    int32_t code = find_cost(t, &row->cost);

    /* The first run wakes threads and touches pages, so its time is not used to choose how many runs make a round. */
    if (code == ACCEL_OK)
        code = run_times(t, 1, &seconds);
    while (code == ACCEL_OK && repeats < 1u << 20) {
        code = run_times(t, repeats, &seconds);
        if (seconds * (double)repeats >= ROUND_SECONDS)
            break;
        repeats *= 2;
    }
    for (uint64_t r = 0; code == ACCEL_OK && r < t->bench->chosen->rounds; r++) {
        if (progress_update(&t->bench->progress, r, t->bench->chosen->rounds) != 0) {
            t->bench->interrupted = 1;
            return ACCEL_OK;
        }
        code = run_times(t, repeats, &seconds);
        if (code == ACCEL_OK)
            bench_row_time(row, seconds);
    }
    return code;
}

void bench_operator_name(const struct bench_operator *what, char *name, size_t size)
{
    struct accel_format format = {.name = "f32"};

    (void)accel_format_describe(what->type, &format);
    if (what->form != NULL)
        snprintf(name, size, "%s %s%s%s", accel_op_name(what->op), bench_form_has_type(what->form) ? format.name : "",
                 bench_form_has_type(what->form) ? " " : "", what->form->name);
    else if (what->op == ACCEL_OP_MATMUL)
        snprintf(name, size, "matmul %s %" PRIu64 "x%" PRIu64 "x%" PRIu64, format.name, what->m, what->n, what->k);
    else if (what->op == ACCEL_OP_ATTENTION)
        snprintf(name, size, "attention %s %" PRIu64 " of %" PRIu64 ", %" PRIu64 "/%" PRIu64 "x%" PRIu64, format.name,
                 what->m, what->length, what->heads, what->kv_heads, what->size);
    else if (what->op == ACCEL_OP_ROTARY)
        snprintf(name, size, "rotary %" PRIu64 "x%" PRIu64 "x%" PRIu64, what->m, what->heads, what->size);
    else if (what->op == ACCEL_OP_EMBED)
        snprintf(name, size, "embed %s %" PRIu64 " of %" PRIu64 "x%" PRIu64, format.name, what->m, what->n, what->k);
    else
        snprintf(name, size, "%s %" PRIu64 "x%" PRIu64, accel_op_name(what->op), what->m, what->n);
}

int bench_operator_run(struct bench *bench, enum bench_subject subject, struct accel_device *device,
                       struct accel_queue *queue, const struct bench_operator *what)
{
    struct trial t = {.bench = bench, .what = what, .device = device, .queue = queue};
    struct bench_row *row;
    char name[64];
    int32_t code;

    bench_operator_name(what, name, sizeof(name));
    progress_next(&bench->progress, "running operators");
    row = bench_row_add(bench, subject, (uint32_t)bench->chosen->rounds, "%s", name);
    if (row == NULL)
        return report_error(bench->chosen->common.json, &bench->error);
    row->tokens = what->m;
    row->depth = what->length;
    code = prepare(&t);
    if (code == ACCEL_OK)
        code = time_trial(&t, row);
    release(&t);
    if (code == ACCEL_E_MEMORY || code == ACCEL_E_DEVICE_LOST)
        return report_error(bench->chosen->common.json, &t.error);
    if (code != ACCEL_OK)
        bench_warn(bench, "%s is left out: %s", name, t.error.text);
    return -1;
}
