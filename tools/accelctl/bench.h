/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the verb bench measures and what its parts share: rows with times, what a row moves and multiplies, the limits
 * that this machine was measured to have, and the run of another program to stand beside. Times are seconds, sizes
 * bytes, rates per second. doc/benchmark.md has method and formulas.
 */
#ifndef ACCELCTL_BENCH_H
#define ACCELCTL_BENCH_H

#include "tools/accelctl/model.h"
#include "tools/accelctl/working.h"
#include "tools/measure/memory.h"
#include "tools/measure/noise.h"
#include "tools/measure/peak.h"
#include "tools/measure/team.h"

#include <accel/builder.h>

enum { BENCH_LIST = 32, BENCH_SEQUENCES = 16, BENCH_ROUNDS = 1000 };

/* What can be asked for; a word of the command line each, in the order in which they are measured. */
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
const char *bench_subject_name(enum bench_subject subject);

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
    struct text_list against;
    uint64_t rounds;
    uint64_t threads;
};

/* Which multiply-adds a step makes, by what the fastest instructions for them may be. */
enum bench_products {
    BENCH_F32,
    BENCH_BF16,
    BENCH_F16,  /* weights in F16 with x rounded: two products of BF16 are one of these */
    BENCH_INT8, /* weights of 7 or 8 bits */
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

/* A sequence of instructions and what it was measured to do. */
struct bench_sequence {
    const struct measure_sequence *sequence;
    struct measure_spread rate;
};

struct bench_machine {
    uint32_t measured; /* 1: the members below hold */
    uint32_t threads;
    int32_t processors[MEASURE_RANKS];
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
    uint64_t prompt;  /* what it is told by, beside its name */
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
struct accel_device;
struct accel_queue;

struct bench {
    const struct bench_options *chosen;
    uint32_t wanted[BENCH_SUBJECTS];
    const char *path; /* of the model, or NULL */
    struct bench_numbers prompts, tokens, depths, lengths, sequences;
    struct working working;
    struct accel_session *session; /* that an interrupt cancels, or NULL */
    struct accel_error error;
    struct bench_machine machine;
    struct bench_row *rows;
    uint32_t count, room;
    struct measure_moment begun;
    struct measure_noise noise;
    json_t *facts;    /* of host, device and model: an object of texts and numbers */
    json_t *warnings; /* texts */
    struct bench_peer *peer;
    uint32_t interrupted;
};

/* ---- rows (bench_rows.c) ---- */

/* A new row for `rounds` times; NULL without memory, said in bench->error. */
struct bench_row *bench_row_add(struct bench *bench, enum bench_subject subject, uint32_t rounds, const char *format,
                                ...) ACCEL_PRINTF(4, 5);
/* Takes the time of a round. */
void bench_row_time(struct bench_row *row, double seconds);
/* Order statistics of the times so far. */
void bench_row_summarize(struct bench_row *row);
/* Spread and limit of all rows; those without a time are taken out. */
void bench_rows_finish(struct bench *bench);
/* units / seconds, or milliseconds, or by bytes and products: the number that people read, for a time of the row. */
double bench_row_value(const struct bench_row *row, double seconds);
double bench_cost_products(const struct bench_cost *cost);
void bench_warn(struct bench *bench, const char *format, ...) ACCEL_PRINTF(2, 3);
/* Rounds as asked for, but from `least` to `most`. */
uint32_t bench_rounds(const struct bench *bench, uint32_t least, uint32_t most);
/* The setting that --threads stands for, with its value in `text`; 0 where it was not given, else 1. */
uint32_t bench_give_threads(const struct bench *bench, char text[32], struct accel_given *out_given);
/* The next of a fixed sequence of numbers, of which the upper bits are as good as random: Numerical Recipes. */
static inline uint32_t bench_random(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u;
}

/* ---- limits (bench_machine.c) ---- */

/* Threads and processors as the plan has them. */
void bench_machine_threads(struct bench_machine *machine, const struct accel_plan *plan);
/* Measures memory and sequences, with `rounds` rounds each. Answers -1, or an exit code after an error was said. */
int bench_machine_measure(struct bench *bench);
/* The same for a device, which is opened for that where it is none of the processors. */
int bench_machine_measure_device(struct bench *bench, struct accel_context *context,
                                 const struct accel_device_info *info);
/* Of a device with queues of its own, what copying on it gives; why not stands in the machine where that fails
 * (bench_device.c). */
void bench_device_measure(struct bench *bench, struct accel_device *device, const struct accel_facts *facts);
/* How the clock has changed since. */
void bench_machine_again(struct bench *bench);
/* Which products a matmul of weights of `type` makes where x may be rounded to `rounding`. */
enum bench_products bench_products_of(uint32_t type, uint32_t rounding);
/* Least seconds for a cost, what bounds it and what that is called. */
double bench_limit(const struct bench_machine *machine, const struct bench_cost *cost, enum bench_bound *out_bound,
                   char name[32]);

/* ---- costs (bench_cost.c) ---- */

/* Adds what one step of `tokens` tokens of each of `sequences` sequences costs, each of which then has `length` tokens
 * in its caches. */
int32_t bench_cost_step(const struct accel_graph *graph, uint64_t tokens, uint64_t sequences, uint64_t length,
                        struct bench_cost *cost, struct accel_error *error);

/* ---- subjects: answer -1, or an exit code after an error was said ---- */

int bench_load(struct bench *bench);
/* Before anything is measured: refuses where no test that was asked for has room. */
int bench_model_check(const struct bench *bench, const struct opened *opened);
int bench_model(struct bench *bench, struct opened *opened);
/* How many tokens there is room for, and whose limit that is: the model's, or a setting's. Answers `text`. */
enum { BENCH_ROOM_TEXT = 96 };
const char *bench_room_text(const struct opened *opened, char text[BENCH_ROOM_TEXT]);
/* Of a loaded session; answers a code of the library. `ids` has one for each token of its context. */
int32_t bench_batch(struct bench *bench, struct accel_session *session, const int32_t *ids);
/* Whether types, operators and shapes of the command line are sound. */
int bench_operators_check(const struct bench *bench);
/* With the types, operators and shapes of the command line; measures the machine first where that is not done. Where
 * operators are not wanted, that alone. */
int bench_operators(struct bench *bench, struct accel_context *context);
/* With the shapes of the model's attention, by length. */
int bench_attention(struct bench *bench, const struct opened *opened);

/* ---- facts, into bench->facts (bench_facts.c) ---- */

/* What every run has, also one that is interrupted at once. */
void bench_facts_run(struct bench *bench);
void bench_facts_host(struct bench *bench, const struct accel_context *context);
/* What a plan says of device and settings. */
void bench_facts_plan(struct bench *bench, const struct accel_plan *plan);
void bench_facts_model(struct bench *bench, const struct accel_model *model);
/* Of a model that none but processes of their own has opened (load), or nobody (operators). */
void bench_facts_unopened(struct bench *bench);

/* Warns of what disturbed the run, and of results that it disturbed (bench_noise.c). */
void bench_noise_judge(struct bench *bench);

/* ---- one operator (bench_graph.c, bench_operator.c) ---- */

/* What is run; rows are tokens. */
struct bench_operator {
    uint32_t op;
    uint32_t type;  /* of the weight, of the table, or of keys and values */
    uint64_t m;     /* rows */
    uint64_t n;     /* of matmul and embed: rows of the weight; of others the width of a row */
    uint64_t k;     /* width of the weight */
    uint64_t heads; /* of attention and rotary */
    uint64_t kv_heads;
    uint64_t size;   /* of a head */
    uint64_t length; /* of attention: cached tokens, the rows included */
    uint32_t rounding;
    uint32_t window;
};

/* Begins *out_builder and makes a graph of that one operator, which lives as long as it. */
int32_t bench_graph(const struct bench_operator *what, struct accel_builder **out_builder,
                    const struct accel_graph **out_graph, struct accel_error *error);
/* Runs it on a device and adds a row. What the device does not take is told, and left out. Answers -1, or an exit code.
 */
int bench_operator_run(struct bench *bench, enum bench_subject subject, struct accel_device *device,
                       struct accel_queue *queue, const struct bench_operator *what);
/* Fills an input of such a graph: places of tokens and pages as they must be, everything else by a fixed seed. */
void bench_graph_fill(const struct bench_operator *what, const struct accel_value *value, void *memory, uint64_t bytes);

/* ---- another run (bench_against.c) ---- */

int bench_against_read(struct bench *bench);
/* Puts its times beside ours, and its other tests below as rows without a time of ours. */
void bench_against_match(struct bench *bench);
void bench_against_free(struct bench_peer *peer);
/* "llama-bench 3f545becc" and the short "llama-bench". */
const char *bench_peer_title(const struct bench_peer *peer);
const char *bench_peer_name(const struct bench_peer *peer);
json_t *bench_peer_json(const struct bench_peer *peer);

/* ---- results ---- */

void bench_print(const struct bench *bench);
json_t *bench_json(const struct bench *bench);
/* Appends the document to a database; answers -1, or an exit code after an error was said. */
int bench_sqlite_check(const struct bench *bench);
int bench_sqlite_append(const struct bench *bench, const json_t *document);

#endif
