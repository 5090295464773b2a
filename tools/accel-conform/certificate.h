/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The certificate: which file of a driver was held against which kit, on which device, with what result. A small JSON
 * file; `accelctl plugins` shows it as long as build id and kit are those of the file that is installed. Its last
 * member is a hash of all text before that member's line.
 */
#ifndef ACCEL_TOOLS_CONFORM_CERTIFICATE_H
#define ACCEL_TOOLS_CONFORM_CERTIFICATE_H

#include "tools/accel-conform/print.h"

/** Writes it to the file that was named, or to certificates/DRIVER-DEVICE-BUILD.json in the user's cache folder.
 * *out_path is freed by the caller. */
int32_t certificate_write(const struct run_report *report, char **out_path, struct accel_error *error);

#endif
