/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tokenizer/buffer.h"

#include <stdlib.h>
#include <string.h>

bool token_array_grow(void *array, size_t *capacity, size_t count, size_t element)
{
    void **at = array;
    size_t wanted = *capacity < 16 ? 16 : *capacity;
    void *moved;

    if (count <= *capacity)
        return true;
    while (wanted < count) {
        if (wanted > SIZE_MAX / 2)
            return false;
        wanted *= 2;
    }
    if (wanted > SIZE_MAX / element)
        return false;
    moved = realloc(*at, wanted * element);
    if (moved == NULL)
        return false;
    *at = moved;
    *capacity = wanted;
    return true;
}

bool token_buffer_reserve(struct token_buffer *buffer, size_t more)
{
    if (more > SIZE_MAX - buffer->size)
        return false;
    return token_array_grow(&buffer->data, &buffer->capacity, buffer->size + more, 1);
}

bool token_buffer_append(struct token_buffer *buffer, const char *data, size_t size)
{
    if (size == 0)
        return true;
    if (!token_buffer_reserve(buffer, size))
        return false;
    memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    return true;
}

void token_buffer_free(struct token_buffer *buffer)
{
    free(buffer->data);
    memset(buffer, 0, sizeof(*buffer));
}

char *token_copy(const char *data, size_t size)
{
    char *copy = size == SIZE_MAX ? NULL : malloc(size + 1);

    if (copy == NULL)
        return NULL;
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

size_t token_utf8_next(const char *data, size_t size, uint32_t *out_code)
{
    const unsigned char *bytes = (const unsigned char *)data;
    uint32_t code = bytes[0];
    size_t length = code < 0x80 ? 1 : code < 0xc2 ? 0 : code < 0xe0 ? 2 : code < 0xf0 ? 3 : code < 0xf5 ? 4 : 0;

    if (length == 0 || length > size)
        return 0;
    if (length > 1)
        code &= 0x7fu >> length;
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (bytes[i] & 0x3f);
    }
    if ((length == 3 && code < 0x800) || (length == 4 && (code < 0x10000 || code > 0x10ffff)) ||
        (code >= 0xd800 && code < 0xe000))
        return 0;
    *out_code = code;
    return length;
}

size_t token_utf8_before(const char *data, size_t end)
{
    size_t at = end - 1;

    while (at > 0 && ((unsigned char)data[at] & 0xc0) == 0x80)
        at--;
    return at;
}

size_t token_utf8_put(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

size_t token_utf8_check(const char *data, size_t size)
{
    size_t at = 0;

    while (at < size) {
        uint32_t code;
        size_t length = (unsigned char)data[at] < 0x80 ? 1 : token_utf8_next(data + at, size - at, &code);

        if (length == 0)
            return at;
        at += length;
    }
    return size;
}

bool token_is_space(uint32_t code)
{
    return (code >= 9 && code <= 13) || code == ' ' || code == 0x85 || code == 0xa0 || code == 0x1680 ||
           (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f ||
           code == 0x3000;
}
