/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of the asynchronous mock: a ring of submits, executed one by one when the clock ticks. */
#include <string.h>

#include "tests/mock/async_internal.h"

/* All queues, so that a tick finds those that can go on. */
static struct async_queue *queues[ASYNC_QUEUES];

/* ---- what a step does ---- */

static char *bytes_of(struct accel_driver_buffer *buffer, uint64_t offset)
{
    return ((struct async_buffer *)buffer)->memory + offset;
}

static void add(const struct async_set *set, uint64_t tokens)
{
    const float *x = (const float *)(const void *)set->x->memory;
    float *y = (float *)(void *)set->y->memory;
    for (uint64_t i = 0; i < tokens * set->width; i++)
        y[i] = x[i] + set->w->memory[i % set->width];
}

static void change_state(struct async_state *state, const struct accel_state_change *change)
{
    if (change->kind == ACCEL_STATE_RESET)
        memset(state->memory, 0, state->slots * state->row_bytes);
    else
        memmove(state->memory + change->to * state->row_bytes, state->memory + change->from * state->row_bytes,
                change->count * state->row_bytes);
}

static void run_step(struct async_step *kept)
{
    struct accel_driver_step *step = &kept->step;
    async.ran++;
    switch (step->kind) {
    case ACCEL_STEP_RUN:
        add((struct async_set *)step->set, kept->symbol);
        break;
    case ACCEL_STEP_COPY:
        memcpy(bytes_of(step->target, step->target_offset), bytes_of(step->source, step->source_offset), step->bytes);
        break;
    case ACCEL_STEP_UPDATE:
        memcpy(bytes_of(step->target, step->target_offset), kept->data, step->bytes);
        break;
    case ACCEL_STEP_READ:
        memcpy(step->memory, bytes_of(step->source, step->source_offset), step->bytes);
        break;
    case ACCEL_STEP_FILL:
        memset(bytes_of(step->target, step->target_offset), (int)step->fill, step->bytes);
        break;
    default:
        change_state((struct async_state *)step->state, &kept->change);
        break;
    }
}

/* Counts the users of what a step names, up and down. */
static void use(const struct accel_driver_step *step, uint32_t by)
{
    if (step->set != NULL) {
        struct async_set *set = (struct async_set *)step->set;
        set->users += by;
        set->x->users += by;
        set->y->users += by;
    }
    if (step->source != NULL)
        ((struct async_buffer *)step->source)->users += by;
    if (step->target != NULL)
        ((struct async_buffer *)step->target)->users += by;
    if (step->state != NULL)
        ((struct async_state *)step->state)->users += by;
}

/* ---- the clock ---- */

static int is_over(const struct accel_driver_fence *wait, int *out_failed)
{
    const struct async_queue *queue = (const struct async_queue *)wait->queue;
    *out_failed |= queue->failed != 0 && wait->value >= queue->failed;
    return queue->completed >= wait->value || *out_failed;
}

static void end_submit(struct async_queue *queue, int32_t code)
{
    struct async_submit *submit = &queue->submits[queue->first];
    for (uint32_t i = 0; i < submit->step_count; i++) {
        if (code == ACCEL_OK)
            run_step(&submit->steps[i]);
        use(&submit->steps[i].step, (uint32_t)-1);
    }
    if (code == ACCEL_OK) {
        queue->completed = submit->value;
    } else if (queue->failed == 0) {
        queue->failed = submit->value;
        queue->failed_code = code;
    }
    queue->first = (queue->first + 1) % ASYNC_IN_FLIGHT;
    queue->count--;
    async.in_flight--;
}

static uint32_t tick_queue(struct async_queue *queue)
{
    const struct async_submit *submit = &queue->submits[queue->first];
    int32_t code = ACCEL_OK;
    int failed = 0;
    if (queue->count == 0)
        return 0;
    for (uint32_t i = 0; i < submit->wait_count; i++)
        if (!is_over(&submit->waits[i], &failed))
            return 0;
    if (async.lost)
        code = ACCEL_E_DEVICE_LOST;
    else if (queue->failed != 0 || failed)
        code = ACCEL_E_DEPENDS;
    else if (queue->cancelled)
        code = ACCEL_E_CANCELLED;
    else if (async.step_code != ACCEL_OK) {
        code = async.step_code;
        async.step_code = ACCEL_OK;
    }
    end_submit(queue, code);
    return 1;
}

uint32_t async_tick(void)
{
    for (uint32_t i = 0; i < ASYNC_QUEUES; i++)
        if (queues[i] != NULL && tick_queue(queues[i]))
            return 1;
    return 0;
}

/* ---- slots ---- */

static int32_t queue_free(struct accel_driver_queue *base)
{
    struct async_queue *queue = (struct async_queue *)base;
    async.sins += queue->count != 0;
    for (uint32_t i = 0; i < ASYNC_QUEUES; i++)
        if (queues[i] == queue)
            queues[i] = NULL;
    async_unmake(queue->host, queue);
    return async_enter("queue.free", NULL);
}

static void keep_step(struct async_step *kept, const struct accel_driver_step *step)
{
    kept->step = *step;
    kept->symbol = step->symbol_count == 0 ? 1 : step->symbols[0];
    if (step->kind == ACCEL_STEP_UPDATE)
        memcpy(kept->data, step->data, step->bytes);
    if (step->kind == ACCEL_STEP_STATE)
        kept->change = step->changes[0];
}

static int32_t queue_submit(struct accel_driver_queue *base, const struct accel_driver_step *const *steps,
                            uint32_t step_count, const struct accel_driver_fence *waits, uint32_t wait_count,
                            uint64_t *out_value, struct accel_error *error)
{
    struct async_queue *queue = (struct async_queue *)base;
    struct async_submit *submit;
    int32_t code = async_enter("submit", error);
    *out_value = 0;
    if (code != ACCEL_OK)
        return code;
    if (async.lost)
        return async_fail(error, ACCEL_E_DEVICE_LOST, "the mock's device is gone");
    if (queue->count == ASYNC_IN_FLIGHT)
        return async_fail(error, ACCEL_E_AGAIN, "the mock's queue is full");
    if (step_count > ASYNC_STEPS || wait_count > ASYNC_WAITS)
        return async_fail(error, ACCEL_E_LIMIT, "too much for the mock");
    submit = &queue->submits[(queue->first + queue->count) % ASYNC_IN_FLIGHT];
    memset(submit, 0, sizeof(*submit));
    submit->step_count = step_count;
    submit->wait_count = wait_count;
    if (wait_count != 0)
        memcpy(submit->waits, waits, wait_count * sizeof(*waits));
    for (uint32_t i = 0; i < step_count; i++) {
        keep_step(&submit->steps[i], steps[i]);
        use(steps[i], 1);
    }
    submit->value = queue->last += 3; /* values need not follow each other */
    queue->count++;
    async.in_flight++;
    *out_value = async.silent ? 1 : submit->value;
    return ACCEL_OK;
}

static int32_t verdict(const struct async_queue *queue, uint64_t value, struct accel_error *error)
{
    if (value == queue->failed)
        return async_fail(error, queue->failed_code, "the mock's step failed");
    return async_fail(error, ACCEL_E_DEPENDS, "the mock's queue failed before");
}

static int32_t queue_wait(struct accel_driver_queue *base, uint64_t value, uint64_t deadline, struct accel_error *error)
{
    struct async_queue *queue = (struct async_queue *)base;
    uint64_t now = 0;
    int32_t code = async_enter("wait", error);
    if (code != ACCEL_OK)
        return code;
    for (;;) {
        if (queue->completed >= value)
            return ACCEL_OK;
        if (queue->failed != 0 && value >= queue->failed &&
            (queue->count == 0 || queue->submits[queue->first].value > value))
            return verdict(queue, value, error);
        if (deadline == UINT64_MAX) {
            if (async_tick() == 0)
                return async_fail(error, ACCEL_E_INTERNAL, "the mock would wait for ever");
            continue;
        }
        queue->host->clock(queue->host, &now);
        if (now >= deadline)
            return async_fail(error, ACCEL_E_TIMEOUT, "the deadline passed");
    }
}

static int32_t queue_completed(struct accel_driver_queue *base, uint64_t *out_value, struct accel_error *error)
{
    *out_value = ((struct async_queue *)base)->completed;
    return async_enter("completed", error);
}

static int32_t queue_cancel(struct accel_driver_queue *base, struct accel_error *error)
{
    ((struct async_queue *)base)->cancelled = 1;
    return async_enter("cancel", error);
}

static int32_t queue_reset(struct accel_driver_queue *base, struct accel_error *error)
{
    struct async_queue *queue = (struct async_queue *)base;
    int32_t code = async_enter("reset", error);
    if (code != ACCEL_OK)
        return code;
    while (queue->count != 0)
        if (async_tick() == 0)
            return async_fail(error, ACCEL_E_INTERNAL, "the mock would wait for ever");
    if (async.lost)
        return async_fail(error, ACCEL_E_DEVICE_LOST, "the mock's device is gone");
    queue->failed = 0;
    queue->failed_code = ACCEL_OK;
    queue->cancelled = 0;
    return ACCEL_OK;
}

static const struct accel_queue_table queue_table = {.size = sizeof(queue_table),
                                                     .free = queue_free,
                                                     .submit = queue_submit,
                                                     .wait = queue_wait,
                                                     .completed = queue_completed,
                                                     .cancel = queue_cancel,
                                                     .reset = queue_reset};

int32_t async_queue_create(struct accel_driver_device *base, struct accel_driver_queue **out_queue,
                           struct accel_error *error)
{
    const struct accel_host *host = async_host(base);
    struct async_queue *queue;
    void *memory = NULL;
    int32_t code = async_make("queue_create", host, ACCEL_MEMORY_PROGRAM, sizeof(*queue), &memory, error);
    *out_queue = NULL;
    if (code != ACCEL_OK)
        return code;
    queue = memory;
    queue->base.table = &queue_table;
    queue->host = host;
    for (uint32_t i = 0; i < ASYNC_QUEUES; i++)
        if (queues[i] == NULL) {
            queues[i] = queue;
            *out_queue = &queue->base;
            return ACCEL_OK;
        }
    async_unmake(host, queue);
    return async_fail(error, ACCEL_E_LIMIT, "the mock has no more queues");
}
