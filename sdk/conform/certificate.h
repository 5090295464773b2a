/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The certificate states which driver file was tested with which version of the kit, on which device, with what
 * result. It is a small JSON file; `accelctl plugins` shows it as long as its build id and kit version match the
 * installed file. Its last member is a hash of all text before that member's line.
 */
#ifndef ACCEL_SDK_CONFORM_CERTIFICATE_H
#define ACCEL_SDK_CONFORM_CERTIFICATE_H

#include "sdk/conform/print.h"

/** Writes the certificate to the file that the options name, or to certificates/DRIVER-DEVICE-BUILD.json in the
 * user's cache folder. The caller frees *out_path. */
int32_t certificate_write(const struct run_report *report, char **out_path, struct accel_error *error);

#endif
