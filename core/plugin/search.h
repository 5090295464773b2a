/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which files may be drivers, in the order in which they count. Only names are looked at here; nothing is opened.
 */
#ifndef ACCEL_CORE_PLUGIN_SEARCH_H
#define ACCEL_CORE_PLUGIN_SEARCH_H

#include <accel/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/log.h"

/** One candidate. */
struct accel_candidate {
    const char *path;  /**< as it was found, absolute */
    const char *place; /**< who named it: "driver_path", "ACCEL_DRIVER_PATH", "user", "system" */
};

/** Where to look. Lists have ':' between their entries; each may be NULL. */
struct accel_search_places {
    const char *driver_path; /**< of the API */
    const char *variable;    /**< value of ACCEL_DRIVER_PATH */
    char *user;              /**< folder of the user */
    char *system;            /**< installed folder */
};

/** The candidates, in the arena they were found with. */
struct accel_candidates {
    struct accel_candidate *list;
    uint32_t count;
    uint32_t capacity; /**< private */
};

/** Most candidates of one search; more are left out with a line of log. */
#define ACCEL_SEARCH_LIMIT 256u

/**
 * Lists the candidates: every file named directly, whatever it is called (of what is not there: x.so and x.so.1), and
 * in every folder named the files `*.so` that are not hidden, by name. Entries that are not absolute are left out with
 * a line of log, since they would depend on the working directory. A folder that is not there is no fault. Fails for
 * lack of memory only.
 */
int32_t accel_search_run(const struct accel_search_places *places, const struct accel_log *log,
                         struct accel_arena *arena, struct accel_candidates *out_candidates, struct accel_error *error);

/**
 * Finds out the places. In a program with raised rights only the installed folder remains, and the log says which
 * others were ignored. *out_places is freed with accel_search_places_free.
 */
int32_t accel_search_places(const char *driver_path, const struct accel_log *log,
                            struct accel_search_places *out_places, struct accel_error *error);

/** Drops what a program with raised rights must not follow, and logs the name of each place that was ignored.
 * `variable` may hold the value that was found or any text that is not empty. */
void accel_search_restrict(struct accel_search_places *places, bool elevated, const struct accel_log *log);

/** Frees the folders. */
void accel_search_places_free(struct accel_search_places *places);

#endif
