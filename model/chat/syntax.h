/* SPDX-License-Identifier: Apache-2.0 */
/* A template's tokens and its tree. Both live in the template's arena and are not changed once they are made. */
#ifndef ACCEL_MODEL_CHAT_SYNTAX_H
#define ACCEL_MODEL_CHAT_SYNTAX_H

#include <accel/error.h>
#include <accel/model/chat.h>

#include "model/chat/value.h"

#define CHAT_MAX_SOURCE ((size_t)1 << 20)
#define CHAT_MAX_NESTING 100

enum chat_token_kind {
    CHAT_T_TEXT,    /* outside of tags */
    CHAT_T_OUTPUT,  /* {{ */
    CHAT_T_BLOCK,   /* {% */
    CHAT_T_CLOSE,   /* }} or %} */
    CHAT_T_NAME,    /* a word */
    CHAT_T_STRING,  /* `text` is the content, escapes resolved */
    CHAT_T_INTEGER, /* a decimal integer */
    CHAT_T_REAL,    /* a decimal number with a point or an exponent */
    CHAT_T_SIGN,    /* an operator or a bracket */
    CHAT_T_END,
};

struct chat_token {
    enum chat_token_kind kind;
    uint32_t offset; /* in the source */
    struct chat_text text;
};

enum chat_node_kind {
    /* statements: linked by `next` */
    CHAT_N_TEXT,     /* text */
    CHAT_N_OUTPUT,   /* a */
    CHAT_N_IF,       /* a: condition, b: body, c: else */
    CHAT_N_FOR,      /* names: targets, a: list, d: filter or NULL, b: body, c: else */
    CHAT_N_SET,      /* names: targets or text: attribute of name names[0], a: value */
    CHAT_N_CAPTURE,  /* names[0], b: body */
    CHAT_N_MACRO,    /* text: name, names: parameters, items: defaults or NULL, b: body */
    CHAT_N_BREAK,    /* leave the innermost loop */
    CHAT_N_CONTINUE, /* continue with the loop's next item */
    CHAT_N_GROUP,    /* b: body, without effect of its own */
    /* expressions */
    CHAT_N_LITERAL,   /* value */
    CHAT_N_NAME,      /* text */
    CHAT_N_LIST,      /* items */
    CHAT_N_DICT,      /* items: key, value, key, value ... */
    CHAT_N_ATTRIBUTE, /* a.text */
    CHAT_N_INDEX,     /* a[b] */
    CHAT_N_SLICE,     /* a[b:c:d], each may be NULL */
    CHAT_N_CALL,      /* a(items), names: of keyword arguments, empty for positions */
    CHAT_N_FILTER,    /* a | text(items) */
    CHAT_N_TEST,      /* a is text(items) */
    CHAT_N_NOT,       /* not a */
    CHAT_N_MINUS,     /* -a */
    CHAT_N_AND,       /* a and b */
    CHAT_N_OR,        /* a or b */
    CHAT_N_BINARY,    /* a text b: arithmetic and ~ */
    CHAT_N_COMPARE,   /* items[0] names[1] items[1] names[2] items[2] ... */
    CHAT_N_CONDITION, /* b if a else c */
};

struct chat_node {
    enum chat_node_kind kind;
    uint32_t offset;
    struct chat_text text;
    struct chat_value value;
    struct chat_node *a, *b, *c, *d;
    struct chat_node *next;
    struct chat_node **items; /* [count] */
    struct chat_text *names;  /* [name_count], or [count] for calls and comparisons */
    size_t count, name_count;
};

struct accel_chat_template {
    struct chat_arena arena;
    struct chat_text source;
    char *name;
    struct chat_token *tokens; /* [token_count], used while parsing */
    size_t token_count, token_capacity;
    struct chat_node *body;
};

/* Sets an error "name:line:column: ..." and returns false. */
bool chat_fail(const struct accel_chat_template *chat, uint32_t offset, int32_t code, struct accel_error *error,
               const char *format, ...) ACCEL_PRINTF(5, 6);

/* The error for an allocation that failed. Returns false. */
bool chat_fail_memory(const struct accel_chat_template *chat, const struct chat_arena *arena,
                      struct accel_error *error);

/* Fills chat->tokens from chat->source. */
bool chat_lex(struct accel_chat_template *chat, struct accel_error *error);

/* The state of the parser: the current token and the enclosing constructs. */
struct chat_parser {
    struct accel_chat_template *chat;
    const struct chat_token *at;
    int depth;
    int loops; /* enclosing loops: break and continue require one */
    struct accel_error *error;
};

/* Statements up to the end of the template. */
bool chat_parse(struct accel_chat_template *chat, struct accel_error *error);

/* One expression; `condition` allows "a if b else c". NULL on failure. */
struct chat_node *chat_parse_expression(struct chat_parser *parser, bool condition);

/* One expression, or a tuple "a, b" which is a list. */
struct chat_node *chat_parse_tuple(struct chat_parser *parser, bool condition);

/* A new node at the parser's place; NULL on failure. */
struct chat_node *chat_node_new(struct chat_parser *parser, enum chat_node_kind kind);
bool chat_node_add(struct chat_parser *parser, struct chat_node *node, struct chat_node *item, struct chat_text name);

/* True when the parser stands at this sign or name. chat_accept also steps over it; chat_expect refuses others. */
bool chat_at(const struct chat_parser *parser, enum chat_token_kind kind, const char *text);
bool chat_accept(struct chat_parser *parser, enum chat_token_kind kind, const char *text);
bool chat_expect(struct chat_parser *parser, enum chat_token_kind kind, const char *text);

#endif
