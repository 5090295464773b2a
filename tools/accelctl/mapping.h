/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCELCTL_MAPPING_H
#define ACCELCTL_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

/* The file that is mapped at an address; false where none is, or where the system does not tell. Only what may be
 * called in a handler of a signal. A path that does not fit is cut. */
bool mapped_file(const void *address, char *path, size_t bytes);

#endif
