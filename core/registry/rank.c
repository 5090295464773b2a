/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks a device: resolves the setting device.rank of the profiles with the facts of the device. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/error.h"
#include "core/registry/rank.h"
#include "core/snapshot/fields.h"

const char *accel_device_kind_name(uint32_t kind)
{
    return kind <= ACCEL_DEVICE_OTHER ? accel_device_kinds[kind] : "other";
}

bool accel_is_device_kind(const char *word)
{
    for (uint32_t kind = ACCEL_DEVICE_CPU; kind <= ACCEL_DEVICE_OTHER; kind++)
        if (strcasecmp(word, accel_device_kind_name(kind)) == 0)
            return true;
    return false;
}

static const char *flag(const struct accel_facts *facts, uint32_t bit)
{
    return (facts->flags & bit) != 0 ? "true" : "false";
}

static void add(struct accel_device_pairs *out, const char *key, const char *value, const char *origin)
{
    out->pairs[out->count++] = (struct accel_profile_pair){.key = key, .value = value, .origin = origin};
}

void accel_device_pairs_fill(const struct accel_listed *listed, struct accel_device_pairs *out)
{
    const struct accel_facts *facts = listed->info.facts;
    const char *origin = listed->info.name;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < facts->heap_count; i++)
        largest = facts->heaps[i].bytes > largest ? facts->heaps[i].bytes : largest;
    out->count = 0;
    snprintf(out->memory, sizeof(out->memory), "%llu", (unsigned long long)largest);
    snprintf(out->threads, sizeof(out->threads), "%u", facts->limits->threads);
    add(out, "device.kind", accel_device_kind_name(facts->kind), origin);
    add(out, "device.name", facts->name, origin);
    add(out, "device.id", facts->id, origin);
    add(out, "device.software", flag(facts, ACCEL_DEVICE_SOFTWARE), origin);
    add(out, "device.unified", flag(facts, ACCEL_DEVICE_UNIFIED), origin);
    add(out, "device.remote", flag(facts, ACCEL_DEVICE_REMOTE), origin);
    add(out, "device.display", flag(facts, ACCEL_DEVICE_DISPLAY), origin);
    add(out, "device.target", flag(facts, ACCEL_DEVICE_TARGET), origin);
    if (largest != 0)
        add(out, "device.memory", out->memory, origin);
    if (facts->limits->threads != 0)
        add(out, "device.threads", out->threads, origin);
    add(out, "driver.name", listed->info.driver, origin);
    add(out, "driver.version", listed->owner->driver->version, origin);
}

static int32_t set_reason(struct accel_context *context, struct accel_listed *listed, const char *reason,
                          struct accel_error *error)
{
    listed->info.rank_reason = accel_arena_strdup(&context->records, reason);
    if (listed->info.rank_reason == NULL)
        return accel_error_no_memory(error, "for the rank of %s", listed->info.name);
    return ACCEL_OK;
}

static int32_t set_rank(struct accel_context *context, struct accel_listed *listed,
                        const struct accel_profile_setting *setting, struct accel_error *error)
{
    char reason[512];
    snprintf(reason, sizeof(reason), "device.rank %s: %s%s%s", setting->value, setting->place,
             setting->reason[0] != '\0' ? ", " : "", setting->reason);
    listed->info.rank = (double)setting->number;
    return set_reason(context, listed, reason, error);
}

static int32_t set_unranked(struct accel_context *context, struct accel_listed *listed, const struct accel_error *why,
                            struct accel_error *error)
{
    char reason[1024];
    struct accel_error *copy = accel_arena_array(&context->records, 1, sizeof(*copy));
    accel_log_write(&context->log, ACCEL_LOG_INFO, "device", "device=%s profile=%s text=\"%s\"", listed->info.name,
                    accel_error_name(why->code), why->text);
    if (copy == NULL)
        return accel_error_no_memory(error, "for the rank of %s", listed->info.name);
    *copy = *why;
    listed->unranked = copy;
    snprintf(reason, sizeof(reason), "not ranked, and no plan can be made: %s%s%s%s", why->text,
             why->remedy[0] != '\0' ? " (" : "", why->remedy, why->remedy[0] != '\0' ? ")" : "");
    return set_reason(context, listed, reason, error);
}

int32_t accel_rank_device(struct accel_context *context, struct accel_listed *listed, struct accel_error *error)
{
    struct accel_device_pairs facts;
    struct accel_settings *settings = NULL;
    struct accel_error why = {0};
    int32_t code;
    accel_device_pairs_fill(listed, &facts);
    listed->info.rank = 0;
    listed->unranked = NULL;
    listed->info.rank_reason = "no profile ranks devices: they are listed in discovery order";
    if (context->profile == NULL)
        return ACCEL_OK;
    /* A profile that cannot be resolved must not hide the machine: the list prints the reason, and the plan fails. */
    code = accel_profile_add(context->profile, listed->info.driver, &why);
    if (code == ACCEL_OK)
        code = accel_profile_resolve(context->profile, facts.pairs, facts.count, NULL, 0, &settings, &why);
    if (code == ACCEL_E_MEMORY)
        return accel_error_by(error, why.origin, code, "%s", why.text);
    if (code != ACCEL_OK)
        return set_unranked(context, listed, &why, error);
    code = set_rank(context, listed, &settings->values->device_rank, error);
    accel_settings_free(settings);
    return code;
}
