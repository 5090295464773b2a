/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Profiles: strict YAML files that turn facts into typed settings and state the origin of each value. This module has
 * no knowledge of devices or models: it receives facts and returns settings. profiles/README.md documents the language,
 * accel/keys.def the settings, and core/profile/known_facts.def the facts that rules may refer to.
 *
 * Layers, weakest first: built in (keys.def) < base.yaml < the platform's file < the client's < the device's < the
 * model's < files of the site: system, user, folder < environment < given. Inside a layer the order of the file decides
 * and the last match wins; every overridden value is recorded.
 *
 * Ownership: a profile and a set of settings own every string that they return. Threads: a profile may be resolved from
 * any thread; files are read on first use. Settings are read-only. Errors: the text of an error in a file names
 * file:line:column; unknown keys have a suggestion. A file that cannot be used fails every resolution in which it has
 * an effect, so it is never skipped silently.
 */
#ifndef ACCEL_CORE_PROFILE_PROFILE_H
#define ACCEL_CORE_PROFILE_PROFILE_H

#include <stdint.h>

#include <accel/error.h>
#include <accel/profile.h>

#include "core/profile/setting.h"

struct accel_profile;

/** Every setting of keys.def as a member: its typed value with its provenance. */
struct accel_setting_values {
#define ACCEL_KEY(name, member, ...) struct accel_profile_setting member;
#include <accel/keys.def>
#undef ACCEL_KEY
};

/** The result of a resolution. The arena holds everything else. */
struct accel_settings {
    struct accel_arena arena;
    uint32_t count;
    uint32_t fact_count;
    struct accel_profile_fact *facts;       /**< facts in force, which include those of files and the client's name */
    struct accel_profile_setting *settings; /**< those of keys.def, in its order, then options of the driver */
    const struct accel_setting_values *values; /**< those of keys.def as members: the beginning of `settings` */
};

/** Reads `folder`/base.yaml. The folder's path is copied. */
int32_t accel_profile_create(const char *folder, struct accel_profile **out_profile, struct accel_error *error);

/** Frees a profile. NULL is allowed. */
void accel_profile_free(struct accel_profile *profile);

/** Reads the files of the site: of the system, of the user, and of the working folder; in a program with more
 * rights than its caller, of the system alone. A file that cannot be used or is not trusted fails every
 * accel_profile_resolve. `below` is NULL except in tests: see core/profile/language.h. */
int32_t accel_profile_add_sites(struct accel_profile *profile, const char *below, struct accel_error *error);

/** Reads the file of a platform, `folder`/NAME.yaml, ahead of its use if it exists. Names consist of lower case
 * letters, numerals, '.', '-' and '_', else ACCEL_E_INVALID. */
int32_t accel_profile_add(struct accel_profile *profile, const char *name, struct accel_error *error);

/** Reports unknown environment variables that seem meant for this library. Fails if their table cannot be used. */
int32_t accel_profile_unknown_each(const struct accel_profile *profile, accel_profile_unknown function, void *data,
                                   struct accel_error *error);

/** Refuses a platform that has no file, with the name that was probably meant: ACCEL_E_NOT_FOUND. */
int32_t accel_profile_check_platform(const struct accel_profile *profile, const char *name, struct accel_error *error);

/** Returns the given facts and the weaker facts that the files of the device and of the model add.
 * ACCEL_E_NOT_FOUND: a platform or device.profile has no file. */
int32_t accel_profile_facts(const struct accel_profile *profile, const struct accel_profile_pair *facts,
                            uint32_t fact_count, struct accel_profile_facts *out_facts, struct accel_error *error);

void accel_profile_facts_free(struct accel_profile_facts *facts);

/**
 * Resolves every setting. The platform is the fact "platform", else "driver.name". `given` is the strongest layer, its
 * last entry first among them. ACCEL_E_NOT_FOUND: a given key is unknown, or a file that is named does not exist;
 * ACCEL_E_INVALID: a value is of the wrong type, lacks its unit or is out of range; ACCEL_E_DENIED: it is locked by a
 * weaker layer, whose file:line the text names, or a file of the site is not trusted.
 *
 * Keys that begin with the name of the driver (or of the platform) and a dot are options of that driver when keys.def
 * has none of that name: they are taken as text, for the driver to check.
 */
int32_t accel_profile_resolve(const struct accel_profile *profile, const struct accel_profile_pair *facts,
                              uint32_t fact_count, const struct accel_profile_pair *given, uint32_t given_count,
                              struct accel_settings **out_settings, struct accel_error *error);

void accel_settings_free(struct accel_settings *settings);

/** Selects descriptors of models: the one of the name, or those that may state OWNER.MEMBER as the number; NULL: all.
 */
struct accel_profile_search {
    const char *name;
    const char *member;
    uint64_t number;
};

/** Implements accel_model_facts_read and accel_model_facts_search for the profiles in the folder `root`. */
int32_t accel_profile_models_read(const char *root, const struct accel_profile_search *search,
                                  accel_model_fact_function function, void *data, struct accel_error *error);

#endif
