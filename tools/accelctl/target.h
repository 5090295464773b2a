/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the files that a command is going to write, before any work is done. */
#ifndef ACCELCTL_TARGET_H
#define ACCELCTL_TARGET_H

#include <stdint.h>

enum target { TARGET_ANY, TARGET_JSON, TARGET_HTML };

/* Answers -1 if `path` is NULL, unused, or a regular file that begins as one of that kind; else prints what
 * occupies it, or that its folder is missing, and answers an exit code. */
int target_check(uint32_t json, const char *path, enum target kind);

/* Answers -1 if the folder that is to hold `path` exists; else prints that it is missing and answers EXIT_FAILED. */
int target_folder_check(uint32_t json, const char *path);

#endif
