/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/pci.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *accel_pci_write(uint32_t domain, uint32_t bus, uint32_t slot, uint32_t function,
                            char out_text[ACCEL_PCI_TEXT])
{
    snprintf(out_text, ACCEL_PCI_TEXT, "%04x:%02x:%02x.%x", domain, bus, slot, function);
    return out_text;
}

/* Parses a hexadecimal number of up to `most` characters at *at, and skips it and its terminator. */
static bool read_part(const char **at, size_t most, char end, uint32_t *out_value)
{
    size_t length = strspn(*at, "0123456789abcdefABCDEF");
    if (length == 0 || length > most || (*at)[length] != end)
        return false;
    *out_value = (uint32_t)strtoul(*at, NULL, 16);
    *at += length + (end != '\0');
    return true;
}

bool accel_pci_read(const char *text, uint32_t out_address[4])
{
    uint32_t address[4];
    if (!read_part(&text, 8, ':', &address[0]) || !read_part(&text, 2, ':', &address[1]) ||
        !read_part(&text, 2, '.', &address[2]) || !read_part(&text, 1, '\0', &address[3]))
        return false;
    memcpy(out_address, address, sizeof(address));
    return true;
}
