/* SPDX-License-Identifier: Apache-2.0 */
/** @file Shared by the files of core/topology only. */
#ifndef ACCEL_CORE_TOPOLOGY_INTERNAL_H
#define ACCEL_CORE_TOPOLOGY_INTERNAL_H

#include <hwloc.h>

#include "core/base/arena.h"
#include "core/topology/topology.h"

struct accel_topology {
    hwloc_topology_t hwloc;
    uint32_t flags;           /* flags of the source */
    struct accel_arena arena; /* every string and array of the machine */
    struct accel_machine machine;
};

/** Formats a set as the list "0-3,8", in the arena; NULL without memory. */
const char *topology_list(struct accel_topology *topology, hwloc_const_bitmap_t set);

/** Reads packages, kinds, cores, NUMA nodes, caches. `allowed` is the set that this process may use. */
int32_t topology_read_processors(struct accel_topology *topology, hwloc_const_bitmap_t allowed,
                                 struct accel_error *error);

/** Reads PCI devices of hwloc. `root` as in linux_limits.c, for pci.ids and accelerator nodes; or NULL. */
int32_t topology_read_devices(struct accel_topology *topology, const char *root, struct accel_error *error);

/** Names PCI devices that hwloc did not name from pci.ids, if that file exists. */
int32_t topology_name_pci(struct accel_topology *topology, struct accel_pci_device *devices, uint32_t count,
                          const char *root, struct accel_error *error);

/** Reads the firmware's device tree. One file per operating system. */
int32_t topology_read_tree(struct accel_topology *topology, const char *root, struct accel_error *error);

/** Lists accelerator devices (/dev/accel) at a PCI address "0000:00:0b.0", which hwloc before 2.12 omits. Fills at
 * most `capacity` names from the arena and returns their number. One file per operating system. */
uint32_t topology_accelerators_at(struct accel_topology *topology, const char *root, const char *address,
                                  const char **names, uint32_t capacity);

/** Returns whether a PCI function may compute, by its class (16 bits) and ids; false for bridges. */
bool topology_could_compute(uint32_t device_class, uint32_t vendor, uint32_t device);

/** Returns whether this machine has a PCI function that may compute. One file per operating system. */
bool topology_pci_is_needed(void);

/** Returns whether the system reports which hardware threads share a core. One file per operating system. */
bool topology_system_reports_cores(void);

#endif
