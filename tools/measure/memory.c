/* SPDX-License-Identifier: Apache-2.0 */
/* Measures memory bandwidth by reading a block in several ways, since prefetchers of processors differ: front to
 * back, as four streams, and as four streams with software prefetch (on a Zen 3 server a third faster than the
 * first); every round uses the fastest. Sums keep the loads alive; they cost nothing beside main memory. */
#define _GNU_SOURCE
#include "config.h"

#include "tools/measure/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/measure/team.h"

#define MIB (UINT64_C(1) << 20)
#define BLOCK (256 * MIB)
#define HUGE_PAGE (2 * MIB)

/* RUNS of a round: three ways of reading, a copy, and one in the cache. */
enum { WARM_UP = 2, ROUNDS_MOST = 100, STEP = 256, RUNS = 5 };

struct block {
    char *bytes;
    uint64_t part; /* bytes of each thread */
    measure_tell *tell;
    void *data;
    uint64_t done; /* runs, of `all` */
    uint64_t all;
    uint64_t sinks[MEASURE_THREADS];
};

enum { LINE = 64 };

static void touch(void *context, uint32_t thread, uint32_t threads)
{
    struct block *block = context;

    (void)threads;
    memset(block->bytes + block->part * thread, (int)thread + 1, block->part);
}

/* Reads the block as `streams` interleaved streams, each with a software prefetch `ahead` bytes before its use. */
static inline __attribute__((always_inline)) void read_streams(struct block *block, uint32_t thread, uint64_t streams,
                                                               uint64_t ahead)
{
    const uint64_t length = block->part / streams;
    const char *from = block->bytes + block->part * thread;
    uint64_t sum = 0;

    for (uint64_t i = 0; i < length; i += STEP)
        for (uint64_t stream = 0; stream < streams; stream++) {
            const char *at = from + stream * length + i;

            for (uint64_t line = 0; line < STEP; line += LINE) {
                uint64_t word;

                if (ahead != 0)
                    __builtin_prefetch(at + ahead + line);
                memcpy(&word, at + line, sizeof(word));
                sum += word;
            }
        }
    block->sinks[thread] = sum;
}

static void read_straight(void *context, uint32_t thread, uint32_t threads)
{
    (void)threads;
    read_streams(context, thread, 1, 0);
}

static void read_four(void *context, uint32_t thread, uint32_t threads)
{
    (void)threads;
    read_streams(context, thread, 4, 0);
}

static void read_asked(void *context, uint32_t thread, uint32_t threads)
{
    (void)threads;
    read_streams(context, thread, 4, 1024);
}

enum { AGAIN = 8 };

static void read_again(void *context, uint32_t thread, uint32_t threads)
{
    (void)threads;
    for (uint32_t i = 0; i < AGAIN; i++)
        read_streams(context, thread, 4, 0);
}

static void copy_half(void *context, uint32_t thread, uint32_t threads)
{
    struct block *block = context;
    char *to = block->bytes + block->part * thread;

    (void)threads;
    memcpy(to, to + block->part / 2, block->part / 2);
}

/* Reads a cache size from sysfs, which has a folder for each cache of a processor; the C library's answer has been
 * 8 times too large. */
static double read_size(uint32_t index)
{
    char path[96], unit = 'B';
    double size = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%u/size", index);
    file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%lf%c", &size, &unit) < 1)
        size = 0;
    fclose(file);
    return size * (unit == 'K' ? 1024 : unit == 'M' ? 1048576 : 1);
}

double measure_last_cache(void)
{
    double most = 0;

    for (uint32_t i = 0; i < 8; i++) {
        double size = read_size(i);

        most = size > most ? size : most;
    }
#ifdef _SC_LEVEL3_CACHE_SIZE
    if (most == 0 && sysconf(_SC_LEVEL3_CACHE_SIZE) > 0)
        most = (double)sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return most;
}

/* Chooses the block size: at most a quarter of free memory, since other processes may be running. */
static uint64_t choose_bytes(uint32_t threads)
{
    const double cache = measure_last_cache();
    const double pages = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const uint64_t unit = HUGE_PAGE * threads;
    double bytes = 4 * cache > (double)BLOCK ? 4 * cache : (double)BLOCK;

    if (pages > 0 && bytes > pages / 4)
        bytes = pages / 4;
    return bytes < (double)unit ? unit : (uint64_t)bytes / unit * unit;
}

/* Runs one measurement and reports progress. */
static int run_one(uint32_t threads, const int32_t *processors, measure_work *work, struct block *block,
                   double *out_seconds)
{
    if (block->tell != NULL && block->tell(block->data, block->done++, block->all) != 0)
        return EINTR;
    return measure_team(threads, processors, work, block, out_seconds);
}

/* Reads the block once in each way, and returns the best time. */
static int read_once(uint32_t threads, const int32_t *processors, struct block *block, double *out_seconds)
{
    measure_work *const ways[] = {read_straight, read_four, read_asked};
    int wrong = 0;

    for (uint32_t i = 0; wrong == 0 && i < sizeof(ways) / sizeof(*ways); i++) {
        double seconds;

        wrong = run_one(threads, processors, ways[i], block, &seconds);
        if (i == 0 || seconds < *out_seconds)
            *out_seconds = seconds;
    }
    return wrong;
}

/* Measures reads from the cache: the beginning of each thread's part is a block of its own. */
static int read_cached(uint32_t threads, const int32_t *processors, uint32_t rounds, struct block *block,
                       struct measure_memory *out)
{
    const double part = measure_last_cache() / 2 / threads;
    double rates[ROUNDS_MOST], seconds;
    int wrong = 0;

    if (part < 16 * STEP || part > (double)block->part)
        return 0;
    block->part = (uint64_t)part / (4 * STEP) * (4 * STEP);
    out->cached_bytes = (double)block->part * threads;
    for (uint32_t r = 0; wrong == 0 && r < rounds + WARM_UP; r++) {
        wrong = run_one(threads, processors, read_again, block, &seconds);
        rates[r < WARM_UP ? 0 : r - WARM_UP] = AGAIN * out->cached_bytes / seconds;
    }
    if (wrong == 0)
        measure_spread(rates, rounds, &out->cached);
    return wrong;
}

static int run_rounds(uint32_t threads, const int32_t *processors, uint32_t rounds, struct block *block,
                      struct measure_memory *out)
{
    double reads[ROUNDS_MOST], copies[ROUNDS_MOST], seconds;
    const double bytes = (double)block->part * threads;
    int wrong = run_one(threads, processors, touch, block, &seconds);

    for (uint32_t r = 0; wrong == 0 && r < rounds + WARM_UP; r++) {
        const uint32_t at = r < WARM_UP ? 0 : r - WARM_UP;

        wrong = read_once(threads, processors, block, &seconds);
        reads[at] = bytes / seconds;
        if (wrong == 0)
            wrong = run_one(threads, processors, copy_half, block, &seconds);
        copies[at] = bytes / seconds;
    }
    if (wrong != 0)
        return wrong;
    measure_spread(reads, rounds, &out->read);
    measure_spread(copies, rounds, &out->copy);
    return 0;
}

int measure_memory(uint32_t threads, const int32_t *processors, uint32_t rounds, measure_tell *tell, void *data,
                   struct measure_memory *out_memory)
{
    const uint64_t bytes = choose_bytes(threads);
    struct block *block = calloc(1, sizeof(*block));
    char *mapped = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int wrong = block == NULL || mapped == MAP_FAILED ? ENOMEM : 0;

    *out_memory = (struct measure_memory){.bytes = (double)bytes};
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MOST ? ROUNDS_MOST : rounds;
    if (wrong == 0) {
        block->bytes = (char *)(((uintptr_t)mapped + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
        block->part = bytes / threads;
        block->tell = tell;
        block->data = data;
        block->all = 1 + (uint64_t)(rounds + WARM_UP) * RUNS;
#ifdef MADV_HUGEPAGE
        out_memory->huge = madvise(block->bytes, bytes, MADV_HUGEPAGE) == 0;
#endif
        wrong = run_rounds(threads, processors, rounds, block, out_memory);
    }
    if (wrong == 0) {
        wrong = read_cached(threads, processors, rounds, block, out_memory);
    }
    if (mapped != MAP_FAILED)
        munmap(mapped, bytes + HUGE_PAGE);
    free(block);
    return wrong;
}
