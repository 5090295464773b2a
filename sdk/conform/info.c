/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the driver's devices on this machine (the test `info`). It runs first, since later tests open the device that
 * it selects. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "sdk/conform/direct.h"
#include "sdk/conform/list.h"

static void report_number(struct conform *conform, const char *key, uint64_t number)
{
    char text[32];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    conform_fact(conform, key, text);
}

static void report_fingerprint(struct conform *conform)
{
    const struct accel_device_info *info = accel_device_get(conform->context, 0);
    uint8_t bytes[16] = {0};
    char text[33] = "";
    int32_t code;

    /* Selects the requested device, or the first one. */
    for (uint32_t i = 0; conform->id != NULL && i < accel_device_count(conform->context); i++)
        if (strcmp(accel_device_get(conform->context, i)->facts->id, conform->id) == 0)
            info = accel_device_get(conform->context, i);
    conform_fact(conform, "device", info->facts->id);
    conform_fact(conform, "device.name", info->facts->name);
    conform_fact(conform, "device.detail", info->facts->detail);
    report_number(conform, "limit.queues", info->facts->limits->queues);
    /* An error is ignored here: later tests report it. */
    conform_stage(conform, "open");
    conform->id = info->facts->id;
    code = accel_device_open(conform->context, info->name, NULL, 0, &conform->device, &conform->error);
    accel_error_clear(&conform->error);
    if (code != ACCEL_OK || !ACCEL_CAN(direct_device(conform)->table, fingerprint))
        return;
    code = direct_device(conform)->table->fingerprint(direct_device(conform), bytes, &conform->error);
    if (code == ACCEL_E_UNSUPPORTED || !conform_ok(conform, code, "fingerprint"))
        return;
    for (uint32_t i = 0; i < sizeof(bytes); i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    conform_fact(conform, "device.fingerprint", text);
}

/* Calls attach, enumerate and detach directly, so that a crash is attributed to one slot. conform_attach validates the
 * results later. */
static void try_slots(struct conform *conform)
{
    struct direct direct = {.conform = conform};

    /* conform_attach reports a driver without attach. */
    if (conform->driver == NULL || !ACCEL_CAN(conform->driver, attach))
        return;
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
    const struct accel_plugin_info *plugin;
    int32_t code;

    try_slots(conform);
    conform_stage(conform, "attach or enumerate");
    code = conform_attach(conform, &plugin);
    conform_case(conform, "the driver");
    if (plugin != NULL) {
        conform_fact(conform, "driver", plugin->name);
        conform_fact(conform, "driver.version", plugin->version);
        conform_fact(conform, "driver.build", plugin->build_id);
    }
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
        report_fingerprint(conform);
}

void conform_add_info(struct conform_list *list)
{
    conform_add(list, CONFORM_DRIVER, 0, info, "info");
}
