/* SPDX-License-Identifier: Apache-2.0 */
/* The machine: its topology, and the list of its hardware for programs and drivers. */
#include "config.h"

#include <stdio.h>

#include "core/base/pci.h"
#include "core/plugin/plugin.h"
#include "core/registry/machine.h"
#include "core/snapshot/snapshot.h"
#include "core/topology/topology.h"

#define CLASS_DISPLAY 0x03u
#define CLASS_ACCELERATOR 0x12u
#define SUBCLASS_COPROCESSOR 0x0b40u

/* ---- hardware ---- */

/* Copies a text to the records; NULL becomes an empty text. */
static const char *copy_text(struct accel_context *context, const char *text)
{
    return accel_arena_strdup(&context->records, text == NULL ? "" : text);
}

/* Copies all strings; false without memory. */
static bool copy_strings(struct accel_context *context, struct accel_hardware *copy)
{
    const char **files = accel_arena_array(&context->records, copy->file_count, sizeof(*files));
    for (uint32_t i = 0; files && i < copy->file_count; i++) {
        files[i] = accel_arena_strdup(&context->records, copy->files[i]);
        if (files[i] == NULL)
            return false;
    }
    copy->files = files;
    copy->name = copy_text(context, copy->name);
    copy->compatible = copy_text(context, copy->compatible);
    copy->cpu_set = copy_text(context, copy->cpu_set);
    return files && copy->name && copy->compatible && copy->cpu_set;
}

int32_t accel_machine_add(struct accel_context *context, const struct accel_hardware *hardware,
                          struct accel_error *error)
{
    struct accel_hardware *copy = accel_arena_array(&context->records, 1, sizeof(*copy));
    if (copy == NULL)
        return accel_error_no_memory(error, "for the list of hardware");
    *copy = *hardware;
    copy->size = sizeof(*copy);
    return copy_strings(context, copy) && accel_rows_add(&context->hardware, copy)
               ? ACCEL_OK
               : accel_error_no_memory(error, "for the list of hardware");
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

/* Returns the machine's memory, or the lower limit of the control group. */
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

/* Returns whether a signal processor is an accelerator: most are sensors, except those that the system lists so. */
static bool is_listed_accelerator(const struct accel_pci_device *device)
{
    for (uint32_t i = 0; i < device->os_device_count; i++)
        if (device->os_devices[i].is_accelerator)
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
        return accel_error_no_memory(error, "for the list of hardware");
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

/* ---- recorded ---- */

static int32_t copy_hardware(struct accel_context *context, struct accel_error *error)
{
    const struct accel_snapshot *snapshot = context->snapshot;
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < snapshot->hardware_count && code == ACCEL_OK; i++)
        code = accel_machine_add(context, &snapshot->hardware[i], error);
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
    return source->xml_text ? ACCEL_OK : accel_error_no_memory(error, "for the topology of %.200s", snapshot->path);
}

int32_t accel_machine_discover(struct accel_context *context, struct accel_error *error)
{
    const struct accel_snapshot *snapshot = context->snapshot;
    struct accel_topology_source source = {0};
    int32_t code = describe_source(context, &source, error);
    if (code != ACCEL_OK)
        return code;
    accel_plugins_lock();
    code = accel_topology_load(&source, &context->topology, error);
    accel_plugins_unlock();
    if (code == ACCEL_OK && snapshot && snapshot->hardware_count != 0)
        code = copy_hardware(context, error);
    else if (code == ACCEL_OK)
        code = add_hardware(context, accel_topology_machine(context->topology), error);
    return code == ACCEL_OK ? accel_machine_facts(context, error) : code;
}
