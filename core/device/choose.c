/* SPDX-License-Identifier: Apache-2.0 */
/* Which device is meant: by its name, its driver, its kind, its id, or the first of a list of these that is here. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "core/device/context.h"

/* A word of a list that ends at a comma. */
static bool is(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && strncmp(word, name, length) == 0;
}

static bool is_meant(const struct accel_listed *listed, const char *word, size_t length, uint32_t way)
{
    const struct accel_facts *facts = listed->info.facts;
    bool is_shadow = listed->info.duplicate_of >= 0 || (facts->flags & ACCEL_DEVICE_TARGET) != 0;
    switch (way) {
    case 0:
        return is(word, length, listed->info.name) || is(word, length, listed->info.driver);
    case 1:
        /* Who asks for a GPU does not mean the processors in its place. */
        return !is_shadow && (facts->flags & ACCEL_DEVICE_SOFTWARE) == 0 &&
               is(word, length, accel_device_kind_name(facts->kind));
    default:
        return !is_shadow && is(word, length, facts->id);
    }
}

/* The list of devices is sorted, best first. */
static const struct accel_listed *choose_one(const struct accel_context *context, const char *word, size_t length,
                                             const char *driver)
{
    for (uint32_t way = 0; way < 3; way++)
        for (uint32_t i = 0; i < context->devices.count; i++) {
            const struct accel_listed *listed = context->devices.items[i];
            if ((driver == NULL || strcmp(listed->info.driver, driver) == 0) && is_meant(listed, word, length, way))
                return listed;
        }
    return NULL;
}

const struct accel_listed *accel_context_choose(const struct accel_context *context, const char *names,
                                                const char *driver)
{
    /* An id of a driver may have a comma in it. */
    const struct accel_listed *found = choose_one(context, names, strlen(names), driver);
    while (found == NULL && *names != '\0') {
        size_t length = strcspn(names, ",");
        found = choose_one(context, names, length, driver);
        names += length + (names[length] == ',');
    }
    return found;
}

void accel_context_choices(const struct accel_context *context, const char *driver, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < context->devices.count; i++) {
        const struct accel_device_info *info = &((const struct accel_listed *)context->devices.items[i])->info;
        int count;
        if (driver != NULL && strcmp(info->driver, driver) != 0)
            continue;
        count = snprintf(text + used, bytes - used, "%s%s (%s%s)", used == 0 ? "" : ", ", info->name,
                         accel_device_kind_name(info->facts->kind),
                         (info->facts->flags & ACCEL_DEVICE_SOFTWARE) != 0 ? ", software" : "");
        /* A name that does not fit whole is left out, like those behind it. */
        if (count < 0 || (size_t)count >= bytes - used) {
            text[used] = '\0';
            return;
        }
        used += (size_t)count;
    }
}
