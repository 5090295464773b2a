/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A mark of which driver this process is in: a small file beside the results of probes, mapped, so that it costs two
 * writes to memory per call and outlives a process that a driver ends in whichever way. What a probe found good and
 * then ended a process, or hangs in one, is not believed again by those that come after.
 */
#ifndef ACCEL_CORE_PLUGIN_MARK_H
#define ACCEL_CORE_PLUGIN_MARK_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"

/** What a mark calls the loading of a file, which is no slot. */
#define ACCEL_MARK_LOADING "load"

/** What the file holds. */
struct accel_mark_page {
    uint64_t since; /**< seconds of the time of day at which the call began */
    uint64_t place; /**< where the process is known by its number: the boot and the namespace of numbers */
    uint64_t begun; /**< when the process began, in ticks after the boot: its number may belong to another one by now */
    char slot[56];  /**< "enumerate"; empty: in no driver */
    char path[PATH_MAX];
};

/** Of one discovery; a zeroed one marks nothing. Set and clear: any thread; of calls at the same time the first one is
 *  marked. */
struct accel_mark {
    struct accel_mark_page *page; /**< NULL: nothing is marked yet, or nothing can be */
    char *file;
    _Atomic uint64_t owner; /**< the thread whose call is marked, 0: none */
};

/** A driver that a process ended in, or hangs in. */
struct accel_mark_left {
    const char *path;
    const char *slot;
    bool early; /**< it says little of the driver where false: a long call, in which its user may have ended the process
                 */
};

/** Says that `slot` of the driver at `path` is being called. Makes the file in `folder` where there is none; where that
 *  is impossible nothing is marked. */
void accel_mark_set(struct accel_mark *mark, const char *folder, const char *path, const char *slot);

/** Says that the call has come back. */
void accel_mark_clear(struct accel_mark *mark);

/** Makes the mark say nothing, now and later: the process is about to be ended, and not by a driver. The file stays
 *  until the next discovery takes it away. For a handler of a signal. */
void accel_mark_forget(struct accel_mark *mark);

/** Takes the file away, unless a call is marked in it. Any thread. */
void accel_mark_rest(struct accel_mark *mark);

/** Takes the file away; nobody is in a call. */
void accel_mark_close(struct accel_mark *mark);

/** Reads marks that others left in the folder and takes those of ended processes away. Marks of another machine or
 *  container, whose processes cannot be seen from here, say nothing; they are taken away after a day. A process that
 * has been in a slot that is called before a device is opened for longer than `milliseconds` hangs. Returns how many
 * there are; the list is in the arena. */
uint32_t accel_mark_collect(const char *folder, uint32_t milliseconds, struct accel_arena *arena,
                            struct accel_mark_left **out_list);

#endif
