/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU library over a compute API in host memory: results, who lives how long,
 * memory that runs out at every place, values that fail, other queues, lost devices, full queues, changed symbols,
 * threads. The graph: t = x + k (constant), u = t + w (weight), y = u + x; rows are a symbol.
 */
#include "config.h"

#include <accel/builder.h>

#include "sdk/gpu/internal.h"
#include "tests/drivers/gpu_fake.h"

#define WIDTH 4u
#define ROWS 6u
#define BYTES (ROWS * WIDTH * sizeof(float))
#define SLOTS 10u

enum { X, Y, BUFFERS };

struct rig {
    struct accel_source source; /* first */
    struct fake fake;
    struct accel_builder *builder;
    const struct accel_graph *graph;
    struct accel_driver_instance *instance;
    struct accel_driver_device *device;
    struct accel_driver_module *module;
    struct accel_driver_weights *weights;
    struct accel_driver_state *state;
    struct accel_driver_buffer *buffers[BUFFERS], *scratch;
    struct accel_driver_queue *queues[2];
    struct accel_driver_set *set;
    struct accel_error error;
};

static const float constant[WIDTH] = {10, 20, 30, 40}, weight[WIDTH] = {100, 200, 300, 400};
static const uint64_t most = ROWS;

/* ---- graph and source ---- */

static uint32_t sum(struct accel_builder *builder, const char *name, uint32_t a, uint32_t b)
{
    uint32_t inputs[2] = {a, b}, value = 0;

    assert_int_equal(accel_builder_node(builder, ACCEL_OP_ADD, name, inputs, 2, NULL, &value, NULL), ACCEL_OK);
    return value;
}

static void build(struct rig *rig)
{
    struct accel_dim dims[2] = {{.symbol = 1, .multiply = 1, .divide = 1}, {.add = WIDTH}};
    const uint64_t width = WIDTH;
    uint32_t symbol, x, k, w, t;

    assert_int_equal(accel_builder_create("sums", &rig->builder, NULL), ACCEL_OK);
    assert_int_equal(accel_builder_symbol(rig->builder, "rows", 1, ROWS, &symbol, NULL), ACCEL_OK);
    assert_int_equal(accel_builder_value(rig->builder, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 2, dims, &x, NULL), ACCEL_OK);
    assert_int_equal(accel_builder_value(rig->builder, ACCEL_ROLE_WEIGHT, "w", ACCEL_F32, 1, dims + 1, &w, NULL),
                     ACCEL_OK);
    assert_int_equal(accel_builder_constant(rig->builder, "k", ACCEL_F32, 1, &width, constant, &k, NULL), ACCEL_OK);
    t = sum(rig->builder, "t", x, k);
    t = sum(rig->builder, "u", t, w);
    t = sum(rig->builder, "sum", t, x);
    assert_int_equal(accel_builder_output(rig->builder, t, "y", NULL), ACCEL_OK);
    assert_int_equal(accel_builder_finish(rig->builder, &rig->graph, NULL), ACCEL_OK);
}

static int32_t map_plane(const struct accel_source *source, const char *key, uint32_t plane, const void **out_address,
                         uint64_t *out_bytes, struct accel_error *error)
{
    (void)source, (void)plane, (void)error;
    assert_string_equal(key, "w");
    *out_address = weight;
    *out_bytes = sizeof(weight);
    return ACCEL_OK;
}

/* ---- the way of a driver ---- */

static int32_t make_things(struct rig *rig)
{
    const struct accel_device_table *table = rig->device->table;
    const struct accel_weight row = {.size = sizeof(row), .type = ACCEL_F32, .rank = 1, .dims = {WIDTH}, .key = "w"};
    const struct accel_weight *list = &row;
    const struct accel_state_part part = {.type = ACCEL_F32, .row = 1};
    int32_t code =
        table->compile(rig->device, &rig->graph, 1, NULL, &rig->source, NULL, NULL, &rig->module, &rig->error);

    if (code == ACCEL_OK)
        code = table->weights_create(rig->device, &list, 1, &rig->weights, &rig->error);
    if (code == ACCEL_OK)
        code = rig->weights->table->pull(rig->weights, &rig->source, NULL, &rig->error);
    if (code == ACCEL_OK)
        code = table->state_create(rig->device, &part, 1, SLOTS, &rig->state, &rig->error);
    for (uint32_t b = 0; b < BUFFERS && code == ACCEL_OK; b++)
        code = table->buffer_create(rig->device, BYTES, 0, ACCEL_MEMORY_ACTIVATION, &rig->buffers[b], &rig->error);
    for (uint32_t q = 0; q < 2 && code == ACCEL_OK; q++)
        code = table->queue_create(rig->device, &rig->queues[q], &rig->error);
    return code;
}

static int32_t make_set(struct rig *rig)
{
    const struct accel_graph *graph = rig->graph;
    struct accel_binding bindings[3] = {{.kind = ACCEL_BIND_BUFFER, .object = rig->buffers[X], .bytes = BYTES},
                                        {.kind = ACCEL_BIND_BUFFER, .object = rig->buffers[Y], .bytes = BYTES},
                                        {.kind = ACCEL_BIND_WEIGHTS, .object = rig->weights}};
    struct accel_set_description description = {
        .size = sizeof(description), .symbols = &most, .symbol_count = 1, .binding_count = 3, .bindings = bindings};
    uint64_t alignment = 0;
    int32_t code =
        rig->module->table->scratch(rig->module, 0, &most, 1, &description.scratch_bytes, &alignment, &rig->error);

    bindings[0].value = accel_graph_find(graph, "x");
    bindings[1].value = accel_graph_find(graph, "y");
    bindings[2].value = accel_graph_find(graph, "w");
    if (code == ACCEL_OK)
        code = rig->device->table->buffer_create(rig->device, description.scratch_bytes, 0, ACCEL_MEMORY_SCRATCH,
                                                 &rig->scratch, &rig->error);
    description.scratch_buffer = rig->scratch;
    return code == ACCEL_OK ? rig->module->table->set_create(rig->module, &description, &rig->set, &rig->error) : code;
}

static int32_t make_all(struct rig *rig)
{
    const struct accel_setting off = {.name = "cache", .text = "off"};
    int32_t code = gpu_attach(&fake_api, &rig->fake.stub.host, ACCEL_ABI_MINOR, &rig->instance, &rig->error);

    if (code == ACCEL_OK)
        code = rig->instance->table->open(rig->instance, "fake0", &off, 1, &rig->device, &rig->error);
    if (code == ACCEL_OK)
        code = make_things(rig);
    return code == ACCEL_OK ? make_set(rig) : code;
}

static void rig_begin(struct rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    rig->source = (struct accel_source){.size = sizeof(rig->source), .map = map_plane};
    fake_init(&rig->fake);
    build(rig);
}

static void free_buffer(struct accel_driver_buffer *buffer)
{
    if (buffer != NULL)
        buffer->table->free(buffer);
}

static void free_things(struct rig *rig)
{
    if (rig->set != NULL)
        rig->set->table->free(rig->set);
    free_buffer(rig->scratch);
    for (uint32_t q = 0; q < 2; q++)
        if (rig->queues[q] != NULL)
            rig->queues[q]->table->free(rig->queues[q]);
    for (uint32_t b = 0; b < BUFFERS; b++)
        free_buffer(rig->buffers[b]);
    if (rig->state != NULL)
        rig->state->table->free(rig->state);
    if (rig->weights != NULL)
        rig->weights->table->free(rig->weights);
    if (rig->module != NULL)
        rig->module->table->free(rig->module);
}

static void rig_end(struct rig *rig)
{
    free_things(rig);
    if (rig->device != NULL)
        assert_int_equal(rig->device->table->close(rig->device, NULL), ACCEL_OK);
    if (rig->instance != NULL)
        assert_int_equal(rig->instance->table->detach(rig->instance, NULL), ACCEL_OK);
    accel_builder_free(rig->builder);
    fake_end(&rig->fake);
}

static void rig_ready(struct rig *rig)
{
    rig_begin(rig);
    assert_int_equal(make_all(rig), ACCEL_OK);
}

/* ---- steps ---- */

static int32_t submit_after(struct accel_driver_queue *queue, const struct accel_driver_step *step,
                            const struct accel_driver_fence *wait, uint64_t *out_value, struct accel_error *error)
{
    return queue->table->submit(queue, &step, 1, wait, wait != NULL, out_value, error);
}

static uint64_t submit(struct accel_driver_queue *queue, const struct accel_driver_step *step)
{
    uint64_t value = 0;

    assert_int_equal(submit_after(queue, step, NULL, &value, NULL), ACCEL_OK);
    return value;
}

static int32_t wait_for(struct accel_driver_queue *queue, uint64_t value)
{
    return queue->table->wait(queue, value, 0, NULL);
}

static uint64_t completed(struct accel_driver_queue *queue)
{
    uint64_t value = 0;

    assert_int_equal(queue->table->completed(queue, &value, NULL), ACCEL_OK);
    return value;
}

static struct accel_driver_step fill_step(struct rig *rig, uint32_t byte)
{
    return (struct accel_driver_step){.size = sizeof(struct accel_driver_step),
                                      .kind = ACCEL_STEP_FILL,
                                      .target = rig->buffers[X],
                                      .fill = byte,
                                      .bytes = BYTES};
}

/* x of `rows` rows in, run, y out; the values are held against each other. */
static void run_rows(struct rig *rig, struct accel_driver_queue *queue, uint64_t rows, float first)
{
    float x[ROWS * WIDTH], y[ROWS * WIDTH] = {0};
    const uint64_t bytes = rows * WIDTH * sizeof(float);
    const struct accel_driver_step steps[3] = {
        {.size = sizeof(*steps), .kind = ACCEL_STEP_UPDATE, .target = rig->buffers[X], .data = x, .bytes = bytes},
        {.size = sizeof(*steps), .kind = ACCEL_STEP_RUN, .set = rig->set, .symbols = &rows, .symbol_count = 1},
        {.size = sizeof(*steps), .kind = ACCEL_STEP_READ, .source = rig->buffers[Y], .memory = y, .bytes = bytes}};
    const struct accel_driver_step *list[3] = {&steps[0], &steps[1], &steps[2]};
    uint64_t value = 0;

    for (uint32_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = first + (float)i;
    assert_int_equal(queue->table->submit(queue, list, 3, NULL, 0, &value, NULL), ACCEL_OK);
    memset(x, 0, sizeof(x)); /* data is taken before submit returns */
    assert_int_equal(wait_for(queue, value), ACCEL_OK);
    for (uint32_t i = 0; i < ROWS * WIDTH; i++) {
        float want = 2 * (first + (float)i) + constant[i % WIDTH] + weight[i % WIDTH];

        assert_true(y[i] == (i < rows * WIDTH ? want : 0));
    }
}

/* ---- tests ---- */

static void computes(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < 4; kind++) {
        struct rig rig;

        rig_begin(&rig);
        rig.fake.reads = kind & 1;
        rig.fake.mapped = kind >> 1;
        assert_int_equal(make_all(&rig), ACCEL_OK);
        for (uint32_t i = 0; i < 40; i++)
            run_rows(&rig, rig.queues[i % 2], 1 + i * 5 % ROWS, (float)i);
        rig_end(&rig);
    }
}

/* Every allocation of the whole way is refused once, those of the API among them. */
/* Kernels are compiled with the module, or with the first set that uses them and once. */
static void kernels_are_compiled_when_asked(void **state)
{
    for (uint32_t early = 0; early < 2; early++) {
        const struct accel_setting settings[2] = {{.name = "cache", .text = "off"},
                                                  {.name = "precompile", .integer = early}};
        struct rig rig;

        (void)state;
        rig_begin(&rig);
        assert_int_equal(gpu_attach(&fake_api, &rig.fake.stub.host, ACCEL_ABI_MINOR, &rig.instance, &rig.error),
                         ACCEL_OK);
        assert_int_equal(rig.instance->table->open(rig.instance, "fake0", settings, 2, &rig.device, &rig.error),
                         ACCEL_OK);
        assert_int_equal(make_things(&rig), ACCEL_OK);
        assert_int_equal(rig.fake.compiled != 0, early);
        assert_int_equal(make_set(&rig), ACCEL_OK);
        assert_int_equal(rig.fake.compiled, rig.fake.pipelines);
        run_rows(&rig, rig.queues[0], ROWS, 1);
        rig_end(&rig);
    }
}

static void memory_runs_out(void **state)
{
    uint32_t n = 0;
    int32_t code;

    (void)state;
    do {
        struct rig rig;

        rig_begin(&rig);
        rig.fake.stub.fail_at = ++n;
        code = make_all(&rig);
        if (code != ACCEL_OK) {
            assert_int_equal(code, ACCEL_E_MEMORY);
            assert_int_equal(rig.error.code, ACCEL_E_MEMORY);
        } else {
            run_rows(&rig, rig.queues[0], ROWS, 1);
        }
        rig_end(&rig);
        assert_true(n < 500);
    } while (code != ACCEL_OK || n < 20);
}

static void parents_wait_for_children(void **state)
{
    struct accel_driver_module *second = NULL;
    struct rig rig;
    uint32_t made;

    (void)state;
    rig_ready(&rig);
    assert_int_equal(rig.device->table->close(rig.device, NULL), ACCEL_E_BUSY);
    assert_int_equal(rig.instance->table->detach(rig.instance, NULL), ACCEL_E_BUSY);
    /* One pipeline for both modules, until the second one goes. */
    made = rig.fake.compiled;
    assert_int_equal(made, 1);
    assert_int_equal(
        rig.device->table->compile(rig.device, &rig.graph, 1, NULL, &rig.source, NULL, NULL, &second, NULL), ACCEL_OK);
    assert_int_equal(rig.fake.compiled, made);
    second->table->free(second);
    assert_int_equal(rig.fake.pipelines, made);
    run_rows(&rig, rig.queues[0], 2, 3);
    rig_end(&rig);
}

/* Value 2 of three fails: 1 was reached, 2 has the code, what comes behind depends on it, until the reset. */
static void failures_stick(void **state)
{
    struct accel_driver_step step;
    struct accel_error error = {.code = ACCEL_OK};
    struct rig rig;

    (void)state;
    rig_ready(&rig);
    rig.fake.allowed = 0;
    rig.fake.code = ACCEL_E_MEMORY;
    rig.fake.fail_at = rig.fake.runs + 2;
    step = fill_step(&rig, 1);
    for (uint64_t value = 1; value <= 3; value++)
        assert_int_equal(submit(rig.queues[0], &step), value);
    assert_int_equal(wait_for(rig.queues[0], 1), ACCEL_E_TIMEOUT);
    rig.fake.allowed = FAKE_FREE_RUN;
    assert_int_equal(rig.queues[0]->table->wait(rig.queues[0], 2, 0, &error), ACCEL_E_MEMORY);
    assert_int_equal(error.code, ACCEL_E_MEMORY);
    assert_int_equal(wait_for(rig.queues[0], 1), ACCEL_OK);
    assert_int_equal(wait_for(rig.queues[0], 3), ACCEL_E_DEPENDS);
    assert_int_equal(submit(rig.queues[0], &step), 4);
    assert_int_equal(wait_for(rig.queues[0], 4), ACCEL_E_DEPENDS);
    assert_int_equal(completed(rig.queues[0]), 1);
    run_rows(&rig, rig.queues[1], 3, 5); /* the other queue goes on */
    assert_int_equal(rig.queues[0]->table->reset(rig.queues[0], NULL), ACCEL_OK);
    run_rows(&rig, rig.queues[0], ROWS, 2);
    assert_int_equal(wait_for(rig.queues[0], 3), ACCEL_E_DEPENDS);
    assert_int_equal(wait_for(rig.queues[0], 1), ACCEL_OK);
    rig_end(&rig);
}

static void refused_submits_fail_their_value(void **state)
{
    struct accel_driver_step step;
    struct rig rig;
    uint64_t value;

    (void)state;
    rig_ready(&rig);
    rig.fake.code = ACCEL_E_MEMORY;
    rig.fake.refuse_at = rig.fake.submits + 2;
    rig.fake.allowed = 0;
    step = fill_step(&rig, 1);
    submit(rig.queues[0], &step);
    value = submit(rig.queues[0], &step);
    assert_int_equal(wait_for(rig.queues[0], 1), ACCEL_OK);
    assert_int_equal(wait_for(rig.queues[0], value), ACCEL_E_MEMORY);
    assert_int_equal(submit(rig.queues[0], &step), value + 1);
    assert_int_equal(wait_for(rig.queues[0], value + 1), ACCEL_E_DEPENDS);
    assert_int_equal(rig.queues[0]->table->reset(rig.queues[0], NULL), ACCEL_OK);
    rig.fake.allowed = FAKE_FREE_RUN;
    run_rows(&rig, rig.queues[0], 1, 1);
    rig_end(&rig);
}

static void queues_wait_for_each_other(void **state)
{
    struct accel_driver_fence wait;
    struct accel_driver_step one, two;
    uint64_t value = 0;
    struct rig rig;

    (void)state;
    rig_ready(&rig);
    rig.fake.allowed = 0;
    one = fill_step(&rig, 1);
    two = fill_step(&rig, 2);
    wait = (struct accel_driver_fence){rig.queues[0], submit(rig.queues[0], &one)};
    assert_int_equal(submit_after(rig.queues[1], &two, &wait, &value, NULL), ACCEL_OK);
    assert_int_equal(wait_for(rig.queues[1], value), ACCEL_E_TIMEOUT);
    rig.fake.allowed = FAKE_FREE_RUN;
    assert_int_equal(wait_for(rig.queues[1], value), ACCEL_OK);
    assert_int_equal(wait_for(rig.queues[0], wait.value), ACCEL_OK);
    assert_int_equal(fake_bytes(((struct gpu_buffer *)rig.buffers[X])->memory)[0], 2);

    /* What waits for a failure depends on it, whether it was submitted before or behind it, and after the reset. */
    rig.fake.allowed = 0;
    rig.fake.code = ACCEL_E_MEMORY;
    rig.fake.fail_at = rig.fake.runs + 1;
    wait.value = submit(rig.queues[0], &one);
    assert_int_equal(submit_after(rig.queues[1], &two, &wait, &value, NULL), ACCEL_OK);
    rig.fake.allowed = FAKE_FREE_RUN;
    assert_int_equal(wait_for(rig.queues[0], wait.value), ACCEL_E_MEMORY);
    assert_int_equal(wait_for(rig.queues[1], value), ACCEL_E_DEPENDS);
    assert_int_equal(rig.queues[1]->table->reset(rig.queues[1], NULL), ACCEL_OK);
    assert_int_equal(submit_after(rig.queues[1], &two, &wait, &value, NULL), ACCEL_OK);
    assert_int_equal(wait_for(rig.queues[1], value), ACCEL_E_DEPENDS);
    assert_int_equal(rig.queues[1]->table->reset(rig.queues[1], NULL), ACCEL_OK);
    assert_int_equal(rig.queues[0]->table->reset(rig.queues[0], NULL), ACCEL_OK);
    assert_int_equal(submit_after(rig.queues[1], &two, &wait, &value, NULL), ACCEL_OK);
    assert_int_equal(wait_for(rig.queues[1], value), ACCEL_E_DEPENDS);
    assert_int_equal(rig.queues[1]->table->reset(rig.queues[1], NULL), ACCEL_OK);
    run_rows(&rig, rig.queues[1], 4, 4);
    rig_end(&rig);
}

static void lost_devices_stay_lost(void **state)
{
    struct accel_driver_step step;
    struct rig rig;
    uint64_t value;

    (void)state;
    rig_ready(&rig);
    rig.fake.allowed = 0;
    step = fill_step(&rig, 1);
    value = submit(rig.queues[0], &step);
    rig.fake.lost = 1;
    rig.fake.allowed = FAKE_FREE_RUN;
    assert_int_equal(wait_for(rig.queues[0], value), ACCEL_E_DEVICE_LOST);
    assert_int_equal(rig.queues[0]->table->reset(rig.queues[0], NULL), ACCEL_E_DEVICE_LOST);
    assert_int_equal(submit(rig.queues[0], &step), value + 1);
    assert_int_equal(wait_for(rig.queues[0], value + 1), ACCEL_E_DEPENDS);
    rig_end(&rig); /* all can be freed */
}

static void full_queues_say_so(void **state)
{
    static const char data[GPU_INLINE_BYTES];
    struct accel_driver_buffer *large = NULL;
    struct accel_driver_step step = {
        .size = sizeof(step), .kind = ACCEL_STEP_UPDATE, .data = data, .bytes = GPU_INLINE_BYTES};
    struct rig rig;
    uint64_t value = 0;
    uint32_t taken = 0;
    int32_t code;

    (void)state;
    rig_ready(&rig);
    assert_int_equal(
        rig.device->table->buffer_create(rig.device, GPU_INLINE_BYTES, 0, ACCEL_MEMORY_ACTIVATION, &large, NULL),
        ACCEL_OK);
    step.target = large;
    rig.fake.allowed = 0;
    while ((code = submit_after(rig.queues[0], &step, NULL, &value, NULL)) == ACCEL_OK)
        taken++;
    assert_int_equal(code, ACCEL_E_AGAIN); /* the bytes in flight */
    assert_int_equal(taken, GPU_UPLOAD_BYTES / GPU_INLINE_BYTES);
    rig.fake.allowed = 1;
    assert_int_equal(submit_after(rig.queues[0], &step, NULL, &value, NULL), ACCEL_OK);
    assert_int_equal(value, ++taken);
    rig.fake.allowed = FAKE_FREE_RUN;
    assert_int_equal(wait_for(rig.queues[0], value), ACCEL_OK);
    rig.fake.allowed = 0;
    step = fill_step(&rig, 3);
    for (taken = 0; submit_after(rig.queues[0], &step, NULL, &value, NULL) == ACCEL_OK;)
        taken++;
    assert_int_equal(taken, 8); /* submits in flight */
    rig.fake.allowed = FAKE_FREE_RUN;
    run_rows(&rig, rig.queues[0], 2, 2);
    free_buffer(large);
    rig_end(&rig);
}

/* Recordings are made again for other symbols, but never one that is in flight. */
static void symbols_change_in_flight(void **state)
{
    const uint64_t rows[3] = {ROWS, 2, 3};
    struct accel_driver_step step = {.size = sizeof(step), .kind = ACCEL_STEP_RUN, .symbol_count = 1};
    struct rig rig;
    uint64_t value = 0;

    (void)state;
    rig_ready(&rig);
    step.set = rig.set;
    rig.fake.allowed = 0;
    for (uint32_t i = 0; i < 4; i++) {
        step.symbols = &rows[i % 2];
        value = submit(rig.queues[0], &step);
    }
    step.symbols = &rows[2];
    assert_int_equal(submit_after(rig.queues[0], &step, NULL, &value, NULL), ACCEL_E_AGAIN);
    rig.fake.allowed = FAKE_FREE_RUN;
    value = submit(rig.queues[0], &step);
    assert_int_equal(wait_for(rig.queues[0], value), ACCEL_OK);
    for (uint32_t i = 0; i < 6; i++)
        run_rows(&rig, rig.queues[0], rows[i % 3], (float)i);
    rig_end(&rig);
}

/* Copies of slots as memmove would, with a bounce that is smaller than what moves; at the end zeros. */
static void states_move_their_slots(void **state)
{
    struct accel_state_change change = {.kind = ACCEL_STATE_COPY};
    struct accel_driver_step step = {
        .size = sizeof(step), .kind = ACCEL_STEP_STATE, .changes = &change, .change_count = 1};
    float want[SLOTS];
    struct gpu_state *inside;
    uint64_t made;
    float *slots;
    struct rig rig;

    (void)state;
    rig_ready(&rig);
    step.state = rig.state;
    inside = (struct gpu_state *)rig.state;
    made = inside->bounce_bytes;
    inside->bounce_bytes = 2 * sizeof(float);
    slots = (float *)(void *)(fake_bytes(inside->arena.chunks[0]) + inside->parts[0].place.offset);
    for (uint32_t i = 0; i < SLOTS; i++) {
        assert_true(slots[i] == 0);
        slots[i] = want[i] = (float)i + 1;
    }
    for (change.from = 0; change.from < SLOTS; change.from++)
        for (change.to = 0; change.to < SLOTS; change.to++)
            for (change.count = 1; change.count + (change.from > change.to ? change.from : change.to) <= SLOTS;
                 change.count++) {
                assert_int_equal(wait_for(rig.queues[0], submit(rig.queues[0], &step)), ACCEL_OK);
                memmove(want + change.to, want + change.from, change.count * sizeof(*want));
                assert_memory_equal(slots, want, sizeof(want));
                slots[change.to] = want[change.to] = (float)(change.from * SLOTS + change.to);
            }
    change = (struct accel_state_change){.kind = ACCEL_STATE_RESET};
    assert_int_equal(wait_for(rig.queues[0], submit(rig.queues[0], &step)), ACCEL_OK);
    for (uint32_t i = 0; i < SLOTS; i++)
        assert_true(slots[i] == 0);
    inside->bounce_bytes = made;
    rig_end(&rig);
}

/* Bytes at odd places: only those named change. */
static void fills_any_bytes(void **state)
{
    struct accel_driver_step step;
    char want[16];
    const char *bytes;
    struct rig rig;

    (void)state;
    rig_ready(&rig);
    bytes = fake_bytes(((struct gpu_buffer *)rig.buffers[X])->memory);
    for (uint64_t from = 0; from < sizeof(want); from++)
        for (uint64_t to = from + 1; to <= sizeof(want); to++) {
            step = fill_step(&rig, 0);
            wait_for(rig.queues[0], submit(rig.queues[0], &step));
            step = fill_step(&rig, 0xee);
            step.target_offset = from;
            step.bytes = to - from;
            assert_int_equal(wait_for(rig.queues[0], submit(rig.queues[0], &step)), ACCEL_OK);
            memset(want, 0, sizeof(want));
            memset(want + from, 0xee, to - from);
            assert_memory_equal(bytes, want, sizeof(want));
        }
    rig_end(&rig);
}

/* ---- threads ---- */

struct runner {
    struct rig *rig;
    struct rig own; /* buffers and set of this thread, on the device of the rig */
    uint32_t index;
};

static void *work(void *argument)
{
    struct runner *runner = argument;

    for (uint32_t i = 0; i < 200; i++) {
        run_rows(&runner->own, runner->own.queues[0], 1 + (i + runner->index) % ROWS, (float)i);
        completed(runner->rig->queues[0]); /* from any thread */
    }
    return NULL;
}

/* Everything of a thread is its own, pipelines and the way of weights are everybody's. */
static void threads_share_a_device(void **state)
{
    struct runner runners[4];
    pthread_t threads[4];
    struct rig rig;

    (void)state;
    rig_ready(&rig);
    for (uint32_t t = 0; t < 4; t++) {
        runners[t] = (struct runner){.rig = &rig, .index = t};
        runners[t].own.source = rig.source;
        runners[t].own.graph = rig.graph;
        runners[t].own.device = rig.device;
        assert_int_equal(make_things(&runners[t].own), ACCEL_OK);
        assert_int_equal(make_set(&runners[t].own), ACCEL_OK);
        assert_int_equal(pthread_create(&threads[t], NULL, work, &runners[t]), 0);
    }
    for (uint32_t t = 0; t < 4; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        free_things(&runners[t].own);
    }
    rig_end(&rig);
}

/* ---- memory ---- */

struct planned {
    struct accel_estimate_sink sink; /* first */
    uint64_t bytes[ACCEL_MEMORY_END];
};

static int32_t take_bytes(const struct accel_estimate_sink *sink, uint32_t heap, uint32_t memory_class, uint64_t lower,
                          uint64_t upper, const char *formula, struct accel_error *error)
{
    (void)heap, (void)error;
    assert_true(lower <= upper && formula != NULL);
    ((struct planned *)(uintptr_t)sink)->bytes[memory_class] += upper;
    return ACCEL_OK;
}

/* What the host was told of is what was planned; what neither knows from shapes alone is planned no lower. */
static void planned_is_used(void **state)
{
    for (uint32_t reads = 0; reads < 2; reads++) {
        struct planned planned = {.sink = {.size = sizeof(planned.sink), .bytes = take_bytes}};
        struct rig rig;
        const int64_t *counted = rig.fake.counted;

        (void)state;
        rig_begin(&rig);
        rig.fake.reads = reads;
        assert_int_equal(make_all(&rig), ACCEL_OK);
        assert_int_equal(rig.device->table->estimate(rig.device, &rig.graph, 1, NULL, &planned.sink, NULL), ACCEL_OK);
        assert_int_equal(counted[ACCEL_MEMORY_WEIGHTS], planned.bytes[ACCEL_MEMORY_WEIGHTS]);
        assert_int_equal(counted[ACCEL_MEMORY_SCRATCH], planned.bytes[ACCEL_MEMORY_SCRATCH]);
        assert_int_equal(counted[ACCEL_MEMORY_ACTIVATION], BUFFERS * BYTES);
        assert_int_equal(counted[ACCEL_MEMORY_STATE], SLOTS * sizeof(float));
        assert_true(counted[ACCEL_MEMORY_PROGRAM] > 0);
        /* The rig has a second queue, of which a plan knows nothing. */
        assert_in_range(counted[ACCEL_MEMORY_PROGRAM], 1,
                        planned.bytes[ACCEL_MEMORY_PROGRAM] + GPU_UPLOAD_BYTES + (reads ? 0 : GPU_DOWNLOAD_BYTES) +
                            2 * GPU_ALIGNMENT);
        rig_end(&rig);
    }
}

/* What is larger than a chunk has one of its own, and the next one begins another. */
static void large_places_have_memories_of_their_own(void **state)
{
    struct gpu_memory *chunks[4] = {NULL};
    uint64_t sizes[4] = {0};
    struct gpu_arena arena = {.chunks = chunks, .sizes = sizes, .limit = 1024};
    const struct gpu_limits limits = {.memory_bytes = 4097, .binding_bytes = 512};
    struct gpu_place places[4];

    (void)state;
    places[0] = gpu_arena_place(&arena, 256);
    places[1] = gpu_arena_place(&arena, 4000);
    places[2] = gpu_arena_place(&arena, 300);
    places[3] = gpu_arena_place(&arena, 300);
    assert_int_equal(arena.count, 3);
    assert_int_equal(places[1].chunk, 1);
    assert_int_equal(places[1].offset, 0);
    assert_int_equal(sizes[1], 4096);
    assert_int_equal(places[2].chunk, 2);
    assert_int_equal(places[3].offset, 512);
    assert_int_equal(gpu_place_most(&limits), 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes),
        cmocka_unit_test(kernels_are_compiled_when_asked),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(planned_is_used),
        cmocka_unit_test(parents_wait_for_children),
        cmocka_unit_test(failures_stick),
        cmocka_unit_test(refused_submits_fail_their_value),
        cmocka_unit_test(queues_wait_for_each_other),
        cmocka_unit_test(lost_devices_stay_lost),
        cmocka_unit_test(full_queues_say_so),
        cmocka_unit_test(symbols_change_in_flight),
        cmocka_unit_test(states_move_their_slots),
        cmocka_unit_test(fills_any_bytes),
        cmocka_unit_test(large_places_have_memories_of_their_own),
        cmocka_unit_test(threads_share_a_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
