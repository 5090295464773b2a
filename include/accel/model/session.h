/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 *
 * Models and the sessions that run them: plan, load, then feed tokens and read logits.
 *
 * A model is the content of a file; many sessions and threads may use it, and it outlives them. A session runs one
 * sequence, or as many as the setting `sequences` allows, on one device, or on those that its layers are placed on:
 * tokens in, logits out, keys and values cached. It belongs to one thread at a time, except accel_session_cancel, which
 * any thread and any signal handler may call. The calling thread computes together with those of the device, and needs
 * 1 MiB of stack, since kernels keep tiles on it.
 */
#ifndef ACCEL_MODEL_SESSION_H
#define ACCEL_MODEL_SESSION_H

#include <accel/context.h>
#include <accel/model/file.h>
#include <accel/plan.h>

ACCEL_BEGIN_C

/* ---- model ---- */

struct accel_model;

/** Facts of a decoder. Open. Strings live as long as the model. */
struct accel_model_facts {
    uint32_t size;
    uint32_t layers;
    const char *architecture;
    const char *types; /**< types of its matrices, the most frequent first: "Q4_0, Q6_K" */
    uint32_t hidden;
    uint32_t ffn;
    uint32_t heads;
    uint32_t kv_heads;
    uint32_t head_size;
    uint32_t vocabulary;
    uint32_t context;      /**< longest sequence it was trained for, in tokens */
    uint32_t tied;         /**< 1: the output projection shares the embedding */
    uint64_t parameters;   /**< elements of all tensors */
    uint64_t weight_bytes; /**< of all tensors, as stored in the file */
    int64_t bos;           /**< token that begins a text, or -1 */
    const uint32_t *eos;   /**< tokens that end a text */
    uint32_t eos_count;
    uint32_t zero;
    uint32_t window;        /**< tokens of its sliding window, the widest if layers differ; 0: none */
    uint32_t window_layers; /**< layers with a sliding window */
};

/** Opens a GGUF file, a safetensors file beside its config.json, or a folder. Reads configuration and tensor list,
 * checks both against each other, and touches no weights. `options` may be NULL. */
ACCEL_API int32_t accel_model_open(const char *path, const struct accel_model_open_options *options,
                                   struct accel_model **out_model, struct accel_error *error) ACCEL_NOEXCEPT;
/** Closes a model after its sessions. NULL is allowed. */
ACCEL_API void accel_model_close(struct accel_model *model) ACCEL_NOEXCEPT;
/** Returns the file of a model; it lives as long as the model. */
ACCEL_API const struct accel_model_file *accel_model_file_of(const struct accel_model *model) ACCEL_NOEXCEPT;
/** Returns the facts of a model; they live as long as the model. */
ACCEL_API const struct accel_model_facts *accel_model_facts_of(const struct accel_model *model) ACCEL_NOEXCEPT;

/* ---- session ---- */

struct accel_session;

#define ACCEL_SESSION_STAGES 1u /**< flag: every named stage of a step can be read; drivers fuse no node over one */
#define ACCEL_SESSION_INPUTS                                                                                           \
    2u /**< flag: the activations of each weight can be read; drivers fuse no node over them                           \
        */

#define ACCEL_SESSION_UNTRACED                                                                                         \
    4u /**< flag: steps are no run of texts: trace.steps, measure.memory and output.attention write no files, and no   \
          metrics are noted */

/** Options of a session. Open. */
struct accel_session_options {
    uint32_t size;
    uint32_t flags;
    const char *device;                        /**< name of a device or driver, or NULL: the best one */
    const struct accel_named_value *overrides; /**< settings that override those of all profiles */
    uint32_t override_count;
    uint32_t outputs; /**< most rows of logits of one step; 0, or fewer than sequences: one for each sequence */
};

/** Plans a session: chooses the device, resolves settings, builds the graph, asks the driver for its plan, adds up
 * memory. Loads nothing. Device discovery of the context is complete, and the context outlives the session. A mixture
 * that exceeds its budget is not limited to some experts in memory: accel_model_plan_create chooses that limit (the
 * driver's option, as cpu.expert_bytes), which its session has; here it is one of the caller's overrides. */
ACCEL_API int32_t accel_session_create(struct accel_context *context, const struct accel_model *model,
                                       const struct accel_session_options *options, struct accel_session **out_session,
                                       struct accel_error *error) ACCEL_NOEXCEPT;
/** Frees a session. NULL is allowed. */
ACCEL_API void accel_session_free(struct accel_session *session) ACCEL_NOEXCEPT;
/** Returns the plan; it lives as long as the session. */
ACCEL_API const struct accel_plan *accel_session_plan(const struct accel_session *session) ACCEL_NOEXCEPT;
/** Returns the number of notes of the session: lines that settings of log and metrics request. */
ACCEL_API uint32_t accel_session_note_count(const struct accel_session *session) ACCEL_NOEXCEPT;
/** Returns the note at `index`, which lives as long as the session, or NULL past the end. */
ACCEL_API const struct accel_plan_note *accel_session_note_get(const struct accel_session *session,
                                                               uint32_t index) ACCEL_NOEXCEPT;
/** Returns the graph of a step; it lives as long as the session. */
ACCEL_API const struct accel_graph *accel_session_graph(const struct accel_session *session) ACCEL_NOEXCEPT;

/** Opens the device, compiles, loads weights, creates caches. ACCEL_E_MEMORY if the plan exceeds its budget. Call it
 * once: a second call, also after one that failed with the device open, is ACCEL_E_INVALID. */
ACCEL_API int32_t accel_session_load(struct accel_session *session, struct accel_error *error) ACCEL_NOEXCEPT;
/** Stores the packed weights of a loaded session on disk, for later loads. Returns what accel_weights_store returns:
 * with several devices the first code other than ACCEL_OK, and the highest ACCEL_STORE_... (`out_stored` may be NULL).
 * ACCEL_E_CANCELLED after accel_session_cancel. */
ACCEL_API int32_t accel_session_store(struct accel_session *session, uint32_t *out_stored,
                                      struct accel_error *error) ACCEL_NOEXCEPT;

/** Returns the most tokens of a sequence; with kv.full=slide or prune the most that it caches, however long it grows.
 */
ACCEL_API uint64_t accel_session_context(const struct accel_session *session) ACCEL_NOEXCEPT;
/** Returns the tokens of sequence 0: all that it was fed, less those that left it with kv.full=slide or prune. */
ACCEL_API uint64_t accel_session_length(const struct accel_session *session) ACCEL_NOEXCEPT;
/** Returns the most tokens of one step; longer feeds are split into steps. */
ACCEL_API uint64_t accel_session_batch(const struct accel_session *session) ACCEL_NOEXCEPT;

/* The calls without a sequence use sequence 0, which is open from the beginning. */

/** Feeds tokens and returns the logits [vocabulary] after the last one, valid until the next call. ACCEL_E_INVALID for
 * an id outside of the vocabulary, ACCEL_E_CANCELLED between two steps; steps completed before a failure stay. If the
 * context is full, kv.full decides: stop is ACCEL_E_LIMIT before anything is fed; slide and prune drop the oldest
 * tokens after the first kv.sinks in whole pages (attention.page), as many as this feed needs, so it never ends there.
 * With dynamic rotary scaling (also longrope) a step past the original context uses the base of the length that it
 * reaches, and cached keys keep the base of the step that wrote them: the logits then depend on how tokens were split
 * into steps. */
ACCEL_API int32_t accel_session_feed(struct accel_session *session, const int32_t *ids, uint64_t count,
                                     const float **out_logits, struct accel_error *error) ACCEL_NOEXCEPT;

/** Receives the logits [vocabulary] after token `index` of the tokens fed. A code other than ACCEL_OK ends the feed
 * with that code. */
typedef int32_t(ACCEL_CALL *accel_logits_function)(void *data, uint64_t index, const float *logits);

/** Feeds tokens and passes the logits after each one to `function`; steps have at most `outputs` tokens. */
ACCEL_API int32_t accel_session_score(struct accel_session *session, const int32_t *ids, uint64_t count,
                                      accel_logits_function function, void *data,
                                      struct accel_error *error) ACCEL_NOEXCEPT;

/** Drops all tokens past the first `length`. ACCEL_E_LIMIT, and nothing happens, if tokens that the next one would
 * attend to have left kv.window; 0 always works. */
ACCEL_API int32_t accel_session_truncate(struct accel_session *session, uint64_t length,
                                         struct accel_error *error) ACCEL_NOEXCEPT;

/*
 * ---- several sequences ----
 *
 * Sequences share the weights of a step, so a step of several costs little more than a step of one. Their caches are
 * pages of `attention.page` tokens from one pool with a capacity of `sequences` times `context` tokens, or times what
 * kv.window, kv.sinks and a step need if that is less.
 */

/** Tokens of one sequence for a step: one token in decode, or as much of a prompt as fits. Closed. */
struct accel_session_part {
    const int32_t *ids;
    uint64_t count; /**< at least 1 */
    uint32_t sequence;
    uint32_t outputs; /**< rows of logits requested, after the last so many tokens; 0: none */
};

/** Returns the most sequences that can be open at the same time. */
ACCEL_API uint32_t accel_session_sequences(const struct accel_session *session) ACCEL_NOEXCEPT;

/** Opens an empty sequence. ACCEL_E_LIMIT when all are open. */
ACCEL_API int32_t accel_session_open(struct accel_session *session, uint32_t *out_sequence,
                                     struct accel_error *error) ACCEL_NOEXCEPT;

/** Opens a sequence that begins with the first `length` tokens of another one and shares their pages: a page that both
 * continue to write is copied by the first writer. Refuses a `length` as accel_session_truncate does. */
ACCEL_API int32_t accel_session_fork(struct accel_session *session, uint32_t from, uint64_t length,
                                     uint32_t *out_sequence, struct accel_error *error) ACCEL_NOEXCEPT;

/** Closes a sequence and drops its tokens; the next one opened may get its number. */
ACCEL_API int32_t accel_session_close(struct accel_session *session, uint32_t sequence,
                                      struct accel_error *error) ACCEL_NOEXCEPT;

/** Returns the tokens of a sequence, counted as in accel_session_length; 0 if it is not open. */
ACCEL_API uint64_t accel_session_sequence_length(const struct accel_session *session, uint32_t sequence) ACCEL_NOEXCEPT;

/** Drops all tokens of a sequence past the first `length`, as accel_session_truncate does. */
ACCEL_API int32_t accel_session_sequence_truncate(struct accel_session *session, uint32_t sequence, uint64_t length,
                                                  struct accel_error *error) ACCEL_NOEXCEPT;

/** Runs one step over parts of different sequences and returns their rows of logits [outputs of all parts, vocabulary],
 * in the order of the parts, valid until the next call (NULL if none are requested). ACCEL_E_LIMIT for more tokens than
 * accel_session_batch or more rows than the session was created for, and if a sequence or the pool is full; nothing is
 * fed then. Does not allocate; uses up to 1 MiB of the caller's stack, as accel_session_feed does. */
ACCEL_API int32_t accel_session_step(struct accel_session *session, const struct accel_session_part *parts,
                                     uint32_t count, const float **out_logits,
                                     struct accel_error *error) ACCEL_NOEXCEPT;

/** Cancels the load or feed in progress, or the next one if there is none: it returns ACCEL_E_CANCELLED. Callable from
 * any thread. NULL is allowed. */
ACCEL_API void accel_session_cancel(struct accel_session *session) ACCEL_NOEXCEPT;

/** One stage of the last step. Open. */
struct accel_stage {
    uint32_t size;
    uint32_t zero;
    const char *name;    /**< "layers.0.attention" */
    const float *values; /**< [rows, width] */
    uint64_t rows;
    uint64_t width;
};

/** Returns the number of stages of a session created with ACCEL_SESSION_STAGES, in the order of the graph, the logits
 * last; 0 without that flag. With ACCEL_SESSION_INPUTS too, they include the inputs of weights. */
ACCEL_API uint32_t accel_session_stage_count(const struct accel_session *session) ACCEL_NOEXCEPT;
/** Returns stage `index` of the last step, valid until the next one. */
ACCEL_API int32_t accel_session_stage(const struct accel_session *session, uint32_t index,
                                      struct accel_stage *out_stage, struct accel_error *error) ACCEL_NOEXCEPT;

/** Reports why a step computed values that are not finite; `what` names them, as "logits". Reads the weights of the
 * model for 10 seconds at most: ACCEL_E_CORRUPT names one that is not finite, else ACCEL_E_INTERNAL names the driver,
 * and the settings that may help. */
ACCEL_API int32_t accel_session_report_nonfinite(const struct accel_session *session, const char *what,
                                                 struct accel_error *error) ACCEL_NOEXCEPT;

/** The activations of one weight in the last step. Open. */
struct accel_session_input {
    uint32_t size;
    uint32_t number; /**< counts from 0; weights that read the same values (q, k and v; gate and up) share a number */
    const char *weight;  /**< key of the weight: the name of its tensor; lives as long as the session */
    const float *values; /**< [rows, width] */
    uint64_t rows;       /**< tokens of the step; of the output projection, rows of logits */
    uint64_t width;      /**< of a row of the weight */
};

/** Returns the number of matmul weights of a loaded session created with ACCEL_SESSION_INPUTS, in the order of the
 * graph; 0 without that flag. A tied output projection counts once; its use as token embedding does not count. */
ACCEL_API uint32_t accel_session_input_count(const struct accel_session *session) ACCEL_NOEXCEPT;
/** Returns the activations of weight `index` in the last step, valid until the next one. If the host cannot address
 * device memory, this call fetches them; activations that are not requested are not transferred. */
ACCEL_API int32_t accel_session_input(struct accel_session *session, uint32_t index,
                                      struct accel_session_input *out_input, struct accel_error *error) ACCEL_NOEXCEPT;

/** Returns the bytes of mapped weight pages that are in the page cache now (0 if nothing is mapped); the load
 * prefetches all of them. Pages read by another process count too. */
ACCEL_API uint64_t accel_session_resident(const struct accel_session *session) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
