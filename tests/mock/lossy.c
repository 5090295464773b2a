/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cpu driver of the build under another name, as a file: its device is lost in the run that its option says, for
 * tests of the command. ACCEL_TEST_BUILDDIR names the build, and ACCEL_TEST_CALLS a file that gets a line for each call
 * of a slot.
 */
#include <stdio.h>
#include <stdlib.h>

#include <accel/driver/note.h>

#include "tests/mock/second.h"

static const struct accel_option losing = {.size = sizeof(losing),
                                           .type = ACCEL_OPTION_INTEGER,
                                           .name = "losing",
                                           .help = "the run from which on the device is lost; 0: none",
                                           .highest = 1000000};
static const struct accel_option *const options[] = {&losing};

static int32_t write_call(const char *slot, struct accel_error *error)
{
    const char *path = getenv("ACCEL_TEST_CALLS");
    FILE *file = path == NULL ? NULL : fopen(path, "a");

    (void)error;
    if (path == NULL)
        return ACCEL_OK;
    if (file == NULL)
        return ACCEL_E_IO;
    fprintf(file, "%s\n", slot);
    return fclose(file) == 0 ? ACCEL_OK : ACCEL_E_IO;
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
    second.before = write_call;
    driver = *loaded;
    driver.version = "1.0";
    driver.options = options;
    driver.option_count = 1;
    *out_driver = &driver;
    return ACCEL_OK;
}

ACCEL_NOTE("second", "1.0", "Apache-2.0", "depends=$ACCEL_TEST_BUILDDIR\n");
