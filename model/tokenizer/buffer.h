/* SPDX-License-Identifier: Apache-2.0 */
/* Growable byte buffers and pieces of text, which the stages of a tokenizer pass to each other.
 *
 * A buffer starts zeroed, belongs to one thread and is freed with token_buffer_free. Functions that grow a buffer
 * return false if memory runs out, and leave its content unchanged. */
#ifndef ACCEL_MODEL_TOKENIZER_BUFFER_H
#define ACCEL_MODEL_TOKENIZER_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct token_buffer {
    char *data; /* [size] of `capacity` bytes; not zero-terminated */
    size_t size;
    size_t capacity;
};

bool token_buffer_append(struct token_buffer *buffer, const char *data, size_t size);
bool token_buffer_reserve(struct token_buffer *buffer, size_t more);
void token_buffer_free(struct token_buffer *buffer);

/* Grows an array that holds `*capacity` elements of `element` bytes to at least `count`; doubles the capacity. */
bool token_array_grow(void *array, size_t *capacity, size_t count, size_t element);

/* Returns a zero-terminated copy of `size` bytes; NULL if memory runs out. */
char *token_copy(const char *data, size_t size);

/* The character at `data` (`size` > 0): its bytes (1 to 4), and the code point in *out_code. 0 if it is not UTF-8. */
size_t token_utf8_next(const char *data, size_t size, uint32_t *out_code);

/* The start of the character that ends at `end` (> 0) of valid UTF-8. */
size_t token_utf8_before(const char *data, size_t end);

/* Writes a code point (below 0x110000, no surrogate) and returns its bytes. */
size_t token_utf8_put(uint32_t code, char out[4]);

/* Offset of the first byte that is not UTF-8, or `size`. */
size_t token_utf8_check(const char *data, size_t size);

/* White_Space of Unicode. */
bool token_is_space(uint32_t code);

#endif
