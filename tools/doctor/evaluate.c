/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers that every check uses to add a row. */
#include "config.h"

#include "tools/doctor/evaluate.h"

#include <stdarg.h>

#include "core/base/strbuf.h"

/* Moves a text into the arena. */
static const char *keep(struct accel_doctor_evaluation *doctor, struct accel_strbuf *text)
{
    const char *copy = text->failed ? NULL : accel_arena_strdup(doctor->arena, accel_strbuf_get(text));
    doctor->failed |= copy == NULL;
    accel_strbuf_free(text);
    return copy ? copy : "";
}

const char *accel_doctor_text(struct accel_doctor_evaluation *doctor, const char *format, ...)
{
    struct accel_strbuf text = {0};
    va_list values;
    va_start(values, format);
    accel_strbuf_vprintf(&text, format, values);
    va_end(values);
    return keep(doctor, &text);
}

const char *accel_doctor_join(struct accel_doctor_evaluation *doctor, const struct accel_doctor_words *words)
{
    struct accel_strbuf text = {0};
    for (uint32_t i = 0; i < words->count; i++)
        accel_strbuf_printf(&text, "%s%s", i == 0 ? "" : " or ", words->items[i]);
    return keep(doctor, &text);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

void accel_doctor_add_row(struct accel_doctor_evaluation *doctor, const struct accel_doctor_row *row)
{
    struct accel_doctor_row *copy = accel_arena_array(doctor->arena, 1, sizeof(*copy));
    if (copy == NULL || !accel_rows_add(&doctor->rows, copy)) {
        doctor->failed = true;
        return;
    }
    *copy = *row;
    copy->size = sizeof(*copy);
    copy->subject = or_empty(row->subject);
    copy->text = or_empty(row->text);
    copy->remedy = or_empty(row->remedy);
    copy->origin = or_empty(row->origin);
    copy->place = or_empty(row->place);
    copy->reason = or_empty(row->reason);
}
