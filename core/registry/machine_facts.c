/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the machine with their origin: derived from topology and limits, or read from a recording. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/base/strbuf.h"
#include "core/registry/machine.h"
#include "core/snapshot/snapshot.h"
#include "core/topology/topology.h"

/* State while facts are added. A lack of memory is sticky and checked once, at the end. */
struct writer {
    struct accel_context *context;
    bool failed;
};

static void add(struct writer *writer, const char *key, const char *unit, const char *origin, const char *format, ...)
    ACCEL_PRINTF(5, 6);

/* Adds a fact; `unit` is borrowed, the rest is copied. */
static void add(struct writer *writer, const char *key, const char *unit, const char *origin, const char *format, ...)
{
    struct accel_arena *arena = &writer->context->records;
    struct accel_fact *fact = accel_arena_array(arena, 1, sizeof(*fact));
    struct accel_strbuf value = {0};
    va_list values;
    va_start(values, format);
    accel_strbuf_vprintf(&value, format, values);
    va_end(values);
    writer->failed |= value.failed || fact == NULL;
    if (!writer->failed) {
        *fact = (struct accel_fact){.size = sizeof(*fact),
                                    .key = accel_arena_strdup(arena, key),
                                    .value = accel_arena_strdup(arena, accel_strbuf_get(&value)),
                                    .unit = unit,
                                    .origin = accel_arena_strdup(arena, origin)};
        writer->failed = fact->key == NULL || fact->value == NULL || fact->origin == NULL ||
                         !accel_rows_add(&writer->context->facts, fact);
    }
    accel_strbuf_free(&value);
}

static void add_count(struct writer *writer, const char *key, uint32_t count, const char *unit)
{
    add(writer, key, unit, "hwloc", "%" PRIu32, count);
}

/* Adds an amount; an unknown amount adds no fact. */
static void add_amount(struct writer *writer, const char *key, const struct accel_amount *amount)
{
    if (amount->origin)
        add(writer, key, "bytes", amount->origin, "%" PRIu64, amount->bytes);
}

static void add_processors(struct writer *writer, const struct accel_machine *machine)
{
    const struct accel_cpu_quota *quota = &machine->limits.cpu;
    if (machine->processor[0] != '\0')
        add(writer, "cpu.model", "", "hwloc", "%s", machine->processor);
    if (machine->board[0] != '\0')
        add(writer, "board.model", "", "hwloc", "%s", machine->board);
    add_count(writer, "cpu.packages", machine->packages, "packages");
    add_count(writer, "cpu.cores", machine->core_count, "cores");
    add_count(writer, "cpu.threads", machine->cpu_count, "cpus");
    add(writer, "cpu.threads.allowed", "cpus", machine->allowed_origin, "%" PRIu32, machine->allowed_cpu_count);
    add(writer, "cpu.set", "", machine->allowed_origin, "%s", machine->allowed_cpus);
    if (quota->origin && quota->period != 0)
        add(writer, "cpu.quota", "cpus", quota->origin, "%.3g", (double)quota->quota / (double)quota->period);
}

static void add_memory(struct writer *writer, const struct accel_machine *machine)
{
    add_amount(writer, "memory.total", &machine->limits.memory_total);
    add_amount(writer, "memory.available", &machine->limits.memory_available);
    add_amount(writer, "memory.limit", &machine->limits.memory_limit);
    add_amount(writer, "memory.room", &machine->limits.memory_headroom);
    add_amount(writer, "memory.usable", &machine->memory_usable);
    add_count(writer, "numa.nodes", machine->numa_count, "nodes");
}

/* Adds core kinds, if there are several, and data caches. */
static void add_shape(struct writer *writer, const struct accel_machine *machine)
{
    char key[64];
    for (uint32_t i = 0; i < machine->kind_count && machine->kind_count > 1; i++) {
        const struct accel_core_kind *kind = &machine->kinds[i];
        snprintf(key, sizeof(key), "cpu.kind.%u", i);
        add(writer, key, "", "hwloc", "%s %u cores, cpus %s", kind->name, kind->cores, kind->cpus);
    }
    for (uint32_t i = 0; i < machine->cache_count; i++) {
        const struct accel_cache *cache = &machine->caches[i];
        if (cache->type == 'i')
            continue;
        snprintf(key, sizeof(key), "cache.l%u", cache->level);
        add(writer, key, "bytes", "hwloc", "%" PRIu64, cache->bytes);
    }
}

int32_t accel_machine_facts(struct accel_context *context, struct accel_error *error)
{
    const struct accel_snapshot *snapshot = context->snapshot;
    const struct accel_machine *machine = accel_topology_machine(context->topology);
    struct writer writer = {.context = context};
    /* Recorded strings live in the arena of the records. */
    for (uint32_t i = 0; snapshot && i < snapshot->fact_count; i++)
        add(&writer, snapshot->facts[i].key, snapshot->facts[i].unit, snapshot->facts[i].origin, "%s",
            snapshot->facts[i].value);
    if (snapshot == NULL || snapshot->fact_count == 0) {
        add_processors(&writer, machine);
        add_memory(&writer, machine);
        add_shape(&writer, machine);
    }
    return writer.failed ? accel_error_no_memory(error, "for facts of the machine") : ACCEL_OK;
}
