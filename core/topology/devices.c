/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "core/base/pci.h"
#include "core/topology/internal.h"

#define MOST_ACCELERATORS 8u
#define BASE_BRIDGE 0x06u

/* The virtio standard assigns each device type an id, and often no class. */
#define VIRTIO_VENDOR 0x1af4u
#define VIRTIO_FIRST 0x1000u
#define VIRTIO_LAST 0x107fu
#define VIRTIO_DISPLAY 0x1050u

/* Returns true for memory controllers and "others" too, since FPGA cards use these classes. */
bool topology_could_compute(uint32_t device_class, uint32_t vendor, uint32_t device)
{
    /* Base classes that never compute: storage, network, bridge, communication, docking, input, serial, wireless. */
    static const uint8_t never[] = {0x01, 0x02, BASE_BRIDGE, 0x07, 0x09, 0x0a, 0x0c, 0x0d};
    for (size_t i = 0; i < sizeof(never); i++)
        if (device_class >> 8 == never[i])
            return false;
    return vendor != VIRTIO_VENDOR || device < VIRTIO_FIRST || device > VIRTIO_LAST || device == VIRTIO_DISPLAY;
}

/* Counts the system's devices under a PCI function; hwloc nests some of them (a partition under a disk). */
static uint32_t count_os_devices(hwloc_obj_t parent)
{
    uint32_t count = 0;
    for (hwloc_obj_t child = parent->io_first_child; child; child = child->next_sibling)
        if (child->type == HWLOC_OBJ_OS_DEVICE)
            count++;
    return count;
}

static int32_t read_children(struct accel_topology *topology, hwloc_obj_t parent, const char *root,
                             struct accel_pci_device *device, struct accel_error *error)
{
    const char *names[MOST_ACCELERATORS];
    char address[ACCEL_PCI_TEXT];
    uint32_t extra = 0;
    uint32_t count = 0;
    struct accel_os_device *devices;
    accel_pci_write(device->domain, device->bus, device->slot, device->function, address);
    if (root)
        extra = topology_accelerators_at(topology, root, address, names, MOST_ACCELERATORS);
    devices = accel_arena_array(&topology->arena, count_os_devices(parent) + extra, sizeof(*devices));
    if (devices == NULL)
        return accel_error_no_memory(error, "to read the machine");
    for (hwloc_obj_t child = parent->io_first_child; child; child = child->next_sibling) {
        if (child->type != HWLOC_OBJ_OS_DEVICE)
            continue;
        devices[count].name = accel_arena_strdup(&topology->arena, child->name ? child->name : "");
        if (devices[count++].name == NULL)
            return accel_error_no_memory(error, "to read the machine");
    }
    for (uint32_t i = 0; i < extra; i++) {
        uint32_t at = 0;
        while (at < count && strcmp(devices[at].name, names[i]) != 0)
            at++;
        devices[at] = (struct accel_os_device){names[i], true};
        count += at == count;
    }
    device->os_devices = devices;
    device->os_device_count = count;
    return ACCEL_OK;
}

static int32_t pci_numa(hwloc_topology_t hwloc, hwloc_obj_t object)
{
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(hwloc, object);
    /* The only NUMA node of a machine carries no information, but drivers may query it. */
    if (near == NULL || near->nodeset == NULL || hwloc_bitmap_weight(near->nodeset) != 1)
        return -1;
    return hwloc_bitmap_first(near->nodeset);
}

static const char *pci_name(struct accel_topology *topology, hwloc_obj_t object)
{
    const char *vendor = hwloc_obj_get_info_by_name(object, "PCIVendor");
    const char *device = hwloc_obj_get_info_by_name(object, "PCIDevice");
    char name[256];
    if (vendor == NULL && device == NULL)
        return "";
    snprintf(name, sizeof(name), "%s%s%s", vendor ? vendor : "", vendor && device ? " " : "", device ? device : "");
    return accel_arena_strdup(&topology->arena, name);
}

static int32_t read_pci_device(struct accel_topology *topology, hwloc_obj_t object, const char *root,
                               struct accel_pci_device *out_device, struct accel_error *error)
{
    const struct hwloc_pcidev_attr_s *attr = &object->attr->pcidev;
    out_device->domain = attr->domain;
    out_device->bus = attr->bus;
    out_device->slot = attr->dev;
    out_device->function = attr->func;
    out_device->vendor = attr->vendor_id;
    out_device->device = attr->device_id;
    out_device->device_class = attr->class_id;
    out_device->numa_node = pci_numa(topology->hwloc, object);
    out_device->name = pci_name(topology, object);
    if (out_device->name == NULL)
        return accel_error_no_memory(error, "to read the machine");
    return read_children(topology, object, root, out_device, error);
}

int32_t topology_read_devices(struct accel_topology *topology, const char *root, struct accel_error *error)
{
    int found = hwloc_get_nbobjs_by_type(topology->hwloc, HWLOC_OBJ_PCI_DEVICE);
    uint32_t most = found > 0 ? (uint32_t)found : 0;
    struct accel_pci_device *devices = accel_arena_array(&topology->arena, most, sizeof(*devices));
    bool all = (topology->flags & ACCEL_TOPOLOGY_ALL_DEVICES) != 0;
    uint32_t count = 0;
    hwloc_obj_t object = NULL;
    if (devices == NULL)
        return accel_error_no_memory(error, "to read the machine");
    while ((object = hwloc_get_next_pcidev(topology->hwloc, object)) != NULL) {
        int32_t code;
        const struct hwloc_pcidev_attr_s *attr = &object->attr->pcidev;
        bool bridge = attr->class_id >> 8 == BASE_BRIDGE;
        if (bridge || (!all && !topology_could_compute(attr->class_id, attr->vendor_id, attr->device_id)))
            continue;
        code = read_pci_device(topology, object, root, &devices[count], error);
        if (code != ACCEL_OK)
            return code;
        count++;
    }
    topology->machine.pci = devices;
    topology->machine.pci_count = count;
    return root ? topology_name_pci(topology, devices, count, root, error) : ACCEL_OK;
}
