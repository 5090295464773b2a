/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a calibration text does to the inputs of a model's matrices: the mean square of each input value, and the mean
 * products of pairs of them. The text is cut into windows of `chunk` tokens with empty caches at the beginning of each,
 * a last one of a single token is left out; all tokens count alike, those of the output matrix too. Activations, keys
 * and values are F32 on the way.
 *
 * Matrices that read the same values (q, k and v; gate and up) share an input, numbered from 0 in the order of the
 * graph. Sums are F32 over runs of tokens, and F64 (power) or F32 (moments) over the runs, always in the order of the
 * tokens: the same bytes whatever the number of threads.
 *
 * Ownership: a statistics owns what it hands out; context, model and ids stay the caller's and outlive it. Threads: one
 * at a time may call quantize_statistics_moments, which may run the text again; the rest only reads.
 */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_STATISTICS_H
#define ACCEL_SDK_MODEL_QUANTIZE_STATISTICS_H

#include <accel/model/quantize.h>
#include <accel/model/session.h>

/* No input has this number. */
#define QUANTIZE_NO_INPUT UINT32_MAX

/* A text, and how to run it. */
struct quantize_text {
    struct accel_context *context;
    const struct accel_model *model;
    const int32_t *ids;
    uint64_t id_count;
    uint64_t chunk;                   /* 0: 512, or the model's context */
    uint64_t moments_bytes;           /* most bytes of moments at a time, but always room for one input's; 0: 1 GiB */
    uint32_t threads;                 /* that sum up; 0: 1 */
    uint32_t moments;                 /* 1: they will be asked for, so that the first run fills the first of them */
    accel_quantize_progress progress; /* counts tokens of one run of the text; may be NULL */
    void *progress_data;
};

/* Fewer say nothing. */
#define QUANTIZE_TOKENS_LEAST 32u

struct quantize_statistics;

/* ACCEL_E_INVALID: no context, no model or no ids, a chunk beyond the model's context, too few tokens, an id outside of
 * the vocabulary. */
int32_t quantize_text_check(const struct quantize_text *text, struct accel_error *error);

/* Runs the text once. As quantize_text_check; ACCEL_E_CORRUPT: an input that is not finite; ACCEL_E_CANCELLED; what
 * sessions answer. */
int32_t quantize_statistics_create(const struct quantize_text *text, struct quantize_statistics **out_statistics,
                                   struct accel_error *error);
/* NULL is allowed. */
void quantize_statistics_free(struct quantize_statistics *statistics);

/* The text as it was settled. */
const struct quantize_text *quantize_statistics_text(const struct quantize_statistics *statistics);

/* Tokens that were summed up, and how often the text has run. */
uint64_t quantize_statistics_tokens(const struct quantize_statistics *statistics);
uint32_t quantize_statistics_runs(const struct quantize_statistics *statistics);

/* Number of inputs, and that of the input of a tensor, by its name; QUANTIZE_NO_INPUT where nothing is multiplied with
 * it. */
uint32_t quantize_statistics_inputs(const struct quantize_statistics *statistics);
uint32_t quantize_statistics_input(const struct quantize_statistics *statistics, const char *tensor);

/* E[x^2] of the input of a tensor, [*out_width]; it lives as long as the statistics. NULL: it has no input. */
const float *quantize_statistics_power(const struct quantize_statistics *statistics, const char *tensor,
                                       uint64_t *out_width);

/* E[x x^T] of the input of a tensor, [width, width], symmetric, until a call for a tensor of an input that is not held:
 * that drops all and runs the text again for as many inputs, from that one on, as moments_bytes allows (all where it
 * allows all). Ask in the
 * order of the inputs. ACCEL_E_NOT_FOUND: the tensor has no input; else as quantize_statistics_create. */
int32_t quantize_statistics_moments(struct quantize_statistics *statistics, const char *tensor,
                                    const float **out_moments, uint32_t *out_input, struct accel_error *error);

/* ---- runs over a text ---- */

/* A session over the text's model that computes everything in F32, for windows of `chunk` tokens in steps of `step`,
 * with logits for each of them; not loaded. `flags` as in accel_session_options. */
int32_t quantize_session_create(const struct quantize_text *text, uint64_t chunk, uint64_t step, uint32_t flags,
                                struct accel_session **out_session, struct accel_error *error);

/* Tokens of a step whose logits take no more than 32 MiB. */
uint64_t quantize_step_tokens(const struct quantize_text *text, uint64_t chunk);

#endif
