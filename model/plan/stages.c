/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the stages of a model whose layers lie on several devices: the step graph is cut where the device changes, each
 * part is planned for its device, and their plans are merged into that of the whole.
 */
#include "model/plan/stages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/plan/load.h"

enum { STAGE_INPUTS = 16 }; /* most inputs of a node */

/* ---- which device a node lies on ---- */

/* Returns the layer of a node, or ACCEL_NO_LAYER. Nodes of layers are named "layers.N.NAME". */
static uint32_t layer_of(const struct accel_node *node)
{
    unsigned layer;
    int end = 0;

    return sscanf(node->name, "layers.%u.%n", &layer, &end) == 1 && end > 0 ? layer : ACCEL_NO_LAYER;
}

/* Returns the device of a layer. Nodes before the layers go with the first row of the plan, nodes after them with the
 * last. */
static const char *device_of(const struct accel_plan *plan, uint32_t layer, bool is_after)
{
    uint32_t count = accel_plan_layer_count(plan);

    for (uint32_t i = 0; layer != ACCEL_NO_LAYER && i < count; i++) {
        const struct accel_plan_layer *row = accel_plan_layer_get(plan, i);

        if (row->first != ACCEL_NO_LAYER && layer >= row->first && layer <= row->last)
            return row->device;
    }
    return accel_plan_layer_get(plan, is_after ? count - 1 : 0)->device;
}

bool plan_is_spread(const struct accel_plan *plan)
{
    uint32_t count = accel_plan_layer_count(plan);

    for (uint32_t i = 1; i < count; i++)
        if (strcmp(accel_plan_layer_get(plan, i)->device, accel_plan_layer_get(plan, 0)->device) != 0)
            return true;
    return false;
}

/* Lists the device of each node; nodes are in the order of layers. */
static const char **list_devices(const struct accel_session *session)
{
    const struct accel_graph *graph = session->step.graph;
    const char **devices = calloc(graph->node_count, sizeof(*devices));
    bool is_after = false;

    for (uint32_t n = 0; devices != NULL && n < graph->node_count; n++) {
        uint32_t layer = layer_of(graph->nodes[n]);

        devices[n] = device_of(session->plan, layer, is_after);
        is_after |= layer != ACCEL_NO_LAYER;
    }
    return devices;
}

/* ---- the graph of a stage ---- */

struct cutter {
    const struct accel_graph *whole;
    uint32_t first, end; /* nodes of the stage */
    uint32_t *map;       /* [values of the whole]: value in the stage, or ACCEL_NO_VALUE */
    struct accel_builder *builder;
    struct pipeline_stage *stage;
    uint32_t input;  /* value of the whole that the previous stage outputs, or ACCEL_NO_VALUE */
    uint32_t output; /* value of the whole that this stage outputs */
    struct accel_error *error;
};

static int32_t add_symbols(struct cutter *c)
{
    int32_t code = ACCEL_OK;

    for (uint32_t s = 0; code == ACCEL_OK && s < c->whole->symbol_count; s++) {
        const struct accel_symbol *symbol = c->whole->symbols[s];
        uint32_t number;

        code = accel_builder_symbol(c->builder, symbol->name, symbol->lowest, symbol->highest, &number, c->error);
    }
    return code;
}

static int32_t add_constant(struct cutter *c, const struct accel_value *value, uint32_t *out_value)
{
    uint64_t dims[ACCEL_RANK];

    for (uint32_t d = 0; d < value->rank; d++)
        dims[d] = value->dims[d].add;
    return accel_builder_constant(c->builder, value->name, value->type, value->rank, dims, value->data, out_value,
                                  c->error);
}

/* Adds a value from outside of the stage. Only one may come from another stage: the hidden rows. */
static int32_t add_outer(struct cutter *c, uint32_t number)
{
    const struct accel_value *value = c->whole->values[number];
    uint32_t role = value->role;

    if (role == ACCEL_ROLE_CONSTANT)
        return add_constant(c, value, &c->map[number]);
    if (role == ACCEL_ROLE_INTERMEDIATE || role == ACCEL_ROLE_OUTPUT) {
        if (c->stage->step.crossed != ACCEL_NO_VALUE || number != c->input)
            return accel_error_set(c->error, ACCEL_E_UNSUPPORTED,
                                   "layers on several devices: more than one value crosses, among them \"%s\"",
                                   value->name);
        role = ACCEL_ROLE_INPUT;
    }
    if (accel_builder_value(c->builder, role, value->role == ACCEL_ROLE_WEIGHT ? value->key : value->name, value->type,
                            value->rank, value->dims, &c->map[number], c->error) != ACCEL_OK)
        return c->error->code;
    if (role != value->role)
        c->stage->step.crossed = c->map[number];
    return ACCEL_OK;
}

static int32_t add_node(struct cutter *c, const struct accel_node *node)
{
    uint32_t inputs[STAGE_INPUTS];
    uint32_t outputs[2] = {ACCEL_NO_VALUE, ACCEL_NO_VALUE};
    int32_t code = ACCEL_OK;

    if (node->input_count > STAGE_INPUTS)
        return accel_error_set(c->error, ACCEL_E_UNSUPPORTED, "layers on several devices: node \"%s\" has %u inputs",
                               node->name, node->input_count);
    for (uint32_t i = 0; code == ACCEL_OK && i < node->input_count; i++) {
        uint32_t number = node->inputs[i];

        if (number != ACCEL_NO_VALUE && c->map[number] == ACCEL_NO_VALUE)
            code = add_outer(c, number);
        inputs[i] = number == ACCEL_NO_VALUE ? ACCEL_NO_VALUE : c->map[number];
    }
    if (code != ACCEL_OK)
        return code;
    if (node->op == ACCEL_OP_RESHAPE) {
        const struct accel_value *shape = c->whole->values[node->outputs[0]];

        code = accel_builder_reshape(c->builder, node->name, inputs[0], shape->rank, shape->dims, outputs, c->error);
    } else {
        code = node->output_count == 2
                   ? accel_builder_node_outputs(c->builder, node->op, node->name, inputs, node->input_count,
                                                node->attributes, outputs, 2, c->error)
                   : accel_builder_node(c->builder, node->op, node->name, inputs, node->input_count, node->attributes,
                                        outputs, c->error);
    }
    for (uint32_t i = 0; code == ACCEL_OK && i < node->output_count; i++)
        c->map[node->outputs[i]] = outputs[i];
    return code;
}

/* Marks as outputs the values that the whole graph outputs or a later stage reads. */
static int32_t add_outputs(struct cutter *c)
{
    uint8_t *is_read = calloc(c->whole->value_count, 1);
    int32_t code = ACCEL_OK;

    if (is_read == NULL)
        return accel_error_no_memory(c->error, "to cut a graph");
    for (uint32_t n = c->end; n < c->whole->node_count; n++)
        for (uint32_t i = 0; i < c->whole->nodes[n]->input_count; i++)
            if (c->whole->nodes[n]->inputs[i] != ACCEL_NO_VALUE)
                is_read[c->whole->nodes[n]->inputs[i]] = 1;
    for (uint32_t n = c->first; code == ACCEL_OK && n < c->end; n++) {
        const struct accel_node *node = c->whole->nodes[n];
        uint32_t made = node->output_count == 0 ? ACCEL_NO_VALUE : node->outputs[0];

        if (made == ACCEL_NO_VALUE || (c->whole->values[made]->role != ACCEL_ROLE_OUTPUT && !is_read[made]))
            continue;
        code = accel_builder_output(c->builder, c->map[made], c->whole->values[made]->name, c->error);
        if (is_read[made] || made == c->stage->session->step.logits) {
            c->stage->step.logits = c->map[made];
            c->output = made;
        }
    }
    free(is_read);
    return code;
}

static uint32_t mapped(const struct cutter *c, uint32_t number)
{
    return number == ACCEL_NO_VALUE ? ACCEL_NO_VALUE : c->map[number];
}

/* Maps the inputs of the step to the stage; inputs that it does not read stay unset. */
static void map_inputs(const struct cutter *c, const struct step_graph *whole)
{
    struct step_graph *step = &c->stage->step;

    step->ids = mapped(c, whole->ids);
    step->position = mapped(c, whole->position);
    step->slot = mapped(c, whole->slot);
    step->table = mapped(c, whole->table);
    step->first = mapped(c, whole->first);
    step->length = mapped(c, whole->length);
    step->rows = mapped(c, whole->rows);
    step->frequency = mapped(c, whole->frequency);
}

/* Makes the graph of a stage of the nodes first .. end. *crossing is the value of the whole graph that the previous
 * stage outputs, and then that which this stage outputs. */
static int32_t cut_graph(struct pipeline_stage *stage, uint32_t first, uint32_t end, uint32_t *crossing,
                         struct accel_error *error)
{
    const struct step_graph *whole = &stage->session->step;
    struct accel_error own = {0};
    struct cutter c = {.whole = whole->graph, .first = first, .end = end, .stage = stage, .input = *crossing};
    int32_t code;

    c.error = error == NULL ? &own : error;
    c.map = malloc((size_t)c.whole->value_count * sizeof(*c.map));
    if (c.map == NULL)
        return accel_error_no_memory(error, "to cut a graph");
    memset(c.map, 0xff, (size_t)c.whole->value_count * sizeof(*c.map));
    stage->step.crossed = ACCEL_NO_VALUE;
    stage->step.scores = ACCEL_NO_VALUE;
    code = accel_builder_create(c.whole->name, &stage->step.builder, c.error);
    c.builder = stage->step.builder;
    if (code == ACCEL_OK)
        code = add_symbols(&c);
    for (uint32_t n = first; code == ACCEL_OK && n < end; n++)
        code = add_node(&c, c.whole->nodes[n]);
    if (code == ACCEL_OK)
        code = add_outputs(&c);
    if (code == ACCEL_OK)
        code = accel_builder_finish(c.builder, &stage->step.graph, c.error);
    if (code == ACCEL_OK)
        map_inputs(&c, whole);
    *crossing = c.output;
    free(c.map);
    return code;
}

/* ---- creating stages ---- */

/* Points the stage at its part of the state: two parts per layer, in the order of the graph. */
static void assign_state(struct pipeline_stage *stage)
{
    const struct accel_graph *graph = stage->step.graph;
    uint32_t first = ACCEL_NO_LAYER;

    for (uint32_t n = 0; first == ACCEL_NO_LAYER && n < graph->node_count; n++)
        first = layer_of(graph->nodes[n]);
    for (uint32_t v = 0; v < graph->value_count; v++)
        stage->part_count += graph->values[v]->role == ACCEL_ROLE_STATE;
    stage->parts = first == ACCEL_NO_LAYER ? stage->session->parts : stage->session->parts + 2 * (size_t)first;
}

/* Plans the next stage of the session: the nodes first .. end on `device`, with the source of the whole. */
static int32_t add_stage(const struct run_planner *whole, const char *device, uint32_t first, uint32_t end,
                         uint32_t *crossing)
{
    struct accel_session *session = whole->session;
    struct pipeline_stage *stage = &session->pipeline[session->pipeline_count++];
    struct settings settings;
    struct run_planner planner = {.settings = &settings, .session = session, .stage = stage, .error = whole->error};
    int32_t code;

    *stage = (struct pipeline_stage){.session = session, .source = whole->stage->source};
    code = cut_graph(stage, first, end, crossing, whole->error);
    if (code == ACCEL_OK)
        code = accel_plan_add_stage(whole->plan, device, &planner.plan, whole->error);
    stage->plan = planner.plan;
    if (code == ACCEL_OK)
        code = settings_read(planner.plan, &settings, whole->error);
    if (code == ACCEL_OK)
        code = run_planner_resolve_load(&planner);
    if (code != ACCEL_OK)
        return code;
    assign_state(stage);
    return run_planner_place(&planner);
}

int32_t run_planner_place_stages(const struct run_planner *planner)
{
    struct accel_session *session = planner->session;
    struct accel_error *error = planner->error;
    const struct accel_graph *graph = session->step.graph;
    struct pipeline_stage *pipeline;
    const char **devices;
    uint32_t count = 0, crossing = ACCEL_NO_VALUE;
    int32_t code = ACCEL_OK;

    if (session->options.inputs) {
        accel_error_set(error, ACCEL_E_UNSUPPORTED,
                        "the plan has layers on several devices, and inputs of weights are read on one device alone");
        accel_error_remedy(error, "run all layers on one device: --set placement=single --set gpu.layers=auto, with "
                                  "--device NAME for one that has the memory (accelctl devices)");
        return accel_error_origin(error, ACCEL_FROM_SETTING, ACCEL_E_UNSUPPORTED);
    }
    devices = list_devices(session);
    for (uint32_t n = 0; devices != NULL && n < graph->node_count; n++)
        count += n == 0 || strcmp(devices[n - 1], devices[n]) != 0;
    pipeline = calloc((size_t)count + 1, sizeof(*pipeline));
    if (pipeline == NULL || devices == NULL) {
        free(devices);
        free(pipeline);
        return accel_error_no_memory(error, "for the stages of a session");
    }
    session->pipeline = pipeline;
    session->pipeline_count = 0;
    for (uint32_t n = 0; code == ACCEL_OK && n < graph->node_count;) {
        uint32_t end = n + 1;

        while (end < graph->node_count && strcmp(devices[end], devices[n]) == 0)
            end++;
        code = add_stage(planner, devices[n], n, end, &crossing);
        n = end;
    }
    free(devices);
    free(planner->stage);
    return code == ACCEL_OK ? accel_plan_merge_stages(planner->plan, error) : code;
}
