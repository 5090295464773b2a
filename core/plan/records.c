/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the records of shape plans and of the history (parts, layers, notes, speed and past errors), and
 * implements their public accessors. */
#include "config.h"

#include <string.h>

#include "core/base/open.h"
#include "core/plan/plan.h"

void accel_plan_add_note(struct accel_plan *plan, struct accel_rows *rows, uint32_t level, const char *key,
                         const char *remedy, const char *format, ...)
{
    struct accel_plan_note note = {.size = sizeof(note),
                                   .level = level,
                                   .key = accel_plan_text(plan, "%s", key),
                                   .remedy = accel_plan_text(plan, "%s", remedy)};
    va_list values;
    va_start(values, format);
    note.text = accel_plan_vtext(plan, format, values);
    va_end(values);
    accel_plan_append(plan, rows, &note, sizeof(note));
}

void accel_context_note(const struct accel_context *context, const struct accel_plan_note *note)
{
    accel_log_write(&context->log, note->level == ACCEL_NOTE_WARN ? ACCEL_LOG_WARN : ACCEL_LOG_INFO, "plan",
                    "key=%s note=\"%s\"", note->key, note->text);
}

int32_t accel_plan_note(struct accel_plan *plan, const struct accel_plan_note *note, struct accel_error *error)
{
    if (plan == NULL || note == NULL || note->key == NULL || note->text == NULL || note->remedy == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_note requires a plan and a note with its texts");
    accel_plan_add_note(plan, &plan->notes, note->level, note->key, note->remedy, "%s", note->text);
    accel_context_note(plan->context, note);
    return accel_plan_finish(plan, ACCEL_OK, error);
}

uint32_t accel_plan_part_count(const struct accel_plan *plan)
{
    return plan ? plan->parts.count : 0;
}

const struct accel_plan_part *accel_plan_part_get(const struct accel_plan *plan, uint32_t index)
{
    return plan ? accel_rows_get(&plan->parts, index) : NULL;
}

uint32_t accel_plan_weight_count(const struct accel_plan *plan)
{
    return plan ? plan->weights.count : 0;
}

const struct accel_plan_weight *accel_plan_weight_get(const struct accel_plan *plan, uint32_t index)
{
    return plan ? accel_rows_get(&plan->weights, index) : NULL;
}

uint32_t accel_plan_layer_count(const struct accel_plan *plan)
{
    return plan ? plan->layers.count : 0;
}

const struct accel_plan_layer *accel_plan_layer_get(const struct accel_plan *plan, uint32_t index)
{
    return plan ? accel_rows_get(&plan->layers, index) : NULL;
}

uint32_t accel_plan_note_count(const struct accel_plan *plan)
{
    return plan ? plan->notes.count + plan->hints.count : 0;
}

const struct accel_plan_note *accel_plan_note_get(const struct accel_plan *plan, uint32_t index)
{
    if (plan == NULL)
        return NULL;
    return index < plan->notes.count ? accel_rows_get(&plan->notes, index)
                                     : accel_rows_get(&plan->hints, index - plan->notes.count);
}

uint32_t accel_plan_speed_count(const struct accel_plan *plan)
{
    return plan ? plan->speeds.count : 0;
}

const struct accel_plan_speed *accel_plan_speed_get(const struct accel_plan *plan, uint32_t index)
{
    return plan ? accel_rows_get(&plan->speeds, index) : NULL;
}

int32_t accel_plan_past(const struct accel_plan *plan, struct accel_plan_past *past, struct accel_error *error)
{
    uint32_t size;
    if (plan == NULL || past == NULL || past->size < ACCEL_END_OF(struct accel_plan_past, origin) ||
        past->size > ACCEL_OPEN_LIMIT)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_past requires a plan and a record with its size");
    size = past->size < sizeof(*past) ? past->size : (uint32_t)sizeof(*past);
    memcpy(past, &plan->past, size);
    past->size = size;
    return ACCEL_OK;
}
