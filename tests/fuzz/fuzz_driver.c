/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver whose tables, facts, claims, handles and answers come from the input, through a whole life: attach, open,
 * compile, bind, run, free. Its pointers are good or NULL and its arrays are as long as the caps allow, since nobody
 * can tell a wild pointer; all else it may say.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/open.h"
#include "core/boundary/import.h"
#include "core/plugin/import_driver.h"
#include "core/registry/registry.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/device_support.h"

const char *const fuzz_corpus_folder = "tests/fixtures/drivers";
const char *const fuzz_corpus_suffix = ".driver";

/* ---- the input as a list of decisions; past its end all is well ---- */

static const uint8_t *at, *end;

static uint32_t byte(void)
{
    return at < end ? *at++ : 0;
}

static uint64_t number(void)
{
    uint64_t value = 0;
    for (uint32_t bytes = byte() % 9; bytes > 0; bytes--)
        value = value << 8 | byte();
    return value;
}

/* True for one value of a byte in sixteen: most of a driver has to be right for the rest of it to be seen. */
static int odd(void)
{
    return byte() % 16 == 15;
}

static uint32_t number_or(uint32_t right)
{
    return odd() ? (uint32_t)number() : right;
}

static uint64_t long_or(uint64_t right)
{
    return odd() ? number() : right;
}

static double real_or(double right)
{
    uint64_t bits;
    double value;
    if (!odd())
        return right;
    bits = number();
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static const char *text_or(const char *right)
{
    static char texts[64][40];
    static uint32_t next;
    char *text = texts[next++ % 64];
    size_t length;
    if (!odd())
        return right;
    length = byte() % 41;
    if (length == 40)
        return NULL;
    for (size_t i = 0; i < length; i++)
        text[i] = (char)byte();
    text[length] = '\0';
    return text;
}

static int32_t code_or_ok(void)
{
    return odd() ? -(int32_t)(number() & 0xff) + 2 : ACCEL_OK;
}

/* ---- tables: slots may be missing, sizes may be wrong, a longer one may have more in it ---- */

#define SLOTS 16u

/* An open struct of any size that the core might read. */
struct any_table {
    _Alignas(8) unsigned char bytes[ACCEL_OPEN_LIMIT + 64];
};

static const void *vary(struct any_table *table, const void *right, uint32_t bytes)
{
    uint32_t size = odd() ? (uint32_t)number() : bytes;
    memset(table->bytes, 0, sizeof(table->bytes));
    memcpy(table->bytes, right, bytes);
    if (odd())
        memset(table->bytes + 8 + 8 * (byte() % (bytes / 8 - 1)), 0, 8);
    if (odd())
        table->bytes[bytes + byte() % 16] = 1;
    memcpy(table->bytes, &size, sizeof(size));
    return table->bytes;
}

/* Handles and their tables, each handed out once: what was given does not change any more. */
#define HANDLES 64u
static struct handle {
    const void *table;
    struct any_table bytes;
} handles[HANDLES];
static uint32_t handle_count;

/* A handle is one of ours, or none, or one without a table. */
static int32_t hand_out(const void *right, uint32_t bytes, void *out)
{
    struct handle *handle = &handles[handle_count++ % HANDLES];
    int32_t code = code_or_ok();
    uint32_t kind = byte() % 32;
    handle->table = vary(&handle->bytes, right, bytes);
    if (kind == 31)
        handle->table = NULL;
    if (kind == 30 || (code != ACCEL_OK && kind != 29))
        handle = NULL;
    memcpy(out, &handle, sizeof(handle));
    return code;
}

static uint64_t reached;
static unsigned char memory[1 << 16];

/* ---- slots ---- */

#define SLOT static int32_t ACCEL_CALL

SLOT free_set(struct accel_driver_set *given)
{
    (void)given;
    return code_or_ok();
}

SLOT run_set(struct accel_driver_set *given, const uint64_t *symbols, const struct accel_team *team,
             struct accel_error *error)
{
    (void)given, (void)symbols, (void)team, (void)error;
    return code_or_ok();
}

SLOT free_buffer(struct accel_driver_buffer *given)
{
    (void)given;
    return code_or_ok();
}

SLOT map_buffer(struct accel_driver_buffer *given, void **out_address, struct accel_error *error)
{
    (void)given, (void)error;
    *out_address = odd() ? NULL : memory;
    return code_or_ok();
}

SLOT free_state(struct accel_driver_state *given)
{
    (void)given;
    return code_or_ok();
}

SLOT free_weights(struct accel_driver_weights *given)
{
    (void)given;
    return code_or_ok();
}

SLOT pull(struct accel_driver_weights *given, const struct accel_source *source, const struct accel_task *task,
          struct accel_error *error)
{
    uint64_t bytes = long_or(16);
    (void)given, (void)task;
    if (bytes > sizeof(memory))
        bytes = sizeof(memory);
    /* Reads within the weight; what a driver asks beyond it would be the source's business, which is not ours. */
    if (source != NULL && bytes <= 16)
        source->read(source, "w", number_or(0), 0, memory, bytes, error);
    return code_or_ok();
}

SLOT free_queue(struct accel_driver_queue *given)
{
    (void)given;
    return code_or_ok();
}

SLOT submit(struct accel_driver_queue *given, const struct accel_driver_step *const *steps, uint32_t step_count,
            const struct accel_driver_fence *waits, uint32_t wait_count, uint64_t *out_value, struct accel_error *error)
{
    (void)given, (void)steps, (void)step_count, (void)waits, (void)wait_count, (void)error;
    *out_value = long_or(++reached);
    return code_or_ok();
}

SLOT wait_for(struct accel_driver_queue *given, uint64_t value, uint64_t deadline, struct accel_error *error)
{
    (void)given, (void)value, (void)deadline, (void)error;
    return code_or_ok();
}

SLOT completed(struct accel_driver_queue *given, uint64_t *out_value, struct accel_error *error)
{
    (void)given, (void)error;
    *out_value = long_or(reached);
    return code_or_ok();
}

SLOT reset(struct accel_driver_queue *given, struct accel_error *error)
{
    (void)given, (void)error;
    return code_or_ok();
}

SLOT free_module(struct accel_driver_module *given)
{
    (void)given;
    return code_or_ok();
}

SLOT scratch(struct accel_driver_module *given, uint32_t program, const uint64_t *symbols, uint32_t threads,
             uint64_t *out_bytes, uint64_t *out_alignment, struct accel_error *error)
{
    (void)given, (void)program, (void)symbols, (void)threads, (void)error;
    *out_bytes = long_or(256);
    *out_alignment = long_or(64);
    return code_or_ok();
}

SLOT create_set(struct accel_driver_module *given, const struct accel_set_description *description,
                struct accel_driver_set **out_set, struct accel_error *error)
{
    static const struct accel_set_table right = {.size = sizeof(right), .free = free_set, .run = run_set};
    (void)given, (void)description, (void)error;
    return hand_out(&right, sizeof(right), out_set);
}

SLOT report(struct accel_driver_module *given, const struct accel_report_sink *sink, struct accel_error *error)
{
    (void)given;
    for (uint32_t i = byte() % 4; i > 0; i--) {
        struct accel_node_report one = {.graph = number_or(0), .node = number_or(0), .precision = number_or(ACCEL_F32)};
        one.unit = text_or("unit");
        one.kernel = text_or("kernel");
        one.zero = number_or(0);
        sink->node(sink, &one, error);
    }
    return code_or_ok();
}

SLOT close_device(struct accel_driver_device *given, struct accel_error *error)
{
    (void)given, (void)error;
    return code_or_ok();
}

SLOT claim(struct accel_driver_device *given, const struct accel_graph *const *graphs, uint32_t graph_count,
           const struct accel_compile_options *options, const struct accel_claim_sink *sink, struct accel_error *error)
{
    (void)given, (void)graphs, (void)graph_count, (void)options;
    for (uint32_t i = odd() ? byte() % 4 : 1; i > 0; i--) {
        struct accel_claim one = {.graph = number_or(0), .node = number_or(0)};
        one.answer = number_or(ACCEL_CLAIM_NATIVE);
        one.weights = number_or(1 + byte() % 3);
        one.kernel = text_or("kernel");
        one.reason = text_or("");
        one.tolerance = real_or(1e-6);
        one.alignment = long_or(4);
        sink->claim(sink, &one, error);
    }
    return code_or_ok();
}

SLOT compile(struct accel_driver_device *given, const struct accel_graph *const *graphs, uint32_t graph_count,
             const struct accel_compile_options *options, const struct accel_source *source,
             const struct accel_blob_writer *writer, const struct accel_task *task,
             struct accel_driver_module **out_module, struct accel_error *error)
{
    static const struct accel_module_table right = {
        .size = sizeof(right), .free = free_module, .scratch = scratch, .set_create = create_set, .report = report};
    (void)given, (void)graphs, (void)graph_count, (void)options, (void)source, (void)task;
    if (writer != NULL)
        writer->write(writer, memory, byte(), error);
    return hand_out(&right, sizeof(right), out_module);
}

SLOT estimate(struct accel_driver_device *given, const struct accel_graph *const *graphs, uint32_t graph_count,
              const struct accel_compile_options *options, const struct accel_estimate_sink *sink,
              struct accel_error *error)
{
    (void)given, (void)graphs, (void)graph_count, (void)options;
    for (uint32_t i = byte() % 4; i > 0; i--) {
        uint32_t heap = number_or(0), class = number_or(1);
        uint64_t lower = long_or(1), upper = long_or(2);
        sink->bytes(sink, heap, class, lower, upper, text_or("formula"), error);
    }
    return code_or_ok();
}

SLOT create_weights(struct accel_driver_device *given, const struct accel_weight *const *list, uint32_t count,
                    struct accel_driver_weights **out_weights, struct accel_error *error)
{
    static const struct accel_weights_table right = {.size = sizeof(right), .free = free_weights, .pull = pull};
    (void)given, (void)list, (void)count, (void)error;
    return hand_out(&right, sizeof(right), out_weights);
}

SLOT create_state(struct accel_driver_device *given, const struct accel_state_part *parts, uint32_t part_count,
                  uint64_t slots, struct accel_driver_state **out_state, struct accel_error *error)
{
    static const struct accel_state_table right = {.size = sizeof(right), .free = free_state};
    (void)given, (void)parts, (void)part_count, (void)slots, (void)error;
    return hand_out(&right, sizeof(right), out_state);
}

SLOT create_buffer(struct accel_driver_device *given, uint64_t bytes, uint32_t heap, uint32_t memory_class,
                   struct accel_driver_buffer **out_buffer, struct accel_error *error)
{
    static const struct accel_buffer_table right = {.size = sizeof(right), .free = free_buffer, .map = map_buffer};
    (void)given, (void)bytes, (void)heap, (void)memory_class, (void)error;
    return hand_out(&right, sizeof(right), out_buffer);
}

SLOT create_queue(struct accel_driver_device *given, struct accel_driver_queue **out_queue, struct accel_error *error)
{
    static const struct accel_queue_table right = {.size = sizeof(right),
                                                   .free = free_queue,
                                                   .submit = submit,
                                                   .wait = wait_for,
                                                   .completed = completed,
                                                   .reset = reset};
    (void)given, (void)error;
    return hand_out(&right, sizeof(right), out_queue);
}

SLOT memory_now(struct accel_driver_device *given, uint32_t heap, struct accel_memory_now *out_memory,
                struct accel_error *error)
{
    (void)given, (void)heap, (void)error;
    out_memory->total = long_or(1u << 30);
    out_memory->free = long_or(1u << 29);
    return code_or_ok();
}

SLOT fingerprint(struct accel_driver_device *given, uint8_t out_fingerprint[16], struct accel_error *error)
{
    (void)given, (void)error;
    memset(out_fingerprint, (int)byte(), 16);
    return code_or_ok();
}

SLOT detach(struct accel_driver_instance *given, struct accel_error *error)
{
    (void)given, (void)error;
    return code_or_ok();
}

/* ---- facts ---- */

static void give_device(const struct accel_device_sink *sink, uint32_t index, struct accel_error *error)
{
    static struct accel_heap heaps[ACCEL_IMPORT_HEAPS];
    static uint32_t types[ACCEL_IMPORT_TYPES];
    static const char *const names[] = {"d0", "d1", "d2", "d3"};
    static struct any_table table;
    struct accel_limits limits = {.buffer_bytes = long_or(1u << 30),
                                  .binding_bytes = long_or(1u << 30),
                                  .inline_bytes = long_or(0),
                                  .threads = number_or(1),
                                  .sets = number_or(0xffffffffu)};
    struct accel_facts facts = {.size = sizeof(facts), .kind = number_or(ACCEL_DEVICE_OTHER)};
    limits.queues = byte() % 2 == 0 ? 0 : number_or(1);
    limits.in_flight = number_or(limits.queues == 0 ? 0 : 4);
    facts.flags = number_or(0);
    facts.hardware = (int32_t)number_or(0);
    facts.id = text_or(names[index % 4]);
    facts.name = text_or("name");
    facts.detail = text_or("");
    facts.generation = number_or(0);
    facts.heap_count = number_or(1);
    facts.heaps = odd() ? NULL : heaps;
    facts.limits = odd() ? NULL : &limits;
    facts.types = odd() ? NULL : types;
    facts.type_count = number_or(1);
    facts.zero = number_or(0);
    for (uint32_t i = 0; i < ACCEL_IMPORT_HEAPS; i++)
        heaps[i] = (struct accel_heap){.bytes = 1u << 30, .flags = ACCEL_HEAP_HOST, .alignment = 64, .name = "heap"};
    heaps[0].bytes = long_or(1u << 30);
    heaps[0].flags = number_or(ACCEL_HEAP_HOST);
    heaps[0].zero = number_or(0);
    heaps[0].alignment = long_or(64);
    heaps[0].name = text_or("memory");
    for (uint32_t i = 0; i < ACCEL_IMPORT_TYPES; i++)
        types[i] = i == 0 ? number_or(ACCEL_F32) : ACCEL_F32;
    sink->device(sink, odd() ? vary(&table, &facts, sizeof(facts)) : &facts, error);
}

SLOT enumerate(struct accel_driver_instance *given, const struct accel_hardware *const *hardware,
               uint32_t hardware_count, const struct accel_device_sink *sink, struct accel_error *error)
{
    uint32_t devices = odd() ? byte() % 4 : 1;
    (void)given, (void)hardware, (void)hardware_count;
    for (uint32_t i = 0; i < devices; i++)
        give_device(sink, i, error);
    for (uint32_t i = odd() ? byte() % 4 : 0; i > 0; i--) {
        int32_t which = (int32_t)number_or(0), code = (int32_t)number_or((uint32_t)ACCEL_E_UNSUPPORTED);
        const char *words = text_or("not a device");
        sink->verdict(sink, which, code, words, text_or(NULL), error);
    }
    return code_or_ok();
}

SLOT open_device(struct accel_driver_instance *given, const char *id, const struct accel_setting *settings,
                 uint32_t setting_count, struct accel_driver_device **out_device, struct accel_error *error)
{
    uint32_t optional = byte();
    struct accel_device_table right = {
        .size = sizeof(right), .close = close_device, .claim = claim, .compile = compile, .estimate = estimate};
    (void)given, (void)id, (void)settings, (void)setting_count, (void)error;
    right.weights_create = optional & 1 ? create_weights : NULL;
    right.state_create = optional & 2 ? create_state : NULL;
    right.buffer_create = optional & 4 ? create_buffer : NULL;
    right.queue_create = optional & 8 ? create_queue : NULL;
    right.memory = optional & 16 ? memory_now : NULL;
    right.fingerprint = optional & 32 ? fingerprint : NULL;
    return hand_out(&right, sizeof(right), out_device);
}

SLOT attach(const struct accel_host *host, uint32_t minor, struct accel_driver_instance **out_instance,
            struct accel_error *error)
{
    static const struct accel_instance_table right = {
        .size = sizeof(right), .detach = detach, .enumerate = enumerate, .open = open_device};
    (void)minor;
    if (odd()) {
        void *block = NULL;
        uint64_t bytes = number(), alignment = number();
        if (host->allocate(host, byte(), bytes % 4096, alignment, &block, error) == ACCEL_OK)
            host->release(host, block);
    }
    if (odd())
        host->log(host, byte(), text_or("a=b"));
    return hand_out(&right, sizeof(right), out_instance);
}

static const struct accel_driver *make_driver(void)
{
    static struct accel_option rows[4];
    static struct any_table option_tables[4], table;
    static const struct accel_option *list[ACCEL_DRIVER_OPTIONS];
    struct accel_driver driver = {
        .size = sizeof(driver), .flags = number_or(0), .abi_major = number_or(ACCEL_ABI_MAJOR)};
    driver.abi_minor = number_or(ACCEL_ABI_MINOR);
    driver.abi_lowest = number_or(ACCEL_ABI_MINOR);
    driver.name = text_or("fuzz");
    driver.version = text_or("1");
    driver.options = odd() ? NULL : list;
    driver.option_count = number_or(byte() % 5);
    driver.attach = odd() ? NULL : attach;
    for (uint32_t i = 0; i < ACCEL_DRIVER_OPTIONS; i++)
        list[i] = (const struct accel_option *)option_tables[i % 4].bytes;
    for (uint32_t i = 0; i < 4; i++) {
        static const char *const names[] = {"a", "b", "c", "d"};
        rows[i] = (struct accel_option){.size = sizeof(rows[i]), .type = number_or(1 + i), .name = text_or(names[i])};
        rows[i].help = text_or("help");
        rows[i].integer = (int64_t)long_or(1);
        rows[i].lowest = (int64_t)long_or(0);
        rows[i].highest = (int64_t)long_or(9);
        rows[i].real = real_or(0.5);
        rows[i].text = text_or("x");
        rows[i].choices = odd() ? text_or("x y") : NULL;
        vary(&option_tables[i], &rows[i], sizeof(rows[i]));
    }
    return vary(&table, &driver, sizeof(driver));
}

/* ---- the program that uses it ---- */

static struct accel_context *context;
static struct sum_graph sum;
static struct sum_source source;

static void leave(void)
{
    accel_builder_free(sum.builder);
    if (accel_context_free(context, NULL) != ACCEL_OK)
        abort();
}

static void enter(void)
{
    struct accel_context_options options = {.size = sizeof(options),
                                            .flags = ACCEL_CONTEXT_NO_PLUGINS | ACCEL_CONTEXT_NO_CACHE};
    struct accel_error error = {0};
    if (context != NULL)
        return;
    if (accel_context_create(&options, &context, &error) != ACCEL_OK ||
        accel_context_discover(context, &error) != ACCEL_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(99);
    }
    /* What a driver asks for is refused above this, not by the system. */
    context->memory.budget = 64u << 20;
    sum_graph_make(&sum);
    sum_source_make(&source, 0);
    atexit(leave);
}

/* Every failure says something, in one line. */
static int good(int32_t code, struct accel_error *error)
{
    if ((code != ACCEL_OK && error->code == ACCEL_OK) || code > 0 || strchr(error->text, '\n') != NULL)
        abort();
    memset(error, 0, sizeof(*error));
    return code == ACCEL_OK;
}

static void use_set(struct accel_queue *lane, struct accel_set *bound, struct accel_buffer *x,
                    struct accel_error *error)
{
    static const uint64_t tokens = 2;
    static const float data[8] = {1};
    float back[8];
    uint64_t value = 0;
    struct accel_step update = {.size = sizeof(update), .kind = ACCEL_STEP_UPDATE, .target = x, .data = data};
    struct accel_step run = {.size = sizeof(run), .kind = ACCEL_STEP_RUN, .set = bound, .symbols = &tokens};
    struct accel_step read = {.size = sizeof(read), .kind = ACCEL_STEP_READ, .source = x, .memory = back};
    const struct accel_step *const steps[] = {&update, &run, &read};
    update.bytes = read.bytes = sizeof(back);
    good(accel_set_run(bound, &tokens, error), error);
    for (uint32_t i = 0; i < 3; i++)
        if (good(accel_queue_submit(lane, steps + i, 1, NULL, 0, &value, error), error))
            good(accel_queue_wait(lane, value, 1000000, error), error);
    good(accel_queue_completed(lane, &value, error), error);
    good(accel_queue_cancel(lane, error), error);
    good(accel_queue_reset(lane, error), error);
}

static void use_device(const char *name)
{
    static const struct accel_state_part part = {.type = ACCEL_F16, .row = 4};
    static const uint64_t most[1] = {8};
    const struct accel_graph *graphs[1] = {sum.graph};
    struct accel_device *opened = NULL;
    struct accel_module *made = NULL;
    struct accel_weights *held = NULL;
    struct accel_queue *lane = NULL;
    struct accel_buffer *x = NULL, *y = NULL;
    struct accel_state *kept = NULL;
    struct accel_set *bound = NULL;
    struct accel_error error = {0};
    int all = good(accel_device_open(context, name, NULL, 0, &opened, &error), &error);
    all = all && good(accel_module_create(opened, graphs, 1, NULL, NULL, NULL, &made, &error), &error);
    all = all && good(accel_weights_create(made, &source.source, NULL, &held, &error), &error);
    all = all && good(accel_queue_create(opened, NULL, &lane, &error), &error);
    all = all && good(accel_buffer_create(opened, 128, 0, &x, &error), &error);
    all = all && good(accel_buffer_create(opened, 128, 0, &y, &error), &error);
    all = all && good(accel_state_create(opened, &part, 1, 16, &kept, &error), &error);
    if (all) {
        const struct accel_bind binds[2] = {{.value = sum.x, .buffer = x}, {.value = sum.y, .buffer = y}};
        if (good(accel_set_create(made, 0, lane, most, binds, 2, held, &bound, &error), &error))
            use_set(lane, bound, x, &error);
    }
    accel_set_free(bound);
    accel_state_free(kept);
    accel_buffer_free(x);
    accel_buffer_free(y);
    accel_queue_free(lane);
    accel_weights_free(held);
    accel_module_free(made);
    accel_device_free(opened);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct accel_error error = {0};
    uint64_t now = 1;
    enter();
    at = data;
    end = data + size;
    reached = 0;
    handle_count = 0;
    if (good(accel_context_attach_driver(context, make_driver(), &error), &error))
        for (uint32_t i = 0; i < accel_device_count(context) && i < 2; i++)
            use_device(accel_device_get(context, i)->name);
    accel_registry_forget(context);
    if (accel_memory_usage(context, 0, &now, NULL) != ACCEL_OK || now != 0 || atomic_load(&context->children) != 0 ||
        atomic_load(&context->memory.blocks) != 0)
        abort();
    return 0;
}
