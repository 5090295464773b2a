/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tests/unit/plan_support.h"

#include <stdio.h>

/* attach is given no data, so the script waits here for it; a test program has one thread. */
static struct scripted *waiting;

static int32_t device_close(struct accel_driver_device *device, struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)device, (void)error;
    return ACCEL_OK;
}

static struct scripted *script_of(struct accel_driver_device *device)
{
    return (struct scripted *)((char *)device - offsetof(struct scripted, device));
}

static int32_t claim(struct accel_driver_device *device, const struct accel_graph *const *graphs, uint32_t graph_count,
                     const struct accel_compile_options *options, const struct accel_claim_sink *sink,
                     struct accel_error *error) ACCEL_NOEXCEPT
{
    struct scripted *script = script_of(device);
    int32_t code = ACCEL_OK;
    const char *kernel = script->kernel == NULL ? "add_f32" : script->kernel;
    script->bucket = options->buckets[0];
    script->claims++;
    for (uint32_t g = 0; g < graph_count && code == ACCEL_OK; g++)
        for (uint32_t n = 0; n < graphs[g]->node_count && code == ACCEL_OK; n++) {
            uint32_t answer = n == script->node ? script->answer : ACCEL_CLAIM_NATIVE;
            struct accel_claim one = {.graph = g,
                                      .node = n,
                                      .answer = answer,
                                      .weights = script->weights,
                                      .precision = script->precision,
                                      .kernel = answer == ACCEL_CLAIM_NO ? "" : kernel,
                                      .reason = answer == ACCEL_CLAIM_NATIVE ? "" : "the test says so"};
            if (n != script->silent)
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

static int32_t estimate(struct accel_driver_device *device, const struct accel_graph *const *graphs,
                        uint32_t graph_count, const struct accel_compile_options *options,
                        const struct accel_estimate_sink *sink, struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = sink->bytes(sink, 0, ACCEL_MEMORY_SCRATCH, 100, 200, "first", error);
    (void)graphs, (void)graph_count, (void)options;
    script_of(device)->estimates++;
    return code == ACCEL_OK ? sink->bytes(sink, 0, ACCEL_MEMORY_SCRATCH, 10, 20, "second", error) : code;
}

/* A plan makes nothing; that the slot is there says whose memory scratch is. */
static int32_t buffer_create(struct accel_driver_device *device, uint64_t bytes, uint32_t heap, uint32_t memory_class,
                             struct accel_driver_buffer **out_buffer, struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)device, (void)bytes, (void)heap, (void)memory_class;
    *out_buffer = NULL;
    return accel_error_set(error, ACCEL_E_INTERNAL, "a plan must not make buffers");
}

static const struct accel_device_table plain_table = {
    .size = sizeof(plain_table), .close = device_close, .claim = claim, .compile = compile};
static const struct accel_device_table estimating_table = {
    .size = sizeof(estimating_table), .close = device_close, .claim = claim, .compile = compile, .estimate = estimate};
static const struct accel_device_table own_table = {.size = sizeof(own_table),
                                                    .close = device_close,
                                                    .claim = claim,
                                                    .compile = compile,
                                                    .estimate = estimate,
                                                    .buffer_create = buffer_create};

static int32_t detach(struct accel_driver_instance *instance, struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)instance, (void)error;
    return ACCEL_OK;
}

static int32_t enumerate(struct accel_driver_instance *instance, const struct accel_hardware *const *hardware,
                         uint32_t hardware_count, const struct accel_device_sink *sink,
                         struct accel_error *error) ACCEL_NOEXCEPT
{
    static const struct accel_heap heap = {1u << 30, ACCEL_HEAP_HOST, 0, 64, "DDR"};
    const struct scripted *script = (const struct scripted *)instance;
    struct accel_limits limits = {.buffer_bytes = script->most_buffer ? script->most_buffer : 1u << 30,
                                  .binding_bytes = script->most_binding ? script->most_binding : 1u << 30,
                                  .threads = script->threads,
                                  .sets = 0xffffffffu};
    struct accel_facts facts = {.size = sizeof(facts),
                                .kind = ACCEL_DEVICE_CPU,
                                .flags = script->flags,
                                .hardware = -1,
                                .id = "one",
                                .name = "Scripted device",
                                .detail = "",
                                .heap_count = 1,
                                .heaps = &heap,
                                .limits = &limits};
    int32_t code = sink->device(sink, &facts, error);
    (void)hardware, (void)hardware_count;
    return code == ACCEL_OK ? sink->verdict(sink, -1, ACCEL_E_DENIED, "the second one is locked", "unlock it", error)
                            : code;
}

static int32_t open_device(struct accel_driver_instance *instance, const char *id, const struct accel_setting *settings,
                           uint32_t setting_count, struct accel_driver_device **out_device,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    struct scripted *script = (struct scripted *)instance;
    char given[sizeof(script->options)] = "";
    size_t used = 0;
    (void)id;
    for (uint32_t i = 0; i < setting_count; i++) {
        const struct accel_setting *one = &settings[i];
        used += (size_t)snprintf(given + used, sizeof(given) - used, "%s=%s%.0d ", one->name,
                                 one->text ? one->text : "", (int)one->integer);
    }
    for (size_t i = 0; i < 2; i++) {
        if (script->refuses[i] == NULL || strstr(given, script->refuses[i]) == NULL)
            continue;
        error->code = ACCEL_E_UNSUPPORTED;
        snprintf(error->text, sizeof(error->text), "there is no %s", script->refuses[i]);
        return ACCEL_E_UNSUPPORTED;
    }
    memcpy(script->options, given, sizeof(given));
    script->opened++;
    *out_device = &script->device;
    return ACCEL_OK;
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

static const struct accel_option precompile = {.size = sizeof(precompile),
                                               .type = ACCEL_OPTION_FLAG,
                                               .name = "precompile",
                                               .help = "a flag",
                                               .integer = 1,
                                               .highest = 1};
static const struct accel_option subgroups = {.size = sizeof(subgroups),
                                              .type = ACCEL_OPTION_TEXT,
                                              .name = "subgroups",
                                              .help = "a choice",
                                              .text = "auto",
                                              .choices = "auto on off"};
/* A name of a setting, and not its type. */
static const struct accel_option textures = {
    .size = sizeof(textures), .type = ACCEL_OPTION_INTEGER, .name = "textures", .help = "a number", .highest = 1};
static const struct accel_option *const options[] = {&precompile, &subgroups, &textures};

static const struct accel_driver driver = {.size = sizeof(driver),
                                           .abi_major = ACCEL_ABI_MAJOR,
                                           .abi_minor = ACCEL_ABI_MINOR,
                                           .abi_lowest = ACCEL_ABI_MINOR,
                                           .name = "scripted",
                                           .version = "1.0",
                                           .options = options,
                                           .option_count = sizeof(options) / sizeof(options[0]),
                                           .attach = attach};

const struct accel_driver *scripted_driver(struct scripted *script, uint32_t with_estimate)
{
    script->instance.table = &instance_table;
    script->device.table = with_estimate == 2 ? &own_table : with_estimate ? &estimating_table : &plain_table;
    waiting = script;
    return &driver;
}
