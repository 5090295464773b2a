/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the tokens of a prompt: a text as it is, or a message in the model's chat template. */
#ifndef ACCELCTL_PROMPT_H
#define ACCELCTL_PROMPT_H

#include <accel/model/chat.h>
#include <accel/model/tokenizer.h>

struct prompt {
    const char *text;     /* NULL: empty */
    const char *system;   /* of a chat; NULL: the template's own */
    const char *template; /* of a chat: a file or the name of a built-in one; NULL: the model's */
    uint32_t chat;        /* 1: the text is a message of the user, and not NULL */
};

/* Reads a prompt from a file, or from the standard input when `path` is "-": UTF-8 without a zero byte, at most 64 MiB.
 * The caller frees it. */
int32_t read_prompt(const char *path, char **out_text, struct accel_error *error);

/* Expands the escapes that llama.cpp knows, in place: \n \r \t \' \" \\ and \xHH; other backslashes stay. Answers 0 if
 * an escape stands for a zero byte. */
uint32_t expand_escapes(char *text);

/* Reads prompts of a file, one a line: text as it is, or JSON, a string or an object with "prompt". free_lines
 * frees the lines. */
int32_t read_lines(const char *path, char ***out_lines, uint32_t *out_count, struct accel_error *error);
void free_lines(char **lines, uint32_t count);

/* Renders messages with the tokenizer's spellings of its BOS and EOS tokens, which are filled into the request.
 * Free the text with accel_chat_text_free. */
int32_t render_chat(const struct accel_tokenizer *tokenizer, const struct accel_chat_template *chat,
                    struct accel_chat_request *request, char **out_text, size_t *out_bytes, struct accel_error *error);

/* Appends the tokens of a prompt. `name` is the model's path, for messages. */
int32_t make_prompt(const struct accel_tokenizer *tokenizer, const char *name, const struct prompt *prompt,
                    struct accel_token_list *list, struct accel_error *error);

#endif
