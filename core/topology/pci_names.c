/* SPDX-License-Identifier: Apache-2.0 */
/* Names PCI devices from pci.ids, a public list that most systems have: lines "VVVV  vendor", and below each of them
 * lines "\tDDDD  device". Only devices that could compute are searched, so that a machine without them does not read
 * the 1.4 MB file. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/strbuf.h"
#include "core/topology/internal.h"

#define FILE_LIMIT ((size_t)16 << 20)

/* Returns whether the class is a display, coprocessor, signal processor or accelerator. */
static bool could_compute(const struct accel_pci_device *device)
{
    uint32_t base = device->device_class >> 8;
    return base == 0x03 || base == 0x0b || base == 0x11 || base == 0x12;
}

static char *read_list(const char *root)
{
    static const char *const places[] = {"/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids"};
    char *text = NULL;
    for (size_t i = 0; text == NULL && i < sizeof(places) / sizeof(places[0]); i++) {
        struct accel_strbuf path = {0};
        accel_strbuf_printf(&path, "%s%s", root, places[i]);
        if (!path.failed)
            accel_file_read(path.text, FILE_LIMIT, &text, NULL, NULL);
        accel_strbuf_free(&path);
    }
    return text;
}

/* Finds the line after "\n" + key, or NULL. The list starts with a comment, so a newline precedes every entry. */
static const char *find_line(const char *text, const char *end, const char *key)
{
    const char *found = strstr(text, key);
    return found && (end == NULL || found < end) ? found + strlen(key) + strspn(found + strlen(key), " ") : NULL;
}

static const char *end_of_vendor(const char *text)
{
    const char *line = strchr(text, '\n');
    while (line && line[1] == '\t')
        line = strchr(line + 1, '\n');
    return line;
}

static const char *compose(struct accel_topology *topology, const char *list, const struct accel_pci_device *device)
{
    char key[16];
    char name[256];
    const char *vendor, *model;
    snprintf(key, sizeof(key), "\n%04x ", device->vendor & 0xffff);
    vendor = find_line(list, NULL, key);
    if (vendor == NULL)
        return "";
    snprintf(key, sizeof(key), "\n\t%04x ", device->device & 0xffff);
    model = find_line(vendor, end_of_vendor(vendor), key);
    snprintf(name, sizeof(name), "%.*s%s%.*s", (int)strcspn(vendor, "\n"), vendor, model ? " " : "",
             model ? (int)strcspn(model, "\n") : 0, model ? model : "");
    return accel_arena_strdup(&topology->arena, name);
}

int32_t topology_name_pci(struct accel_topology *topology, struct accel_pci_device *devices, uint32_t count,
                          const char *root, struct accel_error *error)
{
    char *list = NULL;
    int32_t code = ACCEL_OK;
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++) {
        if (devices[i].name[0] != '\0' || !could_compute(&devices[i]))
            continue;
        if (list == NULL)
            list = read_list(root);
        if (list == NULL)
            break;
        devices[i].name = compose(topology, list, &devices[i]);
        if (devices[i].name == NULL)
            code = accel_error_no_memory(error, "to read the machine");
    }
    free(list);
    return code;
}
