/* SPDX-License-Identifier: Apache-2.0 */
/** @file Reads the memory of this process as the kernel counts it. */
#ifndef ACCELCTL_PROCESS_MEMORY_H
#define ACCELCTL_PROCESS_MEMORY_H

#include <stdint.h>

/** Counts in bytes; UINT64_MAX if /proc does not provide one. */
struct process_memory {
    uint64_t peak;             /**< most resident memory so far: VmHWM of /proc/self/status */
    uint64_t driver_libraries; /**< resident now: Rss of /proc/self/smaps over the segments of the shared objects that
                                    were loaded after process_memory_begin: drivers, and what drivers load */
};

/** Counts the shared objects that are loaded, before any driver is. */
void process_memory_begin(void);

void process_memory_read(struct process_memory *out_memory);

/** Returns the bytes that this process has read from disks so far, page faults and read-ahead included: read_bytes of
 * /proc/self/io. UINT64_MAX if /proc does not provide it. */
uint64_t process_disk_read(void);

#endif
