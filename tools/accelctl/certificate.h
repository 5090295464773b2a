/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of accel-conform: which driver file passed on which device. They lie in certificates/ of the user's
 * cache folder, and beside a driver as DRIVER.certificate.json. One is valid for the build of the file and the kit that
 * it names, and stale for any other. */
#ifndef ACCELCTL_CERTIFICATE_H
#define ACCELCTL_CERTIFICATE_H

#include <jansson.h>

#include <accel/context.h>

/* Lists certificates, for each device the valid one, else the last: objects with device, state ("valid", "stale",
 * "damaged"), why, passed, failed, expected, seed, date, path. */
json_t *certificates_of(const struct accel_plugin_info *info);

#endif
