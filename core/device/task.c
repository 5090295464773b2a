/* SPDX-License-Identifier: Apache-2.0 */
/* What a long call of a driver is given: how its caller is asked whether to go on, and threads. */
#include "config.h"

#include "core/device/object.h"
#include "core/device/take.h"
#include "core/thread/pool.h"
#include "core/topology/topology.h"

/* Compilers of one process get in each other's way long before that. */
#define MOST_RANKS 32u

int32_t accel_task_answer(struct accel_device *device, const struct accel_task *task, int32_t code, const char *slot,
                          struct accel_error *error)
{
    const struct accel_task_bridge *bridge = (const struct accel_task_bridge *)task;
    bool asked = atomic_load_explicit(&bridge->asked, memory_order_relaxed);
    return accel_take_asked(accel_device_note(device, code), asked, device->driver, slot, error);
}

static int32_t bridge_progress(const struct accel_task *task, uint64_t done, uint64_t total) ACCEL_NOEXCEPT
{
    struct accel_task_bridge *bridge = (struct accel_task_bridge *)(uintptr_t)task;
    const struct accel_task *outer = bridge->outer;
    int32_t code = outer != NULL && ACCEL_CAN(outer, progress) ? outer->progress(outer, done, total) : ACCEL_OK;
    if (code != ACCEL_OK)
        atomic_store_explicit(&bridge->asked, true, memory_order_relaxed);
    return code;
}

/* Most drivers do it alone: the threads are started for one that does not. Where there are none more, fewer ranks than
 * promised would be a lie. */
static int32_t bridge_run(const struct accel_crew *crew, uint32_t ranks, accel_crew_function function, void *argument,
                          struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_pool_crew *lent = (struct accel_pool_crew *)(uintptr_t)crew;
    struct accel_pool_config config = {.threads = crew->ranks};
    int32_t code = ACCEL_OK;
    if (lent->pool == NULL)
        code = accel_pool_create(&config, &lent->pool, error);
    return code == ACCEL_OK ? accel_pool_run(lent->pool, ranks, function, argument, error) : code;
}

const struct accel_task *accel_task_bridge_init(struct accel_task_bridge *bridge, struct accel_context *context,
                                                const struct accel_task *outer)
{
    const struct accel_machine *machine = accel_topology_machine(accel_context_topology(context));
    uint32_t ranks = machine->allowed_cpu_count < MOST_RANKS ? machine->allowed_cpu_count : MOST_RANKS;
    bridge->outer = outer;
    atomic_init(&bridge->asked, false);
    bridge->task = (struct accel_task){.size = sizeof(bridge->task), .progress = bridge_progress};
    bridge->lent = (struct accel_pool_crew){
        .crew = {.size = sizeof(bridge->lent.crew), .ranks = ranks, .run = bridge_run}, .pool = NULL};
    if (outer != NULL && ACCEL_CAN(outer, crew))
        bridge->task.crew = outer->crew;
    else
        bridge->task.crew = ranks > 1 ? &bridge->lent.crew : accel_crew_alone();
    return &bridge->task;
}

void accel_task_bridge_end(struct accel_task_bridge *bridge)
{
    accel_pool_free(bridge->lent.pool);
}
