/* SPDX-License-Identifier: Apache-2.0 */
/* What a resolution came to: of each setting the winner, and the losers as text and as records. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/strbuf.h"
#include "core/profile/resolver.h"

static const char *value_text(struct accel_resolver *r, const struct accel_key_value *value)
{
    char text[24];
    if (value->word)
        return value->word;
    snprintf(text, sizeof(text), "%" PRId64, value->number);
    return accel_arena_strdup(&r->settings->arena, text);
}

static const char *losers_text(struct accel_resolver *r, const struct accel_key_candidate *losers)
{
    struct accel_strbuf text;
    const char *copy = NULL;
    accel_strbuf_init(&text, 0);
    for (const struct accel_key_candidate *loser = losers; loser; loser = loser->weaker) {
        const char *value = value_text(r, &loser->value);
        accel_strbuf_printf(&text, "%s%s (%s%s%s)", loser == losers ? "" : "\n", value ? value : "?", loser->place,
                            *loser->because ? "; " : "", loser->because);
    }
    if (!text.failed)
        copy = accel_arena_strdup(&r->settings->arena, accel_strbuf_get(&text));
    accel_strbuf_free(&text);
    return copy;
}

static const char *unit_of(const struct accel_key_slot *slot, const struct accel_key_value *value)
{
    if (!value->is_number)
        return "";
    return slot->key->type == ACCEL_KEY_DURATION ? "ms" : slot->key->unit;
}

/* The losers of a slot as records; NULL without memory. */
static const struct accel_plan_loser *loser_records(struct accel_resolver *r, const struct accel_key_slot *slot,
                                                    uint32_t *out_count)
{
    const struct accel_key_candidate *losers = slot->strongest->weaker;
    struct accel_plan_loser *records;
    uint32_t count = 0;
    for (const struct accel_key_candidate *loser = losers; loser; loser = loser->weaker)
        count++;
    *out_count = count;
    records = accel_arena_array(&r->settings->arena, count + (size_t)1, sizeof(*records));
    count = 0;
    for (const struct accel_key_candidate *loser = losers; loser && records; loser = loser->weaker) {
        const char *value = value_text(r, &loser->value);
        if (value == NULL)
            return NULL;
        records[count++] = (struct accel_plan_loser){value, unit_of(slot, &loser->value), loser->place, loser->because};
    }
    return records;
}

static int32_t write_setting(struct accel_resolver *r, const struct accel_key_slot *slot,
                             struct accel_profile_setting *out)
{
    const struct accel_key_candidate *winner = slot->strongest;
    uint32_t losers;
    const struct accel_plan_loser *overruled = loser_records(r, slot, &losers);
    *out = (struct accel_profile_setting){
        .key = slot->key->name,
        .value = value_text(r, &winner->value),
        .unit = unit_of(slot, &winner->value),
        .place = winner->place,
        .because = winner->because,
        .losers = losers_text(r, winner->weaker),
        .layer = winner->layer,
        .is_number = winner->value.is_number,
        .number = winner->value.number,
        .overruled = overruled,
        .overruled_count = losers,
    };
    return out->value && out->losers && overruled ? ACCEL_OK : accel_resolver_no_memory(r);
}

int32_t accel_resolver_write(struct accel_resolver *r)
{
    struct accel_settings *settings = r->settings;
    int32_t code = ACCEL_OK;
    /* An option that is only locked has no value. */
    for (const struct accel_key_slot *slot = r->first; slot; slot = slot->next)
        settings->count += slot->strongest != NULL;
    settings->key_count = accel_key_count();
    settings->settings = accel_arena_array(&settings->arena, settings->count, sizeof(*settings->settings));
    if (settings->settings == NULL)
        return accel_resolver_no_memory(r);
    settings->count = 0;
    for (const struct accel_key_slot *slot = r->first; slot && code == ACCEL_OK; slot = slot->next)
        if (slot->strongest)
            code = write_setting(r, slot, &settings->settings[settings->count++]);
    settings->facts = r->scene.facts;
    settings->fact_count = r->scene.fact_count;
    return code;
}
