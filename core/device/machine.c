/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine has, as programs and drivers are told: facts with their origins, and the hardware list. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/pci.h"
#include "core/device/context.h"
#include "core/plugin/plugin.h"
#include "core/snapshot/snapshot.h"
#include "core/topology/topology.h"

#define CLASS_DISPLAY 0x03u
#define CLASS_ACCELERATOR 0x12u
#define SUBCLASS_COPROCESSOR 0x0b40u

static char *text_of(struct accel_context *context, const char *format, ...) ACCEL_PRINTF(2, 3);

static char *text_of(struct accel_context *context, const char *format, ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    return accel_arena_strdup(&context->records, text);
}

/* ---- hardware ---- */

static int32_t copy_strings(struct accel_context *context, struct accel_hardware *copy)
{
    const char **files = accel_arena_array(&context->records, copy->file_count, sizeof(*files));
    if (files == NULL)
        return ACCEL_E_MEMORY;
    for (uint32_t i = 0; i < copy->file_count; i++) {
        files[i] = accel_arena_strdup(&context->records, copy->files[i]);
        if (files[i] == NULL)
            return ACCEL_E_MEMORY;
    }
    copy->files = files;
    copy->name = accel_arena_strdup(&context->records, copy->name == NULL ? "" : copy->name);
    copy->compatible = accel_arena_strdup(&context->records, copy->compatible == NULL ? "" : copy->compatible);
    copy->cpu_set = accel_arena_strdup(&context->records, copy->cpu_set == NULL ? "" : copy->cpu_set);
    return copy->name != NULL && copy->compatible != NULL && copy->cpu_set != NULL ? ACCEL_OK : ACCEL_E_MEMORY;
}

int32_t accel_machine_add(struct accel_context *context, const struct accel_hardware *hardware,
                          struct accel_error *error)
{
    struct accel_hardware *copy = accel_arena_array(&context->records, 1, sizeof(*copy));
    if (copy == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for the list of hardware");
    *copy = *hardware;
    copy->size = sizeof(*copy);
    if (copy_strings(context, copy) != ACCEL_OK || !accel_rows_add(&context->hardware, copy))
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for the list of hardware");
    return ACCEL_OK;
}

const char *accel_machine_text(const struct accel_hardware *hardware, char *text, size_t bytes)
{
    const char *name = hardware->name[0] != '\0' ? hardware->name : "unnamed device";
    char address[ACCEL_PCI_TEXT];
    if (hardware->kind == ACCEL_HARDWARE_PCI)
        snprintf(text, bytes, "%s (%s)", name,
                 accel_pci_write(hardware->domain, hardware->bus, hardware->slot, hardware->function, address));
    else if (hardware->kind == ACCEL_HARDWARE_NODE)
        snprintf(text, bytes, "%s (%s)", name, hardware->compatible);
    else
        snprintf(text, bytes, "%s", name);
    return text;
}

/* Memory of the machine, or the group's limit where that is lower. */
static uint64_t usable_memory(const struct accel_machine *machine)
{
    uint64_t bytes = machine->limits.memory_total.bytes;
    const struct accel_amount *limit = &machine->limits.memory_limit;
    if (limit->origin != NULL && (bytes == 0 || limit->bytes < bytes))
        bytes = limit->bytes;
    return bytes;
}

static int32_t add_processors(struct accel_context *context, const struct accel_machine *machine,
                              struct accel_error *error)
{
    struct accel_hardware hardware = {.kind = ACCEL_HARDWARE_CPU,
                                      .numa_node = -1,
                                      .name = machine->processor[0] != '\0' ? machine->processor : "processors",
                                      .threads = machine->allowed_cpu_count,
                                      .memory = usable_memory(machine),
                                      .cpu_set = machine->allowed_cpus};
    return accel_machine_add(context, &hardware, error);
}

static bool is_accelerator(uint32_t device_class)
{
    return device_class >> 8 == CLASS_DISPLAY || device_class >> 8 == CLASS_ACCELERATOR ||
           device_class == SUBCLASS_COPROCESSOR;
}

/* Signal processors are sensors more often than accelerators; those that the system lists as accelerators are. */
static bool is_listed_accelerator(const struct accel_pci_device *device)
{
    for (uint32_t i = 0; i < device->os_device_count; i++)
        if (strcmp(device->os_devices[i].type, "accelerator") == 0)
            return true;
    return is_accelerator(device->device_class);
}

static int32_t add_pci(struct accel_context *context, const struct accel_pci_device *device, struct accel_error *error)
{
    const char **files = accel_arena_array(&context->records, device->os_device_count, sizeof(*files));
    struct accel_hardware hardware = {.kind = ACCEL_HARDWARE_PCI,
                                      .domain = device->domain,
                                      .bus = device->bus,
                                      .slot = device->slot,
                                      .function = device->function,
                                      .vendor = device->vendor,
                                      .device = device->device,
                                      .device_class = device->device_class,
                                      .numa_node = device->numa_node,
                                      .name = device->name,
                                      .files = files,
                                      .file_count = device->os_device_count};
    if (files == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for the list of hardware");
    for (uint32_t i = 0; i < device->os_device_count; i++)
        files[i] = device->os_devices[i].name;
    return accel_machine_add(context, &hardware, error);
}

static int32_t add_hardware(struct accel_context *context, const struct accel_machine *machine,
                            struct accel_error *error)
{
    int32_t code = add_processors(context, machine, error);
    for (uint32_t i = 0; i < machine->pci_count && code == ACCEL_OK; i++)
        if (is_listed_accelerator(&machine->pci[i]))
            code = add_pci(context, &machine->pci[i], error);
    for (uint32_t i = 0; i < machine->tree_count && code == ACCEL_OK; i++) {
        struct accel_hardware hardware = {.kind = ACCEL_HARDWARE_NODE,
                                          .numa_node = -1,
                                          .name = machine->tree[i].path,
                                          .compatible = machine->tree[i].compatible};
        code = accel_machine_add(context, &hardware, error);
    }
    return code;
}

/* ---- facts ---- */

static int32_t add_fact(struct accel_context *context, const char *key, char *value, const char *unit,
                        const char *origin, struct accel_error *error)
{
    struct accel_fact *fact = accel_arena_array(&context->records, 1, sizeof(*fact));
    char *origin_copy = accel_arena_strdup(&context->records, origin);
    char *key_copy = accel_arena_strdup(&context->records, key);
    if (fact == NULL || value == NULL || origin_copy == NULL || key_copy == NULL)
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for facts of the machine");
    *fact = (struct accel_fact){
        .size = sizeof(*fact), .key = key_copy, .value = value, .unit = unit, .origin = origin_copy};
    if (!accel_rows_add(&context->facts, fact))
        return accel_error_set(error, ACCEL_E_MEMORY, "no memory for facts of the machine");
    return ACCEL_OK;
}

static int32_t add_number(struct accel_context *context, const char *key, uint64_t value, const char *unit,
                          const char *origin, struct accel_error *error)
{
    return add_fact(context, key, text_of(context, "%llu", (unsigned long long)value), unit, origin, error);
}

/* A number that may be unknown: then there is no fact. */
static int32_t add_limit(struct accel_context *context, const char *key, const struct accel_amount *limit,
                         struct accel_error *error)
{
    if (limit->origin == NULL)
        return ACCEL_OK;
    return add_number(context, key, limit->bytes, "bytes", limit->origin, error);
}

static int32_t add_cpu_facts(struct accel_context *context, const struct accel_machine *machine,
                             struct accel_error *error)
{
    const struct accel_cpu_quota *quota = &machine->limits.cpu;
    int32_t code = ACCEL_OK;
    if (machine->processor[0] != '\0')
        code = add_fact(context, "cpu.model", text_of(context, "%s", machine->processor), "", "hwloc", error);
    if (code == ACCEL_OK && machine->board[0] != '\0')
        code = add_fact(context, "board.model", text_of(context, "%s", machine->board), "", "hwloc", error);
    if (code == ACCEL_OK)
        code = add_number(context, "cpu.packages", machine->packages, "packages", "hwloc", error);
    if (code == ACCEL_OK)
        code = add_number(context, "cpu.cores", machine->core_count, "cores", "hwloc", error);
    if (code == ACCEL_OK)
        code = add_number(context, "cpu.threads", machine->cpu_count, "cpus", "hwloc", error);
    if (code == ACCEL_OK)
        code = add_number(context, "cpu.threads.allowed", machine->allowed_cpu_count, "cpus", machine->allowed_origin,
                          error);
    if (code == ACCEL_OK)
        code = add_fact(context, "cpu.set", text_of(context, "%s", machine->allowed_cpus), "", machine->allowed_origin,
                        error);
    if (code == ACCEL_OK && quota->origin != NULL && quota->period != 0)
        code = add_fact(context, "cpu.quota", text_of(context, "%.3g", (double)quota->quota / (double)quota->period),
                        "cpus", quota->origin, error);
    return code;
}

static int32_t add_memory_facts(struct accel_context *context, const struct accel_machine *machine,
                                struct accel_error *error)
{
    int32_t code = add_limit(context, "memory.total", &machine->limits.memory_total, error);
    if (code == ACCEL_OK)
        code = add_limit(context, "memory.available", &machine->limits.memory_available, error);
    if (code == ACCEL_OK)
        code = add_limit(context, "memory.limit", &machine->limits.memory_limit, error);
    if (code == ACCEL_OK)
        code = add_limit(context, "memory.room", &machine->limits.memory_room, error);
    if (code == ACCEL_OK)
        code = add_limit(context, "memory.usable", &machine->memory_usable, error);
    if (code == ACCEL_OK)
        code = add_number(context, "numa.nodes", machine->numa_count, "nodes", "hwloc", error);
    return code;
}

static int32_t add_shape_facts(struct accel_context *context, const struct accel_machine *machine,
                               struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    char key[64];
    for (uint32_t i = 0; i < machine->kind_count && machine->kind_count > 1 && code == ACCEL_OK; i++) {
        const struct accel_core_kind *kind = &machine->kinds[i];
        snprintf(key, sizeof(key), "cpu.kind.%u", i);
        code = add_fact(context, key, text_of(context, "%s %u cores, cpus %s", kind->name, kind->cores, kind->cpus), "",
                        "hwloc", error);
    }
    for (uint32_t i = 0; i < machine->cache_count && code == ACCEL_OK; i++) {
        const struct accel_cache *cache = &machine->caches[i];
        if (cache->type == 'i')
            continue;
        snprintf(key, sizeof(key), "cache.l%u", cache->level);
        code = add_number(context, key, cache->bytes, "bytes", "hwloc", error);
    }
    return code;
}

static int32_t derive_facts(struct accel_context *context, const struct accel_machine *machine,
                            struct accel_error *error)
{
    int32_t code = add_cpu_facts(context, machine, error);
    if (code == ACCEL_OK)
        code = add_memory_facts(context, machine, error);
    if (code == ACCEL_OK)
        code = add_shape_facts(context, machine, error);
    return code;
}

/* ---- recorded ---- */

static int32_t copy_hardware(struct accel_context *context, struct accel_error *error)
{
    const struct accel_snapshot *snapshot = context->snapshot;
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < snapshot->hardware_count && code == ACCEL_OK; i++)
        code = accel_machine_add(context, &snapshot->hardware[i], error);
    return code;
}

static int32_t copy_facts(struct accel_context *context, struct accel_error *error)
{
    const struct accel_snapshot *snapshot = context->snapshot;
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < snapshot->fact_count && code == ACCEL_OK; i++) {
        const struct accel_fact *fact = &snapshot->facts[i];
        code = add_fact(context, fact->key, text_of(context, "%s", fact->value), text_of(context, "%s", fact->unit),
                        fact->origin, error);
    }
    return code;
}

static int32_t describe_source(struct accel_context *context, struct accel_topology_source *source,
                               struct accel_error *error)
{
    const struct accel_snapshot *snapshot = context->snapshot;
    if (snapshot == NULL)
        return ACCEL_OK;
    source->xml = snapshot->path;
    source->xml_text = accel_snapshot_xml(snapshot, &context->records, &source->xml_bytes);
    source->limits = &snapshot->topology.limits;
    source->board = snapshot->topology.board;
    return source->xml_text
               ? ACCEL_OK
               : accel_error_set(error, ACCEL_E_MEMORY, "no memory for the topology of %.200s", snapshot->path);
}

/* What a snapshot leaves out is derived from its topology, as on a live machine. */
int32_t accel_machine_discover(struct accel_context *context, struct accel_error *error)
{
    const struct accel_snapshot *snapshot = context->snapshot;
    struct accel_topology_source source = {0};
    const struct accel_machine *machine;
    int32_t code = describe_source(context, &source, error);
    if (code != ACCEL_OK)
        return code;
    accel_plugins_lock();
    code = accel_topology_load(&source, &context->topology, error);
    accel_plugins_unlock();
    if (code != ACCEL_OK)
        return code;
    machine = accel_topology_machine(context->topology);
    code = snapshot && snapshot->hardware_count ? copy_hardware(context, error) : add_hardware(context, machine, error);
    if (code != ACCEL_OK)
        return code;
    return snapshot && snapshot->fact_count ? copy_facts(context, error) : derive_facts(context, machine, error);
}
