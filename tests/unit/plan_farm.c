/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tests/unit/plan_farm.h"

/* attach is given no data, so the farm waits here for it; a test program has one thread. */
static struct farm *waiting;

static int32_t device_close(struct accel_driver_device *device, struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)device, (void)error;
    return ACCEL_OK;
}

static int32_t claim(struct accel_driver_device *base, const struct accel_graph *const *graphs, uint32_t graph_count,
                     const struct accel_compile_options *options, const struct accel_claim_sink *sink,
                     struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct farm *farm = ((const struct farm_device *)base)->farm;
    int32_t code = ACCEL_OK;
    (void)options;
    for (uint32_t g = 0; g < graph_count && code == ACCEL_OK; g++)
        for (uint32_t n = 0; n < graphs[g]->node_count && code == ACCEL_OK; n++) {
            uint32_t op = graphs[g]->nodes[n]->op;
            uint32_t answer = op == farm->op ? farm->answer : ACCEL_CLAIM_NATIVE;
            struct accel_claim one = {.graph = g,
                                      .node = n,
                                      .answer = answer,
                                      .weights = ACCEL_RESIDENT,
                                      .kernel = op == ACCEL_OP_ATTENTION && farm->kernel ? farm->kernel : "kernel",
                                      .reason = answer == ACCEL_CLAIM_NATIVE ? "" : "the test took it away"};
            code = sink->claim(sink, &one, error);
        }
    return code;
}

static int32_t compile(struct accel_driver_device *device, const struct accel_graph *const *graphs,
                       uint32_t graph_count, const struct accel_compile_options *options,
                       const struct accel_source *source, const struct accel_blob_writer *writer,
                       const struct accel_task *task, struct accel_driver_module **out_module,
                       struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)device, (void)graphs, (void)graph_count, (void)options, (void)source, (void)writer, (void)task;
    *out_module = NULL;
    return accel_error_set(error, ACCEL_E_INTERNAL, "a plan must not compile");
}

static const struct accel_device_table device_table = {
    .size = sizeof(device_table), .close = device_close, .claim = claim, .compile = compile};

static int32_t detach(struct accel_driver_instance *instance, struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)instance, (void)error;
    return ACCEL_OK;
}

static int32_t enumerate(struct accel_driver_instance *instance, const struct accel_hardware *const *hardware,
                         uint32_t hardware_count, const struct accel_device_sink *sink,
                         struct accel_error *error) ACCEL_NOEXCEPT
{
    static const uint32_t types[] = {ACCEL_F32, ACCEL_Q4_0, ACCEL_F16, ACCEL_Q8_0};
    const struct farm *farm = (const struct farm *)instance;
    int32_t code = ACCEL_OK;
    (void)hardware, (void)hardware_count;
    for (uint32_t i = 0; i < farm->count && code == ACCEL_OK; i++) {
        const struct farm_device *device = &farm->devices[i];
        uint32_t host = device->kind == ACCEL_DEVICE_CPU;
        struct accel_heap heap = {device->bytes, host ? ACCEL_HEAP_HOST : ACCEL_HEAP_DEVICE, 0, 64, "memory"};
        struct accel_limits limits = {.buffer_bytes = UINT64_MAX / 2,
                                      .binding_bytes = device->binding ? device->binding : UINT64_MAX / 2,
                                      .threads = device->threads,
                                      .sets = 0xffffffffu};
        struct accel_facts facts = {.size = sizeof(facts),
                                    .kind = device->kind,
                                    .flags = device->flags | (host ? ACCEL_DEVICE_UNIFIED : 0),
                                    .hardware = -1,
                                    .id = device->id,
                                    .name = host ? "Processors" : "Big device",
                                    .detail = "",
                                    .heap_count = 1,
                                    .heaps = &heap,
                                    .limits = &limits,
                                    .types = types,
                                    .type_count = device->lacks_f16 ? 2 : 4};
        code = sink->device(sink, &facts, error);
    }
    return code;
}

static int32_t open_device(struct accel_driver_instance *instance, const char *id, const struct accel_setting *settings,
                           uint32_t setting_count, struct accel_driver_device **out_device,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    struct farm *farm = (struct farm *)instance;
    (void)settings, (void)setting_count;
    *out_device = NULL;
    for (uint32_t i = 0; i < farm->count; i++)
        if (strcmp(farm->devices[i].id, id) == 0)
            *out_device = &farm->devices[i].device;
    return *out_device ? ACCEL_OK : accel_error_set(error, ACCEL_E_NOT_FOUND, "no device %s", id);
}

static const struct accel_instance_table instance_table = {
    .size = sizeof(instance_table), .detach = detach, .enumerate = enumerate, .open = open_device};

static int32_t attach(const struct accel_host *host, uint32_t minor, struct accel_driver_instance **out_instance,
                      struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)host, (void)minor, (void)error;
    *out_instance = &waiting->instance;
    return ACCEL_OK;
}

static const struct accel_driver driver = {.size = sizeof(driver),
                                           .abi_major = ACCEL_ABI_MAJOR,
                                           .abi_minor = ACCEL_ABI_MINOR,
                                           .abi_lowest = ACCEL_ABI_MINOR,
                                           .name = "farm",
                                           .version = "1.0",
                                           .attach = attach};

const struct accel_driver *farm_driver(struct farm *farm)
{
    farm->instance.table = &instance_table;
    for (uint32_t i = 0; i < farm->count; i++) {
        farm->devices[i].device.table = &device_table;
        farm->devices[i].farm = farm;
    }
    waiting = farm;
    return &driver;
}

/* ---- the graph ---- */

static uint32_t value(struct accel_builder *builder, uint32_t role, const char *name, uint32_t type, uint32_t rank,
                      const struct accel_dim *dims)
{
    struct accel_error error = {0};
    uint32_t index = ACCEL_NO_VALUE;
    if (accel_builder_value(builder, role, name, type, rank, dims, &index, &error) != ACCEL_OK)
        fail_msg("%s: %s", name, error.text);
    return index;
}

static struct accel_dim fixed(uint64_t size)
{
    return (struct accel_dim){.add = size};
}

void farm_graph_make(struct farm_graph *out)
{
    struct accel_error error = {0};
    struct accel_attention attention = {
        .size = sizeof(attention), .kv_heads = 2, .page = 4, .causal = 1, .scale = 1.0f};
    struct accel_dim tokens = {0}, slots[2] = {fixed(64), fixed(32)};
    uint32_t symbol = 0, inputs[6], q, row, slot, y;
    assert_int_equal(accel_builder_create("cached", &out->builder, &error), ACCEL_OK);
    assert_int_equal(accel_builder_symbol(out->builder, "tokens", 1, 8, &symbol, &error), ACCEL_OK);
    tokens = (struct accel_dim){.symbol = symbol, .multiply = 1, .divide = 1};
    q = value(out->builder, ACCEL_ROLE_INPUT, "q", ACCEL_F32, 3, (struct accel_dim[]){tokens, fixed(4), fixed(16)});
    row = value(out->builder, ACCEL_ROLE_INPUT, "row", ACCEL_F32, 2, (struct accel_dim[]){tokens, fixed(32)});
    slot = value(out->builder, ACCEL_ROLE_INPUT, "slot", ACCEL_I32, 1, &tokens);
    inputs[0] = q;
    inputs[1] = value(out->builder, ACCEL_ROLE_STATE, "k", ACCEL_F16, 2, slots);
    inputs[2] = value(out->builder, ACCEL_ROLE_STATE, "v", ACCEL_F16, 2, slots);
    inputs[3] = value(out->builder, ACCEL_ROLE_INPUT, "table", ACCEL_I32, 2, (struct accel_dim[]){fixed(1), fixed(16)});
    inputs[4] = value(out->builder, ACCEL_ROLE_INPUT, "first", ACCEL_I32, 1, (struct accel_dim[]){fixed(2)});
    inputs[5] = value(out->builder, ACCEL_ROLE_INPUT, "length", ACCEL_I32, 1, (struct accel_dim[]){fixed(1)});
    if (accel_builder_node(out->builder, ACCEL_OP_CACHE_WRITE, "write", (uint32_t[]){row, slot, inputs[1]}, 3, NULL, &y,
                           &error) != ACCEL_OK ||
        accel_builder_node(out->builder, ACCEL_OP_ATTENTION, "attend", inputs, 6, &attention, &y, &error) != ACCEL_OK ||
        accel_builder_output(out->builder, y, "y", &error) != ACCEL_OK ||
        accel_builder_finish(out->builder, &out->graph, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
}

int32_t farm_place(struct accel_plan *plan, const struct farm_graph *graph, struct accel_error *error)
{
    static const uint64_t tokens = 8;
    static const uint64_t *const symbols[] = {&tokens};
    static const struct accel_state_part parts[] = {{ACCEL_F16, 0, 32}, {ACCEL_F16, 0, 32}};
    struct accel_plan_work work = {.size = sizeof(work),
                                   .graph_count = 1,
                                   .graphs = &graph->graph,
                                   .symbols = symbols,
                                   .parts = parts,
                                   .part_count = 2,
                                   .slots = 64};
    accel_error_clear(error);
    return accel_plan_assign_graphs(plan, &work, error);
}
