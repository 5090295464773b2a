/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Tables in the folder of profiles beside settings: which model runs where according to the source documents
 * (compat.yaml), their claims with the results of checks (claims.yaml), and advice on plans that do not fit, are slow
 * or inaccurate (advice.yaml).
 *
 * The files are data; this module has no knowledge of their subjects and reads them strictly: an unknown name, a value
 * that a setting does not accept, and a number that its formula does not give are errors with file:line:column.
 *
 * The tables are read once and never change. They own every string that they show; no string is NULL. They may be used
 * from any thread, and outlive the context that they were read for. Reading needs no discovery.
 */
#ifndef TOOLS_TABLES_TABLES_H
#define TOOLS_TABLES_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include <accel/context.h>
#include <accel/error.h>
#include <accel/plan.h>

struct accel_tables;

/** Reads compat.yaml, claims.yaml and advice.yaml from the context's folder of profiles; the caller frees *out_tables,
 *  which is NULL after a failure. ACCEL_E_NOT_FOUND: one of them is not there; ACCEL_E_CORRUPT: the text names
 *  file:line:column; ACCEL_E_INVALID: an argument is NULL; ACCEL_E_IO, ACCEL_E_DENIED, ACCEL_E_MEMORY. */
int32_t accel_tables_read(struct accel_context *context, struct accel_tables **out_tables, struct accel_error *error);

/** Frees the tables. NULL is allowed. */
void accel_tables_free(struct accel_tables *tables);

/* ---- compatibility ---- */

/* How well something is supported. */
#define ACCEL_COMPAT_NONE 1u
#define ACCEL_COMPAT_LIMITED 2u
#define ACCEL_COMPAT_MEDIUM 3u
#define ACCEL_COMPAT_HIGH 4u
#define ACCEL_COMPAT_FULL 5u

/** One cell of a table of the documents. */
struct accel_compat {
    uint32_t size;
    uint32_t rating;         /**< ACCEL_COMPAT_... */
    const char *rating_name; /**< "none", "limited", "medium", "high", "full" */
    const char *table;       /**< "D1": the name of the table in compat.yaml */
    const char *about;       /**< title of the table: "text models by size" */
    const char *row;         /**< "Tiny (<100M)", "CLIP", "Chrome" */
    const char *column;      /**< "CUDA", "WebGPU Support" */
    const char *platform;    /**< the platform that the cell speaks of: a file of the folder of profiles */
    const char *client;      /**< the client (a file of the folder clients), or empty */
    const char *model;       /**< a model that stands for the row: a file of the folder models, or empty */
    const char *settings;    /**< what the cell asks for, "KEY=VALUE KEY=VALUE", or empty */
    const char *source;      /**< "S0:15", document and line */
    const char *place;       /**< "/.../profiles/compat.yaml:12" */
};

/** Number of cells, table after table, row after row. */
uint32_t accel_compat_count(const struct accel_tables *tables);
/** The cell at `index`, or NULL past the end. */
const struct accel_compat *accel_compat_get(const struct accel_tables *tables, uint32_t index);

/** One row of the documents' tables of recommendations: what to use for whom. */
struct accel_recommendation {
    uint32_t size;
    uint32_t zero;        /**< 0 */
    const char *table;    /**< "D5" */
    const char *about;    /**< title of the table */
    const char *subject;  /**< "Audio Models" */
    const char *examples; /**< "Whisper, Wav2Vec2, CLAP", or empty */
    const char *advice;   /**< "Firefox", "4-bit Quantization, Flash Attention, Progressive Loading" */
    const char *reason;   /**< why, or what it is said to gain */
    const char *settings; /**< what it comes to here: "KEY=VALUE KEY=VALUE", or empty */
    const char *source;   /**< document and line */
    const char *place;    /**< file and line of the table */
};

/** Number of recommendations, table after table. */
uint32_t accel_recommendation_count(const struct accel_tables *tables);
/** The recommendation at `index`, or NULL past the end. */
const struct accel_recommendation *accel_recommendation_get(const struct accel_tables *tables, uint32_t index);

/* ---- claims ---- */

/* Verdict on a claim: ACCEL_PROMISE_RULE computes it, no file states it. (A driver's claim on a node is another
 * thing: accel/driver_module.h.) */
#define ACCEL_PROMISE_CLAIMED 1u   /**< there is no number, or none of ours to compare; `check`: how to get one */
#define ACCEL_PROMISE_ESTIMATED 2u /**< `formula` is arithmetic that gives `ours`, which agrees */
#define ACCEL_PROMISE_MEASURED 3u  /**< a measurement gives `ours`, which agrees; `formula` states what was measured */
#define ACCEL_PROMISE_REJECTED 4u  /**< arithmetic or a measurement contradicts it */

/** A number of ours agrees with one that is claimed up to so many hundredths of the claimed one. */
#define ACCEL_PROMISE_TOLERANCE 5u

/** How a verdict comes about, in words. */
#define ACCEL_PROMISE_RULE                                                                                             \
    "The verdict follows from the claimed value and our number. Our number agrees with a single value if it differs "  \
    "by at most 5 % of that value, with a range A..B if it lies in it, ends included, and with <X, <=X, >X or >=X if " \
    "the comparison holds. If it agrees, the verdict is estimated (our number is arithmetic) or measured, else "       \
    "rejected. If our number is the most or the least that is possible, a claim beyond it is rejected, and one "       \
    "within it stays claimed. A claim in words, or without a number of ours, is claimed."

/** One number that a document promises. */
struct accel_promise {
    uint32_t size;
    uint32_t verdict;         /**< ACCEL_PROMISE_... */
    const char *verdict_name; /**< "claimed", "estimated", "measured", "rejected" */
    const char *id;           /**< "Z1.a" */
    const char *claim;        /**< in words */
    const char *subject;      /**< what it speaks of: "weights", "kv", "attention", "load", "speed", ... */
    const char *value;        /**< the document's: "87.5", "30..45" (a range), "<1", or words */
    const char *unit;         /**< "%", "x", "ms/token", "GB", "tok" or empty */
    const char *source;       /**< document and line */
    const char *check;        /**< how it is checked here */
    const char *ours;         /**< our number in the same unit, or empty */
    const char *formula;      /**< arithmetic that gives `ours`, or words on what was measured; may be empty */
    const char *finding;      /**< what to think of the claim, one sentence; may be empty */
    const char *place;        /**< file and line of the table */
    const char *origin;       /**< of `ours`: "estimated", "measured", or empty where there is none */
    const char *bound;        /**< "most", "least": `ours` is the most or the least that is possible; else empty */
    const char *measure;      /**< measurement of the command that tests it ("size.q4.f16"), or empty */
};

/** Number of claims. */
uint32_t accel_promise_count(const struct accel_tables *tables);
/** The claim at `index`, or NULL past the end. */
const struct accel_promise *accel_promise_get(const struct accel_tables *tables, uint32_t index);

/** Returns the verdict on a claim for `measured`, our number in the claim's unit: ACCEL_PROMISE_MEASURED,
 * _REJECTED, or _CLAIMED if the claim is in words or the number is missing. */
uint32_t accel_promise_judge(const struct accel_promise *promise, double measured);
/** The name of a verdict, "" of one that there is not. */
const char *accel_promise_verdict_name(uint32_t verdict);

/* ---- advice ---- */

/* Goal of the search for a step's value. */
#define ACCEL_ADVICE_FIXED 0u    /**< nothing is searched: `set` has the values */
#define ACCEL_ADVICE_LARGEST 1u  /**< the largest value of `search` that fits in memory, not below `bound` */
#define ACCEL_ADVICE_SMALLEST 2u /**< the smallest value of `search` that fits in memory, not above `bound` */

/** One step of the advice on a topic. */
struct accel_advice {
    uint32_t size;
    uint32_t search_wanted;              /**< ACCEL_ADVICE_... */
    const char *topic;                   /**< "oom" */
    const char *id;                      /**< "oom.q4": stable, for people and programs */
    const char *text;                    /**< what to do, a sentence in the imperative */
    const char *when;                    /**< its conditions as they are written, ", " between them, or empty */
    const struct accel_named_value *set; /**< settings that carry it out; `origin` is the place in the file */
    const char *search;                  /**< setting whose value is searched, or empty */
    const char *bound;                   /**< least or most value without unit, or a fact; may be empty */
    const char *cost;                    /**< what it costs, in words; may be empty */
    const char *cost_origin;             /**< "claimed S3:75", "measured ...", "estimated: ..."; empty where cost is */
    const char *needs;                   /**< what has to be done besides: "accelctl quantize MODEL ...", or empty */
    const char *source;                  /**< document and line, and words */
    const char *place;                   /**< file and line of the table */
    uint32_t set_count;                  /**< of `set` */
    uint32_t rank;                       /**< place among the steps of its topic, from 1: what is tried first */
};

/** Number of topics. */
uint32_t accel_advice_topic_count(const struct accel_tables *tables);
/** The name of the topic at `index` ("oom"), or NULL past the end; its words in *out_about, which may be NULL. */
const char *accel_advice_topic_get(const struct accel_tables *tables, uint32_t index, const char **out_about);
/** Number of steps of a topic, best first; 0 where there is no such topic. */
uint32_t accel_advice_count(const struct accel_tables *tables, const char *topic);
/** The step at `index` of a topic, or NULL past the end. */
const struct accel_advice *accel_advice_get(const struct accel_tables *tables, const char *topic, uint32_t index);
/** Returns 1 if all conditions of the step hold for these facts (names as in profiles, sizes in bytes), else 0. A
 * condition on a missing fact does not hold. Only a plan can tell whether a step is in force already, and whether
 * it helps. */
uint32_t accel_advice_applies(const struct accel_tables *tables, const struct accel_advice *step,
                              const struct accel_named_value *facts, uint32_t fact_count);

/* ---- reading ---- */

/** Kind of a file. */
enum accel_table_file { ACCEL_TABLE_COMPAT, ACCEL_TABLE_CLAIMS, ACCEL_TABLE_ADVICE };

/** Reads the three files of a folder. */
int32_t accel_tables_load(const char *folder, struct accel_tables **out_tables, struct accel_error *error);

/** Reads the tables of one text, that of `path`; the other tables are empty. */
int32_t accel_tables_parse(enum accel_table_file file, const char *path, const char *data, size_t bytes,
                           struct accel_tables **out_tables, struct accel_error *error);

/** Evaluates an arithmetic expression: decimal numbers, + - * /, brackets and blanks. False if the text is anything
 * else, divides by zero, or nests deeper than 32 brackets. */
bool accel_formula_value(const char *text, double *out_value);

/** Returns whether `number`, a printed decimal number, is `value` rounded to as many places. */
bool accel_formula_agrees(const char *number, double value);

#endif
