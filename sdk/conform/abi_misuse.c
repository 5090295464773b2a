/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of a later minor version: a driver refuses unknown fields by name, and reads short structs up to their
 * size. */
#include "config.h"

#include <string.h>
#include <sys/mman.h>

#include "sdk/conform/abi.h"
#include "sdk/conform/list.h"

#define TAIL 32u /* bytes that a later minor appended */
#define PAGE 4096u

/* Returns a copy of an open struct with a tail whose last word is `value`. */
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

const void *abi_cut(struct conform *conform, const void *given, uint32_t cut)
{
    uint32_t size;
    char *pages;

    memcpy(&size, given, sizeof(size));
    if (size < cut + sizeof(uint64_t))
        return NULL;
    pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE) != 0) {
        conform_fail(conform, "no two pages for the kit's own");
        conform_end(conform);
    }
    size -= cut;
    memcpy(pages + PAGE - size, given, size);
    memcpy(pages + PAGE - size, &size, sizeof(size));
    return pages + PAGE - size;
}

const char *altered_name(enum altered_place place)
{
    static const char *const names[ALTERED_END] = {"graph", "value", "node", "attributes of a node", "compile options"};

    return names[place];
}

static const uint64_t rows = DIRECT_ROWS;
static const uint32_t one = 1;
static const struct accel_compile_options options = {
    .size = sizeof(options), .buckets = &rows, .bucket_counts = &one, .threads = 1};

bool altered_make(struct altered *altered, struct direct *direct, enum altered_place place, enum altered_how how,
                  uint32_t number)
{
    struct conform *conform = direct->conform;
    const void *places[ALTERED_END], *changed;

    altered->graph = *direct->graph;
    memcpy(altered->values, direct->graph->values, direct->graph->value_count * sizeof(*altered->values));
    altered->node = *direct->graph->nodes[0];
    altered->nodes[0] = &altered->node;
    altered->graph.values = altered->values;
    altered->graph.nodes = altered->nodes;
    places[ALTERED_GRAPH] = &altered->graph;
    places[ALTERED_VALUE] = altered->values[0];
    places[ALTERED_NODE] = &altered->node;
    places[ALTERED_ATTRIBUTES] = altered->node.attributes;
    places[ALTERED_OPTIONS] = &options;
    if (places[place] == NULL)
        return false;
    changed = how == ALTERED_CUT ? abi_cut(conform, places[place], number) : grow(conform, places[place], number);
    altered->changed_graph = place == ALTERED_GRAPH ? changed : &altered->graph;
    altered->changed_options = place == ALTERED_OPTIONS ? changed : &options;
    if (place == ALTERED_VALUE)
        altered->values[0] = changed;
    if (place == ALTERED_NODE)
        altered->nodes[0] = changed;
    if (place == ALTERED_ATTRIBUTES)
        altered->node.attributes = changed;
    return changed != NULL;
}

struct refusals {
    struct accel_claim_sink sink;
    uint32_t refused;
};

static int32_t count_refusal(const struct accel_claim_sink *sink, const struct accel_claim *claim,
                             struct accel_error *error) ACCEL_NOEXCEPT
{
    (void)error;
    ((struct refusals *)(uintptr_t)sink)->refused += claim->answer == ACCEL_CLAIM_NO && claim->reason[0] != '\0';
    return ACCEL_OK;
}

int32_t abi_compile(struct direct *direct, const struct accel_graph *graph, const struct accel_compile_options *given)
{
    struct conform *conform = direct->conform;
    struct refusals refusals = {.sink = {.size = sizeof(refusals.sink), .claim = count_refusal}};
    const struct accel_task task = direct_task();
    int32_t code = direct->device->table->claim(direct->device, &graph, 1, given, &refusals.sink, &conform->error);

    if (code == ACCEL_OK && refusals.refused != 0)
        return accel_error_set(&conform->error, ACCEL_E_REFUSED, "refused by claim");
    if (code == ACCEL_OK)
        code = direct->device->table->compile(direct->device, &graph, 1, given, &direct->source.table, NULL, &task,
                                              &direct->module, &conform->error);
    return code;
}

bool abi_open(struct direct *direct, struct conform *conform)
{
    return direct_begin(direct, conform) && direct_do_stages(direct, DIRECT_ATTACH, DIRECT_COMPILE);
}

static void tails(struct conform *conform)
{
    struct direct direct;
    struct altered altered;

    if (!abi_open(&direct, conform))
        return;
    for (uint32_t place = 0; place < ALTERED_END; place++)
        for (uint32_t tail = 0; tail < 2; tail++) {
            int32_t code;

            if (!altered_make(&altered, &direct, place, ALTERED_TAIL, tail))
                continue;
            conform_case(conform, "%s of a later minor, %s", altered_name(place),
                         tail == 0 ? "with nothing new set" : "with a new member set");
            code = abi_compile(&direct, altered.changed_graph, altered.changed_options);
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
    struct accel_compile_options other = options;
    struct accel_node node;
    const struct accel_node *nodes = &node;
    struct accel_graph graph;
    int32_t code;

    if (!abi_open(&direct, conform))
        return;
    conform_case(conform, "an unknown bit of the compile flags");
    other.flags = 1u << 31;
    code = abi_compile(&direct, direct.graph, &other);
    abi_refused(conform, code, ACCEL_OK, direct.module);
    other.flags = 0;
    conform_case(conform, "deterministic: taken, or refused as unsupported");
    other.flags = ACCEL_COMPILE_DETERMINISTIC;
    if (abi_compile(&direct, direct.graph, &other) == ACCEL_OK)
        direct_undo(&direct, DIRECT_COMPILE);
    else
        abi_refused(conform, conform->error.code, ACCEL_OK, direct.module);
    other.flags = 0;
    conform_case(conform, "an operator of a later minor");
    node = *direct.graph->nodes[0];
    node.op = 1000;
    node.minor = ACCEL_ABI_MINOR + 1;
    graph = *direct.graph;
    graph.nodes = &nodes;
    code = abi_compile(&direct, &graph, &other);
    abi_refused(conform, code, ACCEL_OK, direct.module);
    direct_end(&direct);
}

void conform_add_misuse(struct conform_list *list)
{
    conform_add(list, CONFORM_DRIVER, 0, tails, "layout/tails");
    conform_add(list, CONFORM_DRIVER, 0, flags, "layout/flags");
}
