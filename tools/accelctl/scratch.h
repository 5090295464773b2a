/* SPDX-License-Identifier: Apache-2.0 */
/* Makes temporary folders that are removed however the command ends: a helper process waits for that end and
 * removes the folder, even after a signal that cannot be handled. */
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

/* Makes a folder in $TMPDIR, or in /tmp. Call it before the command has threads. Answers -1 to go on, or an exit
 * code after an error has been printed. */
int scratch_make(uint32_t json, struct scratch *scratch);
/* Removes a path with all folders below it; does nothing if there is none. */
void scratch_clear(const char *path);
/* Removes the folder, and waits until it is gone; does nothing if there is none. */
void scratch_remove(struct scratch *scratch);

#endif
