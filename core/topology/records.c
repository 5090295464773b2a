/* SPDX-License-Identifier: Apache-2.0 */
/* The machine as the public headers show it: facts for people, and the list of hardware that drivers are given. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <accel/context.h>
#include <accel/driver.h>

#include "core/base/strbuf.h"
#include "core/topology/internal.h"

#define FIXED_FACTS 24u

struct records {
    struct accel_topology *topology;
    struct accel_fact *facts;
    uint32_t fact_count;
    bool no_memory;
};

/* Origins may be kept as they are: they live as long as the topology. */
static void add_text(struct records *records, const char *key, const char *value, const char *unit, const char *origin)
{
    struct accel_arena *arena = &records->topology->arena;
    const char *kept_key = accel_arena_strdup(arena, key);
    const char *kept_value = accel_arena_strdup(arena, value);
    if (kept_key == NULL || kept_value == NULL) {
        records->no_memory = true;
        return;
    }
    records->facts[records->fact_count++] = (struct accel_fact){
        .size = sizeof(struct accel_fact), .key = kept_key, .value = kept_value, .unit = unit, .origin = origin};
}

static void add_number(struct records *records, const char *key, uint64_t value, const char *unit, const char *origin)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, value);
    add_text(records, key, text, unit, origin);
}

static void add_amount(struct records *records, const char *key, struct accel_amount amount)
{
    if (amount.origin)
        add_number(records, key, amount.bytes, "bytes", amount.origin);
}

static void add_kinds(struct records *records, const struct accel_machine *machine)
{
    struct accel_strbuf text = {0};
    for (uint32_t i = machine->kind_count; i-- > 0;) {
        const struct accel_core_kind *kind = &machine->kinds[i];
        accel_strbuf_printf(&text, "%s%u x %s", text.length ? ", " : "", kind->cores,
                            kind->name[0] ? kind->name : "core");
    }
    if (text.failed)
        records->no_memory = true;
    else if (machine->kind_count > 1)
        add_text(records, "cpu.kinds", accel_strbuf_get(&text), "", "hwloc");
    accel_strbuf_free(&text);
}

static void add_quota(struct records *records, const struct accel_cpu_quota *quota)
{
    char text[32];
    if (quota->origin == NULL)
        return;
    snprintf(text, sizeof(text), "%" PRIu64 ".%02" PRIu64, quota->quota / quota->period,
             quota->quota % quota->period * 100 / quota->period);
    add_text(records, "cpu.quota", text, "cpus", quota->origin);
}

static void add_threads(struct records *records, const struct accel_thread_plan *plan)
{
    struct accel_strbuf origin = {0};
    const char *kept = NULL;
    accel_strbuf_printf(&origin, "%s: %s", plan->origin, plan->reason);
    if (!origin.failed)
        kept = accel_arena_strdup(&records->topology->arena, origin.text);
    accel_strbuf_free(&origin);
    if (kept)
        add_number(records, "cpu.threads", plan->count, "threads", kept);
    else
        records->no_memory = true;
}

static void add_caches(struct records *records, const struct accel_machine *machine)
{
    for (uint32_t i = 0; i < machine->cache_count; i++) {
        char key[24];
        snprintf(key, sizeof(key), "cache.L%u%c", machine->caches[i].level, machine->caches[i].type);
        add_number(records, key, machine->caches[i].bytes, "bytes", "hwloc");
    }
}

static void add_facts(struct records *records, const struct accel_thread_plan *plan)
{
    const struct accel_machine *machine = &records->topology->machine;
    if (machine->board[0])
        add_text(records, "board", machine->board, "", "/sys/firmware/devicetree/base/model");
    if (machine->processor[0])
        add_text(records, "cpu.model", machine->processor, "", "hwloc");
    add_number(records, "cpu.packages", machine->packages, "", "hwloc");
    add_number(records, "cpu.cores", machine->core_count, "", "hwloc");
    add_number(records, "cpu.hardware_threads", machine->cpu_count, "", "hwloc");
    add_kinds(records, machine);
    add_text(records, "cpu.allowed", machine->allowed_cpus, "", machine->allowed_origin);
    add_quota(records, &machine->limits.cpu);
    add_threads(records, plan);
    add_caches(records, machine);
    add_number(records, "numa.nodes", machine->numa_count, "", "hwloc");
    add_amount(records, "memory.total", machine->limits.memory_total);
    add_amount(records, "memory.available", machine->limits.memory_available);
    add_amount(records, "memory.limit", machine->limits.memory_limit);
    add_amount(records, "memory.room", machine->limits.memory_room);
    add_amount(records, "memory.usable", machine->memory_usable);
}

static void fill_processor(const struct accel_machine *machine, const struct accel_thread_plan *plan,
                           struct accel_hardware *out)
{
    out->kind = ACCEL_HARDWARE_CPU;
    out->name = machine->processor[0] ? machine->processor : "processor";
    out->threads = plan->count;
    out->memory = machine->memory_usable.bytes;
    out->cpu_set = machine->allowed_cpus;
}

static int fill_pci(struct accel_arena *arena, const struct accel_pci_device *device, struct accel_hardware *out)
{
    const char **files = accel_arena_array(arena, device->os_device_count, sizeof(*files));
    char name[64];
    snprintf(name, sizeof(name), "PCI device %04x:%04x of class %04x", device->vendor, device->device,
             device->device_class);
    out->kind = ACCEL_HARDWARE_PCI;
    out->domain = device->domain;
    out->bus = device->bus;
    out->slot = device->slot;
    out->function = device->function;
    out->vendor = device->vendor;
    out->device = device->device;
    out->device_class = device->device_class;
    out->numa_node = device->numa_node;
    out->name = device->name[0] ? device->name : accel_arena_strdup(arena, name);
    if (files == NULL || out->name == NULL)
        return -1;
    for (uint32_t i = 0; i < device->os_device_count; i++)
        files[i] = device->os_devices[i].name;
    out->files = files;
    out->file_count = device->os_device_count;
    return 0;
}

static void fill_tree(const struct accel_tree_device *device, struct accel_hardware *out)
{
    out->kind = ACCEL_HARDWARE_NODE;
    out->name = device->path;
    out->compatible = device->compatible;
}

static int32_t list_hardware(struct accel_topology *topology, const struct accel_thread_plan *plan,
                             struct accel_error *error)
{
    struct accel_machine *machine = &topology->machine;
    uint32_t count = 1 + machine->pci_count + machine->tree_count;
    struct accel_hardware *list = accel_arena_array(&topology->arena, count, sizeof(*list));
    const struct accel_hardware **pointers = accel_arena_array(&topology->arena, count, sizeof(const void *));
    if (list == NULL || pointers == NULL)
        return topology_no_memory(error);
    for (uint32_t i = 0; i < count; i++) {
        list[i] = (struct accel_hardware){
            .size = sizeof(*list), .numa_node = -1, .name = "", .compatible = "", .cpu_set = ""};
        pointers[i] = &list[i];
    }
    fill_processor(machine, plan, &list[0]);
    for (uint32_t i = 0; i < machine->pci_count; i++)
        if (fill_pci(&topology->arena, &machine->pci[i], &list[1 + i]) != 0)
            return topology_no_memory(error);
    for (uint32_t i = 0; i < machine->tree_count; i++)
        fill_tree(&machine->tree[i], &list[1 + machine->pci_count + i]);
    machine->hardware = pointers;
    machine->hardware_count = count;
    return ACCEL_OK;
}

static int32_t list_facts(struct accel_topology *topology, const struct accel_thread_plan *plan,
                          struct accel_error *error)
{
    struct accel_machine *machine = &topology->machine;
    struct records records = {.topology = topology};
    records.facts = accel_arena_array(&topology->arena, FIXED_FACTS + machine->cache_count, sizeof(*records.facts));
    if (records.facts == NULL)
        return topology_no_memory(error);
    add_facts(&records, plan);
    machine->facts = records.facts;
    machine->fact_count = records.fact_count;
    return records.no_memory ? topology_no_memory(error) : ACCEL_OK;
}

int32_t topology_make_records(struct accel_topology *topology, struct accel_error *error)
{
    struct accel_thread_policy policy = {0};
    struct accel_thread_plan plan;
    int32_t code = accel_topology_threads(topology, &policy, &plan, error);
    if (code == ACCEL_OK)
        code = list_hardware(topology, &plan, error);
    if (code == ACCEL_OK)
        code = list_facts(topology, &plan, error);
    accel_thread_plan_free(&plan);
    return code;
}
