/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Choosing the next token from logits.
 *
 * The token is that of the operator `sample` (accel/driver/ops.def), which devices compute alike, bit for bit. The
 * steps, in this order: repetition penalty; temperature; top-k; top-p over what top-k left; min-p; one draw. (llama.cpp
 * divides by the temperature last, after its filters.) A temperature of 0 is greedy: the highest logit after the
 * penalty, the lowest id of equals, and nothing is drawn.
 *
 * Draws are Philox4x32-10 keyed by the seed, with sequence and step as counter, so a token depends on nothing but its
 * arguments: not on threads, on other sequences, or on what was drawn before. Weights are integers of 2^-31 of the
 * highest one, made by integer arithmetic; what is rarer than 2^-32 of the likeliest token is never drawn.
 *
 * No function here allocates or keeps anything. Any thread, as long as no other uses the same scratch.
 */
#ifndef ACCEL_MODEL_SAMPLER_H
#define ACCEL_MODEL_SAMPLER_H

#include <accel/abi.h>
#include <accel/error.h>

ACCEL_BEGIN_C

/** How to choose. Open: set `size` to sizeof. accel_sampling_init fills in "greedy, nothing else". */
struct accel_sampling {
    uint32_t size;              /**< sizeof(struct accel_sampling) */
    uint32_t top_k;             /**< keep this many; 0: all */
    float temperature;          /**< divides the logits; 0: greedy */
    float top_p;                /**< keep the fewest whose probabilities reach this; 1: all */
    float min_p;                /**< drop what is less than this times the highest probability; 0: none */
    float repetition_penalty;   /**< divides positive logits of recent tokens and multiplies negative ones; 1: none; at
                                     least 2^-126 */
    uint32_t repetition_window; /**< how many of the latest tokens are recent; 0: all that are given */
    uint32_t zero;              /**< 0 */
    uint64_t seed;              /**< key of the draws */
};

/** A token that may be drawn. Closed. */
struct accel_sample_candidate {
    int32_t id;      /**< token */
    float logit;     /**< after the repetition penalty */
    uint64_t weight; /**< share of the total; 2^31 for the likeliest token */
};

/** Fills in: greedy, no filter, no penalty, seed 0. */
ACCEL_API void accel_sampling_init(struct accel_sampling *sampling) ACCEL_NOEXCEPT;

/** Entries of scratch that a vocabulary needs. */
ACCEL_API size_t accel_sample_scratch(size_t vocabulary) ACCEL_NOEXCEPT;

/**
 * Chooses a token.
 *
 * @param sampling    how
 * @param logits      f32 [vocabulary]; minus infinity bars a token; NaN and plus infinity are refused with their place
 *                    (ACCEL_E_INVALID), and so is a row in which every token is barred
 * @param vocabulary  below 2^24
 * @param recent      ids [recent_count], the latest last; ids outside of the vocabulary are passed over
 * @param sequence, step  the counter of the draw: number them as you like, but never twice the same for two draws
 * @param scratch     [accel_sample_scratch(vocabulary)], the caller's
 * @param out_id      receives the token
 */
ACCEL_API int32_t accel_sample(const struct accel_sampling *sampling, const float *logits, size_t vocabulary,
                               const int32_t *recent, size_t recent_count, uint64_t sequence, uint64_t step,
                               struct accel_sample_candidate *scratch, int32_t *out_id,
                               struct accel_error *error) ACCEL_NOEXCEPT;

/** Computes the distribution of accel_sample: afterwards scratch[0..*out_count) holds the tokens that pass the
 * filters and have a weight, and *out_total the sum of their weights. With a filter they are in descending order,
 * equals by id; without one all tokens are there, in order of id. Greedy leaves one. Arguments and errors as above. */
ACCEL_API int32_t accel_sample_candidates(const struct accel_sampling *sampling, const float *logits, size_t vocabulary,
                                          const int32_t *recent, size_t recent_count,
                                          struct accel_sample_candidate *scratch, size_t *out_count,
                                          uint64_t *out_total, struct accel_error *error) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
