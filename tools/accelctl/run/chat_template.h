/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the template of a conversation: that of the model, of a file, or a built-in one. */
#ifndef ACCELCTL_CHAT_TEMPLATE_H
#define ACCELCTL_CHAT_TEMPLATE_H

#include <accel/model/chat.h>

/* Help of --chat-template, which names the built-in templates. */
#define CHAT_TEMPLATE_HELP                                                                                             \
    "chat template instead of that of the model: a Jinja file, or chatml, gemma, llama2, llama3, mistral, phi3 or "    \
    "zephyr"

/* Makes the template: `wanted` is a file or the name of a built-in template, or NULL for the model's own. `model`
 * is the model's path, for messages. ACCEL_E_NOT_FOUND if there is none, with a remedy. */
int32_t make_chat_template(const struct accel_tokenizer *tokenizer, const char *model, const char *wanted,
                           struct accel_chat_template **out_template, struct accel_error *error);

/* Returns the mark with which a built-in template ends a turn, if the vocabulary has no such token: the model
 * would not stop there, and its marks are fed as plain text. NULL for other templates, and if the token exists. */
const char *missing_mark(const struct accel_tokenizer *tokenizer, const char *wanted);

#endif
