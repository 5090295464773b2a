/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <accel/driver/sdk.h>

int32_t sdk_error(struct accel_error *error, int32_t code, const char *format, ...)
{
    va_list values;

    if (error == NULL || error->code != ACCEL_OK)
        return code;
    error->code = code;
    error->remedy[0] = '\0';
    va_start(values, format);
    vsnprintf(error->text, sizeof(error->text), format, values);
    va_end(values);
    return code;
}

void sdk_remedy(struct accel_error *error, const char *format, ...)
{
    va_list values;

    if (error == NULL || error->remedy[0] != '\0')
        return;
    va_start(values, format);
    vsnprintf(error->remedy, sizeof(error->remedy), format, values);
    va_end(values);
}

void sdk_log(const struct accel_host *host, uint32_t level, const char *format, ...)
{
    char text[512];
    va_list values;

    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    host->log(host, level, text);
}

const struct accel_setting *sdk_setting(const struct accel_setting *settings, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(settings[i].name, name) == 0)
            return &settings[i];
    return NULL;
}
