/* SPDX-License-Identifier: Apache-2.0 */
/* The asynchronous mock but for its queue: see async.h. */
#include "tests/mock/async.h"

#include <stdio.h>
#include <string.h>

#include "tests/mock/async_internal.h"

struct async_control async;

struct instance {
    struct accel_driver_instance base;
    const struct accel_host *host;
};

struct device {
    struct accel_driver_device base;
    const struct accel_host *host;
};

int32_t async_fail(struct accel_error *error, int32_t code, const char *text)
{
    if (error != NULL && error->code == ACCEL_OK) {
        error->code = code;
        snprintf(error->text, sizeof(error->text), "%s", text);
    }
    return code;
}

int32_t async_enter(const char *slot, struct accel_error *error)
{
    async.calls++;
    if (async.calls != async.fail_at)
        return ACCEL_OK;
    async.fail_in = slot;
    return async.fail_quiet ? async.fail_code : async_fail(error, async.fail_code, "the mock was told to fail here");
}

int32_t async_make(const char *slot, const struct accel_host *host, uint32_t memory_class, uint64_t bytes, void **out,
                   struct accel_error *error)
{
    int32_t code = async_enter(slot, error);
    *out = NULL;
    if (code != ACCEL_OK)
        return code;
    if (async.create_code != ACCEL_OK)
        return async_fail(error, async.create_code, "the mock was told to make nothing");
    code = host->allocate(host, memory_class, bytes, 64, out, error);
    async.alive += code == ACCEL_OK;
    return code;
}

void async_unmake(const struct accel_host *host, void *handle)
{
    async.alive--;
    host->release(host, handle);
}

const struct accel_host *async_host(struct accel_driver_device *base)
{
    return ((struct device *)base)->host;
}

/* ---- buffer, state, weights ---- */

static int32_t buffer_free(struct accel_driver_buffer *base)
{
    struct async_buffer *buffer = (struct async_buffer *)base;
    async.sins += buffer->users != 0;
    async_unmake(buffer->host, buffer);
    return async_enter("buffer.free", NULL);
}

static int32_t buffer_map(struct accel_driver_buffer *base, void **out_address, struct accel_error *error)
{
    int32_t code = async_enter("map", error);
    *out_address = NULL;
    if (code != ACCEL_OK)
        return code;
    if (async.no_map)
        return async_fail(error, ACCEL_E_UNSUPPORTED, "not seen by the host");
    *out_address = ((struct async_buffer *)base)->memory;
    return ACCEL_OK;
}

static const struct accel_buffer_table buffer_table = {
    .size = sizeof(buffer_table), .free = buffer_free, .map = buffer_map};

static int32_t buffer_create(struct accel_driver_device *base, uint64_t bytes, uint32_t heap, uint32_t memory_class,
                             struct accel_driver_buffer **out_buffer, struct accel_error *error)
{
    const struct accel_host *host = async_host(base);
    void *memory = NULL;
    int32_t code = async_make("buffer_create", host, memory_class, sizeof(struct async_buffer) + bytes, &memory, error);
    struct async_buffer *buffer = memory;
    (void)heap;
    *out_buffer = NULL;
    if (code != ACCEL_OK)
        return code;
    buffer->base.table = &buffer_table;
    buffer->host = host;
    buffer->bytes = bytes;
    *out_buffer = &buffer->base;
    return ACCEL_OK;
}

static int32_t state_free(struct accel_driver_state *base)
{
    struct async_state *state = (struct async_state *)base;
    async.sins += state->users != 0;
    async_unmake(state->host, state);
    return async_enter("state.free", NULL);
}

static const struct accel_state_table state_table = {.size = sizeof(state_table), .free = state_free};

static int32_t state_create(struct accel_driver_device *base, const struct accel_state_part *parts, uint32_t part_count,
                            uint64_t slots, struct accel_driver_state **out_state, struct accel_error *error)
{
    const struct accel_host *host = async_host(base);
    uint64_t row = parts[0].row * 4;
    void *memory = NULL;
    int32_t code =
        async_make("state_create", host, ACCEL_MEMORY_STATE, sizeof(struct async_state) + row * slots, &memory, error);
    struct async_state *state = memory;
    (void)part_count;
    *out_state = NULL;
    if (code != ACCEL_OK)
        return code;
    state->base.table = &state_table;
    state->host = host;
    state->slots = slots;
    state->row_bytes = row;
    *out_state = &state->base;
    return ACCEL_OK;
}

static int32_t weights_free(struct accel_driver_weights *base)
{
    async.sins += ((struct async_weights *)base)->users != 0;
    async_unmake(((struct async_weights *)base)->host, base);
    return async_enter("weights.free", NULL);
}

static int32_t weights_pull(struct accel_driver_weights *base, const struct accel_source *source,
                            const struct accel_task *task, struct accel_error *error)
{
    struct async_weights *weights = (struct async_weights *)base;
    int32_t code = async_enter("pull", error);
    if (code != ACCEL_OK)
        return code;
    async.pulls++;
    if (task->progress(task, 0, weights->bytes) != ACCEL_OK)
        return async_fail(error, ACCEL_E_CANCELLED, "pull was cancelled");
    return source->read(source, weights->key, 0, 0, weights->memory, weights->bytes, error);
}

static const struct accel_weights_table weights_table = {
    .size = sizeof(weights_table), .free = weights_free, .pull = weights_pull};

static int32_t weights_create(struct accel_driver_device *base, const struct accel_weight *const *list, uint32_t count,
                              struct accel_driver_weights **out_weights, struct accel_error *error)
{
    const struct accel_host *host = async_host(base);
    void *memory = NULL;
    struct async_weights *weights;
    int32_t code;
    *out_weights = NULL;
    if (count != 1 || list[0]->dims[0] > 16)
        return async_fail(error, ACCEL_E_LIMIT, "the mock takes one small weight");
    code = async_make("weights_create", host, ACCEL_MEMORY_WEIGHTS, sizeof(*weights), &memory, error);
    if (code != ACCEL_OK)
        return code;
    weights = memory;
    weights->base.table = &weights_table;
    weights->host = host;
    weights->bytes = list[0]->dims[0] * 4;
    snprintf(weights->key, sizeof(weights->key), "%s", list[0]->key);
    *out_weights = &weights->base;
    return ACCEL_OK;
}

/* ---- module and set ---- */

static int32_t set_free(struct accel_driver_set *base)
{
    struct async_set *set = (struct async_set *)base;
    async.sins += set->users != 0;
    set->w->users--;
    set->module->users--;
    async_unmake(set->host, set);
    return async_enter("set.free", NULL);
}

static const struct accel_set_table set_table = {.size = sizeof(set_table), .free = set_free};

static int32_t set_create(struct accel_driver_module *base, const struct accel_set_description *description,
                          struct accel_driver_set **out_set, struct accel_error *error)
{
    struct async_module *module = (struct async_module *)base;
    const struct accel_node *node = module->graph->nodes[0];
    void *memory = NULL;
    int32_t code =
        async_make("set_create", module->host, ACCEL_MEMORY_PROGRAM, sizeof(struct async_set), &memory, error);
    struct async_set *set = memory;
    *out_set = NULL;
    if (code != ACCEL_OK)
        return code;
    set->base.table = &set_table;
    set->host = module->host;
    set->module = module;
    set->width = module->graph->values[node->inputs[1]]->dims[0].add;
    for (uint32_t i = 0; i < description->binding_count; i++) {
        const struct accel_binding *binding = &description->bindings[i];
        if (binding->value == node->inputs[0])
            set->x = binding->object;
        else if (binding->value == node->inputs[1])
            set->w = binding->object;
        else
            set->y = binding->object;
    }
    if (set->x == NULL || set->w == NULL || set->y == NULL) {
        async_unmake(module->host, set);
        return async_fail(error, ACCEL_E_INVALID, "a binding has no object of the mock");
    }
    set->w->users++;
    module->users++;
    *out_set = &set->base;
    return ACCEL_OK;
}

static int32_t module_free(struct accel_driver_module *base)
{
    async.sins += ((struct async_module *)base)->users != 0;
    async_unmake(((struct async_module *)base)->host, base);
    return async_enter("module.free", NULL);
}

static int32_t module_scratch(struct accel_driver_module *base, uint32_t program, const uint64_t *symbols,
                              uint32_t threads, uint64_t *out_bytes, uint64_t *out_alignment, struct accel_error *error)
{
    (void)base, (void)program, (void)symbols, (void)threads;
    *out_bytes = 128;
    *out_alignment = 64;
    return async_enter("scratch", error);
}

static const struct accel_module_table module_table = {
    .size = sizeof(module_table), .free = module_free, .scratch = module_scratch, .set_create = set_create};

/* ---- device ---- */

static int32_t device_close(struct accel_driver_device *base, struct accel_error *error)
{
    async.devices--;
    async.sins += async.devices == 0 && async.alive != 2; /* the instance and this */
    async_unmake(((struct device *)base)->host, base);
    return async_enter("close", error);
}

static int32_t device_claim(struct accel_driver_device *base, const struct accel_graph *const *graphs,
                            uint32_t graph_count, const struct accel_compile_options *options,
                            const struct accel_claim_sink *sink, struct accel_error *error)
{
    int32_t answer = async_enter("claim", error);
    (void)base, (void)options;
    if (answer != ACCEL_OK)
        return answer;
    for (uint32_t g = 0; g < graph_count; g++)
        for (uint32_t n = 0; n < graphs[g]->node_count; n++) {
            struct accel_claim claim = {.graph = g,
                                        .node = n,
                                        .answer = ACCEL_CLAIM_NATIVE,
                                        .weights = ACCEL_RESIDENT,
                                        .kernel = "mock",
                                        .reason = ""};
            int32_t code = sink->claim(sink, &claim, error);
            if (code != ACCEL_OK)
                return code;
        }
    return ACCEL_OK;
}

static int32_t device_compile(struct accel_driver_device *base, const struct accel_graph *const *graphs,
                              uint32_t graph_count, const struct accel_compile_options *options,
                              const struct accel_source *source, const struct accel_blob_writer *writer,
                              const struct accel_task *task, struct accel_driver_module **out_module,
                              struct accel_error *error)
{
    const struct accel_host *host = async_host(base);
    void *memory = NULL;
    int32_t code = async_make("compile", host, ACCEL_MEMORY_PROGRAM, sizeof(struct async_module), &memory, error);
    struct async_module *module = memory;
    (void)graph_count, (void)options, (void)source, (void)writer, (void)task;
    *out_module = NULL;
    if (code != ACCEL_OK)
        return code;
    *module = (struct async_module){.base = {&module_table}, .host = host, .graph = graphs[0]};
    *out_module = &module->base;
    return ACCEL_OK;
}

static const struct accel_device_table device_table = {.size = sizeof(device_table),
                                                       .close = device_close,
                                                       .claim = device_claim,
                                                       .compile = device_compile,
                                                       .weights_create = weights_create,
                                                       .state_create = state_create,
                                                       .buffer_create = buffer_create,
                                                       .queue_create = async_queue_create};

/* ---- instance ---- */

static int32_t instance_detach(struct accel_driver_instance *base, struct accel_error *error)
{
    async.sins += async.alive != 1;
    async_unmake(((struct instance *)base)->host, base);
    return async_enter("detach", error);
}

static int32_t instance_enumerate(struct accel_driver_instance *base, const struct accel_hardware *const *hardware,
                                  uint32_t hardware_count, const struct accel_device_sink *sink,
                                  struct accel_error *error)
{
    static const struct accel_heap heap = {
        .bytes = 1u << 20, .flags = ACCEL_HEAP_DEVICE, .alignment = 64, .name = "mock memory"};
    static const struct accel_limits limits = {.buffer_bytes = 1u << 20,
                                               .binding_bytes = 1u << 20,
                                               .inline_bytes = ASYNC_INLINE,
                                               .sets = 0xffffffffu,
                                               .queues = ASYNC_QUEUES,
                                               .in_flight = ASYNC_IN_FLIGHT};
    static const struct accel_facts facts = {.size = sizeof(facts),
                                             .kind = ACCEL_DEVICE_OTHER,
                                             .hardware = -1,
                                             .id = "a0",
                                             .name = "mock with a manual clock",
                                             .detail = "",
                                             .heap_count = 1,
                                             .heaps = &heap,
                                             .limits = &limits};
    int32_t code = async_enter("enumerate", error);
    (void)base, (void)hardware, (void)hardware_count;
    return code == ACCEL_OK ? sink->device(sink, &facts, error) : code;
}

static int32_t instance_open(struct accel_driver_instance *base, const char *id, const struct accel_setting *settings,
                             uint32_t setting_count, struct accel_driver_device **out_device, struct accel_error *error)
{
    const struct accel_host *host = ((struct instance *)base)->host;
    void *memory = NULL;
    int32_t code = async_make("open", host, ACCEL_MEMORY_PROGRAM, sizeof(struct device), &memory, error);
    struct device *device = memory;
    (void)id, (void)settings, (void)setting_count;
    *out_device = NULL;
    if (code != ACCEL_OK)
        return code;
    *device = (struct device){.base = {&device_table}, .host = host};
    async.devices++;
    *out_device = &device->base;
    return ACCEL_OK;
}

static const struct accel_instance_table instance_table = {
    .size = sizeof(instance_table), .detach = instance_detach, .enumerate = instance_enumerate, .open = instance_open};

static int32_t attach(const struct accel_host *host, uint32_t minor, struct accel_driver_instance **out_instance,
                      struct accel_error *error)
{
    void *memory = NULL;
    int32_t code = async_make("attach", host, ACCEL_MEMORY_PROGRAM, sizeof(struct instance), &memory, error);
    struct instance *instance = memory;
    (void)minor;
    *out_instance = NULL;
    if (code != ACCEL_OK)
        return code;
    *instance = (struct instance){.base = {&instance_table}, .host = host};
    *out_instance = &instance->base;
    return ACCEL_OK;
}

const struct accel_driver async_driver = {.size = sizeof(async_driver),
                                          .abi_major = ACCEL_ABI_MAJOR,
                                          .abi_minor = ACCEL_ABI_MINOR,
                                          .abi_lowest = ACCEL_ABI_MINOR,
                                          .name = "async",
                                          .version = "1.0",
                                          .attach = attach};

void async_reset(void)
{
    uint32_t alive = async.alive;
    memset(&async, 0, sizeof(async));
    async.alive = alive;
}
