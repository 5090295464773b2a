/* SPDX-License-Identifier: Apache-2.0 */
/** @file Huge pages, as far as the system has them for memory that no file lies behind. */
#ifndef ACCEL_CORE_BASE_HUGE_H
#define ACCEL_CORE_BASE_HUGE_H

#include <stdint.h>

/** Bytes of one on the processors that accel is made for; blocks in them begin at a multiple of it. */
#define ACCEL_HUGE_PAGE (UINT64_C(2) << 20)

/** Advice, before the memory is touched: what is not taken leaves memory as it was. `memory` at a multiple of a page.
 */
void accel_huge_pages_ask(void *memory, uint64_t bytes);

#endif
