/* SPDX-License-Identifier: Apache-2.0 */
/* The list of devices: duplicates, order, and unclaimed hardware. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boundary/import.h"
#include "core/plugin/import_driver.h"
#include "core/registry/machine.h"
#include "core/registry/rank.h"
#include "core/registry/registry.h"

#define MOST_DEVICES 4096u

/* ---- devices and verdicts of one driver ---- */

static int32_t add_verdict(struct accel_context *context, struct accel_rows *rows, const struct accel_verdict *given,
                           struct accel_error *error)
{
    struct accel_verdict *verdict = accel_arena_array(&context->records, 1, sizeof(*verdict));
    char subject[256] = "";
    if (given->hardware >= 0)
        accel_machine_text(context->hardware.items[given->hardware], subject, sizeof(subject));
    if (verdict == NULL)
        return accel_error_no_memory(error, "for a verdict");
    *verdict = *given;
    verdict->size = sizeof(*verdict);
    if (verdict->remedy == NULL)
        verdict->remedy = "";
    verdict->subject = accel_arena_strdup(&context->records, subject);
    if (verdict->subject == NULL || !accel_rows_add(rows, verdict))
        return accel_error_no_memory(error, "for a verdict");
    return ACCEL_OK;
}

struct accel_listed *accel_registry_find_id(const struct accel_context *context, const struct accel_attached *owner,
                                            const char *id)
{
    for (uint32_t i = 0; i < context->devices.count; i++) {
        struct accel_listed *listed = context->devices.items[i];
        if (listed->owner == owner && strcmp(listed->info.facts->id, id) == 0)
            return listed;
    }
    return NULL;
}

static int32_t add_device(struct accel_context *context, struct accel_attached *owner, const struct accel_facts *facts,
                          struct accel_error *error)
{
    const char *driver = owner->driver->name;
    struct accel_listed *listed = accel_arena_array(&context->records, 1, sizeof(*listed));
    size_t bytes = strlen(driver) + strlen(facts->id) + 2;
    char *name = accel_arena_alloc(&context->records, bytes, 1);
    if (listed == NULL || name == NULL)
        return accel_error_no_memory(error, "for a device of driver %s", driver);
    snprintf(name, bytes, "%s:%s", driver, facts->id);
    listed->info = (struct accel_device_info){.size = sizeof(listed->info),
                                              .plugin = owner->plugin,
                                              .name = name,
                                              .driver = driver,
                                              .facts = facts,
                                              .rank_reason = "",
                                              .duplicate_of = -1,
                                              .hardware = facts->hardware};
    listed->owner = owner;
    listed->order = context->devices.count;
    if (!accel_rows_add(&context->devices, listed))
        return accel_error_no_memory(error, "for a device of driver %s", driver);
    owner->device_count++;
    return ACCEL_OK;
}

int32_t accel_registry_add_device(struct accel_context *context, struct accel_attached *owner,
                                  const struct accel_facts *given, struct accel_error *error)
{
    const char *driver = owner->driver->name;
    struct accel_facts *facts = NULL;
    int32_t code = accel_import_facts(&context->records, given, context->hardware.count, driver, &facts, error);
    if (code == ACCEL_OK && context->devices.count >= MOST_DEVICES)
        code = accel_error_driver(error, ACCEL_E_LIMIT, driver, "more than %u devices", MOST_DEVICES);
    if (code == ACCEL_OK && accel_registry_find_id(context, owner, facts->id) != NULL)
        code = accel_error_driver(error, ACCEL_E_INVALID, driver, "two devices are called %s", facts->id);
    return code == ACCEL_OK ? add_device(context, owner, facts, error) : code;
}

int32_t accel_registry_add_verdict(struct accel_context *context, const struct accel_verdict *given,
                                   struct accel_error *error)
{
    struct accel_verdict verdict = *given;
    int32_t code = accel_import_verdict(&context->records, &verdict, context->hardware.count, given->driver, error);
    return code == ACCEL_OK ? add_verdict(context, &context->verdicts, &verdict, error) : code;
}

void accel_registry_forget(struct accel_context *context)
{
    for (uint32_t i = context->attached.count; i > 0; i--)
        accel_registry_detach(context, context->attached.items[i - 1]);
    context->attached.count = 0;
    context->devices.count = 0;
    context->verdicts.count = 0;
    context->own_verdicts.count = 0;
}

/* ---- order ---- */

/* Sorts by rank, highest first, then by discovery order. */
static int compare_devices(const void *a, const void *b)
{
    const struct accel_listed *left = *(struct accel_listed *const *)a;
    const struct accel_listed *right = *(struct accel_listed *const *)b;
    if (left->info.rank != right->info.rank)
        return left->info.rank > right->info.rank ? -1 : 1;
    return left->order < right->order ? -1 : 1;
}

static bool has_uuid(const struct accel_facts *facts)
{
    static const uint8_t none[sizeof(facts->uuid)];
    return memcmp(facts->uuid, none, sizeof(none)) != 0;
}

/* Returns whether two drivers claim one device, by its UUID or by its PCI function. Processors have no address,
 * and two drivers for them are two devices. */
static bool same_hardware(const struct accel_context *context, const struct accel_listed *a,
                          const struct accel_listed *b)
{
    const struct accel_hardware *hardware;
    if (a->owner == b->owner)
        return false; /* parts into which a driver splits a device are separate devices */
    if (has_uuid(a->info.facts) && memcmp(a->info.facts->uuid, b->info.facts->uuid, sizeof(a->info.facts->uuid)) == 0)
        return true;
    if (a->info.hardware < 0 || a->info.hardware != b->info.hardware)
        return false;
    hardware = context->hardware.items[a->info.hardware];
    return hardware->kind == ACCEL_HARDWARE_PCI;
}

static void mark_duplicates(struct accel_context *context)
{
    for (uint32_t i = 0; i < context->devices.count; i++) {
        struct accel_listed *listed = context->devices.items[i];
        listed->info.duplicate_of = -1;
        for (uint32_t j = 0; j < i && listed->info.duplicate_of < 0; j++) {
            const struct accel_listed *better = context->devices.items[j];
            if (better->info.duplicate_of < 0 && same_hardware(context, better, listed))
                listed->info.duplicate_of = (int32_t)j;
        }
    }
}

/* ---- unclaimed hardware ---- */

static bool is_explained(const struct accel_context *context, uint32_t hardware)
{
    for (uint32_t i = 0; i < context->devices.count; i++)
        if (((const struct accel_listed *)context->devices.items[i])->info.hardware == (int32_t)hardware)
            return true;
    for (uint32_t i = 0; i < context->verdicts.count; i++)
        if (((const struct accel_verdict *)context->verdicts.items[i])->hardware == (int32_t)hardware)
            return true;
    return false;
}

/* Adds a verdict for unclaimed hardware: else a card whose driver is not installed would be missing silently. */
static int32_t explain_rest(struct accel_context *context, struct accel_error *error)
{
    context->own_verdicts.count = 0;
    for (uint32_t i = 0; i < context->hardware.count; i++) {
        struct accel_verdict verdict = {.code = ACCEL_E_NOT_FOUND,
                                        .driver = "",
                                        .hardware = (int32_t)i,
                                        .text = "no driver that was loaded claims this hardware",
                                        .remedy =
                                            "install a driver plugin for it; `accelctl plugins` lists those found, "
                                            "and why some were refused"};
        int32_t code;
        if (is_explained(context, i))
            continue;
        code = add_verdict(context, &context->own_verdicts, &verdict, error);
        if (code != ACCEL_OK)
            return code;
    }
    return ACCEL_OK;
}

int32_t accel_registry_finish(struct accel_context *context, struct accel_error *error)
{
    for (uint32_t i = 0; i < context->devices.count; i++) {
        int32_t code = accel_rank_device(context, context->devices.items[i], error);
        if (code != ACCEL_OK)
            return code;
    }
    if (context->devices.count != 0)
        qsort(context->devices.items, context->devices.count, sizeof(void *), compare_devices);
    mark_duplicates(context);
    return explain_rest(context, error);
}

int32_t accel_context_attach_driver(struct accel_context *context, const struct accel_driver *driver,
                                    struct accel_error *error)
{
    const struct accel_driver *copy = NULL;
    int32_t code = accel_import_driver(driver, NULL, &context->records, &copy, error);
    if (code == ACCEL_OK)
        code = accel_registry_attach(context, copy, ACCEL_NO_PLUGIN, error);
    return code == ACCEL_OK ? accel_registry_finish(context, error) : code;
}
