/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "config.h"

#include "core/base/huge.h"

#include <sys/mman.h>

void accel_huge_pages_advise(void *memory, uint64_t bytes)
{
#ifdef MADV_HUGEPAGE
    (void)madvise(memory, (size_t)bytes, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)bytes;
#endif
}
