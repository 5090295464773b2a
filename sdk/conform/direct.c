/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "sdk/conform/direct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/conform/abi.h"
#include "sdk/conform/text.h"

#define DEADLINE 60000000000u

/* ---- the source of the only weight ---- */

static const struct conform_tensor *find(const struct conform_source *source, const char *key)
{
    return strcmp(key, "w") == 0 ? &((const struct direct *)source)->weight : NULL;
}

/* ---- threads ---- */

static int32_t run_alone(const struct accel_team *team, uint32_t threads, accel_team_function function, void *argument,
                         struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)team;
    if (threads != 1)
        return accel_error_set(error, ACCEL_E_INVALID, "%u threads of a team of 1", threads);
    function(argument, 0, 1);
    return ACCEL_OK;
}

const struct accel_team *direct_team(void)
{
    static const struct accel_team alone = {.size = sizeof(alone), .threads = 1, .run = run_alone};

    return &alone;
}

/* ---- stages ---- */

const char *direct_stage_name(enum direct_stage stage)
{
    static const char *const names[DIRECT_END] = {"attach",       "enumerate",      "open",         "claim",
                                                  "compile",      "weights_create", "pull",         "buffer_create",
                                                  "queue_create", "set_create",     "run or submit"};

    return names[stage];
}

/* Selects the requested device, or the first one. */
struct finder {
    struct accel_device_sink sink;
    struct direct *direct;
};

static int32_t find_device(const struct accel_device_sink *sink, const struct accel_facts *facts,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    struct direct *direct = ((struct finder *)(uintptr_t)sink)->direct;
    const char *wanted = direct->conform->id;

    (void)error;
    if (direct->id[0] != '\0' || (wanted != NULL && strcmp(wanted, facts->id) != 0))
        return ACCEL_OK;
    snprintf(direct->id, sizeof(direct->id), "%s", facts->id);
    direct->inline_bytes = facts->limits->inline_bytes;
    direct->heap_count = facts->heap_count;
    return ACCEL_OK;
}

static int32_t ignore_verdict(const struct accel_device_sink *sink, int32_t hardware, int32_t code, const char *text,
                              const char *remedy, struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)sink, (void)hardware, (void)code, (void)text, (void)remedy, (void)error;
    return ACCEL_OK;
}

static int32_t enumerate(struct direct *direct)
{
    struct finder finder = {.sink = {.size = sizeof(finder.sink), .device = find_device, .verdict = ignore_verdict},
                            .direct = direct};
    const struct accel_hardware *hardware[256];
    uint32_t count = accel_hardware_count(direct->conform->context);

    count = count < 256 ? count : 256;
    for (uint32_t i = 0; i < count; i++)
        hardware[i] = accel_hardware_get(direct->conform->context, i);
    direct->id[0] = '\0';
    return direct->instance->table->enumerate(direct->instance, hardware, count, &finder.sink, &direct->error);
}

struct claim_counter {
    struct accel_claim_sink sink;
    struct direct *direct;
    uint32_t refused, answered;
};

static int32_t count_claim(const struct accel_claim_sink *sink, const struct accel_claim *claim,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    struct claim_counter *counter = (struct claim_counter *)(uintptr_t)sink;

    (void)error;
    counter->answered++;
    counter->refused += claim->answer == ACCEL_CLAIM_NO;
    if (claim->weights != 0)
        counter->direct->placement = claim->weights;
    return ACCEL_OK;
}

static const uint64_t rows = DIRECT_ROWS;
static const uint32_t one_bucket = 1;
static const struct accel_compile_options compile_options = {
    .size = sizeof(compile_options), .buckets = &rows, .bucket_counts = &one_bucket, .threads = 1};

const struct accel_compile_options *direct_options(void)
{
    return &compile_options;
}

static int32_t claim(struct direct *direct)
{
    struct claim_counter counter = {.sink = {.size = sizeof(counter.sink), .claim = count_claim}, .direct = direct};
    int32_t code;

    direct->placement = 0;
    code = direct->device->table->claim(direct->device, &direct->graph, 1, &compile_options, &counter.sink,
                                        &direct->error);
    if (code == ACCEL_OK && (counter.refused != 0 || counter.answered == 0))
        return accel_error_set(&direct->error, ACCEL_E_REFUSED, "the driver does not take the small graph");
    return code;
}

static int32_t progress(const struct accel_task *task, uint64_t done, uint64_t total) ACCEL_NOEXCEPT
{
    (void)task, (void)done, (void)total;
    return ACCEL_OK;
}

struct accel_task direct_task(void)
{
    return (struct accel_task){.size = sizeof(struct accel_task), .progress = progress, .team = direct_team()};
}

static int32_t compile(struct direct *direct)
{
    const struct accel_task task = direct_task();

    return direct->device->table->compile(direct->device, &direct->graph, 1, &compile_options, &direct->source.table,
                                          NULL, &task, &direct->module, &direct->error);
}

/* Returns the stage's argument `given`, or its truncated copy. */
static const void *cut(struct direct *direct, const void *given)
{
    return direct->cut == 0 ? given : abi_cut(direct->conform, given, direct->cut);
}

static int32_t make_weights(struct direct *direct)
{
    struct accel_weight weight = {.size = sizeof(weight),
                                  .type = ACCEL_F32,
                                  .rank = 2,
                                  .dims = {direct->weight.rows, direct->weight.width},
                                  .key = "w"};
    const struct accel_weight *list = cut(direct, &weight);

    if (direct->placement != ACCEL_RESIDENT)
        return ACCEL_OK;
    return direct->device->table->weights_create(direct->device, &list, 1, &direct->weights, &direct->error);
}

static int32_t pull(struct direct *direct)
{
    const struct accel_task task = direct_task();

    if (direct->weights == NULL)
        return ACCEL_OK;
    return direct->weights->table->pull(direct->weights, &direct->source.table, &task, &direct->error);
}

static bool is_bound(const struct direct *direct, uint32_t value)
{
    uint32_t role = direct->graph->values[value]->role;

    return role == ACCEL_ROLE_INPUT || role == ACCEL_ROLE_OUTPUT;
}

#define BUFFER_BYTES DIRECT_BUFFER_BYTES

static int32_t make_buffers(struct direct *direct)
{
    int32_t code = ACCEL_OK;

    for (uint32_t v = 0; v < direct->graph->value_count && code == ACCEL_OK; v++) {
        if (!is_bound(direct, v))
            continue;
        if (ACCEL_CAN(direct->device->table, buffer_create))
            code = direct->device->table->buffer_create(direct->device, BUFFER_BYTES, 0, ACCEL_MEMORY_ACTIVATION,
                                                        &direct->buffers[v], &direct->error);
        else
            direct->memory[v] = aligned_alloc(64, BUFFER_BYTES);
        if (direct->memory[v] != NULL)
            memset(direct->memory[v], 0, BUFFER_BYTES);
    }
    if (code != ACCEL_OK)
        direct_undo(direct, DIRECT_BUFFERS);
    return code;
}

static int32_t make_queue(struct direct *direct)
{
    if (!ACCEL_CAN(direct->device->table, queue_create))
        return ACCEL_OK;
    return direct->device->table->queue_create(direct->device, &direct->queue, &direct->error);
}

static uint32_t bind(const struct direct *direct, struct accel_binding *bindings)
{
    uint32_t count = 0;

    for (uint32_t v = 0; v < direct->graph->value_count; v++) {
        if (is_bound(direct, v))
            bindings[count++] = (struct accel_binding){.value = v,
                                                       .kind = ACCEL_BIND_BUFFER,
                                                       .object = direct->buffers[v],
                                                       .host = direct->memory[v],
                                                       .bytes = BUFFER_BYTES};
        else if (direct->graph->values[v]->role == ACCEL_ROLE_WEIGHT && direct->placement == ACCEL_MAPPED)
            bindings[count++] = (struct accel_binding){.value = v,
                                                       .kind = ACCEL_BIND_WEIGHTS,
                                                       .host = direct->weight.planes[0],
                                                       .bytes = direct->weight.bytes[0]};
        else if (direct->graph->values[v]->role == ACCEL_ROLE_WEIGHT && direct->placement == ACCEL_RESIDENT)
            bindings[count++] =
                (struct accel_binding){.value = v, .kind = ACCEL_BIND_WEIGHTS, .object = direct->weights};
    }
    return count;
}

static int32_t make_set(struct direct *direct)
{
    struct accel_binding bindings[DIRECT_VALUES];
    struct accel_set_description description = {
        .size = sizeof(description), .symbols = &rows, .symbol_count = 1, .bindings = bindings, .threads = 1};
    uint64_t bytes = 0, alignment = 0;
    int32_t code = direct->module->table->scratch(direct->module, 0, &rows, 1, &bytes, &alignment, &direct->error);

    if (code == ACCEL_OK && (alignment == 0 || (alignment & (alignment - 1)) != 0))
        code = accel_error_set(&direct->error, ACCEL_E_INVALID,
                               "scratch: %llu bytes at a multiple of %llu, which is no power of two",
                               (unsigned long long)bytes, (unsigned long long)alignment);
    if (code == ACCEL_OK && bytes != 0 && ACCEL_CAN(direct->device->table, buffer_create))
        code = direct->device->table->buffer_create(direct->device, bytes, 0, ACCEL_MEMORY_SCRATCH,
                                                    &direct->scratch_buffer, &direct->error);
    else if (code == ACCEL_OK && bytes != 0)
        direct->scratch = aligned_alloc(alignment < 64 ? 64 : alignment, (bytes + 4095) & ~(uint64_t)4095);
    description.binding_count = bind(direct, bindings);
    description.scratch = direct->scratch;
    description.scratch_buffer = direct->scratch_buffer;
    description.scratch_bytes = bytes;
    if (code == ACCEL_OK)
        code =
            direct->module->table->set_create(direct->module, cut(direct, &description), &direct->set, &direct->error);
    if (code != ACCEL_OK)
        direct_undo(direct, DIRECT_SET);
    return code;
}

static int32_t run(struct direct *direct)
{
    struct accel_driver_step step = {
        .size = sizeof(step), .kind = ACCEL_STEP_RUN, .set = direct->set, .symbol_count = 1};
    const struct accel_driver_step *list;
    uint64_t value = 0;
    int32_t code;

    if (direct->queue == NULL)
        return direct->set->table->run(direct->set, &rows, direct_team(), &direct->error);
    step.symbols = &rows;
    list = cut(direct, &step);
    code = direct->queue->table->submit(direct->queue, &list, 1, NULL, 0, &value, &direct->error);
    return code == ACCEL_OK ? direct->queue->table->wait(direct->queue, value, clock_now() + DEADLINE, &direct->error)
                            : code;
}

/* Names the slot that is called next, for the report of a crash or a hang. Only the first calls of a process are
 * named, since the child's answer is limited. */
static void name_slot(struct direct *direct, const char *slot)
{
    static atomic_uint named;

    if (atomic_fetch_add(&named, 1) < 100)
        conform_stage(direct->conform, slot);
}

int32_t direct_do(struct direct *direct, enum direct_stage stage)
{
    const struct accel_driver *driver = direct->conform->driver;

    name_slot(direct, direct_stage_name(stage));
    accel_error_clear(&direct->error);
    switch (stage) {
    case DIRECT_ATTACH:
        return driver->attach(&direct->host.table, driver->abi_minor, &direct->instance, &direct->error);
    case DIRECT_ENUMERATE:
        return enumerate(direct);
    case DIRECT_OPEN:
        return direct->instance->table->open(direct->instance, direct->id, direct->settings, direct->setting_count,
                                             &direct->device, &direct->error);
    case DIRECT_CLAIM:
        return claim(direct);
    case DIRECT_COMPILE:
        return compile(direct);
    case DIRECT_WEIGHTS:
        return make_weights(direct);
    case DIRECT_PULL:
        return pull(direct);
    case DIRECT_BUFFERS:
        return make_buffers(direct);
    case DIRECT_QUEUE:
        return make_queue(direct);
    case DIRECT_SET:
        return make_set(direct);
    case DIRECT_RUN:
        return run(direct);
    default:
        return ACCEL_OK;
    }
}

static void free_buffer(struct accel_driver_buffer **buffer)
{
    if (*buffer != NULL)
        (*buffer)->table->free(*buffer);
    *buffer = NULL;
}

static void undo_set(struct direct *direct)
{
    if (direct->set != NULL)
        direct->set->table->free(direct->set);
    direct->set = NULL;
    free_buffer(&direct->scratch_buffer);
    free(direct->scratch);
    direct->scratch = NULL;
}

static int32_t undo_root(struct direct *direct, enum direct_stage stage)
{
    int32_t code = ACCEL_OK;

    accel_error_clear(&direct->error);
    if (stage == DIRECT_OPEN && direct->device != NULL)
        code = direct->device->table->close(direct->device, &direct->error);
    if (stage == DIRECT_ATTACH && direct->instance != NULL)
        code = direct->instance->table->detach(direct->instance, &direct->error);
    if (code == ACCEL_OK && stage == DIRECT_OPEN)
        direct->device = NULL;
    if (code == ACCEL_OK && stage == DIRECT_ATTACH)
        direct->instance = NULL;
    return code;
}

int32_t direct_undo(struct direct *direct, enum direct_stage stage)
{
    static const char *const slots[DIRECT_END] = {[DIRECT_ATTACH] = "detach",
                                                  [DIRECT_OPEN] = "close",
                                                  [DIRECT_COMPILE] = "free of a module",
                                                  [DIRECT_WEIGHTS] = "free of a container of weights",
                                                  [DIRECT_BUFFERS] = "free of a buffer",
                                                  [DIRECT_QUEUE] = "free of a queue",
                                                  [DIRECT_SET] = "free of a set"};

    if (stage < DIRECT_END && slots[stage] != NULL)
        name_slot(direct, slots[stage]);
    switch (stage) {
    case DIRECT_SET:
        undo_set(direct);
        return ACCEL_OK;
    case DIRECT_QUEUE:
        if (direct->queue != NULL)
            direct->queue->table->free(direct->queue);
        direct->queue = NULL;
        return ACCEL_OK;
    case DIRECT_BUFFERS:
        for (uint32_t v = 0; v < DIRECT_VALUES; v++) {
            free_buffer(&direct->buffers[v]);
            free(direct->memory[v]);
            direct->memory[v] = NULL;
        }
        return ACCEL_OK;
    case DIRECT_WEIGHTS:
        if (direct->weights != NULL)
            direct->weights->table->free(direct->weights);
        direct->weights = NULL;
        return ACCEL_OK;
    case DIRECT_COMPILE:
        if (direct->module != NULL)
            direct->module->table->free(direct->module);
        direct->module = NULL;
        return ACCEL_OK;
    case DIRECT_OPEN:
    case DIRECT_ATTACH:
        return undo_root(direct, stage);
    default:
        return ACCEL_OK;
    }
}

bool direct_do_stages(struct direct *direct, uint32_t begin, uint32_t end)
{
    for (uint32_t stage = begin; stage < end; stage++) {
        int32_t code = direct_do(direct, stage);

        direct->conform->error = direct->error;
        if (!conform_ok(direct->conform, code, direct_stage_name(stage)))
            return false;
    }
    return true;
}

void direct_undo_stages(struct direct *direct, uint32_t end, uint32_t begin)
{
    for (uint32_t stage = end; stage > begin; stage--)
        direct_undo(direct, stage - 1);
}

/* ---- begin and end ---- */

static const uint32_t operators[] = {ACCEL_OP_MATMUL, ACCEL_OP_ADD, ACCEL_OP_SOFTMAX, ACCEL_OP_MUL};

static int32_t build(struct direct *direct, uint32_t op)
{
    const struct accel_matmul matmul = {.size = sizeof(matmul), .rounding = ACCEL_F32};
    struct accel_error *error = &direct->error;
    struct accel_dim dims[2] = {{.symbol = 1, .multiply = 1, .divide = 1}, {.add = DIRECT_WIDTH}};
    struct accel_dim square[2] = {{.add = DIRECT_WIDTH}, {.add = DIRECT_WIDTH}};
    uint32_t symbol, inputs[4] = {0, 0, ACCEL_NO_VALUE, ACCEL_NO_VALUE}, value;
    uint32_t count = op == ACCEL_OP_MATMUL ? 4 : op == ACCEL_OP_SOFTMAX ? 1 : 2;
    int32_t code = accel_builder_create("small", &direct->builder, error);

    if (code == ACCEL_OK)
        code = accel_builder_symbol(direct->builder, "rows", 1, DIRECT_ROWS, &symbol, error);
    if (code == ACCEL_OK)
        code = accel_builder_value(direct->builder, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 2, dims, &inputs[0], error);
    if (code == ACCEL_OK && op == ACCEL_OP_MATMUL)
        code = accel_builder_value(direct->builder, ACCEL_ROLE_WEIGHT, "w", ACCEL_F32, 2, square, &inputs[1], error);
    else if (code == ACCEL_OK && op != ACCEL_OP_SOFTMAX)
        code = accel_builder_value(direct->builder, ACCEL_ROLE_INPUT, "b", ACCEL_F32, 2, dims, &inputs[1], error);
    if (code == ACCEL_OK)
        code = accel_builder_node(direct->builder, op, "node", inputs, count, op == ACCEL_OP_MATMUL ? &matmul : NULL,
                                  &value, error);
    if (code == ACCEL_OK)
        code = accel_builder_output(direct->builder, value, "y", error);
    return code == ACCEL_OK ? accel_builder_finish(direct->builder, &direct->graph, error) : code;
}

bool direct_begin(struct direct *direct, struct conform *conform)
{
    bool is_broken = false;

    memset(direct, 0, sizeof(*direct));
    direct->conform = conform;
    conform_source_init(&direct->source, find);
    direct_host_init(&direct->host);
    conform_tensor_make(conform, ACCEL_F32, DIRECT_WIDTH, DIRECT_WIDTH, &direct->weight);
    for (uint32_t i = 0; i < sizeof(operators) / sizeof(*operators) && !is_broken; i++) {
        int32_t code = build(direct, operators[i]);

        for (uint32_t stage = 0; stage <= DIRECT_CLAIM && code == ACCEL_OK; stage++) {
            code = direct_do(direct, stage);
            is_broken = code != ACCEL_OK && stage < DIRECT_CLAIM;
            if (is_broken)
                conform_fail(conform, "%s: %s: %s", direct_stage_name(stage), accel_error_name(code),
                             direct->error.text);
        }
        direct_undo(direct, DIRECT_OPEN);
        direct_undo(direct, DIRECT_ATTACH);
        if (code == ACCEL_OK)
            return true;
        accel_builder_free(direct->builder);
        direct->builder = NULL;
    }
    conform_tensor_free(&direct->weight);
    if (is_broken)
        return false;
    conform_skip(conform, "it takes neither matmul in f32 nor add, mul or softmax");
    return false;
}

void direct_end(struct direct *direct)
{
    direct_undo_stages(direct, DIRECT_END, DIRECT_ATTACH);
    accel_builder_free(direct->builder);
    conform_tensor_free(&direct->weight);
}

/* ---- instances beside the library ---- */

/* Parses a command-line value by the type of its option. The library has already opened the device with it. */
static struct accel_setting read_setting(const struct accel_driver *driver, const char *text)
{
    const size_t length = strcspn(text, "=");
    const char *value = text + length + 1;

    for (uint32_t i = 0; i < driver->option_count; i++) {
        const struct accel_option *option = driver->options[i];

        if (strlen(option->name) != length || strncmp(option->name, text, length) != 0)
            continue;
        return (struct accel_setting){.name = option->name,
                                      .text = option->type == ACCEL_OPTION_TEXT ? value : NULL,
                                      .integer = option->type == ACCEL_OPTION_FLAG ? strcmp(value, "true") == 0
                                                                                   : strtoll(value, NULL, 10),
                                      .real = strtod(value, NULL)};
    }
    return (struct accel_setting){.name = text};
}

struct accel_driver_device *direct_device(struct conform *conform)
{
    struct direct *direct = conform->beside;

    if (direct != NULL)
        return direct->device;
    direct = conform->beside = conform_memory(conform, 1, sizeof(*direct));
    direct->conform = conform;
    direct_host_init(&direct->host);
    for (; direct->setting_count < conform->option_count; direct->setting_count++)
        direct->settings[direct->setting_count] =
            read_setting(conform->driver, conform->options[direct->setting_count]);
    for (uint32_t stage = 0; stage <= DIRECT_OPEN; stage++)
        if (direct_do(direct, stage) != ACCEL_OK) {
            conform_fail(conform, "a second instance of the driver, %s: %s", direct_stage_name(stage),
                         direct->error.text);
            conform_end(conform);
        }
    return direct->device;
}
