/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the result of a resolution: the values in force, and the overridden ones as records. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/profile/resolver.h"

static const char *value_text(struct accel_resolver *r, const struct accel_key_value *value)
{
    char text[24];
    if (value->word)
        return value->word;
    snprintf(text, sizeof(text), "%" PRId64, value->number);
    return accel_arena_strdup(&r->settings->arena, text);
}

static const char *unit_of(const struct accel_key_slot *slot, const struct accel_key_value *value)
{
    if (!value->is_number)
        return "";
    return slot->key->type == ACCEL_SETTING_DURATION ? "ms" : slot->key->unit;
}

/* Returns the overridden values of a slot as records; NULL if memory runs out. */
static const struct accel_plan_overridden *list_overridden(struct accel_resolver *r, const struct accel_key_slot *slot,
                                                           const struct accel_key_candidate *overridden,
                                                           uint32_t *out_count)
{
    struct accel_plan_overridden *records;
    uint32_t count = 0;
    for (const struct accel_key_candidate *candidate = overridden; candidate; candidate = candidate->weaker)
        count++;
    *out_count = count;
    records = accel_arena_array(&r->settings->arena, count + (size_t)1, sizeof(*records));
    count = 0;
    for (const struct accel_key_candidate *candidate = overridden; candidate && records;
         candidate = candidate->weaker) {
        const char *value = value_text(r, &candidate->value);
        if (value == NULL)
            return NULL;
        records[count++] = (struct accel_plan_overridden){value, unit_of(slot, &candidate->value), candidate->place,
                                                          candidate->reason};
    }
    return records;
}

static int32_t write_value(struct accel_resolver *r, const struct accel_key_slot *slot,
                           const struct accel_key_candidate *winner, struct accel_profile_setting *out)
{
    uint32_t count;
    const struct accel_plan_overridden *overridden = list_overridden(r, slot, winner->weaker, &count);
    *out = (struct accel_profile_setting){
        .key = slot->key->name,
        .value = value_text(r, &winner->value),
        .unit = unit_of(slot, &winner->value),
        .place = winner->place,
        .reason = winner->reason,
        .layer = winner->layer,
        .word = winner->value.word ? accel_key_word(winner->value.word) : ACCEL_WORD_OTHER,
        .is_number = winner->value.is_number,
        .number = winner->value.number,
        .overridden = overridden,
        .overridden_count = count,
        .is_alias = winner->is_alias,
    };
    return out->value && overridden ? ACCEL_OK : accel_error_no_memory(r->error, "for settings");
}

/* Writes one setting. If nothing honors it yet, the built-in value is in force; `later` is the profile's value. */
static int32_t write_setting(struct accel_resolver *r, const struct accel_key_slot *slot,
                             struct accel_profile_setting *out)
{
    const struct accel_key_candidate *builtin = slot->strongest;
    struct accel_profile_setting *later;
    int32_t code;
    if (slot->key->honored != ACCEL_HONORED_LATER || slot->strongest->layer == ACCEL_LAYER_BUILTIN)
        return write_value(r, slot, slot->strongest, out);
    while (builtin->weaker)
        builtin = builtin->weaker;
    later = accel_arena_array(&r->settings->arena, 1, sizeof(*later));
    if (later == NULL)
        return accel_error_no_memory(r->error, "for settings");
    code = write_value(r, slot, slot->strongest, later);
    if (code == ACCEL_OK)
        code = write_value(r, slot, builtin, out);
    out->later = later;
    return code;
}

int32_t accel_resolver_write(struct accel_resolver *r)
{
    struct accel_settings *settings = r->settings;
    int32_t code = ACCEL_OK;
    /* A driver option that is locked and not set has no value. */
    for (const struct accel_key_slot *slot = r->first; slot; slot = slot->next)
        settings->count += slot->strongest != NULL;
    settings->settings = accel_arena_array(&settings->arena, settings->count, sizeof(*settings->settings));
    if (settings->settings == NULL)
        return accel_error_no_memory(r->error, "for settings");
    settings->values = (const struct accel_setting_values *)settings->settings;
    settings->count = 0;
    for (const struct accel_key_slot *slot = r->first; slot && code == ACCEL_OK; slot = slot->next)
        if (slot->strongest)
            code = write_setting(r, slot, &settings->settings[settings->count++]);
    settings->facts = r->selection.facts;
    settings->fact_count = r->selection.fact_count;
    return code;
}

void accel_settings_free(struct accel_settings *settings)
{
    if (settings == NULL)
        return;
    accel_arena_free(&settings->arena);
    free(settings);
}
