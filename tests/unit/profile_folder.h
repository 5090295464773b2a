/* SPDX-License-Identifier: Apache-2.0 */
/** @file A folder of profiles that a test writes. */
#ifndef ACCEL_TESTS_UNIT_PROFILE_FOLDER_H
#define ACCEL_TESTS_UNIT_PROFILE_FOLDER_H

#define HEAD "accel-profile: 1\n"

/** A temporary folder with the subfolders of profiles and of a site (etc/accel, user, folder), freed by
 *  profile_folder_remove. */
char *profile_folder_create(void);

/** Writes a file below it. */
void profile_folder_write(const char *folder, const char *name, const char *text);

void profile_folder_remove(char *folder);

#endif
