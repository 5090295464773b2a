/* SPDX-License-Identifier: Apache-2.0 */
/** @file Which files of profiles a folder holds. Any thread. */
#ifndef ACCEL_CORE_PROFILE_FOLDER_H
#define ACCEL_CORE_PROFILE_FOLDER_H

#include <accel/error.h>
#include <stdint.h>

/** Most files of one folder that are looked at. */
#define ACCEL_PROFILE_FILES_MAX 1024u

/** Names without ".yaml", sorted. Free with accel_profile_names_free. */
struct accel_profile_names {
    char **names;
    uint32_t count;
};

/**
 * The files of a layer: ACCEL_PROFILE_PLATFORM, CLIENT, DEVICE or MODEL. Other tables in the root of the profiles
 * ("accel-environment: 1", ...) are no platforms. A folder that does not exist has none; a name that
 * is no folder, or one that cannot be read, is an error.
 */
int32_t accel_profile_names_read(const char *root, uint32_t layer, struct accel_profile_names *out_names,
                                 struct accel_error *error);

/** Bytes of the text of a first key. */
#define ACCEL_FIRST_KEY 61u

/** What the text of a table says that it is: the key on the first line that begins with "accel-" ("accel-profile",
 *  "accel-environment"), cut where it is longer than `key`; empty where no line does. */
void accel_profile_first_key(const char *text, char key[ACCEL_FIRST_KEY]);

void accel_profile_names_free(struct accel_profile_names *names);

#endif
