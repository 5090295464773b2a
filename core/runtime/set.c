/* SPDX-License-Identifier: Apache-2.0 */
/* Sets: a program bound to memory, and the fast path that runs one step. */
#include "config.h"

#include "core/boundary/import.h"
#include "core/runtime/check.h"
#include "core/runtime/device.h"
#include "core/runtime/module.h"
#include "core/runtime/queue.h"

static void set_destroy(struct accel_object *object)
{
    struct accel_set *set = (struct accel_set *)object;
    if (set->handle != NULL)
        ACCEL_FREE_HANDLE(set->queue->device, set->handle, "free of a set");
    for (uint32_t i = set->held_count; i > 0; i--)
        accel_object_release(set->held[i - 1]);
    accel_memory_free(&object->context->memory, set->held);
    accel_memory_free(&object->context->memory, set->bounds);
    accel_object_release(&set->queue->object);
}

static void hold(struct accel_set *set, struct accel_object *object)
{
    accel_object_retain(object);
    set->held[set->held_count++] = object;
}

/* Inputs of a set between the checks and the driver. Bindings live for one call: a driver copies what it uses later. */
struct recipe {
    struct accel_module *module;
    struct accel_weights *weights;
    const uint64_t *symbols;
    const struct accel_bind *binds;
    uint32_t bind_count;
    uint32_t program;
    struct accel_binding *bindings;
    uint32_t binding_count;
};

/* Allocates the lists for everything that the set holds (binds, module, weights, scratch), so that nothing can
 * fail between a retain and its entry in the list. */
static int32_t allocate_lists(struct accel_set *set, const struct recipe *recipe, struct accel_error *error)
{
    set->held = accel_object_array(&set->object, recipe->bind_count + 3u, sizeof(*set->held), error);
    set->bounds = accel_object_array(&set->object, set->graph->symbol_count + 1u, sizeof(*set->bounds), error);
    if (set->held == NULL || set->bounds == NULL)
        return ACCEL_E_MEMORY;
    set->symbol_count = set->graph->symbol_count;
    for (uint32_t i = 0; i < set->symbol_count; i++) {
        const struct accel_symbol *symbol = set->graph->symbols[i];
        set->bounds[i] = (struct accel_bound){symbol->lowest, recipe->symbols[i], symbol->multiple};
    }
    return ACCEL_OK;
}

static struct accel_binding bind_buffer(const struct accel_bind *bind, uint64_t bytes)
{
    struct accel_buffer *buffer = bind->buffer;
    struct accel_binding binding = {.value = bind->value, .kind = ACCEL_BIND_BUFFER, .bytes = bytes};
    if (buffer->handle != NULL) {
        binding.object = buffer->handle;
        binding.offset = bind->offset;
    } else {
        binding.host = (char *)buffer->address + bind->offset;
    }
    return binding;
}

static struct accel_binding bind_state(const struct accel_bind *bind)
{
    struct accel_state *state = bind->state;
    struct accel_binding binding = {.value = bind->value, .kind = ACCEL_BIND_STATE, .part = bind->part};
    binding.bytes = state->row_bytes[bind->part] * state->slots;
    if (state->handle != NULL)
        binding.object = state->handle;
    else
        binding.host = state->memory[bind->part];
    return binding;
}

/* Fills the bindings: first the caller's binds, then the weights that the graph reads and the host can access.
 * Weights that are baked or lie in the driver's container need no binding of their planes. */
static int32_t fill_bindings(struct accel_set *set, struct recipe *recipe, struct accel_error *error)
{
    for (uint32_t i = 0; i < recipe->bind_count; i++) {
        const struct accel_bind *bind = &recipe->binds[i];
        uint64_t bytes = 0;
        if (bind->buffer != NULL) {
            int32_t code = accel_value_bytes(set->graph, bind->value, recipe->symbols, &bytes, error);
            if (code != ACCEL_OK)
                return code;
        }
        recipe->bindings[recipe->binding_count++] = bind->buffer != NULL ? bind_buffer(bind, bytes) : bind_state(bind);
        hold(set, bind->buffer != NULL ? &bind->buffer->object : &bind->state->object);
    }
    for (uint32_t v = 0; v < set->graph->value_count; v++) {
        uint32_t weight = recipe->module->value_weights[recipe->program][v];
        if (weight != ACCEL_NO_VALUE)
            recipe->binding_count +=
                accel_weights_bind(recipe->weights, weight, v, &recipe->bindings[recipe->binding_count]);
    }
    return ACCEL_OK;
}

/* The driver reports the scratch size of this binding before it receives the memory; sets of one queue share the
 * block, since they never run concurrently. */
static int32_t make_handle(struct accel_set *set, const struct recipe *recipe, struct accel_error *error)
{
    struct accel_driver_module *module = recipe->module->handle;
    struct accel_device *device = recipe->module->device;
    struct accel_scratch *scratch = NULL;
    struct accel_driver_set *handle = NULL;
    uint64_t bytes = 0;
    uint64_t alignment = 0;
    struct accel_set_description description = {.size = sizeof(description),
                                                .program = recipe->program,
                                                .symbols = recipe->symbols,
                                                .symbol_count = set->symbol_count,
                                                .bindings = recipe->bindings,
                                                .binding_count = recipe->binding_count,
                                                .threads = set->queue->team->threads};
    int32_t code;
    ACCEL_GUARDED(code, device->object.context, device->driver, "scratch",
                  module->table->scratch(module, recipe->program, recipe->symbols, description.threads, &bytes,
                                         &alignment, error));
    code = accel_device_import_code(device, code, "scratch", error);
    if (code == ACCEL_OK)
        code = accel_queue_scratch(set->queue, bytes, alignment, &scratch, error);
    if (code != ACCEL_OK)
        return code;
    if (scratch != NULL) {
        set->held[set->held_count++] = &scratch->object;
        description.scratch = scratch->address;
        description.scratch_buffer = scratch->handle;
        description.scratch_bytes = bytes;
    }
    ACCEL_GUARDED(code, device->object.context, device->driver, "set_create",
                  module->table->set_create(module, &description, &handle, error));
    code = accel_device_import_handle(device, code, handle, "set_create", error);
    if (code != ACCEL_OK)
        return code;
    ACCEL_OWN_HANDLE(set->handle, handle);
    code = accel_import_table(handle, device->has_queues ? ACCEL_TABLE_QUEUED_SET : ACCEL_TABLE_SET, device->driver,
                              error);
    if (code != ACCEL_OK)
        return code;
    set->run = device->has_queues ? NULL : handle->table->run;
    return ACCEL_OK;
}

static int32_t build(struct accel_set *set, struct recipe *recipe, struct accel_error *error)
{
    uint64_t most = recipe->bind_count;
    int32_t code = allocate_lists(set, recipe, error);
    if (code != ACCEL_OK)
        return code;
    hold(set, &recipe->module->object);
    if (recipe->weights != NULL)
        hold(set, &recipe->weights->object);
    for (uint32_t v = 0; v < set->graph->value_count; v++)
        if (set->graph->values[v]->role == ACCEL_ROLE_WEIGHT)
            most += ACCEL_PLANES + 1u;
    recipe->bindings = accel_object_array(&set->object, most + 1, sizeof(*recipe->bindings), error);
    if (recipe->bindings == NULL)
        return ACCEL_E_MEMORY;
    code = fill_bindings(set, recipe, error);
    if (code == ACCEL_OK)
        code = make_handle(set, recipe, error);
    accel_memory_free(&set->object.context->memory, recipe->bindings);
    return code;
}

static int32_t check_parents(const struct accel_module *module, const struct accel_queue *queue,
                             const struct accel_weights *weights, struct accel_error *error)
{
    int32_t code = accel_check_object((const struct accel_object *)module, "module", error);
    if (code == ACCEL_OK)
        code = accel_check_object((const struct accel_object *)queue, "queue", error);
    if (code == ACCEL_OK)
        code = accel_check_alive(module->device, error);
    if (code != ACCEL_OK)
        return code;
    if (queue->device != module->device)
        return accel_error_set(error, ACCEL_E_INVALID, "queue and module belong to different devices");
    if (weights != NULL && weights->module != module)
        return accel_error_set(error, ACCEL_E_INVALID, "the weights were loaded for another module");
    if (weights == NULL && module->weight_count != 0)
        return accel_error_set(error, ACCEL_E_INVALID, "the module has %u weights, but `weights` is NULL",
                               module->weight_count);
    return ACCEL_OK;
}

int32_t accel_set_create(struct accel_module *module, uint32_t program, struct accel_queue *queue,
                         const uint64_t *symbols, const struct accel_bind *binds, uint32_t bind_count,
                         struct accel_weights *weights, struct accel_set **out_set,
                         struct accel_error *error) ACCEL_NOEXCEPT
{
    struct recipe recipe = {.module = module,
                            .weights = weights,
                            .symbols = symbols,
                            .binds = binds,
                            .bind_count = bind_count,
                            .program = program};
    struct accel_object *object;
    struct accel_set *set;
    int32_t code;
    if (out_set == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_set_create: out_set is NULL");
    *out_set = NULL;
    code = check_parents(module, queue, weights, error);
    if (code == ACCEL_OK)
        code = accel_check_binds(module, program, symbols, binds, bind_count, error);
    if (code == ACCEL_OK)
        code = accel_object_create(module->object.context, sizeof(*set), set_destroy, &object, error);
    if (code != ACCEL_OK)
        return code;
    set = (struct accel_set *)object;
    set->queue = queue;
    set->graph = module->graphs[program];
    accel_object_retain(&queue->object);
    code = build(set, &recipe, error);
    *out_set = (struct accel_set *)accel_object_finish(object, code);
    return code;
}

void accel_set_free(struct accel_set *set) ACCEL_NOEXCEPT
{
    accel_object_drop((struct accel_object *)set);
}

/* Handles a failure of accel_set_run, out of line of the fast path. */
static int32_t run_failed(struct accel_set *set, uint64_t value, int32_t code, struct accel_error *error)
{
    struct accel_queue *queue = set->queue;
    accel_queue_fail(queue, value, accel_queue_import_code(queue, UINT64_MAX, code, "run", &queue->failure));
    if (error != NULL && error->code == ACCEL_OK)
        *error = queue->failure;
    return queue->failure.code;
}

static int32_t run_refused(struct accel_queue *queue, uint64_t value, struct accel_error *error)
{
    if (atomic_load_explicit(&queue->failed, memory_order_relaxed) != 0) {
        atomic_store_explicit(&queue->submitted, value, memory_order_release);
        return accel_error_set(error, ACCEL_E_DEPENDS, "the queue failed and was not reset: %s", queue->failure.text);
    }
    accel_error_clear(&queue->failure);
    accel_queue_fail(queue, value, accel_error_set(&queue->failure, ACCEL_E_CANCELLED, "the queue was cancelled"));
    atomic_store_explicit(&queue->submitted, value, memory_order_release);
    return accel_error_set(error, ACCEL_E_CANCELLED, "the queue was cancelled");
}

/* Runs one step of decode: no allocation, no lock, and the error is cleared by its first bytes rather than as a
 * whole. The value is submitted last, so that a thread that sees it also sees it completed or failed. */
static int32_t run_serially(struct accel_set *set, const uint64_t *symbols, struct accel_error *error)
{
    struct accel_queue *queue = set->queue;
    uint64_t value = atomic_load_explicit(&queue->submitted, memory_order_relaxed) + 1;
    struct accel_call_guard call;
    int32_t code;
    if (atomic_load_explicit(&queue->failed, memory_order_relaxed) != 0 ||
        atomic_load_explicit(&queue->cancel, memory_order_relaxed))
        return run_refused(queue, value, error);
    queue->failure.code = ACCEL_OK;
    queue->failure.text[0] = '\0';
    queue->failure.remedy[0] = '\0';
    accel_call_guard_begin(&call, queue->object.context, queue->device->driver, "run");
    code = set->run(set->handle, symbols, queue->team, &queue->failure);
    accel_call_guard_end_step(&call, &queue->change_logged);
    if (code == ACCEL_OK)
        atomic_store_explicit(&queue->completed, value, memory_order_release);
    else
        code = run_failed(set, value, code, error);
    atomic_store_explicit(&queue->submitted, value, memory_order_release);
    return code;
}

/* Runs a set on a driver queue: submits one step and waits for it. */
static int32_t run_on_queue(struct accel_set *set, const uint64_t *symbols, struct accel_error *error)
{
    struct accel_step step = {.size = sizeof(step), .kind = ACCEL_STEP_RUN, .set = set, .symbols = symbols};
    const struct accel_step *list = &step;
    uint64_t value = 0;
    int32_t code = accel_queue_submit(set->queue, &list, 1, NULL, 0, &value, error);
    if (code == ACCEL_OK)
        code = accel_queue_wait(set->queue, value, UINT64_MAX, error);
    /* A freed queue has no later reset that releases the objects of a failed step. */
    if (code != ACCEL_OK && set->queue->is_freed)
        accel_queue_drain(set->queue);
    return code;
}

int32_t accel_set_run(struct accel_set *set, const uint64_t *symbols, struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = accel_check_object((struct accel_object *)set, "set", error);
    if (code != ACCEL_OK)
        return code;
    if (set->run == NULL)
        return run_on_queue(set, symbols, error);
    code = accel_check_symbols(set, symbols, error);
    if (code == ACCEL_OK && atomic_load_explicit(&set->queue->device->lost, memory_order_relaxed))
        code = accel_check_alive(set->queue->device, error);
    if (code != ACCEL_OK)
        return code;
    if (atomic_flag_test_and_set_explicit(&set->queue->busy, memory_order_acquire))
        return accel_error_set(error, ACCEL_E_BUSY, "another thread uses the queue");
    code = run_serially(set, symbols, error);
    atomic_flag_clear_explicit(&set->queue->busy, memory_order_release);
    return code;
}
