/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of a later minor: what a driver does not know it refuses by name, and short structs it reads as far as they
 * go. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/device/host.h"
#include "tools/accel-conform/abi.h"

#define TAIL 32u /* bytes that a later minor appended */

/* A copy of an open struct with a tail, whose last word is `value`. */
static void *grow(struct conform *conform, const void *given, uint64_t value)
{
    uint32_t size;
    char *copy;

    memcpy(&size, given, sizeof(size));
    copy = conform_memory(conform, size + TAIL, 1);
    memcpy(copy, given, size);
    memcpy(copy + size + TAIL - sizeof(value), &value, sizeof(value));
    size += TAIL;
    memcpy(copy, &size, sizeof(size));
    return copy;
}

/* A graph like the small one, with one struct of a later minor in it. */
struct altered {
    struct accel_graph graph;
    const struct accel_value *values[DIRECT_VALUES];
    const struct accel_node *nodes[1];
    struct accel_node node;
};

enum place { PLACE_GRAPH, PLACE_VALUE, PLACE_NODE, PLACE_ATTRIBUTES, PLACE_OPTIONS, PLACE_END };

static const char *const place_names[PLACE_END] = {"graph", "value", "node", "attributes of a node", "compile options"};

static const struct accel_graph *alter(struct direct *direct, struct altered *altered, enum place place, uint64_t tail)
{
    struct conform *conform = direct->conform;

    altered->graph = *direct->graph;
    memcpy(altered->values, direct->graph->values, direct->graph->value_count * sizeof(*altered->values));
    altered->node = *direct->graph->nodes[0];
    altered->nodes[0] = &altered->node;
    altered->graph.values = altered->values;
    altered->graph.nodes = altered->nodes;
    if (place == PLACE_VALUE)
        altered->values[0] = grow(conform, altered->values[0], tail);
    if (place == PLACE_ATTRIBUTES && altered->node.attributes != NULL)
        altered->node.attributes = grow(conform, altered->node.attributes, tail);
    if (place == PLACE_NODE)
        altered->nodes[0] = grow(conform, &altered->node, tail);
    return place == PLACE_GRAPH ? grow(conform, &altered->graph, tail) : &altered->graph;
}

struct asker {
    struct accel_claim_sink sink;
    uint32_t refused;
};

static int32_t take_claim(const struct accel_claim_sink *sink, const struct accel_claim *claim,
                          struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)error;
    ((struct asker *)(uintptr_t)sink)->refused += claim->answer == ACCEL_CLAIM_NO && claim->reason[0] != '\0';
    return ACCEL_OK;
}

static int32_t progress(const struct accel_task *task, uint64_t done, uint64_t total) ACCEL_NOEXCEPT
{
    (void)task, (void)done, (void)total;
    return ACCEL_OK;
}

/* Claims and compiles; what claim refuses need not be compiled. */
static int32_t try(struct direct *direct, const struct accel_graph *graph, const struct accel_compile_options *options)
{
    struct conform *conform = direct->conform;
    struct asker asker = {.sink = {.size = sizeof(asker.sink), .claim = take_claim}};
    const struct accel_task task = {.size = sizeof(task), .progress = progress, .crew = accel_crew_alone()};
    int32_t code = direct->device->table->claim(direct->device, &graph, 1, options, &asker.sink, &conform->error);

    if (code == ACCEL_OK && asker.refused != 0)
        return accel_error_set(&conform->error, ACCEL_E_REFUSED, "refused by claim");
    if (code == ACCEL_OK)
        code = direct->device->table->compile(direct->device, &graph, 1, options, &direct->source, NULL, &task,
                                              &direct->module, &conform->error);
    return code;
}

static bool open_device(struct direct *direct, struct conform *conform)
{
    if (!direct_begin(direct, conform))
        return false;
    for (uint32_t stage = 0; stage <= DIRECT_CLAIM; stage++)
        if (direct_do(direct, stage) != ACCEL_OK) {
            conform_fail(conform, "%s: %s", direct_stage_name(stage), direct->error.text);
            return false;
        }
    return true;
}

static void tails(struct conform *conform)
{
    struct direct direct;
    struct altered altered;
    const uint64_t rows = DIRECT_ROWS;
    const uint32_t one = 1;
    const struct accel_compile_options options = {
        .size = sizeof(options), .buckets = &rows, .bucket_counts = &one, .ranks = 1};

    if (!open_device(&direct, conform))
        return;
    for (uint32_t place = 0; place < PLACE_END; place++)
        for (uint64_t tail = 0; tail < 2; tail++) {
            const struct accel_graph *graph = alter(&direct, &altered, place, tail);
            int32_t code;

            if (place == PLACE_ATTRIBUTES && altered.node.attributes == NULL)
                continue;
            conform_case(conform, "%s of a later minor, %s", place_names[place],
                         tail == 0 ? "with nothing new set" : "with a new member set");
            code = try(&direct, graph,
                       place == PLACE_OPTIONS ? (const struct accel_compile_options *)grow(conform, &options, tail)
                                              : &options);
            if (tail == 0)
                conform_ok(conform, code, "claim and compile");
            else
                abi_refused(conform, code, ACCEL_OK, direct.module);
            direct_undo(&direct, DIRECT_COMPILE);
        }
    direct_end(&direct);
}

static void flags(struct conform *conform)
{
    struct direct direct;
    const uint64_t rows = DIRECT_ROWS;
    const uint32_t one = 1;
    struct accel_compile_options options = {.size = sizeof(options), .buckets = &rows, .bucket_counts = &one};
    struct accel_node node;
    const struct accel_node *nodes = &node;
    struct accel_graph graph;
    int32_t code;

    if (!open_device(&direct, conform))
        return;
    conform_case(conform, "an unknown bit of the compile flags");
    options.flags = 1u << 31;
    code = try(&direct, direct.graph, &options);
    abi_refused(conform, code, ACCEL_OK, direct.module);
    options.flags = 0;
    conform_case(conform, "deterministic: taken, or refused as unsupported");
    options.flags = ACCEL_COMPILE_DETERMINISTIC;
    if (try(&direct, direct.graph, &options) == ACCEL_OK)
        direct_undo(&direct, DIRECT_COMPILE);
    else
        abi_refused(conform, conform->error.code, ACCEL_OK, direct.module);
    options.flags = 0;
    conform_case(conform, "an operator of a later minor");
    node = *direct.graph->nodes[0];
    node.op = 1000;
    node.minor = ACCEL_ABI_MINOR + 1;
    graph = *direct.graph;
    graph.nodes = &nodes;
    code = try(&direct, &graph, &options);
    abi_refused(conform, code, ACCEL_OK, direct.module);
    direct_end(&direct);
}

void conform_add_misuse(struct conform_list *list)
{
    conform_add(list, CONFORM_DRIVER, 0, tails, "layout/tails");
    conform_add(list, CONFORM_DRIVER, 0, flags, "layout/flags");
}
