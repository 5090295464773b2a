/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/utf8.h"

#define LINE_BYTES 1024

void accel_log_write(const struct accel_log *log, uint32_t level, const char *component, const char *format, ...)
{
    char line[LINE_BYTES + 4];
    va_list values;
    int wanted;
    if (log == NULL || log->sink == NULL || level > log->level || level == 0)
        return;
    va_start(values, format);
    wanted = vsnprintf(line, sizeof(line), format, values);
    va_end(values);
    if (wanted < 0)
        return;
    line[accel_utf8_cut(line, strlen(line), LINE_BYTES)] = '\0';
    accel_utf8_one_line(line);
    log->sink(log->user, level, component, line);
}
