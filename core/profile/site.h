/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The files of a site, which stand above the profiles that are installed: /etc/accel/accel.yaml,
 * $XDG_CONFIG_HOME/accel/accel.yaml (else ~/.config/accel/accel.yaml) and ./accel.yaml. A program that runs with more
 * rights than its caller reads the first one alone. For tests all three may lie below one folder: etc/accel/accel.yaml,
 * user/accel.yaml and folder/accel.yaml.
 */
#ifndef ACCEL_CORE_PROFILE_SITE_H
#define ACCEL_CORE_PROFILE_SITE_H

#include <accel/error.h>

#include "core/profile/language.h"

/** Layers of the site. */
#define ACCEL_PROFILE_SITES 3u

/**
 * The path of a layer's file, ACCEL_PROFILE_SYSTEM to ACCEL_PROFILE_FOLDER, freed with free(). NULL: there is none for
 * this process. `below` is NULL but in tests. False without memory.
 */
bool accel_profile_site_path(uint32_t layer, const char *below, char **out_path);

/** Reads it, as accel_profile_file_read does. A file that may have been written by others is ACCEL_E_DENIED. */
int32_t accel_profile_site_read(struct accel_profile_file *file, const char *root, uint32_t layer, const char *path,
                                struct accel_error *error);

#endif
