/* SPDX-License-Identifier: Apache-2.0 */
/* Module tests: a module of two graphs, cancelled compilation, and weights that are saved and adopted. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "sdk/conform/abi.h"
#include "sdk/conform/list.h"

#define GRAPHS 2u

/* Counts the reports of the only node of each graph. */
struct reports {
    struct accel_report_sink sink; /* first member: callbacks receive its address */
    uint32_t counts[GRAPHS];
    uint32_t others;
};

static int32_t count_node(const struct accel_report_sink *sink, const struct accel_node_report *report,
                          struct accel_error *error) ACCEL_NOEXCEPT
{
    struct reports *reports = (struct reports *)(uintptr_t)sink;

    (void)error;
    if (report->graph < GRAPHS && report->node == 0)
        reports->counts[report->graph]++;
    else
        reports->others++;
    return ACCEL_OK;
}

/* A task that counts its calls and returns ACCEL_E_CANCELLED after the first `good` ones. */
struct cancelling {
    struct accel_task task; /* first member: callbacks receive its address */
    uint32_t good;
    uint32_t calls;
};

static int32_t count_progress(const struct accel_task *task, uint64_t done, uint64_t total) ACCEL_NOEXCEPT
{
    struct cancelling *cancelling = (struct cancelling *)(uintptr_t)task;

    (void)done, (void)total;
    return cancelling->calls++ < cancelling->good ? ACCEL_OK : ACCEL_E_CANCELLED;
}

static int32_t compile(struct direct *direct, struct cancelling *cancelling, uint32_t good)
{
    static const uint64_t rows[GRAPHS] = {DIRECT_ROWS, DIRECT_ROWS};
    static const uint32_t counts[GRAPHS] = {1, 1};
    static const struct accel_compile_options options = {
        .size = sizeof(options), .buckets = rows, .bucket_counts = counts, .threads = 1};
    const struct accel_graph *graphs[GRAPHS] = {direct->graph, direct->graph};

    *cancelling = (struct cancelling){
        .task = {.size = sizeof(cancelling->task), .progress = count_progress, .team = direct_team()}, .good = good};
    return direct->device->table->compile(direct->device, graphs, GRAPHS, &options, &direct->source.table, NULL,
                                          &cancelling->task, &direct->module, &direct->conform->error);
}

static void two_graphs(struct conform *conform)
{
    struct reports reports = {.sink = {.size = sizeof(reports.sink), .node = count_node}};
    struct cancelling cancelling;
    struct direct direct;

    if (!abi_open(&direct, conform))
        return;
    conform_case(conform, "compile a module of two graphs");
    if (conform_ok(conform, compile(&direct, &cancelling, UINT32_MAX), "compile") &&
        ACCEL_CAN(direct.module->table, report)) {
        conform_case(conform, "its report names the node of each graph once");
        conform_ok(conform, direct.module->table->report(direct.module, &reports.sink, &conform->error), "report");
        for (uint32_t g = 0; g < GRAPHS; g++)
            if (reports.counts[g] != 1 || reports.others != 0)
                conform_fail(conform, "node 0 of graph %u is there %u times, and %u other nodes", g, reports.counts[g],
                             reports.others);
    }
    direct_end(&direct);
}

/* A driver need not report progress. A driver that does stops at the first progress call that returns
 * ACCEL_E_CANCELLED. */
static void cancel(struct conform *conform)
{
    struct direct direct;

    if (!abi_open(&direct, conform))
        return;
    for (uint32_t good = 0; good < 3; good++) {
        struct cancelling cancelling;
        const uint64_t before = atomic_load(&direct.host.alive);
        int32_t code;

        conform_case(conform, "compiling is cancelled after %u reports of progress", good);
        code = compile(&direct, &cancelling, good);
        if (cancelling.calls > good)
            abi_refused(conform, code, ACCEL_E_CANCELLED, direct.module);
        else
            conform_ok(conform, code, "compile");
        if (cancelling.calls > good + 1)
            conform_fail(conform, "progress was reported %u times more after it was cancelled",
                         cancelling.calls - good - 1);
        direct_undo(&direct, DIRECT_COMPILE);
        if (atomic_load(&direct.host.alive) > before)
            conform_fail(conform, "a block of the host was lost");
    }
    direct_end(&direct);
}

/* ---- saved weights ---- */

#define SAVED_MOST 65536u

/* The bytes that `save` wrote, aligned to 4096. */
struct saved {
    struct accel_blob_writer writer; /* first member: callbacks receive its address */
    unsigned char *bytes;
    uint64_t count;
};

static int32_t append(const struct accel_blob_writer *writer, const void *bytes, uint64_t count,
                      struct accel_error *error) ACCEL_NOEXCEPT
{
    struct saved *saved = (struct saved *)(uintptr_t)writer;

    if (count > SAVED_MOST - saved->count)
        return accel_error_set(error, ACCEL_E_LIMIT, "more than %u bytes for one small weight", SAVED_MOST);
    memcpy(saved->bytes + saved->count, bytes, count);
    saved->count += count;
    return ACCEL_OK;
}

static void begin_saved(struct saved *saved, struct conform *conform)
{
    *saved = (struct saved){.writer = {.size = sizeof(saved->writer), .write = append},
                            .bytes = aligned_alloc(4096, SAVED_MOST)};
    if (saved->bytes == NULL) {
        conform_ok(conform, ACCEL_E_MEMORY, "memory of the kit's own");
        conform_end(conform);
    }
}

static bool refill(struct direct *direct)
{
    struct conform *conform = direct->conform;
    int32_t code;

    direct_undo(direct, DIRECT_WEIGHTS);
    code = direct_do(direct, DIRECT_WEIGHTS);
    conform->error = direct->error;
    return conform_ok(conform, code, "weights_create");
}

/* Adopting with a size that differs from the saved list is a cache miss, and the container can be filled
 * afterwards. */
static void adopt_other_size(struct direct *direct, const struct saved *saved, uint64_t bytes)
{
    struct conform *conform = direct->conform;
    int32_t code;

    conform_case(conform, "%llu bytes are adopted where %llu were saved", (unsigned long long)bytes,
                 (unsigned long long)saved->count);
    if (!refill(direct))
        return;
    code = direct->weights->table->adopt(direct->weights, saved->bytes, bytes, &conform->error);
    abi_refused(conform, code, ACCEL_E_MISS, NULL);
    code = direct_do(direct, DIRECT_PULL);
    conform->error = direct->error;
    conform_ok(conform, code, "pull after a miss");
}

static void check_adopted(struct direct *direct, struct saved *first, struct saved *second)
{
    struct conform *conform = direct->conform;

    conform_case(conform, "saved once more");
    if (conform_ok(conform, direct->weights->table->save(direct->weights, &second->writer, &conform->error), "save") &&
        (second->count != first->count || memcmp(first->bytes, second->bytes, first->count) != 0))
        conform_fail(conform, "two saves of one container wrote other bytes");
    conform_case(conform, "what was saved is adopted");
    if (!refill(direct) ||
        !conform_ok(conform,
                    direct->weights->table->adopt(direct->weights, first->bytes, first->count, &conform->error),
                    "adopt"))
        return;
    adopt_other_size(direct, first, first->count + 64);
    adopt_other_size(direct, first, first->count / 2);
}

static void adopt(struct conform *conform)
{
    struct saved first, second;
    struct direct direct;
    int32_t code;

    if (!abi_open(&direct, conform))
        return;
    conform_case(conform, "a container of one weight");
    if (!ACCEL_CAN(direct.device->table, weights_create)) {
        conform_skip(conform, "the core holds its weights");
        direct_end(&direct);
        return;
    }
    if (direct.weight.bytes[0] == 0 || direct.graph->value_count == 0) {
        conform_skip(conform, "it takes no product in f32");
        direct_end(&direct);
        return;
    }
    direct.placement = ACCEL_RESIDENT;
    begin_saved(&first, conform);
    begin_saved(&second, conform);
    code = refill(&direct) ? direct_do(&direct, DIRECT_PULL) : ACCEL_E_INTERNAL;
    if (code == ACCEL_OK && (!ACCEL_CAN(direct.weights->table, save) || !ACCEL_CAN(direct.weights->table, adopt)))
        conform_skip(conform, "it keeps no packed weights");
    else if (code == ACCEL_OK &&
             conform_ok(conform, direct.weights->table->save(direct.weights, &first.writer, &conform->error), "save"))
        check_adopted(&direct, &first, &second);
    else if (conform->failures == 0)
        conform_fail(conform, "pull: %s", direct.error.text);
    direct_end(&direct);
    free(first.bytes);
    free(second.bytes);
}

void conform_add_modules(struct conform_list *list)
{
    conform_add(list, CONFORM_DRIVER, 0, two_graphs, "module/two-graphs");
    conform_add(list, CONFORM_DRIVER, 0, cancel, "module/cancel");
    conform_add(list, CONFORM_DRIVER, 0, adopt, "weights/adopt");
}
