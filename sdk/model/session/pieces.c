/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model whose layers lie on several devices: the step graph is cut where the device changes, and each piece is a
 * session of its own on its device, with the weights and the caches of its layers. What the pieces are fed lies in the
 * slots of the whole session; the hidden rows go from piece to piece through the memory of the host.
 */
#include "sdk/model/session/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Settings of the caller that pieces are planned with; those that spread a plan are not. */
enum { GIVEN_TEXT = 192, PIECE_INPUTS = 16 };

struct given_list {
    struct accel_given *rows;
    char (*values)[GIVEN_TEXT];
    uint32_t count;
};

/* ---- which device a node lies on ---- */

/* The layer of a node, or ACCEL_NO_LAYER: nodes of layers are called "layers.N.what". */
static uint32_t layer_of(const struct accel_node *node)
{
    unsigned layer;
    int end = 0;

    return sscanf(node->name, "layers.%u.%n", &layer, &end) == 1 && end > 0 ? layer : ACCEL_NO_LAYER;
}

/* The device of a layer. What comes before the layers goes with the first row of the plan, what comes after them with
 * the last. */
static const char *device_of(const struct accel_plan *plan, uint32_t layer, uint32_t is_after)
{
    uint32_t count = accel_plan_layer_count(plan);

    for (uint32_t i = 0; layer != ACCEL_NO_LAYER && i < count; i++) {
        const struct accel_plan_layer *row = accel_plan_layer_get(plan, i);

        if (row->first != ACCEL_NO_LAYER && layer >= row->first && layer <= row->last)
            return row->device;
    }
    return accel_plan_layer_get(plan, is_after ? count - 1 : 0)->device;
}

uint32_t session_is_spread(const struct accel_session *session)
{
    uint32_t count = accel_plan_layer_count(session->plan);

    for (uint32_t i = 1; i < count; i++)
        if (strcmp(accel_plan_layer_get(session->plan, i)->device, accel_plan_layer_get(session->plan, 0)->device) != 0)
            return 1;
    return 0;
}

/* Device of each node; nodes stand in the order of layers. */
static const char **list_devices(const struct accel_session *session)
{
    const struct accel_graph *graph = session->step.graph;
    const char **devices = calloc(graph->node_count, sizeof *devices);
    uint32_t is_after = 0;

    for (uint32_t n = 0; devices != NULL && n < graph->node_count; n++) {
        uint32_t layer = layer_of(graph->nodes[n]);

        devices[n] = device_of(session->plan, layer, is_after);
        is_after |= layer != ACCEL_NO_LAYER;
    }
    return devices;
}

/* ---- the graph of a piece ---- */

struct cutter {
    const struct accel_graph *whole;
    uint32_t first, end; /* nodes of the piece */
    uint32_t *map;       /* [values of the whole]: value in the piece, or ACCEL_NO_VALUE */
    struct accel_builder *builder;
    struct accel_session *piece;
    uint32_t given; /* value of the whole that the piece before gives, or ACCEL_NO_VALUE */
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

/* A value that the piece does not make. Of another piece's there is one: the hidden rows. */
static int32_t add_outer(struct cutter *c, uint32_t number)
{
    const struct accel_value *value = c->whole->values[number];
    uint32_t role = value->role;

    if (role == ACCEL_ROLE_CONSTANT)
        return add_constant(c, value, &c->map[number]);
    if (role == ACCEL_ROLE_INTERMEDIATE || role == ACCEL_ROLE_OUTPUT) {
        if (c->piece->step.crossed != ACCEL_NO_VALUE || number != c->given)
            return accel_error_set(c->error, ACCEL_E_UNSUPPORTED,
                                   "layers on several devices: more than one value crosses, among them \"%s\"",
                                   value->name);
        role = ACCEL_ROLE_INPUT;
    }
    if (accel_builder_value(c->builder, role, value->role == ACCEL_ROLE_WEIGHT ? value->key : value->name, value->type,
                            value->rank, value->dims, &c->map[number], c->error) != ACCEL_OK)
        return c->error->code;
    if (role != value->role)
        c->piece->step.crossed = c->map[number];
    return ACCEL_OK;
}

static int32_t add_node(struct cutter *c, const struct accel_node *node)
{
    uint32_t inputs[PIECE_INPUTS];
    uint32_t output = ACCEL_NO_VALUE;
    int32_t code = ACCEL_OK;

    if (node->output_count > 1)
        return accel_error_set(
            c->error, ACCEL_E_UNSUPPORTED,
            "layers on several devices: node \"%s\" tells what is attended to (kv.prune=usage), which "
            "lies on one device",
            node->name);
    if (node->input_count > PIECE_INPUTS)
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

        code = accel_builder_reshape(c->builder, node->name, inputs[0], shape->rank, shape->dims, &output, c->error);
    } else {
        code = accel_builder_node(c->builder, node->op, node->name, inputs, node->input_count, node->attributes,
                                  &output, c->error);
    }
    if (code == ACCEL_OK && node->output_count != 0)
        c->map[node->outputs[0]] = output;
    return code;
}

/* A value of the piece is an output where the whole has it as one, or a later piece reads it. */
static int32_t add_outputs(struct cutter *c)
{
    uint8_t *is_read = calloc(c->whole->value_count, 1);
    int32_t code = ACCEL_OK;

    if (is_read == NULL)
        return accel_error_set(c->error, ACCEL_E_MEMORY, "no memory to cut a graph");
    for (uint32_t n = c->end; n < c->whole->node_count; n++)
        for (uint32_t i = 0; i < c->whole->nodes[n]->input_count; i++)
            if (c->whole->nodes[n]->inputs[i] != ACCEL_NO_VALUE)
                is_read[c->whole->nodes[n]->inputs[i]] = 1;
    for (uint32_t n = c->first; code == ACCEL_OK && n < c->end; n++) {
        const struct accel_node *node = c->whole->nodes[n];
        uint32_t made = node->output_count == 0 ? ACCEL_NO_VALUE : node->outputs[0];

        if (made == ACCEL_NO_VALUE || (c->whole->values[made]->role != ACCEL_ROLE_OUTPUT && !is_read[made]))
            continue;
        code = accel_builder_output(c->builder, c->map[made], NULL, c->error);
        c->piece->step.logits = c->map[made];
        c->piece->gives = made;
    }
    free(is_read);
    return code;
}

static uint32_t mapped(const struct cutter *c, uint32_t number)
{
    return number == ACCEL_NO_VALUE ? ACCEL_NO_VALUE : c->map[number];
}

/* The places of the inputs in the piece; those that it does not read have none. */
static void take_places(const struct cutter *c, const struct step_graph *whole)
{
    struct step_graph *step = &c->piece->step;

    step->ids = mapped(c, whole->ids);
    step->position = mapped(c, whole->position);
    step->slot = mapped(c, whole->slot);
    step->table = mapped(c, whole->table);
    step->first = mapped(c, whole->first);
    step->length = mapped(c, whole->length);
    step->rows = mapped(c, whole->rows);
    step->frequency = mapped(c, whole->frequency);
}

static int32_t cut(const struct accel_session *session, struct accel_session *piece, uint32_t first, uint32_t end,
                   struct accel_error *error)
{
    struct accel_error own = {0};
    struct cutter c = {.whole = session->step.graph, .first = first, .end = end, .piece = piece};
    int32_t code;

    c.given = session->piece_count > 1 ? session->pieces[session->piece_count - 2]->gives : ACCEL_NO_VALUE;

    c.error = error == NULL ? &own : error;
    c.map = malloc((size_t)c.whole->value_count * sizeof *c.map);
    if (c.map == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory to cut a graph");
    memset(c.map, 0xff, (size_t)c.whole->value_count * sizeof *c.map);
    piece->step.crossed = ACCEL_NO_VALUE;
    piece->step.mass = ACCEL_NO_VALUE;
    code = accel_builder_create(c.whole->name, &piece->step.builder, c.error);
    c.builder = piece->step.builder;
    if (code == ACCEL_OK)
        code = add_symbols(&c);
    for (uint32_t n = first; code == ACCEL_OK && n < end; n++)
        code = add_node(&c, c.whole->nodes[n]);
    if (code == ACCEL_OK)
        code = add_outputs(&c);
    if (code == ACCEL_OK)
        code = accel_builder_finish(c.builder, &piece->step.graph, c.error);
    if (code == ACCEL_OK)
        take_places(&c, &session->step);
    free(c.map);
    return code;
}

/* ---- the plan of a piece ---- */

static uint32_t spreads(const char *key)
{
    return strcmp(key, "placement") == 0 || strcmp(key, "offload.layers") == 0 || strcmp(key, "tensor.parallel") == 0 ||
           strcmp(key, "memory.budget") == 0;
}

/* An option of a driver that other pieces run on. */
static uint32_t is_of_another(const char *key, const char *device)
{
    size_t length = strcspn(key, ".");

    if (accel_setting_check(key, "", NULL) != ACCEL_E_NOT_FOUND)
        return 0;
    return strncmp(key, device, length) != 0 || device[length] != ':';
}

/* What the caller set, with units as they are written. */
static int32_t list_given(const struct accel_plan *plan, const char *device, struct given_list *list,
                          struct accel_error *error)
{
    uint32_t most = accel_plan_setting_count(plan);

    list->rows = calloc((size_t)most + 1, sizeof *list->rows);
    list->values = calloc((size_t)most + 1, sizeof *list->values);
    list->count = 0;
    if (list->rows == NULL || list->values == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for the settings of a piece");
    for (uint32_t i = 0; i < most; i++) {
        const struct accel_plan_setting *setting = accel_plan_setting_get(plan, i);
        uint32_t is_number = setting->value[0] >= '0' && setting->value[0] <= '9';
        char *value = list->values[list->count];

        if (setting->origin != ACCEL_ORIGIN_GIVEN || spreads(setting->key) || is_of_another(setting->key, device))
            continue;
        snprintf(value, GIVEN_TEXT, "%s%s", setting->value,
                 !is_number                            ? ""
                 : strcmp(setting->unit, "bytes") == 0 ? "B"
                                                       : setting->unit);
        list->rows[list->count++] = (struct accel_given){setting->key, value, setting->place};
    }
    return ACCEL_OK;
}

static int32_t make_plan(struct accel_session *session, struct accel_session *piece, const char *device,
                         struct accel_error *error)
{
    struct accel_plan_request request = {.size = sizeof request, .device = device};
    struct given_list given = {0};
    uint32_t count = accel_plan_fact_count(session->plan);
    struct accel_given *facts = calloc((size_t)count + 1, sizeof *facts);
    int32_t code = list_given(session->plan, device, &given, error);

    if (code == ACCEL_OK && facts == NULL)
        code = accel_error_set(error, ACCEL_E_MEMORY, "no memory for the facts of a piece");
    for (uint32_t i = 0; code == ACCEL_OK && i < count; i++) {
        const struct accel_given *fact = accel_plan_fact_get(session->plan, i);

        if (strncmp(fact->key, "model.", 6) == 0 || strncmp(fact->key, "request.", 8) == 0)
            facts[request.model_count++] = *fact;
    }
    request.model = facts;
    request.given = given.rows;
    request.given_count = given.count;
    if (code == ACCEL_OK)
        code = accel_plan_create(session->context, &request, &piece->plan, error);
    free(facts);
    free(given.rows);
    free(given.values);
    return code;
}

/* ---- making pieces ---- */

/* Two parts of the state for each layer, in the order of the graph. */
static void take_parts(const struct accel_session *session, struct accel_session *piece)
{
    const struct accel_graph *graph = piece->step.graph;
    uint32_t first = ACCEL_NO_LAYER;

    for (uint32_t n = 0; first == ACCEL_NO_LAYER && n < graph->node_count; n++)
        first = layer_of(graph->nodes[n]);
    for (uint32_t v = 0; v < graph->value_count; v++)
        piece->part_count += graph->values[v]->role == ACCEL_ROLE_STATE;
    piece->parts = first == ACCEL_NO_LAYER ? session->parts : session->parts + 2 * (size_t)first;
}

static int32_t make_piece(struct accel_session *session, const char *device, uint32_t first, uint32_t end,
                          struct accel_error *error)
{
    struct accel_session *piece = calloc(1, sizeof *piece);
    int32_t code;

    if (piece == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for a piece of a session");
    session->pieces[session->piece_count++] = piece;
    piece->is_piece = 1;
    piece->context = session->context;
    piece->model = session->model;
    piece->options = session->options;
    piece->source = session->source;
    piece->types = session->types;
    piece->converted = session->converted;
    code = cut(session, piece, first, end, error);
    if (code == ACCEL_OK)
        code = make_plan(session, piece, device, error);
    if (code == ACCEL_OK)
        code = session_settle_load(piece, error);
    if (code != ACCEL_OK)
        return code;
    take_parts(session, piece);
    return session_place(piece, error);
}

static int32_t join(struct accel_session *session, struct accel_error *error)
{
    const struct accel_plan **plans = calloc(session->piece_count, sizeof *plans);
    int32_t code;

    if (plans == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for the plans of %u pieces", session->piece_count);
    for (uint32_t p = 0; p < session->piece_count; p++)
        plans[p] = session->pieces[p]->plan;
    code = accel_plan_join(session->plan, plans, session->piece_count, error);
    free(plans);
    return code;
}

void session_pieces_free(struct accel_session *session)
{
    for (uint32_t p = 0; p < session->piece_count; p++) {
        /* They are the whole session's. */
        session->pieces[p]->parts = NULL;
        session->pieces[p]->types = (struct weight_types){0};
        session->pieces[p]->converted = NULL;
        accel_session_free(session->pieces[p]);
    }
    free(session->pieces);
    session->pieces = NULL;
    session->piece_count = 0;
}

int32_t session_pieces_place(struct accel_session *session, struct accel_error *error)
{
    const struct accel_graph *graph = session->step.graph;
    const char **devices = NULL;
    int32_t code = ACCEL_OK;

    session_pieces_free(session);
    if (session->options.stages || session->options.inputs)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "stages of layers on several devices are not shown");
    session->pieces = calloc(graph->node_count, sizeof(struct accel_session *));
    devices = list_devices(session);
    if (session->pieces == NULL || devices == NULL)
        code = accel_error_set(error, ACCEL_E_MEMORY, "no memory for the pieces of a session");
    for (uint32_t n = 0; code == ACCEL_OK && n < graph->node_count;) {
        uint32_t end = n + 1;

        while (end < graph->node_count && strcmp(devices[end], devices[n]) == 0)
            end++;
        code = make_piece(session, devices[n], n, end, error);
        n = end;
    }
    free(devices);
    return code == ACCEL_OK ? join(session, error) : code;
}

/* ---- steps ---- */

/* Hands the inputs of the step to a piece; the hidden rows come from the one before. */
static int32_t feed_piece(const struct accel_session *session, uint32_t index, const uint64_t symbols[SYMBOLS],
                          struct accel_error *error)
{
    struct accel_session *piece = session->pieces[index];
    struct slot *crossed = &piece->slots[SLOT_CROSSED];
    uint64_t bytes = 0;
    int32_t code;

    for (uint32_t i = 0; i < SLOT_CROSSED; i++)
        if (piece->slots[i].bytes != NULL)
            memcpy(piece->slots[i].bytes, session->slots[i].bytes, piece->slots[i].size);
    if (crossed->bytes == NULL)
        return ACCEL_OK;
    code = accel_value_bytes(piece->step.graph, crossed->value, symbols, &bytes, error);
    if (code == ACCEL_OK)
        memcpy(crossed->bytes, session->pieces[index - 1]->slots[session->pieces[index - 1]->logits_slot].bytes, bytes);
    return code;
}

int32_t session_pieces_run(struct accel_session *session, const uint64_t symbols[SYMBOLS], struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    for (uint32_t p = 0; code == ACCEL_OK && p < session->piece_count; p++) {
        code = feed_piece(session, p, symbols, error);
        if (code == ACCEL_OK)
            code = session_run_set(session->pieces[p], symbols, error);
    }
    return code;
}
