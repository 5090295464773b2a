/* SPDX-License-Identifier: Apache-2.0 */
#include "model/session/notes.h"

#include <stdlib.h>
#include <string.h>

#include "model/session/state.h"

int32_t session_note(struct session_notes *notes, const char *key, const char *text, struct accel_error *error)
{
    struct accel_plan_note note = {.size = sizeof(note), .level = ACCEL_NOTE_INFO, .key = key, .remedy = ""};
    /* Grows by doubling: a note in each row up to the next power of two. */
    const bool is_full = (notes->count & (notes->count - 1)) == 0;
    struct accel_plan_note *rows =
        is_full ? realloc(notes->rows, (notes->count == 0 ? 1 : 2 * (size_t)notes->count) * sizeof(*rows))
                : notes->rows;

    note.text = strdup(text);
    notes->rows = rows == NULL ? notes->rows : rows;
    if (rows == NULL || note.text == NULL) {
        free((char *)note.text);
        return accel_error_no_memory(error, "for a note");
    }
    rows[notes->count++] = note;
    accel_context_note(notes->context, &note);
    return ACCEL_OK;
}

void session_notes_free(struct session_notes *notes)
{
    for (uint32_t i = 0; i < notes->count; i++)
        free((char *)notes->rows[i].text);
    free(notes->rows);
}

uint32_t accel_session_note_count(const struct accel_session *session)
{
    return session->notes.count;
}

const struct accel_plan_note *accel_session_note_get(const struct accel_session *session, uint32_t index)
{
    return index < session->notes.count ? &session->notes.rows[index] : NULL;
}
