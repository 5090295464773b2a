/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/topology/topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/topology/internal.h"

/* Several times the memory that a machine with thousands of processors and devices needs. */
#define ARENA_LIMIT ((size_t)64 << 20)

const char *topology_list(struct accel_topology *topology, hwloc_const_bitmap_t set)
{
    char *text = NULL;
    const char *list = NULL;
    if (hwloc_bitmap_list_asprintf(&text, set) >= 0)
        list = accel_arena_strdup(&topology->arena, text);
    free(text);
    return list;
}

/* Reads all PCI functions or none: hwloc calls some accelerators unimportant (signal processors, 0x1180: NPUs too). */
static int configure(hwloc_topology_t hwloc, const struct accel_topology_source *source)
{
    static const char *const parts[] = {"opencl", "cuda", "nvml", "rsmi", "levelzero", "gl"};
    const bool wanted = source->xml != NULL || (source->flags & ACCEL_TOPOLOGY_ALL_DEVICES) || topology_pci_is_needed();
    const enum hwloc_type_filter_e none = HWLOC_TYPE_FILTER_KEEP_NONE;
    int failed = hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    failed |= hwloc_topology_set_type_filter(hwloc, HWLOC_OBJ_PCI_DEVICE, wanted ? HWLOC_TYPE_FILTER_KEEP_ALL : none);
    /* Devices of the system are those of PCI functions; without these, hwloc need not search for any. */
    failed |=
        hwloc_topology_set_type_filter(hwloc, HWLOC_OBJ_OS_DEVICE, wanted ? HWLOC_TYPE_FILTER_KEEP_IMPORTANT : none);
    failed |= hwloc_topology_set_cache_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_ALL);
    /* These components would load vendor libraries, or open connections to servers, in this process. A component that
     * this hwloc lacks needs no disabling. */
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        hwloc_topology_set_components(hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, parts[i]);
    /* Reading CPUID binds the calling thread to each processor in turn: slow on a busy machine and an intrusion into a
     * thread of the application; it adds nothing if the system reports the same facts. */
    if (source->xml == NULL && topology_system_reports_cores())
        hwloc_topology_set_components(hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    return failed;
}

static int32_t use_text(hwloc_topology_t hwloc, const struct accel_topology_source *source, struct accel_error *error)
{
    if (source->xml_bytes == 0 || source->xml_bytes > INT32_MAX || source->xml_text[source->xml_bytes - 1] != '\0')
        return accel_error_set(error, ACCEL_E_INVALID, "%s: the recorded machine is not zero-terminated", source->xml);
    if (hwloc_topology_set_xmlbuffer(hwloc, source->xml_text, (int)source->xml_bytes) != 0)
        return accel_error_set(error, ACCEL_E_CORRUPT, "%s: not a machine that hwloc has written", source->xml);
    return ACCEL_OK;
}

static int32_t use_recording(hwloc_topology_t hwloc, const struct accel_topology_source *source,
                             struct accel_error *error)
{
    const char *xml = source->xml;
    if (source->xml_text)
        return use_text(hwloc, source, error);
    /* Checks for the file first, since hwloc prints an error to standard error. */
    if (access(xml, R_OK) != 0)
        return accel_error_set(error, accel_file_code(errno), "%s: cannot read the recorded machine", xml);
    if (hwloc_topology_set_xml(hwloc, xml) != 0)
        return accel_error_set(error, ACCEL_E_CORRUPT, "%s: not a machine that hwloc has written", xml);
    return ACCEL_OK;
}

static int32_t load_hwloc(const struct accel_topology_source *source, hwloc_topology_t *out_hwloc,
                          struct accel_error *error)
{
    const char *xml = source->xml;
    int32_t code;
    if (hwloc_topology_init(out_hwloc) != 0) {
        *out_hwloc = NULL;
        return accel_error_no_memory(error, "to read the machine");
    }
    if (configure(*out_hwloc, source) != 0)
        return accel_error_set(error, ACCEL_E_INTERNAL, "hwloc rejects the type filters");
    if (xml) {
        code = use_recording(*out_hwloc, source, error);
        if (code != ACCEL_OK)
            return code;
    }
    if (hwloc_topology_load(*out_hwloc) != 0)
        return xml ? accel_error_set(error, ACCEL_E_CORRUPT, "%s: not a machine that hwloc can load", xml)
                   : accel_error_set(error, ACCEL_E_IO, "hwloc cannot read this machine");
    return ACCEL_OK;
}

/* Reads the allowed set: the intersection of hwloc's cpuset of the group and the thread's affinity from /proc. */
static int32_t read_allowed(struct accel_topology *topology, hwloc_bitmap_t allowed, struct accel_error *error)
{
    struct accel_machine *machine = &topology->machine;
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    if (bound == NULL || hwloc_bitmap_copy(allowed, hwloc_topology_get_allowed_cpuset(topology->hwloc)) != 0) {
        hwloc_bitmap_free(bound);
        return accel_error_no_memory(error, "to read the machine");
    }
    machine->allowed_origin = "hwloc";
    if (machine->limits.cpus && hwloc_bitmap_list_sscanf(bound, machine->limits.cpus) == 0) {
        hwloc_bitmap_and(bound, bound, allowed);
        /* Ignores an affinity without overlap, as in a recording combined from two machines. */
        if (!hwloc_bitmap_iszero(bound) && !hwloc_bitmap_isequal(bound, allowed)) {
            hwloc_bitmap_copy(allowed, bound);
            machine->allowed_origin = machine->limits.cpus_origin;
        }
    }
    hwloc_bitmap_free(bound);
    machine->allowed_cpus = topology_list(topology, allowed);
    machine->allowed_cpu_count = (uint32_t)hwloc_bitmap_weight(allowed);
    return machine->allowed_cpus ? ACCEL_OK : accel_error_no_memory(error, "to read the machine");
}

/* Computes usable memory: the smaller one of free memory and of the rest under the limits of the groups. */
static void read_usable_memory(struct accel_machine *machine)
{
    const struct accel_host_limits *limits = &machine->limits;
    machine->memory_usable = limits->memory_available;
    if (machine->memory_usable.origin == NULL)
        machine->memory_usable = limits->memory_total;
    if (limits->memory_headroom.origin &&
        (machine->memory_usable.origin == NULL || limits->memory_headroom.bytes < machine->memory_usable.bytes))
        machine->memory_usable = limits->memory_headroom;
}

/* Falls back to hwloc's sum over the NUMA nodes without /proc. */
static void read_total_memory(struct accel_topology *topology)
{
    struct accel_amount *total = &topology->machine.limits.memory_total;
    uint64_t bytes = hwloc_get_root_obj(topology->hwloc)->total_memory;
    if (total->origin == NULL && bytes > 0)
        *total = (struct accel_amount){bytes, "hwloc"};
}

static int32_t fill(struct accel_topology *topology, const struct accel_topology_source *source, const char *root,
                    struct accel_error *error)
{
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    int32_t code = allowed ? ACCEL_OK : accel_error_no_memory(error, "to read the machine");
    if (source->xml_text && source->limits)
        topology->machine.limits = *source->limits;
    else if (code == ACCEL_OK && root)
        code = accel_limits_read(root, &topology->arena, &topology->machine.limits, error);
    if (code == ACCEL_OK)
        code = read_allowed(topology, allowed, error);
    if (code == ACCEL_OK)
        code = topology_read_processors(topology, allowed, error);
    if (code == ACCEL_OK)
        code = topology_read_devices(topology, root, error);
    topology->machine.board = source->xml_text && source->board ? source->board : "";
    if (code == ACCEL_OK && root)
        code = topology_read_tree(topology, root, error);
    hwloc_bitmap_free(allowed);
    if (code != ACCEL_OK)
        return code;
    read_total_memory(topology);
    read_usable_memory(&topology->machine);
    return ACCEL_OK;
}

int32_t accel_topology_load(const struct accel_topology_source *source, struct accel_topology **out_topology,
                            struct accel_error *error)
{
    struct accel_topology *topology = calloc(1, sizeof(*topology));
    const char *root = source->root;
    int32_t code;
    *out_topology = NULL;
    if (topology == NULL)
        return accel_error_no_memory(error, "to read the machine");
    accel_arena_init(&topology->arena, ARENA_LIMIT);
    topology->flags = source->flags;
    topology->machine.recorded = source->xml != NULL || (root != NULL && root[0] != '\0');
    /* A recorded machine must not use the limits of the one that replays it. */
    if (root == NULL && source->xml == NULL)
        root = "";
    code = load_hwloc(source, &topology->hwloc, error);
    if (code == ACCEL_OK) {
        /* The environment may make hwloc replay a recording too. */
        topology->machine.recorded |= !hwloc_topology_is_thissystem(topology->hwloc);
        code = fill(topology, source, root, error);
    }
    if (code != ACCEL_OK) {
        accel_topology_free(topology);
        return code;
    }
    *out_topology = topology;
    return ACCEL_OK;
}

void accel_topology_free(struct accel_topology *topology)
{
    if (topology == NULL)
        return;
    if (topology->hwloc)
        hwloc_topology_destroy(topology->hwloc);
    accel_arena_free(&topology->arena);
    free(topology);
}

int32_t accel_topology_export(const struct accel_topology *topology, char **out_xml, struct accel_error *error)
{
    char *buffer = NULL;
    int bytes = 0;
    *out_xml = NULL;
    if (hwloc_topology_export_xmlbuffer(topology->hwloc, &buffer, &bytes, 0) != 0 || bytes < 1)
        return accel_error_set(error, ACCEL_E_IO, "hwloc cannot export the topology of this machine");
    *out_xml = strndup(buffer, (size_t)bytes);
    hwloc_free_xmlbuffer(topology->hwloc, buffer);
    return *out_xml ? ACCEL_OK : accel_error_no_memory(error, "to read the machine");
}

const struct accel_machine *accel_topology_machine(const struct accel_topology *topology)
{
    return &topology->machine;
}

int32_t accel_topology_bind(const struct accel_topology *topology, uint32_t cpu, struct accel_error *error)
{
    hwloc_bitmap_t set;
    int failure;
    if (topology->machine.recorded || !hwloc_topology_is_thissystem(topology->hwloc))
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "a recorded machine has no threads to bind");
    set = hwloc_bitmap_alloc();
    if (set == NULL || hwloc_bitmap_only(set, cpu) != 0) {
        hwloc_bitmap_free(set);
        return accel_error_no_memory(error, "to read the machine");
    }
    failure = hwloc_set_cpubind(topology->hwloc, set, HWLOC_CPUBIND_THREAD) == 0 ? 0 : errno;
    hwloc_bitmap_free(set);
    if (failure == ENOSYS || failure == EXDEV)
        return accel_error_set(error, ACCEL_E_UNSUPPORTED, "this system cannot bind a thread to processor %u", cpu);
    if (failure != 0)
        return accel_error_set(error, accel_file_code(failure), "cannot bind a thread to processor %u (errno %d)", cpu,
                               failure);
    return ACCEL_OK;
}
