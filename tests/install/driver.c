/* SPDX-License-Identifier: Apache-2.0 */
/* The first file of a vendor's driver: it compiles with the flags of pkg-config alone and has found no device yet. */
#include <accel/driver/note.h>
#include <accel/driver/sdk.h>

static int32_t find(const struct accel_host *host, const struct accel_hardware *const *hardware,
                    uint32_t hardware_count, const struct accel_device_sink *sink, struct accel_error *error)
{
    (void)host;
    (void)hardware;
    (void)hardware_count;
    return sink->verdict(sink, -1, ACCEL_E_NOT_FOUND, "this driver has no device", NULL, error);
}

static int32_t open_none(const struct accel_host *host, const char *id, const struct accel_setting *settings,
                         uint32_t setting_count, void *device, struct accel_error *error)
{
    (void)host;
    (void)settings;
    (void)setting_count;
    (void)device;
    return sdk_error(error, ACCEL_E_NOT_FOUND, "no device %s", id);
}

static const struct sdk_backend backend = {.enumerate = find, .open = open_none};

ACCEL_DRIVER(backend, NULL, 0, "vendor", "0.1", "Apache-2.0", "isa=x86-64\n");
