/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a sketch: what is given is checked here, the rest is the work of the parts beside this file. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/open.h"
#include "core/plan/sketch.h"

/** Of one sketch: bounds for what a wrong count makes us read. */
enum { WEIGHTS = 1 << 20, COMPONENTS = 64, LAYERS = 1 << 16 };

static int32_t refuse(struct accel_error *error, const char *what, uint32_t index, const char *why)
{
    return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_sketch: %s %" PRIu32 " %s", what, index, why);
}

static int32_t check_weight(const struct accel_sketch_weight *weight, uint32_t index, struct accel_error *error)
{
    if (weight->size != sizeof(*weight))
        return refuse(error, "weight", index, "is no struct accel_sketch_weight");
    if (!weight->name || !weight->component || !weight->role)
        return refuse(error, "weight", index, "lacks its name, component or role");
    return ACCEL_OK;
}

static int32_t check_component(const struct accel_sketch_component *component, uint32_t index,
                               struct accel_error *error)
{
    if (component->size != sizeof(*component))
        return refuse(error, "component", index, "is no struct accel_sketch_component");
    if (component->name == NULL || component->layers > LAYERS || component->cached > 1)
        return refuse(error, "component", index, "lacks its name, or has more layers than any model");
    if (component->cached && (component->kv_heads == 0 || component->head_size == 0))
        return refuse(error, "component", index, "caches keys and values, and has no heads for them");
    return ACCEL_OK;
}

static int32_t check(const struct accel_plan *plan, const struct accel_sketch *sketch, struct accel_error *error)
{
    int32_t code;
    if (plan == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_sketch wants a plan and a sketch");
    code = accel_open_check(sketch, ACCEL_END_OF(struct accel_sketch, origin), sizeof(*sketch), "the caller",
                            "accel_sketch", error);
    if (code != ACCEL_OK)
        return code;
    if (sketch->zero != 0 || sketch->origin == NULL || sketch->weight_count > WEIGHTS ||
        sketch->component_count > COMPONENTS || (sketch->weight_count && !sketch->weights) ||
        (sketch->component_count && !sketch->components))
        return accel_error_set(
            error, ACCEL_E_INVALID,
            "accel_plan_sketch: the sketch lacks its origin, weights or components, or has too many");
    for (uint32_t i = 0; i < sketch->weight_count && code == ACCEL_OK; i++)
        code = check_weight(&sketch->weights[i], i, error);
    for (uint32_t i = 0; i < sketch->component_count && code == ACCEL_OK; i++)
        code = check_component(&sketch->components[i], i, error);
    return code;
}

/* What an earlier sketch or place has put down. */
static void forget(struct accel_plan *plan)
{
    plan->parts.count = 0;
    plan->weights.count = 0;
    plan->layers.count = 0;
    plan->notes.count = 0;
    plan->memory_count = 0;
    plan->judged = false;
    plan->placed = false;
    plan->sketched = false;
    plan->spread = false;
    plan->converted = 0;
    plan->converted_vectors = 0;
}

static int32_t note_threads(struct accel_plan *plan, struct accel_error *error)
{
    if (plan->threads.count == 0)
        return ACCEL_OK;
    return accel_plan_add_note(plan, ACCEL_NOTE_INFO, "cpu.threads", "", error, "%u threads, %s: %s",
                               plan->threads.count, plan->pinned ? "each bound to its processor" : "not bound",
                               plan->threads.reason);
}

int32_t accel_plan_sketch(struct accel_plan *plan, const struct accel_sketch *sketch, struct accel_error *error)
{
    struct accel_sketcher s = {.plan = plan, .sketch = sketch, .error = error};
    int32_t code = check(plan, sketch, error);
    if (code != ACCEL_OK)
        return code;
    forget(plan);
    code = accel_sketch_work(&s);
    if (code == ACCEL_OK)
        code = accel_sketch_attention(&s);
    if (code == ACCEL_OK)
        code = accel_sketch_types(&s);
    if (code == ACCEL_OK)
        code = accel_sketch_memory(&s);
    if (code == ACCEL_OK)
        code = accel_sketch_place(&s);
    if (code == ACCEL_OK)
        code = note_threads(plan, error);
    if (code != ACCEL_OK) {
        forget(plan);
        return code;
    }
    plan->judged = plan->sketched = true;
    plan->converted = s.converted;
    plan->converted_vectors = s.converted_vectors;
    plan->component_count = sketch->component_count;
    plan->step_weights = s.step_weights;
    plan->step_state = s.step_state;
    return accel_plan_look_back(plan, error);
}
