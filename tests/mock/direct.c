/* SPDX-License-Identifier: Apache-2.0 */
/* See direct.h. Its one operator is y = a + b of F32, b the same shape or a row. */
#include "tests/mock/direct.h"

#include <stdio.h>
#include <string.h>

struct direct_control direct;

struct instance {
    struct accel_driver_instance base;
    const struct accel_host *host;
};

struct device {
    struct accel_driver_device base;
    const struct accel_host *host;
};

#define BAKED_VALUES 8u

struct module {
    struct accel_driver_module base;
    const struct accel_host *host;
    const struct accel_graph *graph;
    float baked[BAKED_VALUES]; /* the weight, where it was claimed so */
    uint32_t is_baked;
};

struct set {
    struct accel_driver_set base;
    const struct accel_host *host;
    const struct accel_graph *graph;
    float *a;
    const float *b;
    float *y;
    uint64_t b_width;
};

static int32_t fail(struct accel_error *error, int32_t code, const char *text)
{
    if (error != NULL && error->code == ACCEL_OK) {
        error->code = code;
        snprintf(error->text, sizeof(error->text), "%s", text);
    }
    return code;
}

static void in_slot(const char *slot)
{
    if (direct.on_slot != NULL)
        direct.on_slot(slot);
}

static int32_t make(const struct accel_host *host, uint64_t bytes, void **out, struct accel_error *error)
{
    int32_t code = host->allocate(host, ACCEL_MEMORY_PROGRAM, bytes, 64, out, error);
    direct.alive += code == ACCEL_OK;
    return code;
}

static void unmake(const struct accel_host *host, void *handle)
{
    direct.alive--;
    host->release(host, handle);
}

/* ---- set ---- */

static int32_t set_free(struct accel_driver_set *base)
{
    unmake(((struct set *)base)->host, base);
    return ACCEL_OK;
}

static void add(void *argument, uint32_t thread, uint32_t threads)
{
    (void)argument;
    if (thread == 0)
        direct.threads_seen = threads;
}

static int32_t set_run(struct accel_driver_set *base, const uint64_t *symbols, const struct accel_team *team,
                       struct accel_error *error)
{
    struct set *set = (struct set *)base;
    uint64_t count = set->b_width;
    if (direct.noop)
        return ACCEL_OK;
    direct.runs++;
    if (direct.on_run != NULL)
        direct.on_run(direct.on_run_data);
    if (direct.run_code != ACCEL_OK)
        return fail(error, direct.run_code, "the mock was told to fail");
    if (team->run(team, team->threads, add, set, error) != ACCEL_OK)
        return ACCEL_E_INTERNAL;
    if (set->graph->symbol_count != 0)
        count *= symbols[0];
    for (uint64_t i = 0; i < count; i++)
        set->y[i] = set->a[i] + set->b[i % set->b_width];
    return ACCEL_OK;
}

static const struct accel_set_table set_table = {.size = sizeof(set_table), .free = set_free, .run = set_run};

/* ---- module ---- */

static int32_t module_free(struct accel_driver_module *base)
{
    unmake(((struct module *)base)->host, base);
    return ACCEL_OK;
}

static int32_t module_scratch(struct accel_driver_module *base, uint32_t program, const uint64_t *symbols,
                              uint32_t threads, uint64_t *out_bytes, uint64_t *out_alignment, struct accel_error *error)
{
    (void)base, (void)program, (void)symbols, (void)threads, (void)error;
    *out_bytes = direct.scratch_bytes;
    *out_alignment = 64;
    return ACCEL_OK;
}

static int32_t set_create(struct accel_driver_module *base, const struct accel_set_description *description,
                          struct accel_driver_set **out_set, struct accel_error *error)
{
    struct module *module = (struct module *)base;
    const struct accel_node *node = module->graph->nodes[0];
    void *memory = NULL;
    struct set *set;
    int32_t code;
    *out_set = NULL;
    if (direct.set_code != ACCEL_OK)
        return fail(error, direct.set_code, "the mock was told to make no set");
    code = make(module->host, sizeof(*set), &memory, error);
    if (code != ACCEL_OK)
        return code;
    set = memory;
    *set = (struct set){.base = {&set_table}, .host = module->host, .graph = module->graph};
    for (uint32_t i = 0; i < description->binding_count; i++) {
        const struct accel_binding *binding = &description->bindings[i];
        if (binding->value == node->inputs[0])
            set->a = binding->host;
        if (binding->value == node->inputs[1])
            set->b = binding->host;
        if (binding->value == node->outputs[0])
            set->y = binding->host;
    }
    if (module->is_baked)
        set->b = module->baked;
    set->b_width = module->graph->values[node->inputs[1]]->dims[0].add;
    direct.scratch = description->scratch;
    direct.weight = set->b;
    *out_set = &set->base;
    return ACCEL_OK;
}

static const struct accel_module_table module_table = {
    .size = sizeof(module_table), .free = module_free, .scratch = module_scratch, .set_create = set_create};

/* ---- device ---- */

static int32_t device_close(struct accel_driver_device *base, struct accel_error *error)
{
    (void)error;
    in_slot("close");
    unmake(((struct device *)base)->host, base);
    return ACCEL_OK;
}

static int32_t device_claim(struct accel_driver_device *base, const struct accel_graph *const *graphs,
                            uint32_t graph_count, const struct accel_compile_options *options,
                            const struct accel_claim_sink *sink, struct accel_error *error)
{
    (void)base, (void)options;
    for (uint32_t g = 0; g < graph_count && !direct.silent_claim; g++)
        for (uint32_t n = 0; n < graphs[g]->node_count; n++) {
            struct accel_claim claim = {.graph = g, .node = n, .answer = ACCEL_CLAIM_NATIVE, .kernel = "mock"};
            int32_t code;
            claim.reason = "";
            claim.weights = direct.placement == 0 ? ACCEL_MAPPED : direct.placement;
            claim.alignment = direct.alignment;
            if (graphs[g]->nodes[n]->op != ACCEL_OP_ADD) {
                claim.answer = ACCEL_CLAIM_NO;
                claim.reason = "only sums";
            }
            if (direct.claim_answer != 0)
                claim.answer = direct.claim_answer;
            code = sink->claim(sink, &claim, error);
            if (code != ACCEL_OK)
                return code;
        }
    return ACCEL_OK;
}

/* A driver whose programs hold their weights reads them while it compiles. */
static int32_t bake(struct module *module, const struct accel_source *source, struct accel_error *error)
{
    const struct accel_graph *graph = module->graph;
    const struct accel_value *weight = graph->values[graph->nodes[0]->inputs[1]];
    uint64_t bytes = weight->dims[0].add * sizeof(float);
    if (source == NULL || source->read == NULL)
        return fail(error, ACCEL_E_INVALID, "the mock bakes weights, and compile was given no source of them");
    if (bytes > sizeof(module->baked))
        return fail(error, ACCEL_E_LIMIT, "the mock bakes no more");
    module->is_baked = 1;
    return source->read(source, weight->key, 0, 0, module->baked, bytes, error);
}

static int32_t device_compile(struct accel_driver_device *base, const struct accel_graph *const *graphs,
                              uint32_t graph_count, const struct accel_compile_options *options,
                              const struct accel_source *source, const struct accel_blob_writer *writer,
                              const struct accel_task *task, struct accel_driver_module **out_module,
                              struct accel_error *error)
{
    struct device *device = (struct device *)base;
    void *memory = NULL;
    struct module *module;
    int32_t code;
    (void)graph_count, (void)options, (void)writer, (void)task;
    *out_module = NULL;
    in_slot("compile");
    if (direct.compile_code != ACCEL_OK)
        return fail(error, direct.compile_code, "the mock was told to compile nothing");
    code = make(device->host, sizeof(*module), &memory, error);
    if (code != ACCEL_OK)
        return code;
    module = memory;
    *module = (struct module){.base = {&module_table}, .host = device->host, .graph = graphs[0]};
    if (direct.placement == ACCEL_BAKED)
        code = bake(module, source, error);
    if (code != ACCEL_OK) {
        unmake(device->host, module);
        return code;
    }
    *out_module = &module->base;
    return ACCEL_OK;
}

const struct accel_device_table direct_device_table = {
    .size = sizeof(direct_device_table), .close = device_close, .claim = device_claim, .compile = device_compile};

/* ---- instance ---- */

static int32_t instance_detach(struct accel_driver_instance *base, struct accel_error *error)
{
    (void)error;
    in_slot("detach");
    unmake(((struct instance *)base)->host, base);
    return ACCEL_OK;
}

const struct accel_facts *direct_facts(void)
{
    static const struct accel_heap heap = {
        .bytes = 1u << 30, .flags = ACCEL_HEAP_HOST, .alignment = 64, .name = "memory"};
    static const struct accel_limits limits = {
        .buffer_bytes = 1u << 30, .binding_bytes = 1u << 30, .threads = 4, .sets = 0xffffffffu};
    static const uint32_t types[] = {ACCEL_F32};
    static const struct accel_facts facts = {.size = sizeof(facts),
                                             .kind = ACCEL_DEVICE_CPU,
                                             .hardware = 0,
                                             .id = "d0",
                                             .name = "mock device",
                                             .detail = "",
                                             .heap_count = 1,
                                             .heaps = &heap,
                                             .limits = &limits,
                                             .types = types,
                                             .type_count = 1};
    return &facts;
}

static int32_t instance_enumerate(struct accel_driver_instance *base, const struct accel_hardware *const *hardware,
                                  uint32_t hardware_count, const struct accel_device_sink *sink,
                                  struct accel_error *error)
{
    (void)base, (void)hardware, (void)hardware_count;
    in_slot("enumerate");
    if (direct.facts == NULL)
        return sink->device(sink, direct_facts(), error);
    for (uint32_t i = 0; i < direct.fact_count; i++) {
        int32_t code = sink->device(sink, direct.facts[i], error);
        if (code != ACCEL_OK)
            return code;
    }
    return ACCEL_OK;
}

static int32_t instance_open(struct accel_driver_instance *base, const char *id, const struct accel_setting *settings,
                             uint32_t setting_count, struct accel_driver_device **out_device, struct accel_error *error)
{
    struct instance *instance = (struct instance *)base;
    void *memory = NULL;
    struct device *device;
    int32_t code;
    (void)id;
    *out_device = NULL;
    in_slot("open");
    if (setting_count != 0) {
        direct.setting = settings[setting_count - 1];
        snprintf(direct.setting_text, sizeof(direct.setting_text), "%s",
                 direct.setting.text ? direct.setting.text : "");
    }
    if (direct.no_handle)
        return ACCEL_OK;
    if (direct.open_code != ACCEL_OK)
        return direct.open_code; /* no text: the core says something */
    code = make(instance->host, sizeof(*device), &memory, error);
    if (code != ACCEL_OK)
        return code;
    device = memory;
    *device = (struct device){.base = {direct.device_table != NULL ? direct.device_table : &direct_device_table},
                              .host = instance->host};
    *out_device = &device->base;
    return ACCEL_OK;
}

static const struct accel_instance_table instance_table = {
    .size = sizeof(instance_table), .detach = instance_detach, .enumerate = instance_enumerate, .open = instance_open};

static int32_t attach(const struct accel_host *host, uint32_t minor, struct accel_driver_instance **out_instance,
                      struct accel_error *error)
{
    void *memory = NULL;
    struct instance *instance;
    int32_t code;
    (void)minor;
    *out_instance = NULL;
    in_slot("attach");
    if (direct.attach_code != ACCEL_OK)
        return fail(error, direct.attach_code, "the mock was told not to attach");
    code = make(host, sizeof(*instance), &memory, error);
    if (code != ACCEL_OK)
        return code;
    instance = memory;
    *instance = (struct instance){.base = {&instance_table}, .host = host};
    *out_instance = &instance->base;
    return ACCEL_OK;
}

static const struct accel_option option_level = {.size = sizeof(option_level),
                                                 .type = ACCEL_OPTION_INTEGER,
                                                 .name = "level",
                                                 .help = "how much",
                                                 .integer = 1,
                                                 .lowest = 0,
                                                 .highest = 9};
static const struct accel_option option_mode = {.size = sizeof(option_mode),
                                                .type = ACCEL_OPTION_TEXT,
                                                .name = "direct.mode",
                                                .help = "how",
                                                .text = "slow",
                                                .choices = "slow fast"};
static const struct accel_option *const options[] = {&option_level, &option_mode};

const struct accel_driver direct_driver = {.size = sizeof(direct_driver),
                                           .abi_major = ACCEL_ABI_MAJOR,
                                           .abi_minor = ACCEL_ABI_MINOR,
                                           .abi_lowest = ACCEL_ABI_MINOR,
                                           .option_count = 2,
                                           .name = "direct",
                                           .version = "1.0",
                                           .options = options,
                                           .attach = attach};

void direct_reset(void)
{
    uint32_t alive = direct.alive;
    memset(&direct, 0, sizeof(direct));
    direct.alive = alive;
}
