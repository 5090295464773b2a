/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of a session: the lines that settings of log and metrics request. */
#ifndef ACCEL_MODEL_SESSION_NOTES_H
#define ACCEL_MODEL_SESSION_NOTES_H

#include <accel/plan.h>

struct session_notes {
    const struct accel_context *context; /* whose log has the notes, too */
    struct accel_plan_note *rows;
    uint32_t count;
};

/* Adds a note, and writes it to the log. The text is copied, the key is borrowed. */
int32_t session_note(struct session_notes *notes, const char *key, const char *text, struct accel_error *error);
void session_notes_free(struct session_notes *notes);

#endif
