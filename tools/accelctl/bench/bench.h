/* SPDX-License-Identifier: Apache-2.0 */
/* State of the command bench: its options, rows with times, the cost of a row in bytes and multiply-adds, and the
 * measured limits of this machine. Times are in seconds, sizes in bytes, rates per second. doc/benchmark.md has method
 * and formulas. */
#ifndef ACCELCTL_BENCH_H
#define ACCELCTL_BENCH_H

#include <accel/builder.h>

#include "tools/accelctl/model.h"
#include "tools/accelctl/progress.h"
#include "tools/measure/memory.h"
#include "tools/measure/noise.h"
#include "tools/measure/peak.h"
#include "tools/measure/team.h"

enum { BENCH_LIST = 32, BENCH_SEQUENCES = 16, BENCH_ROUNDS = 1000 };

/* Subjects of a benchmark: a word of the command line each, in the order in which they are measured. */
enum bench_subject {
    BENCH_MACHINE,
    BENCH_LOAD,
    BENCH_PREFILL,
    BENCH_DECODE,
    BENCH_BATCH,
    BENCH_ATTENTION,
    BENCH_OPERATORS,
    BENCH_SUBJECTS
};

/* A list of whole numbers of the command line: "128,512". */
struct bench_numbers {
    uint64_t items[BENCH_LIST];
    uint32_t count;
};

struct bench_options {
    struct common common;
    const char *prompts;
    const char *tokens;
    const char *depths;
    const char *lengths;
    const char *sequences;
    const char *types;
    const char *operators;
    const char *shapes;
    const char *sqlite;
    uint32_t explain;
    struct text_list against;
    uint64_t rounds;
    struct named_number threads;
};

/* Number formats of multiply-adds, by the fastest instructions that they permit. */
enum bench_products {
    BENCH_F32,
    BENCH_BF16,
    BENCH_F16,      /* weights in F16 with x rounded: two products of BF16 are one of these */
    BENCH_INT8,     /* weights of 7 or 8 bits */
    BENCH_INT8_ROW, /* planar ones of 8, with one scale for a row of x */
    BENCH_INT6,
    BENCH_INT5,
    BENCH_INT4, /* weights of 4 bits or fewer */
    BENCH_PRODUCTS
};

struct bench_cost {
    double bytes; /* that have to come from memory, or go there */
    double step;  /* the most of one step; below the size of a cache they may come from there */
    double products[BENCH_PRODUCTS];
};

/* Sequence of instructions and its measured rate. */
struct bench_sequence {
    const struct measure_sequence *sequence;
    struct measure_spread rate;
};

struct bench_machine {
    uint32_t measured; /* 1: the members below hold */
    uint32_t threads;
    int32_t processors[MEASURE_THREADS];
    struct measure_memory memory;
    struct bench_sequence sequences[BENCH_SEQUENCES];
    uint32_t sequence_count;
    const struct bench_sequence *best[BENCH_PRODUCTS]; /* NULL: unknown */
    double rate[BENCH_PRODUCTS];                       /* of them, products of that kind a second */
    uint32_t is_device; /* 1: the device has queues and memory of its own, the processors' limits are not its limits */
    struct measure_spread device_copy; /* bytes read and written together, a second; count 0: not measured */
    double device_bytes;               /* of one of the two buffers */
    char device_reason[160];           /* why it was not measured */
    double drift; /* floats a second at the end of the run over those at its beginning; 0: not measured */
};

enum bench_bound { BENCH_BOUND_UNKNOWN, BENCH_BOUND_BYTES, BENCH_BOUND_OPERATIONS, BENCH_BOUND_READ };

struct bench_row {
    enum bench_subject subject;
    char name[64];    /* "prefill 512 at 4096" */
    const char *unit; /* "tok/s", "ms" or, of operators, what bounds them: "GB/s", "Gmac/s" */
    uint64_t prompt;  /* identifies the row, with its name and those below */
    uint64_t tokens;
    uint64_t depth;
    uint64_t sequences;
    double units;    /* of one round: tokens; of times and operators 1 */
    double *seconds; /* of each round, in their order */
    uint32_t rounds;
    struct measure_spread time;
    struct bench_cost cost;
    enum bench_bound bound;
    double limit;        /* seconds that the machine needs at least; 0: unknown */
    char limit_name[32]; /* "memory read", "vpdpbusd zmm" */
    uint32_t has_peer;
    struct measure_spread peer; /* seconds of one round of the other program */
};

struct bench_peer;

struct bench {
    const struct bench_options *chosen;
    uint32_t wanted[BENCH_SUBJECTS];
    const char *path; /* of the model, or NULL */
    struct bench_numbers prompts, tokens, depths, lengths, sequences;
    struct progress progress;
    struct accel_session *session; /* that an interrupt cancels, or NULL */
    struct accel_error error;
    struct bench_machine machine;
    struct bench_row *rows;
    uint32_t count;
    size_t capacity;
    struct measure_moment begun;
    struct measure_noise noise;
    json_t *facts;     /* of host, device and model: an object of texts and numbers */
    json_t *warnings;  /* texts */
    json_t *explained; /* of --explain with --json: an object per operator */
    struct bench_peer *peer;
    uint32_t interrupted;
};

#endif
