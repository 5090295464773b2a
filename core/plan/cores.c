/* SPDX-License-Identifier: Apache-2.0 */
/* Groups the cores that the threads of a plan run on by package, NUMA node and core kind. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "core/plan/settings.h"

static const struct accel_machine *machine_of(const struct accel_plan *plan)
{
    return accel_topology_machine(plan->context->topology);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return x < y ? -1 : x > y;
}

/* Formats a sorted list of numbers as ranges: "0-7,16". */
static const char *list_text(struct accel_plan *plan, uint32_t *numbers, uint32_t count)
{
    const char *text = "";
    qsort(numbers, count, sizeof(*numbers), by_number);
    for (uint32_t i = 0, last; i < count; i = last + 1) {
        last = i;
        while (last + 1 < count && numbers[last + 1] == numbers[last] + 1)
            last++;
        text = accel_plan_text(plan, "%s%s%u", text, i == 0 ? "" : ",", numbers[i]);
        if (last > i)
            text = accel_plan_text(plan, "%s-%u", text, numbers[last]);
    }
    return text;
}

static bool computes(const struct accel_plan *plan, uint32_t cpu)
{
    for (uint32_t i = 0; i < plan->threads.count; i++)
        if (plan->threads.cpus[i] == cpu)
            return true;
    return false;
}

static bool are_together(const struct accel_core *a, const struct accel_core *b)
{
    return a->package == b->package && a->numa_node == b->numa_node && a->kind == b->kind;
}

/* Returns the system's name of a core kind, or its rank among the kinds of this machine if the system has no name. */
static const char *kind_name(const struct accel_machine *machine, uint32_t kind)
{
    const struct accel_core_kind *row = &machine->kinds[kind];
    if (row->name[0] != '\0' || machine->kind_count < 2 || row->efficiency < 0)
        return row->name;
    return row->efficiency == machine->kinds[machine->kind_count - 1].efficiency ? "fast" : "slow";
}

/* Builds the group of cores that begins with core `first`. `numbers` has space for twice the hardware threads. */
static void make_group(struct accel_plan *plan, const struct accel_core *first, uint32_t *numbers)
{
    const struct accel_machine *machine = machine_of(plan);
    const struct accel_core *end = machine->cores + machine->core_count;
    struct accel_plan_cores *group = &plan->cores[plan->cores_count++];
    uint32_t *idle = numbers + machine->allowed_cpu_count, idle_count = 0;
    *group = (struct accel_plan_cores){.size = sizeof(*group),
                                       .package = first->package,
                                       .node = first->numa_node,
                                       .kind = kind_name(machine, first->kind)};
    for (const struct accel_core *core = first; core < end; core++) {
        if (core->cpu_count == 0 || !are_together(core, first))
            continue;
        group->cores++;
        for (uint32_t i = 0; i < core->cpu_count; i++) {
            if (computes(plan, core->cpus[i]))
                numbers[group->threads++] = core->cpus[i];
            else
                idle[idle_count++] = core->cpus[i];
        }
    }
    group->processors = list_text(plan, numbers, group->threads);
    group->idle = list_text(plan, idle, idle_count);
}

static bool is_first(const struct accel_machine *machine, uint32_t core)
{
    for (uint32_t i = 0; i < core; i++)
        if (machine->cores[i].cpu_count != 0 && are_together(&machine->cores[i], &machine->cores[core]))
            return false;
    return machine->cores[core].cpu_count != 0;
}

int32_t accel_plan_group_cores(struct accel_plan *plan, struct accel_error *error)
{
    const struct accel_machine *machine = machine_of(plan);
    uint32_t *numbers = calloc(2 * (size_t)machine->allowed_cpu_count + 1, sizeof(*numbers));
    int32_t code = ACCEL_OK;
    plan->cores_count = 0;
    plan->cores = accel_arena_array(&plan->arena, (size_t)machine->core_count + 1, sizeof(*plan->cores));
    if (numbers == NULL || plan->cores == NULL)
        code = accel_error_no_memory(error, "for a plan");
    for (uint32_t i = 0; code == ACCEL_OK && i < machine->core_count; i++)
        if (is_first(machine, i))
            make_group(plan, &machine->cores[i], numbers);
    free(numbers);
    return code;
}

uint32_t accel_plan_cores_count(const struct accel_plan *plan)
{
    return plan ? plan->cores_count : 0;
}

const struct accel_plan_cores *accel_plan_cores_get(const struct accel_plan *plan, uint32_t index)
{
    return plan && index < plan->cores_count ? &plan->cores[index] : NULL;
}
