/* SPDX-License-Identifier: Apache-2.0 */
/* Computes how much of a device and of the host a plan may use, from facts, settings and the application's budget. */
#include "config.h"

#include "core/plan/shape_plan.h"

static void lower(struct accel_plan_budget *budget, uint64_t bytes, const char *origin)
{
    if (bytes != 0 && (budget->bytes == 0 || bytes < budget->bytes))
        *budget = (struct accel_plan_budget){bytes, origin};
}

void accel_plan_machine_budget(struct accel_plan *plan, struct accel_plan_budget *out_budget)
{
    const struct accel_machine *machine = accel_topology_machine(plan->context->topology);
    out_budget->bytes = machine->memory_usable.bytes;
    out_budget->origin =
        machine->memory_usable.origin ? accel_plan_text(plan, "measured: %s", machine->memory_usable.origin) : "";
}

bool accel_plan_uses_host_memory(const struct accel_listed *device)
{
    const struct accel_facts *facts = device->info.facts;
    return facts->heap_count == 0 || (facts->heaps[0].flags & ACCEL_HEAP_HOST) != 0;
}

void accel_plan_device_budget(struct accel_plan *plan, const struct accel_listed *device,
                              struct accel_plan_budget *out_budget)
{
    const struct accel_heap *heap = device->info.facts->heap_count != 0 ? &device->info.facts->heaps[0] : NULL;
    const char *origin =
        heap ? accel_plan_text(plan, "claimed: driver %s, heap %s", device->info.driver, heap->name) : "";
    *out_budget = (struct accel_plan_budget){heap ? heap->bytes : 0, origin};
    if (!accel_plan_uses_host_memory(device))
        return;
    /* A driver may offer less of the host's memory than the host has. */
    accel_plan_machine_budget(plan, out_budget);
    if (heap)
        lower(out_budget, heap->bytes, origin);
}

void accel_plan_device_cap(struct accel_plan *plan, struct accel_plan_budget *budget)
{
    const struct accel_profile_setting *setting = &plan->settings->values->memory_device;
    if (setting->is_number)
        lower(budget, (uint64_t)setting->number, accel_plan_text(plan, "memory.device: %s", setting->place));
}

void accel_plan_whole_budget(struct accel_plan *plan, struct accel_plan_budget *budget)
{
    const struct accel_profile_setting *setting = &plan->settings->values->memory_budget;
    /* memory.device can only lower the budget: a setting does not add memory. */
    if (setting->is_number)
        lower(budget, (uint64_t)setting->number, accel_plan_text(plan, "memory.budget: %s", setting->place));
    lower(budget, plan->context->options.memory_budget, "the budget that the application gave its context");
}

void accel_plan_compute_fit(struct accel_plan *plan, uint64_t needed, const struct accel_plan_budget *budget)
{
    plan->fit = (struct accel_plan_fit){
        .size = sizeof(plan->fit),
        .fits = budget->bytes == 0 || needed <= budget->bytes,
        .needed = needed,
        .budget = budget->bytes,
        .budget_origin = budget->bytes ? budget->origin : "the amount of memory is unknown",
    };
    plan->fit.short_by = plan->fit.fits ? 0 : needed - budget->bytes;
}
