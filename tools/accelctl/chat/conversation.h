/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation: its messages, their file, and which of its tokens the KV cache of a session holds, so that a turn
 * prefills new tokens only.
 */
#ifndef ACCELCTL_CONVERSATION_H
#define ACCELCTL_CONVERSATION_H

#include <accel/model/chat.h>
#include <accel/model/generate.h>

struct message {
    char *text;
    size_t bytes;
    uint32_t is_answer; /* 1: of the model, 0: of the user */
};

struct conversation {
    const struct accel_tokenizer *tokenizer;
    const struct accel_chat_template *chat;
    struct accel_session *session; /* loaded */
    char *system;                  /* or NULL */
    size_t system_bytes;
    struct message *messages;
    size_t count;
    size_t capacity;
    struct accel_token_list ids; /* of the last prompt and its answer */
    char *spelled;               /* the text that they spell */
    size_t spelled_bytes;
    uint64_t cached;  /* the first so many are in the KV cache */
    uint64_t trained; /* context that the model was trained for */
    uint32_t stops;   /* 1: kv.full=stop, with which no token leaves the cache */
};

/* Tokens to feed for the next answer. */
struct turn {
    uint64_t cached; /* tokens that have been fed and stay */
    uint64_t held;   /* those of them that have not left the KV cache */
    uint64_t all;    /* tokens of the whole conversation */
    const int32_t *ids;
    uint64_t count; /* ids to prefill, at least 1 */
};

void conversation_free(struct conversation *c);

/* Appends a message, copied. */
int32_t conversation_add(struct conversation *c, uint32_t is_answer, const char *text, size_t bytes,
                         struct accel_error *error);
/* Removes the last message. */
void conversation_drop(struct conversation *c);
/* Removes all messages but the system's, and empties the KV cache. */
void conversation_clear(struct conversation *c);
/* Sets the system message, copied, or removes it with NULL, if the template can render it; else it stays as it was. */
int32_t conversation_set_system(struct conversation *c, const char *text, size_t bytes, struct accel_error *error);

/* Renders and tokenizes the conversation, whose last message is the user's, and truncates the KV cache to the
 * common prefix of tokens. With kv.full=stop ACCEL_E_LIMIT if the context is too short; nothing has changed then. */
int32_t conversation_begin_turn(struct conversation *c, struct turn *out_turn, struct accel_error *error);
/* Records the tokens that accel_generate has fed; `ids` and `text` are its output. */
void conversation_end_turn(struct conversation *c, const struct turn *turn, const struct accel_generate_result *result,
                           const struct accel_token_list *ids, const char *text, size_t bytes);

/* Writes the messages as JSON to a file, atomically: readers see the old or the new one. Answers an exit code
 * after an error has been printed. */
int conversation_save(const struct conversation *c, const char *model, const char *path, uint32_t json);
/* Replaces the messages by those of a file: one that conversation_save wrote, or a list of messages as OpenAI's
 * API has them. On failure nothing changes. `out_model` is the model that the file names, or NULL; the caller
 * frees it. */
int32_t conversation_load(struct conversation *c, const char *path, char **out_model, struct accel_error *error);

#endif
