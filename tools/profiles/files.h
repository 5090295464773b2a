/* SPDX-License-Identifier: Apache-2.0 */
/** @file Reads every profile file, valid or not, with the table of variables, and checks files. Profiles are resolved
 * in the core; these are the reports about them. Strings are never NULL. */
#ifndef TOOLS_PROFILES_FILES_H
#define TOOLS_PROFILES_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include <accel/context.h>

#include "core/base/arena.h"

/** One file of profiles. */
struct profile_info {
    uint32_t layer;    /**< ACCEL_LAYER_BASE to ACCEL_LAYER_FOLDER */
    int32_t code;      /**< ACCEL_OK, or why it cannot be used: `text` and `remedy` */
    uint32_t settings; /**< settings that it sets, with those that it inherits, each rule counted */
    uint32_t facts;    /**< facts that it states */
    const char *name;  /**< "t4" */
    const char *path;
    const char *about;    /**< in its own words; may be empty */
    const char *match;    /**< its conditions, " and " between them; may be empty */
    const char *inherits; /**< names, separated by spaces; may be empty */
    const char *text;     /**< what is wrong with it, or empty */
    const char *remedy;   /**< or empty */
};

/** A name of the documents that the environment may use for a setting. */
struct profile_variable {
    const char *name;   /**< "WEBGPU_DEFAULT_TO_4BIT" */
    const char *keys;   /**< settings that it sets, separated by spaces */
    const char *values; /**< "1=q4 0=auto" where the table lists its values; empty: those of the setting */
    const char *unit;   /**< unit of its number: "MB", or empty */
    const char *place;  /**< "profiles/environment.yaml:12" */
    const char *reason; /**< document and line */
};

/** The files of one folder of profiles and of the site. Zeroed: empty. */
struct profile_files {
    struct accel_arena arena;
    const char *root;
    struct profile_info *list; /**< weakest layer first, and by name within a layer */
    uint32_t count;
    uint32_t capacity;
    struct profile_variable *variables; /**< in the order of their table */
    uint32_t variable_count;
    const char *variables_path; /**< path of the table of variables; NULL: there is none */
    /** Checks an option of a driver, "cpu.isa", and its value; false with the reason in `why` if a driver that is here
     * refuses it. NULL: options are not checked. */
    bool (*check_option)(void *data, const char *key, const char *value, char *why, size_t why_bytes);
    void *check_data;
};

/** Reads every file of the context's folder and of the site; `below` is as in core/profile/language.h. A file that
 * cannot be used is a record, not a failure. Free the files in every case. ACCEL_E_NOT_FOUND: there is no folder of
 * profiles.
 */
int32_t profile_files_read(struct profile_files *files, const struct accel_context *context, const char *below,
                           struct accel_error *error);

void profile_files_free(struct profile_files *files);

/** Checks a value of a driver's option as a run reads it, "2GiB" for a size, and then by `files->check_option`, which
 * is not NULL. False with the reason in `why`. */
bool profile_option_check(const struct profile_files *files, const char *key, const char *value, char *why,
                          size_t why_bytes);

/** Receives one finding of a check: ACCEL_LOG_ERROR, the file cannot be used; ACCEL_LOG_WARN, a likely mistake;
 * ACCEL_LOG_INFO, the remedy of the error before. `place` is "FILE:LINE" or the file. Strings are valid for the
 * call. */
typedef void (*profile_finding)(void *data, uint32_t level, const char *place, const char *text);

/** Checks one file, a profile or a table of variables by its first key, and warns of likely mistakes: a rule that can
 * never hold, one that is hidden by another with the same conditions, a value without a reason. With the names of
 * `files`, which may be empty, names of platforms, clients and the like are checked. The only failure is lack of
 * memory. */
int32_t profile_lint_file(const struct profile_files *files, const char *path, profile_finding finding, void *data,
                          struct accel_error *error);

/** Receives a variable of the environment that nothing knows, and the name that was probably meant, or NULL. */
typedef void (*profile_unknown)(void *data, const char *name, const char *near);

/** Reports variables of the environment that seem meant for accel, by their prefix, and are unknown. */
void profile_unknown_variables(const struct profile_files *files, profile_unknown function, void *data);

/** Checks every file of the list, and the table of variables. */
int32_t profile_lint_files(const struct profile_files *files, profile_finding finding, void *data,
                           struct accel_error *error);

#endif
