/* SPDX-License-Identifier: Apache-2.0 */
/* Replays a recorded machine: its plugins, devices and verdicts become records, and no device can be opened.
 * core/registry/machine.c reads its processors, hardware and facts. */
#include "config.h"

#include <string.h>

#include "core/plugin/elf_check.h"
#include "core/registry/machine.h"
#include "core/registry/registry.h"
#include "core/snapshot/snapshot.h"

int32_t accel_replay_begin(struct accel_context *context, struct accel_error *error)
{
    struct accel_arena *arena = &context->records;
    struct accel_snapshot *snapshot = accel_arena_array(arena, 1, sizeof(*snapshot));
    struct accel_recording *recording = accel_arena_array(arena, 1, sizeof(*recording));
    int32_t code;
    if (snapshot == NULL || recording == NULL)
        return accel_error_no_memory(error, "to replay %.200s", context->options.host_path);
    code = accel_snapshot_read(context->options.host_path, arena, snapshot, error);
    if (code != ACCEL_OK)
        return code;
    *recording = (struct accel_recording){.size = sizeof(*recording),
                                          .added_count = snapshot->added_count,
                                          .path = snapshot->path,
                                          .about = snapshot->about,
                                          .version = snapshot->version,
                                          .time = snapshot->time,
                                          .added = snapshot->added};
    context->snapshot = snapshot;
    context->recording = recording;
    return ACCEL_OK;
}

static int32_t add_plugins(struct accel_context *context, struct accel_error *error)
{
    const struct accel_snapshot *snapshot = context->snapshot;
    for (uint32_t i = 0; i < snapshot->plugin_count; i++) {
        struct accel_plugin_info *info = accel_arena_array(&context->records, 1, sizeof(*info));
        if (info == NULL)
            return accel_error_no_memory(error, "to replay %.200s", context->options.host_path);
        *info = snapshot->plugins[i];
        info->size = sizeof(*info);
        if (!accel_rows_add(&context->recorded_plugins, info))
            return accel_error_no_memory(error, "to replay %.200s", context->options.host_path);
    }
    return ACCEL_OK;
}

static struct accel_attached *find_owner(const struct accel_context *context, const char *driver)
{
    for (uint32_t i = 0; i < context->attached.count; i++) {
        struct accel_attached *owner = context->attached.items[i];
        if (strcmp(owner->driver->name, driver) == 0)
            return owner;
    }
    return NULL;
}

/* Creates a driver that has only a name and a version. */
static int32_t make_owner(struct accel_context *context, const struct accel_snapshot_device *device,
                          struct accel_attached **out_owner, struct accel_error *error)
{
    struct accel_attached *owner = find_owner(context, device->driver);
    struct accel_driver *driver;
    *out_owner = owner;
    if (owner)
        return ACCEL_OK;
    owner = accel_arena_array(&context->records, 1, sizeof(*owner));
    driver = accel_arena_array(&context->records, 1, sizeof(*driver));
    if (owner == NULL || driver == NULL || !accel_rows_add(&context->attached, owner))
        return accel_error_no_memory(error, "to replay %.200s", context->options.host_path);
    *driver = (struct accel_driver){.size = sizeof(*driver), .name = device->driver, .version = device->version};
    owner->driver = driver;
    owner->plugin = device->plugin < context->recorded_plugins.count ? device->plugin : ACCEL_NO_PLUGIN;
    *out_owner = owner;
    return ACCEL_OK;
}

static int32_t add_device(struct accel_context *context, const struct accel_snapshot_device *device,
                          struct accel_error *error)
{
    struct accel_facts facts = device->facts;
    struct accel_attached *owner;
    int32_t code;
    if (!accel_plugin_is_name(device->driver))
        return accel_error_set(error, ACCEL_E_CORRUPT, "%.200s: \"%.60s\" is no name of a driver",
                               context->options.host_path, device->driver);
    code = make_owner(context, device, &owner, error);
    if (code != ACCEL_OK)
        return code;
    facts.size = sizeof(facts);
    return accel_registry_add_device(context, owner, &facts, error);
}

static int32_t add_verdicts(struct accel_context *context, struct accel_error *error)
{
    const struct accel_snapshot *snapshot = context->snapshot;
    for (uint32_t i = 0; i < snapshot->verdict_count; i++) {
        struct accel_verdict verdict = snapshot->verdicts[i];
        int32_t code;
        /* Verdicts of the core are created again. */
        if (verdict.driver[0] == '\0')
            continue;
        code = accel_registry_add_verdict(context, &verdict, error);
        if (code != ACCEL_OK)
            return code;
    }
    return ACCEL_OK;
}

int32_t accel_replay_devices(struct accel_context *context, struct accel_error *error)
{
    const struct accel_snapshot *snapshot = context->snapshot;
    int32_t code = add_plugins(context, error);
    for (uint32_t i = 0; i < snapshot->device_count && code == ACCEL_OK; i++)
        code = add_device(context, &snapshot->devices[i], error);
    return code == ACCEL_OK ? add_verdicts(context, error) : code;
}

int32_t accel_replay_refuse(const struct accel_context *context, const char *device, struct accel_error *error)
{
    int32_t code;
    if (context->recording == NULL)
        return ACCEL_OK;
    code = accel_error_set(error, ACCEL_E_UNSUPPORTED, "device %s belongs to a recorded machine: %.200s", device,
                           context->recording->path);
    accel_error_remedy(error, "to run, or to plan exactly, repeat the command on that machine without --host");
    return code;
}

const struct accel_recording *accel_context_recording(const struct accel_context *context) ACCEL_NOEXCEPT
{
    return context == NULL ? NULL : context->recording;
}
