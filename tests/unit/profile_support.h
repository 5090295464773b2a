/* SPDX-License-Identifier: Apache-2.0 */
/** @file Resolving the profiles that are installed, and where their values come from. For tests of cmocka. */
#ifndef ACCEL_TESTS_UNIT_PROFILE_SUPPORT_H
#define ACCEL_TESTS_UNIT_PROFILE_SUPPORT_H

#include "core/base/strbuf.h"
#include "core/profile/profile.h"
#include "tests/unit/setting_support.h"

/** The folder of profiles, and what the last resolution came to. */
struct fixture {
    const char *folder;
    struct accel_strbuf seen; /* "FILE:LINE" of every value that ever stood in a resolution, a line each */
    struct accel_profile *profile;
    struct accel_settings *settings;
    struct accel_error error;
};

int set_up(void **state);
int tear_down(void **state);

/** Whether a value of a place ever stood in a resolution of the fixture, in force or overridden. */
int was_seen(const struct fixture *f, const char *place);

/** Resolves for a platform, NULL for none, with facts as "NAME=VALUE NAME=VALUE", where "+" stands for a space of a
 *  value, and with a setting that the caller gives, or NULL. Fails the test where that fails. */
struct accel_settings *resolve_for(struct fixture *f, const char *platform, const char *words,
                                   const struct accel_profile_pair *given);

/** The same into the fixture. */
void resolve(struct fixture *f, const char *platform, const char *words);

/** A setting of the fixture. */
const struct accel_profile_setting *find(const struct fixture *f, const char *key);

/** Whether a reason, "S0:38,52-55; S1:47", cites a line of the document in the range. */
int cites(const char *reason, const char *document, int first, int last);

/** Whether a setting comes from a file of the folder, as "cuda" or "devices/t4". */
int comes_from(const struct accel_profile_setting *setting, const char *file);

/** It comes from the file, and its reason cites the document. `id` is for the message. */
void assert_cited(const char *id, const struct accel_profile_setting *setting, const char *file, const char *document,
                  int first, int last);

#endif
