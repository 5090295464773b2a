/* SPDX-License-Identifier: Apache-2.0 */
/* Tests slots that no step calls: their results, and their behavior when the host refuses allocation n. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/conform/abi.h"
#include "sdk/conform/list.h"

#define MOST 500       /* allocations of one slot that are refused, one at a time */
#define SLOTS 40u      /* slots of a KV state */
#define BLOB_BYTES 64u /* initial capacity of a blob */

/* A blob under construction. */
struct blob {
    struct accel_blob_writer writer; /* first member: callbacks receive its address */
    char *bytes;
    uint64_t count, capacity;
    bool refuses;
};

/* A slot under test with its results. */
struct slot {
    struct direct *direct;
    struct accel_driver_state *state;
    struct accel_driver_module *module;
    struct blob blob;
    uint32_t records;  /* records that the sink received */
    char fault[200];   /* first broken rule of a record */
    uint8_t bytes[16]; /* of a fingerprint */
};

struct row {
    const char *name;
    enum direct_stage before; /* the last stage to run before the call */
    bool (*has)(const struct direct *direct);
    int32_t (*call)(struct slot *slot);
    void (*check)(struct slot *slot);
    void (*undo)(struct slot *slot);
};

/* ---- results ---- */

/* Returns whether the driver implements `fingerprint`. A library of several drivers may fill the slot for all of
 * them and return ACCEL_E_UNSUPPORTED for some. */
static bool has_fingerprint(const struct direct *direct)
{
    struct accel_error error = {0};
    uint8_t bytes[16];
    bool has = ACCEL_CAN(direct->device->table, fingerprint) &&
               direct->device->table->fingerprint(direct->device, bytes, &error) != ACCEL_E_UNSUPPORTED;

    accel_error_clear(&error);
    return has;
}

/* Defines has_NAME: whether the table of an object fills the slot. */
#define HAS(name, object, slot)                                                                                        \
    static bool has_##name(const struct direct *direct)                                                                \
    {                                                                                                                  \
        return ACCEL_CAN(direct->object->table, slot);                                                                 \
    }
HAS(memory, device, memory)
HAS(estimate, device, estimate)
HAS(report, module, report)
HAS(state, device, state_create)
HAS(load, device, load)

static int32_t call_fingerprint(struct slot *slot)
{
    struct direct *direct = slot->direct;

    return direct->device->table->fingerprint(direct->device, slot->bytes, &direct->error);
}

static void check_fingerprint(struct slot *slot)
{
    uint8_t first[16];

    memcpy(first, slot->bytes, sizeof(first));
    if (call_fingerprint(slot) != ACCEL_OK || memcmp(first, slot->bytes, sizeof(first)) != 0)
        conform_fail(slot->direct->conform, "two calls gave other bytes");
}

static int32_t call_memory(struct slot *slot)
{
    struct direct *direct = slot->direct;
    struct accel_memory_now now = {0, 0};
    int32_t code = direct->device->table->memory(direct->device, 0, &now, &direct->error);

    if (code == ACCEL_OK && now.free > now.total)
        snprintf(slot->fault, sizeof(slot->fault), "%llu bytes are free of %llu", (unsigned long long)now.free,
                 (unsigned long long)now.total);
    return code == ACCEL_E_UNSUPPORTED ? ACCEL_OK : code;
}

struct estimates {
    struct accel_estimate_sink sink; /* first member: callbacks receive its address */
    struct slot *slot;
};

static int32_t check_estimate(const struct accel_estimate_sink *sink, uint32_t heap, uint32_t memory_class,
                              uint64_t lower, uint64_t upper, const char *formula,
                              struct accel_error *error) ACCEL_NOEXCEPT
{
    struct slot *slot = ((struct estimates *)(uintptr_t)sink)->slot;

    (void)error;
    slot->records++;
    if (heap >= slot->direct->heap_count || memory_class == 0 || memory_class >= ACCEL_MEMORY_END || lower > upper ||
        formula == NULL)
        snprintf(slot->fault, sizeof(slot->fault), "heap %u, class %u, %llu to %llu bytes, formula %s", heap,
                 memory_class, (unsigned long long)lower, (unsigned long long)upper,
                 formula == NULL ? "NULL" : formula);
    return ACCEL_OK;
}

static int32_t call_estimate(struct slot *slot)
{
    struct direct *direct = slot->direct;
    struct estimates estimates = {.sink = {.size = sizeof(estimates.sink), .bytes = check_estimate}, .slot = slot};

    return direct->device->table->estimate(direct->device, &direct->graph, 1, direct_options(), &estimates.sink,
                                           &direct->error);
}

struct reports {
    struct accel_report_sink sink; /* first member: callbacks receive its address */
    struct slot *slot;
};

static int32_t check_report(const struct accel_report_sink *sink, const struct accel_node_report *report,
                            struct accel_error *error) ACCEL_NOEXCEPT
{
    struct slot *slot = ((struct reports *)(uintptr_t)sink)->slot;

    (void)error;
    slot->records++;
    if (report->graph != 0 || report->node != 0 || report->zero != 0 || report->unit == NULL || report->kernel == NULL)
        snprintf(slot->fault, sizeof(slot->fault), "graph %u, node %u, or a text is NULL", report->graph, report->node);
    return ACCEL_OK;
}

static int32_t call_report(struct slot *slot)
{
    struct direct *direct = slot->direct;
    struct reports reports = {.sink = {.size = sizeof(reports.sink), .node = check_report}, .slot = slot};

    return direct->module->table->report(direct->module, &reports.sink, &direct->error);
}

static void check_records(struct slot *slot)
{
    if (slot->records == 0)
        conform_fail(slot->direct->conform, "the sink was given nothing");
}

/* ---- states ---- */

static int32_t call_state(struct slot *slot)
{
    struct direct *direct = slot->direct;
    const struct accel_state_part parts[2] = {{.type = ACCEL_F32, .row = DIRECT_WIDTH},
                                              {.type = ACCEL_F16, .row = DIRECT_WIDTH}};

    return direct->device->table->state_create(direct->device, parts, 2, SLOTS, &slot->state, &direct->error);
}

static void undo_state(struct slot *slot)
{
    if (slot->state != NULL)
        slot->state->table->free(slot->state);
    slot->state = NULL;
}

/* ---- blobs ---- */

static int32_t append_blob(const struct accel_blob_writer *writer, const void *bytes, uint64_t count,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    struct blob *blob = (struct blob *)(uintptr_t)writer;

    if (blob->refuses)
        return accel_error_set(error, ACCEL_E_IO, "the kit's writer refuses");
    if (count > blob->capacity - blob->count) {
        uint64_t capacity = 2 * (blob->count + count) + BLOB_BYTES;
        char *larger = realloc(blob->bytes, capacity);

        if (larger == NULL)
            return accel_error_no_memory(error, "for a blob");
        blob->bytes = larger;
        blob->capacity = capacity;
    }
    memcpy(blob->bytes + blob->count, bytes, count);
    blob->count += count;
    return ACCEL_OK;
}

static int32_t call_write(struct slot *slot)
{
    const struct accel_task task = direct_task();
    struct direct *direct = slot->direct;

    slot->blob.writer = (struct accel_blob_writer){.size = sizeof(slot->blob.writer), .write = append_blob};
    slot->blob.count = 0;
    return direct->device->table->compile(direct->device, &direct->graph, 1, direct_options(), &direct->source.table,
                                          &slot->blob.writer, &task, &slot->module, &direct->error);
}

static void check_write(struct slot *slot)
{
    struct conform *conform = slot->direct->conform;
    int32_t code;

    if (slot->module != NULL || slot->blob.count == 0)
        conform_fail(conform, "with a writer, compile writes a blob and hands out no module");
    conform_case(conform, "a writer that refuses");
    slot->blob.refuses = true;
    code = call_write(slot);
    slot->blob.refuses = false;
    conform->error = slot->direct->error;
    abi_refused(conform, code, ACCEL_E_IO, slot->module);
}

static int32_t call_load(struct slot *slot)
{
    const struct accel_task task = direct_task();
    struct direct *direct = slot->direct;
    int32_t code = slot->blob.count == 0 ? call_write(slot) : ACCEL_OK;

    if (code == ACCEL_OK)
        code = direct->device->table->load(direct->device, slot->blob.bytes, slot->blob.count, &direct->graph, 1,
                                           &direct->source.table, &task, &slot->module, &direct->error);
    return code;
}

/* A loaded module produces the results of the compiled one. */
static void check_load(struct slot *slot)
{
    struct direct *direct = slot->direct;
    struct conform *conform = direct->conform;

    if (slot->module == NULL) {
        conform_fail(conform, "it answered ACCEL_OK without a module");
        return;
    }
    conform_case(conform, "a step of what was loaded");
    direct->module = slot->module;
    slot->module = NULL;
    direct_do_stages(direct, DIRECT_WEIGHTS, DIRECT_END);
    direct_undo_stages(direct, DIRECT_END, DIRECT_COMPILE);
}

static void undo_module(struct slot *slot)
{
    if (slot->module != NULL)
        slot->module->table->free(slot->module);
    slot->module = NULL;
}

/* ---- the table of slots ---- */

static const struct row slots[] = {
    {"fingerprint", DIRECT_OPEN, has_fingerprint, call_fingerprint, check_fingerprint, NULL},
    {"memory", DIRECT_OPEN, has_memory, call_memory, NULL, NULL},
    {"estimate", DIRECT_OPEN, has_estimate, call_estimate, check_records, NULL},
    {"report", DIRECT_COMPILE, has_report, call_report, check_records, NULL},
    {"state_create", DIRECT_OPEN, has_state, call_state, NULL, undo_state},
    {"compile-to-blob", DIRECT_CLAIM, has_load, call_write, check_write, undo_module},
    {"load", DIRECT_CLAIM, has_load, call_load, check_load, undo_module},
};

static void undo(const struct row *row, struct slot *slot)
{
    if (row->undo != NULL)
        row->undo(slot);
}

/* Returns true while the slot makes an allocation `n` that the host can refuse. */
static bool refuse_one(const struct row *row, struct slot *slot, int n)
{
    struct direct *direct = slot->direct;
    struct conform *conform = direct->conform;
    uint64_t before = atomic_load(&direct->host.alive);
    uint32_t refused = atomic_load(&direct->host.refused);
    int32_t code;

    accel_error_clear(&direct->error);
    atomic_store(&direct->host.countdown, n);
    code = row->call(slot);
    atomic_store(&direct->host.countdown, -1);
    conform->error = direct->error;
    if (atomic_load(&direct->host.refused) != refused && code != ACCEL_OK)
        abi_refused(conform, code, ACCEL_E_MEMORY, slot->state != NULL ? (void *)slot->state : (void *)slot->module);
    accel_error_clear(&conform->error);
    if (code == ACCEL_OK)
        undo(row, slot);
    else if (atomic_load(&direct->host.alive) > before)
        conform_fail(conform, "allocation %d of the slot was refused, and a block was lost", n);
    return atomic_load(&direct->host.refused) != refused;
}

static void call_slot(struct conform *conform)
{
    const struct row *row = &slots[conform->parameter];
    struct direct direct;
    struct slot slot = {.direct = &direct};
    int32_t code;
    bool is_ready;
    int n = 0;

    if (!direct_begin(&direct, conform))
        return;
    is_ready = direct_do_stages(&direct, DIRECT_ATTACH, row->before + 1);
    if (is_ready && !row->has(&direct)) {
        conform_skip(conform, "the driver leaves the slot to the core");
    } else if (is_ready) {
        conform_case(conform, "each allocation in turn");
        while (n < MOST && refuse_one(row, &slot, n))
            n++;
        conform_case(conform, "the slot, after %d refusals", n);
        accel_error_clear(&direct.error);
        slot.records = 0;
        code = row->call(&slot);
        conform->error = direct.error;
        if (conform_ok(conform, code, row->name) && slot.fault[0] != '\0')
            conform_fail(conform, "%s", slot.fault);
        else if (code == ACCEL_OK && row->check != NULL)
            row->check(&slot);
        undo(row, &slot);
    }
    free(slot.blob.bytes);
    direct_end(&direct);
}

void conform_add_slots(struct conform_list *list)
{
    for (uint32_t i = 0; i < sizeof(slots) / sizeof(*slots); i++)
        conform_add(list, CONFORM_DRIVER, i, call_slot, "slot/%s", slots[i].name);
}
