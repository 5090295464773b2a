/* SPDX-License-Identifier: Apache-2.0 */
/** @file Addresses of PCI functions as text, "0000:65:00.0", as the kernel writes them. Thread-safe. */
#ifndef ACCEL_CORE_BASE_PCI_H
#define ACCEL_CORE_BASE_PCI_H

#include <stdbool.h>
#include <stdint.h>

/** Buffer size for any four numbers and a zero byte. */
#define ACCEL_PCI_TEXT 40u

/** Writes an address. Returns `out_text`. */
const char *accel_pci_write(uint32_t domain, uint32_t bus, uint32_t slot, uint32_t function,
                            char out_text[ACCEL_PCI_TEXT]);

/** Parses an address into domain, bus, slot and function; false, and nothing is written, if the text is none. */
bool accel_pci_read(const char *text, uint32_t out_address[4]);

#endif
