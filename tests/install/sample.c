/* SPDX-License-Identifier: Apache-2.0 */
/* What an application's first file looks like: the devices of this machine, best first; built with the flags of
 * pkg-config alone. */
#include <stdio.h>

#include <accel/accel.h>

static int fail(const struct accel_error *error)
{
    fprintf(stderr, "%s (%s)\n", error->text, accel_error_name(error->code));
    return 1;
}

int main(void)
{
    struct accel_context *context = NULL;
    struct accel_error error;

    accel_error_clear(&error);
    if (accel_context_create(NULL, &context, &error) != ACCEL_OK)
        return fail(&error);
    if (accel_context_discover(context, &error) != ACCEL_OK) {
        accel_context_free(context, NULL);
        return fail(&error);
    }
    printf("accel %s sees %u devices\n", accel_version(), accel_device_count(context));
    for (uint32_t i = 0; i < accel_device_count(context); i++) {
        const struct accel_device_info *device = accel_device_get(context, i);

        printf("%s: %s\n", device->name, device->facts->name);
    }
    return accel_context_free(context, &error) == ACCEL_OK ? 0 : fail(&error);
}
