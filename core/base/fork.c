/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/fork.h"

#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES ((size_t)4096)

void accel_fork_guard_open(struct accel_fork_guard *guard)
{
    guard->process = getpid();
    guard->page = NULL;
#ifdef MADV_WIPEONFORK
    void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    if (madvise(page, PAGE_BYTES, MADV_WIPEONFORK) != 0) {
        munmap(page, PAGE_BYTES);
        return;
    }
    guard->page = page;
    *guard->page = 1;
#endif
}

void accel_fork_guard_close(struct accel_fork_guard *guard)
{
    if (guard->page)
        munmap((void *)guard->page, PAGE_BYTES);
    guard->page = NULL;
    guard->process = 0;
}

bool accel_fork_guard_is_child(const struct accel_fork_guard *guard)
{
    return guard->page ? *guard->page == 0 : getpid() != guard->process;
}
