/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Profiles: strict YAML files that turn facts into typed settings, and say for each value where it comes from. This
 * room knows neither devices nor models: it is given facts and answers settings. The language is documented in
 * profiles/README.md, the settings in core/profile/keys.def, the facts that rules may ask for in
 * core/profile/facts.def.
 *
 * Layers, weakest first: built in (keys.def) < base.yaml < the platform's file < the client's < the device's < the
 * model's < files of the site: system, user, folder < environment < given. Inside a layer the order of the file decides
 * and the last match wins; every loser is kept.
 *
 * Ownership: a profile and a set of settings own every string that they show. Threads: a profile may be resolved from
 * any thread; files are read when they are first needed. Settings are read-only. Errors: a file's text names
 * file:line:column; unknown keys bring a suggestion. A file that cannot be used fails everything for which it counts,
 * so that it is never passed over.
 */
#ifndef ACCEL_CORE_PROFILE_PROFILE_H
#define ACCEL_CORE_PROFILE_PROFILE_H

#include <accel/error.h>
#include <accel/plan.h>
#include <accel/profile.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/log.h"

struct accel_profile;
struct accel_settings;

/** Something known ("driver.name" is "cpu"), or a setting that a caller gives. Sizes are facts in bytes. */
struct accel_profile_pair {
    const char *key;
    const char *value;
    const char *origin; /**< words for people: "command line --set context=2048tok"; never NULL */
};

/* Where the value of a setting comes from: ACCEL_LAYER_... of accel/profile.h. */
#define ACCEL_PROFILE_BUILTIN 0u     /**< the default of keys.def */
#define ACCEL_PROFILE_BASE 1u        /**< base.yaml */
#define ACCEL_PROFILE_PLATFORM 2u    /**< NAME.yaml: the fact platform, else driver.name */
#define ACCEL_PROFILE_CLIENT 3u      /**< clients/NAME.yaml: the setting client */
#define ACCEL_PROFILE_DEVICE 4u      /**< devices/NAME.yaml: those that match, or the fact device.profile */
#define ACCEL_PROFILE_MODEL 5u       /**< models/NAME.yaml: the fact model.name */
#define ACCEL_PROFILE_SYSTEM 6u      /**< /etc/accel/accel.yaml */
#define ACCEL_PROFILE_USER 7u        /**< $XDG_CONFIG_HOME/accel/accel.yaml */
#define ACCEL_PROFILE_FOLDER 8u      /**< ./accel.yaml */
#define ACCEL_PROFILE_ENVIRONMENT 9u /**< variables: names of the documents, then ACCEL_..., which are stronger */
#define ACCEL_PROFILE_GIVEN 10u      /**< the caller */

/** A fact in force. */
struct accel_profile_fact {
    const char *key;
    const char *value;   /**< sizes in bytes */
    const char *unit;    /**< "bytes", "tok" or empty */
    const char *place;   /**< "profiles/devices/t4.yaml:7", or the origin that the caller gave */
    const char *because; /**< or empty */
    uint32_t layer;      /**< ACCEL_PROFILE_GIVEN, MODEL, DEVICE, or BUILTIN for what follows from another fact */
};

/** Facts of caller, devices and model together. Free with accel_profile_facts_free. */
struct accel_profile_facts {
    struct accel_arena arena;
    uint32_t count;
    struct accel_profile_fact *facts;
};

/** The value of one setting. */
struct accel_profile_setting {
    const char *key;   /**< "kv.type.k" */
    const char *value; /**< without its unit: "f16", "2048", "true"; sizes in bytes, durations in ms */
    const char *unit;  /**< "tok", "bytes", "ms", or empty */
    const char *place; /**< "/usr/share/accel/profiles/base.yaml:12", "environment ACCEL_CONTEXT", the giver's words */
    const char *because; /**< the reason that the profile gives, or empty */
    const char *losers;  /**< "VALUE (PLACE; BECAUSE)" of each value that was overruled, strongest first, a line each */
    uint32_t layer;      /**< ACCEL_PROFILE_... */
    uint32_t is_number;  /**< 1: `number` holds the value; 0: the value is a word, "auto" included */
    int64_t number;      /**< integers, sizes in bytes, durations in ms; flags are 0 and 1 */
    const struct accel_plan_loser *overruled; /**< the losers as records, the strongest first */
    uint32_t overruled_count;
    uint32_t zero;
};

/** Reads `folder`/base.yaml. The folder is copied. */
int32_t accel_profile_create(const char *folder, struct accel_profile **out_profile, struct accel_error *error);

/** Frees it. NULL is allowed. */
void accel_profile_free(struct accel_profile *profile);

/** Reads the files of the site: of the system, of the user, and of the working folder; in a program that runs with more
 *  rights than its caller, of the system alone. A file that cannot be used or is not trusted fails every
 *  accel_profile_resolve. `below` is NULL but in tests: see core/profile/site.h. */
int32_t accel_profile_add_sites(struct accel_profile *profile, const char *below, struct accel_error *error);

/** Reads the file of a platform ahead of its use, `folder`/NAME.yaml, where there is one. Names are lower case letters,
 *  digits, '.', '-' and '_', else ACCEL_E_INVALID. */
int32_t accel_profile_add(struct accel_profile *profile, const char *name, struct accel_error *error);

/** Is told a variable of the environment that nobody knows. `near`: the name that was meant, or NULL. `level`:
 *  ACCEL_LOG_WARN, or ACCEL_LOG_INFO for what may be another program's. */
typedef void (*accel_profile_unknown)(void *data, uint32_t level, const char *name, const char *near);

/** Tells of the variables of the environment that look as if they were meant for this library and that nobody knows.
 *  Fails where the table of variables cannot be used. */
int32_t accel_profile_unknown_each(const struct accel_profile *profile, accel_profile_unknown function, void *data,
                                   struct accel_error *error);

/** Warns of them in the log. */
int32_t accel_profile_warn(const struct accel_profile *profile, const struct accel_log *log, struct accel_error *error);

/** What is known when these facts are given: they themselves, and what the files of the device and of the model add to
 *  them, weaker than they. ACCEL_E_NOT_FOUND: a platform or device.profile has no file. */
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

uint32_t accel_settings_count(const struct accel_settings *settings);

/** The setting at `index`: those of keys.def in its order, then options of the driver. NULL past the end. */
const struct accel_profile_setting *accel_settings_get(const struct accel_settings *settings, uint32_t index);

/** The setting called `key`, or NULL. */
const struct accel_profile_setting *accel_settings_find(const struct accel_settings *settings, const char *key);

/** A setting as a number. ACCEL_E_NOT_FOUND: no such key; ACCEL_E_INVALID: it is a word. */
int32_t accel_settings_number(const struct accel_settings *settings, const char *key, int64_t *out_number,
                              struct accel_error *error);

/** Facts that were in force, those of files and the client's name included. */
uint32_t accel_settings_fact_count(const struct accel_settings *settings);
const struct accel_profile_fact *accel_settings_fact(const struct accel_settings *settings, uint32_t index);

/** accel_model_facts_read for the profiles in the folder `root`. */
int32_t accel_profile_models_read(const char *root, const char *name, accel_model_fact_function function, void *data,
                                  struct accel_error *error);

/** The index of the first option of the driver; those before it are the settings of keys.def. */
uint32_t accel_settings_driver_begin(const struct accel_settings *settings);

#endif
