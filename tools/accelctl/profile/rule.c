/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/profile/rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/print/where.h"
#include "tools/accelctl/profile/view.h"

/* A context is lowered to the length that the model was trained for. */
static bool find_context(const struct accel_plan *plan, const char *limit, const struct accel_plan_setting *setting,
                         struct rule *out)
{
    const char *trained = plan_fact(plan, "model.context");
    char length[32];

    if (trained == NULL) {
        snprintf(out->value, sizeof(out->value), "up to %s", limit);
        snprintf(out->reason, sizeof(out->reason), "from the model: the length that it was trained for, at most %s",
                 limit);
        return true;
    }
    if (strtoull(trained, NULL, 10) >= strtoull(setting->value, NULL, 10))
        return false;
    snprintf(out->value, sizeof(out->value), "%s", view_value(trained, setting->unit, length, sizeof(length)));
    snprintf(out->reason, sizeof(out->reason), "from the model, which was trained for %s; profiles allow %s",
             out->value, limit);
    return true;
}

bool find_rule(const struct accel_plan *plan, const struct accel_plan_setting *setting, struct rule *out)
{
    char limit[32];

    if (!accel_plan_is_recommended(plan, setting->key) || setting->value[0] < '0' || setting->value[0] > '9')
        return false;
    view_value(setting->value, setting->unit, limit, sizeof(limit));
    if (strcmp(setting->key, "context") == 0)
        return find_context(plan, limit, setting, out);
    if (strcmp(setting->key, "attention.page") != 0 ||
        strtoull(accel_plan_setting_find(plan, "sequences")->value, NULL, 10) != 1 ||
        accel_plan_setting_find(plan, "kv.full")->word != ACCEL_WORD_STOP ||
        accel_plan_setting_find(plan, "kv.window")->word != ACCEL_WORD_OFF)
        return false;
    snprintf(out->value, sizeof(out->value), "the context");
    snprintf(out->reason, sizeof(out->reason),
             "one page, for one sequence from which no token leaves; else pages of %s", limit);
    return true;
}

const char *shown_value(const struct accel_plan *plan, const struct accel_plan_setting *setting, char *text,
                        size_t size)
{
    struct rule rule;

    if (!find_rule(plan, setting, &rule))
        return view_value(setting->value, setting->unit, text, size);
    snprintf(text, size, "%s", rule.value);
    return text;
}
