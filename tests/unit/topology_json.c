/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tests/unit/topology_json.h"

static void put_text(json_t *object, const char *key, const char *text)
{
    if (text[0] != '\0')
        json_object_set_new(object, key, json_string(text));
}

static void put_amount(json_t *object, const char *key, struct accel_amount amount)
{
    if (amount.origin != NULL)
        json_object_set_new(object, key,
                            json_pack("{s:I, s:s}", "bytes", (json_int_t)amount.bytes, "origin", amount.origin));
}

static void put_limits(const struct accel_machine *machine, json_t *object)
{
    const struct accel_host_limits *limits = &machine->limits;
    json_t *memory = json_object();
    json_object_set_new(object, "allowed",
                        json_pack("{s:s, s:I, s:s?}", "cpus", machine->allowed_cpus, "count",
                                  (json_int_t)machine->allowed_cpu_count, "origin", machine->allowed_origin));
    if (limits->cpu.origin != NULL)
        json_object_set_new(object, "cpu_quota",
                            json_pack("{s:I, s:I, s:s}", "quota_us", (json_int_t)limits->cpu.quota, "period_us",
                                      (json_int_t)limits->cpu.period, "origin", limits->cpu.origin));
    put_amount(memory, "total", limits->memory_total);
    put_amount(memory, "available", limits->memory_available);
    put_amount(memory, "limit", limits->memory_limit);
    put_amount(memory, "room", limits->memory_headroom);
    put_amount(memory, "usable", machine->memory_usable);
    json_object_set_new(object, "memory", memory);
}

static json_t *kinds_json(const struct accel_machine *machine)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < machine->kind_count; i++) {
        const struct accel_core_kind *kind = &machine->kinds[i];
        json_t *item = json_object();
        if (kind->efficiency >= 0)
            json_object_set_new(item, "efficiency", json_integer(kind->efficiency));
        json_object_set_new(item, "cores", json_integer(kind->cores));
        json_object_set_new(item, "threads", json_integer(kind->threads));
        json_object_set_new(item, "cpus", json_string(kind->cpus));
        put_text(item, "name", kind->name);
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *numa_json(const struct accel_machine *machine)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < machine->numa_count; i++)
        json_array_append_new(list,
                              json_pack("{s:I, s:I, s:s}", "index", (json_int_t)machine->numa[i].os_index, "bytes",
                                        (json_int_t)machine->numa[i].bytes, "cpus", machine->numa[i].cpus));
    return list;
}

static json_t *caches_json(const struct accel_machine *machine)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < machine->cache_count; i++) {
        const struct accel_cache *cache = &machine->caches[i];
        json_array_append_new(list, json_pack("{s:o, s:I, s:I, s:I, s:I}", "name",
                                              json_sprintf("L%u%c", cache->level, cache->type), "bytes",
                                              (json_int_t)cache->bytes, "count", (json_int_t)cache->count, "line",
                                              (json_int_t)cache->line, "shared_by", (json_int_t)cache->sharing));
    }
    return list;
}

static json_t *os_devices_json(const struct accel_os_device *devices, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:b}", "name", devices[i].name, "accelerator", (int)devices[i].is_accelerator));
    return list;
}

static json_t *pci_json(const struct accel_machine *machine)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < machine->pci_count; i++) {
        const struct accel_pci_device *device = &machine->pci[i];
        json_t *item =
            json_pack("{s:o, s:o, s:o}", "address",
                      json_sprintf("%04x:%02x:%02x.%01x", device->domain, device->bus, device->slot, device->function),
                      "id", json_sprintf("%04x:%04x", device->vendor, device->device), "class",
                      json_sprintf("%04x", device->device_class));
        put_text(item, "name", device->name);
        if (device->numa_node >= 0)
            json_object_set_new(item, "numa_node", json_integer(device->numa_node));
        json_object_set_new(item, "os_devices", os_devices_json(device->os_devices, device->os_device_count));
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *tree_json(const struct accel_machine *machine)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < machine->tree_count; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s}", "path", machine->tree[i].path, "compatible", machine->tree[i].compatible));
    return list;
}

json_t *topology_json(const struct accel_topology *topology)
{
    const struct accel_machine *machine = accel_topology_machine(topology);
    json_t *object = json_pack("{s:b, s:s}", "recorded", (int)machine->recorded, "processor", machine->processor);
    put_text(object, "board", machine->board);
    json_object_set_new(object, "packages", json_integer(machine->packages));
    json_object_set_new(object, "cores", json_integer(machine->core_count));
    json_object_set_new(object, "threads", json_integer(machine->cpu_count));
    put_limits(machine, object);
    json_object_set_new(object, "core_kinds", kinds_json(machine));
    json_object_set_new(object, "numa_nodes", numa_json(machine));
    json_object_set_new(object, "caches", caches_json(machine));
    json_object_set_new(object, "pci_devices", pci_json(machine));
    json_object_set_new(object, "tree_devices", tree_json(machine));
    return object;
}
