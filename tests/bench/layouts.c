/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layouts [ISA [THREADS [TYPE|all [PAIRS [STREAMS AHEAD]]]]]: the cpu driver's matmul with packed weights beside the
 * same weights in rows, for every type that can be packed; packed ones in STREAMS memory streams, each prefetched AHEAD
 * bytes ahead, as words of cpu.layout_types state (0: as the kernel prefers). Both layouts take turns, so that other
 * load hits both alike; a time is processor time, summed over the threads. A line gives the multiply-adds per processor
 * second of both layouts and their ratio (above 1: packed weights are faster) as the median of the pairs, with its
 * quartiles. Pairs are measured until the ratio is known to 1 %, PAIRS (200) at most. The weight consists of matrices
 * of 2048 x 2048, which are divided as the driver's guided schedule does; up to 8 rows of x it is larger than the
 * caches. The setting cpu.layout_types of profiles/cpu.yaml states results.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <accel/quant/format.h>

#include "plugins/cpu/kernels/kernels.h"
#include "tools/measure/spread.h"

enum {
    K = 2048,
    N = 2048, /* rows of a matrix */
    FEW = 8,  /* rows of x up to which W is read from memory */
    THREADS_MOST = 64,
    PAIRS_LEAST = 15,
    PAIRS_MOST = 1000
};

static const size_t weight_bytes = (size_t)64 << 20;
static const size_t rows_of_x[] = {1, 2, 4, 8, 64, 256};

/* The threads, each with a share of the rows of each matrix. */
struct team {
    pthread_barrier_t barrier;
    size_t threads;
    const struct cpu_product *product;
    const struct cpu_matmul *call; /* of all matrices; NULL: the threads end */
    double seconds[THREADS_MOST];
};

struct member {
    struct team *team;
    size_t index;
};

static double processor_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Computes panels begin .. end of a matrix. */
static void run_panels(const struct team *team, const struct cpu_matmul *call, size_t begin, size_t end)
{
    team->product->run(call, begin * CPU_MATMUL_ROWS, end * CPU_MATMUL_ROWS);
}

/* Computes the pieces of a thread: half of its share, then every so many of pieces that shrink. */
static void run_matrix(const struct team *team, const struct cpu_matmul *call, size_t index)
{
    const size_t panels = N / CPU_MATMUL_ROWS, share = panels / team->threads / 2;
    size_t turn = 0;

    run_panels(team, call, index * share, (index + 1) * share);
    for (size_t at = share * team->threads; at < panels; turn++) {
        const size_t guided = (panels - at) / (2 * team->threads), piece = guided == 0 ? 1 : guided;

        if (turn % team->threads == index)
            run_panels(team, call, at, at + piece);
        at += piece;
    }
}

static void run_share(struct team *team, size_t index)
{
    const struct cpu_matmul *all = team->call;
    const double start = processor_time();

    for (size_t first = 0; first < all->n; first += N) {
        struct cpu_matmul call = *all;

        call.n = N;
        for (uint32_t p = 0; p < 3; p++)
            if (call.w.plane[p] != NULL)
                call.w.plane[p] = (const char *)call.w.plane[p] + first * call.w.stride[p];
        if (call.w.packed != NULL)
            call.w.packed =
                (const char *)call.w.packed + first * (call.w.stride[0] + call.w.stride[1] + call.w.stride[2]);
        run_matrix(team, &call, index);
    }
    team->seconds[index] = processor_time() - start;
}

static void *member_run(void *argument)
{
    const struct member *member = argument;

    for (;;) {
        pthread_barrier_wait(&member->team->barrier);
        if (member->team->call == NULL)
            return NULL;
        run_share(member->team, member->index);
        pthread_barrier_wait(&member->team->barrier);
    }
}

static double run_all(struct team *team)
{
    double seconds = 0;

    pthread_barrier_wait(&team->barrier);
    run_share(team, 0);
    pthread_barrier_wait(&team->barrier);
    for (size_t i = 0; i < team->threads; i++)
        seconds += team->seconds[i];
    return seconds;
}

/* Returns memory in huge pages, where the system has them. */
static void *reserve(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        perror("layouts");
        exit(1);
    }
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

/* A weight in both layouts, and activations in every form. */
struct problem {
    struct cpu_matmul call;
    struct cpu_matrix rows;
    struct cpu_matrix packed;
    float *x;
    void *staged;
    float *y;
};

static void make_weights(struct problem *problem, const struct accel_format *format, uint32_t isa,
                         struct cpu_streams streams)
{
    float *row = reserve(K * sizeof(*row));
    void *planes[3] = {NULL}, *packed;
    size_t n, bytes;

    problem->rows = (struct cpu_matrix){.type = format->type};
    for (uint32_t p = 0; p < format->planes; p++)
        (void)accel_format_row_bytes(format->type, p, K, &problem->rows.stride[p]);
    bytes = problem->rows.stride[0] + problem->rows.stride[1] + problem->rows.stride[2];
    n = weight_bytes / bytes / N * N;
    for (uint32_t p = 0; p < format->planes; p++)
        problem->rows.plane[p] = planes[p] = reserve(n * problem->rows.stride[p]);
    for (size_t i = 0; i < K; i++)
        row[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    (void)accel_format_encode(format->type, row, K, planes);
    for (uint32_t p = 0; p < format->planes; p++)
        for (size_t j = 1; j < n; j++)
            memcpy((char *)planes[p] + j * problem->rows.stride[p], planes[p], problem->rows.stride[p]);
    packed = reserve(cpu_packed_bytes(isa, format->type, n, K));
    cpu_pack_weights(&problem->rows, K, 0, n, packed);
    problem->packed = problem->rows;
    problem->packed.packed = packed;
    problem->packed.streams = streams;
    problem->call.n = n;
    munmap(row, K * sizeof(*row));
}

static void free_weights(struct problem *problem, uint32_t isa)
{
    for (uint32_t p = 0; p < 3; p++)
        if (problem->rows.plane[p] != NULL)
            munmap((void *)(uintptr_t)problem->rows.plane[p], problem->call.n * problem->rows.stride[p]);
    munmap((void *)(uintptr_t)problem->packed.packed, cpu_packed_bytes(isa, problem->packed.type, problem->call.n, K));
}

/* Stages m rows of x as the driver does. */
static void stage(const struct cpu_kernels *table, struct problem *problem, size_t m, uint32_t act)
{
    struct cpu_matmul *call = &problem->call;

    call->m = m;
    if (act == CPU_ACT_BF16) {
        table->round16(problem->x, K, m, K, problem->staged, 0, m);
        call->act_bf16 = problem->staged;
    } else if (act == CPU_ACT_Q8) {
        cpu_act_q8_map(problem->staged, m, K, &call->act_q8);
        table->quantize(problem->x, K, K, &call->act_q8, 0, m);
    }
}

/* Returns whether the median is known to 1 % (95 %: 1.57 times the distance of the quartiles over the root of the
 * count; McGill, Tukey and Larsen, "Variations of box plots", 1978). */
static int is_known(const struct measure_spread *ratio)
{
    return ratio->count >= PAIRS_LEAST &&
           1.57 * (ratio->upper - ratio->lower) < 0.01 * ratio->median * sqrt((double)ratio->count);
}

static double time_layout(struct team *team, struct problem *problem, const struct cpu_product *product, int packed)
{
    problem->call.w = packed ? problem->packed : problem->rows;
    team->product = product;
    team->call = &problem->call;
    return run_all(team);
}

static void bench_rows(struct team *team, struct problem *problem, const struct cpu_product products[2], uint32_t most)
{
    static double ratios[PAIRS_MOST], sorted[PAIRS_MOST], times[2][PAIRS_MOST];
    struct measure_spread ratio = {0}, time[2];
    const double operations = (double)problem->call.m * (double)problem->call.n * K;

    for (int layout = 0; layout < 2; layout++)
        (void)time_layout(team, problem, &products[layout], layout);
    while (ratio.count < most && !is_known(&ratio)) {
        const uint32_t i = ratio.count;

        for (int turn = 0; turn < 2; turn++) {
            const int layout = (int)(i % 2) ^ turn;

            times[layout][i] = time_layout(team, problem, &products[layout], layout);
        }
        ratios[i] = times[0][i] / times[1][i];
        memcpy(sorted, ratios, (i + 1) * sizeof(*sorted));
        measure_spread(sorted, i + 1, &ratio);
    }
    for (int layout = 0; layout < 2; layout++)
        measure_spread(times[layout], ratio.count, &time[layout]);
    printf("  m=%-3zu rows %7.2f packed %7.2f Gmac/s  ratio %.3f (%.3f - %.3f, %u pairs)  %s, %s\n", problem->call.m,
           operations / time[0].median * 1e-9, operations / time[1].median * 1e-9, ratio.median, ratio.lower,
           ratio.upper, ratio.count, cpu_product_name(products[0].family), cpu_product_name(products[1].family));
}

static void bench_type(struct team *team, const struct cpu_kernels *table, uint32_t type, uint32_t pairs,
                       struct cpu_streams streams)
{
    enum { MOST = 256 };
    struct problem problem = {.call = {.k = K, .x_stride = K, .y_stride = N}};
    struct accel_format format;
    size_t n, staged = cpu_act_q8_bytes(MOST, K);

    if (cpu_packed_bytes(table->isa, type, CPU_MATMUL_ROWS, K) == 0)
        return;
    (void)accel_format_describe(type, &format);
    make_weights(&problem, &format, table->isa, streams);
    n = problem.call.n;
    staged = staged > cpu_act_bf16_bytes(MOST, K) ? staged : cpu_act_bf16_bytes(MOST, K);
    problem.x = reserve(MOST * K * sizeof(float));
    problem.staged = reserve(staged);
    problem.y = reserve((size_t)MOST * N * sizeof(float));
    for (size_t i = 0; i < (size_t)MOST * K; i++)
        problem.x[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    problem.call.x = problem.x;
    problem.call.y = problem.y;
    printf("%s\n", format.name);
    for (size_t i = 0; i < sizeof(rows_of_x) / sizeof(rows_of_x[0]); i++) {
        struct cpu_product products[2];

        problem.call.n = rows_of_x[i] <= FEW ? n : N;
        for (int layout = 0; layout < 2; layout++)
            products[layout] = cpu_product_of(table, type, CPU_ROUND_BLOCKS, layout == 1, rows_of_x[i], K);
        stage(table, &problem, rows_of_x[i], products[0].act);
        bench_rows(team, &problem, products, pairs);
    }
    problem.call.n = n;
    free_weights(&problem, table->isa);
    munmap(problem.x, MOST * K * sizeof(float));
    munmap(problem.staged, staged);
    munmap(problem.y, (size_t)MOST * N * sizeof(float));
}

int main(int argc, char **argv)
{
    const uint32_t best = cpu_isa_detect(), wish = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : best;
    const uint32_t pairs = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 200;
    const struct cpu_streams streams = {argc > 5 ? (uint16_t)strtoul(argv[5], NULL, 10) : 0,
                                        argc > 6 ? (uint16_t)strtoul(argv[6], NULL, 10) : 0};
    struct team team = {.threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 1};
    struct member members[THREADS_MOST];
    pthread_t handles[THREADS_MOST];
    struct cpu_kernels table;

    if (team.threads < 1 || team.threads > THREADS_MOST || pairs < 1 || pairs > PAIRS_MOST ||
        streams.count > CPU_STREAMS) {
        fprintf(stderr,
                "usage: layouts [ISA [THREADS (1 to %d) [TYPE|all [PAIRS (1 to %d) [STREAMS (0 to %u) AHEAD]]]]]\n",
                THREADS_MOST, PAIRS_MOST, CPU_STREAMS);
        return 2;
    }
    cpu_kernels_fill(&table, wish < best ? wish : best);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("isa %s, %zu threads, k = %d\n", cpu_isa_name(table.isa), team.threads, K);
    pthread_barrier_init(&team.barrier, NULL, (unsigned)team.threads);
    for (size_t i = 1; i < team.threads; i++) {
        members[i] = (struct member){&team, i};
        if (pthread_create(&handles[i], NULL, member_run, &members[i]) != 0)
            return 1;
    }
    for (uint32_t i = 0; i < CPU_TYPES; i++)
        if (argc <= 3 || strcmp(argv[3], "all") == 0 || accel_format_find(argv[3]) == cpu_type_at(i))
            bench_type(&team, &table, cpu_type_at(i), pairs, streams);
    team.call = NULL;
    if (team.threads > 1)
        pthread_barrier_wait(&team.barrier);
    for (size_t i = 1; i < team.threads; i++)
        pthread_join(handles[i], NULL);
    pthread_barrier_destroy(&team.barrier);
    return 0;
}
