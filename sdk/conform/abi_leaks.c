/* SPDX-License-Identifier: Apache-2.0 */
/* Leak tests: each slot, and whole lifecycles, are called repeatedly; heap memory and mappings must not grow. */
#include "config.h"

#include "sdk/conform/abi.h"
#include "sdk/conform/leak.h"
#include "sdk/conform/list.h"

#define STATE_SLOTS 40u

struct way {
    const char *name;
    const char *what;
    enum direct_stage first, last; /* that a round runs and undoes; the stages before them run once */
    bool (*round)(struct direct *direct, const struct way *way);
};

/* Runs the stages of a way and undoes them. */
static bool round_trip(struct direct *direct, const struct way *way)
{
    bool is_good = direct_do_stages(direct, way->first, way->last + 1);

    direct_undo_stages(direct, way->last + 1, way->first);
    return is_good;
}

/* Creates and frees a state, which no stage does: the small graph has none. */
static bool make_state(struct direct *direct, const struct way *way)
{
    const struct accel_state_part parts[2] = {{.type = ACCEL_F32, .row = DIRECT_WIDTH},
                                              {.type = ACCEL_F16, .row = DIRECT_WIDTH}};
    struct accel_driver_state *state = NULL;
    int32_t code;

    (void)way;
    if (!ACCEL_CAN(direct->device->table, state_create)) {
        conform_skip(direct->conform, "the driver leaves states to the core");
        return false;
    }
    code = direct->device->table->state_create(direct->device, parts, 2, STATE_SLOTS, &state, &direct->error);
    direct->conform->error = direct->error;
    if (!conform_ok(direct->conform, code, "state_create"))
        return false;
    state->table->free(state);
    return true;
}

static const struct way ways[] = {
    {"attach", "attach, enumerate and detach", DIRECT_ATTACH, DIRECT_ENUMERATE, round_trip},
    {"open", "open and close", DIRECT_OPEN, DIRECT_OPEN, round_trip},
    {"claim", "claim", DIRECT_CLAIM, DIRECT_CLAIM, round_trip},
    {"compile", "compiled and freed module", DIRECT_COMPILE, DIRECT_COMPILE, round_trip},
    {"weights", "loading of weights", DIRECT_WEIGHTS, DIRECT_PULL, round_trip},
    {"buffers", "making of buffers", DIRECT_BUFFERS, DIRECT_BUFFERS, round_trip},
    {"queue", "queue", DIRECT_QUEUE, DIRECT_QUEUE, round_trip},
    {"set", "set", DIRECT_SET, DIRECT_SET, round_trip},
    {"run", "step", DIRECT_RUN, DIRECT_RUN, round_trip},
    {"life", "life from attach to detach with a step", DIRECT_ATTACH, DIRECT_RUN, round_trip},
    {"state", "state", DIRECT_CLAIM, DIRECT_CLAIM, make_state},
};

static void leaks(struct conform *conform)
{
    const struct way *way = &ways[conform->parameter];
    struct direct direct;
    struct leak leak = {.count = 0};
    char doubt[LEAK_TEXT];
    bool is_good;

    if (!leak_is_told()) {
        conform_skip(conform, "the allocator of this build does not tell what it holds");
        return;
    }
    if (!direct_begin(&direct, conform))
        return;
    conform_case(conform, "%u times: %s", LEAK_ROUNDS, way->what);
    is_good = direct_do_stages(&direct, DIRECT_ATTACH, way->first);
    for (uint32_t i = 0; i < LEAK_ROUNDS && is_good; i++) {
        is_good = way->round(&direct, way);
        leak_look(&leak, atomic_load(&direct.host.alive));
    }
    leak_judge(&leak, conform, way->what, "blocks", doubt);
    if (doubt[0] != '\0')
        conform_skip(conform, doubt);
    direct_end(&direct);
}

void conform_add_leaks(struct conform_list *list)
{
    for (uint32_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        conform_add(list, CONFORM_DRIVER, i, leaks, "leaks/%s", ways[i].name);
}
