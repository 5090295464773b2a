/* SPDX-License-Identifier: Apache-2.0 */
/** @file Reads and checks one profile file: statements in the order in which they apply, locks, facts, and the
 * conditions for a match. All errors that can be found without facts are reported here, with file:line:column.
 * Everything is in the file's arena. */
#ifndef ACCEL_CORE_PROFILE_LANGUAGE_H
#define ACCEL_CORE_PROFILE_LANGUAGE_H

#include <accel/error.h>

#include "core/base/arena.h"
#include "core/profile/condition.h"
#include "core/profile/keys.h"

/** Sets one setting if its conditions hold. */
struct accel_statement {
    struct accel_statement *next;
    const struct accel_setting_row
        *key; /**< a row of keys.def, or one of type ACCEL_SETTING_TEXT for an option of a driver */
    struct accel_key_value value;
    const struct accel_condition *conditions; /**< all of them must hold; NULL: always */
    const char *place;                        /**< "FILE:LINE" */
    const char *reason;                       /**< may be empty */
};

/** States one fact. */
struct accel_fact_statement {
    struct accel_fact_statement *next;
    const struct accel_fact_row *fact;
    const char *value; /**< numbers with a unit are in the base unit: "16000000000" */
    const char *place;
    const char *reason; /**< may be empty */
};

/** Locks a setting against stronger layers. */
struct accel_lock {
    struct accel_lock *next;
    const char *key;
    const char *place;
};

/** A file with everything that it inherits. */
struct accel_profile_file {
    struct accel_arena arena;
    uint32_t layer;       /**< ACCEL_LAYER_BASE to ACCEL_LAYER_FOLDER */
    const char *name;     /**< "base", "cpu", "t4" */
    const char *path;     /**< path of the file itself; NULL if it is not known */
    const char *about;    /**< description of the file itself, or empty */
    const char *inherits; /**< names that the file itself inherits, separated by spaces, or empty */
    const struct accel_condition *match;
    struct accel_statement *first;
    struct accel_statement *last;
    struct accel_fact_statement *facts;
    struct accel_fact_statement *last_fact;
    struct accel_lock *locks;
    bool is_absent; /**< the file itself does not exist, as opposed to one that it inherits */
};

struct accel_faults;

/** Source of a file's text. */
struct accel_profile_source {
    const char *root; /**< folder of the profiles that the file may inherit from; NULL: it cannot inherit */
    uint32_t layer;
    const char *name;
    const char *path;            /**< for messages */
    struct accel_faults *faults; /**< receives every error of the file itself; NULL: reading stops at the first error */
};

/** Reads NAME.yaml of a layer's folder below `root` and all that it inherits into `*file`; free it in every case. */
int32_t accel_profile_file_read(struct accel_profile_file *file, const char *root, uint32_t layer, const char *name,
                                struct accel_error *error);

/** Reads a file from text. */
int32_t accel_profile_file_parse(struct accel_profile_file *file, const struct accel_profile_source *source,
                                 const char *data, size_t bytes, struct accel_error *error);

/** Initializes an entry for an unreadable file with its error. Returns the code of `why`. */
int32_t accel_profile_file_begin(struct accel_profile_file *file, const struct accel_profile_source *source,
                                 const struct accel_error *why, struct accel_error *error);

void accel_profile_file_free(struct accel_profile_file *file);

/** Maximum bytes of the name of a profile. */
#define ACCEL_PROFILE_NAME_MAX 63u

/** Returns whether a file may have the name: lower case letters, numerals, '.', '-' and '_', at most
 * ACCEL_PROFILE_NAME_MAX of them, and no '.' at the beginning. */
bool accel_profile_name_valid(const char *name);

/** Returns the folder of a layer below the root: "", "clients", "devices", "models". */
const char *accel_profile_layer_folder(uint32_t layer);

/** Returns the name of a layer for people: "built in", "base", "platform", ... */
const char *accel_profile_layer_name(uint32_t layer);

/* ---- site.c: files of a site, which override the installed profiles ---- */

/** Number of layers of the site: /etc/accel/accel.yaml, $XDG_CONFIG_HOME/accel/accel.yaml (else
 * ~/.config/accel/accel.yaml) and ./accel.yaml. A program with more rights than its caller reads the first one alone.
 */
#define ACCEL_PROFILE_SITES 3u

/** Returns the path of a layer's file, ACCEL_LAYER_SYSTEM to ACCEL_LAYER_FOLDER; free it with free(). NULL:
 * this process has none. Tests have all three below the folder
 * `below`, else NULL: etc/accel/accel.yaml, user/accel.yaml, folder/accel.yaml. False if memory runs out. */
bool accel_profile_site_path(uint32_t layer, const char *below, char **out_path);

/** Reads the file of a layer like accel_profile_file_read. ACCEL_E_DENIED: other users may have written the file. */
int32_t accel_profile_site_read(struct accel_profile_file *file, const char *root, uint32_t layer, const char *path,
                                struct accel_error *error);

#endif
