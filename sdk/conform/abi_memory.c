/* SPDX-License-Identifier: Apache-2.0 */
/* Fault injection: the host refuses allocation n, for n = 0, 1, 2, ... in each slot. The slot must return
 * ACCEL_E_MEMORY, lose nothing, and succeed when memory is available again. Also tests how a driver accounts
 * memory that it allocates itself. */
#include "config.h"

#include <stdio.h>

#include "sdk/conform/abi.h"
#include "sdk/conform/list.h"

#define MOST 500 /* allocations of one slot that are refused, one at a time */

static uint64_t alive(const struct direct *direct)
{
    return atomic_load(&direct->host.alive);
}

/* Returns the address of the handle that a stage creates. */
static void **handle_of(struct direct *direct, enum direct_stage stage)
{
    switch (stage) {
    case DIRECT_ATTACH:
        return (void **)&direct->instance;
    case DIRECT_OPEN:
        return (void **)&direct->device;
    case DIRECT_COMPILE:
        return (void **)&direct->module;
    case DIRECT_WEIGHTS:
        return (void **)&direct->weights;
    case DIRECT_QUEUE:
        return (void **)&direct->queue;
    case DIRECT_SET:
        return (void **)&direct->set;
    default:
        return NULL;
    }
}

/* Returns true while the slot makes an allocation `n` that the host can refuse. */
static bool refuse_one(struct direct *direct, enum direct_stage stage, int n)
{
    void **handle = handle_of(direct, stage);
    struct conform *conform = direct->conform;
    uint64_t before = alive(direct);
    uint32_t refused = atomic_load(&direct->host.refused);
    int32_t code;

    atomic_store(&direct->host.countdown, n);
    code = direct_do(direct, stage);
    atomic_store(&direct->host.countdown, -1);
    if (atomic_load(&direct->host.refused) == refused)
        return false;
    conform->error = direct->error;
    if (code == ACCEL_OK) {
        /* The slot succeeded without that allocation. */
        accel_error_clear(&conform->error);
        direct_undo(direct, stage);
        return true;
    }
    abi_refused(conform, code, ACCEL_E_MEMORY, handle == NULL ? NULL : *handle);
    if (handle != NULL)
        *handle = NULL;
    if (alive(direct) > before) /* an entry that the driver cached may have been consumed */
        conform_fail(conform, "allocation %d of the slot was refused, and %lld blocks were lost", n,
                     (long long)(alive(direct) - before));
    return true;
}

/* Tests that a driver that has ended counts no memory. */
static void check_counted(const struct direct *direct)
{
    for (uint32_t c = 0; c < ACCEL_MEMORY_END; c++)
        if (atomic_load(&direct->host.counted[c]) != 0)
            conform_fail(direct->conform, "%lld bytes of memory class %u are still counted by `account`",
                         (long long)atomic_load(&direct->host.counted[c]), c);
}

static void refuse(struct conform *conform)
{
    struct direct direct;
    const enum direct_stage stage = conform->parameter;
    int n = 0;

    if (!direct_begin(&direct, conform))
        return;
    if (!direct_do_stages(&direct, DIRECT_ATTACH, stage))
        return;
    conform_case(conform, "each allocation in turn");
    while (n < MOST && refuse_one(&direct, stage, n))
        n++;
    direct_undo(&direct, stage);
    conform_case(conform, "the slot and all behind it, after %d refusals", n);
    direct_do_stages(&direct, stage, DIRECT_END);
    direct_end(&direct);
    if (alive(&direct) != 0)
        conform_fail(conform, "%llu blocks were not given back", (unsigned long long)alive(&direct));
    check_counted(&direct);
}

/* ---- memory accounting ---- */

static uint32_t buffers_of(const struct direct *direct)
{
    uint32_t count = 0;

    for (uint32_t v = 0; v < DIRECT_VALUES; v++)
        count += direct->buffers[v] != NULL;
    return count;
}

/* Tests that a driver accounts the memory that it allocates itself; no budget covers memory that is not accounted.
 * `account` cannot be tested with a driver that accounts none: the report names such a driver. */
static void account(struct conform *conform)
{
    struct direct direct;
    uint64_t before, requested, wanted;
    char text[200];

    if (!direct_begin(&direct, conform))
        return;
    conform_case(conform, "bytes of buffers");
    if (!direct_do_stages(&direct, DIRECT_ATTACH, DIRECT_BUFFERS))
        return;
    before = atomic_load(&direct.host.requested);
    if (!direct_do_stages(&direct, DIRECT_BUFFERS, DIRECT_BUFFERS + 1))
        return;
    requested = atomic_load(&direct.host.requested) - before;
    wanted = buffers_of(&direct) * (uint64_t)DIRECT_BUFFER_BYTES;
    direct_end(&direct);
    check_counted(&direct);
    if (wanted == 0)
        conform_skip(conform, "the driver leaves buffers to the core, which counts them");
    if (wanted == 0 || requested >= wanted)
        return;
    snprintf(
        text, sizeof(text),
        "no `account`: buffers of %llu bytes were made, and %llu were reported to the host: no budget covers the rest",
        (unsigned long long)wanted, (unsigned long long)requested);
    conform_skip(conform, text);
}

void conform_add_memory(struct conform_list *list)
{
    for (uint32_t stage = 0; stage < DIRECT_END; stage++)
        conform_add(list, CONFORM_DRIVER, stage, refuse, "memory/%s",
                    stage == DIRECT_RUN ? "run" : direct_stage_name(stage));
    conform_add(list, CONFORM_DRIVER, 0, account, "memory/account");
}
