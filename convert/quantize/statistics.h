/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of the inputs of a model's matrices over a calibration text: the mean square of each input value, and
 * the mean products of pairs of them. The text is split into windows of `chunk` tokens that start with an empty KV
 * cache; a last window of a single token is dropped. All tokens have equal weight, also for the output projection.
 * Activations, keys and values are computed in F32.
 *
 * Matrices with a common input (q, k and v; gate and up) share statistics, numbered from 0 in graph order. Power is
 * summed in F64 and moments in F32, always in token order: results do not depend on the number of threads.
 *
 * Ownership: a statistics owns all that it returns; context, model and ids belong to the caller and outlive it.
 * Threads: quantize_statistics_moments, which may run the text again, may be called by one thread at a time; the
 * other functions only read.
 */
#ifndef ACCEL_CONVERT_QUANTIZE_STATISTICS_H
#define ACCEL_CONVERT_QUANTIZE_STATISTICS_H

#include <accel/model/quantize.h>
#include <accel/model/session.h>

#include "model/plan/run.h"

/* The number of no input. */
#define QUANTIZE_NO_INPUT UINT32_MAX

/* A text, and the options for running it. */
struct quantize_text {
    struct accel_context *context;
    const struct accel_model *model;
    const int32_t *ids;
    uint64_t id_count;
    uint64_t chunk;                   /* 0: 512, or the model's context */
    uint64_t moments_bytes;           /* most bytes of moments in memory, but at least those of one input; 0: 1 GiB */
    uint32_t threads;                 /* threads that compute sums; 0: 1 */
    uint32_t moments;                 /* 1: the caller will request moments, so the first run computes the first of
                                       * them */
    accel_quantize_progress progress; /* counts tokens of one run of the text; may be NULL */
    void *progress_data;
};

/* Fewest tokens that give useful statistics. */
#define QUANTIZE_TOKENS_LEAST 32u

struct quantize_statistics;

/* Checks a text. ACCEL_E_INVALID: no context, no model or no ids, a chunk beyond the model's context, too few
 * tokens, an id outside of the vocabulary. */
int32_t quantize_text_check(const struct quantize_text *text, struct accel_error *error);

/* Runs the text once. Returns the errors of quantize_text_check and of sessions, ACCEL_E_CORRUPT for an input that
 * is not finite, or ACCEL_E_CANCELLED. */
int32_t quantize_statistics_create(const struct quantize_text *text, struct quantize_statistics **out_statistics,
                                   struct accel_error *error);
/* NULL is allowed. */
void quantize_statistics_free(struct quantize_statistics *statistics);

/* Returns the text with its defaults filled in. */
const struct quantize_text *quantize_statistics_text(const struct quantize_statistics *statistics);

/* Return the number of summed tokens, and how often the text was run. */
uint64_t quantize_statistics_tokens(const struct quantize_statistics *statistics);
uint32_t quantize_statistics_runs(const struct quantize_statistics *statistics);

/* Return the number of inputs, and the input of a tensor by name; QUANTIZE_NO_INPUT if the tensor is in no matmul. */
uint32_t quantize_statistics_inputs(const struct quantize_statistics *statistics);
uint32_t quantize_statistics_input(const struct quantize_statistics *statistics, const char *tensor);

/* Returns E[x^2] of the input of a tensor, [*out_width], valid as long as the statistics; NULL if it has no input. */
const float *quantize_statistics_power(const struct quantize_statistics *statistics, const char *tensor,
                                       uint64_t *out_width);

/* Gets E[x x^T] of the input of a tensor, [width, width], symmetric. A call for an input whose moments are not in
 * memory invalidates all pointers and runs the text again for as many inputs, from that one on, as moments_bytes
 * allows (all if it allows all). Request the moments in the order of the inputs. ACCEL_E_NOT_FOUND: the tensor has
 * no input; else as quantize_statistics_create. */
int32_t quantize_statistics_moments(struct quantize_statistics *statistics, const char *tensor,
                                    const float **out_moments, uint32_t *out_input, struct accel_error *error);

/* ---- runs over a text ---- */

/* Creates a session over the text's model that computes everything in F32, for windows of `chunk` tokens in steps
 * of `step`, with logits for each token; weights are not loaded. `flags` as in accel_session_options; `types` are of
 * matrices that the load converts, or NULL. */
int32_t quantize_session_create(const struct quantize_text *text, uint64_t chunk, uint64_t step, uint32_t flags,
                                const struct run_types *types, struct accel_session **out_session,
                                struct accel_error *error);

/* Returns the tokens of a step whose logits take at most 32 MiB. */
uint64_t quantize_step_tokens(const struct quantize_text *text, uint64_t chunk);

#endif
