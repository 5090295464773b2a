/* SPDX-License-Identifier: Apache-2.0 */
/* Values of templates, and the arena that holds them.
 *
 * A value is small and copied; what it points to lives in an arena until the arena ends, and is not changed once it is
 * shared, namespaces apart. Functions that allocate return false when the arena's budget or memory ends. One thread. */
#ifndef ACCEL_MODEL_CHAT_VALUE_H
#define ACCEL_MODEL_CHAT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/tokenizer/buffer.h"

struct chat_arena {
    struct chat_block *blocks;
    size_t budget; /* bytes that may still be allocated */
    bool exhausted;
};

void *chat_arena_take(struct chat_arena *arena, size_t size);
void chat_arena_end(struct chat_arena *arena);

struct chat_text {
    const char *data;
    size_t size;
};

#define CHAT_TEXT(literal) ((struct chat_text){(literal), sizeof(literal) - 1})

bool chat_text_is(struct chat_text text, const char *word);
/* Returns whether a text is one of "ONE TWO THREE". */
bool chat_text_is_one_of(struct chat_text text, const char *words);

/* A copy in the arena. */
bool chat_text_copy(struct chat_arena *arena, const char *data, size_t size, struct chat_text *out_text);

enum chat_kind {
    CHAT_UNDEFINED,
    CHAT_NONE,
    CHAT_BOOL,
    CHAT_INTEGER,
    CHAT_REAL,
    CHAT_STRING,
    CHAT_LIST,
    CHAT_DICT,
    CHAT_LOOP,
    CHAT_MACRO,
    CHAT_FUNCTION,
};

struct chat_value {
    enum chat_kind kind;
    union {
        int64_t integer; /* also 0 or 1 of a BOOL */
        double real;
        struct chat_text text; /* STRING; name of a FUNCTION or of what is UNDEFINED */
        struct chat_list *list;
        struct chat_dict *dict;
        struct chat_loop *loop;
        struct chat_macro *macro;
    } as;
};

struct chat_list {
    struct chat_value *items; /* [count] */
    size_t count, capacity;
};

struct chat_pair {
    struct chat_text key;
    struct chat_value value;
};

struct chat_dict {
    struct chat_pair *pairs; /* [count], in order of insertion */
    size_t count, capacity;
    bool is_namespace; /* its entries may be set */
};

/* The state behind the name `loop`. */
struct chat_loop {
    const struct chat_list *list;
    size_t index;
    size_t depth;
};

struct chat_value chat_undefined(struct chat_text name);
struct chat_value chat_none(void);
struct chat_value chat_bool(bool value);
struct chat_value chat_integer(int64_t value);
struct chat_value chat_real(double value);
struct chat_value chat_string(struct chat_text text);
bool chat_list_new(struct chat_arena *arena, struct chat_value *out_value);
bool chat_list_add(struct chat_arena *arena, struct chat_list *list, struct chat_value value);
bool chat_dict_new(struct chat_arena *arena, struct chat_value *out_value);
bool chat_dict_set(struct chat_arena *arena, struct chat_dict *dict, struct chat_text key, struct chat_value value);

/* The entry of a key, or NULL. */
struct chat_value *chat_dict_find(const struct chat_dict *dict, struct chat_text key);

bool chat_truth(struct chat_value value);
bool chat_is_number(struct chat_value value);
double chat_number(struct chat_value value);
bool chat_equal(struct chat_value a, struct chat_value b, int depth);

/* Orders numbers or strings; false for anything else. */
bool chat_order(struct chat_value a, struct chat_value b, int *out_order);

/* Appends a value as Python's str() writes it, or as json.dumps(ensure_ascii=False) does with an indent, negative for
 * none. Values nested deeper than 64 are cut off with "...". False when memory ends. */
bool chat_write(struct token_buffer *out, struct chat_value value);
bool chat_write_json(struct token_buffer *out, struct chat_value value, int indent);

/* Characters of a valid UTF-8 string, and the byte at which character `index` begins. */
size_t chat_characters(struct chat_text text);
size_t chat_character_offset(struct chat_text text, size_t index);

/* Returns a name for messages, such as "a list". */
const char *chat_kind_name(enum chat_kind kind);

#endif
