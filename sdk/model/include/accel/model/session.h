/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A model and a session that runs it: plan first, then load, then feed tokens and read logits.
 *
 * A model is what a file says; it may be used by many sessions and threads, and outlives them. A session is one
 * sequence, or as many as the setting `sequences` says, on one device: tokens in, logits out, keys and values cached.
 * It belongs to one thread at a time, except accel_session_cancel, which any thread and any signal handler may call.
 * That thread works beside those of the device, and needs 1 MiB of stack: kernels keep tiles on it.
 */
#ifndef ACCEL_MODEL_SESSION_H
#define ACCEL_MODEL_SESSION_H

#include <accel/context.h>
#include <accel/model/file.h>
#include <accel/plan.h>

ACCEL_BEGIN_C

/* ---- model ---- */

struct accel_model;

/** What a decoder is. Open. Strings live as long as the model. */
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
    uint32_t context;      /**< longest sequence it was made for, in tokens */
    uint32_t tied;         /**< 1: the output matrix is the embedding */
    uint64_t parameters;   /**< elements of all tensors */
    uint64_t weight_bytes; /**< of all tensors, as they lie in the file */
    int64_t bos;           /**< token that begins a text, or -1 */
    const uint32_t *eos;   /**< tokens that end one */
    uint32_t eos_count;
    uint32_t zero;
};

/** Opens a GGUF file, a safetensors file beside its config.json, or a folder. Reads configuration and tensor list,
 * checks both against each other, and touches no weights. `options` may be NULL. */
ACCEL_API int32_t accel_model_open(const char *path, const struct accel_model_open_options *options,
                                   struct accel_model **out_model, struct accel_error *error) ACCEL_NOEXCEPT;
/** Closes a model after its sessions. NULL is allowed. */
ACCEL_API void accel_model_close(struct accel_model *model) ACCEL_NOEXCEPT;
/** Its file; it lives as long as the model. */
ACCEL_API const struct accel_model_file *accel_model_file_of(const struct accel_model *model) ACCEL_NOEXCEPT;
/** Its facts; they live as long as the model. */
ACCEL_API const struct accel_model_facts *accel_model_facts_of(const struct accel_model *model) ACCEL_NOEXCEPT;

/* ---- session ---- */

struct accel_session;

#define ACCEL_SESSION_STAGES 1u /**< flag: every named stage of a step can be read; nothing is fused over one */
#define ACCEL_SESSION_INPUTS                                                                                           \
    2u /**< flag: what each weight was multiplied with can be read; nothing is fused over it                           \
        */

/** How to make a session. Open. */
struct accel_session_options {
    uint32_t size;
    uint32_t flags;
    const char *device;              /**< name of a device or driver, or NULL: the best one */
    const struct accel_given *given; /**< settings, the strongest layer */
    uint32_t given_count;
    uint32_t outputs; /**< rows of logits that one step can give; 0, or fewer than sequences: one for each sequence */
};

/** Plans a session: chooses the device, resolves settings, builds the graph, asks the driver, adds up memory. Loads
 *  nothing. The context has discovered and outlives the session. */
ACCEL_API int32_t accel_session_create(struct accel_context *context, const struct accel_model *model,
                                       const struct accel_session_options *options, struct accel_session **out_session,
                                       struct accel_error *error) ACCEL_NOEXCEPT;
/** Frees a session. NULL is allowed. */
ACCEL_API void accel_session_free(struct accel_session *session) ACCEL_NOEXCEPT;
/** The plan; it lives as long as the session. */
ACCEL_API const struct accel_plan *accel_session_plan(const struct accel_session *session) ACCEL_NOEXCEPT;
/** The graph of a step; it lives as long as the session. */
ACCEL_API const struct accel_graph *accel_session_graph(const struct accel_session *session) ACCEL_NOEXCEPT;

/** Opens the device, compiles, loads weights, makes caches. ACCEL_E_MEMORY where the plan does not fit its budget.
 * Once: a second call, also after one that failed with the device open, is ACCEL_E_INVALID. */
ACCEL_API int32_t accel_session_load(struct accel_session *session, struct accel_error *error) ACCEL_NOEXCEPT;
/** Keeps on disk what drivers have packed of the weights of a loaded session, for later loads: accel_weights_keep,
 * whose answers it has, the first one that is no ACCEL_OK, and of several devices the highest ACCEL_KEPT_...
 * (`out_kept` may be NULL). ACCEL_E_CANCELLED after accel_session_cancel. */
ACCEL_API int32_t accel_session_keep(struct accel_session *session, uint32_t *out_kept,
                                     struct accel_error *error) ACCEL_NOEXCEPT;

/** Most tokens of a sequence; with kv.full=slide or prune the most that it holds, however long it grows. */
ACCEL_API uint64_t accel_session_context(const struct accel_session *session) ACCEL_NOEXCEPT;
/** Tokens of sequence 0: those that it was fed, and with kv.full=slide or prune those of them that have not left. */
ACCEL_API uint64_t accel_session_length(const struct accel_session *session) ACCEL_NOEXCEPT;
/** Most tokens of one step; longer feeds are cut into steps of so many. */
ACCEL_API uint64_t accel_session_batch(const struct accel_session *session) ACCEL_NOEXCEPT;

/* The calls without a sequence are about sequence 0, which is open from the beginning. */

/** Feeds tokens and answers the logits [vocabulary] after the last one, valid until the next call. ACCEL_E_INVALID for
 * an id outside of the vocabulary, ACCEL_E_CANCELLED between two steps; steps that were done before a failure stay.
 * Where the context is full, kv.full says what happens: stop is ACCEL_E_LIMIT, before anything is fed; slide and prune
 * let the oldest tokens but the first kv.sinks leave, as many as this feed needs, so that it never ends there. With
 * dynamic rotary scaling a step past the original context uses the base of the length that it reaches, and cached keys
 * keep the base of the step that wrote them: there the logits depend on how the tokens were cut into steps. */
ACCEL_API int32_t accel_session_feed(struct accel_session *session, const int32_t *ids, uint64_t count,
                                     const float **out_logits, struct accel_error *error) ACCEL_NOEXCEPT;

/** Takes the logits [vocabulary] after token `index` of the tokens fed. Not ACCEL_OK ends the feed with that code. */
typedef int32_t(ACCEL_CALL *accel_logits_function)(void *data, uint64_t index, const float *logits);

/** Feeds tokens and hands out the logits after every one; steps have at most `outputs` of the options. */
ACCEL_API int32_t accel_session_score(struct accel_session *session, const int32_t *ids, uint64_t count,
                                      accel_logits_function function, void *data,
                                      struct accel_error *error) ACCEL_NOEXCEPT;

/** Forgets all tokens past the first `length`. ACCEL_E_LIMIT, and nothing happens, where kv.window has let tokens leave
 * that the next one would see; 0 can always be had. */
ACCEL_API int32_t accel_session_truncate(struct accel_session *session, uint64_t length,
                                         struct accel_error *error) ACCEL_NOEXCEPT;

/* ---- several sequences ----
 *
 * Sequences share the weights of a step, so that a step of several costs little more than one of a single one. Their
 * caches are pages of `attention.page` tokens out of one pool that has room for `sequences` times `context` tokens, or
 * times what kv.window, kv.sinks and a step need where that is less. */

/** Tokens of one sequence for a step: a single token, or as much of a prompt as the step has room for. Closed. */
struct accel_session_part {
    const int32_t *ids;
    uint64_t count; /**< at least 1 */
    uint32_t sequence;
    uint32_t outputs; /**< rows of logits wanted, after the last so many tokens; 0: none */
};

/** Most sequences that can be open at the same time. */
ACCEL_API uint32_t accel_session_sequences(const struct accel_session *session) ACCEL_NOEXCEPT;

/** Opens an empty sequence. ACCEL_E_LIMIT when all are open. */
ACCEL_API int32_t accel_session_open(struct accel_session *session, uint32_t *out_sequence,
                                     struct accel_error *error) ACCEL_NOEXCEPT;

/** Opens a sequence that begins with the first `length` tokens of another one, and shares their pages with it: only a
 * page that both go on to write is copied, by the first that does. Refuses a `length` as truncate does. */
ACCEL_API int32_t accel_session_fork(struct accel_session *session, uint32_t from, uint64_t length,
                                     uint32_t *out_sequence, struct accel_error *error) ACCEL_NOEXCEPT;

/** Forgets a sequence; its number may be given to the next one that is opened. */
ACCEL_API int32_t accel_session_close(struct accel_session *session, uint32_t sequence,
                                      struct accel_error *error) ACCEL_NOEXCEPT;

/** Tokens of a sequence, as accel_session_length counts them; 0 of one that is not open. */
ACCEL_API uint64_t accel_session_sequence_length(const struct accel_session *session, uint32_t sequence) ACCEL_NOEXCEPT;

/** Forgets all tokens of a sequence past the first `length`, as accel_session_truncate does. */
ACCEL_API int32_t accel_session_sequence_truncate(struct accel_session *session, uint32_t sequence, uint64_t length,
                                                  struct accel_error *error) ACCEL_NOEXCEPT;

/** Runs one step over parts of different sequences, and answers their rows of logits [outputs of all parts,
 * vocabulary], in the order of the parts, valid until the next call (NULL where none are wanted). ACCEL_E_LIMIT for
 * more tokens than accel_session_batch or more rows than the session was made for, and where a sequence or the pool is
 * full; nothing is fed then. Does not allocate; takes up to 1 MiB of the caller's stack, as accel_session_feed does. */
ACCEL_API int32_t accel_session_step(struct accel_session *session, const struct accel_session_part *parts,
                                     uint32_t count, const float **out_logits,
                                     struct accel_error *error) ACCEL_NOEXCEPT;

/** Asks the load or feed in progress to end with ACCEL_E_CANCELLED, or the next one when none is. Any thread. */
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

/** Stages of a session made with ACCEL_SESSION_STAGES, in the order of the graph, the logits last; 0 without. With
 *  ACCEL_SESSION_INPUTS too, inputs of weights stand among them. */
ACCEL_API uint32_t accel_session_stage_count(const struct accel_session *session) ACCEL_NOEXCEPT;
/** Stage `index` of the last step, valid until the next one. */
ACCEL_API int32_t accel_session_stage(const struct accel_session *session, uint32_t index,
                                      struct accel_stage *out_stage, struct accel_error *error) ACCEL_NOEXCEPT;

/** What a weight was multiplied with in the last step. Open. */
struct accel_session_input {
    uint32_t size;
    uint32_t number;     /**< weights that read the same values (q, k and v; gate and up) have the same, from 0 on */
    const char *weight;  /**< key of the weight, the name of its tensor; as long as the session */
    const float *values; /**< [rows, width] */
    uint64_t rows;       /**< tokens of the step; of the output matrix, rows of logits */
    uint64_t width;      /**< of a row of the weight */
};

/** Weights that a loaded session, made with ACCEL_SESSION_INPUTS, multiplies with, in the order of the graph; 0
 * without. A tied output matrix is one of them; that it is the table of embeddings too makes no second one. */
ACCEL_API uint32_t accel_session_input_count(const struct accel_session *session) ACCEL_NOEXCEPT;
/** What weight `index` was multiplied with in the last step, valid until the next one. Where the device's memory is not
 *  the host's, this fetches it: what nobody asks for is not moved. */
ACCEL_API int32_t accel_session_input(struct accel_session *session, uint32_t index,
                                      struct accel_session_input *out_input, struct accel_error *error) ACCEL_NOEXCEPT;

/** Bytes of the pages that weights of the graph are mapped on and that are in the page cache now (0 where nothing is
 *  mapped); load has asked the system for all of them. Another process's pages of the same file count too. */
ACCEL_API uint64_t accel_session_resident(const struct accel_session *session) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
