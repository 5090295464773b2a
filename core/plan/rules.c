/* SPDX-License-Identifier: Apache-2.0 */
/* Checks settings against each other and against the capabilities of the device, which profiles state. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/error.h"
#include "core/plan/honored.h"
#include "core/plan/settings.h"
#include "core/plan/shape_plan.h"

/** Attention block if the fast memory of the device is not known. */
#define USUAL_BLOCK 64u

bool accel_plan_reads(const struct accel_plan *plan, uint32_t type)
{
    const struct accel_facts *facts = plan->device ? plan->device->info.facts : NULL;
    if (facts == NULL || facts->type_count == 0)
        return true;
    for (uint32_t i = 0; i < facts->type_count; i++)
        if (facts->types[i] == type)
            return true;
    return false;
}

/* ---- which kernel ---- */

/* Returns which capability the device lacks for tiled attention, or NULL. */
static const char *lacks_capability(struct accel_plan *plan)
{
    const struct accel_profile_setting *lowest = &plan->settings->values->attention_capability;
    const char *origin = "";
    uint64_t capability;
    if (!lowest->is_number || !accel_plan_fact_number(plan, "device.capability", &capability, &origin) ||
        capability >= (uint64_t)lowest->number)
        return NULL;
    return accel_plan_text(
        plan, "the device has the capability %" PRIu64 " (%s), tiled attention is made for %s and up (%s%s%s)",
        capability, origin, lowest->value, lowest->place, *lowest->reason ? "; " : "", lowest->reason);
}

static int32_t refuse_tiled(struct accel_shape_planner *s, const struct accel_profile_setting *kernel,
                            const char *reason)
{
    const struct accel_profile_setting *policy = &s->plan->settings->values->fallback_attention;
    if (accel_plan_recommends(kernel)) {
        s->tiled = false;
        accel_plan_add_unhonored(s->plan, &s->plan->shape_unhonored, kernel, 0, reason);
        return ACCEL_OK;
    }
    if (policy->word == ACCEL_WORD_DENY) {
        accel_error_by(s->error, accel_setting_origin(kernel), ACCEL_E_FALLBACK, "%s: attention.kernel=tiled: %s",
                       kernel->place, reason);
        accel_error_remedy(s->error, "set attention.kernel=eager, or fallback.attention to warn or allow");
        return ACCEL_E_FALLBACK;
    }
    s->tiled = false;
    accel_plan_add_note(s->plan, &s->plan->notes, ACCEL_NOTE_WARN, "fallback.attention", "",
                        "attention is eager, not tiled: %s; fallback.attention is %s", reason, policy->value);
    return ACCEL_OK;
}

static int32_t choose_kernel(struct accel_shape_planner *s)
{
    const struct accel_profile_setting *kernel = &s->plan->settings->values->attention_kernel;
    const char *lacks = lacks_capability(s->plan);
    s->tiled = kernel->word != ACCEL_WORD_EAGER;
    if (kernel->word != ACCEL_WORD_AUTO)
        return s->tiled && lacks ? refuse_tiled(s, kernel, lacks) : ACCEL_OK;
    s->tiled = !lacks;
    accel_plan_decide(s->plan, kernel, s->tiled ? "tiled" : "eager", ACCEL_ORIGIN_BUILTIN, "built in",
                      s->tiled ? "scores of all tokens are never in memory at once" : lacks);
    return ACCEL_OK;
}

/* ---- its block ---- */

/* Returns the size of the smallest second-level cache of the machine; 0: not known. */
static uint64_t fast_bytes(const struct accel_plan *plan)
{
    const struct accel_machine *machine = accel_topology_machine(plan->context->topology);
    const char *kind = accel_plan_fact(plan, "device.kind", NULL);
    uint64_t bytes = 0;
    if (kind == NULL || strcmp(kind, "cpu") != 0)
        return 0;
    for (uint32_t i = 0; i < machine->cache_count; i++)
        if (machine->caches[i].level == 2 && machine->caches[i].bytes &&
            (bytes == 0 || machine->caches[i].bytes < bytes))
            bytes = machine->caches[i].bytes;
    return bytes;
}

static uint64_t block_bytes(uint64_t block, const struct accel_sketch_component *c)
{
    uint64_t value = c->value_size ? c->value_size : c->head_size;
    return accel_plan_multiply(block * 4, accel_plan_add(block, 2 * (c->head_size + value)));
}

/* Chooses the largest power of two whose keys, values, queries, outputs, scores take at most half the fast memory. */
static void choose_block(struct accel_shape_planner *s)
{
    uint64_t fast = fast_bytes(s->plan);
    const struct accel_sketch_component *wide = NULL;
    s->block = USUAL_BLOCK;
    for (uint32_t i = 0; i < s->shapes->component_count; i++)
        if (wide == NULL || s->shapes->components[i].head_size > wide->head_size)
            wide = &s->shapes->components[i];
    if (fast && wide && wide->head_size) {
        for (s->block = 8; s->block < 1024 && block_bytes(s->block * 2, wide) <= fast / 2; s->block *= 2) {
        }
    }
}

int32_t accel_shape_plan_choose_attention(struct accel_shape_planner *s)
{
    choose_block(s);
    return choose_kernel(s);
}
