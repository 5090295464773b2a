/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/file/fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

/* Most bytes of a path, so that the message fits. */
#define PATH_BYTES 200

static const char *path_tail(const char *path)
{
    size_t length = strlen(path);
    if (length <= PATH_BYTES)
        return path;
    path += length - PATH_BYTES;
    while (((unsigned char)*path & 0xc0) == 0x80)
        path++;
    return path;
}

int32_t model_fault(struct accel_error *error, int32_t code, const char *path, uint64_t offset, const char *format, ...)
{
    char line[sizeof(((struct accel_error *)0)->text)];
    const char *tail = path_tail(path);
    const char *cut = tail == path ? "" : "...";
    va_list values;
    if (error == NULL || error->code != ACCEL_OK)
        return code;
    va_start(values, format);
    if (vsnprintf(line, sizeof(line), format, values) < 0)
        line[0] = '\0';
    va_end(values);
    if (offset == MODEL_NO_OFFSET)
        accel_error_set(error, code, "%s%s: %s", cut, tail, line);
    else
        accel_error_set(error, code, "%s%s: offset 0x%llx: %s", cut, tail, (unsigned long long)offset, line);
    return accel_error_origin(error, ACCEL_FROM_MODEL, code);
}

int32_t model_refuse_null(const char *function, struct accel_error *error)
{
    return accel_error_set(error, ACCEL_E_INVALID, "%s: an argument is NULL", function);
}

int32_t model_error_copy(struct accel_error *error, const struct accel_error *from)
{
    if (error != NULL && error->code == ACCEL_OK)
        *error = *from;
    return from->code;
}

int32_t model_fault_errno(struct accel_error *error, const char *path, const char *doing, int native)
{
    int32_t code = ACCEL_E_IO;
    char buffer[128] = "";
    /* The GNU form may return a constant text instead of filling the buffer. */
    const char *reason = strerror_r(native, buffer, sizeof(buffer));
    if (native == ENOENT || native == ENOTDIR)
        code = ACCEL_E_NOT_FOUND;
    if (native == EACCES || native == EPERM || native == EROFS)
        code = ACCEL_E_DENIED;
    if (native == ENOMEM)
        code = ACCEL_E_MEMORY;
    if (error != NULL && error->code == ACCEL_OK)
        error->native = native;
    return model_fault(error, code, path, MODEL_NO_OFFSET, "%s: %s", doing, reason);
}

const char *model_quote(char out[MODEL_QUOTE_BYTES], const char *name, uint64_t length)
{
    /* Reserve one character of four bytes, the ellipsis, the closing quote and the zero. */
    const size_t limit = MODEL_QUOTE_BYTES - 9;
    const utf8proc_uint8_t *text = (const utf8proc_uint8_t *)name;
    uint64_t at = 0;
    size_t used = 0;
    out[used++] = '\'';
    while (at < length && used < limit) {
        utf8proc_int32_t character = -1;
        uint64_t left = length - at;
        utf8proc_ssize_t step = utf8proc_iterate(text + at, left < 4 ? (utf8proc_ssize_t)left : 4, &character);
        if (step < 1 || character < 0x20 || character == 0x7f) {
            out[used++] = '?';
            at++;
            continue;
        }
        memcpy(out + used, name + at, (size_t)step);
        used += (size_t)step;
        at += (uint64_t)step;
    }
    snprintf(out + used, MODEL_QUOTE_BYTES - used, at < length ? "...'" : "'");
    return out;
}

const char *model_shape_text(char out[MODEL_SHAPE_BYTES], uint32_t rank, const uint64_t *dims)
{
    int used = snprintf(out, MODEL_SHAPE_BYTES, "[");

    for (uint32_t d = 0; d < rank && used < MODEL_SHAPE_BYTES; d++)
        used += snprintf(out + used, (size_t)(MODEL_SHAPE_BYTES - used), "%s%llu", d == 0 ? "" : ", ",
                         (unsigned long long)dims[d]);
    if (used < MODEL_SHAPE_BYTES)
        snprintf(out + used, (size_t)(MODEL_SHAPE_BYTES - used), "]");
    return out;
}

void model_remedy_damaged(struct accel_error *error)
{
    accel_error_remedy(error, "its files are damaged or do not match: download or convert the model again");
}
