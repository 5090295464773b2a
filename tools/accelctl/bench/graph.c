/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a graph of one operator, with inputs as accel/ops.h describes them, and fills them. */
#include "config.h"

#include <string.h>

#include "tools/accelctl/bench/operator.h"

enum { VALUES = 6, PAGE = 16 };

struct graph_builder {
    struct accel_builder *builder;
    const struct bench_operator *what;
    struct accel_error *error;
    uint32_t inputs[VALUES];
    uint32_t count;
};

/* Adds the next input of the node, with up to three fixed extents, 0 after the last. */
static void add_input(struct graph_builder *g, uint32_t role, const char *name, uint32_t type, uint64_t a, uint64_t b,
                      uint64_t c)
{
    const struct accel_dim dims[] = {{.add = a}, {.add = b}, {.add = c}};
    const uint32_t rank = b == 0 ? 1 : c == 0 ? 2 : 3;

    /* The builder stores its first error, so results need not be checked here. */
    (void)accel_builder_value(g->builder, role, name, type, rank, dims, &g->inputs[g->count++], g->error);
}

static void skip_input(struct graph_builder *g)
{
    g->inputs[g->count++] = ACCEL_NO_VALUE;
}

static int32_t add_node(struct graph_builder *g, const char *name, const void *attributes)
{
    uint32_t value = ACCEL_NO_VALUE;
    int32_t code = accel_builder_node(g->builder, g->what->op, name, g->inputs, g->count, attributes, &value, g->error);

    return code == ACCEL_OK && value != ACCEL_NO_VALUE ? accel_builder_output(g->builder, value, "y", g->error) : code;
}

static int32_t build_matmul(struct graph_builder *g)
{
    const struct bench_operator *what = g->what;
    const struct accel_matmul how = {.size = sizeof(how), .rounding = what->rounding};

    add_input(g, ACCEL_ROLE_INPUT, "x", ACCEL_F32, what->m, what->k, 0);
    add_input(g, ACCEL_ROLE_WEIGHT, "w", what->type, what->n, what->k, 0);
    skip_input(g);
    skip_input(g);
    return add_node(g, "matmul", &how);
}

static int32_t build_attention(struct graph_builder *g)
{
    const struct bench_operator *what = g->what;
    const uint64_t pages = (what->length + PAGE - 1) / PAGE, row = what->kv_heads * what->size;
    const struct accel_attention how = {.size = sizeof(how),
                                        .kv_heads = (uint32_t)what->kv_heads,
                                        .page = PAGE,
                                        .window = what->window,
                                        .causal = 1,
                                        .scale = 0.125f,
                                        .rounding = what->rounding};

    add_input(g, ACCEL_ROLE_INPUT, "q", ACCEL_F32, what->m, what->heads, what->size);
    add_input(g, ACCEL_ROLE_STATE, "k", what->type, pages * PAGE, row, 0);
    add_input(g, ACCEL_ROLE_STATE, "v", what->type, pages * PAGE, row, 0);
    add_input(g, ACCEL_ROLE_INPUT, "table", ACCEL_I32, 1, pages, 0);
    add_input(g, ACCEL_ROLE_INPUT, "first", ACCEL_I32, 2, 0, 0);
    add_input(g, ACCEL_ROLE_INPUT, "length", ACCEL_I32, 1, 0, 0);
    return add_node(g, "attention", &how);
}

static int32_t build_rotary(struct graph_builder *g)
{
    const struct bench_operator *what = g->what;
    const struct accel_rotary how = {.size = sizeof(how), .pairing = ACCEL_PAIR_NEIGHBOURS, .scale = 1};

    add_input(g, ACCEL_ROLE_INPUT, "x", ACCEL_F32, what->m, what->heads, what->size);
    add_input(g, ACCEL_ROLE_INPUT, "position", ACCEL_I32, what->m, 0, 0);
    add_input(g, ACCEL_ROLE_INPUT, "frequency", ACCEL_F32, what->size / 2, 0, 0);
    return add_node(g, "rotary", &how);
}

static int32_t build_embed(struct graph_builder *g)
{
    const struct bench_operator *what = g->what;

    add_input(g, ACCEL_ROLE_WEIGHT, "w", what->type, what->n, what->k, 0);
    add_input(g, ACCEL_ROLE_INPUT, "ids", ACCEL_I32, what->m, 0, 0);
    return add_node(g, "embed", NULL);
}

/* Operators over rows of `n` floats. */
static int32_t build_rows(struct graph_builder *g)
{
    const struct bench_operator *what = g->what;
    const struct accel_norm norm = {.size = sizeof(norm), .epsilon = 1e-5f};
    const struct accel_activation gate = {.size = sizeof(gate), .function = ACCEL_FN_SILU};
    const void *how = NULL;

    add_input(g, ACCEL_ROLE_INPUT, "x", ACCEL_F32, what->m, what->n, 0);
    if (what->op == ACCEL_OP_RMS_NORM) {
        add_input(g, ACCEL_ROLE_WEIGHT, "w", ACCEL_F32, what->n, 0, 0);
        how = &norm;
    } else if (what->op == ACCEL_OP_GATE || what->op == ACCEL_OP_ADD) {
        add_input(g, ACCEL_ROLE_INPUT, "up", ACCEL_F32, what->m, what->n, 0);
        how = what->op == ACCEL_OP_GATE ? &gate : NULL;
    }
    return add_node(g, accel_op_name(what->op), how);
}

/* Adds the inputs of a form, named by their index, and its node. */
static int32_t build_form(struct graph_builder *g)
{
    struct bench_input inputs[BENCH_INPUTS];
    const uint32_t count = bench_form_inputs(g->what->form, inputs);

    for (uint32_t i = 0; i < count; i++) {
        const char name[] = {(char)('0' + i), '\0'};
        const char kind = inputs[i].kind;
        const uint32_t role = kind == 's'                  ? ACCEL_ROLE_STATE
                              : kind == 'F' || kind == 'W' ? ACCEL_ROLE_WEIGHT
                                                           : ACCEL_ROLE_INPUT;
        const uint32_t type = kind == 's'   ? ACCEL_F16
                              : kind == 'W' ? g->what->type
                              : kind == 'i' ? ACCEL_I32
                                            : ACCEL_F32;

        (void)accel_builder_value(g->builder, role, name, type, inputs[i].rank, inputs[i].dims, &g->inputs[g->count++],
                                  g->error);
    }
    if (g->what->op == ACCEL_OP_RESHAPE) {
        const struct accel_dim flat = {.add = inputs[0].dims[0].add * inputs[0].dims[1].add};
        uint32_t value = ACCEL_NO_VALUE;
        int32_t code = accel_builder_reshape(g->builder, "reshape", g->inputs[0], 1, &flat, &value, g->error);

        return code == ACCEL_OK ? accel_builder_output(g->builder, value, "y", g->error) : code;
    }
    if (g->what->op == ACCEL_OP_EXPERT_MATMUL) {
        struct accel_expert_matmul how = *(const struct accel_expert_matmul *)g->what->form->attributes;

        how.rounding = g->what->rounding;
        return add_node(g, accel_op_name(g->what->op), &how);
    }
    return add_node(g, accel_op_name(g->what->op), g->what->form->attributes);
}

int32_t bench_graph(const struct bench_operator *what, struct accel_builder **out_builder,
                    const struct accel_graph **out_graph, struct accel_error *error)
{
    struct graph_builder g = {.what = what, .error = error};
    int32_t code = accel_builder_create("one operator", out_builder, error);

    g.builder = *out_builder;
    if (code != ACCEL_OK)
        return code;
    switch (what->op) {
    case ACCEL_OP_MATMUL:
        code = build_matmul(&g);
        break;
    case ACCEL_OP_ATTENTION:
        code = build_attention(&g);
        break;
    case ACCEL_OP_ROTARY:
        code = build_rotary(&g);
        break;
    case ACCEL_OP_EMBED:
        code = build_embed(&g);
        break;
    default:
        code = what->form != NULL ? build_form(&g) : build_rows(&g);
    }
    return code == ACCEL_OK ? accel_builder_finish(g.builder, out_graph, error) : code;
}

/* Returns element `index` of `count` of an I32 input of a form. */
static int32_t form_integer(const struct bench_operator *what, const char *name, uint64_t index, uint64_t count,
                            uint32_t *state)
{
    struct bench_input inputs[BENCH_INPUTS];
    const struct bench_input *input = &inputs[name[0] - '0'];

    bench_form_inputs(what->form, inputs);
    if (input->fill == '%')
        return (int32_t)((bench_random(state) >> 8) % input->limit);
    return (int32_t)(input->fill == '/' ? index * input->limit / (count - 1) : index);
}

static int32_t integer(const struct bench_operator *what, const char *name, uint64_t index, uint32_t *state)
{
    if (strcmp(name, "ids") == 0)
        return (int32_t)((bench_random(state) >> 8) % what->n);
    if (strcmp(name, "first") == 0)
        return index == 0 ? 0 : (int32_t)what->m;
    return strcmp(name, "length") == 0 ? (int32_t)what->length : (int32_t)index;
}

void bench_graph_fill(const struct bench_operator *what, const struct accel_value *value, void *memory, uint64_t bytes)
{
    uint32_t state = 1;

    for (uint64_t i = 0; i < bytes / 4; i++)
        if (value->type == ACCEL_I32)
            ((int32_t *)memory)[i] = what->form != NULL ? form_integer(what, value->name, i, bytes / 4, &state)
                                                        : integer(what, value->name, i, &state);
        else
            ((float *)memory)[i] = (float)(bench_random(&state) >> 8) / 16777216.0f - 0.5f;
}
