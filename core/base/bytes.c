/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/bytes.h"

#include <string.h>

#define NO_TEXT 0xffffffffu
#define ALIGNMENT 64u

void accel_bytes_put(struct accel_strbuf *out, const void *data, size_t bytes)
{
    if (bytes != 0)
        accel_strbuf_append(out, data, bytes);
}

void accel_bytes_put_text(struct accel_strbuf *out, const char *text)
{
    uint32_t bytes = text ? (uint32_t)strlen(text) : NO_TEXT;
    accel_bytes_put(out, &bytes, sizeof(bytes));
    accel_bytes_put(out, text, text ? bytes : 0);
}

void accel_bytes_fail(struct accel_bytes_reader *reader, int32_t code, const char *what)
{
    if (reader->code == ACCEL_OK)
        reader->code = accel_error_set(reader->error, code, "%s: %s at byte %zu", reader->subject, what, reader->place);
}

const char *accel_bytes_read(struct accel_bytes_reader *reader, uint64_t bytes, const char *what)
{
    const char *at = reader->data + reader->place;
    if (bytes > reader->bytes - reader->place)
        accel_bytes_fail(reader, ACCEL_E_CORRUPT, what);
    if (reader->code != ACCEL_OK)
        return NULL;
    reader->place += (size_t)bytes;
    return at;
}

void accel_bytes_read_numbers(struct accel_bytes_reader *reader, void *out, size_t bytes, const char *what)
{
    const char *at = accel_bytes_read(reader, bytes, what);
    if (at != NULL)
        memcpy(out, at, bytes);
    else
        memset(out, 0, bytes);
}

void *accel_bytes_read_copy(struct accel_bytes_reader *reader, uint64_t bytes, const char *what)
{
    const char *at = accel_bytes_read(reader, bytes, what);
    void *copy;
    if (at == NULL || bytes == 0)
        return NULL;
    copy = accel_arena_alloc(reader->arena, (size_t)bytes, ALIGNMENT);
    if (copy == NULL)
        accel_bytes_fail(reader, ACCEL_E_MEMORY, "no memory");
    else
        memcpy(copy, at, (size_t)bytes);
    return copy;
}

const char *accel_bytes_read_text(struct accel_bytes_reader *reader, size_t most, bool optional)
{
    uint32_t bytes;
    const char *at;
    char *text;
    accel_bytes_read_numbers(reader, &bytes, sizeof(bytes), "the length of a text is missing");
    if (optional && bytes == NO_TEXT)
        return NULL;
    if (bytes > most)
        accel_bytes_fail(reader, ACCEL_E_CORRUPT, "too long a text");
    at = accel_bytes_read(reader, bytes, "a text is missing");
    if (at == NULL)
        return NULL;
    text = accel_arena_strndup(reader->arena, at, bytes);
    if (text == NULL)
        accel_bytes_fail(reader, ACCEL_E_MEMORY, "no memory");
    return text;
}

void *accel_bytes_make(struct accel_bytes_reader *reader, size_t count, size_t bytes)
{
    void *memory = reader->code == ACCEL_OK ? accel_arena_array(reader->arena, count, bytes) : NULL;
    if (memory == NULL)
        accel_bytes_fail(reader, ACCEL_E_MEMORY, "no memory");
    return memory;
}
