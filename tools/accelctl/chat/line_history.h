/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the history file of line editing: $XDG_STATE_HOME/accel/chat_history, readable by this user
 * only. */
#ifndef ACCELCTL_LINE_HISTORY_H
#define ACCELCTL_LINE_HISTORY_H

/* Limit of the entries that are read back, and of those that remain when the file is shortened. */
enum { LINE_HISTORY_MOST = 1000 };

/* Calls `take` with each of the newest entries, the oldest first. Answers 0 or errno; a missing file has no
 * entries. */
int line_history_read(void (*take)(void *data, const char *entry), void *data);

/* Appends an entry. Answers 0 or errno. */
int line_history_add(const char *entry);

#endif
