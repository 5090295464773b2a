/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the advice of the profiles (advice.yaml) on the plan of a model. */
#ifndef TOOLS_TABLES_STEPS_H
#define TOOLS_TABLES_STEPS_H

#include <accel/model/plan.h>

struct plan_steps;

#define ACCEL_PLAN_STEP_OFFERED 1u /**< it would change the plan so */
#define ACCEL_PLAN_STEP_APPLIED 2u /**< fit has taken it, and the steps after it build on it */
#define ACCEL_PLAN_STEP_SAME 3u    /**< it is in force already, saves nothing here, or the others suffice */
#define ACCEL_PLAN_STEP_REFUSED 4u /**< not possible here: `text` has the reason */

/** One step of the advice on a topic, held against this plan. */
struct plan_step {
    uint32_t state;       /**< ACCEL_PLAN_STEP_... */
    const char *name;     /**< "oom.context" */
    const char *words;    /**< what it does */
    const char *settings; /**< for the command line: "--set kv.type.k=q8 --set kv.type.v=q8"; may be empty */
    const char
        *weights;       /**< types that matrices get, those with the most bytes first, if it changes them; else empty */
    const char *cost;   /**< what it costs, in words, with where that is known from */
    const char *needs;  /**< what has to be done besides: "accelctl quantize MODEL ..."; may be empty */
    const char *source; /**< document and line */
    const char *place;  /**< file:line of the advice */
    const char *text;   /**< why it was refused, is in force or alone is not enough; else empty */
    uint64_t before;    /**< bytes in all without it */
    uint64_t after;     /**< bytes in all with it */
    uint64_t short_by;  /**< bytes that are still missing with it; 0: it fits */
};

/** Number of steps, in the order of their rank. */
uint32_t plan_step_count(const struct plan_steps *steps);
/** The step at `index`, or NULL past the end. Lives as long as the list. */
const struct plan_step *plan_step_get(const struct plan_steps *steps, uint32_t index);
/** Frees a list. NULL is allowed. */
void plan_steps_free(struct plan_steps *steps);

/** Applies the steps of the topic "oom", best first, one on top of the other, until the model fits, then
 *  leaves out those without which it still does, the costliest first. *out_fitted is the plan with all that were
 * applied, whether it fits or not; the caller frees both, steps and plan. */
int32_t fit_model_plan(struct accel_context *context, const struct accel_model_plan *plan,
                       struct accel_model_plan **out_fitted, struct plan_steps **out_steps, struct accel_error *error);

/** Every step of a topic ("oom", "slow", "accuracy") whose conditions hold, each against this plan alone.
 *  ACCEL_E_NOT_FOUND names the topics there are. */
int32_t advise_on_plan(struct accel_context *context, const struct accel_model_plan *plan, const char *topic,
                       struct plan_steps **out_steps, struct accel_error *error);

#endif
