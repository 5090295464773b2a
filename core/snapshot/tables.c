/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/snapshot/fields.h"

#include "core/snapshot/snapshot.h"

#define ROWS(array)                                                                                                    \
    {                                                                                                                  \
        (array), sizeof(array) / sizeof(*(array))                                                                      \
    }
#define AT(type, member) .offset = offsetof(type, member)
#define LIST(type, member, counter) .offset = offsetof(type, member), .count = offsetof(type, counter)

/* ---- limits ---- */

static const struct accel_field amount_rows[] = {
    {"origin", FIELD_MAYBE, 1, AT(struct accel_amount, origin)},
    {"bytes", FIELD_U64, 1, AT(struct accel_amount, bytes)},
};
static const struct accel_fields amount = ROWS(amount_rows);

static const struct accel_field quota_rows[] = {
    {"origin", FIELD_MAYBE, 1, AT(struct accel_cpu_quota, origin)},
    {"quota", FIELD_U64, 1, AT(struct accel_cpu_quota, quota)},
    {"period", FIELD_U64, 1, AT(struct accel_cpu_quota, period)},
};
static const struct accel_fields quota = ROWS(quota_rows);

static const struct accel_field limit_rows[] = {
    {"cpu_quota", FIELD_INSIDE, 0, AT(struct accel_host_limits, cpu), .table = &quota},
    {"memory_total", FIELD_INSIDE, 0, AT(struct accel_host_limits, memory_total), .table = &amount},
    {"memory_available", FIELD_INSIDE, 0, AT(struct accel_host_limits, memory_available), .table = &amount},
    {"memory_limit", FIELD_INSIDE, 0, AT(struct accel_host_limits, memory_limit), .table = &amount},
    {"memory_room", FIELD_INSIDE, 0, AT(struct accel_host_limits, memory_headroom), .table = &amount},
    {"cpus", FIELD_MAYBE, 0, AT(struct accel_host_limits, cpus)},
    {"cpus_origin", FIELD_MAYBE, 0, AT(struct accel_host_limits, cpus_origin)},
};
static const struct accel_fields limits = ROWS(limit_rows);

static const struct accel_field topology_rows[] = {
    {"board", FIELD_TEXT, 0, AT(struct accel_snapshot_topology, board)},
    {"limits", FIELD_INSIDE, 1, AT(struct accel_snapshot_topology, limits), .table = &limits},
    {"xml", FIELD_TEXTS, 1, LIST(struct accel_snapshot_topology, xml, line_count)},
};
static const struct accel_fields topology = ROWS(topology_rows);

/* ---- hardware and facts ---- */

static const char *const hardware_kinds[] = {"", "cpu", "pci", "node", NULL};

static const struct accel_field hardware_rows[] = {
    {"kind", FIELD_WORD, 1, AT(struct accel_hardware, kind), .words = hardware_kinds},
    {"name", FIELD_TEXT, 1, AT(struct accel_hardware, name)},
    {"address", FIELD_ADDRESS, 0, AT(struct accel_hardware, domain)},
    {"vendor", FIELD_HEX, 0, AT(struct accel_hardware, vendor)},
    {"device", FIELD_HEX, 0, AT(struct accel_hardware, device)},
    {"class", FIELD_HEX, 0, AT(struct accel_hardware, device_class)},
    {"numa", FIELD_I32, 1, AT(struct accel_hardware, numa_node)},
    {"compatible", FIELD_TEXT, 0, AT(struct accel_hardware, compatible)},
    {"files", FIELD_TEXTS, 0, LIST(struct accel_hardware, files, file_count)},
    {"threads", FIELD_U32, 0, AT(struct accel_hardware, threads)},
    {"memory", FIELD_U64, 0, AT(struct accel_hardware, memory)},
    {"cpus", FIELD_TEXT, 0, AT(struct accel_hardware, cpu_set)},
};
static const struct accel_fields hardware = ROWS(hardware_rows);

static const struct accel_field fact_rows[] = {
    {"key", FIELD_TEXT, 1, AT(struct accel_fact, key)},
    {"value", FIELD_TEXT, 1, AT(struct accel_fact, value)},
    {"unit", FIELD_TEXT, 0, AT(struct accel_fact, unit)},
    {"origin", FIELD_TEXT, 1, AT(struct accel_fact, origin)},
};
static const struct accel_fields fact = ROWS(fact_rows);

/* ---- plugins, devices, verdicts ---- */

static const char *const plugin_states[] = {"", "loaded", "refused", "shadowed", NULL};

static const struct accel_field plugin_rows[] = {
    {"name", FIELD_TEXT, 1, AT(struct accel_plugin_info, name)},
    {"state", FIELD_WORD, 1, AT(struct accel_plugin_info, state), .words = plugin_states},
    {"path", FIELD_TEXT, 1, AT(struct accel_plugin_info, path)},
    {"version", FIELD_TEXT, 0, AT(struct accel_plugin_info, version)},
    {"licence", FIELD_TEXT, 0, AT(struct accel_plugin_info, licence)},
    {"build_id", FIELD_TEXT, 0, AT(struct accel_plugin_info, build_id)},
    {"abi_major", FIELD_U32, 0, AT(struct accel_plugin_info, abi_major)},
    {"abi_minor", FIELD_U32, 0, AT(struct accel_plugin_info, abi_minor)},
    {"code", FIELD_CODE, 1, AT(struct accel_plugin_info, code)},
    {"signal", FIELD_I32, 0, AT(struct accel_plugin_info, signal)},
    {"text", FIELD_TEXT, 0, AT(struct accel_plugin_info, text)},
    {"remedy", FIELD_TEXT, 0, AT(struct accel_plugin_info, remedy)},
    {"detail", FIELD_TEXT, 0, AT(struct accel_plugin_info, detail)},
    {"devices", FIELD_U32, 0, AT(struct accel_plugin_info, device_count)},
};
static const struct accel_fields plugin = ROWS(plugin_rows);

const char *const accel_device_kinds[] = {"", "cpu", "gpu", "npu", "other", NULL};
static const char *const device_flags[] = {"software", "unified", "remote", "display", "target", NULL};
static const char *const heap_flags[] = {"host", "device", NULL};

static const struct accel_field heap_rows[] = {
    {"name", FIELD_TEXT, 1, AT(struct accel_heap, name)},
    {"bytes", FIELD_U64, 1, AT(struct accel_heap, bytes)},
    {"alignment", FIELD_U64, 1, AT(struct accel_heap, alignment)},
    {"flags", FIELD_BITS, 0, AT(struct accel_heap, flags), .words = heap_flags},
};
static const struct accel_fields heap = ROWS(heap_rows);

static const struct accel_field device_limit_rows[] = {
    {"buffer_bytes", FIELD_U64, 0, AT(struct accel_limits, buffer_bytes)},
    {"binding_bytes", FIELD_U64, 0, AT(struct accel_limits, binding_bytes)},
    {"inline_bytes", FIELD_U64, 0, AT(struct accel_limits, inline_bytes)},
    {"threads", FIELD_U32, 0, AT(struct accel_limits, threads)},
    {"sets", FIELD_U32, 0, AT(struct accel_limits, sets)},
    {"queues", FIELD_U32, 0, AT(struct accel_limits, queues)},
    {"in_flight", FIELD_U32, 0, AT(struct accel_limits, in_flight)},
};
static const struct accel_fields device_limits = ROWS(device_limit_rows);

static const struct accel_field device_rows[] = {
    {"driver", FIELD_TEXT, 1, AT(struct accel_snapshot_device, driver)},
    {"version", FIELD_TEXT, 1, AT(struct accel_snapshot_device, version)},
    {"id", FIELD_TEXT, 1, AT(struct accel_snapshot_device, facts.id)},
    {"name", FIELD_TEXT, 1, AT(struct accel_snapshot_device, facts.name)},
    {"kind", FIELD_WORD, 1, AT(struct accel_snapshot_device, facts.kind), .words = accel_device_kinds},
    {"flags", FIELD_BITS, 0, AT(struct accel_snapshot_device, facts.flags), .words = device_flags},
    {"hardware", FIELD_I32, 1, AT(struct accel_snapshot_device, facts.hardware)},
    {"plugin", FIELD_U32, 0, AT(struct accel_snapshot_device, plugin)},
    {"detail", FIELD_TEXT, 0, AT(struct accel_snapshot_device, facts.detail)},
    {"uuid", FIELD_BYTES16, 0, AT(struct accel_snapshot_device, facts.uuid)},
    {"generation", FIELD_U32, 0, AT(struct accel_snapshot_device, facts.generation)},
    {"heaps", FIELD_RECORDS, 1, LIST(struct accel_snapshot_device, facts.heaps, facts.heap_count),
     sizeof(struct accel_heap), .table = &heap},
    {"limits", FIELD_RECORD, 1, AT(struct accel_snapshot_device, facts.limits), .size = sizeof(struct accel_limits),
     .table = &device_limits},
    {"types", FIELD_NUMBERS, 0, LIST(struct accel_snapshot_device, facts.types, facts.type_count)},
};
static const struct accel_fields device = ROWS(device_rows);

static const struct accel_field verdict_rows[] = {
    {"driver", FIELD_TEXT, 1, AT(struct accel_verdict, driver)},
    {"hardware", FIELD_I32, 1, AT(struct accel_verdict, hardware)},
    {"code", FIELD_CODE, 1, AT(struct accel_verdict, code)},
    {"text", FIELD_TEXT, 1, AT(struct accel_verdict, text)},
    {"remedy", FIELD_TEXT, 0, AT(struct accel_verdict, remedy)},
};
static const struct accel_fields verdict = ROWS(verdict_rows);

/* ---- the file ---- */

static const struct accel_field file_rows[] = {
    {"path", FIELD_TEXT, 1, AT(struct accel_snapshot_file, path)},
    {"bytes", FIELD_U64, 1, AT(struct accel_snapshot_file, bytes)},
    {"hash", FIELD_TEXT, 1, AT(struct accel_snapshot_file, hash)},
};
static const struct accel_fields file = ROWS(file_rows);

static const struct accel_field snapshot_rows[] = {
    {"schema", FIELD_TEXT, 1, AT(struct accel_snapshot, schema)},
    {"about", FIELD_TEXT, 0, AT(struct accel_snapshot, about)},
    {"time", FIELD_TEXT, 0, AT(struct accel_snapshot, time)},
    {"version", FIELD_TEXT, 0, AT(struct accel_snapshot, version)},
    {"added", FIELD_TEXTS, 0, LIST(struct accel_snapshot, added, added_count)},
    {"facts", FIELD_RECORDS, 0, LIST(struct accel_snapshot, facts, fact_count), sizeof(struct accel_fact),
     .table = &fact},
    {"hardware", FIELD_RECORDS, 0, LIST(struct accel_snapshot, hardware, hardware_count), sizeof(struct accel_hardware),
     .table = &hardware},
    {"plugins", FIELD_RECORDS, 0, LIST(struct accel_snapshot, plugins, plugin_count), sizeof(struct accel_plugin_info),
     .table = &plugin},
    {"devices", FIELD_RECORDS, 0, LIST(struct accel_snapshot, devices, device_count),
     sizeof(struct accel_snapshot_device), .table = &device},
    {"verdicts", FIELD_RECORDS, 0, LIST(struct accel_snapshot, verdicts, verdict_count), sizeof(struct accel_verdict),
     .table = &verdict},
    {"profiles", FIELD_RECORDS, 0, LIST(struct accel_snapshot, profiles, profile_count),
     sizeof(struct accel_snapshot_file), .table = &file},
    {"environment", FIELD_TEXTS, 0, LIST(struct accel_snapshot, environment, environment_count)},
    {"topology", FIELD_INSIDE, 1, AT(struct accel_snapshot, topology), .table = &topology},
};
const struct accel_fields accel_snapshot_fields = ROWS(snapshot_rows);
