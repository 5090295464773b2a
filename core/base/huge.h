/* SPDX-License-Identifier: Apache-2.0 */
/** @file Requests transparent huge pages for anonymous memory. */
#ifndef ACCEL_CORE_BASE_HUGE_H
#define ACCEL_CORE_BASE_HUGE_H

#include <stdint.h>

/** Bytes of a huge page on all supported processors. Callers align large blocks to it. */
#define ACCEL_HUGE_PAGE (UINT64_C(2) << 20)

/** Advises the system to back `memory`, which starts at a page boundary, with huge pages; call it before the first
 * access. Does nothing on systems without huge pages. */
void accel_huge_pages_advise(void *memory, uint64_t bytes);

#endif
