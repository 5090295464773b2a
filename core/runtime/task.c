/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of long driver calls: the cancellation callback and a thread team. */
#include "config.h"

#include "core/runtime/task.h"

#include "core/boundary/import.h"
#include "core/runtime/device.h"
#include "core/thread/pool.h"
#include "core/topology/topology.h"

/* Bounds the threads of a task: more compiler threads in one process slow each other down. */
#define MOST_THREADS 32u

int32_t accel_task_import_code(struct accel_device *device, const struct accel_task *task, int32_t code,
                               const char *slot, struct accel_error *error)
{
    const struct accel_task_bridge *bridge = (const struct accel_task_bridge *)task;
    bool cancel_requested = atomic_load_explicit(&bridge->cancel_requested, memory_order_relaxed);
    return accel_import_cancellable_code(accel_device_note_loss(device, code), cancel_requested, device->driver, slot,
                                         error);
}

static int32_t bridge_progress(const struct accel_task *task, uint64_t done, uint64_t total) ACCEL_NOEXCEPT
{
    struct accel_task_bridge *bridge = (struct accel_task_bridge *)(uintptr_t)task;
    const struct accel_task *outer = bridge->outer;
    int32_t code = outer != NULL && ACCEL_CAN(outer, progress) ? outer->progress(outer, done, total) : ACCEL_OK;
    if (code != ACCEL_OK)
        atomic_store_explicit(&bridge->cancel_requested, true, memory_order_relaxed);
    return code;
}

/* Starts the threads on first use, since most drivers run single-threaded. Fails if they cannot be started: fewer
 * threads than promised would break the contract. */
static int32_t bridge_run(const struct accel_team *team, uint32_t threads, accel_team_function function, void *argument,
                          struct accel_error *error) ACCEL_NOEXCEPT
{
    struct accel_pool_team *own_team = (struct accel_pool_team *)(uintptr_t)team;
    struct accel_pool_config config = {.threads = team->threads};
    int32_t code = ACCEL_OK;
    if (own_team->pool == NULL)
        code = accel_pool_create(&config, &own_team->pool, error);
    return code == ACCEL_OK ? accel_pool_run(own_team->pool, threads, function, argument, error) : code;
}

const struct accel_task *accel_task_bridge_init(struct accel_task_bridge *bridge, struct accel_context *context,
                                                const struct accel_task *outer)
{
    const struct accel_machine *machine = accel_topology_machine(context->topology);
    uint32_t threads = machine->allowed_cpu_count < MOST_THREADS ? machine->allowed_cpu_count : MOST_THREADS;
    bridge->outer = outer;
    atomic_init(&bridge->cancel_requested, false);
    bridge->task = (struct accel_task){.size = sizeof(bridge->task), .progress = bridge_progress};
    bridge->own_team = (struct accel_pool_team){
        .team = {.size = sizeof(bridge->own_team.team), .threads = threads, .run = bridge_run}, .pool = NULL};
    if (outer != NULL && ACCEL_CAN(outer, team))
        bridge->task.team = outer->team;
    else
        bridge->task.team = threads > 1 ? &bridge->own_team.team : accel_team_serial();
    return &bridge->task;
}

void accel_task_bridge_end(struct accel_task_bridge *bridge)
{
    accel_pool_free(bridge->own_team.pool);
}
