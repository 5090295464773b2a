/* SPDX-License-Identifier: Apache-2.0 */
/* Selects a device by its name, its driver, its kind, its id, or the first match of a list of these. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "core/profile/keys.h"
#include "core/registry/context.h"

/* Compares a word of a list, which ends at a comma. */
static bool is(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && strncmp(word, name, length) == 0;
}

/* A word of a list, and how it is interpreted. */
struct wanted {
    const char *word;
    size_t length;
    const char *driver;
    uint32_t way;
};

static bool is_duplicate(const struct accel_listed *listed)
{
    return listed->info.duplicate_of >= 0 || (listed->info.facts->flags & ACCEL_DEVICE_TARGET) != 0;
}

/* Returns whether the word matches, including another driver's device of the same hardware. */
static bool fits(const struct accel_listed *listed, const void *data)
{
    const struct wanted *wanted = data;
    const struct accel_facts *facts = listed->info.facts;
    if (wanted->driver && strcmp(listed->info.driver, wanted->driver) != 0)
        return false;
    switch (wanted->way) {
    case 0:
        return is(wanted->word, wanted->length, listed->info.name) ||
               is(wanted->word, wanted->length, listed->info.driver);
    case 1:
        /* "gpu" does not match software devices. */
        return (facts->flags & (ACCEL_DEVICE_SOFTWARE | ACCEL_DEVICE_TARGET)) == 0 &&
               is(wanted->word, wanted->length, accel_device_kind_name(facts->kind));
    default:
        return (facts->flags & ACCEL_DEVICE_TARGET) == 0 && is(wanted->word, wanted->length, facts->id);
    }
}

const struct accel_listed *accel_context_unranked(const struct accel_context *context, accel_listed_test may,
                                                  const void *data)
{
    const struct accel_listed *unranked = NULL;
    bool is_ranked = false;
    for (uint32_t i = 0; i < context->devices.count; i++) {
        const struct accel_listed *listed = context->devices.items[i];
        if (!may(listed, data))
            continue;
        is_ranked |= listed->unranked == NULL;
        if (listed->unranked && unranked == NULL)
            unranked = listed;
    }
    return is_ranked ? unranked : NULL;
}

/* Returns the first match; the list of devices is sorted, best first. */
static const struct accel_listed *choose_one(const struct accel_context *context, const char *word, size_t length,
                                             const char *driver, const struct accel_listed **out_unranked)
{
    struct wanted wanted = {word, length, driver, 0};
    for (; wanted.way < 3; wanted.way++)
        for (uint32_t i = 0; i < context->devices.count; i++) {
            const struct accel_listed *listed = context->devices.items[i];
            if ((wanted.way != 0 && is_duplicate(listed)) || !fits(listed, &wanted))
                continue;
            *out_unranked = accel_context_unranked(context, fits, &wanted);
            return listed;
        }
    return NULL;
}

const struct accel_listed *accel_context_choose(const struct accel_context *context, const char *names,
                                                const char *driver, const struct accel_listed **out_unranked)
{
    /* Tries the whole text first, since an id may contain a comma. */
    const struct accel_listed *found = choose_one(context, names, strlen(names), driver, out_unranked);
    while (found == NULL && *names != '\0') {
        size_t length = strcspn(names, ",");
        found = choose_one(context, names, length, driver, out_unranked);
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
        /* Stops at the first name that does not fit completely. */
        if (count < 0 || (size_t)count >= bytes - used) {
            text[used] = '\0';
            return;
        }
        used += (size_t)count;
    }
}

/* Names that a guess is taken from: the four kinds, and name, id and driver of a device. */
enum { KINDS = 4, NAMES_OF_DEVICE = 3, GUESSED_DEVICES = 64, SHORTEST_GUESSED = 4 };

const char *accel_context_guess(const struct accel_context *context, const char *name, char *text, size_t bytes)
{
    const char *names[KINDS + NAMES_OF_DEVICE * GUESSED_DEVICES] = {"cpu", "gpu", "npu", "other"};
    char hint[ACCEL_DID_YOU_MEAN];
    uint32_t count = KINDS;
    text[0] = '\0';
    /* A name of three letters is near to every kind. */
    if (strlen(name) < SHORTEST_GUESSED || accel_is_device_kind(name))
        return text;
    for (uint32_t i = 0; i < context->devices.count && i < GUESSED_DEVICES; i++) {
        const struct accel_device_info *info = &((const struct accel_listed *)context->devices.items[i])->info;
        names[count++] = info->name;
        names[count++] = info->driver;
        names[count++] = info->facts->id;
    }
    snprintf(text, bytes, "%s", accel_did_you_mean(accel_suggest(name, names, count), hint));
    return text;
}
