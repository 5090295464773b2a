/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of graphs with two symbols, and of two sets of one module: one symbol changes alone, and sets run in turn,
 * each with its own symbols, inputs and outputs.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <accel/builder.h>

#include "sdk/conform/conform.h"
#include "sdk/conform/list.h"

#define WIDTH 24u
#define ROWS 12u
#define ELEMENTS (ROWS * WIDTH)
#define FOREVER 60000000000u
#define INPUTS 4u  /* a and b have the rows of the first symbol, c and d those of the second */
#define OUTPUTS 2u /* (a + b) + a, (c + d) + c */
#define UNTOUCHED 12345.0f

struct pair_set {
    struct accel_set *set;
    struct accel_buffer *inputs[INPUTS], *outputs[OUTPUTS];
    float values[INPUTS][ELEMENTS];
    float got[OUTPUTS][ELEMENTS];
};

struct pairs {
    struct conform *conform;
    struct accel_builder *builder;
    const struct accel_graph *graph;
    struct accel_module *module;
    struct accel_queue *queue;
    struct pair_set sets[2];
};

/* Adds one half of the graph: (x + y) + x over the rows of a symbol. */
static int32_t build_half(struct accel_builder *builder, const char *const names[3], uint32_t symbol,
                          struct accel_error *error)
{
    const struct accel_dim dims[2] = {{.symbol = symbol, .multiply = 1, .divide = 1}, {.add = WIDTH}};
    uint32_t inputs[2], sum, value;
    int32_t code = accel_builder_value(builder, ACCEL_ROLE_INPUT, names[0], ACCEL_F32, 2, dims, &inputs[0], error);

    if (code == ACCEL_OK)
        code = accel_builder_value(builder, ACCEL_ROLE_INPUT, names[1], ACCEL_F32, 2, dims, &inputs[1], error);
    if (code == ACCEL_OK)
        code = accel_builder_node(builder, ACCEL_OP_ADD, "first", inputs, 2, NULL, &sum, error);
    inputs[1] = inputs[0];
    inputs[0] = sum;
    if (code == ACCEL_OK)
        code = accel_builder_node(builder, ACCEL_OP_ADD, "second", inputs, 2, NULL, &value, error);
    return code == ACCEL_OK ? accel_builder_output(builder, value, names[2], error) : code;
}

static int32_t build(struct pairs *p)
{
    static const char *const first[3] = {"a", "b", "y"}, *const second[3] = {"c", "d", "z"};
    struct accel_error *error = &p->conform->error;
    uint32_t symbols[2];
    int32_t code = accel_builder_create("pairs", &p->builder, error);

    if (code == ACCEL_OK)
        code = accel_builder_symbol(p->builder, "rows", 1, ROWS, &symbols[0], error);
    if (code == ACCEL_OK)
        code = accel_builder_symbol(p->builder, "others", 1, ROWS, &symbols[1], error);
    if (code == ACCEL_OK)
        code = build_half(p->builder, first, symbols[0], error);
    if (code == ACCEL_OK)
        code = build_half(p->builder, second, symbols[1], error);
    return code == ACCEL_OK ? accel_builder_finish(p->builder, &p->graph, error) : code;
}

static bool make_set(struct pairs *p, struct pair_set *set)
{
    static const uint64_t highest[2] = {ROWS, ROWS};
    struct conform *conform = p->conform;
    struct accel_bind binds[INPUTS + OUTPUTS];
    uint32_t inputs = 0, outputs = 0, count = 0;

    for (uint32_t v = 0; v < p->graph->value_count; v++) {
        const uint32_t role = p->graph->values[v]->role;
        struct accel_buffer **buffer;

        if (role != ACCEL_ROLE_INPUT && role != ACCEL_ROLE_OUTPUT)
            continue;
        buffer = role == ACCEL_ROLE_INPUT ? &set->inputs[inputs++] : &set->outputs[outputs++];
        if (!conform_ok(conform,
                        accel_buffer_create(conform->device, ELEMENTS * sizeof(float), 0, buffer, &conform->error),
                        "make a buffer"))
            return false;
        binds[count++] = (struct accel_bind){.value = v, .buffer = *buffer};
    }
    return conform_ok(conform,
                      accel_set_create(p->module, 0, p->queue, highest, binds, count, NULL, &set->set, &conform->error),
                      "bind a set");
}

static bool make(struct pairs *p, struct conform *conform, uint32_t sets)
{
    const struct accel_limits *limits = conform->facts->limits;
    int32_t code;

    memset(p, 0, sizeof(*p));
    p->conform = conform;
    conform_case(conform, "compile");
    if (limits->inline_bytes < ELEMENTS * sizeof(float)) {
        conform_skip(conform, "its steps bring too few bytes: inline_bytes of its limits");
        return false;
    }
    if (!conform_ok(conform, build(p), "the kit's own graph"))
        return false;
    code = accel_module_create(conform->device, &p->graph, 1, NULL, NULL, NULL, &p->module, &conform->error);
    if (code == ACCEL_E_REFUSED) {
        conform_skip(conform, "it does not take a sum");
        return false;
    }
    if (!conform_ok(conform, code, "compile") ||
        !conform_ok(conform, accel_queue_create(conform->device, NULL, &p->queue, &conform->error), "make a queue"))
        return false;
    for (uint32_t s = 0; s < sets; s++)
        if (!make_set(p, &p->sets[s]))
            return false;
    return true;
}

static void end(struct pairs *p)
{
    for (uint32_t s = 0; s < 2; s++)
        accel_set_free(p->sets[s].set);
    accel_queue_free(p->queue);
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t i = 0; i < INPUTS; i++)
            accel_buffer_free(p->sets[s].inputs[i]);
        for (uint32_t i = 0; i < OUTPUTS; i++)
            accel_buffer_free(p->sets[s].outputs[i]);
    }
    accel_module_free(p->module);
    accel_builder_free(p->builder);
}

/* Submits one step at a time and waits for it, so that any in_flight limit suffices. */
static bool run_step(struct pairs *p, struct accel_step step)
{
    struct conform *conform = p->conform;
    const struct accel_step *list = &step;
    uint64_t value = 0;

    step.size = sizeof(step);
    return conform_ok(conform, accel_queue_submit(p->queue, &list, 1, NULL, 0, &value, &conform->error), "submit") &&
           conform_ok(conform, accel_queue_wait(p->queue, value, FOREVER, &conform->error), "wait");
}

static bool move(struct pairs *p, uint32_t kind, struct accel_buffer *buffer, float *memory)
{
    struct accel_step step = {.kind = kind, .bytes = ELEMENTS * sizeof(float)};

    if (kind == ACCEL_STEP_UPDATE) {
        step.target = buffer;
        step.data = memory;
    } else {
        step.source = buffer;
        step.memory = memory;
    }
    return run_step(p, step);
}

static bool compare(struct pairs *p, const struct pair_set *set, const uint64_t *symbols)
{
    for (uint32_t o = 0; o < OUTPUTS; o++)
        for (uint32_t e = 0; e < ELEMENTS; e++) {
            const bool is_inside = e < symbols[o] * WIDTH;
            const float x = set->values[2 * o][e], wanted = is_inside ? (x + set->values[2 * o + 1][e]) + x : UNTOUCHED;

            if (set->got[o][e] == wanted)
                continue;
            conform_fail(p->conform, "output %u, element %u is %.9g, expected %.9g%s", o, e, (double)set->got[o][e],
                         (double)wanted, is_inside ? "" : ": it is past the rows of its symbol");
            return false;
        }
    return true;
}

/* Runs a set with new inputs. Its outputs hold a mark before, so that an excess row is detected. */
static bool run(struct pairs *p, struct pair_set *set, const uint64_t *symbols)
{
    bool is_good = true;

    for (uint32_t i = 0; i < INPUTS && is_good; i++) {
        for (uint32_t e = 0; e < ELEMENTS; e++)
            set->values[i][e] = conform_float(p->conform);
        is_good = move(p, ACCEL_STEP_UPDATE, set->inputs[i], set->values[i]);
    }
    for (uint32_t o = 0; o < OUTPUTS && is_good; o++) {
        for (uint32_t e = 0; e < ELEMENTS; e++)
            set->got[o][e] = UNTOUCHED;
        is_good = move(p, ACCEL_STEP_UPDATE, set->outputs[o], set->got[o]);
    }
    is_good = is_good && run_step(p, (struct accel_step){.kind = ACCEL_STEP_RUN, .set = set->set, .symbols = symbols});
    for (uint32_t o = 0; o < OUTPUTS && is_good; o++)
        is_good = move(p, ACCEL_STEP_READ, set->outputs[o], set->got[o]);
    return is_good && compare(p, set, symbols);
}

static void two_symbols(struct conform *conform)
{
    static const uint64_t steps[][2] = {{ROWS, ROWS}, {5, 9}, {5, 2}, {5, ROWS}, {1, ROWS}, {7, ROWS}, {7, 1}, {7, 1}};
    struct pairs *p = conform_memory(conform, 1, sizeof(*p));
    bool is_good = make(p, conform, 1);

    for (uint32_t i = 0; i < sizeof(steps) / sizeof(*steps) && is_good; i++) {
        conform_case(conform, "symbols %u and %u%s", (uint32_t)steps[i][0], (uint32_t)steps[i][1],
                     i == 0 ? "" : " behind others in the same set");
        is_good = run(p, &p->sets[0], steps[i]);
    }
    end(p);
    free(p);
}

static void two_sets(struct conform *conform)
{
    static const struct {
        uint32_t set;
        uint64_t symbols[2];
    } steps[] = {{0, {5, 9}}, {1, {5, 9}}, {0, {5, 9}}, {1, {3, 2}}, {0, {5, 9}}, {1, {ROWS, 1}}, {0, {1, ROWS}}};
    struct pairs *p = conform_memory(conform, 1, sizeof(*p));
    bool is_good = make(p, conform, 2);

    for (uint32_t i = 0; i < sizeof(steps) / sizeof(*steps) && is_good; i++) {
        conform_case(conform, "two sets of one module in turn: set %u with symbols %u and %u", steps[i].set,
                     (uint32_t)steps[i].symbols[0], (uint32_t)steps[i].symbols[1]);
        is_good = run(p, &p->sets[steps[i].set], steps[i].symbols);
    }
    end(p);
    free(p);
}

void conform_add_pairs(struct conform_list *list)
{
    conform_add(list, CONFORM_DEVICE, 0, two_symbols, "timeline/two-symbols");
    conform_add(list, CONFORM_DEVICE, 0, two_sets, "timeline/two-sets");
}
