/* SPDX-License-Identifier: Apache-2.0 */
/* Interface of the parts of the command bench: rows with times, the bytes and multiply-adds of a row, the measured
 * limits of this machine, and the run of another program to compare with. Times are in seconds, sizes in bytes,
 * rates per second. doc/benchmark.md has method and formulas. */
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

/* Number formats of multiply-adds, by the fastest instructions that they permit. */
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
struct accel_device;
struct accel_queue;

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
    json_t *facts;    /* of host, device and model: an object of texts and numbers */
    json_t *warnings; /* texts */
    struct bench_peer *peer;
    uint32_t interrupted;
};

/* ---- rows (rows.c) ---- */

/* Adds a row for `rounds` times; NULL without memory, with bench->error set. */
struct bench_row *bench_row_add(struct bench *bench, enum bench_subject subject, uint32_t rounds, const char *format,
                                ...) ACCEL_PRINTF(4, 5);
/* Adds the time of a round. */
void bench_row_time(struct bench_row *row, double seconds);
/* Computes the order statistics of the times so far. */
void bench_row_summarize(struct bench_row *row);
/* Computes spread and limit of all rows; removes rows without a time. */
void bench_rows_finish(struct bench *bench);
/* Returns the figure that is printed for a time of the row: units / seconds, milliseconds, or bytes and products a
 * second. */
double bench_row_value(const struct bench_row *row, double seconds);
double bench_cost_products(const struct bench_cost *cost);
void bench_warn(struct bench *bench, const char *format, ...) ACCEL_PRINTF(2, 3);
/* Returns the requested number of rounds, limited to `least` to `most`. */
uint32_t bench_rounds(const struct bench *bench, uint32_t least, uint32_t most);
/* Makes the setting of --threads, with its value in `text`; 0 if the option was not given, else 1. */
uint32_t bench_override_threads(const struct bench *bench, char text[32], struct accel_named_value *out_override);
/* Returns the next number of a fixed sequence, whose upper bits are as good as random: Numerical Recipes. */
static inline uint32_t bench_random(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u;
}

/* ---- limits (machine.c) ---- */

/* Copies threads and processors from the plan. */
void bench_machine_threads(struct bench_machine *machine, const struct accel_plan *plan);
/* Measures memory and instruction sequences, with `rounds` rounds each. Answers -1, or an exit code after an error
 * has been printed. */
int bench_machine_measure(struct bench *bench);
/* Measures a device; opens it for that unless it is one of the processors. */
int bench_machine_measure_device(struct bench *bench, struct accel_context *context,
                                 const struct accel_device_info *info);
/* Measures the copy bandwidth of a device with queues of its own; on failure the reason is stored in the machine
 * (device.c). */
void bench_device_measure(struct bench *bench, struct accel_device *device, const struct accel_facts *facts);
/* Measures the clock again, for its change since the first measurement. */
void bench_machine_again(struct bench *bench);
/* Returns the product format of a matmul with weights of `type` if x may be rounded to `rounding`. */
enum bench_products bench_products_of(uint32_t type, uint32_t rounding);
/* Returns the least seconds for a cost, with the bound that limits it and its name. */
double bench_limit(const struct bench_machine *machine, const struct bench_cost *cost, enum bench_bound *out_bound,
                   char name[32]);

/* ---- costs (cost.c) ---- */

/* Adds the cost of one step of `tokens` tokens of each of `sequences` sequences, each of which then has `length`
 * tokens in its KV cache. */
int32_t bench_cost_step(const struct accel_graph *graph, uint64_t tokens, uint64_t sequences, uint64_t length,
                        struct bench_cost *cost, struct accel_error *error);

/* ---- subjects: answer -1, or an exit code after an error has been printed ---- */

int bench_load(struct bench *bench);
/* Refuses, before anything is measured, if none of the requested tests fits the context. */
int bench_model_check(const struct bench *bench, const struct opened *opened);
int bench_model(struct bench *bench, struct opened *opened);
/* Writes how many tokens fit the context, and whose limit that is: the model's, or a setting's. Answers `text`. */
enum { BENCH_ROOM_TEXT = 96 };
const char *bench_room_text(const struct opened *opened, char text[BENCH_ROOM_TEXT]);
/* Measures batched decode in a loaded session; answers a code of the library. `ids` has one id for each token of
 * its context. */
int32_t bench_batch(struct bench *bench, struct accel_session *session, const int32_t *ids);
/* Checks the types, operators and shapes of the command line. */
int bench_operators_check(const struct bench *bench);
/* Measures operators with the types and shapes of the command line, after the machine if that has not been
 * measured. Measures the machine alone if no operators are requested. */
int bench_operators(struct bench *bench, struct accel_context *context);
/* Measures attention with the shapes of the model, by length. */
int bench_attention(struct bench *bench, const struct opened *opened);

/* ---- facts, into bench->facts (facts.c) ---- */

/* Records the facts of every run, also of one that is interrupted at once. */
void bench_facts_run(struct bench *bench);
void bench_facts_host(struct bench *bench, const struct accel_context *context);
/* Records device and settings of a plan. */
void bench_facts_plan(struct bench *bench, const struct accel_plan *plan);
void bench_facts_model(struct bench *bench, const struct accel_model *model);
/* Records the facts of a model that only child processes have opened (load), or that no process has opened
 * (operators). */
void bench_facts_unopened(struct bench *bench);

/* Warns of noise during the run, and of noisy results (noise.c). */
void bench_noise_judge(struct bench *bench);

/* ---- one operator (graph.c, operator.c) ---- */

/* Shape of an operator that is measured in one form. Inputs are separated by blanks: a letter (f: F32, i: I32, F: a
 * weight in F32, W: one in Q8_0, s: a state in F16), extents, and for an I32 either %N, random numbers below N, or /N,
 * ends of equal parts of N; else it counts. */
struct bench_form {
    uint32_t op;
    const char *name;
    const char *inputs;
    const void *attributes;
};

enum { BENCH_INPUTS = 6 };

/* One input of a form. */
struct bench_input {
    char kind;
    char fill; /* '%', '/' or 0 */
    uint32_t rank;
    uint64_t limit;
    struct accel_dim dims[ACCEL_RANK];
};

/* Returns the form of an operator, NULL if it has none. */
const struct bench_form *bench_form_find(uint32_t op);
/* Reads up to BENCH_INPUTS inputs of a form; returns how many it has. */
uint32_t bench_form_inputs(const struct bench_form *form, struct bench_input *inputs);

/* Operator to run; rows are tokens. */
struct bench_operator {
    uint32_t op;
    const struct bench_form *form; /* or NULL; with it the rest is 0 */
    uint32_t type;                 /* of the weight, of the table, or of keys and values */
    uint64_t m;                    /* rows */
    uint64_t n;                    /* of matmul and embed: rows of the weight; of others the width of a row */
    uint64_t k;                    /* width of the weight */
    uint64_t heads;                /* of attention and rotary */
    uint64_t kv_heads;
    uint64_t size;   /* of a head */
    uint64_t length; /* of attention: cached tokens, the rows included */
    uint32_t rounding;
    uint32_t window;
};

/* Begins *out_builder and makes a graph of one operator, which lives as long as the builder. */
int32_t bench_graph(const struct bench_operator *what, struct accel_builder **out_builder,
                    const struct accel_graph **out_graph, struct accel_error *error);
/* Runs the operator on a device and adds a row. An operator that the device does not support is reported, and left
 * out. Answers -1, or an exit code. */
int bench_operator_run(struct bench *bench, enum bench_subject subject, struct accel_device *device,
                       struct accel_queue *queue, const struct bench_operator *what);
/* Fills an input of such a graph: valid positions of tokens and pages, and random values of a fixed seed
 * elsewhere. */
void bench_graph_fill(const struct bench_operator *what, const struct accel_value *value, void *memory, uint64_t bytes);

/* ---- another run (against.c) ---- */

int bench_against_read(struct bench *bench);
/* Adds the times of the other run to our rows, and its other tests below as rows without a time of ours. */
void bench_against_match(struct bench *bench);
void bench_against_free(struct bench_peer *peer);
/* "llama-bench 3f545becc" and the short "llama-bench". */
const char *bench_peer_title(const struct bench_peer *peer);
const char *bench_peer_name(const struct bench_peer *peer);
json_t *bench_peer_json(const struct bench_peer *peer);

/* ---- results ---- */

void bench_print(const struct bench *bench);
json_t *bench_json(const struct bench *bench);
/* Check the database, and append the document to it; each answers -1, or an exit code after an error has been
 * printed. */
int bench_sqlite_check(const struct bench *bench);
int bench_sqlite_append(const struct bench *bench, const json_t *document);

#endif
