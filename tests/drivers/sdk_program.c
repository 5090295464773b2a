/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs and sets of the driver library over a toy backend and random graphs, against an interpreter that shares no
 * memory between values: storage by lifetime, reshapes, staged activations and their lifetime, scratch, symbols,
 * threads, refusals, memory that runs out. Kernels: add = (a + b) / 2; mul = s(a) + b with staged activations s(a) = 2
 * a + 1; activation = -x through scratch; softmax = x + 1 in one thread. Two backends: one whose kernels share their
 * work out themselves, and one that leaves it to the library, so that nodes run in groups and threads do not meet after
 * each.
 */
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include <accel/builder.h>

#include "sdk/driver/program.h"
#include "tests/drivers/stub.h"

#define WIDTH 8u
#define MOST 12u /* of the symbol */
#define VALUES 40u
#define GUARD 256u

/* ---- the toy backend ---- */

static uint64_t count_of(const struct sdk_tensor *tensor)
{
    return tensor->rows * tensor->width;
}

static void share(const struct sdk_call *call, uint32_t thread, uint32_t threads, uint64_t *begin, uint64_t *end)
{
    sdk_split(count_of(call->outputs[0]), 1, thread, threads, begin, end);
}

static void add_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const float *a = call->inputs[0]->planes[0], *b = call->inputs[1]->planes[0];
    float *y = call->outputs[0]->planes[0];
    uint64_t begin, end;

    share(call, thread, threads, &begin, &end);
    for (uint64_t i = begin; i < end; i++)
        y[i] = (a[i] + b[i]) / 2;
}

static uint64_t staged_size(const struct sdk_call *call, uint32_t *out_format)
{
    *out_format = 1;
    return count_of(call->inputs[0]) * sizeof(float);
}

static void mul_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const float *a = call->inputs[0]->planes[0], *b = call->inputs[1]->planes[0];
    float *y = call->outputs[0]->planes[0], *staged = call->staged;
    uint64_t count = count_of(call->outputs[0]), begin, end;

    share(call, thread, threads, &begin, &end);
    if (!call->is_staged) {
        for (uint64_t i = begin; i < end; i++)
            staged[i] = 2 * a[i] + 1;
        sdk_barrier_wait(call->barrier);
    }
    for (uint64_t i = begin; i < end; i++)
        y[count - 1 - i] = staged[count - 1 - i] + b[count - 1 - i]; /* what another thread made */
}

static uint64_t row_scratch(const struct sdk_call *call, uint32_t threads)
{
    return count_of(call->inputs[0]) * sizeof(float) + threads;
}

static void negate_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const float *x = call->inputs[0]->planes[0];
    float *y = call->outputs[0]->planes[0], *scratch = call->scratch;
    uint64_t begin, end;

    ((char *)scratch)[count_of(call->inputs[0]) * sizeof(float) + thread] = 1;
    share(call, thread, threads, &begin, &end);
    for (uint64_t i = begin; i < end; i++)
        scratch[i] = -x[i];
    sdk_barrier_wait(call->barrier);
    for (uint64_t i = begin; i < end; i++)
        y[i] = scratch[i];
}

static void next_run(const struct sdk_call *call, uint32_t thread, uint32_t threads)
{
    const float *x = call->inputs[0]->planes[0];
    float *y = call->outputs[0]->planes[0];

    assert_int_equal(thread, 0);
    assert_int_equal(threads, 1);
    sdk_barrier_wait(call->barrier); /* one thread: waits for nobody */
    for (uint64_t i = 0; i < count_of(call->outputs[0]); i++)
        y[i] = x[i] + 1;
}

/* Large with many rows, nothing with few, so that steps of one set are shared out in different ways. */
static uint64_t some_work(const struct sdk_call *call)
{
    return call->outputs[0]->dims[0] > MOST / 2 ? 1000000 : 0;
}

static uint64_t no_work(const struct sdk_call *call)
{
    (void)call;
    return 0;
}

static const char *gate_check(const struct sdk_kernel *kernel, const struct sdk_node *node)
{
    (void)kernel, (void)node;
    return "the toy has no gates";
}

static const struct sdk_kernel kernels[] = {
    {.op = ACCEL_OP_ADD, .name = "add", .run = add_run, .work = no_work},
    {.op = ACCEL_OP_MUL, .name = "mul", .run = mul_run, .staged_bytes = staged_size, .work = some_work},
    {.op = ACCEL_OP_ACTIVATION, .name = "negate", .run = negate_run, .scratch = row_scratch},
    {.op = ACCEL_OP_SOFTMAX, .name = "next", .run = next_run, .flags = SDK_KERNEL_ONE_THREAD},
    {.op = ACCEL_OP_GATE, .name = "gate", .check = gate_check, .run = next_run},
};

static const struct sdk_backend backend = {.kernels = kernels, .kernel_count = 5, .device_bytes = 8};

static uint64_t some_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    *out_grain = 4;
    return count_of(call->outputs[0]);
}

static uint64_t stage_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    *out_grain = 2;
    return count_of(call->inputs[0]);
}

/* Ranks fall behind one another now and then. */
static void dawdle(uint64_t begin)
{
    if (begin % 3 == 0)
        sched_yield();
}

static void add_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const float *a = call->inputs[0]->planes[0], *b = call->inputs[1]->planes[0];
    float *y = call->outputs[0]->planes[0];

    dawdle(begin);
    for (uint64_t i = begin; i < end; i++)
        y[i] = (a[i] + b[i]) / 2;
}

static void stage_double(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const float *a = call->inputs[0]->planes[0];
    float *staged = call->staged;

    for (uint64_t i = begin; i < end; i++)
        staged[i] = 2 * a[i] + 1;
}

/* Reads elements that another part of an earlier node has made: all of them have to be there. */
static void mul_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const uint64_t last = count_of(call->outputs[0]) - 1;
    const float *b = call->inputs[1]->planes[0], *staged = call->staged;
    float *y = call->outputs[0]->planes[0];
    float other = 0;

    dawdle(begin);
    for (uint64_t i = begin; i < end; i++) {
        other += staged[last - i];
        y[i] = staged[i] + b[i];
    }
    assert_true(other > -1e6f);
}

static uint64_t row_parts(const struct sdk_call *call, uint64_t *out_grain)
{
    (void)out_grain;
    return call->outputs[0]->dims[0];
}

static void negate_part(const struct sdk_call *call, uint64_t begin, uint64_t end)
{
    const float *x = call->inputs[0]->planes[0];
    float *y = call->outputs[0]->planes[0];

    for (uint64_t i = begin * WIDTH; i < end * WIDTH; i++)
        y[i] = -x[i];
}

static const struct sdk_kernel part_kernels[] = {
    {.op = ACCEL_OP_ADD, .name = "add", .flags = SDK_KERNEL_PARTWISE, .parts = some_parts, .part = add_part},
    {.op = ACCEL_OP_MUL,
     .name = "mul",
     .parts = some_parts,
     .part = mul_part,
     .staged_bytes = staged_size,
     .stage_parts = stage_parts,
     .stage_part = stage_double},
    {.op = ACCEL_OP_ACTIVATION,
     .name = "negate",
     .flags = SDK_KERNEL_PARTWISE,
     .parts = row_parts,
     .part = negate_part},
    {.op = ACCEL_OP_SOFTMAX, .name = "next", .run = next_run, .flags = SDK_KERNEL_ONE_THREAD},
};

static const struct sdk_backend part_backend = {.kernels = part_kernels, .kernel_count = 4, .device_bytes = 8};

/* ---- random graphs and what they mean ---- */

struct plan {
    struct accel_builder *builder;
    const struct accel_graph *graph;
    uint32_t values[VALUES]; /* by step of the plan */
    uint32_t shape[VALUES];  /* 0: [t, 8], 1: [t, 2, 4] */
    uint32_t from[VALUES][2];
    uint32_t op[VALUES]; /* 0: an input */
    uint32_t count;
};

static uint64_t state;

static uint32_t below(uint32_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % limit;
}

static void shape_dims(uint32_t symbol, uint32_t shape, struct accel_dim *dims)
{
    dims[0] = (struct accel_dim){.symbol = symbol, .multiply = 1, .divide = 1};
    dims[1] = (struct accel_dim){.add = shape == 0 ? WIDTH : 2};
    dims[2] = (struct accel_dim){.add = shape == 0 ? 0 : 4};
}

static void must(int32_t code, const struct accel_error *error)
{
    if (code != ACCEL_OK)
        fail_msg("%d: %s", code, error->text);
}

static uint32_t another_of_shape(const struct plan *plan, uint32_t shape)
{
    for (;;) {
        uint32_t i = below(plan->count);

        if (plan->shape[i] == shape)
            return i;
    }
}

static void plan_node(struct plan *plan, uint32_t symbol)
{
    static const uint32_t ops[] = {ACCEL_OP_ADD,     ACCEL_OP_MUL,     ACCEL_OP_MUL,    ACCEL_OP_ACTIVATION,
                                   ACCEL_OP_SOFTMAX, ACCEL_OP_RESHAPE, ACCEL_OP_RESHAPE};
    const struct accel_activation none = {.size = sizeof(none), .function = ACCEL_FN_RELU};
    uint32_t i = plan->count, op = ops[below(7)];
    uint32_t a = below(3) == 0 ? below(i) : i - 1 - below(i < 4 ? i : 4);
    uint32_t b = another_of_shape(plan, plan->shape[a]);
    uint32_t inputs[2] = {plan->values[a], plan->values[b]};
    struct accel_error error = {0};
    struct accel_dim dims[3];
    char name[16];

    snprintf(name, sizeof(name), "n%u", i);
    plan->op[i] = op, plan->from[i][0] = a, plan->from[i][1] = b, plan->shape[i] = plan->shape[a];
    if (op == ACCEL_OP_RESHAPE) {
        plan->shape[i] = below(2);
        shape_dims(symbol, plan->shape[i], dims);
        must(accel_builder_reshape(plan->builder, name, inputs[0], 2 + plan->shape[i], dims, &plan->values[i], &error),
             &error);
    } else {
        uint32_t count = op == ACCEL_OP_ADD || op == ACCEL_OP_MUL ? 2 : 1;

        must(accel_builder_node(plan->builder, op, name, inputs, count, op == ACCEL_OP_ACTIVATION ? &none : NULL,
                                &plan->values[i], &error),
             &error);
    }
    plan->count++;
}

static void plan_make(struct plan *plan)
{
    struct accel_error error = {0};
    uint32_t symbol = 0, nodes = 3 + below(VALUES - 6);
    struct accel_dim dims[3];

    memset(plan, 0, sizeof(*plan));
    must(accel_builder_create("random", &plan->builder, &error), &error);
    must(accel_builder_symbol(plan->builder, "t", 1, MOST, &symbol, &error), &error);
    for (uint32_t i = 0; i < 2; i++) {
        shape_dims(symbol, i, dims);
        plan->shape[i] = i;
        must(accel_builder_value(plan->builder, ACCEL_ROLE_INPUT, i == 0 ? "p" : "q", ACCEL_F32, 2 + i, dims,
                                 &plan->values[i], &error),
             &error);
    }
    plan->count = 2;
    for (uint32_t n = 0; n < nodes; n++)
        plan_node(plan, symbol);
    for (uint32_t i = 2; i < plan->count; i++)
        if (below(5) == 0 || i + 1 == plan->count)
            must(accel_builder_output(plan->builder, plan->values[i], NULL, &error), &error);
    must(accel_builder_finish(plan->builder, &plan->graph, &error), &error);
}

static void interpret(const struct plan *plan, float all[VALUES][MOST * WIDTH], uint64_t count)
{
    for (uint32_t v = 2; v < plan->count; v++) {
        const float *a = all[plan->from[v][0]], *b = all[plan->from[v][1]];

        for (uint64_t i = 0; i < count; i++)
            all[v][i] = plan->op[v] == ACCEL_OP_ADD          ? (a[i] + b[i]) / 2
                        : plan->op[v] == ACCEL_OP_MUL        ? 2 * a[i] + 1 + b[i]
                        : plan->op[v] == ACCEL_OP_ACTIVATION ? -a[i]
                        : plan->op[v] == ACCEL_OP_SOFTMAX    ? a[i] + 1
                                                             : a[i];
    }
}

/* ---- a driver in use ---- */

struct bench {
    struct stub stub;
    struct accel_driver_instance *instance;
    struct accel_driver_device *device;
    struct accel_driver_module *module;
    struct accel_driver_set *set;
    const struct sdk_backend *backend; /* NULL: the one without parts */
    struct accel_error error;
    char *scratch;
    uint64_t scratch_bytes;
    float (*values)[MOST * WIDTH]; /* per step of the plan: what inputs and outputs are bound to */
};

static uint32_t bind_all(const struct plan *plan, float (*values)[MOST * WIDTH], struct accel_binding *bindings)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < plan->count; i++) {
        uint32_t role = plan->graph->values[plan->values[i]]->role;

        if (role == ACCEL_ROLE_INPUT || role == ACCEL_ROLE_OUTPUT)
            bindings[count++] = (struct accel_binding){
                .value = plan->values[i], .kind = ACCEL_BIND_BUFFER, .host = values[i], .bytes = sizeof(values[i])};
    }
    return count;
}

static int32_t make_set(struct bench *b, const struct plan *plan, uint32_t threads, uint64_t scratch_bytes)
{
    static const uint64_t most = MOST;
    struct accel_binding bindings[VALUES];
    struct accel_set_description description = {.size = sizeof(description),
                                                .symbols = &most,
                                                .symbol_count = 1,
                                                .bindings = bindings,
                                                .scratch = b->scratch,
                                                .scratch_bytes = scratch_bytes,
                                                .threads = threads};

    description.binding_count = bind_all(plan, b->values, bindings);
    return b->module->table->set_create(b->module, &description, &b->set, &b->error);
}

static int32_t open_all(struct bench *b, const struct plan *plan, uint32_t threads)
{
    static const uint64_t most = MOST;
    uint64_t alignment = 0;
    int32_t code =
        sdk_attach(b->backend == NULL ? &backend : b->backend, &b->stub.host, ACCEL_ABI_MINOR, &b->instance, &b->error);

    if (code == ACCEL_OK)
        code = b->instance->table->open(b->instance, "toy", NULL, 0, &b->device, &b->error);
    if (code == ACCEL_OK)
        code = b->device->table->compile(b->device, &plan->graph, 1, NULL, NULL, NULL, NULL, &b->module, &b->error);
    if (code == ACCEL_OK)
        code = b->module->table->scratch(b->module, 0, &most, threads, &b->scratch_bytes, &alignment, &b->error);
    if (code != ACCEL_OK)
        return code;
    b->scratch = aligned_alloc(64, (b->scratch_bytes + GUARD + 63) / 64 * 64);
    b->values = calloc(VALUES, sizeof(*b->values));
    assert_true(b->scratch != NULL && b->values != NULL);
    memset(b->scratch, 0x55, b->scratch_bytes + GUARD);
    return make_set(b, plan, threads, b->scratch_bytes);
}

static void close_all(struct bench *b)
{
    if (b->set != NULL)
        b->set->table->free(b->set);
    if (b->module != NULL)
        b->module->table->free(b->module);
    if (b->device != NULL)
        assert_int_equal(b->device->table->close(b->device, NULL), ACCEL_OK);
    if (b->instance != NULL)
        assert_int_equal(b->instance->table->detach(b->instance, NULL), ACCEL_OK);
    assert_int_equal(b->stub.blocks, 0);
    free(b->scratch);
    free(b->values);
}

static void run_and_compare(struct bench *b, const struct plan *plan, const struct accel_team *team, uint64_t t)
{
    static float want[VALUES][MOST * WIDTH];

    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t e = 0; e < MOST * WIDTH; e++)
            b->values[i][e] = want[i][e] = (float)below(64) / 8;
    for (uint32_t i = 2; i < VALUES; i++)
        for (uint32_t e = 0; e < MOST * WIDTH; e++)
            b->values[i][e] = -99;
    interpret(plan, want, t * WIDTH);
    must(b->set->table->run(b->set, &t, team, &b->error), &b->error);
    for (uint32_t i = 2; i < plan->count; i++) {
        if (plan->graph->values[plan->values[i]]->role != ACCEL_ROLE_OUTPUT)
            continue;
        for (uint64_t e = 0; e < t * WIDTH; e++)
            if (b->values[i][e] != want[i][e])
                fail_msg("n%u, element %u, t %u: %g, expected %g", i, (unsigned)e, (unsigned)t, (double)b->values[i][e],
                         (double)want[i][e]);
        for (uint64_t e = t * WIDTH; e < MOST * WIDTH; e++)
            assert_true(b->values[i][e] == -99); /* not written past the symbol */
    }
    for (uint32_t g = 0; g < GUARD; g++)
        assert_int_equal(b->scratch[b->scratch_bytes + g], 0x55);
}

/* Groups of several actions, and groups after which threads do not meet although both run on all threads. */
struct saved {
    uint32_t grouped;
    uint32_t unmet;
};

static void count_saved(const struct sdk_set *set, struct saved *saved)
{
    for (uint32_t a = 0; a < set->action_count; a += set->actions[a].members) {
        uint32_t next = a + set->actions[a].members;

        saved->grouped += set->actions[a].members > 1;
        saved->unmet +=
            next < set->action_count && set->actions[a].split && set->actions[next].split && !set->actions[a].barrier;
    }
}

static void random_graphs_mean_what_they_say(void **unused)
{
    struct saved saved[2] = {{0}};

    static const struct accel_team *const teams[] = {&stub_team1, &stub_team2, &stub_team4};
    static const uint32_t threads[] = {1, 2, 4, 2, 4};
    const char *given = getenv("ACCEL_TEST_SEED");

    (void)unused;
    state = given == NULL ? (uint64_t)time(NULL) : strtoull(given, NULL, 10);
    print_message("seed: ACCEL_TEST_SEED=%llu\n", (unsigned long long)state);
    for (uint32_t round = 0; round < 300; round++) {
        struct bench b = {0};
        struct plan plan;
        uint32_t kind = round % 5;

        b.backend = round % 2 == 0 ? &backend : &part_backend;
        plan_make(&plan);
        stub_init(&b.stub);
        must(open_all(&b, &plan, threads[kind]), &b.error);
        for (uint32_t step = 0; step < 4; step++)
            run_and_compare(&b, &plan,
                            kind == 4 && step == 2 ? &stub_team2 : teams[kind % 3 == 0 ? kind / 3 : kind % 3],
                            1 + below(MOST));
        count_saved((const struct sdk_set *)b.set, &saved[round % 2]);
        close_all(&b);
        accel_builder_free(plan.builder);
    }
    assert_int_equal(saved[0].grouped, 0);
    print_message("%u groups, %u meetings saved\n", saved[1].grouped, saved[1].unmet);
    assert_true(saved[1].grouped > 100);
    assert_true(saved[1].unmet > 100);
}

/* ---- the estimate ---- */

struct sums {
    struct accel_estimate_sink sink;
    uint64_t scratch;
    uint64_t program;
};

static int32_t add_bytes(const struct accel_estimate_sink *sink, uint32_t heap, uint32_t memory_class, uint64_t lower,
                         uint64_t upper, const char *formula, struct accel_error *error)
{
    struct sums *sums = (struct sums *)(uintptr_t)sink;

    (void)error;
    assert_int_equal(heap, 0);
    assert_int_equal(lower, upper);
    assert_true(formula[0] != '\0');
    *(memory_class == ACCEL_MEMORY_SCRATCH ? &sums->scratch : &sums->program) += upper;
    return ACCEL_OK;
}

static void scratch_is_what_was_estimated(void **unused)
{
    struct sums sums = {.sink = {.size = sizeof(sums.sink), .bytes = add_bytes}};
    struct accel_compile_options options = {.size = sizeof(options), .threads = 2};
    struct bench b = {0};
    struct plan plan;

    (void)unused;
    state = 5;
    do {
        plan_make(&plan);
    } while (plan.count < VALUES / 2);
    stub_init(&b.stub);
    must(open_all(&b, &plan, 2), &b.error);
    must(b.device->table->estimate(b.device, &plan.graph, 1, &options, &sums.sink, &b.error), &b.error);
    assert_true(b.scratch_bytes > 0);
    assert_int_equal(sums.scratch, b.scratch_bytes);
    assert_true(sums.program > 0);
    b.set->table->free(b.set);
    assert_int_equal(make_set(&b, &plan, 2, b.scratch_bytes - 1), ACCEL_E_INVALID);
    assert_null(b.set);
    assert_non_null(strstr(b.error.text, "needed"));
    close_all(&b);
    accel_builder_free(plan.builder);
}

/* ---- what goes wrong ---- */

static void every_allocation_may_fail(void **unused)
{
    struct plan plan;
    uint32_t n = 1;

    (void)unused;
    state = 11;
    plan_make(&plan);
    for (;; n++) {
        struct bench b = {0};
        int32_t code;

        stub_init(&b.stub);
        b.stub.fail_at = n;
        code = open_all(&b, &plan, 2);
        if (code != ACCEL_OK) {
            assert_int_equal(code, ACCEL_E_MEMORY);
            assert_int_equal(b.error.code, ACCEL_E_MEMORY);
        }
        close_all(&b);
        if (code == ACCEL_OK)
            break;
    }
    assert_int_equal(n, 7); /* instance, device, module, program, trial of scratch, set */
    accel_builder_free(plan.builder);
}

static void parents_outlive_children(void **unused)
{
    struct bench b = {0};
    struct plan plan;

    (void)unused;
    state = 3;
    plan_make(&plan);
    stub_init(&b.stub);
    must(open_all(&b, &plan, 1), &b.error);
    assert_int_equal(b.instance->table->detach(b.instance, &b.error), ACCEL_E_BUSY);
    assert_non_null(strstr(b.error.text, "1 open device"));
    memset(&b.error, 0, sizeof(b.error));
    assert_int_equal(b.device->table->close(b.device, &b.error), ACCEL_E_BUSY);
    assert_non_null(strstr(b.error.text, "1 module"));
    memset(&b.error, 0, sizeof(b.error));
    run_and_compare(&b, &plan, &stub_team1, 3);
    close_all(&b);
    accel_builder_free(plan.builder);
}

struct answers {
    struct accel_claim_sink sink;
    struct accel_claim last;
    char reason[64];
};

static int32_t take_claim(const struct accel_claim_sink *sink, const struct accel_claim *claim,
                          struct accel_error *error)
{
    struct answers *answers = (struct answers *)(uintptr_t)sink;

    (void)error;
    answers->last = *claim;
    snprintf(answers->reason, sizeof(answers->reason), "%s", claim->reason);
    return ACCEL_OK;
}

static void refuses_with_node_and_reason(void **unused)
{
    const struct accel_activation silu = {.size = sizeof(silu), .function = ACCEL_FN_SILU};
    struct answers answers = {.sink = {.size = sizeof(answers.sink), .claim = take_claim}};
    const struct accel_blob_writer writer = {.size = sizeof(writer)};
    struct accel_dim dim = {.add = 4};
    struct accel_builder *builder = NULL;
    const struct accel_graph *graph = NULL;
    struct bench b = {0};
    uint32_t inputs[2], y = 0;

    (void)unused;
    must(accel_builder_create("g", &builder, &b.error), &b.error);
    must(accel_builder_value(builder, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 1, &dim, &inputs[0], &b.error), &b.error);
    inputs[1] = inputs[0];
    must(accel_builder_node(builder, ACCEL_OP_GATE, "barn", inputs, 2, &silu, &y, &b.error), &b.error);
    must(accel_builder_output(builder, y, "y", &b.error), &b.error);
    must(accel_builder_finish(builder, &graph, &b.error), &b.error);
    stub_init(&b.stub);
    must(sdk_attach(&backend, &b.stub.host, 1, &b.instance, &b.error), &b.error);
    must(b.instance->table->open(b.instance, "toy", NULL, 0, &b.device, &b.error), &b.error);
    must(b.device->table->claim(b.device, &graph, 1, NULL, &answers.sink, &b.error), &b.error);
    assert_int_equal(answers.last.answer, ACCEL_CLAIM_NO);
    assert_string_equal(answers.reason, "the toy has no gates");
    assert_int_equal(b.device->table->compile(b.device, &graph, 1, NULL, NULL, NULL, NULL, &b.module, &b.error),
                     ACCEL_E_REFUSED);
    assert_null(b.module);
    assert_non_null(strstr(b.error.text, "barn"));
    assert_non_null(strstr(b.error.text, "the toy has no gates"));
    assert_int_equal(b.device->table->compile(b.device, &graph, 1, NULL, NULL, &writer, NULL, &b.module, NULL),
                     ACCEL_E_UNSUPPORTED);
    close_all(&b);
    accel_builder_free(builder);
}

static void unbound_values_are_named(void **unused)
{
    static const uint64_t most = MOST;
    struct accel_binding none = {.value = 0, .kind = ACCEL_BIND_BUFFER};
    struct accel_set_description description = {.size = sizeof(description), .symbols = &most, .symbol_count = 1};
    struct accel_driver_set *set = NULL;
    struct bench b = {0};
    struct plan plan;

    (void)unused;
    state = 3;
    plan_make(&plan);
    stub_init(&b.stub);
    must(open_all(&b, &plan, 1), &b.error);
    description.scratch = b.scratch;
    description.scratch_bytes = b.scratch_bytes;
    assert_int_equal(b.module->table->set_create(b.module, &description, &set, &b.error), ACCEL_E_INVALID);
    assert_non_null(strstr(b.error.text, "not bound"));
    memset(&b.error, 0, sizeof(b.error));
    description.bindings = &none;
    description.binding_count = 1;
    assert_int_equal(b.module->table->set_create(b.module, &description, &set, &b.error), ACCEL_E_INVALID);
    assert_non_null(strstr(b.error.text, "no address"));
    assert_null(set);
    close_all(&b);
    accel_builder_free(plan.builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_mean_what_they_say), cmocka_unit_test(scratch_is_what_was_estimated),
        cmocka_unit_test(every_allocation_may_fail),        cmocka_unit_test(parents_outlive_children),
        cmocka_unit_test(refuses_with_node_and_reason),     cmocka_unit_test(unbound_values_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
