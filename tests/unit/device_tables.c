/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables over a driver whose time stands still: its objects freed in every order while their work is pending, and each
 * call of each of its slots failing with each code. Whatever happens, no object is freed under a step in flight or
 * before those that were made of it, nothing is left behind, and what fails says so once.
 */
#include <stdio.h>

#include "core/registry/registry.h"
#include "core/runtime/object.h"
#include "tests/mock/async.h"
#include "tests/unit/device_support.h"

enum part { DEVICE, MODULE, WEIGHTS, QUEUE, BUFFERS, STATE, SET, PARTS };

struct room {
    struct accel_context *context;
    struct sum_graph sum;
    struct sum_source source;
    struct accel_device *device;
    struct accel_module *module;
    struct accel_weights *weights;
    struct accel_queue *queue;
    struct accel_queue *other;
    struct accel_buffer *x;
    struct accel_buffer *y;
    struct accel_state *state;
    struct accel_set *set;
    uint64_t value; /* of the last submit to `queue` */
    struct accel_error error;
};

static const uint64_t one[1] = {1};

/* ---- stages of a life ---- */

static int32_t do_attach(struct room *r)
{
    return accel_context_attach_driver(r->context, &async_driver, &r->error);
}

static int32_t do_open(struct room *r)
{
    return accel_device_open(r->context, "async:a0", NULL, 0, &r->device, &r->error);
}

static int32_t do_compile(struct room *r)
{
    return accel_module_create(r->device, &r->sum.graph, 1, NULL, NULL, NULL, &r->module, &r->error);
}

static int32_t do_weights(struct room *r)
{
    return accel_weights_create(r->module, &r->source.source, NULL, &r->weights, &r->error);
}

static int32_t do_queue(struct room *r)
{
    return accel_queue_create(r->device, NULL, &r->queue, &r->error);
}

static int32_t do_other(struct room *r)
{
    return accel_queue_create(r->device, NULL, &r->other, &r->error);
}

static int32_t do_x(struct room *r)
{
    return accel_buffer_create(r->device, 128, 0, &r->x, &r->error);
}

static int32_t do_y(struct room *r)
{
    return accel_buffer_create(r->device, 128, 0, &r->y, &r->error);
}

static int32_t do_state(struct room *r)
{
    static const struct accel_state_part part = {.type = ACCEL_F32, .row = 2};
    return accel_state_create(r->device, &part, 1, 4, &r->state, &r->error);
}

static int32_t do_set(struct room *r)
{
    static const uint64_t most[1] = {8};
    struct accel_bind binds[2] = {{.value = r->sum.x, .buffer = r->x}, {.value = r->sum.y, .buffer = r->y}};
    return accel_set_create(r->module, 0, r->queue, most, binds, 2, r->weights, &r->set, &r->error);
}

static int32_t submit(struct room *r, struct accel_queue *queue, const struct accel_step *step,
                      const struct accel_fence *wait, uint64_t *out_value)
{
    return accel_queue_submit(queue, &step, 1, wait, wait != NULL, out_value, &r->error);
}

static int32_t do_submit_run(struct room *r)
{
    struct accel_step step = {.size = sizeof(step), .kind = ACCEL_STEP_RUN, .set = r->set, .symbols = one};
    return submit(r, r->queue, &step, NULL, &r->value);
}

static int32_t do_submit_state(struct room *r)
{
    struct accel_state_change change = {.kind = ACCEL_STATE_RESET};
    struct accel_step step = {
        .size = sizeof(step), .kind = ACCEL_STEP_STATE, .state = r->state, .changes = &change, .change_count = 1};
    return submit(r, r->queue, &step, NULL, &r->value);
}

static int32_t do_submit_copy(struct room *r)
{
    struct accel_step step = {
        .size = sizeof(step), .kind = ACCEL_STEP_COPY, .source = r->x, .target = r->y, .bytes = 16};
    return submit(r, r->queue, &step, NULL, &r->value);
}

static int32_t do_submit_other(struct room *r)
{
    struct accel_fence wait = {.queue = r->queue, .value = r->value};
    struct accel_step step = {.size = sizeof(step), .kind = ACCEL_STEP_FILL, .target = r->y, .bytes = 16};
    return submit(r, r->other, &step, &wait, NULL);
}

static int32_t do_wait(struct room *r)
{
    return accel_queue_wait(r->queue, r->value, UINT64_MAX, &r->error);
}

static int32_t do_completed(struct room *r)
{
    uint64_t done = 0;
    return accel_queue_completed(r->queue, &done, &r->error);
}

static int32_t do_run(struct room *r)
{
    return accel_set_run(r->set, one, &r->error);
}

static int32_t do_cancel(struct room *r)
{
    return accel_queue_cancel(r->queue, &r->error);
}

static int32_t do_reset(struct room *r)
{
    return accel_queue_reset(r->queue, &r->error);
}

/* All of a life; the first ones make it, in an order in which each finds what it needs. */
static const struct stage {
    const char *name;
    int32_t (*run)(struct room *r);
} stages[] = {
    {"attach", do_attach},
    {"open", do_open},
    {"compile", do_compile},
    {"weights", do_weights},
    {"queue", do_queue},
    {"other", do_other},
    {"x", do_x},
    {"y", do_y},
    {"state", do_state},
    {"set", do_set},
    {"submit run", do_submit_run},
    {"submit state", do_submit_state},
    {"submit copy", do_submit_copy},
    {"submit to the other", do_submit_other},
    {"wait", do_wait},
    {"completed", do_completed},
    {"run", do_run},
    {"cancel", do_cancel},
    {"reset", do_reset},
    {"run again", do_run},
};

#define STAGES (sizeof(stages) / sizeof(stages[0]))
#define MAKING 10u

static void free_part(struct room *r, uint32_t part)
{
    switch (part) {
    case DEVICE:
        accel_device_free(r->device);
        break;
    case MODULE:
        accel_module_free(r->module);
        break;
    case WEIGHTS:
        accel_weights_free(r->weights);
        break;
    case QUEUE:
        accel_queue_free(r->queue);
        break;
    case BUFFERS:
        accel_buffer_free(r->x);
        accel_buffer_free(r->y);
        break;
    case STATE:
        accel_state_free(r->state);
        break;
    default:
        accel_set_free(r->set);
        break;
    }
}

/* Everything is freed: there are no objects, and nobody has sinned. */
static void check_end(const struct room *r, uint32_t alive)
{
    assert_int_equal(atomic_load(&r->context->children), 0);
    assert_int_equal(async.alive, alive);
    assert_int_equal(async.in_flight, 0);
    assert_int_equal(async.devices, 0);
    assert_int_equal(async.sins, 0);
}

static void forget(struct room *r)
{
    struct room clean = {.context = r->context, .sum = r->sum, .source = r->source};
    *r = clean;
}

static int setup(void **state)
{
    static struct room room;
    memset(&room, 0, sizeof(room));
    async_reset();
    room.context = context_with(NULL);
    sum_graph_make(&room.sum);
    sum_source_make(&room.source, 0);
    *state = &room;
    return 0;
}

static int teardown(void **state)
{
    struct room *r = *state;
    accel_registry_forget(r->context);
    assert_int_equal(async.alive, 0);
    assert_int_equal(atomic_load(&r->context->memory.blocks), 0);
    assert_int_equal(accel_context_free(r->context, NULL), ACCEL_OK);
    accel_builder_free(r->sum.builder);
    return 0;
}

/* ---- lifetimes ---- */

static void make(struct room *r, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (stages[i].run(r) != ACCEL_OK)
            fail_msg("%s: %s", stages[i].name, r->error.text);
}

/* The next order of numbers, as in a dictionary. False after the last. */
static bool next_order(uint32_t order[PARTS])
{
    uint32_t i = PARTS - 1;
    uint32_t j = PARTS - 1;
    uint32_t kept;
    while (i > 0 && order[i - 1] > order[i])
        i--;
    if (i == 0)
        return false;
    while (order[j] < order[i - 1])
        j--;
    kept = order[i - 1], order[i - 1] = order[j], order[j] = kept;
    for (j = PARTS - 1; i < j; i++, j--)
        kept = order[i], order[i] = order[j], order[j] = kept;
    return true;
}

/* How many submits are pending, and whether time goes on between the frees. */
struct life {
    uint32_t submits;
    bool ticks;
};

static void live(struct room *r, const uint32_t order[PARTS], const struct life *life)
{
    make(r, 1, MAKING + life->submits);
    for (uint32_t i = 0; i < PARTS; i++) {
        if (life->ticks)
            async_tick();
        assert_int_equal(accel_context_free(r->context, NULL), ACCEL_E_BUSY);
        free_part(r, order[i]);
    }
    accel_queue_free(r->other);
    check_end(r, 1); /* the instance */
    forget(r);
}

static void freed_in_every_order(void **state)
{
    static const struct life lives[] = {{4, false}, {3, true}, {0, false}};
    struct room *r = *state;
    uint32_t order[PARTS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < PARTS; i++)
        order[i] = i;
    make(r, 0, 1);
    do {
        live(r, order, &lives[0]);
        if (count % 5 == 0)
            live(r, order, &lives[1 + count % 2]);
        count++;
    } while (next_order(order));
    assert_int_equal(count, 5040);
}

/* A set keeps its queue. A step that fails after the caller has freed the queue holds nothing for ever. */
static void a_set_outlives_its_queue(void **state)
{
    struct room *r = *state;
    make(r, 0, MAKING);
    accel_queue_free(r->queue);
    accel_queue_free(r->other);
    assert_int_equal(do_run(r), ACCEL_OK);
    async.step_code = ACCEL_E_IO;
    assert_int_equal(do_run(r), ACCEL_E_IO);
    for (uint32_t part = 0; part < PARTS; part++)
        if (part != QUEUE)
            free_part(r, part);
    check_end(r, 1);
    forget(r);
}

/* ---- failures ---- */

/* Nobody has cancelled what these stages do. */
static int32_t wanted(int32_t code)
{
    return code > 0 || code < ACCEL_E_INTERNAL || code == ACCEL_E_CANCELLED ? ACCEL_E_INTERNAL : code;
}

/* What the core asks for itself, and can do without. */
static bool is_spared(const struct stage *stage)
{
    return strstr(async.fail_in, "free") != NULL ||
           (strcmp(async.fail_in, "completed") == 0 && stage->run != do_completed) ||
           (strcmp(async.fail_in, "map") == 0 && async.fail_code == ACCEL_E_UNSUPPORTED);
}

static void check_failure(const struct room *r, const struct stage *stage, int32_t code)
{
    if (is_spared(stage) ? code != ACCEL_OK : code != wanted(async.fail_code))
        fail_msg("%s: slot %s (call %u) answered %d, and the core %s: %s", stage->name, async.fail_in, async.fail_at,
                 async.fail_code, accel_error_name(code), r->error.text);
    if (code == ACCEL_OK)
        return;
    assert_int_equal(r->error.code, code);
    if (async.fail_quiet ? strstr(r->error.text, "async") == NULL : r->error.text[0] == '\0')
        fail_msg("%s: the error says \"%s\"", stage->name, r->error.text);
}

/* What a lost device may still be asked: what has become of its work. */
static bool tells_more(const struct stage *stage)
{
    return stage->run == do_wait || stage->run == do_completed || stage->run == do_cancel;
}

/* One life, in which a stage that fails is tried again. False when it ended before call `fail_at`. */
static bool live_with_failure(struct room *r, uint32_t at, int32_t code, bool quiet)
{
    bool lost = false;
    bool failed;
    async_reset();
    async.fail_at = at;
    async.fail_code = code;
    async.fail_quiet = quiet;
    for (size_t i = 0; i < STAGES && !lost; i++) {
        bool before = async.fail_in != NULL;
        int32_t answer = stages[i].run(r);
        if (before && answer != ACCEL_OK)
            fail_msg("%s after a failure of %s: %s", stages[i].name, async.fail_in, r->error.text);
        if (before || async.fail_in == NULL)
            continue;
        check_failure(r, &stages[i], answer);
        memset(&r->error, 0, sizeof(r->error));
        lost = answer == ACCEL_E_DEVICE_LOST && i > 1;
        if (answer == ACCEL_OK)
            continue;
        answer = stages[i].run(r);
        if (answer != (lost ? ACCEL_E_DEVICE_LOST : ACCEL_OK) && !(lost && tells_more(&stages[i])))
            fail_msg("%s again after %s failed with %d: %d, %s", stages[i].name, async.fail_in, code, answer,
                     r->error.text);
    }
    for (uint32_t part = PARTS; part > 0; part--)
        free_part(r, part - 1);
    accel_queue_free(r->other);
    accel_registry_forget(r->context);
    failed = async.fail_in != NULL;
    check_end(r, 0);
    assert_int_equal(atomic_load(&r->context->memory.blocks), 0);
    forget(r);
    return failed;
}

static void every_call_fails_with_every_code(void **state)
{
    static const int32_t strange[] = {ACCEL_E_INTERNAL - 1, -1000, 1, INT32_MIN, INT32_MAX};
    int32_t code = 0;
    for (uint32_t i = 0; code != INT32_MAX; i++) {
        uint32_t at = 1;
        code = i < (uint32_t)-ACCEL_E_INTERNAL ? -1 - (int32_t)i : strange[i - (uint32_t)-ACCEL_E_INTERNAL];
        while (live_with_failure(*state, at, code, at % 2 == 0) && live_with_failure(*state, at, code, at % 2 != 0))
            at++;
        assert_true(at > 40);
    }
}

/* ---- deadlines ---- */

/* What has happened to a value, and what waits of no time, some time and no end answer. */
static void deadlines(void **state)
{
    static const struct row {
        const char *name;
        int32_t step_code;
        uint32_t cancelled, lost, ticks;
        int32_t soon, at_last;
    } rows[] = {
        {"pending", 0, 0, 0, 0, ACCEL_E_TIMEOUT, ACCEL_OK},
        {"done", 0, 0, 0, 1, ACCEL_OK, ACCEL_OK},
        {"going to fail", ACCEL_E_IO, 0, 0, 0, ACCEL_E_TIMEOUT, ACCEL_E_IO},
        {"failed", ACCEL_E_IO, 0, 0, 1, ACCEL_E_IO, ACCEL_E_IO},
        {"cancelled, not ended", 0, 1, 0, 0, ACCEL_E_TIMEOUT, ACCEL_E_CANCELLED},
        {"cancelled", 0, 1, 0, 1, ACCEL_E_CANCELLED, ACCEL_E_CANCELLED},
        {"lost, not ended", 0, 0, 1, 0, ACCEL_E_TIMEOUT, ACCEL_E_DEVICE_LOST},
        {"lost", 0, 0, 1, 1, ACCEL_E_DEVICE_LOST, ACCEL_E_DEVICE_LOST},
    };
    struct room *r = *state;
    make(r, 0, 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        uint32_t pending;
        make(r, 1, MAKING + 1);
        async.step_code = row->step_code;
        async.lost = row->lost;
        if (row->cancelled)
            assert_int_equal(do_cancel(r), ACCEL_OK);
        for (uint32_t t = 0; t < row->ticks; t++)
            async_tick();
        pending = async.in_flight;
        for (uint64_t deadline = 0; deadline < 2000; deadline += 1000) {
            int32_t code = accel_queue_wait(r->queue, r->value, deadline, NULL);
            if (code != row->soon || async.in_flight != pending)
                fail_msg("%s, a wait of %u ns: %s", row->name, (unsigned)deadline, accel_error_name(code));
        }
        assert_int_equal(do_wait(r), row->at_last);
        for (uint32_t part = 0; part < PARTS; part++)
            free_part(r, part);
        accel_queue_free(r->other);
        check_end(r, 1);
        async.lost = 0;
        forget(r);
    }
}

/* A device that has said once that it is lost is not asked for anything more, and another one goes on. */
static void a_loss_stays(void **state)
{
    struct room *r = *state;
    struct accel_device *again = NULL;
    struct accel_buffer *buffer = NULL;
    make(r, 0, MAKING + 1);
    async.lost = 1;
    assert_int_equal(do_wait(r), ACCEL_E_DEVICE_LOST);
    async.lost = 0; /* whatever the driver says from here on */
    for (size_t i = 2; i < STAGES; i++) {
        struct room dead = *r;
        uint32_t calls = async.calls;
        if (tells_more(&stages[i]))
            continue;
        memset(&dead.error, 0, sizeof(dead.error));
        if (stages[i].run(&dead) != ACCEL_E_DEVICE_LOST || strstr(dead.error.text, "lost") == NULL)
            fail_msg("%s on a lost device: %s", stages[i].name, dead.error.text);
        if (stages[i].run != do_reset)
            assert_int_equal(async.calls, calls);
    }
    assert_int_equal(accel_device_open(r->context, "async:a0", NULL, 0, &again, NULL), ACCEL_OK);
    assert_int_equal(accel_buffer_create(again, 64, 0, &buffer, NULL), ACCEL_OK);
    accel_buffer_free(buffer);
    accel_device_free(again);
    for (uint32_t part = 0; part < PARTS; part++)
        free_part(r, part);
    accel_queue_free(r->other);
    check_end(r, 1);
    forget(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(freed_in_every_order, setup, teardown),
        cmocka_unit_test_setup_teardown(a_set_outlives_its_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(every_call_fails_with_every_code, setup, teardown),
        cmocka_unit_test_setup_teardown(deadlines, setup, teardown),
        cmocka_unit_test_setup_teardown(a_loss_stays, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
