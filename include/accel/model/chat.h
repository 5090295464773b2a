/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Chat templates: messages to the text that a model was trained on.
 *
 * A template is text in the subset of Jinja that published templates use: for with else, if, elif, else, set (also of
 * namespaces and of blocks), macros, break, continue; expressions with slices, filters, tests and methods of strings,
 * lists and mappings; blanks handled as published templates expect it (trim_blocks and lstrip_blocks). Everything else
 * is refused by name with line and column: statements when the template is made, filters, tests, functions and methods
 * when they are reached.
 *
 * A template is immutable once made; any thread may render it. Limits: source 1 MiB, nesting 100,
 * steps 2 million, memory 64 MiB, output 16 MiB; beyond that rendering ends with ACCEL_E_LIMIT.
 */
#ifndef ACCEL_MODEL_CHAT_H
#define ACCEL_MODEL_CHAT_H

#include <accel/abi.h>
#include <accel/error.h>
#include <accel/model/tokenizer.h>

ACCEL_BEGIN_C

struct accel_chat_template;

/** One message. Closed. */
struct accel_chat_message {
    struct accel_token_text role;    /**< such as "system", "user" or "assistant" */
    struct accel_token_text content; /**< UTF-8 */
};

/** accel_chat_request.flags: end with what opens the assistant's answer. */
#define ACCEL_CHAT_GENERATE 1u

/** A request to render. Open: set `size` to sizeof. */
struct accel_chat_request {
    uint32_t size;                             /**< sizeof(struct accel_chat_request) */
    uint32_t flags;                            /**< ACCEL_CHAT_... */
    const struct accel_chat_message *messages; /**< [message_count] */
    size_t message_count;                      /**< 0 where `variables` holds the messages */
    struct accel_token_text bos;               /**< spelling of the begin token, the variable bos_token */
    struct accel_token_text eos;               /**< spelling of the end token, the variable eos_token */
    struct accel_token_text variables; /**< a JSON object with further variables (messages, tools ...) or empty */
};

/**
 * Parses a template. The text is copied.
 *
 * @param name  what messages call it; may be NULL
 * @return ACCEL_OK; ACCEL_E_CORRUPT for what is not Jinja, ACCEL_E_UNSUPPORTED for what is and is not had here, both
 *         with line and column; ACCEL_E_LIMIT; ACCEL_E_MEMORY
 */
ACCEL_API int32_t accel_chat_template_create(const char *text, size_t size, const char *name,
                                             struct accel_chat_template **out_template,
                                             struct accel_error *error) ACCEL_NOEXCEPT;

/** Frees a template; NULL is allowed. */
ACCEL_API void accel_chat_template_free(struct accel_chat_template *chat) ACCEL_NOEXCEPT;

/**
 * Renders a conversation.
 *
 * @param out_text  receives the text, ended by a zero byte that `out_size` does not count; free it with
 *                  accel_chat_text_free
 * @return ACCEL_OK; ACCEL_E_REFUSED where the template itself raises an exception, with its words;
 *         ACCEL_E_UNSUPPORTED, ACCEL_E_INVALID (an operation on values that do not have it), with line and column;
 *         ACCEL_E_LIMIT; ACCEL_E_MEMORY
 */
ACCEL_API int32_t accel_chat_render(const struct accel_chat_template *chat, const struct accel_chat_request *request,
                                    char **out_text, size_t *out_size, struct accel_error *error) ACCEL_NOEXCEPT;

/** Frees a text of accel_chat_render; NULL is allowed. */
ACCEL_API void accel_chat_text_free(char *text) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
