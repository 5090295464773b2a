/* SPDX-License-Identifier: Apache-2.0 */
/* Declines values that a run does not honor. A value that a profile or an environment variable of the documents
 * recommends is declined: the built-in value replaces it, and a row records it for the notes of plans and runs.
 * runnable.c refuses such a value if the user gave it. */
#include "config.h"

#include <string.h>

#include "core/plan/honored.h"
#include "core/plan/settings.h"
#include "core/profile/keys.h"

bool accel_plan_recommends(const struct accel_profile_setting *setting)
{
    return setting->is_alias || (setting->layer > ACCEL_LAYER_BUILTIN && setting->layer < ACCEL_LAYER_SYSTEM);
}

static bool is_listed(const struct accel_rows *rows, const char *key)
{
    for (uint32_t i = 0; i < rows->count; i++)
        if (strcmp(((const struct accel_plan_unhonored *)rows->items[i])->key, key) == 0)
            return true;
    return false;
}

void accel_plan_add_unhonored(struct accel_plan *plan, struct accel_rows *rows,
                              const struct accel_profile_setting *setting, uint32_t outcome, const char *reason)
{
    struct accel_plan_unhonored row = {.size = sizeof(row), .outcome = outcome};
    /* The rows that are rebuilt with the hints belong to an earlier step. */
    if (is_listed(&plan->declines, setting->key) || is_listed(&plan->shape_unhonored, setting->key) ||
        is_listed(rows, setting->key))
        return;
    row.key = accel_plan_text(plan, "%s", setting->key);
    row.value = accel_plan_text(plan, "%s", setting->value);
    row.unit = accel_plan_text(plan, "%s", setting->unit);
    row.place = accel_plan_text(plan, "%s", setting->place);
    row.reason = accel_plan_text(plan, "%s", reason);
    row.value_reason = accel_plan_text(plan, "%s", setting->reason);
    accel_plan_append(plan, rows, &row, sizeof(row));
}

static struct accel_profile_setting built_in(const char *key, const char *value, const char *unit)
{
    return (struct accel_profile_setting){
        .key = key,
        .value = value,
        .unit = unit,
        .place = "built in",
        .reason = "",
        .word = accel_key_word(value),
        .layer = ACCEL_LAYER_BUILTIN,
    };
}

/* Parses the value that replaces a declined one: the setting's value as if nothing had overridden it. */
static int32_t parse_value(struct accel_plan *plan, const struct accel_setting_row *key, const char *value,
                           struct accel_profile_setting *out_made, struct accel_error *error)
{
    bool is_digits = *value >= '0' && *value <= '9';
    struct accel_key_value parsed;
    char why[200];
    const char *text = accel_plan_text(plan, "%s%s", value, accel_plan_unit(key->unit, value));
    if (!accel_key_parse(key, text, &parsed, why, sizeof(why)))
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_decline: %s=%s: %s", key->name, text, why);
    *out_made = built_in(key->name, accel_plan_text(plan, "%s", value), is_digits ? key->unit : "");
    out_made->is_number = parsed.is_number;
    out_made->number = parsed.number;
    return ACCEL_OK;
}

/* Replaces a setting by `made`, and lists it as not honored. */
static int32_t replace(struct accel_plan *plan, const struct accel_profile_setting *setting,
                       const struct accel_profile_setting *made, const char *reason)
{
    size_t index = (size_t)(setting - plan->settings->settings);
    const struct accel_plan_replaced before = {index, plan->records[index], *setting};
    const struct accel_setting_row *key = accel_key_find(setting->key);
    bool is_preset = key == NULL || strcmp(made->value, key->preset) == 0;
    if (plan->is_planning_shapes)
        accel_plan_append(plan, &plan->replaced, &before, sizeof(before));
    /* The setting moves to this list: the list of unmet settings is rebuilt with the hints. */
    plan->unmet.count = 0;
    accel_plan_add_unhonored(plan, plan->is_planning_shapes ? &plan->shape_unhonored : &plan->declines, setting, 0,
                             reason);
    accel_plan_decide(plan, setting, made->value, is_preset ? ACCEL_ORIGIN_BUILTIN : ACCEL_ORIGIN_ESTIMATED,
                      is_preset ? "built in" : "the plan",
                      accel_plan_text(plan, "not honored: %s=%s, %s", setting->key, setting->value, reason));
    plan->settings->settings[index] = *made;
    return ACCEL_OK;
}

static int32_t decline(struct accel_plan *plan, const struct accel_profile_setting *setting, const char *value,
                       const char *reason, struct accel_error *error)
{
    const struct accel_setting_row *key = accel_setting_row_get((uint32_t)(setting - plan->settings->settings));
    struct accel_profile_setting made;
    int32_t code = parse_value(plan, key, value, &made, error);
    return code == ACCEL_OK ? replace(plan, setting, &made, reason) : code;
}

int32_t accel_plan_decline_option(struct accel_plan *plan, const struct accel_profile_setting *setting,
                                  const char *value, const char *reason, struct accel_error *error)
{
    const struct accel_setting_row *key = accel_key_find(setting->key);
    const struct accel_profile_setting made = built_in(setting->key, value, setting->unit);
    return key ? decline(plan, setting, key->preset, reason, error) : replace(plan, setting, &made, reason);
}

/* Lists values of profiles and of the documents' variables that nothing honors yet; a run reports them as notes. */
static void list_later(struct accel_plan *plan)
{
    for (uint32_t i = 0; i < accel_setting_row_count(); i++) {
        const struct accel_setting_row *key = accel_setting_row_get(i);
        const struct accel_profile_setting *later = plan->settings->settings[i].later;
        if (later && later->is_alias)
            accel_plan_add_unhonored(plan, &plan->declines, later, ACCEL_UNHONORED_NOTED,
                                     accel_plan_text(plan, "later: %s", key->by));
        else if (later)
            accel_plan_add_unhonored(plan, &plan->laters, later, ACCEL_UNHONORED_LATER, key->by);
    }
}

void accel_plan_forget_declines(struct accel_plan *plan)
{
    for (uint32_t i = plan->replaced.count; i-- > 0;) {
        const struct accel_plan_replaced *before = plan->replaced.items[i];
        plan->records[before->index] = before->record;
        plan->settings->settings[before->index] = before->setting;
    }
    plan->replaced.count = 0;
    plan->shape_unhonored.count = 0;
}

int32_t accel_plan_decline_unmet(struct accel_plan *plan, struct accel_error *error)
{
    int32_t code = ACCEL_OK;
    list_later(plan);
    /* The options of another machine's driver are not known. */
    if (plan->device == NULL || accel_context_recording(plan->context))
        return code;
    for (uint32_t i = 0; i < accel_setting_row_count() && code == ACCEL_OK; i++) {
        const struct accel_setting_row *key = accel_setting_row_get(i);
        const struct accel_profile_setting *setting = &plan->settings->settings[i];
        char reason[ACCEL_PLAN_REASON];
        if (accel_plan_recommends(setting) && accel_plan_never_honored(plan, key, setting, reason))
            code = decline(plan, setting, key->preset, reason, error);
    }
    return code;
}

uint32_t accel_plan_is_recommended(const struct accel_plan *plan, const char *key)
{
    const struct accel_plan_setting *record = accel_plan_setting_find(plan, key);
    return record != NULL && accel_plan_recommends(&plan->settings->settings[record - plan->records]);
}

int32_t accel_plan_decline(struct accel_plan *plan, const char *key, const char *value, const char *reason,
                           struct accel_error *error)
{
    const struct accel_plan_setting *record = accel_plan_setting_find(plan, key);
    if (record == NULL || accel_key_find(key) == NULL || value == NULL || reason == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_decline: an argument is NULL or no setting");
    if (!accel_plan_is_recommended(plan, key))
        return accel_error_set(error, ACCEL_E_INVALID, "accel_plan_decline: %s is not a recommended value", key);
    return accel_plan_finish(
        plan, decline(plan, &plan->settings->settings[record - plan->records], value, reason, error), error);
}

uint32_t accel_plan_unhonored_count(const struct accel_plan *plan)
{
    return plan ? plan->declines.count + plan->shape_unhonored.count + plan->unmet.count + plan->laters.count : 0;
}

const struct accel_plan_unhonored *accel_plan_unhonored_get(const struct accel_plan *plan, uint32_t index)
{
    const struct accel_rows *const lists[] = {plan ? &plan->declines : NULL, plan ? &plan->shape_unhonored : NULL,
                                              plan ? &plan->unmet : NULL, plan ? &plan->laters : NULL};
    for (size_t i = 0; plan && i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (index < lists[i]->count)
            return lists[i]->items[index];
        index -= lists[i]->count;
    }
    return NULL;
}
