/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs that a program of a later minor gives: each is taken while what was appended is zero, and refused by name
 * when it is not, wherever in the tail the value stands. tests/abi/tails.sh sees that no struct of the headers is
 * forgotten.
 */
#include <accel/plan.h>
#include <accel/sketch.h>

#include "tests/mock/direct.h"
#include "tests/unit/device_support.h"

#define TAIL 32u /* bytes that the later minor appended */
#define MOST 512u

struct room {
    struct accel_context *context;
    struct accel_device *device;
    struct sum_graph sum;
    struct accel_graph graph; /* a copy, whose parts can be replaced */
    const struct accel_symbol *symbols[1];
    const struct accel_value *values[3];
    const struct accel_node *nodes[1];
    struct accel_node node;
    struct accel_error error;
};

static int32_t compile(struct room *r, const struct accel_compile_options *options)
{
    struct accel_module *module = NULL;
    const struct accel_graph *graph = &r->graph;
    int32_t code = accel_module_create(r->device, &graph, 1, options, NULL, NULL, &module, &r->error);
    accel_module_free(module);
    return code;
}

static int32_t give_context_options(struct room *r, const void *given)
{
    struct accel_context *context = NULL;
    int32_t code = accel_context_create(given, &context, &r->error);
    assert_int_equal(accel_context_free(context, NULL), ACCEL_OK);
    return code;
}

static int32_t give_queue_options(struct room *r, const void *given)
{
    struct accel_queue *queue = NULL;
    int32_t code = accel_queue_create(r->device, given, &queue, &r->error);
    accel_queue_free(queue);
    return code;
}

static int32_t give_step(struct room *r, const void *given)
{
    struct accel_queue *queue = NULL;
    struct accel_buffer *buffer = NULL;
    struct accel_step *step = (struct accel_step *)(uintptr_t)given;
    const struct accel_step *list = step;
    uint64_t value = 0;
    int32_t code;
    assert_int_equal(accel_queue_create(r->device, NULL, &queue, &r->error), ACCEL_OK);
    assert_int_equal(accel_buffer_create(r->device, 64, 0, &buffer, &r->error), ACCEL_OK);
    step->target = buffer;
    code = accel_queue_submit(queue, &list, 1, NULL, 0, &value, &r->error);
    accel_buffer_free(buffer);
    accel_queue_free(queue);
    return code;
}

static int32_t give_compile_options(struct room *r, const void *given)
{
    return compile(r, given);
}

static int32_t give_source(struct room *r, const void *given)
{
    struct accel_module *module = NULL;
    struct accel_weights *weights = NULL;
    int32_t code;
    assert_int_equal(accel_module_create(r->device, &r->sum.graph, 1, NULL, NULL, NULL, &module, &r->error), ACCEL_OK);
    code = accel_weights_create(module, given, NULL, &weights, &r->error);
    accel_weights_free(weights);
    accel_module_free(module);
    return code;
}

static int32_t give_graph(struct room *r, const void *given)
{
    struct accel_module *module = NULL;
    const struct accel_graph *graph = given;
    int32_t code = accel_module_create(r->device, &graph, 1, NULL, NULL, NULL, &module, &r->error);
    accel_module_free(module);
    return code;
}

static int32_t give_symbol(struct room *r, const void *given)
{
    int32_t code;
    r->symbols[0] = given;
    code = compile(r, NULL);
    r->symbols[0] = r->sum.graph->symbols[0];
    return code;
}

static int32_t give_value(struct room *r, const void *given)
{
    int32_t code;
    r->values[0] = given;
    code = compile(r, NULL);
    r->values[0] = r->sum.graph->values[0];
    return code;
}

static int32_t give_node(struct room *r, const void *given)
{
    int32_t code;
    r->nodes[0] = given;
    code = compile(r, NULL);
    r->nodes[0] = &r->node;
    return code;
}

static int32_t give_request(struct room *r, const void *given)
{
    struct accel_plan *plan = NULL;
    int32_t code = accel_plan_create(r->context, given, &plan, &r->error);
    accel_plan_free(plan);
    return code;
}

static struct sum_source source;
static const uint64_t bucket = 4;
static const uint32_t one = 1;
static const struct accel_context_options context_options = {.size = sizeof(context_options),
                                                             .flags = ACCEL_CONTEXT_NO_PLUGINS};
static const struct accel_queue_options queue_options = {.size = sizeof(queue_options), .threads = 1};
static const struct accel_step step = {.size = sizeof(step), .kind = ACCEL_STEP_FILL, .bytes = 16};
static const struct accel_compile_options compile_options = {
    .size = sizeof(compile_options), .buckets = &bucket, .bucket_counts = &one, .threads = 1};
static const struct accel_plan_request request = {.size = sizeof(request), .device = "direct:nobody"};

/* Structs with a function that gives one to the library; `base` NULL: of the graph. */
static const struct row {
    const char *tag;
    const void *base;
    int32_t (*give)(struct room *r, const void *given);
    int32_t code; /* of the struct as it is, where that is no success */
} rows[] = {
    {"accel_context_options", &context_options, give_context_options, ACCEL_OK},
    {"accel_queue_options", &queue_options, give_queue_options, ACCEL_OK},
    {"accel_step", &step, give_step, ACCEL_OK},
    {"accel_compile_options", &compile_options, give_compile_options, ACCEL_OK},
    {"accel_source", &source.source, give_source, ACCEL_OK},
    {"accel_graph", NULL, give_graph, ACCEL_OK},
    {"accel_symbol", NULL, give_symbol, ACCEL_OK},
    {"accel_value", NULL, give_value, ACCEL_OK},
    {"accel_node", NULL, give_node, ACCEL_OK},
    {"accel_plan_request", &request, give_request, ACCEL_E_NOT_FOUND},
};

static const void *base_of(const struct room *r, const struct row *row)
{
    if (row->give == give_graph)
        return &r->graph;
    if (row->give == give_symbol)
        return r->sum.graph->symbols[0];
    if (row->give == give_value)
        return r->sum.graph->values[0];
    if (row->give == give_node)
        return &r->node;
    return row->base;
}

static void give_all(struct room *r, const struct row *row)
{
    const void *base = base_of(r, row);
    uint32_t known;
    memcpy(&known, base, sizeof(known));
    for (uint32_t at = known; at <= known + TAIL; at++) {
        bool spoiled = at < known + TAIL;
        _Alignas(64) char given[MOST] = {0};
        uint32_t size = known + TAIL;
        int32_t wanted = spoiled ? ACCEL_E_UNSUPPORTED : row->code;
        int32_t code;
        if (row->give == give_source && !spoiled)
            continue; /* its slots read from what lies behind it: a copy has nothing there */
        memcpy(given, base, known);
        memcpy(given, &size, sizeof(size));
        if (spoiled)
            given[at] = 1;
        memset(&r->error, 0, sizeof(r->error));
        code = row->give(r, given);
        if (code != wanted || (spoiled && strstr(r->error.text, row->tag) == NULL))
            fail_msg("struct %s with a tail, byte %u set: %s, %s", row->tag, at, accel_error_name(code), r->error.text);
    }
}

static void expect_refused(struct room *r, int32_t code, const char *words)
{
    if (code == ACCEL_OK || strstr(r->error.text, words) == NULL)
        fail_msg("instead of a refusal of %s: %s, %s", words, accel_error_name(code), r->error.text);
    memset(&r->error, 0, sizeof(r->error));
}

/* Numbers and bits that a later minor may have given a meaning. */
static void give_later_values(struct room *r)
{
    struct accel_compile_options compiling = compile_options;
    struct accel_context_options creating = context_options;
    struct accel_step later = step;
    struct accel_node node = r->node;
    struct accel_value value = *r->values[0];
    memset(&r->error, 0, sizeof(r->error));
    compiling.flags = 1u << 31;
    expect_refused(r, give_compile_options(r, &compiling), "0x80000000");
    creating.flags |= 1u << 31;
    expect_refused(r, give_context_options(r, &creating), "0x80000004");
    later.kind = 1000;
    expect_refused(r, give_step(r, &later), "1000");
    node.op = 1000;
    node.minor = ACCEL_ABI_MINOR + 1;
    expect_refused(r, give_node(r, &node), "1000");
    value.type = 60000;
    expect_refused(r, give_value(r, &value), "0xea60");
}

static void tails_are_refused_by_name(void **state)
{
    struct room r = {0};
    (void)state;
    direct_reset();
    r.context = context_with(&direct_driver);
    sum_graph_make(&r.sum);
    sum_source_make(&source, 0);
    r.graph = *r.sum.graph;
    r.node = *r.sum.graph->nodes[0];
    r.symbols[0] = r.sum.graph->symbols[0];
    memcpy(r.values, r.sum.graph->values, sizeof(r.values));
    r.nodes[0] = &r.node;
    r.graph.symbols = r.symbols;
    r.graph.values = r.values;
    r.graph.nodes = r.nodes;
    assert_int_equal(r.graph.value_count, 3);
    assert_int_equal(accel_device_open(r.context, "direct", NULL, 0, &r.device, &r.error), ACCEL_OK);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        give_all(&r, &rows[i]);
    give_later_values(&r);
    accel_device_free(r.device);
    assert_int_equal(accel_context_free(r.context, NULL), ACCEL_OK);
    accel_builder_free(r.sum.builder);
    assert_int_equal(direct.alive, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tails_are_refused_by_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
