/* SPDX-License-Identifier: Apache-2.0 */
/* Leak tests: each slot, and whole lifecycles, are called repeatedly; heap memory and mappings must not grow. */
#include "config.h"

#include "sdk/conform/abi.h"
#include "sdk/conform/leak.h"

#define STATE_SLOTS 40u

static const struct way {
    const char *name;
    const char *what;
    enum direct_stage first, last; /* that a round runs and undoes */
} ways[] = {
    {"attach", "attach, enumerate and detach", DIRECT_ATTACH, DIRECT_ENUMERATE},
    {"open", "open and close", DIRECT_OPEN, DIRECT_OPEN},
    {"claim", "claim", DIRECT_CLAIM, DIRECT_CLAIM},
    {"compile", "compiled and freed module", DIRECT_COMPILE, DIRECT_COMPILE},
    {"weights", "loading of weights", DIRECT_WEIGHTS, DIRECT_PULL},
    {"buffers", "making of buffers", DIRECT_BUFFERS, DIRECT_BUFFERS},
    {"queue", "queue", DIRECT_QUEUE, DIRECT_QUEUE},
    {"set", "set", DIRECT_SET, DIRECT_SET},
    {"run", "step", DIRECT_RUN, DIRECT_RUN},
    {"life", "life from attach to detach with a step", DIRECT_ATTACH, DIRECT_RUN},
};

static bool go(struct direct *direct, enum direct_stage stage)
{
    int32_t code = direct_do(direct, stage);

    direct->conform->error = direct->error;
    return conform_ok(direct->conform, code, direct_stage_name(stage));
}

static bool round_trip(struct direct *direct, const struct way *way)
{
    bool is_good = true;

    for (uint32_t stage = way->first; stage <= way->last && is_good; stage++)
        is_good = go(direct, stage);
    for (uint32_t stage = way->last + 1; stage > way->first; stage--)
        direct_undo(direct, stage - 1);
    return is_good;
}

static void leaks(struct conform *conform)
{
    const struct way *way = &ways[conform->parameter];
    struct direct direct;
    struct leak leak = {.count = 0};
    char doubt[LEAK_TEXT];
    bool is_good = true;

    if (!leak_is_told()) {
        conform_skip(conform, "the allocator of this build does not tell what it holds");
        return;
    }
    if (!direct_begin(&direct, conform))
        return;
    conform_case(conform, "%u times: %s", LEAK_ROUNDS, way->what);
    for (uint32_t stage = 0; stage < way->first && is_good; stage++)
        is_good = go(&direct, stage);
    for (uint32_t i = 0; i < LEAK_ROUNDS && is_good; i++) {
        is_good = round_trip(&direct, way);
        leak_look(&leak, atomic_load(&direct.host.alive));
    }
    leak_judge(&leak, conform, way->what, "blocks", doubt);
    if (doubt[0] != '\0')
        conform_skip(conform, doubt);
    direct_end(&direct);
}

/* States are made by no stage of a step: the small graph has none. */
static void leak_state(struct conform *conform)
{
    const struct accel_state_part parts[2] = {{.type = ACCEL_F32, .row = DIRECT_WIDTH},
                                              {.type = ACCEL_F16, .row = DIRECT_WIDTH}};
    struct direct direct;
    struct leak leak = {.count = 0};
    char doubt[LEAK_TEXT];
    bool is_good = true;

    if (!leak_is_told()) {
        conform_skip(conform, "the allocator of this build does not tell what it holds");
        return;
    }
    if (!direct_begin(&direct, conform))
        return;
    conform_case(conform, "%u times: states", LEAK_ROUNDS);
    for (uint32_t stage = 0; stage <= DIRECT_OPEN && is_good; stage++)
        is_good = go(&direct, stage);
    if (is_good && !ACCEL_CAN(direct.device->table, state_create)) {
        conform_skip(conform, "the driver leaves states to the core");
        is_good = false;
    }
    for (uint32_t i = 0; i < LEAK_ROUNDS && is_good; i++) {
        struct accel_driver_state *state = NULL;
        int32_t code = direct.device->table->state_create(direct.device, parts, 2, STATE_SLOTS, &state, &direct.error);

        conform->error = direct.error;
        is_good = conform_ok(conform, code, "state_create");
        if (is_good)
            state->table->free(state);
        leak_look(&leak, atomic_load(&direct.host.alive));
    }
    if (is_good) {
        leak_judge(&leak, conform, "state", "blocks", doubt);
        if (doubt[0] != '\0')
            conform_skip(conform, doubt);
    }
    direct_end(&direct);
}

void conform_add_leaks(struct conform_list *list)
{
    for (uint32_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        conform_add(list, CONFORM_DRIVER, i, leaks, "leaks/%s", ways[i].name);
    conform_add(list, CONFORM_DRIVER, 0, leak_state, "leaks/state");
}
