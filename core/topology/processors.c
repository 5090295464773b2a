/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "core/topology/internal.h"

static int32_t read_core(struct accel_topology *topology, hwloc_obj_t object, hwloc_const_bitmap_t allowed,
                         struct accel_core *out_core, struct accel_error *error)
{
    hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology->hwloc, HWLOC_OBJ_PACKAGE, object);
    int cpu, kind = hwloc_cpukinds_get_by_cpuset(topology->hwloc, object->cpuset, 0);
    hwloc_bitmap_t usable = hwloc_bitmap_alloc();
    uint32_t *cpus = NULL;
    uint32_t count = 0;
    if (usable && hwloc_bitmap_and(usable, object->cpuset, allowed) == 0) {
        count = (uint32_t)hwloc_bitmap_weight(usable);
        cpus = accel_arena_array(&topology->arena, count, sizeof(*cpus));
    }
    if (cpus == NULL) {
        hwloc_bitmap_free(usable);
        return accel_error_no_memory(error, "to read the machine");
    }
    count = 0;
    hwloc_bitmap_foreach_begin(cpu, usable)
    {
        cpus[count++] = (uint32_t)cpu;
    }
    hwloc_bitmap_foreach_end();
    hwloc_bitmap_free(usable);
    out_core->cpus = cpus;
    out_core->cpu_count = count;
    out_core->kind = kind < 0 ? 0 : (uint32_t)kind; /* 0 if hwloc does not distinguish kinds */
    /* Memory attached to the whole machine, or to several nodes at once, is local to no node. */
    out_core->numa_node =
        object->nodeset && hwloc_bitmap_weight(object->nodeset) == 1 ? hwloc_bitmap_first(object->nodeset) : -1;
    out_core->package = package && package->os_index != HWLOC_UNKNOWN_INDEX ? package->os_index : 0;
    return ACCEL_OK;
}

/* Reads the cores. Some virtual machines and old systems report none; there every hardware thread counts as one. */
static int32_t read_cores(struct accel_topology *topology, hwloc_const_bitmap_t allowed, struct accel_error *error)
{
    struct accel_machine *machine = &topology->machine;
    int found = hwloc_get_nbobjs_by_type(topology->hwloc, HWLOC_OBJ_CORE);
    hwloc_obj_type_t type = found > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    uint32_t count = (uint32_t)hwloc_get_nbobjs_by_type(topology->hwloc, type);
    struct accel_core *cores = accel_arena_array(&topology->arena, count, sizeof(*cores));
    if (cores == NULL)
        return accel_error_no_memory(error, "to read the machine");
    for (uint32_t i = 0; i < count; i++) {
        int32_t code = read_core(topology, hwloc_get_obj_by_type(topology->hwloc, type, i), allowed, &cores[i], error);
        if (code != ACCEL_OK)
            return code;
    }
    machine->cores = cores;
    machine->core_count = count;
    machine->cpu_count = (uint32_t)hwloc_get_nbobjs_by_type(topology->hwloc, HWLOC_OBJ_PU);
    return ACCEL_OK;
}

static int read_kind(struct accel_topology *topology, uint32_t index, struct accel_core_kind *out_kind)
{
    struct hwloc_info_s *infos = NULL;
    unsigned info_count = 0;
    int efficiency = -1;
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    if (cpus == NULL ||
        hwloc_cpukinds_get_info(topology->hwloc, index, cpus, &efficiency, &info_count, &infos, 0) != 0) {
        hwloc_bitmap_free(cpus);
        return -1;
    }
    out_kind->efficiency = efficiency;
    out_kind->threads = (uint32_t)hwloc_bitmap_weight(cpus);
    out_kind->cpus = topology_list(topology, cpus);
    out_kind->name = "";
    for (unsigned i = 0; i < info_count; i++)
        if (strcmp(infos[i].name, "CoreType") == 0)
            out_kind->name = accel_arena_strdup(&topology->arena, infos[i].value);
    hwloc_bitmap_free(cpus);
    return out_kind->cpus && out_kind->name ? 0 : -1;
}

static int32_t read_kinds(struct accel_topology *topology, struct accel_error *error)
{
    struct accel_machine *machine = &topology->machine;
    int found = hwloc_cpukinds_get_nr(topology->hwloc, 0);
    uint32_t count = found > 0 ? (uint32_t)found : 1;
    struct accel_core_kind *kinds = accel_arena_array(&topology->arena, count, sizeof(*kinds));
    if (kinds == NULL)
        return accel_error_no_memory(error, "to read the machine");
    for (uint32_t i = 0; i < (uint32_t)(found > 0 ? found : 0); i++)
        if (read_kind(topology, i, &kinds[i]) != 0)
            return accel_error_no_memory(error, "to read the machine");
    if (found <= 0) {
        hwloc_const_cpuset_t all = hwloc_topology_get_topology_cpuset(topology->hwloc);
        kinds[0].efficiency = -1;
        kinds[0].threads = (uint32_t)hwloc_bitmap_weight(all);
        kinds[0].cpus = topology_list(topology, all);
        kinds[0].name = "";
        if (kinds[0].cpus == NULL)
            return accel_error_no_memory(error, "to read the machine");
    }
    for (uint32_t i = 0; i < machine->core_count; i++)
        kinds[machine->cores[i].kind < count ? machine->cores[i].kind : 0].cores++;
    machine->kinds = kinds;
    machine->kind_count = count;
    return ACCEL_OK;
}

static int32_t read_numa(struct accel_topology *topology, struct accel_error *error)
{
    struct accel_machine *machine = &topology->machine;
    int found = hwloc_get_nbobjs_by_type(topology->hwloc, HWLOC_OBJ_NUMANODE);
    uint32_t count = found > 0 ? (uint32_t)found : 0;
    struct accel_numa_node *nodes = accel_arena_array(&topology->arena, count, sizeof(*nodes));
    if (nodes == NULL)
        return accel_error_no_memory(error, "to read the machine");
    for (uint32_t i = 0; i < count; i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(topology->hwloc, HWLOC_OBJ_NUMANODE, i);
        nodes[i].os_index = object->os_index;
        nodes[i].bytes = object->attr->numanode.local_memory;
        nodes[i].cpus = topology_list(topology, object->cpuset);
        if (nodes[i].cpus == NULL)
            return accel_error_no_memory(error, "to read the machine");
    }
    machine->numa = nodes;
    machine->numa_count = count;
    return ACCEL_OK;
}

/* Merges equal caches into one entry. Entries are few, so a linear search costs nothing. */
static void count_cache(struct accel_cache *caches, uint32_t *count, hwloc_obj_t object)
{
    const struct hwloc_cache_attr_s *attr = &object->attr->cache;
    struct accel_cache cache = {.level = attr->depth,
                                .type = attr->type == HWLOC_OBJ_CACHE_DATA          ? 'd'
                                        : attr->type == HWLOC_OBJ_CACHE_INSTRUCTION ? 'i'
                                                                                    : 'u',
                                .count = 1,
                                .line = attr->linesize,
                                .bytes = attr->size,
                                .sharing = (uint32_t)hwloc_bitmap_weight(object->cpuset)};
    for (uint32_t i = 0; i < *count; i++) {
        struct accel_cache *known = &caches[i];
        if (known->level == cache.level && known->type == cache.type && known->bytes == cache.bytes &&
            known->line == cache.line && known->sharing == cache.sharing) {
            known->count++;
            return;
        }
    }
    caches[(*count)++] = cache;
}

static int32_t read_caches(struct accel_topology *topology, struct accel_error *error)
{
    static const hwloc_obj_type_t types[] = {HWLOC_OBJ_L1CACHE,  HWLOC_OBJ_L1ICACHE, HWLOC_OBJ_L2CACHE,
                                             HWLOC_OBJ_L2ICACHE, HWLOC_OBJ_L3CACHE,  HWLOC_OBJ_L3ICACHE,
                                             HWLOC_OBJ_L4CACHE,  HWLOC_OBJ_L5CACHE};
    const size_t type_count = sizeof(types) / sizeof(types[0]);
    struct accel_cache *caches;
    size_t most = 0;
    uint32_t count = 0;
    for (size_t t = 0; t < type_count; t++) {
        int found = hwloc_get_nbobjs_by_type(topology->hwloc, types[t]);
        most += found > 0 ? (size_t)found : 0;
    }
    caches = accel_arena_array(&topology->arena, most, sizeof(*caches));
    if (caches == NULL)
        return accel_error_no_memory(error, "to read the machine");
    for (size_t t = 0; t < type_count; t++) {
        hwloc_obj_t object = NULL;
        while ((object = hwloc_get_next_obj_by_type(topology->hwloc, types[t], object)) != NULL)
            count_cache(caches, &count, object);
    }
    topology->machine.caches = caches;
    topology->machine.cache_count = count;
    return ACCEL_OK;
}

static int32_t read_processor_name(struct accel_topology *topology, struct accel_error *error)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(topology->hwloc, HWLOC_OBJ_PACKAGE, 0);
    const char *name = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    int packages = hwloc_get_nbobjs_by_type(topology->hwloc, HWLOC_OBJ_PACKAGE);
    topology->machine.packages = packages > 0 ? (uint32_t)packages : 0;
    /* Systems with one processor, and those without packages, report the model at the machine. */
    if (name == NULL)
        name = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology->hwloc), "CPUModel");
    topology->machine.processor = accel_arena_strdup(&topology->arena, name ? name : "");
    return topology->machine.processor ? ACCEL_OK : accel_error_no_memory(error, "to read the machine");
}

int32_t topology_read_processors(struct accel_topology *topology, hwloc_const_bitmap_t allowed,
                                 struct accel_error *error)
{
    int32_t code = read_processor_name(topology, error);
    if (code == ACCEL_OK)
        code = read_cores(topology, allowed, error);
    if (code == ACCEL_OK)
        code = read_kinds(topology, error);
    if (code == ACCEL_OK)
        code = read_numa(topology, error);
    if (code == ACCEL_OK)
        code = read_caches(topology, error);
    return code;
}
