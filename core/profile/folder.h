/* SPDX-License-Identifier: Apache-2.0 */
/** @file Lists the profile files of a folder. Any thread. */
#ifndef ACCEL_CORE_PROFILE_FOLDER_H
#define ACCEL_CORE_PROFILE_FOLDER_H

#include <stdint.h>

#include <accel/error.h>

/** Maximum files that are read from one folder. */
#define ACCEL_PROFILE_FILES_MAX 1024u

/** Names without ".yaml", sorted. Free with accel_profile_names_free. */
struct accel_profile_names {
    char **names;
    uint32_t count;
};

/** Lists the files of a layer: ACCEL_LAYER_PLATFORM, CLIENT, DEVICE or MODEL. Other tables in the root of the
 * profiles ("accel-environment: 1", ...) are no platforms. A folder that does not exist has no files; a name that
 * is no folder, or an unreadable folder, is an error. */
int32_t accel_profile_names_read(const char *root, uint32_t layer, struct accel_profile_names *out_names,
                                 struct accel_error *error);

/** Maximum bytes of the text of a first key. */
#define ACCEL_FIRST_KEY 61u

/** Returns the kind of a table: the key on the first line that begins with "accel-" ("accel-profile",
 * "accel-environment"), truncated to the size of `key`; empty if no line does. */
void accel_profile_first_key(const char *text, char key[ACCEL_FIRST_KEY]);

void accel_profile_names_free(struct accel_profile_names *names);

#endif
