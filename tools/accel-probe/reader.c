/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accel-probe/reader.h"

#include <string.h>

#include "core/base/strbuf.h"

#define ALIGNMENT 64u

void fail_reading(struct byte_reader *reader, int32_t code, const char *what)
{
    if (reader->code == ACCEL_OK)
        reader->code = accel_error_set(reader->error, code, "%s: %s at byte %zu", reader->subject, what, reader->place);
}

const char *read_bytes(struct byte_reader *reader, uint64_t bytes, const char *what)
{
    const char *at = reader->data + reader->place;
    if (bytes > reader->bytes - reader->place)
        fail_reading(reader, ACCEL_E_CORRUPT, what);
    if (reader->code != ACCEL_OK)
        return NULL;
    reader->place += (size_t)bytes;
    return at;
}

void read_numbers(struct byte_reader *reader, void *out, size_t bytes, const char *what)
{
    const char *at = read_bytes(reader, bytes, what);
    if (at != NULL)
        memcpy(out, at, bytes);
    else
        memset(out, 0, bytes);
}

void *read_copy(struct byte_reader *reader, uint64_t bytes, const char *what)
{
    const char *at = read_bytes(reader, bytes, what);
    void *copy;
    if (at == NULL || bytes == 0)
        return NULL;
    copy = accel_arena_alloc(reader->arena, (size_t)bytes, ALIGNMENT);
    if (copy == NULL)
        fail_reading(reader, ACCEL_E_MEMORY, "no memory");
    else
        memcpy(copy, at, (size_t)bytes);
    return copy;
}

const char *read_text(struct byte_reader *reader, size_t most, bool optional)
{
    uint32_t bytes;
    const char *at;
    char *text;
    read_numbers(reader, &bytes, sizeof(bytes), "the length of a text is missing");
    if (optional && bytes == ACCEL_STRBUF_NO_TEXT)
        return NULL;
    if (bytes > most)
        fail_reading(reader, ACCEL_E_CORRUPT, "too long a text");
    at = read_bytes(reader, bytes, "a text is missing");
    if (at == NULL)
        return NULL;
    text = accel_arena_strndup(reader->arena, at, bytes);
    if (text == NULL)
        fail_reading(reader, ACCEL_E_MEMORY, "no memory");
    return text;
}

void *make_array(struct byte_reader *reader, size_t count, size_t bytes)
{
    void *memory = reader->code == ACCEL_OK ? accel_arena_array(reader->arena, count, bytes) : NULL;
    if (memory == NULL)
        fail_reading(reader, ACCEL_E_MEMORY, "no memory");
    return memory;
}
