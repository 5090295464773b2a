/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tests/unit/topology_json.h"

#include <stdio.h>

static void write_amount(struct accel_json *json, const char *key, struct accel_amount amount)
{
    if (amount.origin == NULL)
        return;
    accel_json_member_object(json, key);
    accel_json_member_u64(json, "bytes", amount.bytes);
    accel_json_member_text(json, "origin", amount.origin);
    accel_json_object_end(json);
}

static void write_limits(const struct accel_machine *machine, struct accel_json *json)
{
    const struct accel_host_limits *limits = &machine->limits;
    accel_json_member_object(json, "allowed");
    accel_json_member_text(json, "cpus", machine->allowed_cpus);
    accel_json_member_u64(json, "count", machine->allowed_cpu_count);
    accel_json_member_text(json, "origin", machine->allowed_origin);
    accel_json_object_end(json);
    if (limits->cpu.origin) {
        accel_json_member_object(json, "cpu_quota");
        accel_json_member_u64(json, "quota_us", limits->cpu.quota);
        accel_json_member_u64(json, "period_us", limits->cpu.period);
        accel_json_member_text(json, "origin", limits->cpu.origin);
        accel_json_object_end(json);
    }
    accel_json_member_object(json, "memory");
    write_amount(json, "total", limits->memory_total);
    write_amount(json, "available", limits->memory_available);
    write_amount(json, "limit", limits->memory_limit);
    write_amount(json, "room", limits->memory_headroom);
    write_amount(json, "usable", machine->memory_usable);
    accel_json_object_end(json);
}

static void write_kinds(const struct accel_machine *machine, struct accel_json *json)
{
    accel_json_member_array(json, "core_kinds");
    for (uint32_t i = 0; i < machine->kind_count; i++) {
        const struct accel_core_kind *kind = &machine->kinds[i];
        accel_json_object_begin(json);
        if (kind->efficiency >= 0)
            accel_json_member_i64(json, "efficiency", kind->efficiency);
        accel_json_member_u64(json, "cores", kind->cores);
        accel_json_member_u64(json, "threads", kind->threads);
        accel_json_member_text(json, "cpus", kind->cpus);
        if (kind->name[0])
            accel_json_member_text(json, "name", kind->name);
        accel_json_object_end(json);
    }
    accel_json_array_end(json);
}

static void write_numa(const struct accel_machine *machine, struct accel_json *json)
{
    accel_json_member_array(json, "numa_nodes");
    for (uint32_t i = 0; i < machine->numa_count; i++) {
        accel_json_object_begin(json);
        accel_json_member_u64(json, "index", machine->numa[i].os_index);
        accel_json_member_u64(json, "bytes", machine->numa[i].bytes);
        accel_json_member_text(json, "cpus", machine->numa[i].cpus);
        accel_json_object_end(json);
    }
    accel_json_array_end(json);
}

static void write_caches(const struct accel_machine *machine, struct accel_json *json)
{
    accel_json_member_array(json, "caches");
    for (uint32_t i = 0; i < machine->cache_count; i++) {
        const struct accel_cache *cache = &machine->caches[i];
        char name[16];
        snprintf(name, sizeof(name), "L%u%c", cache->level, cache->type);
        accel_json_object_begin(json);
        accel_json_member_text(json, "name", name);
        accel_json_member_u64(json, "bytes", cache->bytes);
        accel_json_member_u64(json, "count", cache->count);
        accel_json_member_u64(json, "line", cache->line);
        accel_json_member_u64(json, "shared_by", cache->sharing);
        accel_json_object_end(json);
    }
    accel_json_array_end(json);
}

static void write_os_devices(const struct accel_os_device *devices, uint32_t count, struct accel_json *json)
{
    accel_json_member_array(json, "os_devices");
    for (uint32_t i = 0; i < count; i++) {
        accel_json_object_begin(json);
        accel_json_member_text(json, "name", devices[i].name);
        accel_json_key(json, "accelerator");
        accel_json_literal(json, devices[i].is_accelerator ? "true" : "false");
        accel_json_object_end(json);
    }
    accel_json_array_end(json);
}

static void write_pci(const struct accel_machine *machine, struct accel_json *json)
{
    accel_json_member_array(json, "pci_devices");
    for (uint32_t i = 0; i < machine->pci_count; i++) {
        const struct accel_pci_device *device = &machine->pci[i];
        char text[32];
        accel_json_object_begin(json);
        snprintf(text, sizeof(text), "%04x:%02x:%02x.%01x", device->domain, device->bus, device->slot,
                 device->function);
        accel_json_member_text(json, "address", text);
        snprintf(text, sizeof(text), "%04x:%04x", device->vendor, device->device);
        accel_json_member_text(json, "id", text);
        snprintf(text, sizeof(text), "%04x", device->device_class);
        accel_json_member_text(json, "class", text);
        if (device->name[0])
            accel_json_member_text(json, "name", device->name);
        if (device->numa_node >= 0)
            accel_json_member_i64(json, "numa_node", device->numa_node);
        write_os_devices(device->os_devices, device->os_device_count, json);
        accel_json_object_end(json);
    }
    accel_json_array_end(json);
}

static void write_tree(const struct accel_machine *machine, struct accel_json *json)
{
    accel_json_member_array(json, "tree_devices");
    for (uint32_t i = 0; i < machine->tree_count; i++) {
        accel_json_object_begin(json);
        accel_json_member_text(json, "path", machine->tree[i].path);
        accel_json_member_text(json, "compatible", machine->tree[i].compatible);
        accel_json_object_end(json);
    }
    accel_json_array_end(json);
}

void accel_topology_write_json(const struct accel_topology *topology, struct accel_json *json)
{
    const struct accel_machine *machine = accel_topology_machine(topology);
    accel_json_object_begin(json);
    accel_json_key(json, "recorded");
    accel_json_literal(json, machine->recorded ? "true" : "false");
    accel_json_member_text(json, "processor", machine->processor);
    if (machine->board[0])
        accel_json_member_text(json, "board", machine->board);
    accel_json_member_u64(json, "packages", machine->packages);
    accel_json_member_u64(json, "cores", machine->core_count);
    accel_json_member_u64(json, "threads", machine->cpu_count);
    write_limits(machine, json);
    write_kinds(machine, json);
    write_numa(machine, json);
    write_caches(machine, json);
    write_pci(machine, json);
    write_tree(machine, json);
    accel_json_object_end(json);
}
