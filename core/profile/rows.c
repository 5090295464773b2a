/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the accessors of accel/profile.h for the tables of settings and facts. */
#include "config.h"

#include <string.h>

#include <accel/profile.h>

#include "core/base/error.h"
#include "core/profile/environment.h"
#include "core/profile/keys.h"

#define COUNT(list) ((uint32_t)(sizeof(list) / sizeof((list)[0])))

_Static_assert(ACCEL_SETTING_TEXT == (int)ACCEL_KEY_TEXT && ACCEL_SETTING_FLAG == (int)ACCEL_KEY_FLAG &&
                   ACCEL_SETTING_EXTENT == (int)ACCEL_KEY_EXTENT && ACCEL_HONORED_LATER == (int)ACCEL_KEY_BY_LATER,
               "the public numbers are those of the table");

static const struct accel_setting_row settings[] = {
#define ACCEL_KEY(name, type, unit, lowest, highest, words, preset, honored, by, help)                                 \
    {sizeof(struct accel_setting_row),                                                                                 \
     ACCEL_SETTING_##type,                                                                                             \
     ACCEL_HONORED_##honored,                                                                                          \
     0,                                                                                                                \
     name,                                                                                                             \
     unit,                                                                                                             \
     words,                                                                                                            \
     preset,                                                                                                           \
     by,                                                                                                               \
     help,                                                                                                             \
     lowest,                                                                                                           \
     highest},
#include "core/profile/keys.def"
#undef ACCEL_KEY
};

static const struct accel_fact_row facts[] = {
#define ACCEL_PROFILE_FACT(name, unit, help) {sizeof(struct accel_fact_row), 0, name, unit, help},
#include "core/profile/known_facts.def"
#undef ACCEL_PROFILE_FACT
};

uint32_t accel_setting_row_count(void) ACCEL_NOEXCEPT
{
    return COUNT(settings);
}

const struct accel_setting_row *accel_setting_row_get(uint32_t index) ACCEL_NOEXCEPT
{
    return index < COUNT(settings) ? &settings[index] : NULL;
}

int32_t accel_setting_variable(const char *name, char *text, size_t bytes) ACCEL_NOEXCEPT
{
    if (name == NULL || text == NULL || strlen(name) + sizeof("ACCEL_") > bytes)
        return ACCEL_E_LIMIT;
    accel_key_variable(name, text, bytes);
    return ACCEL_OK;
}

int32_t accel_setting_check(const char *name, const char *value, struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct accel_key *key = name == NULL ? NULL : accel_key_find(name);
    struct accel_key_value checked;
    char why[200];
    if (key == NULL && name != NULL && value != NULL) {
        int32_t code = accel_environment_limit_check(name, value, error);
        if (code != ACCEL_E_NOT_FOUND)
            return code;
    }
    if (key == NULL)
        return accel_error_by(error, ACCEL_FROM_SETTING, ACCEL_E_NOT_FOUND, "setting \"%.80s\" is unknown",
                              name == NULL ? "" : name);
    if (value == NULL)
        return accel_error_by(error, ACCEL_FROM_SETTING, ACCEL_E_INVALID, "%s: there is no value", name);
    if (!accel_key_parse(key, value, &checked, why, sizeof(why)))
        return accel_error_by(error, ACCEL_FROM_SETTING, ACCEL_E_INVALID, "%s: %s", name, why);
    return ACCEL_OK;
}

uint32_t accel_fact_row_count(void) ACCEL_NOEXCEPT
{
    return COUNT(facts);
}

const struct accel_fact_row *accel_fact_row_get(uint32_t index) ACCEL_NOEXCEPT
{
    return index < COUNT(facts) ? &facts[index] : NULL;
}
