/* SPDX-License-Identifier: Apache-2.0 */
/* The builder infers every operator, refuses what does not fit, and what it makes verifies. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <accel/builder.h>

#include "core/graph/dim.h"
#include "core/graph/lifetime.h"
#include "core/graph/types.h"

/** A builder with the values that most tests need. */
struct fixture {
    struct accel_builder *builder;
    struct accel_error error;
    struct accel_dim tokens;
    struct accel_dim sequences;
    uint32_t x;      /* F32 [tokens, 64] */
    uint32_t ids;    /* I32 [tokens] */
    uint32_t matrix; /* q4_0 [96, 64] */
    uint32_t norm;   /* F32 [64] */
    uint32_t k, v;   /* states [512, 32] */
};

static struct accel_dim fixed(uint64_t extent)
{
    return accel_dim_fixed(extent);
}

static uint32_t value(struct fixture *f, uint32_t role, const char *name, uint32_t type, uint32_t rank,
                      const struct accel_dim *dims)
{
    uint32_t index = 0;
    assert_int_equal(accel_builder_value(f->builder, role, name, type, rank, dims, &index, &f->error), ACCEL_OK);
    return index;
}

static int set_up(void **state)
{
    static struct fixture f;
    uint32_t tokens, sequences;
    memset(&f, 0, sizeof(f));
    assert_int_equal(accel_builder_create("test", &f.builder, &f.error), ACCEL_OK);
    assert_int_equal(accel_builder_symbol(f.builder, "tokens", 1, 128, &tokens, &f.error), ACCEL_OK);
    assert_int_equal(accel_builder_symbol(f.builder, "sequences", 1, 4, &sequences, &f.error), ACCEL_OK);
    f.tokens = (struct accel_dim){tokens, 1, 1, 0, 0};
    f.sequences = (struct accel_dim){sequences, 1, 1, 0, 0};
    f.x = value(&f, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 2, (struct accel_dim[]){f.tokens, fixed(64)});
    f.ids = value(&f, ACCEL_ROLE_INPUT, "ids", ACCEL_I32, 1, &f.tokens);
    f.matrix = value(&f, ACCEL_ROLE_WEIGHT, "matrix", ACCEL_Q4_0, 2, (struct accel_dim[]){fixed(96), fixed(64)});
    f.norm = value(&f, ACCEL_ROLE_WEIGHT, "norm", ACCEL_F32, 1, (struct accel_dim[]){fixed(64)});
    f.k = value(&f, ACCEL_ROLE_STATE, "k", ACCEL_F16, 2, (struct accel_dim[]){fixed(512), fixed(32)});
    f.v = value(&f, ACCEL_ROLE_STATE, "v", ACCEL_F16, 2, (struct accel_dim[]){fixed(512), fixed(32)});
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    accel_builder_free(f->builder);
    return 0;
}

static uint32_t node(struct fixture *f, uint32_t op, const char *name, const uint32_t *inputs, uint32_t count,
                     const void *attributes)
{
    uint32_t index = 0;
    int32_t code = accel_builder_node(f->builder, op, name, inputs, count, attributes, &index, &f->error);
    if (code != ACCEL_OK)
        print_error("%s\n", f->error.text);
    assert_int_equal(code, ACCEL_OK);
    return index;
}

#define NODE(f, op, name, attributes, ...)                                                                             \
    node(f, op, name, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),     \
         attributes)

static const struct accel_matmul plain_matmul = {sizeof(plain_matmul), ACCEL_FN_NONE, ACCEL_F32, 0};
static const struct accel_norm plain_norm = {sizeof(plain_norm), 1e-5f};
static const struct accel_rotary plain_rotary = {sizeof(plain_rotary), ACCEL_PAIR_HALVES, 1.0f, 0};
static const struct accel_attention plain_attention = {sizeof(plain_attention), 2, 16, 0, 1, 0.25f, 0.0f, 0, 0, 0};
static const struct accel_activation silu = {sizeof(silu), ACCEL_FN_SILU};

static const struct accel_graph *finish(struct fixture *f, uint32_t output)
{
    const struct accel_graph *graph = NULL;
    int32_t code;
    assert_int_equal(accel_builder_output(f->builder, output, "y", &f->error), ACCEL_OK);
    code = accel_builder_finish(f->builder, &graph, &f->error);
    if (code != ACCEL_OK)
        print_error("%s\n", f->error.text);
    assert_int_equal(code, ACCEL_OK);
    return graph;
}

static void assert_shape(const struct accel_graph *graph, uint32_t index, uint32_t type, const char *shape)
{
    char text[200];
    accel_dims_text(graph, graph->values[index]->rank, graph->values[index]->dims, text, sizeof(text));
    assert_string_equal(text, shape);
    assert_int_equal(graph->values[index]->type, type);
}

/* One layer of a decoder, with every operator in it. */
static void test_every_operator(void **state)
{
    struct fixture *f = *state;
    struct accel_dim ends = {f->sequences.symbol, 1, 1, 0, 1};
    struct accel_dim heads[] = {f->tokens, fixed(4), fixed(16)};
    uint32_t table = value(f, ACCEL_ROLE_INPUT, "table", ACCEL_I32, 2, (struct accel_dim[]){f->sequences, fixed(32)});
    uint32_t first = value(f, ACCEL_ROLE_INPUT, "first", ACCEL_I32, 1, &ends);
    uint32_t length = value(f, ACCEL_ROLE_INPUT, "length", ACCEL_I32, 1, &f->sequences);
    uint32_t slot = value(f, ACCEL_ROLE_INPUT, "slot", ACCEL_I32, 1, &f->tokens);
    uint32_t square = value(f, ACCEL_ROLE_WEIGHT, "square", ACCEL_F16, 2, (struct accel_dim[]){fixed(64), fixed(64)});
    uint32_t narrow = value(f, ACCEL_ROLE_WEIGHT, "narrow", ACCEL_F32, 2, (struct accel_dim[]){fixed(32), fixed(64)});
    uint32_t embedded, normed, q, turned, kept, attended, added, gated, chosen, logits, best, frequency, unused = 7;
    float frequencies[8] = {1, 0};
    uint64_t pairs = 8;
    const struct accel_graph *graph;
    assert_int_equal(
        accel_builder_constant(f->builder, "frequency", ACCEL_F32, 1, &pairs, frequencies, &frequency, &f->error),
        ACCEL_OK);
    embedded = NODE(f, ACCEL_OP_EMBED, "embed", NULL, f->matrix, f->ids);
    normed = NODE(f, ACCEL_OP_RMS_NORM, "norm", &plain_norm, embedded, f->norm);
    normed = NODE(f, ACCEL_OP_LAYER_NORM, "layer", &plain_norm, normed, f->norm, ACCEL_NO_VALUE);
    q = NODE(f, ACCEL_OP_MATMUL, "q", &plain_matmul, normed, square);
    assert_int_equal(accel_builder_reshape(f->builder, "heads", q, 3, heads, &q, &f->error), ACCEL_OK);
    turned = NODE(f, ACCEL_OP_ROTARY, "rotary", &plain_rotary, q, slot, frequency);
    kept = NODE(f, ACCEL_OP_MATMUL, "kept", &plain_matmul, normed, narrow);
    assert_int_equal(accel_builder_node(f->builder, ACCEL_OP_CACHE_WRITE, "write", (uint32_t[]){kept, slot, f->k}, 3,
                                        NULL, &unused, &f->error),
                     ACCEL_OK);
    assert_int_equal(unused, ACCEL_NO_VALUE);
    attended = NODE(f, ACCEL_OP_ATTENTION, "attention", &plain_attention, turned, f->k, f->v, table, first, length);
    assert_int_equal(accel_builder_reshape(f->builder, "flat", attended, 2, (struct accel_dim[]){f->tokens, fixed(64)},
                                           &attended, &f->error),
                     ACCEL_OK);
    added = NODE(f, ACCEL_OP_ADD, "add", NULL, attended, embedded);
    added = NODE(f, ACCEL_OP_MUL, "mul", NULL, added, f->norm);
    gated = NODE(f, ACCEL_OP_ACTIVATION, "act", &silu, added);
    gated = NODE(f, ACCEL_OP_GATE, "gate", &silu, gated, added);
    chosen = NODE(f, ACCEL_OP_GATHER, "last", NULL, gated, length);
    logits = NODE(f, ACCEL_OP_MATMUL, "logits", &plain_matmul, chosen, f->matrix);
    logits = NODE(f, ACCEL_OP_SOFTMAX, "softmax", NULL, logits);
    best = NODE(f, ACCEL_OP_ARGMAX, "best", NULL, logits);
    graph = finish(f, best);
    assert_shape(graph, embedded, ACCEL_F32, "[tokens, 64]");
    assert_shape(graph, turned, ACCEL_F32, "[tokens, 4, 16]");
    assert_shape(graph, chosen, ACCEL_F32, "[sequences, 64]");
    assert_shape(graph, logits, ACCEL_F32, "[sequences, 96]");
    assert_shape(graph, best, ACCEL_I32, "[sequences]");
    assert_int_equal(accel_graph_find(graph, "y"), best);
    assert_int_equal(accel_graph_find(graph, "absent"), ACCEL_NO_VALUE);
    assert_int_equal(accel_graph_verify(graph, NULL), ACCEL_OK);
}

/** A node that has to be refused, and words of the reason. Inputs: the letters are values of the fixture. */
struct refusal {
    uint32_t op;
    const char *inputs; /* x ids matrix norm k v, as "xnmikv", '-' absent, '?' out of range */
    const void *attributes;
    int32_t code;
    const char *words;
};

static uint32_t letter(const struct fixture *f, char name)
{
    switch (name) {
    case 'x':
        return f->x;
    case 'i':
        return f->ids;
    case 'm':
        return f->matrix;
    case 'n':
        return f->norm;
    case 'k':
        return f->k;
    case 'v':
        return f->v;
    default:
        return name == '-' ? ACCEL_NO_VALUE : 4711;
    }
}

static void refused(struct fixture *f, const struct refusal *r)
{
    uint32_t inputs[8], count = 0, out = 0;
    for (; r->inputs[count]; count++)
        inputs[count] = letter(f, r->inputs[count]);
    accel_error_clear(&f->error);
    assert_int_equal(accel_builder_node(f->builder, r->op, "bad", inputs, count, r->attributes, &out, &f->error),
                     r->code);
    if (strstr(f->error.text, r->words) == NULL)
        print_error("got: %s\nwanted: %s\n", f->error.text, r->words);
    assert_non_null(strstr(f->error.text, r->words));
}

/* A symbol is exact until it is masked; one that is not there is refused by its number. */
static void test_masked_symbol(void **state)
{
    const struct accel_graph *graph = NULL;
    struct accel_builder *builder;
    struct accel_error error = {0};
    struct accel_dim dims[2] = {{.multiply = 1, .divide = 1}, {.add = 8}};
    uint32_t symbol, other, x, y;

    (void)state;
    assert_int_equal(accel_builder_create("masked", &builder, &error), ACCEL_OK);
    assert_int_equal(accel_builder_symbol(builder, "rows", 1, 64, &symbol, &error), ACCEL_OK);
    assert_int_equal(accel_builder_symbol(builder, "other", 1, 64, &other, &error), ACCEL_OK);
    assert_int_equal(accel_builder_mask(builder, symbol, &error), ACCEL_OK);
    dims[0].symbol = symbol;
    assert_int_equal(accel_builder_value(builder, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 2, dims, &x, &error), ACCEL_OK);
    assert_int_equal(accel_builder_node(builder, ACCEL_OP_ADD, "y", (uint32_t[]){x, x}, 2, NULL, &y, &error), ACCEL_OK);
    assert_int_equal(accel_builder_output(builder, y, NULL, &error), ACCEL_OK);
    assert_int_equal(accel_builder_finish(builder, &graph, &error), ACCEL_OK);
    assert_int_equal(graph->symbols[symbol - 1]->kind, ACCEL_SYMBOL_MASKED);
    assert_int_equal(graph->symbols[other - 1]->kind, ACCEL_SYMBOL_EXACT);
    accel_builder_free(builder);
    assert_int_equal(accel_builder_create("none", &builder, &error), ACCEL_OK);
    assert_int_equal(accel_builder_mask(builder, 1, &error), ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "no symbol 1"));
    accel_builder_free(builder);
}

static void test_refusals(void **state)
{
    static const struct accel_matmul bad_function = {sizeof(bad_function), 99, ACCEL_F32, 0};
    static const struct accel_matmul bad_rounding = {sizeof(bad_rounding), 0, ACCEL_I8, 0};
    static const struct accel_matmul short_matmul = {8, 0, ACCEL_F32, 0};
    static const struct accel_norm bad_norm = {sizeof(bad_norm), -1.0f};
    static const struct accel_activation bad_activation = {sizeof(bad_activation), ACCEL_FN_END};
    /* An attribute of a later minor, not zero. */
    static const struct {
        struct accel_norm known;
        uint32_t later[2];
    } longer = {{sizeof(longer), 1e-5f}, {0, 5}};
    static const struct refusal refusals[] = {
        {ACCEL_OP_MATMUL, "xn", &plain_matmul, ACCEL_E_INVALID, "rank"},
        {ACCEL_OP_MATMUL, "xk", &plain_matmul, ACCEL_E_INVALID, "must not be a state"},
        {ACCEL_OP_MATMUL, "im", &plain_matmul, ACCEL_E_INVALID, "type that the operator does not support"},
        {ACCEL_OP_MATMUL, "x", &plain_matmul, ACCEL_E_INVALID, "input W is missing"},
        {ACCEL_OP_MATMUL, "x?", &plain_matmul, ACCEL_E_INVALID, "out of range"},
        {ACCEL_OP_MATMUL, "xmn", &plain_matmul, ACCEL_E_INVALID, "bias needs one element per row of W"},
        {ACCEL_OP_MATMUL, "xm-x", &plain_matmul, ACCEL_E_INVALID, "residual must have the shape"},
        {ACCEL_OP_MATMUL, "xm---", &plain_matmul, ACCEL_E_INVALID, "allowed are up to 4"},
        {ACCEL_OP_MATMUL, "xm", NULL, ACCEL_E_INVALID, "attributes are missing"},
        {ACCEL_OP_MATMUL, "xm", &bad_function, ACCEL_E_INVALID, "function"},
        {ACCEL_OP_MATMUL, "xm", &bad_rounding, ACCEL_E_INVALID, "rounding"},
        {ACCEL_OP_MATMUL, "xm", &short_matmul, ACCEL_E_INVALID, "size is 8"},
        {ACCEL_OP_RMS_NORM, "xn", &bad_norm, ACCEL_E_INVALID, "epsilon"},
        {ACCEL_OP_RMS_NORM, "xn", &longer, ACCEL_E_UNSUPPORTED, "byte 12 of attributes"},
        {ACCEL_OP_RMS_NORM, "mn", &plain_norm, ACCEL_E_INVALID, "type"},
        {ACCEL_OP_ACTIVATION, "x", &bad_activation, ACCEL_E_INVALID, "function"},
        {ACCEL_OP_SOFTMAX, "x", &silu, ACCEL_E_INVALID, "the operator has none"},
        {ACCEL_OP_CACHE_WRITE, "xik", NULL, ACCEL_E_INVALID, "a row of the state holds one token"},
        {ACCEL_OP_CACHE_WRITE, "xix", NULL, ACCEL_E_INVALID, "has to be a state"},
        {ACCEL_OP_ROTARY, "xin", &plain_rotary, ACCEL_E_INVALID, "rank"},
        {ACCEL_OP_ADD, "nx", NULL, ACCEL_E_INVALID, "trailing extents"},
        {ACCEL_OP_GATE, "xn", &silu, ACCEL_E_INVALID, "same shape"},
        {ACCEL_OP_RESHAPE, "x", NULL, ACCEL_E_INVALID, "accel_builder_reshape"},
        {ACCEL_OP_END, "x", NULL, ACCEL_E_UNSUPPORTED, "unknown"},
        {0, "x", NULL, ACCEL_E_UNSUPPORTED, "unknown"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        void *fresh = NULL;
        set_up(&fresh);
        refused(fresh, &refusals[i]);
        tear_down(&fresh);
    }
}

/* Attention with a mask and score sums: pages of 16 tokens, 32 of them, in blocks of 12 are 43 rows of 2 words. */
static int32_t attend(struct fixture *f, struct accel_dim pages, struct accel_dim rows, uint64_t words, uint32_t block,
                      uint32_t outputs, uint32_t made[2])
{
    struct accel_dim ends = {f->sequences.symbol, 1, 1, 0, 1};
    struct accel_attention attributes = plain_attention;
    uint32_t inputs[7] = {0, f->k, f->v};
    inputs[0] = value(f, ACCEL_ROLE_INPUT, "q", ACCEL_F32, 3, (struct accel_dim[]){f->tokens, fixed(4), fixed(16)});
    inputs[3] = value(f, ACCEL_ROLE_INPUT, "table", ACCEL_I32, 2, (struct accel_dim[]){f->sequences, pages});
    inputs[4] = value(f, ACCEL_ROLE_INPUT, "first", ACCEL_I32, 1, &ends);
    inputs[5] = value(f, ACCEL_ROLE_INPUT, "length", ACCEL_I32, 1, &f->sequences);
    inputs[6] = ACCEL_NO_VALUE;
    if (words != 0)
        inputs[6] =
            value(f, ACCEL_ROLE_INPUT, "mask", ACCEL_I32, 3, (struct accel_dim[]){f->sequences, rows, fixed(words)});
    attributes.block = block;
    accel_error_clear(&f->error);
    return accel_builder_node_outputs(f->builder, ACCEL_OP_ATTENTION, "scores", inputs, 7, &attributes, made, outputs,
                                      &f->error);
}

static void test_mask_and_score_sums(void **state)
{
    struct fixture *f = *state;
    const struct accel_graph *graph;
    uint64_t symbols[2] = {3, 2}, offsets[32], bytes = 0;
    uint32_t made[2];
    assert_int_equal(attend(f, fixed(32), fixed(43), 2, 12, 2, made), ACCEL_OK);
    assert_int_equal(accel_builder_output(f->builder, made[1], "score_sums", &f->error), ACCEL_OK);
    graph = finish(f, made[0]);
    assert_shape(graph, made[0], ACCEL_F32, "[tokens, 4, 16]");
    assert_shape(graph, made[1], ACCEL_F32, "[sequences, 512]");
    assert_int_equal(graph->nodes[0]->output_count, 2);
    assert_int_equal(accel_graph_plan_buffers(graph, symbols, 64, offsets, &bytes, &f->error), ACCEL_OK);
}

/* A second output that nobody reads has a place of its own. */
static void test_score_sums_in_between(void **state)
{
    struct fixture *f = *state;
    const struct accel_graph *graph;
    uint64_t symbols[2] = {3, 2}, offsets[32], bytes = 0;
    uint32_t made[2];
    assert_int_equal(attend(f, fixed(32), fixed(1), 0, 0, 2, made), ACCEL_OK);
    graph = finish(f, NODE(f, ACCEL_OP_SOFTMAX, "after", NULL, made[0]));
    assert_string_equal(graph->values[made[1]]->name, "scores.score_sums");
    assert_int_equal(accel_graph_plan_buffers(graph, symbols, 64, offsets, &bytes, &f->error), ACCEL_OK);
    assert_true(offsets[made[1]] >= offsets[made[0]] + 3 * 4 * 16 * 4 || offsets[made[1]] + 4096 <= offsets[made[0]]);
    assert_true(bytes >= 4096 + 768);
}

static void test_mask_refusals(void **state)
{
    static const struct {
        uint64_t rows, words;
        uint32_t block, outputs;
        const char *text;
    } rows[] = {
        {42, 2, 12, 1, "the mask has a row of bits"},
        {43, 1, 12, 1, "the mask has a row of bits"},
        {43, 2, 13, 1, "the mask has a row of bits"},
        {43, 2, 0, 1, "block and input mask have no meaning"},
        {43, 0, 12, 1, "block and input mask have no meaning"},
        {43, 2, 12, 3, "allowed are up to 9 and 1"},
        {43, 2, 12, 0, "allowed are up to 9 and 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture *f;
        uint32_t made[3] = {0};
        void *fresh = NULL;
        set_up(&fresh);
        f = fresh;
        assert_int_not_equal(
            attend(f, fixed(32), fixed(rows[i].rows), rows[i].words, rows[i].block, rows[i].outputs, made), ACCEL_OK);
        if (strstr(f->error.text, rows[i].text) == NULL)
            fail_msg("got: %s\nwanted: %s", f->error.text, rows[i].text);
        tear_down(&fresh);
    }
}

/* What is counted by place has as many places in every step. */
static void test_score_sums_of_symbolic_pages(void **state)
{
    struct fixture *f = *state;
    uint32_t made[2];
    assert_int_equal(attend(f, f->tokens, fixed(1), 0, 0, 2, made), ACCEL_E_INVALID);
    assert_non_null(strstr(f->error.text, "have to be fixed"));
}

static void test_first_failure_sticks(void **state)
{
    struct fixture *f = *state;
    const struct accel_graph *graph = (const struct accel_graph *)f;
    uint32_t out;
    assert_int_equal(accel_builder_node(f->builder, ACCEL_OP_ADD, "bad", &f->x, 1, NULL, &out, &f->error),
                     ACCEL_E_INVALID);
    accel_error_clear(&f->error);
    assert_int_equal(accel_builder_output(f->builder, f->x, NULL, &f->error), ACCEL_E_INVALID);
    assert_non_null(strstr(f->error.text, "earlier call"));
    assert_int_equal(accel_builder_finish(f->builder, &graph, NULL), ACCEL_E_INVALID);
    assert_null(graph);
}

static void test_finish_twice(void **state)
{
    struct fixture *f = *state;
    finish(f, NODE(f, ACCEL_OP_SOFTMAX, "s", NULL, f->x));
    assert_int_equal(accel_builder_output(f->builder, 0, NULL, &f->error), ACCEL_E_INVALID);
    assert_non_null(strstr(f->error.text, "finished"));
}

static void test_empty_graph(void **state)
{
    struct fixture *f = *state;
    const struct accel_graph *graph = (const struct accel_graph *)f;
    assert_int_equal(accel_builder_finish(f->builder, &graph, &f->error), ACCEL_E_INVALID);
    assert_null(graph);
}

static void test_bad_values(void **state)
{
    static const struct {
        uint32_t role, type, rank;
        struct accel_dim last;
        const char *words;
    } bad[] = {
        {ACCEL_ROLE_WEIGHT, ACCEL_Q4_0, 2, {0, 0, 0, 0, 48}, "whole number of blocks"},
        {ACCEL_ROLE_INPUT, ACCEL_Q4_0, 2, {0, 0, 0, 0, 64}, "only weights"},
        {ACCEL_ROLE_INPUT, 0x7777, 2, {0, 0, 0, 0, 64}, "type 0x7777 is unknown"},
        {ACCEL_ROLE_INPUT, ACCEL_F32, 2, {0, 0, 0, 0, 0}, "an extent is 0"},
        {ACCEL_ROLE_INPUT, ACCEL_F32, 2, {0, 1, 0, 0, 4}, "fixed extent has a factor"},
        {ACCEL_ROLE_INPUT, ACCEL_F32, 2, {9, 1, 1, 0, 0}, "symbol 9 of 2"},
        {ACCEL_ROLE_INPUT, ACCEL_F32, 2, {1, 1, 0, 0, 0}, "factor of 0"},
        {ACCEL_ROLE_INPUT, ACCEL_F32, 2, {1, 1, 2, 0, 0}, "remainder"},
        {ACCEL_ROLE_INPUT, ACCEL_F32, 2, {0, 0, 0, 1, 4}, "member zero"},
        {ACCEL_ROLE_INPUT, ACCEL_F32, 2, {0, 0, 0, 0, UINT64_MAX}, "do not fit"},
        {ACCEL_ROLE_INPUT, ACCEL_F32, 7, {0, 0, 0, 0, 4}, "rank"},
        {ACCEL_ROLE_OUTPUT, ACCEL_F32, 2, {0, 0, 0, 0, 4}, "can add only inputs, weights and states"},
        {ACCEL_ROLE_STATE, ACCEL_F32, 3, {0, 0, 0, 0, 4}, "rank is not 2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct accel_dim dims[8] = {{0, 0, 0, 0, 8}, {0, 0, 0, 0, 8}, {0, 0, 0, 0, 8}};
        void *fresh = NULL;
        struct fixture *f;
        uint32_t out;
        set_up(&fresh);
        f = fresh;
        dims[bad[i].rank < 6 ? bad[i].rank - 1 : 0] = bad[i].last;
        assert_true(
            accel_builder_value(f->builder, bad[i].role, "bad", bad[i].type, bad[i].rank, dims, &out, &f->error) < 0);
        if (strstr(f->error.text, bad[i].words) == NULL)
            print_error("got: %s\nwanted: %s\n", f->error.text, bad[i].words);
        assert_non_null(strstr(f->error.text, bad[i].words));
        tear_down(&fresh);
    }
}

/* Every intermediate fits, nothing that is alive at the same time overlaps, and chains are made in place. */
static void test_buffers(void **state)
{
    struct fixture *f = *state;
    uint32_t square = value(f, ACCEL_ROLE_WEIGHT, "square", ACCEL_F32, 2, (struct accel_dim[]){fixed(64), fixed(64)});
    uint64_t symbols[] = {10, 1}, offsets[64], bytes;
    uint32_t a = NODE(f, ACCEL_OP_MATMUL, "a", &plain_matmul, f->x, square);
    uint32_t b = NODE(f, ACCEL_OP_ACTIVATION, "b", &silu, a);
    uint32_t c = NODE(f, ACCEL_OP_MATMUL, "c", &plain_matmul, b, square);
    uint32_t d = NODE(f, ACCEL_OP_ADD, "d", NULL, b, c);
    uint32_t e = NODE(f, ACCEL_OP_MATMUL, "e", &plain_matmul, d, square, ACCEL_NO_VALUE, d);
    uint32_t y = NODE(f, ACCEL_OP_SOFTMAX, "y", NULL, e);
    const struct accel_graph *graph = finish(f, y);
    assert_int_equal(accel_graph_plan_buffers(graph, symbols, 64, offsets, &bytes, &f->error), ACCEL_OK);
    assert_int_equal(bytes, 2 * 10 * 64 * 4);
    assert_int_equal(offsets[a], 0);
    assert_int_equal(offsets[b], offsets[a]);
    assert_int_equal(offsets[c], 10 * 64 * 4);
    assert_int_equal(offsets[d], offsets[b]);
    /* d is also x of the product, so e must not lie on it. */
    assert_int_equal(offsets[e], 10 * 64 * 4);
    assert_true(offsets[y] == ACCEL_NO_OFFSET && offsets[f->x] == ACCEL_NO_OFFSET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_operator, set_up, tear_down),
        cmocka_unit_test(test_masked_symbol),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test_setup_teardown(test_mask_and_score_sums, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_score_sums_in_between, set_up, tear_down),
        cmocka_unit_test(test_mask_refusals),
        cmocka_unit_test_setup_teardown(test_score_sums_of_symbolic_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_first_failure_sticks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_finish_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty_graph, set_up, tear_down),
        cmocka_unit_test(test_bad_values),
        cmocka_unit_test_setup_teardown(test_buffers, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
