/* SPDX-License-Identifier: Apache-2.0 */
/** @file Detects in a child process after fork that an inherited object is not usable: threads, locks and device
 * handles do not survive fork. The check is one read of memory if the kernel can wipe a page in the child, else a
 * system call. */
#ifndef ACCEL_CORE_BASE_FORK_H
#define ACCEL_CORE_BASE_FORK_H

#include <stdbool.h>
#include <stdint.h>

/** One guard per owner. A zeroed guard is closed: is_child returns true for it. */
struct accel_fork_guard {
    volatile uint32_t *page; /**< reads 0 in a child, or NULL if the kernel cannot wipe pages */
    int64_t process;         /**< 0: closed */
};

/** Opens the guard in this process. Never fails. */
void accel_fork_guard_open(struct accel_fork_guard *guard);

/** Frees the guard's page, in the parent and in a child alike. */
void accel_fork_guard_close(struct accel_fork_guard *guard);

/** Returns true in a process that did not open the guard, such as a child of the one that did. Thread-safe. */
bool accel_fork_guard_is_child(const struct accel_fork_guard *guard);

#endif
