/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile views of a graph: one thing is wrong in each, and the verifier names it. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <accel/builder.h>

#include "core/base/open.h"
#include "core/graph/ops.h"

/** A whole graph whose parts can be spoiled: y = softmax(x W^T + c), x [tokens, 4], W [8, 4]. */
struct view {
    struct accel_symbol symbol;
    struct accel_value x, weight, constant, product, sum, y;
    struct accel_node matmul, add, softmax;
    struct accel_matmul attributes;
    uint64_t zeros[16]; /* makes open structs longer where a test wants it */
    uint32_t matmul_inputs[4], add_inputs[2], softmax_inputs[1];
    uint32_t matmul_outputs[1], add_outputs[1], softmax_outputs[1];
    float data[8];
    const struct accel_symbol *symbols[1];
    const struct accel_value *values[6];
    const struct accel_node *nodes[3];
    struct accel_graph graph;
};

static void make_values(struct view *v)
{
    const struct accel_dim tokens = {1, 1, 1, 0, 0}, four = {0, 0, 0, 0, 4}, eight = {0, 0, 0, 0, 8};
    v->symbol = (struct accel_symbol){sizeof(v->symbol), ACCEL_SYMBOL_EXACT, "tokens", 2, 64, 2};
    v->x = (struct accel_value){.size = sizeof(v->x),
                                .role = ACCEL_ROLE_INPUT,
                                .type = ACCEL_F32,
                                .rank = 2,
                                .dims = {tokens, four},
                                .name = "x"};
    v->weight = (struct accel_value){.size = sizeof(v->x),
                                     .role = ACCEL_ROLE_WEIGHT,
                                     .type = ACCEL_BF16,
                                     .rank = 2,
                                     .dims = {eight, four},
                                     .name = "W",
                                     .key = "layer.weight"};
    v->constant = (struct accel_value){.size = sizeof(v->x),
                                       .role = ACCEL_ROLE_CONSTANT,
                                       .type = ACCEL_F32,
                                       .rank = 1,
                                       .dims = {eight},
                                       .name = "c",
                                       .data = v->data,
                                       .bytes = 32};
    v->product = (struct accel_value){.size = sizeof(v->x),
                                      .role = ACCEL_ROLE_INTERMEDIATE,
                                      .type = ACCEL_F32,
                                      .rank = 2,
                                      .dims = {tokens, eight},
                                      .name = "product"};
    v->sum = v->product;
    v->sum.name = "sum";
    v->y = v->product;
    v->y.name = "y";
    v->y.role = ACCEL_ROLE_OUTPUT;
}

static void make_node(struct accel_node *node, uint32_t op, const char *name, uint32_t *inputs, uint32_t count,
                      uint32_t *output)
{
    *node = (struct accel_node){sizeof(*node), op, 1, 0, count, 1, inputs, output, NULL, name};
}

static void make(struct view *v)
{
    memset(v, 0, sizeof(*v));
    make_values(v);
    v->attributes = (struct accel_matmul){sizeof(v->attributes), ACCEL_FN_NONE, ACCEL_Q8_0, 0};
    v->matmul_inputs[0] = 0;
    v->matmul_inputs[1] = 1;
    v->matmul_inputs[2] = v->matmul_inputs[3] = ACCEL_NO_VALUE;
    v->matmul_outputs[0] = 3;
    v->add_inputs[0] = 3;
    v->add_inputs[1] = 2;
    v->add_outputs[0] = 4;
    v->softmax_inputs[0] = 4;
    v->softmax_outputs[0] = 5;
    make_node(&v->matmul, ACCEL_OP_MATMUL, "matmul", v->matmul_inputs, 4, v->matmul_outputs);
    v->matmul.attributes = &v->attributes;
    make_node(&v->add, ACCEL_OP_ADD, "add", v->add_inputs, 2, v->add_outputs);
    make_node(&v->softmax, ACCEL_OP_SOFTMAX, "softmax", v->softmax_inputs, 1, v->softmax_outputs);
    v->symbols[0] = &v->symbol;
    memcpy(v->values, (const struct accel_value *[]){&v->x, &v->weight, &v->constant, &v->product, &v->sum, &v->y},
           sizeof(v->values));
    memcpy(v->nodes, (const struct accel_node *[]){&v->matmul, &v->add, &v->softmax}, sizeof(v->nodes));
    v->graph = (struct accel_graph){sizeof(v->graph), 1, 6, 3, v->symbols, v->values, v->nodes, "g"};
}

static void test_good(void **state)
{
    struct accel_error error = {0};
    struct view v;
    uint64_t tokens = 6, bytes;
    (void)state;
    make(&v);
    assert_int_equal(accel_graph_verify(&v.graph, &error), ACCEL_OK);
    assert_int_equal(accel_value_bytes(&v.graph, 3, &tokens, &bytes, &error), ACCEL_OK);
    assert_int_equal(bytes, 6 * 8 * 4);
    assert_int_equal(accel_value_bytes(&v.graph, 1, &tokens, &bytes, &error), ACCEL_OK);
    assert_int_equal(bytes, 8 * 4 * 2);
    assert_int_equal(accel_value_bytes(&v.graph, 6, &tokens, &bytes, &error), ACCEL_E_INVALID);
}

static void assert_refused(const struct view *v, const char *words)
{
    struct accel_error error = {0};
    int32_t code = accel_graph_verify(&v->graph, &error);
    if (code == ACCEL_OK || strstr(error.text, words) == NULL)
        print_error("got: %d %s\nwanted: %s\n", code, error.text, words);
    assert_true(code < 0);
    assert_non_null(strstr(error.text, words));
}

/** Overwrites `bytes` bytes at `offset` of a view. */
struct spoil {
    size_t offset;
    size_t bytes;
    uint64_t value;
    const char *words;
};

#define AT(member) offsetof(struct view, member), sizeof(((struct view *)0)->member)

static const struct spoil spoils[] = {
    {AT(graph.size), 8, "accel_graph.size is 8"},
    {AT(graph.size), 1u << 20, "accel_graph.size is"},
    {AT(graph.name), 0, "a graph has no name"},
    {AT(graph.symbol_count), 65, "at most 64"},
    {AT(graph.value_count), 0xffffffff, "are allowed"},
    {AT(graph.node_count), 0xffffffff, "are allowed"},
    {AT(graph.node_count), 0, "no values or no nodes"},
    {AT(graph.node_count), 2, "\"y\": no node produces it"},
    {AT(graph.symbols), 0, "no values or no nodes"},
    {AT(graph.values), 0, "no values or no nodes"},
    {AT(graph.nodes), 0, "no values or no nodes"},
    {AT(graph.symbol_count), 0, "symbol 1 of 0"},
    {AT(graph.value_count), 5, "its output is out of range"},
    {AT(symbols[0]), 0, "a symbol is NULL"},
    {AT(values[2]), 0, "a value is NULL"},
    {AT(nodes[1]), 0, "a node is NULL"},
    {AT(symbol.size), 16, "accel_symbol.size"},
    {AT(symbol.kind), 2, "kind 2"},
    {AT(symbol.lowest), 0, "no range"},
    {AT(symbol.lowest), 3, "no range"},
    {AT(symbol.lowest), 66, "no range"},
    {AT(symbol.multiple), 0, "no range"},
    {AT(symbol.highest), UINT64_MAX - 1, "do not fit"},
    {AT(x.size), 64, "accel_value.size"},
    {AT(x.name), 0, "a value has no name"},
    {AT(x.role), 0, "role is unknown"},
    {AT(x.role), 7, "role is unknown"},
    {AT(x.role), ACCEL_ROLE_WEIGHT, "without a key"},
    {AT(x.role), ACCEL_ROLE_INTERMEDIATE, "before a node has produced it"},
    {AT(x.role), ACCEL_ROLE_STATE, "must not be a state"},
    {AT(x.rank), 0, "rank"},
    {AT(x.rank), 7, "rank"},
    {AT(x.rank), 1, "past its rank"},
    {AT(x.type), ACCEL_I32, "type that the operator does not support"},
    {AT(x.type), ACCEL_F16, "should be [tokens, 8] of type 2"},
    {AT(x.type), 77, "type 0x4d is unknown"},
    {AT(x.dims[1].add), 5, "innermost extents differ"},
    {AT(x.dims[0].divide), 4, "remainder"},
    {AT(x.dims[0].multiply), 2, "should be [2 * tokens, 8]"},
    {AT(x.bytes), 4, "no constant"},
    {AT(x.high), 0xff800000, "range"},
    {AT(x.low), 0x3f800000, "range"},
    {AT(weight.key), 0, "without a key"},
    {AT(weight.role), ACCEL_ROLE_INPUT, "has a key"},
    {AT(constant.bytes), 28, "its shape needs 32"},
    {AT(constant.data), 0, "without data"},
    {AT(constant.role), ACCEL_ROLE_INPUT, "has data"},
    {AT(product.role), ACCEL_ROLE_INPUT, "no intermediate or output"},
    {AT(product.dims[1].add), 9, "should be [tokens, 8]"},
    {AT(product.type), ACCEL_I32, "should be [tokens, 8]"},
    {AT(matmul.size), 8, "accel_node.size"},
    {AT(matmul.name), 0, "a node has no name"},
    {AT(matmul.zero), 1, "zero"},
    {AT(matmul.op), 999, "operator 999 is unknown"},
    {AT(matmul.minor), 0, "minor 0"},
    {AT(matmul.minor), 99, "minor 99"},
    {AT(matmul.input_count), 0xffffffff, "allowed are up to 4"},
    {AT(matmul.input_count), 1, "input W is missing"},
    {AT(matmul.output_count), 2, "allowed are up to 4 and 1"},
    {AT(matmul.output_count), 0, "allowed are up to 4 and 1"},
    {AT(matmul.inputs), 0, "is NULL"},
    {AT(matmul.outputs), 0, "is NULL"},
    {AT(matmul.attributes), 0, "attributes are missing"},
    {AT(attributes.size), 4096, "not know, and is set"},
    {AT(attributes.size), 4097, "size is 4097"},
    {AT(attributes.zero), 1, "attribute zero"},
    {AT(matmul_inputs[0]), 6, "out of range"},
    {AT(matmul_inputs[0]), ACCEL_NO_VALUE, "missing"},
    {AT(matmul_inputs[0]), 3, "innermost extents differ"},
    {AT(matmul_outputs[0]), 6, "out of range"},
    {AT(matmul_outputs[0]), 0, "no intermediate or output"},
    {AT(add_inputs[0]), 5, "before a node has produced it"},
    {AT(add_outputs[0]), 3, "already has a producer"},
    {AT(softmax_outputs[0]), 4, "already has a producer"},
};

static void test_one_thing_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
        /* The attributes may claim up to the limit of an open struct, which then has to be readable. */
        struct {
            struct view view;
            unsigned char room[ACCEL_OPEN_LIMIT];
        } v;
        memset(&v, 0, sizeof(v));
        make(&v.view);
        memcpy((char *)&v.view + spoils[i].offset, &spoils[i].value, spoils[i].bytes);
        assert_refused(&v.view, spoils[i].words);
    }
}

static void test_names(void **state)
{
    static char endless[5000];
    struct view v;
    (void)state;
    memset(endless, 'a', sizeof(endless) - 1);
    make(&v);
    v.x.name = endless;
    assert_refused(&v, "over 1023 bytes");
    v.x.name = "a\nb";
    assert_refused(&v, "control character");
    v.x.name = "\xff";
    assert_refused(&v, "not UTF-8");
    make(&v);
    v.weight.key = "";
    assert_refused(&v, "empty");
}

/* An open struct of a later minor is fine as long as what was appended says "as before". */
static void test_later_minor(void **state)
{
    struct {
        struct accel_value value;
        uint64_t later;
    } longer;
    struct view v;
    (void)state;
    make(&v);
    longer.value = v.x;
    longer.value.size = sizeof(longer);
    longer.later = 0;
    v.values[0] = &longer.value;
    assert_int_equal(accel_graph_verify(&v.graph, NULL), ACCEL_OK);
    longer.later = 1;
    assert_refused(&v, "of accel_value");
}

/* Two weights of one key have to be the same thing. */
static void test_keys(void **state)
{
    struct view v;
    (void)state;
    make(&v);
    v.constant.role = ACCEL_ROLE_WEIGHT;
    v.constant.data = NULL;
    v.constant.bytes = 0;
    v.constant.key = "other";
    assert_int_equal(accel_graph_verify(&v.graph, NULL), ACCEL_OK);
    v.constant.key = "layer.weight";
    assert_refused(&v, "another type or shape");
}

static uint32_t random_next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Wrong numbers everywhere: nothing may crash or read past the lists. Pointers and counts stay, since a view cannot say
 * more about its memory than they do. */
static void test_random_numbers(void **state)
{
    static const struct {
        size_t offset, bytes;
    } fields[] = {
        {AT(symbol.kind)},   {AT(symbol.lowest)}, {AT(symbol.highest)}, {AT(symbol.multiple)}, {AT(x.role)},
        {AT(x.type)},        {AT(x.rank)},        {AT(x.dims)},         {AT(weight.dims)},     {AT(weight.type)},
        {AT(constant.dims)}, {AT(product.dims)},  {AT(product.rank)},   {AT(sum.rank)},        {AT(matmul.op)},
        {AT(add.op)},        {AT(softmax.op)},    {AT(add_inputs)},     {AT(matmul_inputs)},   {AT(matmul_outputs)},
    };
    uint32_t seed = 1, refused = 0;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct view v;
        uint32_t spoiled = random_next(&seed) % 4 + 1;
        make(&v);
        for (uint32_t i = 0; i < spoiled; i++) {
            uint32_t field = random_next(&seed) % (sizeof(fields) / sizeof(fields[0]));
            size_t at = random_next(&seed) % fields[field].bytes;
            ((unsigned char *)&v)[fields[field].offset + at] = (unsigned char)random_next(&seed);
        }
        refused += accel_graph_verify(&v.graph, NULL) != ACCEL_OK;
    }
    assert_true(refused > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),  cmocka_unit_test(test_one_thing_wrong),
        cmocka_unit_test(test_names), cmocka_unit_test(test_later_minor),
        cmocka_unit_test(test_keys),  cmocka_unit_test(test_random_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
