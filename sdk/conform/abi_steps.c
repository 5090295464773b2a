/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of drivers that run in the caller's thread, on teams of 1 to 8 threads and with two sets: results, the
 * scratch of each set, allocations, and the state of every thread of the team.
 */
#include "config.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "sdk/conform/abi.h"
#include "sdk/conform/allocations.h"
#include "sdk/conform/list.h"

#define WIDTH 64u
#define ROWS 2048u
#define TEAM 8u
#define INPUTS 2u
#define MARK 0x5a
#define GUARD 4096u /* guard bytes behind the scratch */

/* ---- a persistent thread team ---- */

/* Thread state that belongs to the application, not to the driver that borrows the thread. */
struct thread_state {
    sigset_t mask;
    int rounding;
    uint32_t float_mode;
};

struct team {
    struct accel_team base; /* first member: callbacks receive its address */
    pthread_t handles[TEAM];
    pthread_mutex_t mutex;
    pthread_cond_t begin, end;
    uint64_t round;
    uint32_t started, busy;
    bool is_over;
    uint32_t threads; /* threads of the current round */
    accel_team_function function;
    void *argument;
    uint32_t changed_float, changed_mask; /* 1 + index of a thread whose state changed; 0: none */
};

struct team_thread {
    struct team *team;
    uint32_t thread;
};

static void read_state(struct thread_state *state)
{
    memset(state, 0, sizeof(*state));
    pthread_sigmask(SIG_BLOCK, NULL, &state->mask);
    state->rounding = fegetround();
#if defined(__x86_64__)
    state->float_mode = _mm_getcsr() & ~0x3fu; /* without the sticky flags */
#endif
}

/* Runs one thread's share and compares the thread state before and after. */
static void run_thread(struct team *team, uint32_t thread)
{
    struct thread_state before, after;

    read_state(&before);
    team->function(team->argument, thread, team->threads);
    read_state(&after);
    if (before.rounding != after.rounding || before.float_mode != after.float_mode)
        __atomic_store_n(&team->changed_float, thread + 1, __ATOMIC_RELAXED);
    if (memcmp(&before.mask, &after.mask, sizeof(before.mask)) != 0)
        __atomic_store_n(&team->changed_mask, thread + 1, __ATOMIC_RELAXED);
}

static void *work(void *data)
{
    struct team_thread own = *(struct team_thread *)data;
    struct team *team = own.team;
    uint64_t seen = 0;

    pthread_mutex_lock(&team->mutex);
    team->started++;
    pthread_cond_broadcast(&team->end);
    for (;;) {
        while (!team->is_over && team->round == seen)
            pthread_cond_wait(&team->begin, &team->mutex);
        if (team->is_over)
            break;
        seen = team->round;
        if (own.thread >= team->threads)
            continue;
        pthread_mutex_unlock(&team->mutex);
        run_thread(team, own.thread);
        pthread_mutex_lock(&team->mutex);
        if (--team->busy == 0)
            pthread_cond_broadcast(&team->end);
    }
    pthread_mutex_unlock(&team->mutex);
    return NULL;
}

static int32_t team_run(const struct accel_team *base, uint32_t threads, accel_team_function function, void *argument,
                        struct accel_error *error) ACCEL_NOEXCEPT
{
    struct team *team = (struct team *)(uintptr_t)base;

    if (threads == 0 || threads > base->threads)
        return accel_error_set(error, ACCEL_E_INVALID, "%u threads of a team of %u", threads, base->threads);
    pthread_mutex_lock(&team->mutex);
    team->function = function;
    team->argument = argument;
    team->threads = threads;
    team->busy = threads - 1;
    team->round++;
    pthread_cond_broadcast(&team->begin);
    pthread_mutex_unlock(&team->mutex);
    run_thread(team, 0);
    pthread_mutex_lock(&team->mutex);
    while (team->busy != 0)
        pthread_cond_wait(&team->end, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
    return ACCEL_OK;
}

static void team_begin(struct team *team, struct conform *conform)
{
    struct team_thread own = {.team = team};

    memset(team, 0, sizeof(*team));
    team->base = (struct accel_team){.size = sizeof(team->base), .threads = TEAM, .run = team_run};
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->begin, NULL);
    pthread_cond_init(&team->end, NULL);
    pthread_mutex_lock(&team->mutex);
    for (own.thread = 1; own.thread < TEAM; own.thread++) {
        if (pthread_create(&team->handles[own.thread], NULL, work, &own) != 0) {
            conform_fail(conform, "no thread could be started");
            conform_end(conform);
        }
        /* The thread owns `own` from here on. */
        while (team->started < own.thread)
            pthread_cond_wait(&team->end, &team->mutex);
    }
    pthread_mutex_unlock(&team->mutex);
}

static void team_end(struct team *team)
{
    pthread_mutex_lock(&team->mutex);
    team->is_over = true;
    pthread_cond_broadcast(&team->begin);
    pthread_mutex_unlock(&team->mutex);
    for (uint32_t thread = 1; thread < TEAM; thread++)
        pthread_join(team->handles[thread], NULL);
}

/* ---- sets of a chain of adds ---- */

struct chain_set {
    struct accel_driver_set *set;
    float *inputs[INPUTS], *output;
    unsigned char *scratch; /* followed by GUARD guard bytes */
    uint64_t scratch_bytes;
};

struct chain {
    struct direct direct;
    struct conform *conform;
    struct accel_builder *builder;
    const struct accel_graph *graph;
    struct accel_driver_module *module;
    struct chain_set sets[2];
};

/* Builds ((a + b) + b) + a, whose intermediates are whole rows. */
static int32_t build(struct chain *chain)
{
    const struct accel_dim dims[2] = {{.symbol = 1, .multiply = 1, .divide = 1}, {.add = WIDTH}};
    struct accel_error *error = &chain->conform->error;
    uint32_t symbol, a, b, value = 0;
    int32_t code = accel_builder_create("chain", &chain->builder, error);

    if (code == ACCEL_OK)
        code = accel_builder_symbol(chain->builder, "rows", 1, ROWS, &symbol, error);
    if (code == ACCEL_OK)
        code = accel_builder_value(chain->builder, ACCEL_ROLE_INPUT, "a", ACCEL_F32, 2, dims, &a, error);
    if (code == ACCEL_OK)
        code = accel_builder_value(chain->builder, ACCEL_ROLE_INPUT, "b", ACCEL_F32, 2, dims, &b, error);
    for (uint32_t n = 0; n < 3 && code == ACCEL_OK; n++) {
        const uint32_t inputs[2] = {n == 0 ? a : value, n == 2 ? a : b};

        code = accel_builder_node(chain->builder, ACCEL_OP_ADD, "add", inputs, 2, NULL, &value, error);
    }
    if (code == ACCEL_OK)
        code = accel_builder_output(chain->builder, value, "y", error);
    return code == ACCEL_OK ? accel_builder_finish(chain->builder, &chain->graph, error) : code;
}

static bool open_chain(struct chain *chain, struct conform *conform)
{
    static const uint64_t highest = ROWS;
    static const uint32_t one_bucket = 1;
    static const struct accel_compile_options options = {
        .size = sizeof(options), .buckets = &highest, .bucket_counts = &one_bucket, .threads = TEAM};
    int32_t code;

    memset(chain, 0, sizeof(*chain));
    chain->conform = conform;
    if (!abi_open(&chain->direct, conform) || !conform_ok(conform, build(chain), "the kit's own graph"))
        return false;
    conform_case(conform, "compile");
    if (ACCEL_CAN(chain->direct.device->table, queue_create)) {
        conform_skip(conform, "its steps run on queues: tests of the group timeline hold them");
        return false;
    }
    code = abi_compile(&chain->direct, chain->graph, &options);
    if (code == ACCEL_E_REFUSED) {
        conform_skip(conform, "it does not take a sum");
        return false;
    }
    chain->module = chain->direct.module;
    return conform_ok(conform, code, "compile");
}

static bool make_set(struct chain *chain, struct chain_set *set, uint32_t threads)
{
    static const uint64_t highest = ROWS;
    struct conform *conform = chain->conform;
    struct accel_binding bindings[INPUTS + 1];
    struct accel_set_description description = {
        .size = sizeof(description), .symbols = &highest, .symbol_count = 1, .bindings = bindings, .threads = threads};
    const uint64_t bytes = (uint64_t)ROWS * WIDTH * sizeof(float);
    uint64_t alignment = 0;
    uint32_t inputs = 0;
    int32_t code;

    code = chain->module->table->scratch(chain->module, 0, &highest, threads, &set->scratch_bytes, &alignment,
                                         &conform->error);
    if (!conform_ok(conform, code, "scratch"))
        return false;
    for (uint32_t v = 0; v < chain->graph->value_count; v++) {
        const uint32_t role = chain->graph->values[v]->role;
        float *memory;

        if (role != ACCEL_ROLE_INPUT && role != ACCEL_ROLE_OUTPUT)
            continue;
        memory = aligned_alloc(4096, bytes);
        if (memory == NULL || (role == ACCEL_ROLE_INPUT && inputs == INPUTS))
            return conform_ok(conform, ACCEL_E_MEMORY, "memory of the kit's own");
        if (role == ACCEL_ROLE_INPUT)
            set->inputs[inputs++] = memory;
        else
            set->output = memory;
        bindings[description.binding_count++] =
            (struct accel_binding){.value = v, .kind = ACCEL_BIND_BUFFER, .host = memory, .bytes = bytes};
    }
    set->scratch = aligned_alloc(4096, (set->scratch_bytes + GUARD + 4095) & ~(uint64_t)4095);
    if (set->scratch == NULL)
        return conform_ok(conform, ACCEL_E_MEMORY, "memory of the kit's own");
    memset(set->scratch, MARK, set->scratch_bytes + GUARD);
    description.scratch = set->scratch_bytes == 0 ? NULL : set->scratch;
    description.scratch_bytes = set->scratch_bytes;
    code = chain->module->table->set_create(chain->module, &description, &set->set, &conform->error);
    return conform_ok(conform, code, "set_create");
}

static void free_set(struct chain_set *set)
{
    if (set->set != NULL)
        set->set->table->free(set->set);
    for (uint32_t i = 0; i < INPUTS; i++)
        free(set->inputs[i]);
    free(set->output);
    free(set->scratch);
    memset(set, 0, sizeof(*set));
}

static void close_chain(struct chain *chain)
{
    free_set(&chain->sets[0]);
    free_set(&chain->sets[1]);
    direct_end(&chain->direct);
    accel_builder_free(chain->builder);
}

static bool is_marked(const unsigned char *memory, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        if (memory[i] != MARK)
            return false;
    return true;
}

static bool compare(struct chain *chain, const struct chain_set *set, uint64_t rows)
{
    for (uint64_t e = 0; e < (uint64_t)ROWS * WIDTH; e++) {
        const float a = set->inputs[0][e], b = set->inputs[1][e], wanted = ((a + b) + b) + a;
        float mark;

        memset(&mark, MARK, sizeof(mark));
        if (e < rows * WIDTH ? set->output[e] == wanted : memcmp(&set->output[e], &mark, sizeof(mark)) == 0)
            continue;
        conform_fail(chain->conform, "element %llu of row %llu is %.9g, expected %.9g%s",
                     (unsigned long long)(e % WIDTH), (unsigned long long)(e / WIDTH), (double)set->output[e],
                     (double)(e < rows * WIDTH ? wanted : mark), e < rows * WIDTH ? "" : ": it is past the rows");
        return false;
    }
    return true;
}

/* Runs a step with new inputs. The output is filled with a mark before the step. */
static bool step(struct chain *chain, struct chain_set *set, uint64_t rows, const struct accel_team *team)
{
    struct conform *conform = chain->conform;

    for (uint32_t i = 0; i < INPUTS; i++)
        for (uint64_t e = 0; e < (uint64_t)ROWS * WIDTH; e++)
            set->inputs[i][e] = (float)(int32_t)(conform_below(conform, 20001) - 10000) / 64;
    memset(set->output, MARK, (size_t)ROWS * WIDTH * sizeof(float));
    return conform_ok(conform, set->set->table->run(set->set, &rows, team, &conform->error), "run") &&
           compare(chain, set, rows);
}

/* ---- tests ---- */

static const uint64_t row_counts[] = {ROWS, 700, 130, 9, 1};
static const uint64_t rows_in_turn[] = {ROWS, ROWS, 700, 130, 1, 1, 9, 1}; /* row counts of two sets */

/* Tests every thread count, with sets that were created for as many threads and for more. */
static void threads(struct conform *conform)
{
    struct chain *chain = conform_memory(conform, 1, sizeof(*chain));
    struct team team;
    bool is_good = open_chain(chain, conform);

    team_begin(&team, conform);
    for (uint32_t threads = 1; threads <= TEAM && is_good; threads++)
        for (uint32_t made = threads; made <= TEAM && is_good; made += TEAM - threads == 0 ? 1 : TEAM - threads) {
            conform_case(conform, "%u threads, a set made for %u", threads, made);
            is_good = make_set(chain, &chain->sets[0], made);
            team.base.threads = threads;
            for (uint32_t r = 0; r < sizeof(row_counts) / sizeof(*row_counts) && is_good; r++)
                is_good = step(chain, &chain->sets[0], row_counts[r], &team.base);
            if (is_good && !is_marked(chain->sets[0].scratch + chain->sets[0].scratch_bytes, GUARD))
                conform_fail(conform, "bytes behind the scratch were written");
            if (team.changed_float != 0)
                conform_fail(conform, "the floating-point mode of thread %u was changed", team.changed_float - 1);
            if (team.changed_mask != 0)
                conform_fail(conform, "the signal mask of thread %u was changed", team.changed_mask - 1);
            team.changed_float = team.changed_mask = 0;
            free_set(&chain->sets[0]);
        }
    team_end(&team);
    close_chain(chain);
    free(chain);
}

/* Two sets of a module are independent: each has its own scratch. */
static void sets(struct conform *conform)
{
    struct chain *chain = conform_memory(conform, 1, sizeof(*chain));
    struct team team;
    bool is_good = open_chain(chain, conform);

    team_begin(&team, conform);
    team.base.threads = 2;
    is_good = is_good && make_set(chain, &chain->sets[0], 2) && make_set(chain, &chain->sets[1], 2);
    for (uint32_t s = 0; s < 2 && is_good; s++) {
        struct chain_set *set = &chain->sets[s], *other = &chain->sets[1 - s];

        conform_case(conform, "two sets of one module: a step of set %u", s);
        memset(other->scratch, MARK, other->scratch_bytes + GUARD);
        memset(other->output, MARK, (size_t)ROWS * WIDTH * sizeof(float));
        is_good = step(chain, set, ROWS, &team.base);
        if (!is_marked(other->scratch, other->scratch_bytes + GUARD))
            conform_fail(conform, "it wrote to the scratch of the other set");
        if (!is_marked((const unsigned char *)other->output, (uint64_t)ROWS * WIDTH * sizeof(float)))
            conform_fail(conform, "it wrote to the output of the other set");
    }
    for (uint32_t i = 0; i < sizeof(rows_in_turn) / sizeof(*rows_in_turn) && is_good; i++) {
        conform_case(conform, "two sets of one module in turn: set %u, %llu rows", i % 2,
                     (unsigned long long)rows_in_turn[i]);
        is_good = step(chain, &chain->sets[i % 2], rows_in_turn[i], &team.base);
    }
    if (is_good) {
        conform_case(conform, "a step of the second set after the first was freed");
        free_set(&chain->sets[0]);
        is_good = step(chain, &chain->sets[1], 700, &team.base);
    }
    team_end(&team);
    close_chain(chain);
    free(chain);
}

/* A step allocates nothing, whether its symbols change or not. The first step of a set may allocate. */
static void allocate(struct conform *conform)
{
    struct chain *chain = conform_memory(conform, 1, sizeof(*chain));
    struct team team;
    bool is_good = open_chain(chain, conform);

    team_begin(&team, conform);
    for (uint32_t threads = 1; threads <= 3 && is_good; threads++) {
        is_good = make_set(chain, &chain->sets[0], threads);
        team.base.threads = threads;
        is_good = is_good && step(chain, &chain->sets[0], ROWS, &team.base);
        for (uint32_t i = 0; i < 6 && is_good; i++) {
            const uint64_t rows = row_counts[i / 2];
            uint64_t asked, called;
            struct accel_driver_set *set = chain->sets[0].set;

            conform_case(conform, "a step of %llu rows on %u threads, behind another one", (unsigned long long)rows,
                         threads);
            asked = atomic_load(&chain->direct.host.requested);
            called = allocations_count();
            is_good = conform_ok(conform, set->table->run(set, &rows, &team.base, &conform->error), "run");
            called = allocations_count() - called;
            asked = atomic_load(&chain->direct.host.requested) - asked;
            if (asked != 0)
                conform_fail(conform, "it asked the host for %llu bytes", (unsigned long long)asked);
            if (called != 0)
                conform_fail(conform, "it called malloc %llu times", (unsigned long long)called);
        }
        free_set(&chain->sets[0]);
    }
    team_end(&team);
    close_chain(chain);
    free(chain);
}

/* ---- the estimate ---- */

struct scratch_bound {
    struct accel_estimate_sink sink; /* first member: callbacks receive its address */
    uint64_t upper;
    bool is_there;
};

static int32_t add_scratch(const struct accel_estimate_sink *sink, uint32_t heap, uint32_t memory_class, uint64_t lower,
                           uint64_t upper, const char *formula, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct scratch_bound *bound = (struct scratch_bound *)(uintptr_t)sink;

    (void)heap, (void)lower, (void)formula, (void)error;
    if (memory_class == ACCEL_MEMORY_SCRATCH) {
        bound->upper += upper;
        bound->is_there = true;
    }
    return ACCEL_OK;
}

/* The scratch of a set must not exceed the upper bound of the estimate. */
static void estimate(struct conform *conform)
{
    static const uint64_t highest = ROWS;
    static const uint32_t one_bucket = 1;
    struct chain *chain = conform_memory(conform, 1, sizeof(*chain));
    bool is_good = open_chain(chain, conform);

    if (is_good && !ACCEL_CAN(chain->direct.device->table, estimate)) {
        conform_skip(conform, "the core estimates for it");
        is_good = false;
    }
    for (uint32_t threads = 1; threads <= TEAM && is_good; threads *= 2) {
        const struct accel_compile_options options = {
            .size = sizeof(options), .buckets = &highest, .bucket_counts = &one_bucket, .threads = threads};
        struct scratch_bound bound = {.sink = {.size = sizeof(bound.sink), .bytes = add_scratch}};
        struct accel_driver_device *device = chain->direct.device;
        uint64_t bytes = 0, alignment = 0;
        int32_t code;

        conform_case(conform, "scratch of %u threads", threads);
        code = device->table->estimate(device, &chain->graph, 1, &options, &bound.sink, &conform->error);
        is_good = conform_ok(conform, code, "estimate");
        code = chain->module->table->scratch(chain->module, 0, &highest, threads, &bytes, &alignment, &conform->error);
        is_good = is_good && conform_ok(conform, code, "scratch");
        if (is_good && bound.is_there && bytes > bound.upper)
            conform_fail(conform, "a set takes %llu bytes of scratch, and the estimate said %llu at most",
                         (unsigned long long)bytes, (unsigned long long)bound.upper);
    }
    close_chain(chain);
    free(chain);
}

void conform_add_steps(struct conform_list *list)
{
    conform_add(list, CONFORM_DRIVER, 0, threads, "step/threads");
    conform_add(list, CONFORM_DRIVER, 0, sets, "step/sets");
    conform_add(list, CONFORM_DRIVER, 0, allocate, "step/allocations");
    conform_add(list, CONFORM_DRIVER, 0, estimate, "step/estimate");
}
