/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A temporary folder that goes however the command ends: a process beside it waits for that end and removes the folder,
 * also after a signal that cannot be handled.
 */
#ifndef ACCELCTL_SCRATCH_H
#define ACCELCTL_SCRATCH_H

#include <stdint.h>
#include <sys/types.h>

enum { SCRATCH_PATH = 1024 };

struct scratch {
    char path[SCRATCH_PATH]; /* empty: there is none */
    int handle;              /* the command's end of a pipe; its closing is the sign */
    pid_t keeper;
};

/* Makes a folder in $TMPDIR, or in /tmp. To be called before the command has threads. Answers -1 to go on, or an exit
 * code after the error has been said. */
int scratch_make(uint32_t json, struct scratch *scratch);
/* Removes what lies in it at a path, folders and all; nothing where there is none. */
void scratch_clear(const char *path);
/* Removes it, and waits until it is gone; nothing where there is none. */
void scratch_remove(struct scratch *scratch);

#endif
