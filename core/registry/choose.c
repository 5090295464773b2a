/* SPDX-License-Identifier: Apache-2.0 */
/* Selects a device by its name, its driver, its kind, its id, or the first match of a list of these. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/profile/keys.h"
#include "core/registry/rank.h"

/* Properties of a device that a word is compared with, in this order. */
enum match { MATCH_NAME_OR_DRIVER, MATCH_KIND, MATCH_ID, MATCH_COUNT };

/* A word of the request, and its interpretation. */
struct selector {
    const char *word; /* not zero-terminated */
    size_t length;
    const char *driver; /* the only driver whose devices match; NULL: any */
    enum match match;
    bool ignores_case;
};

/* Returns whether the word equals a name. */
static bool equals(const struct selector *selector, const char *name)
{
    return strlen(name) == selector->length &&
           (selector->ignores_case ? strncasecmp : strncmp)(selector->word, name, selector->length) == 0;
}

/* Returns whether a device is selected by its name or driver alone, not by kind or id: another driver's device of the
 * same hardware ranks higher, or programs can be compiled for the device and not run on it. */
static bool requires_name(const struct accel_listed *listed)
{
    return listed->info.duplicate_of >= 0 || (listed->info.facts->flags & ACCEL_DEVICE_TARGET) != 0;
}

/* Returns whether a device matches, also if it requires its name. */
static bool matches(const struct accel_listed *listed, const void *data)
{
    const struct selector *selector = data;
    const struct accel_facts *facts = listed->info.facts;
    if (selector->driver && strcmp(listed->info.driver, selector->driver) != 0)
        return false;
    switch (selector->match) {
    case MATCH_NAME_OR_DRIVER:
        return equals(selector, listed->info.name) || equals(selector, listed->info.driver);
    case MATCH_KIND:
        /* "gpu" does not match software devices. */
        return (facts->flags & (ACCEL_DEVICE_SOFTWARE | ACCEL_DEVICE_TARGET)) == 0 &&
               equals(selector, accel_device_kind_name(facts->kind));
    default:
        return (facts->flags & ACCEL_DEVICE_TARGET) == 0 && equals(selector, facts->id);
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
static const struct accel_listed *choose_as(const struct accel_context *context, struct selector selector,
                                            const struct accel_listed **out_unranked)
{
    for (; selector.match < MATCH_COUNT; selector.match++)
        for (uint32_t i = 0; i < context->devices.count; i++) {
            const struct accel_listed *listed = context->devices.items[i];
            if ((selector.match != MATCH_NAME_OR_DRIVER && requires_name(listed)) || !matches(listed, &selector))
                continue;
            *out_unranked = accel_context_unranked(context, matches, &selector);
            return listed;
        }
    return NULL;
}

/* A name as it is written precedes one in letters of another case. */
static const struct accel_listed *choose_one(const struct accel_context *context, const char *word, size_t length,
                                             const char *driver, const struct accel_listed **out_unranked)
{
    struct selector selector = {.word = word, .length = length, .driver = driver};
    const struct accel_listed *listed = choose_as(context, selector, out_unranked);
    selector.ignores_case = true;
    return listed ? listed : choose_as(context, selector, out_unranked);
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

bool accel_names_device(const char *names, const struct accel_device_info *info)
{
    struct selector word = {.word = names, .length = strlen(names), .ignores_case = true};
    bool is_named = equals(&word, info->name) || equals(&word, info->facts->id); /* an id may contain a comma */
    for (; !is_named && *word.word != '\0'; word.word += word.length + (word.word[word.length] == ',')) {
        word.length = strcspn(word.word, ",");
        is_named = equals(&word, info->name) || equals(&word, info->facts->id);
    }
    return is_named;
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
    const char *near;
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
    near = accel_suggest(name, names, count);
    for (uint32_t i = KINDS; near && i < count; i += NAMES_OF_DEVICE)
        near = near == names[i + 2] ? names[i] : near; /* an id alone names no device of a placement */
    snprintf(text, bytes, "%s", accel_did_you_mean(near, hint));
    return text;
}
