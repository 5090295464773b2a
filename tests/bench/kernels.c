/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels [LEVEL [THREADS [TYPE|all [8|row|32 [rows]]]]]: speed of the cpu driver's kernels beside what the machine can
 * do: bytes per second of a plain read, and multiply-adds per second of each sequence of instructions. Every figure is
 * the best of several runs; nothing is asserted. With `rows`: multiply-adds per second by the number of rows of x, with
 * weights from memory.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <accel/quant/format.h>

#include "plugins/cpu/kernels/kernels.h"
#include "tools/measure/memory.h"
#include "tools/measure/peak.h"

#define MOST_THREADS 64u
#define REPEAT 7

/* One thread is timed by its own processor time, so that other programs disturb less; several by the clock. */
static double now(size_t threads)
{
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A piece of work for part `part` of `parts`. */
typedef void work_fn(void *context, size_t part, size_t parts);

struct share {
    work_fn *work;
    void *context;
    size_t part;
    size_t parts;
};

static void *share_run(void *argument)
{
    struct share *share = argument;
    share->work(share->context, share->part, share->parts);
    return NULL;
}

/* Best time of the work on `parts` threads. */
static double best_time(work_fn *work, void *context, size_t parts)
{
    double best = 1e9;
    for (int r = 0; r < REPEAT; r++) {
        pthread_t threads[MOST_THREADS];
        struct share shares[MOST_THREADS];
        double start = now(parts);
        for (size_t p = 0; p < parts; p++) {
            shares[p] = (struct share){work, context, p, parts};
            if (p > 0 && pthread_create(&threads[p], NULL, share_run, &shares[p]) != 0)
                exit(1);
        }
        share_run(&shares[0]);
        for (size_t p = 1; p < parts; p++)
            pthread_join(threads[p], NULL);
        double time = now(parts) - start;
        best = time < best ? time : best;
    }
    return best;
}

static void *must(void *memory)
{
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return memory;
}

struct stream {
    const char *bytes;
    size_t size;
    uint64_t sink[MOST_THREADS * 8];
};

static void read_stream(void *context, size_t part, size_t parts)
{
    struct stream *s = context;
    typedef uint64_t words __attribute__((vector_size(64), aligned(8)));
    const char *from = s->bytes + s->size / parts * part;
    words sum = {0};
    for (size_t i = 0; i + 256 <= s->size / parts; i += 256) {
        const words *w = (const words *)(from + i);
        sum += (w[0] ^ w[1]) ^ (w[2] ^ w[3]);
    }
    s->sink[part * 8] = sum[0] ^ sum[3];
}

struct problem {
    const struct cpu_kernels *table;
    struct cpu_matmul call;
    uint32_t rounding;
};

static void run_matmul(void *context, size_t part, size_t parts)
{
    struct problem *p = context;
    size_t unit = (p->call.n + parts - 1) / parts;
    size_t begin = unit * part, end = begin + unit < p->call.n ? begin + unit : p->call.n;
    cpu_product_of(p->table, p->call.w.type, p->rounding, 0, p->call.m, p->call.k).run(&p->call, begin, end);
}

#define OFTEN 32

/* A small problem, so often that starting threads does not count. */
static void run_matmul_often(void *context, size_t part, size_t parts)
{
    for (int i = 0; i < OFTEN; i++)
        run_matmul(context, part, parts);
}

static void random_weights(const struct accel_format *format, struct cpu_matrix *w, size_t n, size_t k)
{
    float *row = must(malloc(k * sizeof(float)));
    for (size_t i = 0; i < k; i++)
        row[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    for (uint32_t p = 0; p < format->planes; p++) {
        (void)accel_format_row_bytes(format->type, p, k, &w->stride[p]);
        w->plane[p] = must(malloc(n * w->stride[p]));
    }
    w->type = format->type;
    void *planes[3] = {(void *)w->plane[0], (void *)w->plane[1], (void *)w->plane[2]};
    (void)accel_format_encode(format->type, row, k, planes);
    for (uint32_t p = 0; p < format->planes; p++) {
        for (size_t j = 1; j < n; j++)
            memcpy((char *)planes[p] + j * w->stride[p], planes[p], w->stride[p]);
    }
    free(row);
}

/* Bytes of weights per second for few rows of x: from memory beside a plain read between the runs, and from the second
 * cache, which shows what the operations alone would allow. */
static void bench_decode(struct problem *p, const struct accel_format *format, size_t threads)
{
    const size_t n = p->call.n;
    struct stream stream = {.bytes = p->call.w.plane[0], .size = n * p->call.w.stride[0]};
    const double bytes = (double)n * (double)p->call.k * format->bits_per_value / 8;
    double read = 1e9;
    for (size_t m = 1; m <= 4; m *= 2) {
        double time = best_time(read_stream, &stream, threads);
        read = time < read ? time : read;
        p->call.m = m;
        p->call.n = n;
        p->call.y_stride = n;
        time = best_time(run_matmul, p, threads);
        printf("  m=%zu %6.2f GB/s", m, bytes / time * 1e-9);
        p->call.n = (size_t)((128u << 10) / (bytes / (double)n)) * threads;
        run_matmul(p, 0, 1);
        printf(" (cache %6.2f)",
               bytes / (double)n * (double)p->call.n / best_time(run_matmul_often, p, threads) * 1e-9 * OFTEN);
    }
    printf("  read %6.2f", (double)stream.size / read * 1e-9);
    p->call.n = n;
}

/* Multiply-adds per second for 1 to 32 rows of x, as steps of several sequences have them; weights from memory. */
static void bench_rows(struct problem *p, size_t threads)
{
    static const size_t rows[] = {1, 2, 3, 4, 6, 8, 12, 16, 32};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        p->call.m = rows[i];
        p->call.y_stride = p->call.n;
        const double operations = (double)rows[i] * (double)p->call.n * (double)p->call.k;
        printf("  %zu: %6.2f", rows[i], operations / best_time(run_matmul, p, threads) * 1e-9);
    }
    printf(" Gmac/s\n");
}

/* Times one type: decode (m = 1) as bytes of weights, prefill (m = 128, 512) as multiply-adds. */
static void bench_matmul(const struct cpu_kernels *table, uint32_t type, uint32_t rounding, int by_rows, size_t threads)
{
    enum { M = 512, K = 2048, SMALL_N = 2048, ROWS = 32 };
    static const char *const names[] = {"act_f32", "act_q8", "act_q8_row"};
    struct accel_format format;
    const int weight = cpu_weight_of(type);
    struct problem p = {.table = table, .call = {.k = K, .x_stride = K}, .rounding = rounding};
    (void)accel_format_describe(type, &format);
    if (rounding != CPU_ROUND_NONE && table->product[CPU_GEMV_UNPACKED][weight] == NULL &&
        table->product[CPU_GEMM8][weight] == NULL)
        return;
    if (rounding == CPU_ROUND_ROWS && (table->product[CPU_GEMM8_ROW][weight] == NULL || format.digit_bits != 8))
        return;
    /* More than any cache holds. */
    const size_t n = (size_t)((96u << 20) / (K * format.bits_per_value / 8));
    p.call.n = n;
    random_weights(&format, &p.call.w, n, K);
    float *x = must(malloc(M * K * sizeof(float)));
    float *y = must(calloc(ROWS * n + (size_t)M * SMALL_N, sizeof(float)));
    for (size_t i = 0; i < M * K; i++)
        x[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    p.call.x = x;
    void *rounded = must(malloc(cpu_act_q8_bytes(M, K)));
    cpu_act_q8_map(rounded, M, K, &p.call.act_q8);
    (rounding == CPU_ROUND_ROWS ? table->quantize_rows : table->quantize)(x, K, K, &p.call.act_q8, 0, M);
    float *arranged = must(malloc(cpu_act_f32_bytes(M, K)));
    if (table->arrange != NULL)
        table->arrange(x, K, M, K, arranged, 0, M);
    p.call.act_f32 = arranged;
    p.call.y = y;
    printf("%-8s %-10s", format.name, names[rounding]);
    if (by_rows)
        bench_rows(&p, threads);
    else
        bench_decode(&p, &format, threads);
    for (size_t m = 8; !by_rows && m <= M; m *= m == 8 ? 2 : m == 16 ? 8 : 4) {
        p.call.m = m;
        if (table->arrange != NULL)
            table->arrange(x, K, m, K, arranged, 0, m);
        p.call.n = SMALL_N;
        p.call.y_stride = SMALL_N;
        double operations = (double)m * SMALL_N * K;
        printf("  m=%zu %7.2f Gmac/s", m, operations / best_time(run_matmul, &p, threads) * 1e-9);
    }
    if (!by_rows)
        printf("\n");
    free(x);
    free(y);
    free(rounded);
    free(arranged);
    free((void *)p.call.w.plane[0]);
    free((void *)p.call.w.plane[1]);
    free((void *)p.call.w.plane[2]);
}

static void bench_machine(size_t threads)
{
    struct measure_memory memory;
    struct measure_spread rate;
    if (measure_memory((uint32_t)threads, NULL, REPEAT, NULL, NULL, &memory) == 0)
        printf("%-18s %7.2f GB/s\n", "read", memory.read.most * 1e-9);
    for (uint32_t i = 0; measure_sequence_get(i); i++) {
        const struct measure_sequence *one = measure_sequence_get(i);
        if (one->is_here() && measure_peak(one, (uint32_t)threads, NULL, REPEAT, 0.01, &rate) == 0)
            printf("%-18s %7.2f Gmac/s\n", one->name, rate.most * 1e-9);
    }
}

int main(int argc, char **argv)
{
    uint32_t isa = cpu_isa_detect(), wish = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : isa;
    size_t threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    threads = threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
    struct cpu_kernels table;
    cpu_kernels_fill(&table, wish < isa ? wish : isa);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("level %s, %zu threads\n", cpu_isa_name(table.isa), threads);
    const int by_rows = argc > 5 && strcmp(argv[5], "rows") == 0;
    if (!by_rows)
        bench_machine(threads);
    for (uint32_t i = 0; i < CPU_TYPES; i++) {
        const uint32_t type = cpu_type_at(i);
        if (argc > 3 && strcmp(argv[3], "all") != 0 && accel_format_find(argv[3]) != type)
            continue;
        for (uint32_t rounding = CPU_ROUND_ROWS + 1; rounding-- > 0;) {
            static const char *const words[] = {"32", "8", "row"};
            if (argc <= 4 || strcmp(argv[4], words[rounding]) == 0)
                bench_matmul(&table, type, rounding, by_rows, threads);
        }
    }
    return 0;
}
