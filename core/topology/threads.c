/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/topology/internal.h"

/* All usable hardware threads, in the order of assignment. */
struct candidates {
    uint32_t *cpus;
    uint32_t count; /* in the list */
    uint32_t cores; /* leading entries of the list, one per core */
};

/* Adds hardware thread number `sibling` of each core of one kind. */
static void add_kind(const struct accel_machine *machine, uint32_t kind, uint32_t sibling, struct candidates *list)
{
    for (uint32_t i = 0; i < machine->core_count; i++) {
        const struct accel_core *core = &machine->cores[i];
        if (core->kind == kind && sibling < core->cpu_count)
            list->cpus[list->count++] = core->cpus[sibling];
    }
}

static uint32_t most_siblings(const struct accel_machine *machine)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < machine->core_count; i++)
        if (machine->cores[i].cpu_count > most)
            most = machine->cores[i].cpu_count;
    return most;
}

/* Lists one thread of every core first, fastest kind first, then the second threads in the same order, and so on. */
static void list_candidates(const struct accel_machine *machine, uint32_t flags, struct candidates *list)
{
    uint32_t siblings = most_siblings(machine);
    for (uint32_t sibling = 0; sibling < siblings; sibling++) {
        for (uint32_t i = 0; i < machine->kind_count; i++) {
            uint32_t kind = flags & ACCEL_THREADS_SLOW ? i : machine->kind_count - 1 - i;
            if (!(flags & ACCEL_THREADS_FAST) ||
                machine->kinds[kind].efficiency == machine->kinds[machine->kind_count - 1].efficiency)
                add_kind(machine, kind, sibling, list);
        }
        if (sibling == 0)
            list->cores = list->count;
    }
}

/* Counts the allowed cores of the slowest kind that has allowed cores. */
static uint32_t slow_cores(const struct accel_machine *machine)
{
    uint32_t count = 0;
    for (uint32_t kind = 0; kind < machine->kind_count && count == 0; kind++)
        for (uint32_t i = 0; i < machine->core_count; i++)
            count += machine->cores[i].kind == kind && machine->cores[i].cpu_count != 0;
    return count;
}

/* Returns the number of processors that the quota pays for, rounded to nearest, at least 1; 0 without a quota. */
static uint32_t quota_cpus(const struct accel_cpu_quota *quota)
{
    uint64_t cpus;
    if (quota->origin == NULL)
        return 0;
    cpus = (quota->quota + quota->period / 2) / quota->period;
    return cpus == 0 ? 1 : cpus > UINT32_MAX ? UINT32_MAX : (uint32_t)cpus;
}

static void decide(const struct accel_machine *machine, const struct accel_thread_policy *policy,
                   const struct candidates *list, struct accel_thread_plan *plan)
{
    const struct accel_cpu_quota *quota = &machine->limits.cpu;
    bool smt = (policy->flags & ACCEL_THREADS_SMT) != 0;
    uint32_t paid = quota_cpus(quota);
    plan->count = smt ? list->count : list->cores;
    plan->origin = machine->allowed_origin;
    snprintf(plan->reason, sizeof(plan->reason), "one per %s%s of the allowed processors %s",
             smt ? "hardware thread" : "core", policy->flags & ACCEL_THREADS_FAST ? " of the fastest kind" : "",
             machine->allowed_cpus);
    if (policy->flags & ACCEL_THREADS_SLOW) {
        uint32_t slow = slow_cores(machine);
        plan->count = slow < list->cores ? slow : (list->cores + 1) / 2;
        snprintf(plan->reason, sizeof(plan->reason), "%s of the allowed processors %s, to save power",
                 slow < list->cores ? "the cores of the slowest kind" : "half of the cores", machine->allowed_cpus);
    }
    if (paid != 0 && paid < plan->count) {
        plan->count = paid;
        plan->origin = quota->origin;
        snprintf(plan->reason, sizeof(plan->reason),
                 "the quota of %" PRIu64 " us in %" PRIu64 " us pays for %.2f processors", quota->quota, quota->period,
                 (double)quota->quota / (double)quota->period);
    }
    if (policy->wanted != 0) {
        plan->count = policy->wanted;
        plan->origin = "requested";
        snprintf(plan->reason, sizeof(plan->reason), "requested%s%s",
                 policy->wanted > list->cores ? ", more than cores, so hardware threads share cores" : "",
                 paid != 0 && policy->wanted > paid ? ", more than the quota pays for" : "");
    }
}

static int32_t check(const struct accel_machine *machine, const struct accel_thread_policy *policy,
                     const struct candidates *list, struct accel_error *error)
{
    if (list->count == 0)
        return accel_error_by(error, ACCEL_FROM_SYSTEM, ACCEL_E_NOT_FOUND, "no processor is allowed for this process");
    if (policy->wanted <= list->count)
        return ACCEL_OK;
    accel_error_by(error, ACCEL_FROM_SYSTEM, ACCEL_E_FALLBACK,
                   "%u threads requested, but only %u hardware thread%s may be used (%s, from %s)", policy->wanted,
                   list->count, list->count == 1 ? "" : "s", machine->allowed_cpus, machine->allowed_origin);
    accel_error_remedy(error, "request at most %u thread%s", list->count, list->count == 1 ? "" : "s");
    return ACCEL_E_FALLBACK;
}

int32_t accel_topology_threads(const struct accel_topology *topology, const struct accel_thread_policy *policy,
                               struct accel_thread_plan *out_plan, struct accel_error *error)
{
    const struct accel_machine *machine = &topology->machine;
    struct candidates list = {0};
    int32_t code;
    memset(out_plan, 0, sizeof(*out_plan));
    if (policy->flags & ~(ACCEL_THREADS_SMT | ACCEL_THREADS_FAST | ACCEL_THREADS_SLOW))
        return accel_error_by(error, ACCEL_FROM_SYSTEM, ACCEL_E_INVALID,
                              "unknown bits in the flags of a thread policy: 0x%x", policy->flags);
    list.cpus = calloc((size_t)machine->allowed_cpu_count + 1, sizeof(*list.cpus));
    if (list.cpus == NULL)
        return accel_error_no_memory(error, "to read the machine");
    list_candidates(machine, policy->flags, &list);
    code = check(machine, policy, &list, error);
    if (code != ACCEL_OK) {
        free(list.cpus);
        return code;
    }
    decide(machine, policy, &list, out_plan);
    out_plan->cpus = list.cpus;
    return ACCEL_OK;
}

void accel_thread_plan_free(struct accel_thread_plan *plan)
{
    free(plan->cpus);
    plan->cpus = NULL;
    plan->count = 0;
}
