/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/checked.h"
#include "core/base/utf8.h"

void accel_strbuf_init(struct accel_strbuf *buf, size_t limit)
{
    memset(buf, 0, sizeof(*buf));
    buf->limit = limit;
}

/* Ensures capacity for `more` bytes and the zero byte. */
static bool reserve(struct accel_strbuf *buf, size_t more)
{
    size_t length, needed, capacity;
    char *text;
    if (buf->failed)
        return false;
    buf->failed = true;
    if (!accel_add_size(buf->length, more, &length) || (buf->limit && length > buf->limit) ||
        !accel_add_size(length, 1, &needed))
        return false;
    if (needed > buf->capacity) {
        if (!accel_mul_size(buf->capacity, 2, &capacity) || capacity < needed)
            capacity = needed < 64 ? 64 : needed;
        text = realloc(buf->text, capacity);
        if (text == NULL)
            return false;
        buf->text = text;
        buf->capacity = capacity;
    }
    buf->failed = false;
    return true;
}

void accel_strbuf_append(struct accel_strbuf *buf, const void *data, size_t bytes)
{
    if (!reserve(buf, bytes))
        return;
    if (bytes)
        memcpy(buf->text + buf->length, data, bytes);
    buf->length += bytes;
    buf->text[buf->length] = '\0';
}

void accel_strbuf_text(struct accel_strbuf *buf, const char *text)
{
    accel_strbuf_append(buf, text, strlen(text));
}

void accel_strbuf_char(struct accel_strbuf *buf, char byte)
{
    accel_strbuf_append(buf, &byte, 1);
}

void accel_strbuf_counted(struct accel_strbuf *buf, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    uint32_t bytes = text ? (uint32_t)length : ACCEL_STRBUF_NO_TEXT;
    buf->failed |= length >= ACCEL_STRBUF_NO_TEXT;
    accel_strbuf_append(buf, &bytes, sizeof(bytes));
    accel_strbuf_append(buf, text, text ? bytes : 0);
}

static void append_escaped(struct accel_strbuf *buf, unsigned char byte)
{
    static const char shorts[] = "\b\f\n\r\t\"\\";
    static const char letters[] = "bfnrt\"\\";
    const char *found = strchr(shorts, byte);
    if (found)
        accel_strbuf_printf(buf, "\\%c", letters[found - shorts]);
    else if (byte < 0x20 || byte == 0x7f)
        accel_strbuf_printf(buf, "\\u%04x", byte);
    else
        accel_strbuf_char(buf, (char)byte);
}

void accel_strbuf_json(struct accel_strbuf *buf, const char *text)
{
    size_t bytes = strlen(text);
    accel_strbuf_char(buf, '"');
    for (size_t at = 0; at < bytes;) {
        size_t length = accel_utf8_char(text + at, bytes - at);
        if (length == 0)
            accel_strbuf_text(buf, "\\ufffd");
        else if (length == 1)
            append_escaped(buf, (unsigned char)text[at]);
        else
            accel_strbuf_append(buf, text + at, length);
        at += length ? length : 1;
    }
    accel_strbuf_char(buf, '"');
}

void accel_strbuf_vprintf(struct accel_strbuf *buf, const char *format, va_list values)
{
    va_list again;
    int length;
    va_copy(again, values);
    length = vsnprintf(NULL, 0, format, values);
    if (length < 0)
        buf->failed = true;
    if (length >= 0 && reserve(buf, (size_t)length)) {
        vsnprintf(buf->text + buf->length, (size_t)length + 1, format, again);
        buf->length += (size_t)length;
    }
    va_end(again);
}

void accel_strbuf_printf(struct accel_strbuf *buf, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    accel_strbuf_vprintf(buf, format, values);
    va_end(values);
}

const char *accel_strbuf_get(const struct accel_strbuf *buf)
{
    return buf->text ? buf->text : "";
}

char *accel_strbuf_detach(struct accel_strbuf *buf)
{
    char *text = NULL;
    if (reserve(buf, 0)) {
        buf->text[buf->length] = '\0';
        text = buf->text;
        buf->text = NULL;
    }
    accel_strbuf_free(buf);
    return text;
}

void accel_strbuf_free(struct accel_strbuf *buf)
{
    free(buf->text);
    accel_strbuf_init(buf, buf->limit);
}
