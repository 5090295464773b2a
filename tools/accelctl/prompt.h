/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens that a model is fed: a text as it is, or a message in the model's chat template. */
#ifndef ACCELCTL_PROMPT_H
#define ACCELCTL_PROMPT_H

#include <accel/model/tokenizer.h>

struct prompt {
    const char *text;   /* NULL: empty */
    const char *system; /* of a chat; NULL: the template's own */
    uint32_t chat;      /* 1: the text is a message of the user, and not NULL */
};

/* Reads a prompt from a file, or from the standard input when `path` is "-": UTF-8 without a zero byte, at most 64 MiB.
 * The caller frees it. */
int32_t read_prompt(const char *path, char **out_text, struct accel_error *error);

/* Prompts of a file, one a line: text as it is, or JSON, a string or an object with "prompt". The lines are the
 * caller's to free by free_lines. */
int32_t read_lines(const char *path, char ***out_lines, uint32_t *out_count, struct accel_error *error);
void free_lines(char **lines, uint32_t count);

/* Appends the tokens. `name` is the model's path, for messages. */
int32_t make_prompt(const struct accel_tokenizer *tokenizer, const char *name, const struct prompt *prompt,
                    struct accel_token_list *list, struct accel_error *error);

#endif
