/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"

static const char *const names[] = {
    "ACCEL_OK",         "ACCEL_E_INVALID",   "ACCEL_E_MEMORY",      "ACCEL_E_UNSUPPORTED", "ACCEL_E_REFUSED",
    "ACCEL_E_BUSY",     "ACCEL_E_AGAIN",     "ACCEL_E_TIMEOUT",     "ACCEL_E_DEVICE_LOST", "ACCEL_E_CORRUPT",
    "ACCEL_E_IO",       "ACCEL_E_NOT_FOUND", "ACCEL_E_DENIED",      "ACCEL_E_ABI",         "ACCEL_E_CANCELLED",
    "ACCEL_E_DEPENDS",  "ACCEL_E_FORKED",    "ACCEL_E_NEEDS_RANGE", "ACCEL_E_MISS",        "ACCEL_E_LIMIT",
    "ACCEL_E_FALLBACK", "ACCEL_E_INTERNAL",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == 1 - ACCEL_E_LAST, "every code has a name");

const char *accel_error_name(int32_t code) ACCEL_NOEXCEPT
{
    if (code > 0 || code < ACCEL_E_LAST)
        return "ACCEL_E_?";
    return names[-code];
}

/* Formats to a buffer first, since the arguments may be the text that is replaced. */
static void format_line(char *out, size_t out_bytes, const char *format, va_list values)
{
    char line[sizeof(((struct accel_error *)0)->text) + 4];
    int wanted = vsnprintf(line, sizeof(line), format, values);
    size_t length = wanted < 0 ? 0 : strlen(line);
    bool is_cut = length >= out_bytes;
    length = accel_utf8_cut(line, length, out_bytes - (is_cut ? sizeof("...") : 1));
    strcpy(line + length, is_cut ? "..." : "");
    accel_utf8_one_line(line);
    memcpy(out, line, strlen(line) + 1);
}

/* Returns the origin that a code implies, for callers that state none. */
static uint32_t usual_origin(int32_t code)
{
    if (code == ACCEL_E_MEMORY || code == ACCEL_E_IO)
        return ACCEL_FROM_SYSTEM;
    return code == ACCEL_E_DEVICE_LOST ? ACCEL_FROM_DEVICE : ACCEL_FROM_CALLER;
}

static int32_t set(struct accel_error *error, uint32_t origin, int32_t code, const char *format, va_list values)
{
    if (error == NULL || error->code != ACCEL_OK || code == ACCEL_OK)
        return code;
    error->code = code;
    error->origin = origin;
    format_line(error->text, sizeof(error->text), format, values);
    return code;
}

int32_t accel_error_set(struct accel_error *error, int32_t code, const char *format, ...) ACCEL_NOEXCEPT
{
    va_list values;
    va_start(values, format);
    set(error, usual_origin(code), code, format, values);
    va_end(values);
    return code;
}

int32_t accel_error_by(struct accel_error *error, uint32_t origin, int32_t code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    set(error, origin, code, format, values);
    va_end(values);
    return code;
}

int32_t accel_error_driver(struct accel_error *error, int32_t code, const char *driver, const char *format, ...)
{
    char text[sizeof(error->text)];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    return accel_error_by(error, ACCEL_FROM_DRIVER, code, "driver %s: %s", driver, text);
}

int32_t accel_error_native(struct accel_error *error, uint32_t origin, int32_t code, int32_t native, const char *format,
                           ...)
{
    bool first = error && error->code == ACCEL_OK;
    va_list values;
    va_start(values, format);
    set(error, origin, code, format, values);
    va_end(values);
    if (first)
        error->native = native;
    return code;
}

void accel_error_remedy(struct accel_error *error, const char *format, ...) ACCEL_NOEXCEPT
{
    va_list values;
    if (error == NULL || error->code == ACCEL_OK || error->remedy[0] != '\0')
        return;
    va_start(values, format);
    format_line(error->remedy, sizeof(error->remedy), format, values);
    va_end(values);
}

int32_t accel_error_copy(struct accel_error *error, const struct accel_error *from)
{
    if (error && error->code == ACCEL_OK)
        *error = *from;
    return from->code;
}

void accel_error_clear(struct accel_error *error) ACCEL_NOEXCEPT
{
    if (error == NULL)
        return;
    error->code = ACCEL_OK;
    error->native = 0;
    error->heap = 0;
    error->origin = ACCEL_FROM_CALLER;
    error->asked = 0;
    error->free = 0;
    error->text[0] = '\0';
    error->remedy[0] = '\0';
}
