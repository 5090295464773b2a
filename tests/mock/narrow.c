/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cpu driver of the build as a file, with a device that makes no buffer and binds no range of over 16 KiB, for
 * tests of the command. ACCEL_TEST_BUILDDIR names the build.
 */
#include <accel/driver/note.h>

#include "tests/mock/second.h"

#define MOST (16u << 10)

static struct accel_driver real;
static const struct accel_instance_table *real_table;
static struct accel_instance_table table;

/** The sink that the driver behind is given. */
struct narrow_sink {
    struct accel_device_sink sink; /* first */
    const struct accel_device_sink *behind;
};

static int32_t take_device(const struct accel_device_sink *sink, const struct accel_facts *facts,
                           struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct accel_device_sink *behind = ((const struct narrow_sink *)(const void *)sink)->behind;
    struct accel_limits limits = *facts->limits;
    struct accel_facts narrow = *facts;
    limits.buffer_bytes = MOST;
    limits.binding_bytes = MOST;
    narrow.limits = &limits;
    return behind->device(behind, &narrow, error);
}

static int32_t take_verdict(const struct accel_device_sink *sink, int32_t hardware, int32_t code, const char *text,
                            const char *remedy, struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct accel_device_sink *behind = ((const struct narrow_sink *)(const void *)sink)->behind;
    return behind->verdict(behind, hardware, code, text, remedy, error);
}

static int32_t enumerate(struct accel_driver_instance *instance, const struct accel_hardware *const *hardware,
                         uint32_t hardware_count, const struct accel_device_sink *sink,
                         struct accel_error *error) ACCEL_NOEXCEPT
{
    const struct narrow_sink narrow = {{.size = sizeof(narrow.sink), .device = take_device, .verdict = take_verdict},
                                       sink};
    return real_table->enumerate(instance, hardware, hardware_count, &narrow.sink, error);
}

static int32_t attach(const struct accel_host *host, uint32_t minor, struct accel_driver_instance **out_instance,
                      struct accel_error *error) ACCEL_NOEXCEPT
{
    int32_t code = real.attach(host, minor, out_instance, error);
    if (code != ACCEL_OK)
        return code;
    real_table = (*out_instance)->table;
    table = *real_table;
    table.enumerate = enumerate;
    (*out_instance)->table = &table;
    return ACCEL_OK;
}

SDK_EXPORT int32_t accel_driver_query(uint32_t major, uint32_t minor, const struct accel_driver **out_driver,
                                      struct accel_error *error);
SDK_EXPORT int32_t accel_driver_query(uint32_t major, uint32_t minor, const struct accel_driver **out_driver,
                                      struct accel_error *error)
{
    static struct accel_driver driver;
    const struct accel_driver *loaded = second_load_built();

    (void)major;
    (void)minor;
    (void)error;
    if (loaded == NULL)
        return ACCEL_E_NOT_FOUND;
    real = *loaded;
    driver = real;
    driver.name = "narrow";
    driver.attach = attach;
    *out_driver = &driver;
    return ACCEL_OK;
}

ACCEL_NOTE("narrow", "1.0", "Apache-2.0", "depends=$ACCEL_TEST_BUILDDIR\n");
