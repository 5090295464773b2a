/* SPDX-License-Identifier: Apache-2.0 */
/* Settings against each other, and against what the device can do. Which device can do what stands in profiles. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "core/plan/sketch.h"

/** Where nobody knows the fast memory of the device. */
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

/* Why the device is below what tiled attention is made for, or NULL. */
static const char *lacks_capability(struct accel_plan *plan)
{
    const struct accel_profile_setting *lowest = accel_plan_value(plan, "attention.capability");
    const char *origin = "";
    uint64_t capability;
    if (!lowest->is_number || !accel_plan_fact_number(plan, "device.capability", &capability, &origin) ||
        capability >= (uint64_t)lowest->number)
        return NULL;
    return accel_plan_text(
        plan, "the device has the capability %" PRIu64 " (%s), tiled attention is made for %s and up (%s%s%s)",
        capability, origin, lowest->value, lowest->place, *lowest->because ? "; " : "", lowest->because);
}

static int32_t refuse_tiled(struct accel_sketcher *s, const struct accel_profile_setting *kernel, const char *reason)
{
    const char *policy = accel_plan_value(s->plan, "fallback.attention")->value;
    if (strcmp(policy, "deny") == 0) {
        accel_error_set(s->error, ACCEL_E_FALLBACK, "%s: attention.kernel=tiled: %s", kernel->place, reason);
        accel_error_remedy(s->error, "set attention.kernel=eager, or fallback.attention to warn or allow");
        return ACCEL_E_FALLBACK;
    }
    s->tiled = false;
    return accel_plan_add_note(s->plan, ACCEL_NOTE_WARN, "fallback.attention", "", s->error,
                               "attention is eager, not tiled: %s; fallback.attention is %s", reason, policy);
}

static int32_t choose_kernel(struct accel_sketcher *s)
{
    const struct accel_profile_setting *kernel = accel_plan_value(s->plan, "attention.kernel");
    const struct accel_profile_setting *output = accel_plan_value(s->plan, "output.attention");
    const char *lacks = lacks_capability(s->plan);
    bool is_auto = strcmp(kernel->value, "auto") == 0;
    s->tiled = strcmp(kernel->value, "eager") != 0;
    if (output->number && !is_auto && s->tiled) {
        accel_error_set(s->error, ACCEL_E_REFUSED,
                        "%s: output.attention=true: tiled attention (%s) never has all its weights to give out",
                        output->place, kernel->place);
        accel_error_remedy(s->error, "set attention.kernel=eager, or output.attention=false");
        return ACCEL_E_REFUSED;
    }
    if (!is_auto)
        return s->tiled && lacks ? refuse_tiled(s, kernel, lacks) : ACCEL_OK;
    s->tiled = !output->number && !lacks;
    if (output->number)
        return accel_plan_decide(s->plan, "attention.kernel", "eager", ACCEL_ORIGIN_GIVEN, output->place,
                                 "output.attention wants it", s->error);
    return accel_plan_decide(s->plan, "attention.kernel", s->tiled ? "tiled" : "eager", ACCEL_ORIGIN_BUILTIN,
                             "built in", s->tiled ? "scores of all tokens are never in memory at once" : lacks,
                             s->error);
}

/* ---- its block ---- */

/* The smallest second-level cache of the machine; 0: not known. */
static uint64_t fast_bytes(const struct accel_plan *plan)
{
    const struct accel_machine *machine = accel_topology_machine(accel_context_topology(plan->context));
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

/* The largest power of two whose keys, values, queries, outputs and scores fill half of the fast memory. */
static int32_t choose_block(struct accel_sketcher *s)
{
    const struct accel_profile_setting *setting = accel_plan_value(s->plan, "attention.block");
    uint64_t fast = fast_bytes(s->plan), block = USUAL_BLOCK;
    const struct accel_sketch_component *wide = NULL;
    const char *value, *because;
    if (setting->is_number) {
        s->block = (uint64_t)setting->number;
        return ACCEL_OK;
    }
    for (uint32_t i = 0; i < s->sketch->component_count; i++)
        if (wide == NULL || s->sketch->components[i].head_size > wide->head_size)
            wide = &s->sketch->components[i];
    if (fast && wide && wide->head_size) {
        for (block = 8; block < 1024 && block_bytes(block * 2, wide) <= fast / 2; block *= 2) {
        }
    }
    s->block = block;
    value = accel_plan_text(s->plan, "%" PRIu64, block);
    because =
        fast && wide && wide->head_size
            ? accel_plan_text(s->plan,
                              "keys, values, queries, outputs and scores of a block take half of a cache of %" PRIu64
                              " bytes",
                              fast)
            : "nobody knows the fast memory of the device: the usual size";
    if (value == NULL || because == NULL)
        return accel_plan_no_memory(s->error);
    /* A device that is here has kernels with blocks of their own, and an estimate of theirs follows. */
    if (!s->tiled || s->plan->device)
        return ACCEL_OK;
    return accel_plan_decide(s->plan, "attention.block", value, fast ? ACCEL_ORIGIN_MEASURED : ACCEL_ORIGIN_BUILTIN,
                             fast ? "hwloc" : "built in", because, s->error);
}

int32_t accel_sketch_attention(struct accel_sketcher *s)
{
    int32_t code = choose_kernel(s);
    return code == ACCEL_OK ? choose_block(s) : code;
}
