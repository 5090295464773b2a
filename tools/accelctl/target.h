/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a verb is asked to write: what lies there is looked at before any work. */
#ifndef ACCELCTL_TARGET_H
#define ACCELCTL_TARGET_H

#include <stdint.h>

enum target { TARGET_ANY, TARGET_JSON, TARGET_HTML };

/* Answers -1 where `path` (NULL: none is asked for) is free, or a regular file that begins as one of that kind; else
 * says what is there, or that its folder is not, and answers an exit code. */
int target_check(uint32_t json, const char *path, enum target kind);

/* Answers -1 where the folder that is to hold `path` is there; else says that it is not and answers EXIT_FAILED. */
int target_folder_check(uint32_t json, const char *path);

#endif
