/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The folders of this installation. An installed tree may be moved as a whole: a folder is looked for beside the
 * library that is running, at the place that it has relative to the configured library folder, and then where
 * configure was told. A library that runs from the build tree (.libs/) finds them in uninstalled/ beside that folder,
 * where make puts links to drivers, profiles and programs. Strings handed out are absolute, freed with free(), and name
 * a folder that may not exist. Any thread.
 */
#ifndef ACCEL_CORE_BASE_PATHS_H
#define ACCEL_CORE_BASE_PATHS_H

#include <accel/error.h>

/** The folder of installed drivers, .../lib/accel/drivers-0. */
int32_t accel_paths_drivers(char **out_path, struct accel_error *error);

/** The folder of installed profiles, .../share/accel/profiles. */
int32_t accel_paths_profiles(char **out_path, struct accel_error *error);

/** The folder of helper programs, .../libexec/accel. */
int32_t accel_paths_libexec(char **out_path, struct accel_error *error);

/**
 * The rule behind the first three, open to tests: where `folder` lies if the library configured for `libdir` is
 * found as the file `library`. NULL where the two have no common prefix `prefix`, where `library` is not in a folder
 * that ends as `libdir` does, or without memory.
 */
char *accel_paths_relocate(const char *library, const char *prefix, const char *libdir, const char *folder);

/** The rule of the build tree: the folder `name` of uninstalled/ for a library in .libs/, else NULL. */
char *accel_paths_uninstalled(const char *library, const char *name);

#endif
