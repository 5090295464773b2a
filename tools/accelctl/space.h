/* SPDX-License-Identifier: Apache-2.0 */
/* The disk on which libraries below drivers keep what they have compiled. Some of them do not bear that it is full. */
#ifndef ACCELCTL_SPACE_H
#define ACCELCTL_SPACE_H

#include <stdint.h>

enum { SPACE_TEXT = 512 };

/* Where that disk is nearly full, asks Mesa to keep nothing: it writes to a mapped file, which would end the process.
 * Before there is another thread. */
void space_spare_mesa(void);

/* 1 and a remedy where the disk of the user's cache folder is full, or that of PoCL's own nearly so. */
uint32_t space_is_short(char out_remedy[SPACE_TEXT]);

#endif
