/* SPDX-License-Identifier: Apache-2.0 */
/** @file Folders of this installation. An installed tree may be moved as a whole: a folder is searched relative to the
 * file that contains this code first (the library, or a helper program), and then at the configured place. In the build
 * tree that file is in .libs/ or beside it, and the folders are in uninstalled/, where make creates links to drivers,
 * profiles and programs. Returned strings are absolute, freed with free(), and name a folder that may not exist.
 * Thread-safe. */
#ifndef ACCEL_CORE_BASE_PATHS_H
#define ACCEL_CORE_BASE_PATHS_H

#include <accel/error.h>

/** Returns the folder of installed drivers, .../lib/accel/drivers-0. */
int32_t accel_paths_drivers(char **out_path, struct accel_error *error);

/** Returns the folder of installed profiles, .../share/accel/profiles. */
int32_t accel_paths_profiles(char **out_path, struct accel_error *error);

/** Returns the folder of helper programs, .../libexec/accel. */
int32_t accel_paths_libexec(char **out_path, struct accel_error *error);

/** Maps the configured `folder` into a tree that was moved (for tests, too): `file` is where a file lies now that was
 * configured to be in `home`, and the common `prefix` of home and folder becomes the root of the moved tree. NULL if
 * the two do not begin with `prefix`, if the folder of `file` does not end as `home` does, or without memory. */
char *accel_paths_relocate(const char *file, const char *prefix, const char *home, const char *folder);

/** Returns the folder `name` of the uninstalled/ that is beside `file`, or beside its folder .libs/; it may not exist.
 * NULL if `file` has no folder, or without memory. */
char *accel_paths_uninstalled(const char *file, const char *name);

#endif
