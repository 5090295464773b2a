/* SPDX-License-Identifier: Apache-2.0 */
/* The run-time face over a driver with queues: order, waits, failure, reset, cancel, lifetime, loss, deadlines. */
#include "core/runtime/object.h"
#include "tests/mock/async.h"
#include "tests/unit/device_support.h"

struct bench {
    struct accel_context *context;
    struct accel_device *device;
    struct sum_graph sum;
    struct sum_source source;
    struct accel_module *module;
    struct accel_weights *weights;
    struct accel_queue *queue;
    struct accel_queue *other;
    struct accel_buffer *x;
    struct accel_buffer *y;
    struct accel_set *set;
    struct accel_error error;
};

static const uint64_t one[1] = {1};

static void expect(struct bench *b, int32_t code, int32_t wanted, const char *words)
{
    expect_code(&b->error, code, wanted, words);
}

static int setup(void **state)
{
    static struct bench bench;
    static const uint64_t most[1] = {8};
    struct bench *b = &bench;
    struct accel_bind binds[2];
    const struct accel_graph *graphs[1];
    memset(b, 0, sizeof(*b));
    async_reset();
    b->context = context_with(&async_driver);
    sum_graph_make(&b->sum);
    sum_source_make(&b->source, 0);
    graphs[0] = b->sum.graph;
    expect(b, accel_device_open(b->context, "async:a0", NULL, 0, &b->device, &b->error), ACCEL_OK, NULL);
    expect(b, accel_module_create(b->device, graphs, 1, NULL, NULL, NULL, &b->module, &b->error), ACCEL_OK, NULL);
    expect(b, accel_weights_create(b->module, &b->source.source, NULL, &b->weights, &b->error), ACCEL_OK, NULL);
    assert_int_equal(async.pulls, 1);
    expect(b, accel_queue_create(b->device, NULL, &b->queue, &b->error), ACCEL_OK, NULL);
    expect(b, accel_queue_create(b->device, NULL, &b->other, &b->error), ACCEL_OK, NULL);
    expect(b, accel_buffer_create(b->device, 128, 0, &b->x, &b->error), ACCEL_OK, NULL);
    expect(b, accel_buffer_create(b->device, 128, 0, &b->y, &b->error), ACCEL_OK, NULL);
    binds[0] = (struct accel_bind){.value = b->sum.x, .buffer = b->x};
    binds[1] = (struct accel_bind){.value = b->sum.y, .buffer = b->y};
    expect(b, accel_set_create(b->module, 0, b->queue, most, binds, 2, b->weights, &b->set, &b->error), ACCEL_OK, NULL);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    accel_queue_free(b->queue);
    accel_queue_free(b->other);
    accel_set_free(b->set);
    accel_buffer_free(b->x);
    accel_buffer_free(b->y);
    accel_weights_free(b->weights);
    accel_module_free(b->module);
    accel_device_free(b->device);
    assert_int_equal(atomic_load(&b->context->children), 0);
    expect(b, accel_context_free(b->context, &b->error), ACCEL_OK, NULL);
    accel_builder_free(b->sum.builder);
    assert_int_equal(async.alive, 0);
    assert_int_equal(async.sins, 0);
    return 0;
}

static int32_t submit_fill(struct bench *b, struct accel_queue *queue, struct accel_buffer *target, uint32_t byte,
                           const struct accel_fence *waits, uint32_t wait_count, uint64_t *out_value)
{
    struct accel_step step = {.size = sizeof(step), .kind = ACCEL_STEP_FILL, .target = target, .bytes = 16};
    const struct accel_step *list[1] = {&step};
    step.fill = byte;
    return accel_queue_submit(queue, list, 1, waits, wait_count, out_value, &b->error);
}

static int32_t submit_run(struct bench *b, uint64_t *out_value)
{
    struct accel_step step = {.size = sizeof(step), .kind = ACCEL_STEP_RUN, .set = b->set, .symbols = one};
    const struct accel_step *list[1] = {&step};
    return accel_queue_submit(b->queue, list, 1, NULL, 0, out_value, &b->error);
}

static void nothing_happens_before_the_clock(void **state)
{
    struct bench *b = *state;
    float data[4] = {10, 20, 30, 40};
    float memory[4] = {0};
    struct accel_step steps[3] = {
        {.size = sizeof(*steps), .kind = ACCEL_STEP_UPDATE, .target = b->x, .bytes = 16, .data = data},
        {.size = sizeof(*steps), .kind = ACCEL_STEP_RUN, .set = b->set, .symbols = one},
        {.size = sizeof(*steps), .kind = ACCEL_STEP_READ, .source = b->y, .bytes = 16, .memory = memory}};
    const struct accel_step *list[3] = {&steps[0], &steps[1], &steps[2]};
    uint64_t value = 0;
    uint64_t done = 1;
    expect(b, accel_queue_submit(b->queue, list, 3, NULL, 0, &value, &b->error), ACCEL_OK, NULL);
    assert_true(value > 0);
    data[0] = 0; /* was taken */
    expect(b, accel_queue_completed(b->queue, &done, &b->error), ACCEL_OK, NULL);
    assert_int_equal(done, 0);
    assert_true(memory[0] == 0.0f);
    expect(b, accel_queue_wait(b->queue, value, 1000, &b->error), ACCEL_E_TIMEOUT, "deadline");
    assert_int_equal(async_tick(), 1);
    assert_true(memory[0] == 11.0f && memory[3] == 44.0f);
    expect(b, accel_queue_wait(b->queue, value, 0, &b->error), ACCEL_OK, NULL);
    expect(b, accel_queue_completed(b->queue, &done, &b->error), ACCEL_OK, NULL);
    assert_int_equal(done, value);
    expect(b, accel_queue_wait(b->queue, value + 1, 0, &b->error), ACCEL_E_INVALID, "not returned");
}

static void waits_order_queues(void **state)
{
    struct bench *b = *state;
    struct accel_fence wait = {.queue = b->queue};
    const unsigned char *y = accel_buffer_address(b->y);
    uint64_t first = 0;
    uint64_t second = 0;
    wait.value = 9;
    expect(b, submit_fill(b, b->other, b->y, 2, &wait, 1, &second), ACCEL_E_INVALID, "no submit returned");
    expect(b, submit_fill(b, b->queue, b->y, 1, NULL, 0, &first), ACCEL_OK, NULL);
    wait.value = first;
    expect(b, submit_fill(b, b->other, b->y, 2, &wait, 1, &second), ACCEL_OK, NULL);
    assert_int_equal(async_tick(), 1);
    assert_int_equal(y[0], 1);
    expect(b, accel_queue_wait(b->other, second, UINT64_MAX, &b->error), ACCEL_OK, NULL);
    assert_int_equal(y[0], 2);
}

static void failure_sticks_and_travels(void **state)
{
    struct bench *b = *state;
    struct accel_fence wait = {.queue = b->queue};
    uint64_t values[3] = {0};
    uint64_t dependent = 0;
    uint64_t done = 9;
    for (uint32_t i = 0; i < 3; i++)
        expect(b, submit_run(b, &values[i]), ACCEL_OK, NULL);
    wait.value = values[1];
    expect(b, submit_fill(b, b->other, b->x, 2, &wait, 1, &dependent), ACCEL_OK, NULL);
    assert_int_equal(async_tick(), 1);
    async.step_code = ACCEL_E_LIMIT;
    expect(b, accel_queue_wait(b->queue, values[2], UINT64_MAX, &b->error), ACCEL_E_DEPENDS, NULL);
    expect(b, accel_queue_wait(b->queue, values[1], UINT64_MAX, &b->error), ACCEL_E_LIMIT, "failed");
    expect(b, accel_queue_wait(b->queue, values[0], UINT64_MAX, &b->error), ACCEL_OK, NULL);
    expect(b, accel_queue_wait(b->other, dependent, UINT64_MAX, &b->error), ACCEL_E_DEPENDS, NULL);
    expect(b, accel_queue_completed(b->queue, &done, &b->error), ACCEL_OK, NULL);
    assert_int_equal(done, values[0]);
    expect(b, accel_set_run(b->set, one, &b->error), ACCEL_E_DEPENDS, NULL);
    expect(b, accel_queue_reset(b->queue, &b->error), ACCEL_OK, NULL);
    expect(b, accel_queue_reset(b->other, &b->error), ACCEL_OK, NULL);
    expect(b, accel_set_run(b->set, one, &b->error), ACCEL_OK, NULL);
    expect(b, submit_fill(b, b->other, b->x, 2, NULL, 0, &dependent), ACCEL_OK, NULL);
    expect(b, accel_queue_wait(b->other, dependent, UINT64_MAX, &b->error), ACCEL_OK, NULL);
}

static void a_full_queue_says_again(void **state)
{
    struct bench *b = *state;
    uint64_t values[ASYNC_IN_FLIGHT + 1] = {0};
    for (uint32_t i = 0; i < ASYNC_IN_FLIGHT; i++)
        expect(b, submit_run(b, &values[i]), ACCEL_OK, NULL);
    expect(b, submit_run(b, &values[ASYNC_IN_FLIGHT]), ACCEL_E_AGAIN, NULL);
    assert_int_equal(values[ASYNC_IN_FLIGHT], 0);
    expect(b, accel_queue_wait(b->queue, values[0], UINT64_MAX, &b->error), ACCEL_OK, NULL);
    expect(b, submit_run(b, &values[ASYNC_IN_FLIGHT]), ACCEL_OK, NULL);
    for (uint32_t i = 1; i <= ASYNC_IN_FLIGHT; i++)
        assert_true(values[i] > values[i - 1]);
}

static void cancel_ends_in_reset(void **state)
{
    struct bench *b = *state;
    uint64_t value = 0;
    uint64_t later = 0;
    expect(b, submit_run(b, &value), ACCEL_OK, NULL);
    expect(b, accel_queue_cancel(b->queue, &b->error), ACCEL_OK, NULL);
    expect(b, submit_run(b, &later), ACCEL_E_CANCELLED, "not reset");
    expect(b, accel_queue_wait(b->queue, value, UINT64_MAX, &b->error), ACCEL_E_CANCELLED, NULL);
    assert_int_equal(async.ran, 0);
    expect(b, accel_queue_reset(b->queue, &b->error), ACCEL_OK, NULL);
    expect(b, accel_set_run(b->set, one, &b->error), ACCEL_OK, NULL);
}

/* Objects are freed while their step is in flight; the driver sees the frees after the step. */
static void frees_wait_for_steps(void **state)
{
    struct bench *b = *state;
    struct accel_buffer *buffer = NULL;
    struct accel_state *kv = NULL;
    struct accel_state_part part = {.type = ACCEL_F32, .row = 2};
    struct accel_state_change change = {.kind = ACCEL_STATE_RESET};
    struct accel_step step = {.size = sizeof(step), .kind = ACCEL_STEP_STATE, .changes = &change, .change_count = 1};
    const struct accel_step *list[1] = {&step};
    uint32_t alive = async.alive;
    uint64_t value = 0;
    expect(b, accel_buffer_create(b->device, 64, 0, &buffer, &b->error), ACCEL_OK, NULL);
    expect(b, accel_state_create(b->device, &part, 1, 4, &kv, &b->error), ACCEL_OK, NULL);
    step.state = kv;
    expect(b, submit_fill(b, b->queue, buffer, 7, NULL, 0, &value), ACCEL_OK, NULL);
    expect(b, accel_queue_submit(b->queue, list, 1, NULL, 0, &value, &b->error), ACCEL_OK, NULL);
    expect(b, submit_run(b, &value), ACCEL_OK, NULL);
    accel_buffer_free(buffer);
    accel_state_free(kv);
    accel_set_free(b->set);
    b->set = NULL;
    assert_int_equal(async.alive, alive + 2);
    assert_int_equal(async_tick(), 1);
    expect(b, accel_queue_wait(b->queue, value, UINT64_MAX, &b->error), ACCEL_OK, NULL);
    assert_int_equal(async.alive, alive - 1); /* the set is gone too; its scratch is the queue's */
    assert_int_equal(async.sins, 0);
}

static void frees_in_any_order(void **state)
{
    struct bench *b = *state;
    uint64_t value = 0;
    expect(b, submit_run(b, &value), ACCEL_OK, NULL);
    accel_device_free(b->device);
    accel_module_free(b->module);
    accel_weights_free(b->weights);
    accel_buffer_free(b->x);
    b->device = NULL;
    b->module = NULL;
    b->weights = NULL;
    b->x = NULL;
    expect(b, accel_set_run(b->set, one, &b->error), ACCEL_OK, NULL);
    expect(b, submit_run(b, &value), ACCEL_OK, NULL);
    accel_set_free(b->set);
    b->set = NULL;
    assert_int_equal(async.in_flight, 1);
    accel_queue_free(b->queue);
    b->queue = NULL;
    assert_int_equal(async.in_flight, 0);
}

static void a_lost_device_closes(void **state)
{
    struct bench *b = *state;
    uint64_t value = 0;
    expect(b, submit_run(b, &value), ACCEL_OK, NULL);
    async.lost = 1;
    expect(b, submit_run(b, &value), ACCEL_E_DEVICE_LOST, "gone");
    assert_true(atomic_load(&b->device->lost));
    expect(b, accel_queue_reset(b->queue, &b->error), ACCEL_E_DEVICE_LOST, NULL);
}

static void creation_may_fail(void **state)
{
    struct bench *b = *state;
    struct accel_state_part part = {.type = ACCEL_F32, .row = 2};
    struct accel_buffer *buffer = b->x;
    struct accel_state *kv = NULL;
    struct accel_queue *queue = b->queue;
    struct accel_weights *weights = b->weights;
    async.create_code = ACCEL_E_MEMORY;
    expect(b, accel_buffer_create(b->device, 64, 0, &buffer, &b->error), ACCEL_E_MEMORY, "told");
    expect(b, accel_state_create(b->device, &part, 1, 4, &kv, &b->error), ACCEL_E_MEMORY, "told");
    expect(b, accel_queue_create(b->device, NULL, &queue, &b->error), ACCEL_E_MEMORY, "told");
    expect(b, accel_weights_create(b->module, &b->source.source, NULL, &weights, &b->error), ACCEL_E_MEMORY, "told");
    assert_true(buffer == NULL && kv == NULL && queue == NULL && weights == NULL);
    async.create_code = ACCEL_OK;
    b->source.read_code = ACCEL_E_IO;
    expect(b, accel_weights_create(b->module, &b->source.source, NULL, &weights, &b->error), ACCEL_E_IO, NULL);
    expect(b, accel_buffer_create(b->device, 2u << 20, 0, &buffer, &b->error), ACCEL_E_LIMIT, "at most");
    expect(b, accel_buffer_create(b->device, 64, 1, &buffer, &b->error), ACCEL_E_INVALID, "no heap 1");
    async.no_map = 1;
    expect(b, accel_buffer_create(b->device, 64, 0, &buffer, &b->error), ACCEL_OK, NULL);
    assert_null(accel_buffer_address(buffer));
    accel_buffer_free(buffer);
}

static void inline_bytes_are_a_limit(void **state)
{
    struct bench *b = *state;
    char data[65] = {0};
    struct accel_step step = {
        .size = sizeof(step), .kind = ACCEL_STEP_UPDATE, .target = b->x, .bytes = 65, .data = data};
    const struct accel_step *list[1] = {&step};
    uint64_t value = 0;
    expect(b, accel_queue_submit(b->queue, list, 1, NULL, 0, &value, &b->error), ACCEL_E_LIMIT, "at most 64");
    step.bytes = 64;
    expect(b, accel_queue_submit(b->queue, list, 1, NULL, 0, &value, &b->error), ACCEL_OK, NULL);
}

static void a_value_that_does_not_grow_is_a_bug(void **state)
{
    struct bench *b = *state;
    uint64_t value = 0;
    expect(b, submit_run(b, &value), ACCEL_OK, NULL);
    expect(b, accel_queue_wait(b->queue, value, UINT64_MAX, &b->error), ACCEL_OK, NULL);
    async.silent = 1;
    expect(b, submit_fill(b, b->queue, b->x, 1, NULL, 0, &value), ACCEL_E_INTERNAL, "returned value 1");
    while (async_tick() != 0) {
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_happens_before_the_clock, setup, teardown),
        cmocka_unit_test_setup_teardown(waits_order_queues, setup, teardown),
        cmocka_unit_test_setup_teardown(failure_sticks_and_travels, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_queue_says_again, setup, teardown),
        cmocka_unit_test_setup_teardown(cancel_ends_in_reset, setup, teardown),
        cmocka_unit_test_setup_teardown(frees_wait_for_steps, setup, teardown),
        cmocka_unit_test_setup_teardown(frees_in_any_order, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lost_device_closes, setup, teardown),
        cmocka_unit_test_setup_teardown(creation_may_fail, setup, teardown),
        cmocka_unit_test_setup_teardown(inline_bytes_are_a_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(a_value_that_does_not_grow_is_a_bug, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
