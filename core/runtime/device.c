/* SPDX-License-Identifier: Apache-2.0 */
/* Opens devices: parses the caller's settings into typed settings of the driver's option table. */
#include "config.h"

#include "core/runtime/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boundary/import.h"
#include "core/plugin/plugin.h"
#include "core/profile/keys.h"
#include "core/registry/machine.h"
#include "core/registry/registry.h"

/* Returns the part of `key` after "DRIVER.", or NULL if the key belongs to another driver. */
static const char *key_of(const char *key, const char *driver)
{
    size_t length = strlen(driver);
    return strncmp(key, driver, length) == 0 && key[length] == '.' ? key + length + 1 : NULL;
}

/* Finds an option; option tables name their rows with or without the driver's name as prefix. */
static const struct accel_option *find_option(const struct accel_driver *driver, const char *key)
{
    const char *rest = key_of(key, driver->name);
    for (uint32_t i = 0; i < driver->option_count; i++)
        if (strcmp(driver->options[i]->name, key) == 0 || strcmp(driver->options[i]->name, rest) == 0)
            return driver->options[i];
    return NULL;
}

static int32_t refuse(const struct accel_named_value *given, const char *why, struct accel_error *error)
{
    accel_error_by(error, ACCEL_FROM_SETTING, ACCEL_E_INVALID, "%s=%s (%s): %s", given->key, given->value,
                   given->origin, why);
    return accel_error_advise(error, ACCEL_E_INVALID, "set %s to an allowed value, or leave it out", given->key);
}

static int32_t parse_number(const struct accel_option *option, const struct accel_named_value *given,
                            struct accel_setting *setting, struct accel_error *error)
{
    char *end = NULL;
    errno = 0;
    if (option->type == ACCEL_OPTION_REAL)
        setting->real = strtod(given->value, &end);
    else
        setting->integer = strtoll(given->value, &end, 10);
    if (errno != 0 || end == given->value || *end != '\0')
        return refuse(given, "not a number", error);
    if (option->type == ACCEL_OPTION_REAL && !(setting->real - setting->real == 0.0))
        return refuse(given, "not a finite number", error);
    if (option->type == ACCEL_OPTION_INTEGER &&
        (setting->integer < option->lowest || setting->integer > option->highest)) {
        char why[80];
        snprintf(why, sizeof(why), "allowed are %lld to %lld", (long long)option->lowest, (long long)option->highest);
        return refuse(given, why, error);
    }
    return ACCEL_OK;
}

/* Parses a word of a list, in any case, or a flag, as settings of the core have them. `word` holds its spelling. */
static int32_t parse_word(const struct accel_option *option, const struct accel_named_value *given,
                          char word[ACCEL_KEY_LOWER], struct accel_setting *setting, struct accel_error *error)
{
    const bool is_flag = option->type == ACCEL_OPTION_FLAG;
    const struct accel_setting_row row = {.type = is_flag ? ACCEL_SETTING_FLAG : ACCEL_SETTING_CHOICE,
                                          .words = is_flag ? "" : option->choices};
    struct accel_key_value value;
    char why[300];
    if (!accel_key_parse(&row, accel_key_spelling(&row, given->value, word), &value, why, sizeof(why)))
        return refuse(given, why, error);
    if (is_flag)
        setting->integer = value.number;
    else
        setting->text = value.word;
    return ACCEL_OK;
}

static int32_t parse_setting(const struct accel_option *option, const struct accel_named_value *given,
                             char word[ACCEL_KEY_LOWER], struct accel_setting *setting, struct accel_error *error)
{
    *setting = (struct accel_setting){.name = option->name};
    if (option->type == ACCEL_OPTION_FLAG || (option->type == ACCEL_OPTION_TEXT && option->choices != NULL))
        return parse_word(option, given, word, setting, error);
    if (option->type != ACCEL_OPTION_TEXT)
        return parse_number(option, given, setting, error);
    setting->text = given->value;
    return ACCEL_OK;
}

/* Reports an unknown option; the remedy lists the names of all options, as far as they fit. */
static int32_t refuse_option(const struct accel_driver *driver, const struct accel_named_value *given,
                             struct accel_error *error)
{
    char names[200] = "";
    size_t used = 0;
    accel_error_by(error, ACCEL_FROM_SETTING, ACCEL_E_NOT_FOUND, "%s (%s): driver %s has no such option", given->key,
                   given->origin, driver->name);
    for (uint32_t i = 0; i < driver->option_count && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, " %s", driver->options[i]->name);
    if (driver->option_count != 0)
        accel_error_remedy(error, "it has:%s", names);
    else
        accel_error_remedy(error, "it has none: leave the setting out");
    return ACCEL_E_NOT_FOUND;
}

/* Parses settings; `settings` has capacity for all of `given`, and behind them for their words. The last setting of a
 * name wins. */
static int32_t parse_settings(const struct accel_driver *driver, const struct accel_named_value *given, uint32_t count,
                              struct accel_setting *settings, uint32_t *out_count, struct accel_error *error)
{
    char(*words)[ACCEL_KEY_LOWER] = (void *)(settings + count);
    *out_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct accel_option *option;
        uint32_t at = 0;
        int32_t code;
        if (given[i].key == NULL || given[i].value == NULL || given[i].origin == NULL)
            return accel_error_set(error, ACCEL_E_INVALID, "setting %u has no key, value or origin", i);
        if (key_of(given[i].key, driver->name) == NULL)
            continue;
        option = find_option(driver, given[i].key);
        if (option == NULL)
            return refuse_option(driver, &given[i], error);
        while (at < *out_count && strcmp(settings[at].name, option->name) != 0)
            at++;
        code = parse_setting(option, &given[i], words[at], &settings[at], error);
        if (code != ACCEL_OK)
            return code;
        if (at == *out_count)
            (*out_count)++;
    }
    return ACCEL_OK;
}

static void device_destroy(struct accel_object *object)
{
    struct accel_device *device = (struct accel_device *)object;
    struct accel_error error = {0};
    int32_t code;
    accel_memory_free(&object->context->memory, device->settings);
    if (device->handle == NULL)
        return;
    ACCEL_GUARDED(code, object->context, device->driver, "close", device->handle->table->close(device->handle, &error));
    code = accel_import_code(code, device->driver, "close", &error);
    if (code != ACCEL_OK)
        accel_log_write(&object->context->log, ACCEL_LOG_ERROR, "device", "device=%s close=%s text=\"%s\"",
                        device->listed->info.name, accel_error_name(code), error.text);
}

static char *copy_text(char **place, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = memcpy(*place, text, bytes);
    *place += bytes;
    return copy;
}

/* Copies the settings as text, with which a worker opens the device as this process did; no error needs an origin. */
static int32_t copy_settings(struct accel_device *device, const struct accel_named_value *given, uint32_t count,
                             struct accel_error *error)
{
    uint64_t bytes = 0;
    char *place;
    for (uint32_t i = 0; i < count; i++)
        if (key_of(given[i].key, device->driver) != NULL)
            bytes += sizeof(*given) + strlen(given[i].key) + strlen(given[i].value) + 2;
    if (bytes == 0)
        return ACCEL_OK;
    device->settings = accel_object_array(&device->object, 1, bytes, error);
    if (device->settings == NULL)
        return ACCEL_E_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        device->setting_count += key_of(given[i].key, device->driver) != NULL;
    place = (char *)(device->settings + device->setting_count);
    device->setting_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct accel_named_value *copy = &device->settings[device->setting_count];
        if (key_of(given[i].key, device->driver) == NULL)
            continue;
        copy->key = copy_text(&place, given[i].key);
        copy->value = copy_text(&place, given[i].value);
        copy->origin = "the open device";
        device->setting_count++;
    }
    return ACCEL_OK;
}

static int32_t open_handle(struct accel_device *device, const struct accel_setting *settings, uint32_t count,
                           struct accel_error *error)
{
    struct accel_attached *owner = device->listed->owner;
    struct accel_driver_device *handle = NULL;
    int32_t code = accel_registry_ensure_attached(device->object.context, device->listed, error);
    if (code != ACCEL_OK)
        return code;
    ACCEL_GUARDED(
        code, device->object.context, device->driver, "open",
        owner->instance->table->open(owner->instance, device->listed->info.facts->id, settings, count, &handle, error));
    code = accel_import_handle(code, handle, device->driver, "open", error);
    if (code != ACCEL_OK)
        return code;
    /* The core owns a handle that it can free, even if the rest of its table is refused. */
    if (ACCEL_CAN(handle->table, close))
        device->handle = handle;
    code = accel_import_device(handle, device->driver, error);
    if (code != ACCEL_OK)
        return code;
    device->has_queues = ACCEL_CAN(handle->table, queue_create);
    return ACCEL_OK;
}

static int32_t find_listed(struct accel_context *context, const char *name, const struct accel_listed **out_listed,
                           struct accel_error *error)
{
    *out_listed = accel_context_find(context, name);
    if (*out_listed == NULL) {
        int32_t code = accel_error_by(error, ACCEL_FROM_DEVICE, ACCEL_E_NOT_FOUND, "there is no device %s", name);
        return accel_error_advise(error, code, "accelctl devices --all lists devices, and why other hardware is none");
    }
    if (((*out_listed)->info.facts->flags & ACCEL_DEVICE_TARGET) != 0)
        return accel_error_by(error, ACCEL_FROM_DEVICE, ACCEL_E_UNSUPPORTED,
                              "device %s can be compiled for, not run here", name);
    return accel_replay_refuse(context, name, error);
}

int32_t accel_device_open(struct accel_context *context, const char *name, const struct accel_named_value *settings,
                          uint32_t count, struct accel_device **out_device, struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct accel_listed *listed;
    struct accel_setting *parsed = NULL;
    struct accel_object *object;
    struct accel_device *device;
    uint32_t parsed_count = 0;
    int32_t code;
    if (out_device == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_device_open: out_device is NULL");
    *out_device = NULL;
    if (context == NULL || name == NULL || (count != 0 && settings == NULL))
        return accel_error_set(error, ACCEL_E_INVALID, "accel_device_open needs a context, a name and its settings");
    if (accel_fork_guard_is_child(&context->fork))
        return accel_error_set(error, ACCEL_E_FORKED, "the context belongs to the parent process");
    code = find_listed(context, name, &listed, error);
    if (code != ACCEL_OK)
        return code;
    code = accel_object_create(context, sizeof(*device), device_destroy, &object, error);
    if (code != ACCEL_OK)
        return code;
    device = (struct accel_device *)object;
    device->listed = listed;
    device->driver = listed->owner->driver->name;
    parsed = calloc((size_t)count + 1, sizeof(*parsed) + ACCEL_KEY_LOWER);
    code = parsed != NULL ? parse_settings(listed->owner->driver, settings, count, parsed, &parsed_count, error)
                          : accel_error_no_memory(error, "for %u settings", count);
    if (code == ACCEL_OK)
        code = copy_settings(device, settings, count, error);
    if (code == ACCEL_OK)
        code = open_handle(device, parsed, parsed_count, error);
    free(parsed);
    *out_device = (struct accel_device *)accel_object_finish(object, code);
    return code;
}

void accel_device_free(struct accel_device *device) ACCEL_NOEXCEPT
{
    accel_object_drop((struct accel_object *)device);
}

const struct accel_plugin *accel_device_plugin(const struct accel_device *device)
{
    const struct accel_attached *owner = device->listed->owner;
    struct accel_plugins *plugins = device->object.context->plugins;
    return plugins == NULL || owner->plugin == ACCEL_NO_PLUGIN ? NULL : accel_plugins_get(plugins, owner->plugin);
}

int32_t accel_device_fingerprint(const struct accel_device *device, uint8_t out_fingerprint[16])
{
    const struct accel_device_table *table = device->handle->table;
    int32_t code;
    memset(out_fingerprint, 0, 16);
    if (!ACCEL_CAN(table, fingerprint))
        return ACCEL_E_UNSUPPORTED;
    ACCEL_GUARDED(code, device->object.context, device->driver, "fingerprint",
                  table->fingerprint(device->handle, out_fingerprint, NULL));
    return code;
}

int32_t accel_device_note_loss(struct accel_device *device, int32_t code)
{
    if (code == ACCEL_E_DEVICE_LOST)
        atomic_store_explicit(&device->lost, true, memory_order_relaxed);
    return code;
}

int32_t accel_device_import_code(struct accel_device *device, int32_t code, const char *slot, struct accel_error *error)
{
    return accel_import_code(accel_device_note_loss(device, code), device->driver, slot, error);
}

int32_t accel_device_import_handle(struct accel_device *device, int32_t code, const void *handle, const char *slot,
                                   struct accel_error *error)
{
    return accel_import_handle(accel_device_note_loss(device, code), handle, device->driver, slot, error);
}

/* Adds the device and a remedy to the error of a lost device; the driver reports only the cause. */
int32_t accel_queue_import_code(struct accel_queue *queue, uint64_t value, int32_t code, const char *slot,
                                struct accel_error *error)
{
    struct accel_device *device = queue->device;
    bool cancel_requested =
        value <= queue->cancelled_last || atomic_load_explicit(&queue->cancel, memory_order_relaxed);
    char text[sizeof(error->text)];
    code = accel_import_cancellable_code(accel_device_note_loss(device, code), cancel_requested, device->driver, slot,
                                         error);
    if (code != ACCEL_E_DEVICE_LOST || error == NULL || error->code != code)
        return code;
    snprintf(text, sizeof(text), "device %.120s was lost: %.360s", device->listed->info.name, error->text);
    memcpy(error->text, text, sizeof(text));
    return accel_error_advise(error, code, "use another device: `accelctl devices` lists them, --device selects one");
}
