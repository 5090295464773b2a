/* SPDX-License-Identifier: Apache-2.0 */
/* Writes estimates and past errors of a plan as JSON. */
#include "model/plan/json.h"

static json_t *parts_json(const struct accel_plan *plan)
{
    json_t *rows = json_array();

    for (uint32_t i = 0; i < accel_plan_part_count(plan); i++) {
        const struct accel_plan_part *part = accel_plan_part_get(plan, i);

        json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s, s:i, s:I, s:I, s:f, s:o, s:o}", "component",
                                              part->component, "role", part->role, "type", part->type_name, "file_type",
                                              part->file_type, "count", (int)part->count, "elements",
                                              (json_int_t)part->elements, "bytes", (json_int_t)part->bytes,
                                              "bits_per_weight", part->bits_per_weight, "place",
                                              plan_text_json(part->place), "because", plan_text_json(part->reason)));
    }
    return rows;
}

/* Returns the number of a layer; null for the embeddings and the output projection, which belong to no layer. */
static json_t *layer_number(uint32_t number)
{
    return number == ACCEL_NO_LAYER ? json_null() : json_integer(number);
}

static json_t *layers_json(const struct accel_plan *plan)
{
    json_t *rows = json_array();

    for (uint32_t i = 0; i < accel_plan_layer_count(plan); i++) {
        const struct accel_plan_layer *layer = accel_plan_layer_get(plan, i);

        json_array_append_new(rows, json_pack("{s:s, s:o, s:o, s:s, s:I, s:I}", "component", layer->component, "first",
                                              layer_number(layer->first), "last", layer_number(layer->last), "device",
                                              layer->device, "weight_bytes", (json_int_t)layer->weight_bytes,
                                              "state_bytes", (json_int_t)layer->state_bytes));
    }
    return rows;
}

static json_t *notes_json(const struct accel_plan *plan)
{
    json_t *rows = json_array();

    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++) {
        const struct accel_plan_note *note = accel_plan_note_get(plan, i);

        json_array_append_new(
            rows, json_pack("{s:s, s:s, s:o, s:o}", "level", note->level == ACCEL_NOTE_WARN ? "warn" : "info", "key",
                            note->key, "text", plan_text_json(note->text), "remedy", plan_text_json(note->remedy)));
    }
    return rows;
}

static json_t *speeds_json(const struct accel_plan *plan)
{
    json_t *rows = json_array();

    for (uint32_t i = 0; i < accel_plan_speed_count(plan); i++) {
        const struct accel_plan_speed *speed = accel_plan_speed_get(plan, i);

        json_array_append_new(rows,
                              json_pack("{s:s, s:f, s:f, s:I, s:i, s:o}", "name", speed->name, "lower", speed->lower,
                                        "upper", speed->upper, "step_bytes", (json_int_t)speed->step_bytes, "runs",
                                        (int)speed->runs, "origin", plan_text_json(speed->origin)));
    }
    return rows;
}

static json_t *past_json(const struct accel_plan *plan)
{
    struct accel_plan_past past = {.size = sizeof(past)};

    if (accel_plan_past(plan, &past, NULL) != ACCEL_OK || past.runs == 0)
        return json_null();
    return json_pack("{s:i, s:I, s:I, s:f, s:f, s:o}", "runs", (int)past.runs, "planned", (json_int_t)past.planned,
                     "allocated", (json_int_t)past.measured, "last_error", past.last, "worst_error", past.worst,
                     "origin", plan_text_json(past.origin));
}

static json_t *facts_json(const struct accel_plan *plan)
{
    json_t *facts = json_object();

    for (uint32_t i = 0; i < accel_plan_fact_count(plan); i++) {
        const struct accel_named_value *fact = accel_plan_fact_get(plan, i);

        json_object_set_new(
            facts, fact->key,
            json_pack("{s:o, s:o}", "value", plan_text_json(fact->value), "origin", plan_text_json(fact->origin)));
    }
    return facts;
}

json_t *plan_estimates(const struct accel_plan *plan)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "facts", facts_json(plan), "parts", parts_json(plan), "layers",
                     layers_json(plan), "notes", notes_json(plan), "speed", speeds_json(plan), "past", past_json(plan));
}
