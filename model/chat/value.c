/* SPDX-License-Identifier: Apache-2.0 */
#include "model/chat/value.h"

#include <stdlib.h>
#include <string.h>

#include "model/file/text.h"

#define BLOCK 16384
#define MAX_DEPTH 64

struct chat_block {
    struct chat_block *next;
    size_t used, size;
    max_align_t data[];
};

void *chat_arena_take(struct chat_arena *arena, size_t size)
{
    struct chat_block *block = arena->blocks;
    void *taken;

    size = size > SIZE_MAX / 2 ? size : (size + 15) & ~(size_t)15;
    if (size > arena->budget) {
        arena->exhausted = true;
        return NULL;
    }
    if (block == NULL || block->size - block->used < size) {
        size_t wanted = size > BLOCK ? size : BLOCK;

        block = malloc(sizeof(*block) + wanted);
        if (block == NULL)
            return NULL;
        block->next = arena->blocks;
        block->size = wanted;
        block->used = 0;
        arena->blocks = block;
    }
    arena->budget -= size;
    taken = (char *)block->data + block->used;
    block->used += size;
    memset(taken, 0, size);
    return taken;
}

void chat_arena_end(struct chat_arena *arena)
{
    while (arena->blocks != NULL) {
        struct chat_block *next = arena->blocks->next;

        free(arena->blocks);
        arena->blocks = next;
    }
}

bool chat_text_is(struct chat_text text, const char *word)
{
    return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

bool chat_text_is_one_of(struct chat_text text, const char *words)
{
    return model_text_is_one_of(words, text.data, text.size);
}

static bool chat_text_equal(struct chat_text a, struct chat_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool chat_text_copy(struct chat_arena *arena, const char *data, size_t size, struct chat_text *out_text)
{
    char *copy = chat_arena_take(arena, size + 1);

    if (copy == NULL)
        return false;
    if (size > 0)
        memcpy(copy, data, size);
    *out_text = (struct chat_text){copy, size};
    return true;
}

struct chat_value chat_undefined(struct chat_text name)
{
    return (struct chat_value){.kind = CHAT_UNDEFINED, .as.text = name};
}

struct chat_value chat_none(void)
{
    return (struct chat_value){.kind = CHAT_NONE};
}

struct chat_value chat_bool(bool value)
{
    return (struct chat_value){.kind = CHAT_BOOL, .as.integer = value};
}

struct chat_value chat_integer(int64_t value)
{
    return (struct chat_value){.kind = CHAT_INTEGER, .as.integer = value};
}

struct chat_value chat_real(double value)
{
    return (struct chat_value){.kind = CHAT_REAL, .as.real = value};
}

struct chat_value chat_string(struct chat_text text)
{
    return (struct chat_value){.kind = CHAT_STRING, .as.text = text};
}

bool chat_list_new(struct chat_arena *arena, struct chat_value *out_value)
{
    *out_value = (struct chat_value){.kind = CHAT_LIST, .as.list = chat_arena_take(arena, sizeof(struct chat_list))};
    return out_value->as.list != NULL;
}

bool chat_dict_new(struct chat_arena *arena, struct chat_value *out_value)
{
    *out_value = (struct chat_value){.kind = CHAT_DICT, .as.dict = chat_arena_take(arena, sizeof(struct chat_dict))};
    return out_value->as.dict != NULL;
}

/* Doubles an array in the arena; the old array remains there unused. */
static void *grow(struct chat_arena *arena, void *old, size_t count, size_t *capacity, size_t element)
{
    size_t wanted = *capacity == 0 ? 4 : *capacity * 2;
    void *moved;

    if (count < *capacity)
        return old;
    moved = chat_arena_take(arena, wanted * element);
    if (moved == NULL)
        return NULL;
    if (count > 0)
        memcpy(moved, old, count * element);
    *capacity = wanted;
    return moved;
}

bool chat_list_add(struct chat_arena *arena, struct chat_list *list, struct chat_value value)
{
    struct chat_value *items = grow(arena, list->items, list->count, &list->capacity, sizeof(*items));

    if (items == NULL)
        return false;
    list->items = items;
    items[list->count++] = value;
    return true;
}

struct chat_value *chat_dict_find(const struct chat_dict *dict, struct chat_text key)
{
    for (size_t i = 0; i < dict->count; i++) {
        if (chat_text_equal(dict->pairs[i].key, key))
            return &dict->pairs[i].value;
    }
    return NULL;
}

bool chat_dict_set(struct chat_arena *arena, struct chat_dict *dict, struct chat_text key, struct chat_value value)
{
    struct chat_value *old = chat_dict_find(dict, key);
    struct chat_pair *pairs;

    if (old != NULL) {
        *old = value;
        return true;
    }
    pairs = grow(arena, dict->pairs, dict->count, &dict->capacity, sizeof(*pairs));
    if (pairs == NULL)
        return false;
    dict->pairs = pairs;
    pairs[dict->count++] = (struct chat_pair){key, value};
    return true;
}

bool chat_truth(struct chat_value value)
{
    switch (value.kind) {
    case CHAT_UNDEFINED:
    case CHAT_NONE:
        return false;
    case CHAT_BOOL:
    case CHAT_INTEGER:
        return value.as.integer != 0;
    case CHAT_REAL:
        return value.as.real != 0;
    case CHAT_STRING:
        return value.as.text.size > 0;
    case CHAT_LIST:
        return value.as.list->count > 0;
    case CHAT_DICT:
        return value.as.dict->is_namespace || value.as.dict->count > 0;
    default:
        return true;
    }
}

bool chat_is_number(struct chat_value value)
{
    return value.kind == CHAT_BOOL || value.kind == CHAT_INTEGER || value.kind == CHAT_REAL;
}

double chat_number(struct chat_value value)
{
    return value.kind == CHAT_REAL ? value.as.real : (double)value.as.integer;
}

static bool equal_lists(const struct chat_list *a, const struct chat_list *b, int depth)
{
    bool same = a->count == b->count;

    for (size_t i = 0; same && i < a->count; i++)
        same = chat_equal(a->items[i], b->items[i], depth + 1);
    return same;
}

static bool equal_dicts(const struct chat_dict *a, const struct chat_dict *b, int depth)
{
    bool same = a->count == b->count;

    for (size_t i = 0; same && i < a->count; i++) {
        const struct chat_value *other = chat_dict_find(b, a->pairs[i].key);

        same = other != NULL && chat_equal(a->pairs[i].value, *other, depth + 1);
    }
    return same;
}

bool chat_equal(struct chat_value a, struct chat_value b, int depth)
{
    if (depth > MAX_DEPTH)
        return false;
    if (chat_is_number(a) && chat_is_number(b)) {
        if (a.kind != CHAT_REAL && b.kind != CHAT_REAL)
            return a.as.integer == b.as.integer;
        return chat_number(a) == chat_number(b);
    }
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case CHAT_STRING:
        return chat_text_equal(a.as.text, b.as.text);
    case CHAT_LIST:
        return equal_lists(a.as.list, b.as.list, depth);
    case CHAT_DICT:
        return equal_dicts(a.as.dict, b.as.dict, depth);
    default:
        return a.kind == CHAT_NONE || a.kind == CHAT_UNDEFINED;
    }
}

bool chat_order(struct chat_value a, struct chat_value b, int *out_order)
{
    if (chat_is_number(a) && chat_is_number(b)) {
        double left = chat_number(a), right = chat_number(b);

        *out_order = left < right ? -1 : left > right;
        return true;
    }
    if (a.kind == CHAT_STRING && b.kind == CHAT_STRING) {
        size_t least = a.as.text.size < b.as.text.size ? a.as.text.size : b.as.text.size;
        int order = least == 0 ? 0 : memcmp(a.as.text.data, b.as.text.data, least);

        if (order == 0)
            order = a.as.text.size < b.as.text.size ? -1 : a.as.text.size > b.as.text.size;
        *out_order = order;
        return true;
    }
    return false;
}

size_t chat_characters(struct chat_text text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.size; i++)
        count += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    return count;
}

size_t chat_character_offset(struct chat_text text, size_t index)
{
    size_t at = 0;

    while (at < text.size) {
        if (((unsigned char)text.data[at] & 0xc0) != 0x80 && index-- == 0)
            break;
        at++;
    }
    return at;
}

const char *chat_kind_name(enum chat_kind kind)
{
    static const char *const names[] = {"an undefined value", "none",     "a boolean", "an integer",
                                        "a real number",      "a string", "a list",    "a mapping",
                                        "the loop's state",   "a macro",  "a function"};

    return names[kind];
}
