/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the cpu driver with a layer around what makes sets, down to their run: see second.h. */
#include "tests/mock/second.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct second_control second;

/* What the cpu driver's own tables are. They are const and the same for all objects, so that one copy is enough. */
static struct {
    const struct accel_driver *driver;
    const struct accel_instance_table *instance;
    const struct accel_device_table *device;
    const struct accel_module_table *module;
    const struct accel_set_table *set;
} real;

/* Outputs of sets; those of sets that are freed are found no more. */
static struct output {
    const struct accel_driver_set *set;
    float *values;
    uint64_t count;
} outputs[64];
static uint32_t output_count;
static const struct accel_graph *const *graphs_compiled;

static struct accel_instance_table instance_table;
static struct accel_device_table device_table;
static struct accel_module_table module_table;
static struct accel_set_table set_table;

static int32_t begin(const char *slot, struct accel_error *error)
{
    return second.before == NULL ? ACCEL_OK : second.before(slot, error);
}

static int32_t run(struct accel_driver_set *set, const uint64_t *symbols, const struct accel_team *team,
                   struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = begin("run", error);
    if (code != ACCEL_OK)
        return code;
    second.runs++;
    if (second.losing == 0 || second.runs < second.losing) {
        code = real.set->run(set, symbols, team, error);
        for (uint32_t i = 0; i < output_count && second.after != NULL; i++)
            if (outputs[i].set == set)
                second.after("run", outputs[i].values, outputs[i].count);
        return code;
    }
    if (error != NULL && error->code == ACCEL_OK) {
        error->code = ACCEL_E_DEVICE_LOST;
        snprintf(error->text, sizeof(error->text), "the mock was told to lose it in run %llu",
                 (unsigned long long)second.runs);
    }
    return ACCEL_E_DEVICE_LOST;
}

static int32_t set_free(struct accel_driver_set *set) ACCEL_NOEXCEPT
{
    begin("set_free", &(struct accel_error){0});
    return real.set->free(set);
}

static int32_t module_free(struct accel_driver_module *module) ACCEL_NOEXCEPT
{
    begin("module_free", &(struct accel_error){0});
    return real.module->free(module);
}

static int32_t scratch(struct accel_driver_module *module, uint32_t program, const uint64_t *symbols, uint32_t threads,
                       uint64_t *out_bytes, uint64_t *out_alignment, struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = begin("scratch", error);
    return code != ACCEL_OK ? code
                            : real.module->scratch(module, program, symbols, threads, out_bytes, out_alignment, error);
}

/* Passes claims that the test may change on to the core. */
struct claim_filter {
    struct accel_claim_sink base; /* first */
    const struct accel_claim_sink *core;
};

static int32_t pass_claim(const struct accel_claim_sink *sink, const struct accel_claim *given,
                          struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct accel_claim_sink *core = ((const struct claim_filter *)(const void *)sink)->core;
    struct accel_claim changed = *given;

    second.claiming(&changed);
    return core->claim(core, &changed, error);
}

static int32_t claim(struct accel_driver_device *device, const struct accel_graph *const *graphs, uint32_t graph_count,
                     const struct accel_compile_options *options, const struct accel_claim_sink *sink,
                     struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct claim_filter filter = {{.size = sizeof(filter.base), .claim = pass_claim}, sink};
    int32_t code = begin("claim", error);

    sink = second.claiming == NULL ? sink : &filter.base;
    return code != ACCEL_OK ? code : real.device->claim(device, graphs, graph_count, options, sink, error);
}

static int32_t estimate(struct accel_driver_device *device, const struct accel_graph *const *graphs,
                        uint32_t graph_count, const struct accel_compile_options *options,
                        const struct accel_estimate_sink *sink, struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = begin("estimate", error);
    if (code == ACCEL_OK && second.estimating != NULL)
        second.estimating(sink);
    return code != ACCEL_OK ? code : real.device->estimate(device, graphs, graph_count, options, sink, error);
}

static int32_t close_device(struct accel_driver_device *device, struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = begin("close", error);
    return code != ACCEL_OK ? code : real.device->close(device, error);
}

static void note_outputs(const struct accel_driver_set *set, const struct accel_set_description *description)
{
    const struct accel_graph *graph = graphs_compiled[description->program];
    for (uint32_t i = 0; i < description->binding_count && output_count < 64; i++) {
        const struct accel_binding *binding = &description->bindings[i];
        if (graph->values[binding->value]->role == ACCEL_ROLE_OUTPUT && binding->host != NULL)
            outputs[output_count++] = (struct output){set, binding->host, binding->bytes / sizeof(float)};
    }
}

static int32_t set_create(struct accel_driver_module *module, const struct accel_set_description *description,
                          struct accel_driver_set **out_set, struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = begin("set_create", error);
    if (code == ACCEL_OK)
        code = real.module->set_create(module, description, out_set, error);
    if (code != ACCEL_OK)
        return code;
    real.set = (*out_set)->table;
    set_table = *real.set;
    set_table.run = run;
    set_table.free = set_free;
    (*out_set)->table = &set_table;
    note_outputs(*out_set, description);
    return ACCEL_OK;
}

static int32_t compile(struct accel_driver_device *device, const struct accel_graph *const *graphs,
                       uint32_t graph_count, const struct accel_compile_options *options,
                       const struct accel_source *source, const struct accel_blob_writer *writer,
                       const struct accel_task *task, struct accel_driver_module **out_module,
                       struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = begin("compile", error);
    if (code == ACCEL_OK && second.compiling != NULL)
        code = second.compiling(task, error);
    if (code == ACCEL_OK)
        code = real.device->compile(device, graphs, graph_count, options, source, writer, task, out_module, error);
    if (code != ACCEL_OK)
        return code;
    graphs_compiled = graphs;
    real.module = (*out_module)->table;
    module_table = *real.module;
    module_table.set_create = set_create;
    module_table.scratch = scratch;
    module_table.free = module_free;
    (*out_module)->table = &module_table;
    return ACCEL_OK;
}

static int32_t open_device(struct accel_driver_instance *instance, const char *id, const struct accel_setting *settings,
                           uint32_t setting_count, struct accel_driver_device **out_device,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = begin("open", error);
    /* Where the driver is a file it has one option, which the real one does not know. */
    for (uint32_t i = 0; i < setting_count; i++)
        if (strcmp(settings[i].name, "losing") == 0)
            second.losing = (uint64_t)settings[i].integer;
    if (code == ACCEL_OK)
        code = real.instance->open(instance, id, NULL, 0, out_device, error);
    if (code != ACCEL_OK)
        return code;
    real.device = (*out_device)->table;
    device_table = *real.device;
    device_table.compile = compile;
    device_table.claim = claim;
    device_table.close = close_device;
    if (device_table.estimate != NULL)
        device_table.estimate = estimate;
    (*out_device)->table = &device_table;
    return ACCEL_OK;
}

static int32_t detach(struct accel_driver_instance *instance, struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = begin("detach", error);
    return code != ACCEL_OK ? code : real.instance->detach(instance, error);
}

static int32_t attach(const struct accel_host *host, uint32_t minor, struct accel_driver_instance **out_instance,
                      struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = real.driver->attach(host, minor, out_instance, error);
    if (code != ACCEL_OK)
        return code;
    real.instance = (*out_instance)->table;
    instance_table = *real.instance;
    instance_table.open = open_device;
    instance_table.detach = detach;
    (*out_instance)->table = &instance_table;
    return ACCEL_OK;
}

const struct accel_driver *second_load(const char *path)
{
    static struct accel_driver driver;
    accel_driver_query_function query;
    struct accel_error error = {0};
    void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = file == NULL ? NULL : dlsym(file, "accel_driver_query");
    memcpy(&query, &symbol, sizeof(query));
    if (symbol == NULL || query(ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR, &real.driver, &error) != ACCEL_OK)
        return NULL;
    driver = *real.driver;
    driver.name = "second";
    driver.version = "1.0";
    driver.options = NULL;
    driver.option_count = 0;
    driver.attach = attach;
    memset(&second, 0, sizeof(second));
    return &driver;
}

const struct accel_driver *second_load_built(void)
{
    const char *build = getenv("ACCEL_TEST_BUILDDIR");
    char path[4096];
    snprintf(path, sizeof(path), "%s/plugins/cpu/.libs/cpu.so", build == NULL ? "." : build);
    return second_load(path);
}
