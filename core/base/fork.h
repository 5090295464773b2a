/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Tells a child process that the thing it inherited is not usable: threads, locks and device handles do not survive
 * fork. The check is one read of memory where the kernel can wipe a page in the child, and a system call elsewhere.
 */
#ifndef ACCEL_CORE_BASE_FORK_H
#define ACCEL_CORE_BASE_FORK_H

#include <stdbool.h>
#include <stdint.h>

/** One per owner. A zeroed one is closed. */
struct accel_fork_guard {
    volatile uint32_t *page; /**< reads 0 in a child, or NULL where the kernel cannot do that */
    int64_t process;         /**< 0: closed */
};

/** Opens the guard in this process. Never fails. */
void accel_fork_guard_open(struct accel_fork_guard *guard);

/** Frees what open took, in the parent and in a child alike. */
void accel_fork_guard_close(struct accel_fork_guard *guard);

/** True in every process but the one that opened the guard. Any thread. */
bool accel_fork_guard_is_child(const struct accel_fork_guard *guard);

#endif
