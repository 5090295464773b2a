/* SPDX-License-Identifier: Apache-2.0 */
/* One rendering: variables in frames, output, and the bounds on what a template may do.
 *
 * Everything a rendering makes lives in its arena. Functions return false after setting the error. One thread. */
#ifndef ACCEL_MODEL_CHAT_RUN_H
#define ACCEL_MODEL_CHAT_RUN_H

#include "model/chat/syntax.h"

#define CHAT_MAX_STEPS 2000000u
#define CHAT_MAX_DEPTH 300 /* of evaluation within evaluation */
#define CHAT_MAX_MEMORY ((size_t)64 << 20)
#define CHAT_MAX_OUTPUT ((size_t)16 << 20)

struct chat_frame {
    struct chat_frame *parent;
    struct chat_dict variables;
};

struct chat_macro {
    const struct chat_node *node;
    struct chat_frame *frame; /* where it was made */
};

enum chat_jump { CHAT_NO_JUMP, CHAT_JUMP_BREAK, CHAT_JUMP_CONTINUE };

struct chat_run {
    const struct accel_chat_template *chat;
    struct chat_arena arena;
    struct chat_frame *frame;
    struct token_buffer *out;
    enum chat_jump jump; /* a break or continue on its way to its loop */
    size_t steps;
    int depth;
    size_t loops; /* that enclose the place, for loop.depth */
    struct accel_error *error;
};

/* Arguments of a call, filter or test; a name is empty for a positional one. */
struct chat_arguments {
    struct chat_value *values; /* [count] */
    const struct chat_text *names;
    size_t count;
};

bool chat_evaluate(struct chat_run *run, const struct chat_node *node, struct chat_value *out_value);
bool chat_run_body(struct chat_run *run, const struct chat_node *first);

/* Calls a macro; what it outputs is the value. */
bool chat_call_macro(struct chat_run *run, const struct chat_node *at, const struct chat_macro *macro,
                     const struct chat_arguments *arguments, struct chat_value *out_value);

/* A call of a filter, whose value stands before the bar, of a method or of a function. */
struct chat_call {
    struct chat_run *run;
    const struct chat_node *at;
    struct chat_text name;
    struct chat_value value;
    const struct chat_arguments *arguments;
};

typedef bool chat_call_fn(const struct chat_call *called, struct chat_value *out_value);

/* Filters, tests, methods and functions by name; unknown ones are refused with the place of `at`. */
bool chat_filter(struct chat_run *run, const struct chat_node *at, struct chat_text name, struct chat_value value,
                 const struct chat_arguments *arguments, struct chat_value *out_value);
bool chat_test(struct chat_run *run, const struct chat_node *at, struct chat_text name, struct chat_value value,
               const struct chat_arguments *arguments, bool *out_result);
bool chat_method(struct chat_run *run, const struct chat_node *at, struct chat_text name, struct chat_value value,
                 const struct chat_arguments *arguments, struct chat_value *out_value);
bool chat_function(struct chat_run *run, const struct chat_node *at, struct chat_text name,
                   const struct chat_arguments *arguments, struct chat_value *out_value);
bool chat_is_function(struct chat_text name);

/* value.name as Jinja looks it up: an entry, or a part of the loop's state; undefined where there is none. */
bool chat_attribute(struct chat_run *run, const struct chat_node *at, struct chat_value value, struct chat_text name,
                    struct chat_value *out_value);

/* The items to go over: those of a list, keys of a mapping, characters of a string, nothing of what is undefined. */
bool chat_items(struct chat_run *run, const struct chat_node *at, struct chat_value value,
                const struct chat_list **out_list);

/* The argument at a position or with a name, or NULL. */
const struct chat_value *chat_argument(const struct chat_arguments *arguments, size_t index, const char *name);

/* A string argument; `other` where it is missing; anything else is refused. */
bool chat_text_argument(struct chat_run *run, const struct chat_node *at, const struct chat_arguments *arguments,
                        size_t index, const char *name, struct chat_text other, struct chat_text *out_text);

/* The value's text, as output would write it. */
bool chat_to_text(struct chat_run *run, struct chat_value value, struct chat_text *out_text);

/* Copies a buffer into the arena as a string and frees it; `done` false means that it could not be filled. */
bool chat_string_from_buffer(struct chat_run *run, struct token_buffer *buffer, bool done,
                             struct chat_value *out_value);

/* One step of work; false beyond the bound. */
bool chat_step(struct chat_run *run, const struct chat_node *at);

/* Errors of a rendering. All return false. */
bool chat_no_memory(struct chat_run *run);
bool chat_refuse(struct chat_run *run, const struct chat_node *at, const char *what, struct chat_text name);
bool chat_wrong(struct chat_run *run, const struct chat_node *at, const char *what, struct chat_value value);

/* Strips characters of `set` (white space if it is empty) from a text's ends. */
struct chat_text chat_strip(struct chat_text text, struct chat_text set, bool left, bool right);

/* Every `from` becomes `to`, at most `limit` times. */
bool chat_replace(struct chat_run *run, struct chat_text text, struct chat_text from, struct chat_text to, size_t limit,
                  struct chat_value *out_value);

/* Upper or lower case of each character; `title` raises the first letter of every word or of the text alone. */
enum chat_case { CHAT_UPPER, CHAT_LOWER, CHAT_TITLE, CHAT_CAPITALIZE };
bool chat_change_case(struct chat_run *run, struct chat_text text, enum chat_case how, struct chat_value *out_value);

#endif
