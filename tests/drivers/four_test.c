/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of four.c as an application meets it: found, planned, compiled, run with one and with two threads, and
 * refused by name where it lacks an operator. */
#include <math.h>
#include <stdio.h>

#include <accel/quant/format.h>

#include "tests/drivers/rig.h"

#define ROWS 40u
#define WIDTH 64u
#define HIDDEN 96u
#define CLASSES 50u
#define TOKENS 7u

/* softmax(q4 (f32 (table[ids]) + b)) */
struct model {
    struct net net;
    float table[ROWS * WIDTH];
    float w[HIDDEN * WIDTH];
    float b[HIDDEN];
    float exact[CLASSES * HIDDEN]; /* what `packed` stands for */
    uint8_t packed[CLASSES * HIDDEN / 32 * 18];
    int32_t ids[TOKENS];
    struct rig_data data[5];
};

static const struct accel_matmul plain = {.size = sizeof(plain), .rounding = ACCEL_F32};

static void build(struct net *net)
{
    struct accel_dim dims[2];
    uint32_t tokens = 0, ids, table, w, b, packed, x;

    net_begin(net, "four");
    rig_ok(accel_builder_symbol(net->builder, "tokens", 1, TOKENS, &tokens, &net->error), &net->error);
    dims[0] = rig_symbol(tokens);
    ids = net_value(net, ACCEL_ROLE_INPUT, "ids", ACCEL_I32, 1, dims);
    dims[0] = rig_dim(ROWS), dims[1] = rig_dim(WIDTH);
    table = net_value(net, ACCEL_ROLE_WEIGHT, "table", ACCEL_F32, 2, dims);
    dims[0] = rig_dim(HIDDEN);
    w = net_value(net, ACCEL_ROLE_WEIGHT, "w", ACCEL_F32, 2, dims);
    b = net_value(net, ACCEL_ROLE_WEIGHT, "b", ACCEL_F32, 1, dims);
    dims[0] = rig_dim(CLASSES), dims[1] = rig_dim(HIDDEN);
    packed = net_value(net, ACCEL_ROLE_WEIGHT, "packed", ACCEL_Q4_0, 2, dims);
    x = net_node(net, ACCEL_OP_EMBED, "embed", (uint32_t[]){table, ids}, 2, NULL);
    x = net_node(net, ACCEL_OP_MATMUL, "up", (uint32_t[]){x, w, ACCEL_NO_VALUE, ACCEL_NO_VALUE}, 4, &plain);
    x = net_node(net, ACCEL_OP_ADD, "shift", (uint32_t[]){x, b}, 2, NULL);
    x = net_node(net, ACCEL_OP_MATMUL, "down", (uint32_t[]){x, packed, ACCEL_NO_VALUE, ACCEL_NO_VALUE}, 4, &plain);
    x = net_node(net, ACCEL_OP_SOFTMAX, "softmax", &x, 1, NULL);
    net_output(net, x, "y");
    net_end(net);
}

static void fill(struct model *m)
{
    struct rig_random random = {7};
    float row[HIDDEN];

    rig_fill(&random, m->table, ROWS * WIDTH);
    rig_fill(&random, m->w, HIDDEN * WIDTH);
    rig_fill(&random, m->b, HIDDEN);
    for (uint32_t r = 0; r < CLASSES; r++) {
        void *planes[1] = {m->packed + r * (HIDDEN / 32 * 18)};
        const void *packed[1] = {planes[0]};

        rig_fill(&random, row, HIDDEN);
        assert_int_equal(accel_format_encode(ACCEL_Q4_0, row, HIDDEN, planes), ACCEL_OK);
        assert_int_equal(accel_format_decode(ACCEL_Q4_0, packed, HIDDEN, m->exact + r * HIDDEN), ACCEL_OK);
    }
    for (uint32_t t = 0; t < TOKENS; t++)
        m->ids[t] = (int32_t)rig_below(&random, ROWS);
    m->data[0] = (struct rig_data){"ids", {m->ids}, {sizeof(m->ids)}};
    m->data[1] = (struct rig_data){"table", {m->table}, {sizeof(m->table)}};
    m->data[2] = (struct rig_data){"w", {m->w}, {sizeof(m->w)}};
    m->data[3] = (struct rig_data){"b", {m->b}, {sizeof(m->b)}};
    m->data[4] = (struct rig_data){"packed", {m->packed}, {sizeof(m->packed)}};
}

/* One row of the result, in double precision. */
static void expect(const struct model *m, int32_t id, double *y)
{
    double hidden[HIDDEN], most = -INFINITY, sum = 0;

    for (uint32_t h = 0; h < HIDDEN; h++) {
        hidden[h] = m->b[h];
        for (uint32_t i = 0; i < WIDTH; i++)
            hidden[h] += (double)m->table[(uint32_t)id * WIDTH + i] * m->w[h * WIDTH + i];
    }
    for (uint32_t c = 0; c < CLASSES; c++) {
        y[c] = 0;
        for (uint32_t h = 0; h < HIDDEN; h++)
            y[c] += hidden[h] * m->exact[c * HIDDEN + h];
        most = y[c] > most ? y[c] : most;
    }
    for (uint32_t c = 0; c < CLASSES; c++)
        sum += y[c] = exp(y[c] - most);
    for (uint32_t c = 0; c < CLASSES; c++)
        y[c] /= sum;
}

static void runs(struct rig *rig, struct model *m, uint32_t threads)
{
    struct rig_step step;
    double want[TOKENS * CLASSES];
    uint64_t most = TOKENS;
    char what[64];

    for (uint32_t t = 0; t < TOKENS; t++)
        expect(m, m->ids[t], want + t * CLASSES);
    rig_step_make(rig, &step, m->net.graph, m->data, 5, &most, threads, 0);
    for (uint64_t tokens = TOKENS; tokens != 0; tokens /= 2) {
        snprintf(what, sizeof(what), "%u threads, %u tokens", threads, (unsigned)tokens);
        memset(rig_step_value(&step, "y"), 0xff, sizeof(float) * TOKENS * CLASSES);
        rig_step_run(&step, &tokens);
        rig_close_enough(what, rig_step_value(&step, "y"), want, tokens * CLASSES, 2e-5, 0);
    }
    rig_step_free(&step);
}

static void computes_what_it_should(void **state)
{
    static struct model m;
    struct rig rig;

    (void)state;
    fill(&m);
    build(&m.net);
    rig_open(&rig, "tests/drivers/.libs/four.so", "four:one", NULL, 0);
    runs(&rig, &m, 1);
    runs(&rig, &m, 2);
    rig_close(&rig);
    net_free(&m.net);
}

static void is_planned(void **state)
{
    const uint64_t tokens = TOKENS;
    const uint64_t *symbols = &tokens;
    struct net net;
    struct rig rig;
    struct accel_plan *plan = NULL;
    struct accel_plan_request request = {.size = sizeof(request), .device = "four"};
    struct accel_plan_work work = {.size = sizeof(work), .graph_count = 1, .symbols = &symbols};

    (void)state;
    build(&net);
    work.graphs = &net.graph;
    rig_open(&rig, "tests/drivers/.libs/four.so", NULL, NULL, 0);
    rig_ok(accel_plan_create(rig.context, &request, &plan, &rig.error), &rig.error);
    assert_string_equal(accel_plan_device(plan)->name, "four:one");
    rig_ok(accel_plan_assign_graphs(plan, &work, &rig.error), &rig.error);
    assert_int_equal(accel_plan_node_count(plan), 5);
    assert_string_equal(accel_plan_node_get(plan, 1)->kernel, "matmul f32");
    assert_string_equal(accel_plan_node_get(plan, 3)->kernel, "matmul q4_0");
    accel_plan_free(plan);
    rig_close(&rig);
    net_free(&net);
}

static void refuses_by_name(void **state)
{
    const struct accel_activation relu = {.size = sizeof(relu), .function = ACCEL_FN_RELU};
    struct accel_dim dim = rig_dim(8);
    struct accel_module *module = NULL;
    struct net net;
    struct rig rig;
    uint32_t x;

    (void)state;
    net_begin(&net, "graph");
    x = net_value(&net, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 1, &dim);
    x = net_node(&net, ACCEL_OP_ACTIVATION, "bend", &x, 1, &relu);
    net_output(&net, x, "y");
    net_end(&net);
    rig_open(&rig, "tests/drivers/.libs/four.so", "four:one", NULL, 0);
    assert_int_not_equal(accel_module_create(rig.device, &net.graph, 1, NULL, NULL, NULL, &module, &rig.error),
                         ACCEL_OK);
    assert_null(module);
    if (strstr(rig.error.text, "bend") == NULL || strstr(rig.error.text, "no kernel of this driver") == NULL)
        fail_msg("node and reason are not in: %s", rig.error.text);
    accel_error_clear(&rig.error);
    rig_close(&rig);
    net_free(&net);
}

/* A promise of the documentation: a driver of four operators takes less than 200 lines. */
static void is_short(void **state)
{
    const char *source = getenv("ACCEL_TEST_SRCDIR");
    char path[4096];
    uint32_t lines = 0;
    FILE *file;

    (void)state;
    snprintf(path, sizeof(path), "%s/tests/drivers/four.c", source == NULL ? "." : source);
    file = fopen(path, "r");
    assert_non_null(file);
    for (int c = getc(file); c != EOF; c = getc(file))
        lines += c == '\n';
    fclose(file);
    assert_in_range(lines, 100, 199);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes_what_it_should),
        cmocka_unit_test(is_planned),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
