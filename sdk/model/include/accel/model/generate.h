/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writing on: a prompt's tokens in, sampled tokens and text out, one call.
 */
#ifndef ACCEL_MODEL_GENERATE_H
#define ACCEL_MODEL_GENERATE_H

#include <accel/model/sampler.h>
#include <accel/model/session.h>
#include <accel/model/tokenizer.h>

ACCEL_BEGIN_C

/* Why writing ended. */
#define ACCEL_STOP_LENGTH 1u  /**< as many tokens as asked for */
#define ACCEL_STOP_END 2u     /**< the model ended its text, or began another one */
#define ACCEL_STOP_CONTEXT 3u /**< the caches are full */
#define ACCEL_STOP_CALLER 4u  /**< the callback asked for it */

#define ACCEL_GENERATE_PAST_END 1u /**< flag: go on past tokens that end a text */

/** Takes text as it comes: whole UTF-8 characters, not ended by a zero. `id` is the token that completed it, -1 for the
 *  rest at the end. Answering other than 0 stops. Text of `bytes` 0 is handed out too, so that tokens can be counted.
 */
typedef int32_t(ACCEL_CALL *accel_text_function)(void *data, int32_t id, const char *text, size_t bytes);

/** How to write. Open. */
struct accel_generate_options {
    uint32_t size;
    uint32_t flags;                        /**< ACCEL_GENERATE_... */
    uint64_t tokens;                       /**< most tokens to write; 0: until the caches are full */
    const struct accel_sampling *sampling; /**< NULL: greedy */
    accel_text_function text;              /**< NULL: nobody listens */
    void *data;
};

/** What happened. Open. Times are of a clock that never goes back, in nanoseconds. */
struct accel_generate_result {
    uint32_t size;
    uint32_t stop; /**< ACCEL_STOP_... */
    uint64_t prompt_tokens;
    uint64_t tokens;           /**< written, the one that ended the text not counted */
    uint64_t prompt_time;      /**< feeding the prompt */
    uint64_t first_token_time; /**< from the call to the first token */
    uint64_t decode_time;      /**< from the first token to the end */
    uint64_t steps;            /**< decode steps in that time */
};

/** Feeds the prompt (at least one token), then writes. The session keeps prompt and text in its caches. On failure, and
 *  on ACCEL_E_CANCELLED (accel_session_cancel), what was written stays written, and *result tells how far it came. */
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

/** Writes several texts at the same time, as many as the session has sequences; where one ends, the next begins, those
 *  with long prompts first. A greedy text is the one that accel_generate writes, but for rounding that depends on how
 *  many share a step; draws are numbered by the text's index. Sequences other than 0 must be free, and are again
 *  afterwards. `results` [count] are filled as far as texts came; their decode_time runs beside that of others.
 *  ACCEL_E_LIMIT before anything is written where a prompt does not fit. A callback that stops stops its text alone. */
ACCEL_API int32_t accel_generate_texts(struct accel_session *session, const struct accel_tokenizer *tokenizer,
                                       const struct accel_generate_text *texts, uint32_t count,
                                       const struct accel_generate_options *options,
                                       struct accel_generate_result *const *results,
                                       struct accel_error *error) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
