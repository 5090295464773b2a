/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Huge pages for anonymous memory, if the system has them. */
#ifndef ACCEL_CORE_BASE_HUGE_H
#define ACCEL_CORE_BASE_HUGE_H

#include <stdint.h>

/** Size of a huge page on supported processors; blocks in huge pages begin at a multiple of it. */
#define ACCEL_HUGE_PAGE (UINT64_C(2) << 20)

/** Advises the system to use huge pages, before the memory is touched; without support memory stays unchanged.
 * `memory` at a multiple of a page. */
void accel_huge_pages_advise(void *memory, uint64_t bytes);

#endif
