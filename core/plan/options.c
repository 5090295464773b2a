/* SPDX-License-Identifier: Apache-2.0 */
/* Passes settings to drivers that support them. A driver supports "kernels.subgroups" if its option table has a row of
 * that name, or of the part behind the first dot, "subgroups", with values of the same kind; it then receives the value
 * unless that is the built-in default. The driver's own option, "DRIVER.subgroups", takes precedence. Opens the device
 * with them: an option that a profile recommends and the device cannot honor is left out and noted. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include <accel/run.h>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/plan/honored.h"
#include "core/runtime/object.h"

/** The options that a driver is opened with, and the setting that each comes from. */
struct options {
    struct accel_named_value *given;
    const struct accel_profile_setting **settings;
    uint32_t count;
};

static bool is_alike(const struct accel_setting_row *key, const struct accel_option *option)
{
    const bool is_number =
        key->type == ACCEL_SETTING_INTEGER || key->type == ACCEL_SETTING_SIZE || key->type == ACCEL_SETTING_DURATION;
    if (key->type == ACCEL_SETTING_FLAG)
        return option->type == ACCEL_OPTION_FLAG;
    return option->type == (is_number ? ACCEL_OPTION_INTEGER : ACCEL_OPTION_TEXT);
}

const struct accel_option *accel_plan_option_of(const struct accel_plan *plan, const struct accel_setting_row *key)
{
    const struct accel_driver *driver = plan->device ? plan->device->owner->driver : NULL;
    const char *dot = strchr(key->name, '.');
    if (driver == NULL || key->honored != ACCEL_HONORED_DRIVER)
        return NULL;
    for (uint32_t i = 0; i < driver->option_count; i++) {
        const char *name = driver->options[i]->name;
        if ((strcmp(name, key->name) == 0 || (dot && strcmp(name, dot + 1) == 0)) && is_alike(key, driver->options[i]))
            return driver->options[i];
    }
    return NULL;
}

static void add_option(struct options *options, const struct accel_profile_setting *setting, const char *key)
{
    options->settings[options->count] = setting;
    options->given[options->count++] = (struct accel_named_value){key, setting->value, setting->place};
}

/* Lists the options of settings for any driver that this driver supports, then its own: of two values for the same
 * option the later takes effect. */
static int32_t list_options(struct accel_plan *plan, struct options *options, struct accel_error *error)
{
    const char *driver = plan->device->owner->driver->name;
    uint32_t first = accel_setting_row_count(), count = plan->settings->count;
    *options = (struct options){accel_arena_array(&plan->arena, count, sizeof(*options->given)),
                                accel_arena_array(&plan->arena, count, sizeof(const void *)), 0};
    if (options->given == NULL || options->settings == NULL)
        return accel_error_no_memory(error, "for a plan");
    for (uint32_t i = 0; i < first; i++) {
        const struct accel_setting_row *key = accel_setting_row_get(i);
        const struct accel_option *option = accel_plan_option_of(plan, key);
        const struct accel_profile_setting *setting = option ? &plan->settings->settings[i] : NULL;
        /* The driver chooses a value that is built in. */
        if (setting != NULL && setting->layer != ACCEL_LAYER_BUILTIN)
            add_option(options, setting, accel_plan_text(plan, "%s.%s", driver, option->name));
    }
    for (uint32_t i = first; i < count; i++)
        if (plan->settings->settings[i].layer != ACCEL_LAYER_BUILTIN) /* declined */
            add_option(options, &plan->settings->settings[i], plan->settings->settings[i].key);
    return ACCEL_OK;
}

/* Opens the device with the options that are not left out. */
static int32_t open_with(struct accel_plan *plan, const struct options *options, const bool *left_out,
                         struct accel_device **out_device, struct accel_error *error)
{
    struct accel_named_value *given = accel_arena_array(&plan->arena, options->count, sizeof(*given));
    uint32_t count = 0;
    int32_t code;
    if (given == NULL)
        return accel_error_no_memory(error, "for a plan");
    for (uint32_t i = 0; i < options->count; i++)
        if (!left_out[i])
            given[count++] = options->given[i];
    code = accel_device_open(plan->context, plan->device->info.name, given, count, out_device, error);
    if (code == ACCEL_OK) {
        plan->opened_with = given;
        plan->opened_count = count;
    }
    return code;
}

/* Returns the default of the driver option that a setting "DRIVER.OPTION" names. */
static const char *find_default(struct accel_plan *plan, const struct accel_profile_setting *setting)
{
    const struct accel_driver *driver = plan->device->owner->driver;
    for (uint32_t i = 0; i < driver->option_count; i++) {
        const struct accel_option *option = driver->options[i];
        if (!accel_has_prefix(setting->key, driver->name) ||
            strcmp(setting->key + strlen(driver->name) + 1, option->name) != 0)
            continue;
        if (option->type == ACCEL_OPTION_TEXT)
            return option->text;
        if (option->type == ACCEL_OPTION_FLAG)
            return option->integer ? "true" : "false";
        return option->type == ACCEL_OPTION_REAL ? accel_plan_text(plan, "%g", option->real)
                                                 : accel_plan_text(plan, "%" PRId64, option->integer);
    }
    return "";
}

/* Opens a device that refuses the options together: without those that are recommended, then with one more of them at
 * a time; what it refuses is declined for its reason. */
static int32_t open_without(struct accel_plan *plan, const struct options *options, bool *left_out,
                            struct accel_device **out_device, struct accel_error *error)
{
    int32_t code;
    for (uint32_t i = 0; i < options->count; i++)
        left_out[i] = accel_plan_recommends(options->settings[i]);
    code = open_with(plan, options, left_out, out_device, error);
    for (uint32_t i = 0; i < options->count && code == ACCEL_OK; i++) {
        struct accel_error why = {.code = ACCEL_OK};
        struct accel_device *device;
        if (!left_out[i])
            continue;
        left_out[i] = false;
        code = open_with(plan, options, left_out, &device, &why);
        if (code == ACCEL_OK) {
            accel_device_free(*out_device);
            *out_device = device;
            continue;
        }
        left_out[i] = true;
        code = code == ACCEL_E_UNSUPPORTED
                   ? accel_plan_decline_option(plan, options->settings[i], find_default(plan, options->settings[i]),
                                               why.text, error)
                   : accel_error_copy(error, &why);
    }
    return code;
}

int32_t accel_plan_share_device(struct accel_plan *plan, const struct accel_plan *from, struct accel_error *error)
{
    struct options options;
    bool same = plan && from && from->opened && plan->opened == NULL && plan->device == from->device;
    int32_t code = same ? accel_plan_finish(plan, list_options(plan, &options, error), error) : ACCEL_OK;
    if (code != ACCEL_OK || !same || options.count != from->opened_count)
        return code;
    for (uint32_t i = 0; i < options.count; i++)
        same = same && strcmp(options.given[i].key, from->opened_with[i].key) == 0 &&
               strcmp(options.given[i].value, from->opened_with[i].value) == 0;
    if (!same)
        return ACCEL_OK;
    accel_object_retain(&from->opened->object);
    plan->opened = from->opened;
    plan->opened_with = options.given;
    plan->opened_count = options.count;
    return ACCEL_OK;
}

int32_t accel_plan_need_opened(struct accel_plan *plan, struct accel_error *error)
{
    struct accel_error why = {.code = ACCEL_OK};
    struct options options;
    bool *left_out;
    int32_t code = accel_plan_need_device(plan, error);
    if (code != ACCEL_OK || plan->opened)
        return code;
    code = accel_plan_finish(plan, list_options(plan, &options, error), error);
    if (code != ACCEL_OK)
        return code;
    left_out = accel_arena_array(&plan->arena, options.count, sizeof(*left_out));
    if (left_out == NULL)
        return accel_error_no_memory(error, "for a plan");
    code = open_with(plan, &options, left_out, &plan->opened, &why);
    if (code != ACCEL_E_UNSUPPORTED)
        return accel_error_copy(error, &why);
    code = accel_plan_finish(plan, open_without(plan, &options, left_out, &plan->opened, error), error);
    if (code != ACCEL_OK) {
        accel_device_free(plan->opened);
        plan->opened = NULL;
    }
    return code;
}

int32_t accel_plan_open_device(struct accel_plan *plan, struct accel_device **out_device, struct accel_error *error)
{
    int32_t code;
    if (plan == NULL || out_device == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "%s: an argument is NULL", __func__);
    code = accel_plan_need_opened(plan, error);
    if (code == ACCEL_OK)
        accel_object_retain(&plan->opened->object);
    *out_device = code == ACCEL_OK ? plan->opened : NULL;
    return code;
}
