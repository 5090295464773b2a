/* SPDX-License-Identifier: Apache-2.0 */
/* What an application's first file looks like; built with the flags of pkg-config alone. */
#include <accel/accel.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    struct accel_error error;
    accel_error_clear(&error);
    if (accel_error_set(&error, ACCEL_E_MEMORY, "asked for %d", 7) != ACCEL_E_MEMORY)
        return 1;
    if (strcmp(accel_error_name(error.code), "ACCEL_E_MEMORY") != 0)
        return 2;
    puts(error.text);
    return 0;
}
