/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices the driver has here: asked for first, so that a test can be told which one to open. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "core/device/object.h"
#include "tools/accel-conform/direct.h"

static void say_number(struct conform *conform, const char *key, uint64_t number)
{
    char text[32];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    conform_fact(conform, key, text);
}

static void say_fingerprint(struct conform *conform)
{
    const struct accel_device_info *info = accel_device_get(conform->context, 0);
    uint8_t bytes[16] = {0};
    char text[33] = "";
    int32_t code;

    /* The device that was asked for, or the first one. */
    for (uint32_t i = 0; conform->id != NULL && i < accel_device_count(conform->context); i++)
        if (strcmp(accel_device_get(conform->context, i)->facts->id, conform->id) == 0)
            info = accel_device_get(conform->context, i);
    conform_fact(conform, "device", info->facts->id);
    conform_fact(conform, "device.name", info->facts->name);
    conform_fact(conform, "device.detail", info->facts->detail);
    say_number(conform, "limit.queues", info->facts->limits->queues);
    /* A device that does not open is what the tests will say. */
    conform_stage(conform, "open");
    code = accel_device_open(conform->context, info->name, NULL, 0, &conform->device, &conform->error);
    accel_error_clear(&conform->error);
    if (code != ACCEL_OK || !ACCEL_CAN(conform->device->handle->table, fingerprint))
        return;
    code = conform->device->handle->table->fingerprint(conform->device->handle, bytes, &conform->error);
    if (code == ACCEL_E_UNSUPPORTED || !conform_ok(conform, code, "fingerprint"))
        return;
    for (uint32_t i = 0; i < sizeof(bytes); i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    conform_fact(conform, "device.fingerprint", text);
}

/* Slot by slot, so that a crash has the name of the one that it is in. What they answer is judged by the core. */
static void try_slots(struct conform *conform)
{
    struct direct direct = {.conform = conform};

    direct_host_init(&direct.host);
    conform_stage(conform, "attach");
    if (direct_do(&direct, DIRECT_ATTACH) != ACCEL_OK)
        return;
    conform_stage(conform, "enumerate");
    direct_do(&direct, DIRECT_ENUMERATE);
    conform_stage(conform, "detach");
    direct_undo(&direct, DIRECT_ATTACH);
}

static void info(struct conform *conform)
{
    int32_t code;

    try_slots(conform);
    conform_stage(conform, "attach or enumerate");
    code = accel_context_attach_driver(conform->context, conform->driver, &conform->error);
    conform_case(conform, "attach and enumerate");
    conform_fact(conform, "driver", conform->driver->name);
    conform_fact(conform, "driver.version", conform->driver->version);
    if (!conform_ok(conform, code, "attach and enumerate"))
        return;
    for (uint32_t i = 0; i < accel_device_count(conform->context); i++)
        conform_fact(conform, "found", accel_device_get(conform->context, i)->facts->id);
    for (uint32_t i = 0; i < accel_verdict_count(conform->context); i++) {
        const struct accel_verdict *verdict = accel_verdict_get(conform->context, i);

        if (verdict->driver[0] != '\0')
            conform_fact(conform, "refused", verdict->text);
    }
    if (accel_device_count(conform->context) != 0)
        say_fingerprint(conform);
}

void conform_add_info(struct conform_list *list)
{
    conform_add(list, CONFORM_DRIVER, 0, info, "info");
}
