/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a shape plan and validates the model's shapes; types.c, shape_memory.c, rules.c, devices.c, spread.c follow. */
#include "config.h"

#include "core/plan/shape_plan.h"

#include <inttypes.h>

#include "core/base/open.h"
#include "core/plan/honored.h"

/** Upper bounds for one shape plan, which limit how much memory a wrong count makes the library read. */
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

static int32_t check(const struct accel_plan *plan, const struct accel_sketch *shapes, struct accel_error *error)
{
    int32_t code;
    if (plan == NULL || plan->stages.count != 0)
        return accel_error_set(error, ACCEL_E_INVALID,
                               "accel_plan_sketch requires a plan without stages, and the shapes of a model");
    code = accel_open_check(shapes, ACCEL_END_OF(struct accel_sketch, origin), sizeof(*shapes), "the caller",
                            "accel_sketch", error);
    if (code != ACCEL_OK)
        return code;
    if (shapes->zero != 0 || shapes->origin == NULL || shapes->weight_count > WEIGHTS ||
        shapes->component_count > COMPONENTS || (shapes->weight_count && !shapes->weights) ||
        (shapes->component_count && !shapes->components))
        return accel_error_set(
            error, ACCEL_E_INVALID,
            "accel_plan_sketch: the shapes lack their origin, weights or components, or are too many");
    for (uint32_t i = 0; i < shapes->weight_count && code == ACCEL_OK; i++)
        code = check_weight(&shapes->weights[i], i, error);
    for (uint32_t i = 0; i < shapes->component_count && code == ACCEL_OK; i++)
        code = check_component(&shapes->components[i], i, error);
    return code;
}

/* Removes the records of an earlier shape plan or placement. */
static void forget(struct accel_plan *plan)
{
    plan->parts.count = 0;
    plan->weights.count = 0;
    plan->layers.count = 0;
    plan->notes.count = 0;
    accel_plan_forget_declines(plan);
    plan->memory_count = 0;
    plan->has_fit = false;
    plan->placed = false;
    plan->has_shapes = false;
    plan->spread = false;
    plan->bound_decode = plan->bound_prefill = 0;
    plan->bound_decode_origin = NULL;
    plan->converted = plan->converted_vectors = 0;
}

int32_t accel_plan_sketch(struct accel_plan *plan, const struct accel_sketch *shapes, struct accel_error *error)
{
    struct accel_shape_planner s = {.plan = plan, .shapes = shapes, .error = error};
    int32_t code = check(plan, shapes, error);
    if (code != ACCEL_OK)
        return code;
    forget(plan);
    plan->is_planning_shapes = true;
    code = accel_shape_plan_read_settings(&s);
    if (code == ACCEL_OK)
        code = accel_shape_plan_choose_attention(&s);
    if (code == ACCEL_OK)
        code = accel_shape_plan_choose_types(&s);
    if (code == ACCEL_OK) {
        accel_shape_plan_sum_memory(&s);
        code = accel_shape_plan_assign_layers(&s);
    }
    plan->is_planning_shapes = false;
    code = accel_plan_finish(plan, code, error);
    if (code != ACCEL_OK) {
        forget(plan);
        return code;
    }
    if (plan->threads.count)
        accel_plan_add_note(plan, &plan->notes, ACCEL_NOTE_INFO, "cpu.threads", "", "%u threads, %s: %s",
                            plan->threads.count, plan->pinned ? "each bound to its processor" : "not bound",
                            plan->threads.reason);
    plan->has_fit = plan->has_shapes = true;
    plan->component_count = shapes->component_count;
    plan->step_weights = s.step_weights;
    plan->step_elements = s.step_elements;
    return accel_plan_finish(plan, accel_plan_rebuild_hints(plan, error), error);
}
