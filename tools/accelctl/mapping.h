/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCELCTL_MAPPING_H
#define ACCELCTL_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

/* Finds the file that is mapped at an address; false if there is none, or if the system does not report it.
 * Async-signal-safe. A path that does not fit is cut. */
bool mapped_file(const void *address, char *path, size_t bytes);

#endif
