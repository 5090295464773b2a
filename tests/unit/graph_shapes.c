/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rules of operators, a row for each: what the output is, or why the node is refused. */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <accel/builder.h>

#include "core/graph/dim.h"

#define AT(tag, ...) (&(const struct accel_##tag){sizeof(struct accel_##tag), __VA_ARGS__})

/* Inputs, separated by blanks, "-" for one that is absent: a type (f: F32, h: F16, i: I32, q: Q4_0) and extents, of
 * which t is a symbol and t+1 one more. A capital letter makes a weight. */
struct row {
    uint32_t op;
    const char *inputs;
    const void *attributes;
    const char *output; /* "[tokens, 2]", or words of the refusal */
};

static const struct row rows[] = {
    {ACCEL_OP_SCALE, "f:t,8", AT(scale, 2, 1, 0), "[tokens, 8]"},
    {ACCEL_OP_SCALE, "f:t,8", AT(scale, INFINITY, 1, 0), "scale or add is not finite"},
    {ACCEL_OP_SCALE, "i:t,8", AT(scale, 2, 1, 0), "type"},
    {ACCEL_OP_CLAMP, "f:t,8", AT(clamp, -1, 1, 0), "[tokens, 8]"},
    {ACCEL_OP_CLAMP, "f:t,8", AT(clamp, 2, 1, 0), "low is above high"},

    {ACCEL_OP_CONCAT, "f:t,8 f:t,3 - f:t,1", AT(axis, 1, 0), "[tokens, 12]"},
    {ACCEL_OP_CONCAT, "f:2,8 f:t,8 f:1,8", AT(axis, 0, 0), "[tokens + 3, 8]"},
    {ACCEL_OP_CONCAT, "i:3 i:4", AT(axis, 0, 0), "[7]"},
    {ACCEL_OP_CONCAT, "f:t,8 f:t,8", AT(axis, 0, 0), "cannot be added"},
    {ACCEL_OP_CONCAT, "f:t,8 f:4,8", AT(axis, 1, 0), "extents beside the axis differ"},
    {ACCEL_OP_CONCAT, "h:3 h:4", AT(axis, 0, 0), "[7]"},
    {ACCEL_OP_CONCAT, "f:3 h:3", AT(axis, 0, 0), "types or ranks differ"},
    {ACCEL_OP_CONCAT, "f:3 i:3", AT(axis, 0, 0), "types or ranks differ"},
    {ACCEL_OP_CONCAT, "f:3,2 f:3", AT(axis, 0, 0), "types or ranks differ"},
    {ACCEL_OP_CONCAT, "f:3 f:3", AT(axis, 1, 0), "axis is not below the rank"},
    {ACCEL_OP_CONCAT, "f:3", AT(axis, 0, 0), "input b is missing"},

    {ACCEL_OP_SLICE, "f:t,8,6", AT(slice, 2, 1, 2, 3), "[tokens, 8, 3]"},
    {ACCEL_OP_SLICE, "f:t,8", AT(slice, 1, 7, 9, 1), "[tokens, 1]"},
    {ACCEL_OP_SLICE, "f:t,8", AT(slice, 1, 1, 2, 5), "within a fixed extent"},
    {ACCEL_OP_SLICE, "f:t,8", AT(slice, 1, 8, 1, 1), "within a fixed extent"},
    {ACCEL_OP_SLICE, "f:t,8", AT(slice, 1, 2, UINT64_MAX, UINT64_MAX), "within a fixed extent"},
    {ACCEL_OP_SLICE, "f:t,8", AT(slice, 0, 0, 1, 1), "within a fixed extent"},
    {ACCEL_OP_SLICE, "f:t,8", AT(slice, 1, 0, 0, 1), "step or extent is 0"},

    {ACCEL_OP_PERMUTE, "f:t,2,3", AT(permute, 0, {2, 0, 1}), "[3, tokens, 2]"},
    {ACCEL_OP_PERMUTE, "f:t,2,3", AT(permute, 0, {2, 0, 2}), "names a dimension twice"},
    {ACCEL_OP_PERMUTE, "f:t,2,3", AT(permute, 0, {3, 0, 1}), "does not have"},
    {ACCEL_OP_PERMUTE, "f:t,2,3", AT(permute, 0, {2, 0, 1, 1}), "does not have"},

    {ACCEL_OP_PAD, "f:t,8", AT(pad, 0, ACCEL_PAD_VALUE, 1, 2, 3), "[tokens + 5, 8]"},
    {ACCEL_OP_PAD, "f:t,8", AT(pad, 1, ACCEL_PAD_MIRROR, 0, 7, 7), "[tokens, 22]"},
    {ACCEL_OP_PAD, "f:t,8", AT(pad, 1, ACCEL_PAD_MIRROR, 0, 8, 0), "more elements are mirrored"},
    {ACCEL_OP_PAD, "f:t,8", AT(pad, 0, ACCEL_PAD_MIRROR, 0, 1, 0), "more elements are mirrored"},
    {ACCEL_OP_PAD, "f:t,8", AT(pad, 1, ACCEL_PAD_EDGE, 1, 1, 0), "has no meaning in this mode"},
    {ACCEL_OP_PAD, "f:t,8", AT(pad, 1, ACCEL_PAD_VALUE, 0, UINT64_MAX, 1), "does not fit"},
    {ACCEL_OP_PAD, "f:t,8", AT(pad, 1, 3, 0, 1, 1), "mode is unknown"},

    {ACCEL_OP_REDUCE, "f:t,2,3", AT(reduce, ACCEL_REDUCE_MEAN, 0, 1), "[tokens, 3]"},
    {ACCEL_OP_REDUCE, "f:t,2,3", AT(reduce, ACCEL_REDUCE_MEAN, 0, 0), "[2, 3]"},
    {ACCEL_OP_REDUCE, "f:t", AT(reduce, ACCEL_REDUCE_SUM, 0, 0), "[1]"},
    {ACCEL_OP_REDUCE, "f:t,3 i:t+1", AT(reduce, ACCEL_REDUCE_MAX, 0, 0), "[tokens, 3]"},
    {ACCEL_OP_REDUCE, "f:t,3 i:t", AT(reduce, ACCEL_REDUCE_MAX, 0, 0), "one more element than there are segments"},
    {ACCEL_OP_REDUCE, "f:t,3 i:5", AT(reduce, ACCEL_REDUCE_MAX, 0, 1), "axis is not 0 with segments"},
    {ACCEL_OP_REDUCE, "f:t,3", AT(reduce, ACCEL_REDUCE_MAX, 0, 2), "axis is not below the rank"},
    {ACCEL_OP_REDUCE, "f:t,3", AT(reduce, 3, 0, 1), "kind is unknown"},

    {ACCEL_OP_GROUP_NORM, "f:t,5,8 F:8 F:8", AT(group_norm, 2, 1e-5f, 0), "[tokens, 5, 8]"},
    {ACCEL_OP_GROUP_NORM, "f:t,5,8 F:8", AT(group_norm, 3, 1e-5f, 0), "no multiple of groups"},
    {ACCEL_OP_GROUP_NORM, "f:t,5,8 F:5", AT(group_norm, 2, 1e-5f, 0), "innermost extents differ"},

    {ACCEL_OP_CONV, "f:t,224,224,3 F:64,147 F:64",
     AT(conv, 1, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}, 0, ACCEL_F32, 0, 0), "[tokens, 112, 112, 64]"},
    {ACCEL_OP_CONV, "f:t,20,64 Q:32,192", AT(conv, 1, {1, 3}, {1, 2}, {1, 1}, {0, 1}, {0, 1}, 0, ACCEL_Q8_0, 0, 0),
     "[tokens, 10, 32]"},
    {ACCEL_OP_CONV, "f:t,9,9,8 H:8,9", AT(conv, 8, {3, 3}, {1, 1}, {2, 2}, {0, 0}, {0, 0}, 0, ACCEL_F32, 0, 0),
     "[tokens, 5, 5, 8]"},
    {ACCEL_OP_CONV, "f:t,5,4 F:6,16", AT(conv, 1, {1, 4}, {1, 2}, {1, 1}, {0, 1}, {0, 1}, 0, ACCEL_F32, 0, 1),
     "[tokens, 10, 6]"},
    {ACCEL_OP_CONV, "f:t,5,4 F:6,12", AT(conv, 1, {1, 4}, {1, 2}, {1, 1}, {0, 1}, {0, 1}, 0, ACCEL_F32, 0, 0),
     "a row of W has a weight"},
    {ACCEL_OP_CONV, "f:t,5,4 F:6,40", AT(conv, 1, {1, 10}, {1, 2}, {1, 1}, {0, 1}, {0, 1}, 0, ACCEL_F32, 0, 0),
     "no window fits"},
    {ACCEL_OP_CONV, "f:2,t,4 F:6,12", AT(conv, 1, {1, 3}, {1, 1}, {1, 1}, {0, 1}, {0, 1}, 0, ACCEL_F32, 0, 0),
     "not fixed"},
    {ACCEL_OP_CONV, "f:2,5,4 F:6,24", AT(conv, 1, {2, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 1}, 0, ACCEL_F32, 0, 0),
     "of the height"},
    {ACCEL_OP_CONV, "f:2,5,4 F:6,4", AT(conv, 3, {1, 3}, {1, 1}, {1, 1}, {0, 1}, {0, 1}, 0, ACCEL_F32, 0, 0),
     "no multiple of groups"},
    {ACCEL_OP_CONV, "f:2,5,4 F:6,12", AT(conv, 1, {1, 3}, {1, 0}, {1, 1}, {0, 1}, {0, 1}, 0, ACCEL_F32, 0, 0),
     "stride"},
    {ACCEL_OP_CONV, "f:2,5,4 F:6,12", AT(conv, 1, {1, 3}, {1, 1}, {1, 1}, {0, 1}, {0, 1}, 99, ACCEL_F32, 0, 0),
     "function"},
    {ACCEL_OP_CONV, "f:2,5,4 F:6,12", AT(conv, 1, {1, 3}, {1, 1}, {1, 1}, {0, 1}, {0, 1}, 0, ACCEL_I8, 0, 0),
     "rounding"},

    {ACCEL_OP_POOL, "f:t,112,112,4", AT(pool, ACCEL_POOL_MAX, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 0, 0),
     "[tokens, 56, 56, 4]"},
    {ACCEL_OP_POOL, "f:t,7,4", AT(pool, ACCEL_POOL_AVERAGE, {1, 7}, {1, 1}, {0, 0}, {0, 0}, 0, 1), "[tokens, 1, 4]"},
    {ACCEL_OP_POOL, "f:t,7,4", AT(pool, ACCEL_POOL_MAX, {1, 7}, {1, 1}, {0, 0}, {0, 0}, 0, 1), "do not fit"},
    {ACCEL_OP_POOL, "f:t,7,4", AT(pool, ACCEL_POOL_MAX, {1, 2}, {1, 1}, {0, 2}, {0, 0}, 0, 0), "below kernel"},

    {ACCEL_OP_RESIZE, "f:t,7,5,4", AT(resize, ACCEL_RESIZE_LINEAR, {14, 3}, 0, 1), "[tokens, 14, 3, 4]"},
    {ACCEL_OP_RESIZE, "f:t,5,4", AT(resize, ACCEL_RESIZE_NEAREST, {1, 3}, 0, 0), "[tokens, 3, 4]"},
    {ACCEL_OP_RESIZE, "f:t,5,4", AT(resize, ACCEL_RESIZE_NEAREST, {2, 3}, 0, 0), "of the height"},
    {ACCEL_OP_RESIZE, "f:t,5,4", AT(resize, ACCEL_RESIZE_NEAREST, {1, 3}, 0, 1), "do not fit"},

    {ACCEL_OP_TOP_K, "f:t,64", AT(top_k, 8), "[tokens, 8]"},
    {ACCEL_OP_TOP_K, "f:t,64", AT(top_k, 65), "fewer elements"},
    {ACCEL_OP_TOP_K, "f:4,t", AT(top_k, 1), "not fixed"},
    {ACCEL_OP_TOP_K, "h:t,64", AT(top_k, 8), "type that the operator does not support"},

    {ACCEL_OP_SAMPLE, "f:t,64 f:t,4 i:t,7", NULL, "[tokens]"},
    {ACCEL_OP_SAMPLE, "f:t,64 f:t,4 i:t,7 i:t,20", NULL, "[tokens]"},
    {ACCEL_OP_SAMPLE, "f:t,64 f:t,4 i:t,6", NULL, "one of draw 7"},
    {ACCEL_OP_SAMPLE, "f:t,64 f:t,3 i:t,7", NULL, "settings has 4"},
    {ACCEL_OP_SAMPLE, "f:t,64 f:t,4 i:t,7 i:t,t", NULL, "recent a fixed number"},
    {ACCEL_OP_SAMPLE, "f:t,64 f:2,4 i:t,7", NULL, "a row for each row of logits"},
    {ACCEL_OP_SAMPLE, "f:t,16777216 f:t,4 i:t,7", NULL, "2^24"},
    {ACCEL_OP_SAMPLE, "f:4,t f:4,4 i:4,7", NULL, "not fixed"},
    {ACCEL_OP_SAMPLE, "h:t,64 f:t,4 i:t,7", NULL, "type"},

    {ACCEL_OP_CAST, "f:t,3,2", AT(cast, ACCEL_BF16), "[tokens, 3, 2]"},
    {ACCEL_OP_CAST, "h:t", AT(cast, ACCEL_I32), "[tokens]"},
    {ACCEL_OP_CAST, "f:t", AT(cast, ACCEL_Q8_0), "none of f32, f16, bf16, i32"},
    {ACCEL_OP_CAST, "Q:2,32", AT(cast, ACCEL_F32), "type"},

    {ACCEL_OP_EXPERT_MATMUL, "f:t,64 Q:384,64 i:t,2", AT(expert_matmul, 0, ACCEL_F32, 4), "[tokens, 2, 96]"},
    {ACCEL_OP_EXPERT_MATMUL, "f:t,2,64 Q:384,64 i:t,2 F:384 f:t,2", AT(expert_matmul, 0, ACCEL_F32, 4), "[tokens, 96]"},
    {ACCEL_OP_EXPERT_MATMUL, "f:t,3,64 Q:384,64 i:t,2", AT(expert_matmul, 0, ACCEL_F32, 4), "for each choice"},
    {ACCEL_OP_EXPERT_MATMUL, "f:t,64 Q:384,64 i:t,2", AT(expert_matmul, 0, ACCEL_F32, 5), "no multiple of experts"},
    {ACCEL_OP_EXPERT_MATMUL, "f:t,64 Q:384,64 i:t,2", AT(expert_matmul, 0, ACCEL_F32, 0), "experts is 0"},
    {ACCEL_OP_EXPERT_MATMUL, "f:t,64 Q:384,64 i:t,2 F:96", AT(expert_matmul, 0, ACCEL_F32, 4), "one element per row"},
    {ACCEL_OP_EXPERT_MATMUL, "f:t,64 Q:384,64 i:t,2 - f:t,3", AT(expert_matmul, 0, ACCEL_F32, 4), "shape of ids"},
    {ACCEL_OP_EXPERT_MATMUL, "f:t,32 Q:384,64 i:t,2", AT(expert_matmul, 0, ACCEL_F32, 4), "innermost extents differ"},

    {ACCEL_OP_DENSE_ATTENTION, "f:t,8,16 f:t,2,16 f:t,2,32 i:3 i:3", AT(dense_attention, 0, 1, 0, 0, 0, 0, 0),
     "[tokens, 8, 32]"},
    {ACCEL_OP_DENSE_ATTENTION, "f:t,8,16 f:9,8,16 f:9,8,16 i:t+1 i:t+1 f:4,8,7,7 f:8,31 f:8",
     AT(dense_attention, 1, 1, 0, 0, 0, 0, 15), "[tokens, 8, 16]"},
    {ACCEL_OP_DENSE_ATTENTION, "f:t,8,16 f:t,3,16 f:t,3,32 i:3 i:3", AT(dense_attention, 0, 1, 0, 0, 0, 0, 0),
     "multiple"},
    {ACCEL_OP_DENSE_ATTENTION, "f:t,8,16 f:t,8,16 f:9,8,16 i:3 i:3", AT(dense_attention, 0, 1, 0, 0, 0, 0, 0),
     "keys and heads of k"},
    {ACCEL_OP_DENSE_ATTENTION, "f:t,8,16 f:t,8,16 f:t,8,16 i:3 i:4", AT(dense_attention, 0, 1, 0, 0, 0, 0, 0),
     "than there are sequences"},
    {ACCEL_OP_DENSE_ATTENTION, "f:t,8,16 f:t,8,16 f:t,8,16 i:3 i:3 f:1,4,7,7", AT(dense_attention, 0, 1, 0, 0, 0, 0, 0),
     "a table for each head"},
    {ACCEL_OP_DENSE_ATTENTION, "f:t,8,16 f:t,8,16 f:t,8,16 i:3 i:3 - - f:7", AT(dense_attention, 0, 1, 0, 0, 0, 0, 0),
     "for each head of q"},
    {ACCEL_OP_DENSE_ATTENTION, "f:t,8,16 f:t,8,16 f:t,8,16 i:3 i:3", AT(dense_attention, 0, 1, 0, 0, 0, 0, 3),
     "center"},
};

/* Adds the value that `text` describes, and moves `text` behind it. */
static uint32_t add_value(struct accel_builder *builder, uint32_t symbol, uint32_t number, const char **text)
{
    static const char letters[] = "fhiq";
    static const uint32_t types[] = {ACCEL_F32, ACCEL_F16, ACCEL_I32, ACCEL_Q4_0};
    struct accel_dim dims[ACCEL_RANK];
    uint32_t rank = 0, index = ACCEL_NO_VALUE;
    const char *at = *text;
    uint32_t is_weight = *at >= 'A' && *at <= 'Z';
    char name[] = {'v', (char)('0' + number), 0}, *end;
    if (*at == '-') {
        *text = at + 1;
        return ACCEL_NO_VALUE;
    }
    const char *letter = strchr(letters, *at | 0x20);
    assert_non_null(letter);
    at += 2;
    while (*at != '\0' && *at != ' ') {
        assert_true(rank < ACCEL_RANK);
        dims[rank] = accel_dim_fixed(0);
        if (*at == 't')
            dims[rank] = (struct accel_dim){symbol, 1, 1, 0, 0}, at++;
        if (*at != ',' && *at != '\0' && *at != ' ')
            dims[rank].add = strtoull(at, &end, 10), at = end;
        rank++;
        at += *at == ',';
    }
    *text = at;
    assert_int_equal(accel_builder_value(builder, is_weight ? ACCEL_ROLE_WEIGHT : ACCEL_ROLE_INPUT, name,
                                         types[letter - letters], rank, dims, &index, NULL),
                     ACCEL_OK);
    return index;
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct accel_builder *builder;
        const struct accel_graph *graph = NULL;
        struct accel_error error = {0};
        uint32_t inputs[12], count = 0, symbol = 0, made = 0;
        char shape[200] = "";
        assert_int_equal(accel_builder_create("shapes", &builder, NULL), ACCEL_OK);
        assert_int_equal(accel_builder_symbol(builder, "tokens", 1, 100, &symbol, NULL), ACCEL_OK);
        for (const char *text = rows[i].inputs; *text != '\0'; text += *text == ' ') {
            inputs[count] = add_value(builder, symbol, count, &text);
            count++;
        }
        if (accel_builder_node(builder, rows[i].op, "node", inputs, count, rows[i].attributes, &made, &error) ==
                ACCEL_OK &&
            accel_builder_output(builder, made, NULL, &error) == ACCEL_OK &&
            accel_builder_finish(builder, &graph, &error) == ACCEL_OK)
            accel_dims_text(graph, graph->values[made]->rank, graph->values[made]->dims, shape, sizeof(shape));
        if (rows[i].output[0] == '[' ? strcmp(shape, rows[i].output) != 0
                                     : error.code == ACCEL_OK || strstr(error.text, rows[i].output) == NULL)
            fail_msg("row %zu, %s of %s: wanted %s, got %s%s", i, accel_op_name(rows[i].op), rows[i].inputs,
                     rows[i].output, shape, error.text);
        accel_builder_free(builder);
    }
}

/* Attributes with a member of a later minor are refused by its place, and the same ones without it are not. */
static void test_later_attributes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct accel_builder *builder;
        struct accel_error error = {0};
        uint64_t longer[20] = {0};
        uint32_t inputs[12], count = 0, symbol = 0, made = 0, size;
        if (rows[i].output[0] != '[' || rows[i].attributes == NULL)
            continue;
        memcpy(&size, rows[i].attributes, sizeof(size));
        memcpy(longer, rows[i].attributes, size);
        size += sizeof(longer[0]);
        memcpy(longer, &size, sizeof(size));
        assert_int_equal(accel_builder_create("later", &builder, NULL), ACCEL_OK);
        assert_int_equal(accel_builder_symbol(builder, "tokens", 1, 100, &symbol, NULL), ACCEL_OK);
        for (const char *text = rows[i].inputs; *text != '\0'; text += *text == ' ') {
            inputs[count] = add_value(builder, symbol, count, &text);
            count++;
        }
        assert_int_equal(accel_builder_node(builder, rows[i].op, "known", inputs, count, longer, &made, NULL),
                         ACCEL_OK);
        longer[size / sizeof(longer[0]) - 1] = 7;
        assert_int_equal(accel_builder_node(builder, rows[i].op, "later", inputs, count, longer, &made, &error),
                         ACCEL_E_UNSUPPORTED);
        assert_non_null(strstr(error.text, "of attributes"));
        accel_builder_free(builder);
    }
}

/* A new operator belongs into the rows above. */
static void test_every_operator_has_a_row(void **state)
{
    (void)state;
    for (uint32_t op = ACCEL_OP_SCALE; op < ACCEL_OP_END; op++) {
        uint32_t good = 0, refused = 0;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            good += rows[i].op == op && rows[i].output[0] == '[';
            refused += rows[i].op == op && rows[i].output[0] != '[';
        }
        if (good == 0 || refused == 0)
            fail_msg("%s: %u rows that fit, %u that are refused", accel_op_name(op), good, refused);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_later_attributes),
        cmocka_unit_test(test_every_operator_has_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
