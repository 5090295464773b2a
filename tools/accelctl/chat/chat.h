/* SPDX-License-Identifier: Apache-2.0 */
/* The state of accelctl chat, which its commands (/set, /save ...) work on. */
#ifndef ACCELCTL_CHAT_H
#define ACCELCTL_CHAT_H

#include "tools/accelctl/chat/conversation.h"
#include "tools/accelctl/chat/line_reader.h"
#include "tools/accelctl/model.h"
#include "tools/accelctl/run/sampling.h"

struct chat_options {
    struct common common;
    struct sampling_choice sampling;
    const char *system;
    const char *template;
    const char *resume;
    const char *plan;
    uint32_t quiet;
};

struct chat {
    const struct chat_options *options;
    const char *model; /* path */
    struct sampling_choice sampling;
    struct opened opened;
    struct accel_tokenizer *tokenizer;
    struct accel_chat_template *chat;
    struct conversation conversation;
    struct line_reader *reader;
    char *file;             /* of the last /save or /load, or NULL */
    char *texts[LIST_MOST]; /* values of lists that /set was given */
    uint32_t text_count;
    uint64_t answers;  /* generated so far: each has draws of its own */
    uint32_t reported; /* notes of the plan whose reports have been printed */
    int code;          /* exit code of the first failure */
    uint32_t ends;     /* 1: /exit */
    uint32_t cut;      /* 1: a signal ended an answer, and the chat with it */
};

/* Stores the exit code of the first failure. */
void record_failure(struct chat *chat, int code);

/* Reports a fault of a line that the user typed, and stores the exit code for a session without a terminal. */
void chat_refuse(struct chat *chat, const char *text, const char *remedy);

/* Prints a line beside the conversation, which with -q and --json is left out. */
void chat_note(const struct chat *chat, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));

/* Ends the chat after a signal that the progress in use received: without a terminal each one does, at a terminal
 * SIGTERM alone. */
void chat_heed_signal(struct chat *chat);

/* Answers the last message. 0 if no answer was generated; the conversation is unchanged then. */
uint32_t chat_answer(struct chat *chat);

/* Returns the name of a command within the chat, without its /; NULL past the last. */
const char *slash_command_name(uint32_t index);

/* Carries out a line that begins with /. */
void run_slash_command(struct chat *chat, const char *line);

/* Loads a conversation from a file. Answers -1, or an exit code after an error has been printed. */
int chat_load(struct chat *chat, const char *path);

#endif
