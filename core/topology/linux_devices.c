/* SPDX-License-Identifier: Apache-2.0 */
/* Devices on Linux that hwloc omits: the class of accelerators, and the device tree of boards without PCI. */
#include "config.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/strbuf.h"
#include "core/topology/internal.h"

#define PCI_FUNCTIONS "/sys/bus/pci/devices"
#define TREE_DEPTH 3u
#define TREE_DEVICES 64u
#define TREE_NODES 8192u
#define PROPERTY_LIMIT ((size_t)65536)

uint32_t topology_accelerators_at(struct accel_topology *topology, const char *root, const char *address,
                                  const char **names, uint32_t capacity)
{
    struct accel_strbuf path = {0};
    struct dirent *entry;
    uint32_t count = 0;
    DIR *folder = NULL;
    accel_strbuf_printf(&path, "%s/sys/bus/pci/devices/%s/accel", root, address);
    if (!path.failed)
        folder = opendir(path.text);
    accel_strbuf_free(&path);
    while (folder && count < capacity && (entry = readdir(folder)) != NULL) {
        if (strncmp(entry->d_name, "accel", 5) != 0)
            continue;
        names[count] = accel_arena_strdup(&topology->arena, entry->d_name);
        if (names[count])
            count++;
    }
    if (folder)
        closedir(folder);
    return count;
}

bool topology_system_reports_cores(void)
{
    return access("/sys/devices/system/cpu/cpu0/topology/core_id", R_OK) == 0;
}

static bool read_hexadecimal(const char *text, const char *key, uint32_t *out_value, char **out_rest)
{
    const char *found = text ? strstr(text, key) : NULL;
    if (found)
        *out_value = (uint32_t)strtoul(found + strlen(key), out_rest, 16);
    return found != NULL;
}

/* Parses uevent, lines like PCI_CLASS=30200 and PCI_ID=1AF4:1050. An unreadable function may be an accelerator. */
static bool function_could_compute(const char *name)
{
    struct accel_strbuf path = {0};
    uint32_t class_code = 0, vendor = 0, device = 0;
    char *text = NULL;
    char *rest = NULL;
    bool wanted = true;
    accel_strbuf_printf(&path, PCI_FUNCTIONS "/%s/uevent", name);
    if (!path.failed)
        accel_file_read(path.text, PROPERTY_LIMIT, &text, NULL, NULL);
    if (read_hexadecimal(text, "PCI_CLASS=", &class_code, &rest) && read_hexadecimal(text, "PCI_ID=", &vendor, &rest)) {
        device = *rest == ':' ? (uint32_t)strtoul(rest + 1, NULL, 16) : 0;
        wanted = topology_could_compute(class_code >> 8 & 0xffff, vendor, device);
    }
    free(text);
    accel_strbuf_free(&path);
    return wanted;
}

bool topology_pci_is_needed(void)
{
    DIR *folder = opendir(PCI_FUNCTIONS);
    struct dirent *entry;
    bool wanted = false;
    while (folder && !wanted && (entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.')
            wanted = function_could_compute(entry->d_name);
    if (folder)
        closedir(folder);
    return wanted;
}

struct tree {
    struct accel_topology *topology;
    const char *base; /* folder of the tree's root */
    struct accel_tree_device devices[TREE_DEVICES];
    uint32_t count;
    uint32_t seen;
};

/* Reads a property of a node as text, up to its first zero byte. The caller frees it. */
static char *read_property(const struct tree *tree, const char *node, const char *name)
{
    struct accel_strbuf path = {0};
    char *text = NULL;
    accel_strbuf_printf(&path, "%s%s/%s", tree->base, node, name);
    if (!path.failed)
        accel_file_read(path.text, PROPERTY_LIMIT, &text, NULL, NULL);
    accel_strbuf_free(&path);
    return text;
}

/* Returns whether a node is named "gpu@1f00", "npu" or similar: names that the device tree specification
 * recommends, never those of a vendor. */
static bool is_accelerator(const char *name)
{
    static const char *const names[] = {"gpu", "npu", "dsp", "accelerator"};
    size_t length = strcspn(name, "@");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return false;
}

static bool is_enabled(const struct tree *tree, const char *node)
{
    char *status = read_property(tree, node, "status");
    bool enabled = status == NULL || strcmp(status, "okay") == 0 || strcmp(status, "ok") == 0;
    free(status);
    return enabled;
}

static void add_node(struct tree *tree, const char *node)
{
    struct accel_arena *arena = &tree->topology->arena;
    struct accel_tree_device device = {0};
    char *compatible = read_property(tree, node, "compatible");
    if (compatible && tree->count < TREE_DEVICES && is_enabled(tree, node)) {
        device.path = accel_arena_strdup(arena, node);
        device.compatible = accel_arena_strdup(arena, compatible);
        if (device.path && device.compatible)
            tree->devices[tree->count++] = device;
    }
    free(compatible);
}

static bool is_folder(const struct tree *tree, const char *node)
{
    struct stat facts;
    struct accel_strbuf path = {0};
    bool folder;
    accel_strbuf_printf(&path, "%s%s", tree->base, node);
    /* lstat: a tree has no links, and a recorded one must not lead outside. */
    folder = !path.failed && lstat(path.text, &facts) == 0 && S_ISDIR(facts.st_mode);
    accel_strbuf_free(&path);
    return folder;
}

static void visit(struct tree *tree, const char *node, uint32_t depth);

static void visit_child(struct tree *tree, const char *node, const char *name, uint32_t depth)
{
    struct accel_strbuf child = {0};
    accel_strbuf_printf(&child, "%s/%s", node, name);
    if (!child.failed && is_folder(tree, child.text)) {
        if (is_accelerator(name))
            add_node(tree, child.text);
        if (depth < TREE_DEPTH)
            visit(tree, child.text, depth + 1);
    }
    accel_strbuf_free(&child);
}

/* Visits nodes in sorted order, so that the same machine gives the same list on every start. */
static void visit(struct tree *tree, const char *node, uint32_t depth)
{
    struct accel_strbuf path = {0};
    struct dirent **entries = NULL;
    int count = 0;
    accel_strbuf_printf(&path, "%s%s", tree->base, node);
    if (!path.failed)
        count = scandir(path.text, &entries, NULL, alphasort);
    accel_strbuf_free(&path);
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.' && tree->seen++ < TREE_NODES)
            visit_child(tree, node, entries[i]->d_name, depth);
        free(entries[i]);
    }
    free(entries);
}

int32_t topology_read_tree(struct accel_topology *topology, const char *root, struct accel_error *error)
{
    struct accel_machine *machine = &topology->machine;
    struct tree tree = {.topology = topology};
    struct accel_strbuf base = {0};
    struct accel_tree_device *devices;
    char *model;
    accel_strbuf_printf(&base, "%s/sys/firmware/devicetree/base", root);
    if (base.failed)
        return accel_error_no_memory(error, "to read the machine");
    tree.base = base.text;
    model = read_property(&tree, "", "model");
    if (model)
        machine->board = accel_arena_strdup(&topology->arena, model);
    free(model);
    visit(&tree, "", 0);
    accel_strbuf_free(&base);
    devices = accel_arena_array(&topology->arena, tree.count, sizeof(*devices));
    if (devices == NULL || machine->board == NULL)
        return accel_error_no_memory(error, "to read the machine");
    memcpy(devices, tree.devices, tree.count * sizeof(*devices));
    machine->tree = devices;
    machine->tree_count = tree.count;
    return ACCEL_OK;
}
