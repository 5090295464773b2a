/* SPDX-License-Identifier: Apache-2.0 */
/* The run-time face around a driver that runs in the caller's thread: what the core supplies, and what it refuses. */
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/caller_state.h"
#include "core/runtime/object.h"
#include "tests/mock/direct.h"
#include "tests/unit/device_support.h"

/* Everything that a step needs. */
struct bench {
    struct accel_context *context;
    struct accel_device *device;
    struct sum_graph sum;
    struct sum_source source;
    struct accel_module *module;
    struct accel_weights *weights;
    struct accel_queue *queue;
    struct accel_buffer *x;
    struct accel_buffer *y;
    struct accel_set *set;
    struct accel_error error;
};

static const uint64_t most[1] = {8};

static int32_t make_set(struct bench *b, struct accel_set **out_set)
{
    struct accel_bind binds[2] = {{.value = b->sum.x, .buffer = b->x}, {.value = b->sum.y, .buffer = b->y}};
    return accel_set_create(b->module, 0, b->queue, most, binds, 2, b->weights, out_set, &b->error);
}

static void open_bench(struct bench *b)
{
    const struct accel_graph *graphs[1];
    memset(b, 0, sizeof(*b));
    b->context = context_with(&direct_driver);
    sum_graph_make(&b->sum);
    sum_source_make(&b->source, 0);
    graphs[0] = b->sum.graph;
    assert_int_equal(accel_device_open(b->context, "direct:d0", NULL, 0, &b->device, &b->error), ACCEL_OK);
    if (accel_module_create(b->device, graphs, 1, NULL, NULL, NULL, &b->module, &b->error) != ACCEL_OK)
        fail_msg("%s", b->error.text);
    assert_int_equal(accel_weights_create(b->module, &b->source.source, NULL, &b->weights, &b->error), ACCEL_OK);
    assert_int_equal(accel_queue_create(b->device, NULL, &b->queue, &b->error), ACCEL_OK);
    assert_int_equal(accel_buffer_create(b->device, 8 * 4 * 4, 0, &b->x, &b->error), ACCEL_OK);
    assert_int_equal(accel_buffer_create(b->device, 8 * 4 * 4, 0, &b->y, &b->error), ACCEL_OK);
    if (make_set(b, &b->set) != ACCEL_OK)
        fail_msg("%s", b->error.text);
}

static void close_bench(struct bench *b)
{
    uint64_t now = 1;
    accel_device_free(b->device);
    accel_module_free(b->module);
    accel_queue_free(b->queue);
    accel_buffer_free(b->x);
    accel_buffer_free(b->y);
    accel_weights_free(b->weights);
    accel_set_free(b->set);
    assert_int_equal(atomic_load(&b->context->children), 0);
    memset(&b->error, 0, sizeof(b->error));
    assert_int_equal(accel_context_free(b->context, &b->error), ACCEL_OK);
    accel_builder_free(b->sum.builder);
    assert_int_equal(direct.alive, 0);
    (void)now;
}

static int setup(void **state)
{
    static struct bench bench;
    direct_reset();
    open_bench(&bench);
    *state = &bench;
    return 0;
}

static int teardown(void **state)
{
    close_bench(*state);
    return 0;
}

static void expect(struct bench *b, int32_t code, int32_t wanted, const char *words)
{
    expect_code(&b->error, code, wanted, words);
}

static void runs_a_step(void **state)
{
    struct bench *b = *state;
    float *x = accel_buffer_address(b->x);
    const float *y = accel_buffer_address(b->y);
    uint64_t tokens = 2;
    assert_int_equal((uintptr_t)x % 64, 0);
    for (uint32_t i = 0; i < 12; i++)
        assert_true(x[i] == 0.0f);
    for (uint32_t i = 0; i < 8; i++)
        x[i] = (float)(10 * i);
    expect(b, accel_set_run(b->set, &tokens, &b->error), ACCEL_OK, NULL);
    assert_true(y[0] == 1.0f && y[5] == 52.0f && y[7] == 74.0f && y[8] == 0.0f);
    assert_ptr_equal(direct.weight, b->source.values);
    assert_int_equal(b->source.reads, 0);
}

static uint32_t changes_told;

static void count_changes(void *user, uint32_t level, const char *room, const char *text)
{
    (void)user, (void)room;
    changes_told += level == ACCEL_LOG_WARN &&
                    strstr(text, "slot=run changed=\"floating-point mode, blocked signals\" restored=1") != NULL;
}

static void change_the_thread(void *data)
{
    sigset_t set;
    (void)data;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    fesetround(FE_UPWARD);
    accel_float_mode_set(accel_float_mode_get() ^ 0x8000u);
}

/* What a step changes of its thread is put back after each, also of one that is submitted; the log tells it once. */
static void a_step_leaves_its_thread_as_it_was(void **state)
{
    struct bench *b = *state;
    uint64_t mode = accel_float_mode_get(), tokens = 2, value = 0;
    struct accel_step step = {.size = sizeof(step), .kind = ACCEL_STEP_RUN, .set = b->set, .symbols = &tokens};
    const struct accel_step *list = &step;
    changes_told = 0;
    b->context->log = (struct accel_log){.sink = count_changes, .level = ACCEL_LOG_WARN};
    direct.on_run = change_the_thread;
    for (uint32_t i = 0; i < 4; i++) {
        sigset_t now;
        if (i < 3)
            expect(b, accel_set_run(b->set, &tokens, &b->error), ACCEL_OK, NULL);
        else
            expect(b, accel_queue_submit(b->queue, &list, 1, NULL, 0, &value, &b->error), ACCEL_OK, NULL);
        pthread_sigmask(SIG_SETMASK, NULL, &now);
        assert_int_equal(sigismember(&now, SIGUSR2), 0);
        assert_int_equal(fegetround(), FE_TONEAREST);
        assert_int_equal(accel_float_mode_get(), mode);
    }
    assert_int_equal(direct.runs, 4);
    assert_int_equal(changes_told, 1);
    b->context->log = (struct accel_log){0};
}

/* A driver that puts weights into its program, and that only a compile can ask whether it can: the source is read while
 * it compiles, the core keeps no copy and binds none, and steps are right. */
static void baked_weights_are_in_the_program(void **state)
{
    struct bench *b = *state;
    const struct accel_graph *graphs[1] = {b->sum.graph};
    struct accel_module *module = NULL;
    struct accel_weights *weights = NULL;
    struct accel_bind binds[2] = {{.value = b->sum.x, .buffer = b->x}, {.value = b->sum.y, .buffer = b->y}};
    struct accel_set *set = NULL;
    const float *y = accel_buffer_address(b->y);
    uint64_t tokens = 1, before = 0, after = 0, peak;
    direct.placement = ACCEL_BAKED;
    direct.claim_answer = ACCEL_CLAIM_LIKELY;
    expect(b, accel_module_create(b->device, graphs, 1, NULL, NULL, NULL, &module, &b->error), ACCEL_E_INVALID,
           "no source");
    assert_null(module);
    b->source.read_code = ACCEL_E_IO;
    expect(b, accel_module_create(b->device, graphs, 1, NULL, &b->source.source, NULL, &module, &b->error), ACCEL_E_IO,
           "told to fail");
    b->source.read_code = ACCEL_OK;
    /* It was likely, and the compiler says no after all. */
    direct.compile_code = ACCEL_E_REFUSED;
    expect(b, accel_module_create(b->device, graphs, 1, NULL, &b->source.source, NULL, &module, &b->error),
           ACCEL_E_REFUSED, "told to compile nothing");
    direct.compile_code = ACCEL_OK;
    b->source.reads = 0;
    expect(b, accel_module_create(b->device, graphs, 1, NULL, &b->source.source, NULL, &module, &b->error), ACCEL_OK,
           NULL);
    assert_int_equal(b->source.reads, 1);
    assert_int_equal(accel_memory_usage(b->context, ACCEL_MEMORY_WEIGHTS, &before, &peak), ACCEL_OK);
    expect(b, accel_weights_create(module, &b->source.source, NULL, &weights, &b->error), ACCEL_OK, NULL);
    assert_int_equal(accel_memory_usage(b->context, ACCEL_MEMORY_WEIGHTS, &after, &peak), ACCEL_OK);
    assert_int_equal(after, before);
    assert_int_equal(b->source.reads, 1);
    /* What the source holds later does not matter any more. */
    b->source.values[0] = 99;
    expect(b, accel_set_create(module, 0, b->queue, most, binds, 2, weights, &set, &b->error), ACCEL_OK, NULL);
    memset(accel_buffer_address(b->x), 0, 16);
    expect(b, accel_set_run(set, &tokens, &b->error), ACCEL_OK, NULL);
    assert_true(y[0] == 1.0f && y[3] == 4.0f);
    accel_set_free(set);
    accel_weights_free(weights);
    accel_module_free(module);
}

static void refuses_wrong_symbols(void **state)
{
    struct bench *b = *state;
    uint64_t tokens = 9;
    expect(b, accel_set_run(b->set, &tokens, &b->error), ACCEL_E_INVALID, "tokens is 9");
    tokens = 0;
    expect(b, accel_set_run(b->set, &tokens, &b->error), ACCEL_E_INVALID, "tokens is 0");
    expect(b, accel_set_run(b->set, NULL, &b->error), ACCEL_E_INVALID, "no values");
    expect(b, accel_set_run(NULL, &tokens, &b->error), ACCEL_E_INVALID, "the set is NULL");
    assert_int_equal(direct.runs, 0);
}

/* A step allocates nothing: neither counted memory nor anything else of the C library. */
static void a_step_allocates_nothing(void **state)
{
    struct bench *b = *state;
    uint64_t calls = atomic_load(&b->context->memory.calls);
    uint64_t tokens = 1;
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(accel_set_run(b->set, &tokens, &b->error), ACCEL_OK);
    assert_int_equal(atomic_load(&b->context->memory.calls), calls);
    assert_int_equal(direct.runs, 100);
}

static void failure_sticks_until_reset(void **state)
{
    struct bench *b = *state;
    uint64_t tokens = 1;
    uint64_t value = 0;
    uint64_t later = 0;
    uint64_t done = 99;
    struct accel_step step = {.size = sizeof(step), .kind = ACCEL_STEP_RUN, .set = b->set, .symbols = &tokens};
    const struct accel_step *list[1] = {&step};
    direct.run_code = ACCEL_E_LIMIT;
    expect(b, accel_queue_submit(b->queue, list, 1, NULL, 0, &value, &b->error), ACCEL_OK, NULL);
    assert_int_equal(value, 1);
    direct.run_code = ACCEL_OK;
    expect(b, accel_queue_submit(b->queue, list, 1, NULL, 0, &later, &b->error), ACCEL_OK, NULL);
    expect(b, accel_queue_wait(b->queue, value, 0, &b->error), ACCEL_E_LIMIT, "told to fail");
    expect(b, accel_queue_wait(b->queue, later, 0, &b->error), ACCEL_E_DEPENDS, "told to fail");
    expect(b, accel_set_run(b->set, &tokens, &b->error), ACCEL_E_DEPENDS, "not reset");
    expect(b, accel_queue_completed(b->queue, &done, &b->error), ACCEL_OK, NULL);
    assert_int_equal(done, 0);
    assert_int_equal(direct.runs, 1);
    expect(b, accel_queue_reset(b->queue, &b->error), ACCEL_OK, NULL);
    expect(b, accel_queue_wait(b->queue, later, 0, &b->error), ACCEL_E_DEPENDS, "before the queue was reset");
    expect(b, accel_set_run(b->set, &tokens, &b->error), ACCEL_OK, NULL);
    expect(b, accel_queue_completed(b->queue, &done, &b->error), ACCEL_OK, NULL);
    assert_int_equal(done, 4);
    expect(b, accel_queue_wait(b->queue, 5, 0, &b->error), ACCEL_E_INVALID, "not returned");
}

static void failure_travels_through_waits(void **state)
{
    struct bench *b = *state;
    struct accel_queue *other = NULL;
    uint64_t tokens = 1;
    uint64_t value = 0;
    struct accel_fence wait = {.queue = b->queue, .value = 1};
    struct accel_step fill = {.size = sizeof(fill), .kind = ACCEL_STEP_FILL, .target = b->x, .bytes = 8, .fill = 1};
    const struct accel_step *list[1] = {&fill};
    expect(b, accel_queue_create(b->device, NULL, &other, &b->error), ACCEL_OK, NULL);
    expect(b, accel_queue_submit(other, list, 1, &wait, 1, &value, &b->error), ACCEL_E_INVALID, "no submit returned");
    direct.run_code = ACCEL_E_IO;
    expect(b, accel_set_run(b->set, &tokens, &b->error), ACCEL_E_IO, "told to fail");
    expect(b, accel_queue_submit(other, list, 1, &wait, 1, &value, &b->error), ACCEL_OK, NULL);
    expect(b, accel_queue_wait(other, value, 0, &b->error), ACCEL_E_DEPENDS, "waits for");
    assert_int_equal(*(const char *)accel_buffer_address(b->x), 0);
    accel_queue_free(other);
}

static void cancel_is_honoured_between_steps(void **state)
{
    struct bench *b = *state;
    uint64_t tokens = 1;
    expect(b, accel_queue_cancel(b->queue, &b->error), ACCEL_OK, NULL);
    expect(b, accel_set_run(b->set, &tokens, &b->error), ACCEL_E_CANCELLED, "cancelled");
    expect(b, accel_set_run(b->set, &tokens, &b->error), ACCEL_E_DEPENDS, "cancelled");
    assert_int_equal(direct.runs, 0);
    expect(b, accel_queue_reset(b->queue, &b->error), ACCEL_OK, NULL);
    expect(b, accel_set_run(b->set, &tokens, &b->error), ACCEL_OK, NULL);
}

static void moves_bytes(void **state)
{
    struct bench *b = *state;
    char memory[8] = {0};
    char data[4] = {1, 2, 3, 4};
    uint64_t value = 0;
    struct accel_step steps[4] = {
        {.size = sizeof(*steps), .kind = ACCEL_STEP_FILL, .target = b->x, .bytes = 8, .fill = 9},
        {.size = sizeof(*steps),
         .kind = ACCEL_STEP_UPDATE,
         .target = b->x,
         .target_offset = 2,
         .bytes = 4,
         .data = data},
        {.size = sizeof(*steps),
         .kind = ACCEL_STEP_COPY,
         .source = b->x,
         .target = b->y,
         .target_offset = 1,
         .bytes = 7},
        {.size = sizeof(*steps), .kind = ACCEL_STEP_READ, .source = b->y, .bytes = 8, .memory = memory}};
    const struct accel_step *list[4] = {&steps[0], &steps[1], &steps[2], &steps[3]};
    const char wanted[8] = {0, 9, 9, 1, 2, 3, 4, 9};
    expect(b, accel_queue_submit(b->queue, list, 4, NULL, 0, &value, &b->error), ACCEL_OK, NULL);
    expect(b, accel_queue_wait(b->queue, value, UINT64_MAX, &b->error), ACCEL_OK, NULL);
    assert_memory_equal(memory, wanted, 8);
}

static void refuses_bad_steps(void **state)
{
    struct bench *b = *state;
    struct accel_step step = {.size = sizeof(step), .kind = ACCEL_STEP_FILL, .target = b->x, .bytes = 129};
    const struct accel_step *list[1] = {&step};
    uint64_t tokens = 1;
    uint64_t value = 7;
    expect(b, accel_queue_submit(b->queue, list, 1, NULL, 0, &value, &b->error), ACCEL_E_INVALID, "129 bytes");
    step.bytes = 1;
    step.target_offset = UINT64_MAX;
    expect(b, accel_queue_submit(b->queue, list, 1, NULL, 0, &value, &b->error), ACCEL_E_INVALID, "target buffer");
    step.target_offset = 0;
    step.fill = 256;
    expect(b, accel_queue_submit(b->queue, list, 1, NULL, 0, &value, &b->error), ACCEL_E_INVALID, "256");
    step.fill = 1;
    step.set = b->set;
    expect(b, accel_queue_submit(b->queue, list, 1, NULL, 0, &value, &b->error), ACCEL_E_INVALID, "does not use");
    step = (struct accel_step){.size = sizeof(step), .kind = 7};
    expect(b, accel_queue_submit(b->queue, list, 1, NULL, 0, &value, &b->error), ACCEL_E_INVALID, "unknown kind 7");
    step = (struct accel_step){.size = sizeof(step) - 8, .kind = ACCEL_STEP_RUN, .set = b->set, .symbols = &tokens};
    expect(b, accel_queue_submit(b->queue, list, 1, NULL, 0, &value, &b->error), ACCEL_E_INVALID, "accel_step.size");
    step = (struct accel_step){
        .size = sizeof(step), .kind = ACCEL_STEP_COPY, .source = b->x, .target = b->x, .target_offset = 4, .bytes = 8};
    expect(b, accel_queue_submit(b->queue, list, 1, NULL, 0, &value, &b->error), ACCEL_E_INVALID, "overlap");
    expect(b, accel_queue_submit(b->queue, list, 0, NULL, 0, &value, &b->error), ACCEL_E_INVALID, "0 steps");
    expect(b, accel_queue_wait(b->queue, 1, 0, &b->error), ACCEL_E_INVALID, "not returned");
}

static void refuses_bad_binds(void **state)
{
    struct bench *b = *state;
    struct accel_bind binds[3] = {{.value = b->sum.x, .buffer = b->x}, {.value = b->sum.y, .buffer = b->y}};
    struct accel_set *set = b->set;
    uint64_t nine[1] = {9};
    expect(b, accel_set_create(b->module, 1, b->queue, most, binds, 2, b->weights, &set, &b->error), ACCEL_E_INVALID,
           "no program 1");
    assert_null(set);
    expect(b, accel_set_create(b->module, 0, b->queue, nine, binds, 2, b->weights, &set, &b->error), ACCEL_E_INVALID,
           "tokens is 9");
    expect(b, accel_set_create(b->module, 0, b->queue, most, binds, 2, NULL, &set, &b->error), ACCEL_E_INVALID,
           "`weights` is NULL");
    expect(b, accel_set_create(b->module, 0, b->queue, most, binds, 1, b->weights, &set, &b->error), ACCEL_E_INVALID,
           "y is not bound");
    binds[1].offset = 64;
    expect(b, accel_set_create(b->module, 0, b->queue, most, binds, 2, b->weights, &set, &b->error), ACCEL_E_INVALID,
           "y needs 128 bytes at 64");
    binds[1].offset = 4;
    expect(b, accel_set_create(b->module, 0, b->queue, most, binds, 2, b->weights, &set, &b->error), ACCEL_E_INVALID,
           "multiple of 64");
    binds[1] = (struct accel_bind){.value = b->sum.y, .buffer = b->x};
    expect(b, accel_set_create(b->module, 0, b->queue, most, binds, 2, b->weights, &set, &b->error), ACCEL_E_INVALID,
           "overlap");
    binds[1] = (struct accel_bind){.value = b->sum.x, .buffer = b->y};
    expect(b, accel_set_create(b->module, 0, b->queue, most, binds, 2, b->weights, &set, &b->error), ACCEL_E_INVALID,
           "bound twice");
    binds[1] = (struct accel_bind){.value = b->sum.w, .buffer = b->y};
    expect(b, accel_set_create(b->module, 0, b->queue, most, binds, 2, b->weights, &set, &b->error), ACCEL_E_INVALID,
           "does not fit");
    binds[1] = (struct accel_bind){.value = b->sum.y};
    expect(b, accel_set_create(b->module, 0, b->queue, most, binds, 2, b->weights, &set, &b->error), ACCEL_E_INVALID,
           "to either a buffer or a state");
}

/* A block of scratch never moves: the first set keeps its address while a larger set makes a new block. */
static void scratch_is_stable(void **state)
{
    struct bench *b = *state;
    struct accel_set *sets[3] = {NULL};
    void *first;
    uint64_t now = 0;
    direct.scratch_bytes = 1000;
    expect(b, make_set(b, &sets[0]), ACCEL_OK, NULL);
    first = direct.scratch;
    assert_non_null(first);
    direct.scratch_bytes = 500;
    expect(b, make_set(b, &sets[1]), ACCEL_OK, NULL);
    assert_ptr_equal(direct.scratch, first);
    direct.scratch_bytes = 2000;
    expect(b, make_set(b, &sets[2]), ACCEL_OK, NULL);
    assert_ptr_not_equal(direct.scratch, first);
    assert_int_equal(accel_memory_usage(b->context, ACCEL_MEMORY_SCRATCH, &now, NULL), ACCEL_OK);
    assert_int_equal(now, 3000);
    accel_set_free(sets[0]);
    accel_set_free(sets[1]);
    assert_int_equal(accel_memory_usage(b->context, ACCEL_MEMORY_SCRATCH, &now, NULL), ACCEL_OK);
    assert_int_equal(now, 2000);
    accel_set_free(sets[2]);
}

static int32_t map_part(const struct accel_source *source, const char *key, uint32_t plane, uint64_t offset,
                        uint64_t bytes, const void **out_address, struct accel_error *error)
{
    (void)source;
    (void)error;
    assert_int_equal(plane + offset + bytes, 0);
    *out_address = key;
    return ACCEL_OK;
}

static void weights_are_copied_where_they_must(void **state)
{
    struct bench *b = *state;
    struct sum_source odd;
    struct accel_weights *weights = NULL;
    struct accel_module *module = NULL;
    const struct accel_graph *graphs[1] = {b->sum.graph};
    uint64_t now = 1;
    assert_int_equal(accel_memory_usage(b->context, ACCEL_MEMORY_WEIGHTS, &now, NULL), ACCEL_OK);
    assert_int_equal(now, 0);
    direct.alignment = 64;
    expect(b, accel_module_create(b->device, graphs, 1, NULL, NULL, NULL, &module, &b->error), ACCEL_OK, NULL);
    sum_source_make(&odd, 1);
    expect(b, accel_weights_create(module, &odd.source, NULL, &weights, &b->error), ACCEL_OK, NULL);
    assert_int_equal(odd.reads, 1);
    assert_int_equal(accel_memory_usage(b->context, ACCEL_MEMORY_WEIGHTS, &now, NULL), ACCEL_OK);
    assert_int_equal(now, 16);
    accel_weights_free(weights);
    /* What the source maps in parts is not copied, unless it has to be aligned. */
    odd.source.map_part = map_part;
    expect(b, accel_weights_create(module, &odd.source, NULL, &weights, &b->error), ACCEL_OK, NULL);
    assert_int_equal(odd.reads, 2);
    accel_weights_free(weights);
    accel_module_free(module);
    direct.alignment = 1;
    odd.no_map = 1;
    expect(b, accel_module_create(b->device, graphs, 1, NULL, NULL, NULL, &module, &b->error), ACCEL_OK, NULL);
    expect(b, accel_weights_create(module, &odd.source, NULL, &weights, &b->error), ACCEL_OK, NULL);
    assert_int_equal(odd.reads, 2);
    assert_int_equal(weights->planes[0].kind, ACCEL_BIND_SOURCE);
    assert_int_equal(accel_memory_usage(b->context, ACCEL_MEMORY_WEIGHTS, &now, NULL), ACCEL_OK);
    assert_int_equal(now, 0);
    accel_weights_free(weights);
    odd.source.map_part = NULL;
    odd.read_code = ACCEL_E_IO;
    expect(b, accel_weights_create(module, &odd.source, NULL, &weights, &b->error), ACCEL_E_IO, "told to fail");
    assert_null(weights);
    odd.no_map = 0;
    odd.map_bytes = 15;
    expect(b, accel_weights_create(module, &odd.source, NULL, &weights, &b->error), ACCEL_E_CORRUPT, "15 bytes");
    odd.source.read = NULL;
    expect(b, accel_weights_create(module, &odd.source, NULL, &weights, &b->error), ACCEL_E_INVALID, "read");
    accel_module_free(module);
}

static void states_live_in_host_memory(void **state)
{
    struct bench *b = *state;
    struct accel_state_part parts[2] = {{.type = ACCEL_F32, .row = 2}, {.type = ACCEL_F16, .row = 3}};
    struct accel_state_change changes[2] = {{.kind = ACCEL_STATE_COPY, .from = 0, .to = 1, .count = 3},
                                            {.kind = ACCEL_STATE_RESET}};
    struct accel_state *kv = NULL;
    struct accel_step step = {.size = sizeof(step), .kind = ACCEL_STEP_STATE, .changes = changes, .change_count = 1};
    const struct accel_step *list[1] = {&step};
    uint64_t value = 0;
    float *rows;
    expect(b, accel_state_create(b->device, parts, 2, 4, &kv, &b->error), ACCEL_OK, NULL);
    step.state = kv;
    rows = kv->memory[0];
    for (uint32_t i = 0; i < 8; i++)
        rows[i] = (float)i;
    expect(b, accel_queue_submit(b->queue, list, 1, NULL, 0, &value, &b->error), ACCEL_OK, NULL);
    assert_true(rows[2] == 0.0f && rows[3] == 1.0f && rows[7] == 5.0f);
    changes[0].count = 4;
    expect(b, accel_queue_submit(b->queue, list, 1, NULL, 0, &value, &b->error), ACCEL_E_INVALID, "outside of the 4");
    step.changes = &changes[1];
    expect(b, accel_queue_submit(b->queue, list, 1, NULL, 0, &value, &b->error), ACCEL_OK, NULL);
    assert_true(rows[7] == 0.0f);
    accel_state_free(kv);
    parts[1].row = 0;
    expect(b, accel_state_create(b->device, parts, 2, 4, &kv, &b->error), ACCEL_E_INVALID, "part of a state");
    parts[1].row = UINT64_MAX / 2;
    expect(b, accel_state_create(b->device, parts, 2, 4, &kv, &b->error), ACCEL_E_LIMIT, "do not fit");
    assert_null(kv);
}

static void lends_threads(void **state)
{
    struct bench *b = *state;
    struct accel_queue_options options = {.size = sizeof(options), .threads = 3};
    struct accel_bind binds[2] = {{.value = b->sum.x, .buffer = b->x}, {.value = b->sum.y, .buffer = b->y}};
    struct accel_queue *queue = NULL;
    struct accel_set *set = NULL;
    uint64_t tokens = 1;
    expect(b, accel_queue_create(b->device, &options, &queue, &b->error), ACCEL_OK, NULL);
    expect(b, accel_set_create(b->module, 0, queue, most, binds, 2, b->weights, &set, &b->error), ACCEL_OK, NULL);
    expect(b, accel_set_run(set, &tokens, &b->error), ACCEL_OK, NULL);
    assert_int_equal(direct.threads_seen, 3);
    accel_queue_free(queue);
    accel_set_free(set);
    options.threads = 1u << 20;
    expect(b, accel_queue_create(b->device, &options, &queue, &b->error), ACCEL_E_LIMIT, "threads");
}

static int32_t run_in_turn(const struct accel_team *team, uint32_t threads, accel_team_function function,
                           void *argument, struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)team, (void)error;
    for (uint32_t thread = 0; thread < threads; thread++)
        function(argument, thread, threads);
    return ACCEL_OK;
}

static void uses_threads_of_the_application(void **state)
{
    struct bench *b = *state;
    struct accel_team team = {.size = sizeof(team), .threads = 5, .run = run_in_turn};
    struct accel_queue_options options = {.size = sizeof(options), .team = &team};
    struct accel_bind binds[2] = {{.value = b->sum.x, .buffer = b->x}, {.value = b->sum.y, .buffer = b->y}};
    struct accel_queue *queue = NULL;
    struct accel_set *set = NULL;
    uint64_t tokens = 1;
    expect(b, accel_queue_create(b->device, &options, &queue, &b->error), ACCEL_OK, NULL);
    expect(b, accel_set_create(b->module, 0, queue, most, binds, 2, b->weights, &set, &b->error), ACCEL_OK, NULL);
    expect(b, accel_set_run(set, &tokens, &b->error), ACCEL_OK, NULL);
    assert_int_equal(direct.threads_seen, 5);
    accel_queue_free(queue);
    accel_set_free(set);
    options.threads = 2;
    expect(b, accel_queue_create(b->device, &options, &queue, &b->error), ACCEL_E_INVALID, "must be 0");
    options.threads = 0;
    team.run = NULL;
    expect(b, accel_queue_create(b->device, &options, &queue, &b->error), ACCEL_E_INVALID, "a team needs");
}

static void driver_failures_are_ordinary(void **state)
{
    struct bench *b = *state;
    const struct accel_graph *graphs[1] = {b->sum.graph};
    struct accel_device *device = b->device;
    struct accel_module *module = b->module;
    struct accel_set *set = b->set;
    direct.open_code = ACCEL_E_NOT_FOUND;
    expect(b, accel_device_open(b->context, "direct", NULL, 0, &device, &b->error), ACCEL_E_NOT_FOUND,
           "without an error text");
    assert_null(device);
    direct.open_code = 5;
    expect(b, accel_device_open(b->context, "direct", NULL, 0, &device, &b->error), ACCEL_E_INTERNAL, "returned 5");
    direct.no_handle = 1;
    expect(b, accel_device_open(b->context, "direct", NULL, 0, &device, &b->error), ACCEL_E_INTERNAL,
           "without a handle");
    direct.compile_code = ACCEL_E_REFUSED;
    expect(b, accel_module_create(b->device, graphs, 1, NULL, NULL, NULL, &module, &b->error), ACCEL_E_REFUSED, "told");
    assert_null(module);
    direct.silent_claim = 1;
    expect(b, accel_module_create(b->device, graphs, 1, NULL, NULL, NULL, &module, &b->error), ACCEL_E_REFUSED,
           "has not claimed node add");
    direct.silent_claim = 0;
    direct.claim_answer = ACCEL_CLAIM_NO;
    expect(b, accel_module_create(b->device, graphs, 1, NULL, NULL, NULL, &module, &b->error), ACCEL_E_REFUSED,
           "does not support node add");
    direct.claim_answer = 77;
    expect(b, accel_module_create(b->device, graphs, 1, NULL, NULL, NULL, &module, &b->error), ACCEL_E_INVALID, "77");
    direct.set_code = ACCEL_E_MEMORY;
    expect(b, make_set(b, &set), ACCEL_E_MEMORY, "no set");
    assert_null(set);
}

static void settings_are_typed(void **state)
{
    struct bench *b = *state;
    struct accel_device *device = NULL;
    struct accel_named_value given = {.key = "direct.level", .value = "7", .origin = "test"};
    expect(b, accel_device_open(b->context, "direct", &given, 1, &device, &b->error), ACCEL_OK, NULL);
    assert_string_equal(direct.setting.name, "level");
    assert_int_equal(direct.setting.integer, 7);
    accel_device_free(device);
    given.value = "10";
    expect(b, accel_device_open(b->context, "direct", &given, 1, &device, &b->error), ACCEL_E_INVALID, "0 to 9");
    given.value = "x";
    expect(b, accel_device_open(b->context, "direct", &given, 1, &device, &b->error), ACCEL_E_INVALID, "not a number");
    given = (struct accel_named_value){.key = "direct.mode", .value = "fas", .origin = "test"};
    expect(b, accel_device_open(b->context, "direct", &given, 1, &device, &b->error), ACCEL_E_INVALID,
           "\"fas\" is none of: slow fast; did you mean \"fast\"?");
    given.value = "";
    expect(b, accel_device_open(b->context, "direct", &given, 1, &device, &b->error), ACCEL_E_INVALID, "slow fast");
    given.value = "Fast";
    expect(b, accel_device_open(b->context, "direct", &given, 1, &device, &b->error), ACCEL_OK, NULL);
    assert_string_equal(direct.setting_text, "fast");
    accel_device_free(device);
    given.key = "direct.none";
    expect(b, accel_device_open(b->context, "direct", &given, 1, &device, &b->error), ACCEL_E_NOT_FOUND, "no such");
    given.key = "other.none";
    expect(b, accel_device_open(b->context, "direct", &given, 1, &device, &b->error), ACCEL_OK, NULL);
    accel_device_free(device);
    expect(b, accel_device_open(b->context, "nothing", NULL, 0, &device, &b->error), ACCEL_E_NOT_FOUND, "nothing");
}

static void a_child_cannot_use_objects(void **state)
{
    struct bench *b = *state;
    uint64_t tokens = 1;
    int status = -1;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct accel_error error = {0};
        int32_t code = accel_set_run(b->set, &tokens, &error);
        accel_set_free(b->set);
        accel_device_free(b->device);
        if (code == ACCEL_E_FORKED && accel_queue_reset(b->queue, NULL) == ACCEL_E_FORKED &&
            accel_context_free(b->context, NULL) == ACCEL_E_FORKED && accel_buffer_address(b->x) == NULL)
            _exit(0);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    expect(b, accel_set_run(b->set, &tokens, &b->error), ACCEL_OK, NULL);
}

static void a_used_context_is_busy(void **state)
{
    struct bench *b = *state;
    expect(b, accel_context_free(b->context, &b->error), ACCEL_E_BUSY, "alive");
    expect(b, accel_context_discover(b->context, &b->error), ACCEL_E_BUSY, "alive");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_a_step, setup, teardown),
        cmocka_unit_test_setup_teardown(a_step_leaves_its_thread_as_it_was, setup, teardown),
        cmocka_unit_test_setup_teardown(baked_weights_are_in_the_program, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_wrong_symbols, setup, teardown),
        cmocka_unit_test_setup_teardown(a_step_allocates_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(failure_sticks_until_reset, setup, teardown),
        cmocka_unit_test_setup_teardown(failure_travels_through_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(cancel_is_honoured_between_steps, setup, teardown),
        cmocka_unit_test_setup_teardown(moves_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_bad_steps, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_bad_binds, setup, teardown),
        cmocka_unit_test_setup_teardown(scratch_is_stable, setup, teardown),
        cmocka_unit_test_setup_teardown(weights_are_copied_where_they_must, setup, teardown),
        cmocka_unit_test_setup_teardown(states_live_in_host_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(lends_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(uses_threads_of_the_application, setup, teardown),
        cmocka_unit_test_setup_teardown(driver_failures_are_ordinary, setup, teardown),
        cmocka_unit_test_setup_teardown(settings_are_typed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_child_cannot_use_objects, setup, teardown),
        cmocka_unit_test_setup_teardown(a_used_context_is_busy, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
