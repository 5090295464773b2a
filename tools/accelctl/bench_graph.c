/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of one operator, as accel/ops.h describes its inputs, and what they are filled with. */
#include "config.h"

#include "tools/accelctl/bench.h"

#include <string.h>

enum { VALUES = 6, PAGE = 16 };

struct maker {
    struct accel_builder *builder;
    const struct bench_operator *what;
    struct accel_error *error;
    uint32_t inputs[VALUES];
    uint32_t count;
};

/* Adds a value of up to three fixed extents, 0 past the last, as the next input of the node. */
static void add(struct maker *m, uint32_t role, const char *name, uint32_t type, uint64_t a, uint64_t b, uint64_t c)
{
    const struct accel_dim dims[] = {{.add = a}, {.add = b}, {.add = c}};
    const uint32_t rank = b == 0 ? 1 : c == 0 ? 2 : 3;

    /* The builder keeps its first error. */
    (void)accel_builder_value(m->builder, role, name, type, rank, dims, &m->inputs[m->count++], m->error);
}

static void add_nothing(struct maker *m)
{
    m->inputs[m->count++] = ACCEL_NO_VALUE;
}

static int32_t add_node(struct maker *m, const char *name, const void *attributes)
{
    uint32_t value = ACCEL_NO_VALUE;
    int32_t code = accel_builder_node(m->builder, m->what->op, name, m->inputs, m->count, attributes, &value, m->error);

    return code == ACCEL_OK && value != ACCEL_NO_VALUE ? accel_builder_output(m->builder, value, "y", m->error) : code;
}

static int32_t make_matmul(struct maker *m)
{
    const struct bench_operator *what = m->what;
    const struct accel_matmul how = {.size = sizeof how, .rounding = what->rounding};

    add(m, ACCEL_ROLE_INPUT, "x", ACCEL_F32, what->m, what->k, 0);
    add(m, ACCEL_ROLE_WEIGHT, "w", what->type, what->n, what->k, 0);
    add_nothing(m);
    add_nothing(m);
    return add_node(m, "matmul", &how);
}

static int32_t make_attention(struct maker *m)
{
    const struct bench_operator *what = m->what;
    const uint64_t pages = (what->length + PAGE - 1) / PAGE, row = what->kv_heads * what->size;
    const struct accel_attention how = {.size = sizeof how,
                                        .kv_heads = (uint32_t)what->kv_heads,
                                        .page = PAGE,
                                        .window = what->window,
                                        .causal = 1,
                                        .scale = 0.125f,
                                        .rounding = what->rounding};

    add(m, ACCEL_ROLE_INPUT, "q", ACCEL_F32, what->m, what->heads, what->size);
    add(m, ACCEL_ROLE_STATE, "k", what->type, pages * PAGE, row, 0);
    add(m, ACCEL_ROLE_STATE, "v", what->type, pages * PAGE, row, 0);
    add(m, ACCEL_ROLE_INPUT, "table", ACCEL_I32, 1, pages, 0);
    add(m, ACCEL_ROLE_INPUT, "first", ACCEL_I32, 2, 0, 0);
    add(m, ACCEL_ROLE_INPUT, "length", ACCEL_I32, 1, 0, 0);
    return add_node(m, "attention", &how);
}

static int32_t make_rotary(struct maker *m)
{
    const struct bench_operator *what = m->what;
    const struct accel_rotary how = {.size = sizeof how, .pairing = ACCEL_PAIR_NEIGHBOURS, .scale = 1};

    add(m, ACCEL_ROLE_INPUT, "x", ACCEL_F32, what->m, what->heads, what->size);
    add(m, ACCEL_ROLE_INPUT, "position", ACCEL_I32, what->m, 0, 0);
    add(m, ACCEL_ROLE_INPUT, "frequency", ACCEL_F32, what->size / 2, 0, 0);
    return add_node(m, "rotary", &how);
}

static int32_t make_embed(struct maker *m)
{
    const struct bench_operator *what = m->what;

    add(m, ACCEL_ROLE_WEIGHT, "w", what->type, what->n, what->k, 0);
    add(m, ACCEL_ROLE_INPUT, "ids", ACCEL_I32, what->m, 0, 0);
    return add_node(m, "embed", NULL);
}

/* Operators over rows of `n` floats. */
static int32_t make_rows(struct maker *m)
{
    const struct bench_operator *what = m->what;
    const struct accel_norm norm = {.size = sizeof norm, .epsilon = 1e-5f};
    const struct accel_activation gate = {.size = sizeof gate, .function = ACCEL_FN_SILU};
    const void *how = NULL;

    add(m, ACCEL_ROLE_INPUT, "x", ACCEL_F32, what->m, what->n, 0);
    if (what->op == ACCEL_OP_RMS_NORM) {
        add(m, ACCEL_ROLE_WEIGHT, "w", ACCEL_F32, what->n, 0, 0);
        how = &norm;
    } else if (what->op == ACCEL_OP_GATE || what->op == ACCEL_OP_ADD) {
        add(m, ACCEL_ROLE_INPUT, "up", ACCEL_F32, what->m, what->n, 0);
        how = what->op == ACCEL_OP_GATE ? &gate : NULL;
    }
    return add_node(m, accel_op_name(what->op), how);
}

int32_t bench_graph(const struct bench_operator *what, struct accel_builder **out_builder,
                    const struct accel_graph **out_graph, struct accel_error *error)
{
    struct maker m = {.what = what, .error = error};
    int32_t code = accel_builder_create("one operator", out_builder, error);

    m.builder = *out_builder;
    if (code != ACCEL_OK)
        return code;
    switch (what->op) {
    case ACCEL_OP_MATMUL:
        code = make_matmul(&m);
        break;
    case ACCEL_OP_ATTENTION:
        code = make_attention(&m);
        break;
    case ACCEL_OP_ROTARY:
        code = make_rotary(&m);
        break;
    case ACCEL_OP_EMBED:
        code = make_embed(&m);
        break;
    default:
        code = make_rows(&m);
    }
    return code == ACCEL_OK ? accel_builder_finish(m.builder, out_graph, error) : code;
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
            ((int32_t *)memory)[i] = integer(what, value->name, i, &state);
        else
            ((float *)memory)[i] = (float)(bench_random(&state) >> 8) / 16777216.0f - 0.5f;
}
