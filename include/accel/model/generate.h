/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 *
 * Text generation: a prompt's tokens in, sampled tokens and text out, in one call.
 */
#ifndef ACCEL_MODEL_GENERATE_H
#define ACCEL_MODEL_GENERATE_H

#include <accel/model/sampler.h>
#include <accel/model/session.h>
#include <accel/model/tokenizer.h>

ACCEL_BEGIN_C

/* Why generation ended. */
#define ACCEL_STOP_LENGTH 1u  /**< the requested number of tokens */
#define ACCEL_STOP_END 2u     /**< the model ended its text, or began another one */
#define ACCEL_STOP_CONTEXT 3u /**< the caches are full */
#define ACCEL_STOP_CALLER 4u  /**< the callback stopped it */
#define ACCEL_STOP_TEXT 5u    /**< a stop text was generated; it is not emitted */

#define ACCEL_GENERATE_PAST_END 1u /**< flag: continue past tokens that end a text */

/** Receives generated text: whole UTF-8 characters, not zero-terminated. `id` is the token that completed it, -1 for
 * the rest at the end. A return value other than 0 stops. Also called with `bytes` 0, so that tokens can be counted. */
typedef int32_t(ACCEL_CALL *accel_text_function)(void *data, int32_t id, const char *text, size_t bytes);

/** Options of generation. Open. */
struct accel_generate_options {
    uint32_t size;
    uint32_t flags;                        /**< ACCEL_GENERATE_... */
    uint64_t tokens;                       /**< most tokens to generate; 0: until the caches are full */
    const struct accel_sampling *sampling; /**< NULL: greedy */
    accel_text_function text;              /**< NULL: no callback */
    void *data;
    const char *const *stops; /**< [stop_count] UTF-8 texts that end generation before they are emitted, also if they
                                 span tokens; text that may begin one is held back until it cannot */
    uint64_t stop_count;
};

/** Result of generation. Open. Times are of a monotonic clock, in nanoseconds. */
struct accel_generate_result {
    uint32_t size;
    uint32_t stop; /**< ACCEL_STOP_... */
    uint64_t prompt_tokens;
    uint64_t tokens;           /**< generated, without the one that ended the text */
    uint64_t prompt_time;      /**< of prefill */
    uint64_t first_token_time; /**< from the call to the first token */
    uint64_t decode_time;      /**< from the first token to the end */
    uint64_t steps;            /**< decode steps in that time */
};

/** Feeds the prompt (at least one token), then generates. The session's caches hold prompt and text. On failure, and on
 * ACCEL_E_CANCELLED (accel_session_cancel), tokens generated so far stay, and *result counts them. */
ACCEL_API int32_t accel_generate(struct accel_session *session, const struct accel_tokenizer *tokenizer,
                                 const int32_t *prompt, uint64_t prompt_count,
                                 const struct accel_generate_options *options, struct accel_generate_result *result,
                                 struct accel_error *error) ACCEL_NOEXCEPT;

/** One text of several. Closed. */
struct accel_generate_text {
    const int32_t *ids; /**< its prompt, at least one token */
    uint64_t count;
    void *data; /**< for the callback, instead of that of the options */
};

/** Generates several texts at the same time, as many as the session has sequences; when one ends, the next begins, the
 * longest prompt first. The seed of text i is that of the options plus i (modulo 2^64), and the text equals that of
 * accel_generate with this seed, except for rounding that depends on the size of the batch. Sequences other than 0 must
 * be free, and are free again afterwards. `results` [count] are filled, each when its text ends; their decode_time
 * overlaps that of others. ACCEL_E_LIMIT before anything is generated if a prompt does not fit. A callback that stops
 * ends its own text only. */
ACCEL_API int32_t accel_generate_texts(struct accel_session *session, const struct accel_tokenizer *tokenizer,
                                       const struct accel_generate_text *texts, uint32_t count,
                                       const struct accel_generate_options *options,
                                       struct accel_generate_result *const *results,
                                       struct accel_error *error) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
