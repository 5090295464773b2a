/* SPDX-License-Identifier: Apache-2.0 */
/* Tests callbacks that fail: a slot that was refused by a sink, a source, a writer or a task fails as well, with a
 * text, and leaves nothing behind. */
#include "config.h"

#include "sdk/conform/abi.h"
#include "sdk/conform/list.h"

/* The callback of a slot, which refuses and counts its calls. */
struct refuser {
    union {
        struct accel_claim_sink claims;
        struct accel_estimate_sink estimates;
        struct accel_report_sink reports;
        struct accel_source source;
        struct accel_blob_writer writer;
        struct accel_task task;
    } as; /* first member: callbacks receive its address */
    uint32_t calls;
};

static int32_t refuse(const void *callback, int32_t code, struct accel_error *error)
{
    ((struct refuser *)(uintptr_t)callback)->calls++;
    return accel_error_set(error, code, "the kit refuses");
}

static int32_t refuse_claim(const struct accel_claim_sink *sink, const struct accel_claim *claim,
                            struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)claim;
    return refuse(sink, ACCEL_E_LIMIT, error);
}

static int32_t refuse_bytes(const struct accel_estimate_sink *sink, uint32_t heap, uint32_t memory_class,
                            uint64_t lower, uint64_t upper, const char *formula,
                            struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)heap, (void)memory_class, (void)lower, (void)upper, (void)formula;
    return refuse(sink, ACCEL_E_LIMIT, error);
}

static int32_t refuse_report(const struct accel_report_sink *sink, const struct accel_node_report *report,
                             struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)report;
    return refuse(sink, ACCEL_E_LIMIT, error);
}

static int32_t map_nothing(const struct accel_source *source, const char *key, uint32_t plane, const void **out_address,
                           uint64_t *out_bytes, struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)source, (void)key, (void)plane;
    *out_address = NULL;
    *out_bytes = 0;
    return accel_error_set(error, ACCEL_E_UNSUPPORTED, "the kit maps nothing");
}

static int32_t refuse_read(const struct accel_source *source, const char *key, uint32_t plane, uint64_t offset,
                           void *memory, uint64_t bytes, struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)key, (void)plane, (void)offset, (void)memory, (void)bytes;
    return refuse(source, ACCEL_E_IO, error);
}

static int32_t refuse_write(const struct accel_blob_writer *writer, const void *bytes, uint64_t count,
                            struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)bytes, (void)count;
    return refuse(writer, ACCEL_E_IO, error);
}

static int32_t refuse_progress(const struct accel_task *task, uint64_t done, uint64_t total) ACCEL_NOEXCEPT
{
    (void)done, (void)total;
    return refuse(task, ACCEL_E_CANCELLED, NULL);
}

/* ---- slots ---- */

static int32_t call_claim(struct direct *direct, struct refuser *refuser)
{
    refuser->as.claims = (struct accel_claim_sink){.size = sizeof(refuser->as.claims), .claim = refuse_claim};
    return direct->device->table->claim(direct->device, &direct->graph, 1, direct_options(), &refuser->as.claims,
                                        &direct->error);
}

static int32_t call_estimate(struct direct *direct, struct refuser *refuser)
{
    if (!ACCEL_CAN(direct->device->table, estimate))
        return ACCEL_OK;
    refuser->as.estimates = (struct accel_estimate_sink){.size = sizeof(refuser->as.estimates), .bytes = refuse_bytes};
    return direct->device->table->estimate(direct->device, &direct->graph, 1, direct_options(), &refuser->as.estimates,
                                           &direct->error);
}

static int32_t call_report(struct direct *direct, struct refuser *refuser)
{
    if (!ACCEL_CAN(direct->module->table, report))
        return ACCEL_OK;
    refuser->as.reports = (struct accel_report_sink){.size = sizeof(refuser->as.reports), .node = refuse_report};
    return direct->module->table->report(direct->module, &refuser->as.reports, &direct->error);
}

static int32_t call_pull(struct direct *direct, struct refuser *refuser)
{
    const struct accel_task task = direct_task();

    refuser->as.source =
        (struct accel_source){.size = sizeof(refuser->as.source), .map = map_nothing, .read = refuse_read};
    return direct->weights->table->pull(direct->weights, &refuser->as.source, &task, &direct->error);
}

static int32_t call_pull_task(struct direct *direct, struct refuser *refuser)
{
    refuser->as.task = direct_task();
    refuser->as.task.progress = refuse_progress;
    return direct->weights->table->pull(direct->weights, &direct->source.table, &refuser->as.task, &direct->error);
}

static int32_t call_save(struct direct *direct, struct refuser *refuser)
{
    int32_t code = direct_do(direct, DIRECT_PULL);

    if (code != ACCEL_OK || !ACCEL_CAN(direct->weights->table, save))
        return code;
    refuser->as.writer = (struct accel_blob_writer){.size = sizeof(refuser->as.writer), .write = refuse_write};
    return direct->weights->table->save(direct->weights, &refuser->as.writer, &direct->error);
}

static const struct row {
    const char *name;
    enum direct_stage before;
    int32_t (*call)(struct direct *direct, struct refuser *refuser);
    int32_t wanted; /* ACCEL_OK: any failure */
} rows[] = {{"claim-sink", DIRECT_OPEN, call_claim, ACCEL_E_LIMIT},
            {"estimate-sink", DIRECT_OPEN, call_estimate, ACCEL_OK},
            {"report-sink", DIRECT_COMPILE, call_report, ACCEL_OK},
            {"pull-source", DIRECT_WEIGHTS, call_pull, ACCEL_OK},
            {"pull-task", DIRECT_WEIGHTS, call_pull_task, ACCEL_E_CANCELLED},
            {"save-writer", DIRECT_WEIGHTS, call_save, ACCEL_OK}};

static void refused(struct conform *conform)
{
    const struct row *row = &rows[conform->parameter];
    struct refuser refuser = {.calls = 0};
    struct direct direct;
    uint64_t before;
    int32_t code = ACCEL_OK;

    if (!direct_begin(&direct, conform))
        return;
    conform_case(conform, "the callback refuses");
    for (uint32_t stage = 0; stage <= row->before && code == ACCEL_OK; stage++) {
        if (stage == DIRECT_WEIGHTS && ACCEL_CAN(direct.device->table, weights_create))
            direct.placement = ACCEL_RESIDENT;
        code = direct_do(&direct, stage);
        conform->error = direct.error;
        conform_ok(conform, code, direct_stage_name(stage));
    }
    before = atomic_load(&direct.host.alive);
    if (code == ACCEL_OK && (row->before < DIRECT_WEIGHTS || direct.weights != NULL)) {
        code = row->call(&direct, &refuser);
        conform->error = direct.error;
        if (refuser.calls != 0)
            abi_refused(conform, code, row->wanted, NULL);
        else
            conform_ok(conform, code, row->name);
        if (row->wanted == ACCEL_E_CANCELLED && refuser.calls > 1)
            conform_fail(conform, "it was called %u times more after it had cancelled", refuser.calls - 1);
        if (row->call != call_save && code != ACCEL_OK && atomic_load(&direct.host.alive) > before)
            conform_fail(conform, "%llu blocks of the host were lost",
                         (unsigned long long)(atomic_load(&direct.host.alive) - before));
        accel_error_clear(&direct.error);
    }
    if (code == ACCEL_OK && refuser.calls == 0)
        conform_skip(conform, "the driver does not call it here");
    direct_end(&direct);
}

void conform_add_refusals(struct conform_list *list)
{
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        conform_add(list, CONFORM_DRIVER, i, refused, "refused/%s", rows[i].name);
}
