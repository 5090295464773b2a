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

static void refuse(struct conform *conform)
{
    struct direct direct;
    const enum direct_stage stage = conform->parameter;
    int n = 0;

    if (!direct_begin(&direct, conform))
        return;
    for (uint32_t before = 0; before < stage; before++)
        if (direct_do(&direct, before) != ACCEL_OK) {
            conform_fail(conform, "%s: %s", direct_stage_name(before), direct.error.text);
            return;
        }
    conform_case(conform, "each allocation in turn");
    while (n < MOST && refuse_one(&direct, stage, n))
        n++;
    direct_undo(&direct, stage);
    conform_case(conform, "the slot and all behind it, after %d refusals", n);
    for (uint32_t next = stage; next < DIRECT_END; next++) {
        int32_t code = direct_do(&direct, next);

        conform->error = direct.error;
        if (!conform_ok(conform, code, direct_stage_name(next)))
            break;
    }
    direct_end(&direct);
    if (alive(&direct) != 0)
        conform_fail(conform, "%llu blocks were not given back", (unsigned long long)alive(&direct));
    for (uint32_t c = 0; c < ACCEL_MEMORY_END; c++)
        if (atomic_load(&direct.host.counted[c]) != 0)
            conform_fail(conform, "%lld bytes of memory class %u are still counted by `account`",
                         (long long)atomic_load(&direct.host.counted[c]), c);
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
    uint64_t before = 0, requested, wanted;
    char text[200];

    if (!direct_begin(&direct, conform))
        return;
    conform_case(conform, "bytes of buffers");
    for (uint32_t stage = 0; stage <= DIRECT_BUFFERS; stage++) {
        before = atomic_load(&direct.host.requested);
        if (direct_do(&direct, stage) != ACCEL_OK) {
            conform_fail(conform, "%s: %s", direct_stage_name(stage), direct.error.text);
            return;
        }
    }
    requested = atomic_load(&direct.host.requested) - before;
    wanted = buffers_of(&direct) * (uint64_t)DIRECT_BUFFER_BYTES;
    direct_end(&direct);
    for (uint32_t c = 0; c < ACCEL_MEMORY_END; c++)
        if (atomic_load(&direct.host.counted[c]) != 0)
            conform_fail(conform, "%lld bytes of memory class %u are still counted by `account`",
                         (long long)atomic_load(&direct.host.counted[c]), c);
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
