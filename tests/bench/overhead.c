/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver library costs: steps of a decoder of five layers with the shapes of stories260K on one thread through
 * the library's `run`, against the same calls of the same kernels in a bare loop. Prints the ratio of the best rounds.
 * Then steps on two threads against steps on one, and how long the barrier takes.
 */
#include <stdio.h>

#include <accel/builder.h>

#include "core/thread/pool.h"
#include "plugins/cpu/device.h"
#include "sdk/driver/program.h"
#include "tests/drivers/stub.h"

#define LAYERS 5u
#define WIDTH 64u
#define HEADS 8u
#define KV_HEADS 4u
#define SIZE 8u
#define HIDDEN 172u
#define WORDS 512u
#define PAGE 64u
#define PAGES 8u
#define TOKENS 100 /* in the cache */
#define VALUES 160u

#define ROUNDS 60u
#define STEPS 300u

static void must(int32_t code, const struct accel_error *error)
{
    if (code == ACCEL_OK)
        return;
    fprintf(stderr, "%d: %s\n", code, error->text);
    exit(1);
}

/* ---- the graph ---- */

struct net {
    struct accel_builder *builder;
    struct accel_error error;
    uint32_t position, frequency, slot, table, first, length;
};

static uint32_t value(struct net *net, uint32_t role, uint32_t type, uint32_t rows, uint32_t width)
{
    struct accel_dim dims[2] = {{.add = rows == 0 ? width : rows}, {.add = rows == 0 ? 0 : width}};
    static uint32_t number;
    uint32_t out = 0;
    char name[16];

    snprintf(name, sizeof(name), "v%u", number++);
    must(accel_builder_value(net->builder, role, name, type, rows == 0 ? 1 : 2, dims, &out, &net->error), &net->error);
    return out;
}

static uint32_t node(struct net *net, uint32_t op, const uint32_t *inputs, uint32_t count, const void *attributes)
{
    uint32_t out = 0;

    must(accel_builder_node(net->builder, op, accel_op_name(op), inputs, count, attributes, &out, &net->error),
         &net->error);
    return out;
}

static uint32_t matmul(struct net *net, uint32_t x, uint32_t n, uint32_t k, uint32_t residual)
{
    const struct accel_matmul plain = {.size = sizeof(plain), .rounding = ACCEL_F32};
    uint32_t inputs[4] = {x, value(net, ACCEL_ROLE_WEIGHT, ACCEL_F32, n, k), ACCEL_NO_VALUE, residual};

    return node(net, ACCEL_OP_MATMUL, inputs, 4, &plain);
}

static uint32_t norm(struct net *net, uint32_t x)
{
    const struct accel_norm attributes = {.size = sizeof(attributes), .epsilon = 1e-5f};
    uint32_t inputs[2] = {x, value(net, ACCEL_ROLE_WEIGHT, ACCEL_F32, 0, WIDTH)};

    return node(net, ACCEL_OP_RMS_NORM, inputs, 2, &attributes);
}

static uint32_t heads(struct net *net, uint32_t x, uint32_t count)
{
    struct accel_dim dims[3] = {{.add = 1}, {.add = count}, {.add = SIZE}};
    uint32_t out = 0;

    must(accel_builder_reshape(net->builder, "heads", x, 3, dims, &out, &net->error), &net->error);
    return out;
}

static uint32_t turn(struct net *net, uint32_t x)
{
    const struct accel_rotary attributes = {.size = sizeof(attributes), .scale = 1};
    uint32_t inputs[3] = {x, net->position, net->frequency};

    return node(net, ACCEL_OP_ROTARY, inputs, 3, &attributes);
}

static uint32_t store(struct net *net, uint32_t x)
{
    uint32_t inputs[3] = {x, net->slot, value(net, ACCEL_ROLE_STATE, ACCEL_F16, PAGE * PAGES, KV_HEADS * SIZE)};

    node(net, ACCEL_OP_CACHE_WRITE, inputs, 3, NULL);
    return inputs[2];
}

static uint32_t layer(struct net *net, uint32_t x)
{
    const struct accel_attention attention = {
        .size = sizeof(attention), .kv_heads = KV_HEADS, .page = PAGE, .causal = 1, .scale = 0.35f};
    const struct accel_activation silu = {.size = sizeof(silu), .function = ACCEL_FN_SILU};
    struct accel_dim flat[2] = {{.add = 1}, {.add = WIDTH}};
    uint32_t h = norm(net, x);
    uint32_t q = turn(net, heads(net, matmul(net, h, WIDTH, WIDTH, ACCEL_NO_VALUE), HEADS));
    uint32_t k = turn(net, heads(net, matmul(net, h, KV_HEADS * SIZE, WIDTH, ACCEL_NO_VALUE), KV_HEADS));
    uint32_t v = heads(net, matmul(net, h, KV_HEADS * SIZE, WIDTH, ACCEL_NO_VALUE), KV_HEADS);
    uint32_t inputs[6] = {q, store(net, k), store(net, v), net->table, net->first, net->length};
    uint32_t pair[2];

    h = node(net, ACCEL_OP_ATTENTION, inputs, 6, &attention);
    must(accel_builder_reshape(net->builder, "flat", h, 2, flat, &h, &net->error), &net->error);
    x = matmul(net, h, WIDTH, WIDTH, x);
    h = norm(net, x);
    pair[0] = matmul(net, h, HIDDEN, WIDTH, ACCEL_NO_VALUE);
    pair[1] = matmul(net, h, HIDDEN, WIDTH, ACCEL_NO_VALUE);
    h = node(net, ACCEL_OP_GATE, pair, 2, &silu);
    return matmul(net, h, WIDTH, HIDDEN, x);
}

static const struct accel_graph *build(struct net *net)
{
    const struct accel_graph *graph = NULL;
    uint32_t inputs[2], x;

    must(accel_builder_create("decode", &net->builder, &net->error), &net->error);
    inputs[0] = value(net, ACCEL_ROLE_WEIGHT, ACCEL_F32, WORDS, WIDTH);
    inputs[1] = value(net, ACCEL_ROLE_INPUT, ACCEL_I32, 0, 1);
    net->position = value(net, ACCEL_ROLE_INPUT, ACCEL_I32, 0, 1);
    net->frequency = value(net, ACCEL_ROLE_INPUT, ACCEL_F32, 0, SIZE / 2);
    net->slot = value(net, ACCEL_ROLE_INPUT, ACCEL_I32, 0, 1);
    net->table = value(net, ACCEL_ROLE_INPUT, ACCEL_I32, 1, PAGES);
    net->first = value(net, ACCEL_ROLE_INPUT, ACCEL_I32, 0, 2);
    net->length = value(net, ACCEL_ROLE_INPUT, ACCEL_I32, 0, 1);
    x = node(net, ACCEL_OP_EMBED, inputs, 2, NULL);
    for (uint32_t l = 0; l < LAYERS; l++)
        x = layer(net, x);
    x = matmul(net, norm(net, x), WORDS, WIDTH, ACCEL_NO_VALUE);
    must(accel_builder_output(net->builder, x, "y", &net->error), &net->error);
    must(accel_builder_finish(net->builder, &graph, &net->error), &net->error);
    return graph;
}

/* ---- the driver ---- */

static int32_t open_cpu(const struct accel_host *host, const char *id, const struct accel_setting *settings,
                        uint32_t count, void *own, struct accel_error *error)
{
    struct cpu_device *device = own;

    (void)host, (void)id, (void)settings, (void)count, (void)error;
    cpu_kernels_fill(&device->kernels, cpu_isa_detect());
    for (uint32_t i = 0; i < CPU_PLANAR; i++)
        accel_format_describe(cpu_type_at(i), &device->formats[i]);
    return ACCEL_OK;
}

static const struct sdk_backend backend = {.kernels = cpu_operators,
                                           .kernel_count = CPU_OPERATORS,
                                           .open = open_cpu,
                                           .device_bytes = sizeof(struct cpu_device)};

static struct accel_driver_set *make_set(struct accel_driver_module *module, const struct accel_graph *graph,
                                         uint32_t length, uint32_t threads, struct accel_error *error)
{
    struct accel_binding bindings[VALUES];
    struct accel_set_description description = {.size = sizeof(description), .bindings = bindings, .threads = threads};
    struct accel_driver_set *set = NULL;
    uint64_t alignment = 0;

    must(module->table->scratch(module, 0, NULL, threads, &description.scratch_bytes, &alignment, error), error);
    description.scratch = aligned_alloc(64, (description.scratch_bytes + 63) / 64 * 64);
    for (uint32_t v = 0; v < graph->value_count; v++) {
        uint64_t bytes = 0;
        void *memory;

        if (graph->values[v]->role == ACCEL_ROLE_INTERMEDIATE)
            continue;
        must(accel_value_bytes(graph, v, NULL, &bytes, error), error);
        memory = calloc(1, bytes);
        for (uint64_t i = 0; graph->values[v]->type == ACCEL_F32 && i < bytes / 4; i++)
            ((float *)memory)[i] = (float)(i % 13) / 16 - 0.4f;
        bindings[description.binding_count++] =
            (struct accel_binding){.value = v, .kind = ACCEL_BIND_BUFFER, .host = memory, .bytes = bytes};
        if (graph->values[v]->type == ACCEL_I32 && bytes == 8) /* first */
            ((int32_t *)memory)[1] = 1;
        if (v == length)
            ((int32_t *)memory)[0] = TOKENS;
    }
    must(module->table->set_create(module, &description, &set, error), error);
    return set;
}

/* ---- measuring ---- */

struct pool_team {
    struct accel_team team;
    struct accel_pool *pool;
};

static int32_t run_in_pool(const struct accel_team *team, uint32_t threads, accel_team_function function,
                           void *argument, struct accel_error *error)
{
    return accel_pool_run(((const struct pool_team *)team)->pool, threads, function, argument, error);
}

static uint64_t now(const struct stub *stub)
{
    uint64_t time = 0;

    stub->host.clock(&stub->host, &time);
    return time;
}

static void bare(const struct sdk_set *set)
{
    for (uint32_t a = 0; a < set->action_count; a++) {
        const struct sdk_kernel *kernel = set->kernels[set->actions[a].call];
        const struct sdk_call *call = &set->calls[set->actions[a].call];
        uint64_t grain;

        if (set->actions[a].is_staging)
            kernel->stage_part(call, 0, kernel->stage_parts(call, &grain));
        else if (kernel->part != NULL)
            kernel->part(call, 0, kernel->parts(call, &grain));
        else
            kernel->run(call, 0, 1);
    }
}

/* Every group on both threads, with a barrier after each. */
static void force(struct sdk_set *set)
{
    set->serial = 0;
    for (uint32_t a = 0; a < set->action_count; a++) {
        set->actions[a].split = 1;
        set->actions[a].barrier = set->actions[a].members != 0;
        set->calls[set->actions[a].call].barrier = &set->barrier;
    }
}

/* Nanoseconds of a step. `team` NULL: the bare loop. */
static double once(const struct stub *stub, struct accel_driver_set *set, const struct accel_team *team)
{
    uint64_t begin = now(stub);

    for (uint32_t i = 0; i < STEPS; i++) {
        if (team == NULL)
            bare((struct sdk_set *)set);
        else
            set->table->run(set, NULL, team, NULL);
    }
    return (double)(now(stub) - begin) / STEPS;
}

static double less(double a, double b)
{
    return a < b ? a : b;
}

#define MEETINGS 20000u

static void meet_often(void *argument, uint32_t thread, uint32_t threads)
{
    (void)thread, (void)threads;
    for (uint32_t i = 0; i < MEETINGS; i++)
        sdk_barrier_wait(argument);
}

int main(void)
{
    struct accel_pool_config config = {.threads = 2};
    struct pool_team pool_team = {.team = {.size = sizeof(pool_team.team), .threads = 2, .run = run_in_pool}};
    struct sdk_barrier barrier = {.threads = 2};
    double direct = 1e30, one = 1e30, two = 1e30, forced = 1e30, meeting = 1e30;
    struct accel_driver_instance *instance = NULL;
    struct accel_driver_device *device = NULL;
    struct accel_driver_module *module = NULL;
    struct accel_driver_set *set1, *set2, *set3;
    const struct accel_graph *graph;
    struct accel_error error = {0};
    struct net net = {0};
    struct stub stub;

    stub_init(&stub);
    graph = build(&net);
    must(accel_pool_create(&config, &pool_team.pool, &error), &error);
    must(sdk_attach(&backend, &stub.host, 1, &instance, &error), &error);
    must(instance->table->open(instance, "cpu0", NULL, 0, &device, &error), &error);
    must(device->table->compile(device, &graph, 1, NULL, NULL, NULL, NULL, &module, &error), &error);
    set1 = make_set(module, graph, net.length, 1, &error);
    set2 = make_set(module, graph, net.length, 2, &error);
    set3 = make_set(module, graph, net.length, 2, &error);
    for (uint32_t r = 0; r < ROUNDS; r++) {
        uint64_t begin;

        direct = less(direct, once(&stub, set1, NULL));
        one = less(one, once(&stub, set1, &stub_team1));
        two = less(two, once(&stub, set2, &pool_team.team));
        once(&stub, set3, &pool_team.team);
        force((struct sdk_set *)set3);
        forced = less(forced, once(&stub, set3, &pool_team.team));
        begin = now(&stub);
        must(accel_pool_run(pool_team.pool, 2, meet_often, &barrier, &error), &error);
        meeting = less(meeting, (double)(now(&stub) - begin) / MEETINGS);
    }
    printf("bare loop of kernels, %u calls   %9.0f ns\n", ((struct sdk_set *)set1)->call_count, direct);
    printf("the library, 1 thread           %9.0f ns, ratio %.3f\n", one, one / direct);
    printf("the library, 2 threads          %9.0f ns, ratio %.3f\n", two, two / direct);
    printf("every group on 2 threads        %9.0f ns, ratio %.3f\n", forced, forced / direct);
    printf("barrier of two threads          %9.0f ns\n", meeting);
    accel_pool_free(pool_team.pool);
    return one <= 1.05 * direct ? 0 : 1;
}
