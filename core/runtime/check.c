/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the arguments of steps: objects, symbols, waits, ranges. */
#include "config.h"

#include "core/runtime/check.h"

#include <stdbool.h>

#include "core/base/checked.h"
#include "core/base/open.h"

int32_t accel_check_alive(const struct accel_device *device, struct accel_error *error)
{
    int32_t code = accel_check_object((const struct accel_object *)device, "device", error);
    if (code == ACCEL_OK && atomic_load_explicit(&device->lost, memory_order_relaxed))
        code = accel_error_set(error, ACCEL_E_DEVICE_LOST, "device %s is lost: its objects can only be freed",
                               device->listed->info.name);
    return code;
}

int32_t accel_check_object(const struct accel_object *object, const char *what, struct accel_error *error)
{
    if (object == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "the %s is NULL", what);
    if (accel_fork_guard_is_child(&object->context->fork))
        return accel_error_set(error, ACCEL_E_FORKED, "the %s belongs to the parent process", what);
    return ACCEL_OK;
}

static int32_t bad_symbol(const struct accel_set *set, uint32_t index, uint64_t value, struct accel_error *error)
{
    const struct accel_bound *bound = &set->bounds[index];
    return accel_error_set(
        error, ACCEL_E_INVALID, "graph %s: %s is %llu; this set accepts %llu to %llu in multiples of %llu",
        set->graph->name, set->graph->symbols[index]->name, (unsigned long long)value,
        (unsigned long long)bound->lowest, (unsigned long long)bound->highest, (unsigned long long)bound->multiple);
}

int32_t accel_check_symbols(const struct accel_set *set, const uint64_t *symbols, struct accel_error *error)
{
    if (symbols == NULL && set->symbol_count != 0)
        return accel_error_set(error, ACCEL_E_INVALID, "graph %s: no values for its %u symbols", set->graph->name,
                               set->symbol_count);
    for (uint32_t i = 0; i < set->symbol_count; i++) {
        const struct accel_bound *bound = &set->bounds[i];
        if (symbols[i] < bound->lowest || symbols[i] > bound->highest ||
            (bound->multiple > 1 && symbols[i] % bound->multiple != 0))
            return bad_symbol(set, i, symbols[i], error);
    }
    return ACCEL_OK;
}

/* Rejects values that no submit has returned: waiting for one would be a deadlock. */
int32_t accel_check_waits(const struct accel_queue *queue, const struct accel_fence *waits, uint32_t count,
                          struct accel_error *error)
{
    if (count != 0 && waits == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "%u waits, and no list of them", count);
    for (uint32_t i = 0; i < count; i++) {
        int32_t code = accel_check_object((const struct accel_object *)waits[i].queue, "queue to wait for", error);
        if (code != ACCEL_OK)
            return code;
        if (waits[i].queue->device != queue->device)
            return accel_error_set(error, ACCEL_E_INVALID, "wait %u is for a queue of another device", i);
        if (waits[i].value > atomic_load_explicit(&waits[i].queue->submitted, memory_order_acquire))
            return accel_error_set(error, ACCEL_E_INVALID, "wait %u is for value %llu, which no submit returned yet", i,
                                   (unsigned long long)waits[i].value);
    }
    return ACCEL_OK;
}

static int32_t check_range(const struct accel_queue *queue, const struct accel_buffer *buffer, uint64_t offset,
                           uint64_t bytes, const char *what, struct accel_error *error)
{
    if (buffer == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "the step needs a %s buffer", what);
    if (buffer->device != queue->device)
        return accel_error_set(error, ACCEL_E_INVALID, "the %s buffer belongs to another device", what);
    if (bytes == 0 || !accel_within_u64(offset, bytes, buffer->bytes))
        return accel_error_set(error, ACCEL_E_INVALID, "the step uses %llu bytes at %llu of a %s buffer of %llu",
                               (unsigned long long)bytes, (unsigned long long)offset, what,
                               (unsigned long long)buffer->bytes);
    return ACCEL_OK;
}

/* Ranges of one buffer must not overlap, because drivers copy in any order and in pieces. */
static int32_t check_copy(const struct accel_queue *queue, const struct accel_step *step, struct accel_error *error)
{
    int32_t code = check_range(queue, step->source, step->source_offset, step->bytes, "source", error);
    if (code == ACCEL_OK)
        code = check_range(queue, step->target, step->target_offset, step->bytes, "target", error);
    if (code == ACCEL_OK && step->source == step->target && step->source_offset < step->target_offset + step->bytes &&
        step->target_offset < step->source_offset + step->bytes)
        code = accel_error_set(error, ACCEL_E_INVALID, "source and target of a copy overlap");
    return code;
}

/* Limits the data of an update in driver queues, which store it; the caller's thread copies it directly. */
static int32_t check_update(const struct accel_queue *queue, const struct accel_step *step, struct accel_error *error)
{
    uint64_t most = queue->device->listed->info.facts->limits->inline_bytes;
    int32_t code = check_range(queue, step->target, step->target_offset, step->bytes, "target", error);
    if (code != ACCEL_OK)
        return code;
    if (step->data == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "an update without data");
    if (queue->handle != NULL && step->bytes > most)
        return accel_error_set(error, ACCEL_E_LIMIT, "an update of %llu bytes, device %s accepts at most %llu",
                               (unsigned long long)step->bytes, queue->device->listed->info.name,
                               (unsigned long long)most);
    return ACCEL_OK;
}

static int32_t check_state(const struct accel_queue *queue, const struct accel_step *step, struct accel_error *error)
{
    const struct accel_state *state = step->state;
    if (state == NULL || step->changes == NULL || step->change_count == 0)
        return accel_error_set(error, ACCEL_E_INVALID, "a step on a state needs the state and its changes");
    if (state->device != queue->device)
        return accel_error_set(error, ACCEL_E_INVALID, "the state belongs to another device");
    for (uint64_t i = 0; i < step->change_count; i++) {
        const struct accel_state_change *change = &step->changes[i];
        if (change->zero != 0 || (change->kind != ACCEL_STATE_RESET && change->kind != ACCEL_STATE_COPY))
            return accel_error_set(error, ACCEL_E_INVALID, "change %llu of a state has the unknown kind %u",
                                   (unsigned long long)i, change->kind);
        if (change->kind == ACCEL_STATE_COPY && (!accel_within_u64(change->from, change->count, state->slots) ||
                                                 !accel_within_u64(change->to, change->count, state->slots)))
            return accel_error_set(error, ACCEL_E_INVALID, "change %llu copies slots outside of the %llu of the state",
                                   (unsigned long long)i, (unsigned long long)state->slots);
    }
    return ACCEL_OK;
}

/* Members that a kind does not use must be zero, since setting them would have no effect. */
static bool is_clean(const struct accel_step *step)
{
    bool set = step->kind == ACCEL_STEP_RUN;
    bool state = step->kind == ACCEL_STEP_STATE;
    bool source = step->kind == ACCEL_STEP_COPY || step->kind == ACCEL_STEP_READ;
    bool target = !set && !state && step->kind != ACCEL_STEP_READ;
    return step->zero == 0 && (set || (step->set == NULL && step->symbols == NULL)) &&
           (state || (step->state == NULL && step->changes == NULL && step->change_count == 0)) &&
           (source || (step->source == NULL && step->source_offset == 0)) &&
           (target || (step->target == NULL && step->target_offset == 0)) && (source || target || step->bytes == 0) &&
           (step->kind == ACCEL_STEP_UPDATE || step->data == NULL) &&
           (step->kind == ACCEL_STEP_READ || step->memory == NULL) &&
           (step->kind == ACCEL_STEP_FILL || step->fill == 0);
}

static int32_t check_kind(const struct accel_queue *queue, const struct accel_step *step, struct accel_error *error)
{
    switch (step->kind) {
    case ACCEL_STEP_RUN:
        if (step->set == NULL || step->set->queue != queue)
            return accel_error_set(error, ACCEL_E_INVALID, "the set of a step is NULL or belongs to another queue");
        return accel_check_symbols(step->set, step->symbols, error);
    case ACCEL_STEP_COPY:
        return check_copy(queue, step, error);
    case ACCEL_STEP_UPDATE:
        return check_update(queue, step, error);
    case ACCEL_STEP_READ:
        if (step->memory == NULL)
            return accel_error_set(error, ACCEL_E_INVALID, "a read without memory");
        return check_range(queue, step->source, step->source_offset, step->bytes, "source", error);
    case ACCEL_STEP_FILL:
        if (step->fill > 255)
            return accel_error_set(error, ACCEL_E_INVALID, "a fill with %u, which is no byte", step->fill);
        return check_range(queue, step->target, step->target_offset, step->bytes, "target", error);
    default:
        return check_state(queue, step, error);
    }
}

int32_t accel_check_step(const struct accel_queue *queue, const struct accel_step *step, struct accel_error *error)
{
    int32_t code =
        accel_open_check(step, ACCEL_END_OF(struct accel_step, zero), sizeof(*step), "the caller", "accel_step", error);
    if (code != ACCEL_OK)
        return code;
    if (step->kind < ACCEL_STEP_RUN || step->kind > ACCEL_STEP_STATE)
        return accel_error_set(error, ACCEL_E_INVALID, "struct accel_step has the unknown kind %u", step->kind);
    if (!is_clean(step))
        return accel_error_set(error, ACCEL_E_INVALID,
                               "struct accel_step of kind %u has members set that it does not use", step->kind);
    return check_kind(queue, step, error);
}
