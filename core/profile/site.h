/* SPDX-License-Identifier: Apache-2.0 */
/** @file Reads the files of a site, which override the installed profiles: /etc/accel/accel.yaml,
 * $XDG_CONFIG_HOME/accel/accel.yaml (else ~/.config/accel/accel.yaml) and ./accel.yaml. A program with more rights
 * than its caller reads the first one alone. For tests all three may be below one folder: etc/accel/accel.yaml,
 * user/accel.yaml and folder/accel.yaml. */
#ifndef ACCEL_CORE_PROFILE_SITE_H
#define ACCEL_CORE_PROFILE_SITE_H

#include <accel/error.h>

#include "core/profile/language.h"

/** Number of layers of the site. */
#define ACCEL_PROFILE_SITES 3u

/** Returns the path of a layer's file, ACCEL_LAYER_SYSTEM to ACCEL_LAYER_FOLDER; free it with free(). NULL:
 * this process has none. `below` is NULL except in tests. False if memory runs out. */
bool accel_profile_site_path(uint32_t layer, const char *below, char **out_path);

/** Reads the file of a layer like accel_profile_file_read. ACCEL_E_DENIED: other users may have written the file. */
int32_t accel_profile_site_read(struct accel_profile_file *file, const char *root, uint32_t layer, const char *path,
                                struct accel_error *error);

#endif
