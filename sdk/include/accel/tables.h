/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What is known beside settings, as tables of the folder of profiles: which model the source documents say runs where
 * (compat.yaml), what they promise and what came out when it was checked (claims.yaml), and what to do when something
 * does not fit, is slow or is wrong (advice.yaml).
 *
 * The tables are read once and never change. They own every string that they show; no string is NULL. They may be used
 * from any thread, and outlive the context that they were read for. Reading needs no discovery.
 */
#ifndef ACCEL_TABLES_H
#define ACCEL_TABLES_H

#include <accel/abi.h>
#include <accel/context.h>
#include <accel/error.h>
#include <accel/plan.h>

ACCEL_BEGIN_C

struct accel_tables;

/** Reads compat.yaml, claims.yaml and advice.yaml from the context's folder of profiles; the caller frees *out_tables,
 *  which is NULL after a failure. ACCEL_E_NOT_FOUND: one of them is not there; ACCEL_E_CORRUPT: the text names
 *  file:line:column; ACCEL_E_INVALID: an argument is NULL; ACCEL_E_IO, ACCEL_E_DENIED, ACCEL_E_MEMORY. */
ACCEL_API int32_t accel_tables_read(struct accel_context *context, struct accel_tables **out_tables,
                                    struct accel_error *error) ACCEL_NOEXCEPT;

/** Frees the tables. NULL is allowed. */
ACCEL_API void accel_tables_free(struct accel_tables *tables) ACCEL_NOEXCEPT;

/* ---- compatibility ---- */

/* How well something is supported. */
#define ACCEL_COMPAT_NONE 1u
#define ACCEL_COMPAT_LIMITED 2u
#define ACCEL_COMPAT_MEDIUM 3u
#define ACCEL_COMPAT_HIGH 4u
#define ACCEL_COMPAT_FULL 5u

/** One cell of a table of the documents. Open. */
struct accel_compat {
    uint32_t size;
    uint32_t rating;         /**< ACCEL_COMPAT_... */
    const char *rating_name; /**< "none", "limited", "medium", "high", "full" */
    const char *table;       /**< "D1": the name of the table in compat.yaml */
    const char *about;       /**< what the table says: "text models by size" */
    const char *row;         /**< "Tiny (<100M)", "CLIP", "Chrome" */
    const char *column;      /**< "CUDA", "WebGPU Support" */
    const char *platform;    /**< the platform that the cell speaks of: a file of the folder of profiles */
    const char *client;      /**< the client (a file of the folder clients), or empty */
    const char *model;       /**< a model that stands for the row: a file of the folder models, or empty */
    const char *settings;    /**< what the cell asks for, "KEY=VALUE KEY=VALUE", or empty */
    const char *because;     /**< "S0:15", document and line */
    const char *place;       /**< "/.../profiles/compat.yaml:12" */
};

/** Number of cells, table after table, row after row. */
ACCEL_API uint32_t accel_compat_count(const struct accel_tables *tables) ACCEL_NOEXCEPT;
/** The cell at `index`, or NULL past the end. */
ACCEL_API const struct accel_compat *accel_compat_get(const struct accel_tables *tables, uint32_t index) ACCEL_NOEXCEPT;

/** One row of the documents' tables of recommendations: what to use for whom. Open. */
struct accel_recommendation {
    uint32_t size;
    uint32_t zero;        /**< 0 */
    const char *table;    /**< "D5" */
    const char *about;    /**< what the table says */
    const char *subject;  /**< "Audio Models" */
    const char *examples; /**< "Whisper, Wav2Vec2, CLAP", or empty */
    const char *advice;   /**< "Firefox", "4-bit Quantization, Flash Attention, Progressive Loading" */
    const char *reason;   /**< why, or what it is said to gain */
    const char *settings; /**< what it comes to here: "KEY=VALUE KEY=VALUE", or empty */
    const char *because;  /**< document and line */
    const char *place;    /**< file and line of the table */
};

/** Number of recommendations, table after table. */
ACCEL_API uint32_t accel_recommendation_count(const struct accel_tables *tables) ACCEL_NOEXCEPT;
/** The recommendation at `index`, or NULL past the end. */
ACCEL_API const struct accel_recommendation *accel_recommendation_get(const struct accel_tables *tables,
                                                                      uint32_t index) ACCEL_NOEXCEPT;

/* ---- claims ---- */

/* What came of a claim. (A claim of a driver on a node is another thing: accel/driver_module.h.) */
#define ACCEL_PROMISE_CLAIMED 1u   /**< nobody has checked it here, and `check` says why or how it would be */
#define ACCEL_PROMISE_ESTIMATED 2u /**< `formula` is arithmetic that gives `ours`, which agrees or is near */
#define ACCEL_PROMISE_MEASURED 3u  /**< a measurement gives `ours`; `formula` says what was measured */
#define ACCEL_PROMISE_REJECTED 4u  /**< arithmetic or a measurement contradicts it */

/** One number that a document promises. Open. */
struct accel_promise {
    uint32_t size;
    uint32_t verdict;         /**< ACCEL_PROMISE_... */
    const char *verdict_name; /**< "claimed", "estimated", "measured", "rejected" */
    const char *id;           /**< "Z1.a" */
    const char *claim;        /**< in words */
    const char *subject;      /**< what it speaks of: "weights", "kv", "attention", "load", "speed", ... */
    const char *value;        /**< the document's: "87.5", "30..45" (a range), or words */
    const char *unit;         /**< "%", "x", "ms/token", "GB", "tok" or empty */
    const char *because;      /**< document and line */
    const char *check;        /**< how it is checked here */
    const char *ours;         /**< our number in the same unit, or empty */
    const char *formula;      /**< arithmetic that gives `ours`, or words on what was measured; may be empty */
    const char *finding;      /**< what to think of the claim, one sentence; may be empty */
    const char *place;        /**< file and line of the table */
};

/** Number of claims. */
ACCEL_API uint32_t accel_promise_count(const struct accel_tables *tables) ACCEL_NOEXCEPT;
/** The claim at `index`, or NULL past the end. */
ACCEL_API const struct accel_promise *accel_promise_get(const struct accel_tables *tables,
                                                        uint32_t index) ACCEL_NOEXCEPT;

/* ---- advice ---- */

/* What a step of an advice wants of the value that it searches. */
#define ACCEL_ADVICE_FIXED 0u    /**< nothing is searched: `set` has the values */
#define ACCEL_ADVICE_LARGEST 1u  /**< the largest value of `search` that fits in memory, not below `bound` */
#define ACCEL_ADVICE_SMALLEST 2u /**< the smallest value of `search` that fits in memory, not above `bound` */

/** One step of the advice on a topic. Open. */
struct accel_advice {
    uint32_t size;
    uint32_t search_wanted;        /**< ACCEL_ADVICE_... */
    const char *topic;             /**< "oom" */
    const char *id;                /**< "oom.q4": stable, for people and programs */
    const char *text;              /**< what to do, a sentence in the imperative */
    const char *when;              /**< its conditions as they are written, ", " between them, or empty */
    const struct accel_given *set; /**< settings that carry it out; `origin` is the place in the file */
    const char *search;            /**< setting whose value is searched, or empty */
    const char *bound;             /**< least or most value of it, without unit (tokens, bytes), or empty */
    const char *cost;              /**< what it costs, in words; may be empty */
    const char *cost_origin;       /**< "claimed S3:75", "measured ...", "estimated: ..."; empty where cost is */
    const char *needs;             /**< what has to be done besides: "accelctl quantize MODEL ...", or empty */
    const char *because;           /**< document and line, and words */
    const char *place;             /**< file and line of the table */
    uint32_t set_count;            /**< of `set` */
    uint32_t rank;                 /**< place among the steps of its topic, from 1: what is tried first */
};

/** Number of topics. */
ACCEL_API uint32_t accel_advice_topic_count(const struct accel_tables *tables) ACCEL_NOEXCEPT;
/** The name of the topic at `index` ("oom"), or NULL past the end; its words in *out_about, which may be NULL. */
ACCEL_API const char *accel_advice_topic_get(const struct accel_tables *tables, uint32_t index,
                                             const char **out_about) ACCEL_NOEXCEPT;
/** Number of steps of a topic, best first; 0 where there is no such topic. */
ACCEL_API uint32_t accel_advice_count(const struct accel_tables *tables, const char *topic) ACCEL_NOEXCEPT;
/** The step at `index` of a topic, or NULL past the end. */
ACCEL_API const struct accel_advice *accel_advice_get(const struct accel_tables *tables, const char *topic,
                                                      uint32_t index) ACCEL_NOEXCEPT;
/** 1 where all conditions of the step hold for these facts (names as in profiles, sizes in bytes), else 0. A condition
 * on a fact that is not given does not hold. Whether a step is in force already, and whether it helps, only a plan can
 * tell. */
ACCEL_API uint32_t accel_advice_applies(const struct accel_tables *tables, const struct accel_advice *step,
                                        const struct accel_given *facts, uint32_t fact_count) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
