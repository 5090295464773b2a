/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lines from the standard input, with editing and history by libedit if the build has it and both the
 * standard input and the error output are terminals. Prompts go to the error output. */
#ifndef ACCELCTL_LINE_READER_H
#define ACCELCTL_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum line_result {
    LINE_TEXT,
    LINE_END,         /* end of input, Ctrl-D */
    LINE_INTERRUPTED, /* Ctrl-C */
    LINE_TERMINATED,  /* SIGTERM or SIGHUP: the caller ends the command */
    LINE_LONG,        /* longer than a message may be; the rest of it has been passed over */
    LINE_FAILED       /* the input cannot be read, or no memory */
};

struct line_reader;

/* `keeps_history` 1: lines that are passed to line_remember are stored in $XDG_STATE_HOME/accel/chat_history. NULL
 * without memory. */
struct line_reader *line_reader_open(uint32_t keeps_history);
/* Lets the Tab key complete the first word of a line that begins with /. `get_word` returns the word at an index,
 * without its /, and NULL past the last. */
void line_reader_complete(struct line_reader *reader, const char *(*get_word)(uint32_t index));
void line_reader_close(struct line_reader *reader);

/* Returns 1 if the input is a terminal. */
bool line_reader_is_terminal(const struct line_reader *reader);

/* Reads a line without its end into *out_text, ended by a zero and valid until the next call. */
enum line_result line_read(struct line_reader *reader, const char *prompt, const char **out_text, size_t *out_bytes);

/* Adds an entry, of one line or several, to the history and to its file. The first failure to write is reported. */
void line_remember(struct line_reader *reader, const char *text);

#endif
