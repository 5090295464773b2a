/* SPDX-License-Identifier: Apache-2.0 */
/** @file Lists candidates for driver files in search order. It reads only names and opens nothing. */
#ifndef ACCEL_CORE_PLUGIN_SEARCH_H
#define ACCEL_CORE_PLUGIN_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include <accel/error.h>

#include "core/base/arena.h"
#include "core/base/log.h"

/** One candidate. */
struct accel_candidate {
    const char *path;  /**< absolute path as found */
    const char *place; /**< origin: "driver_path", "ACCEL_DRIVER_PATH", "user", "system" */
};

/** Places to search. Lists are separated by ':'; each may be NULL. */
struct accel_search_places {
    const char *driver_path; /**< option of the API */
    const char *variable;    /**< value of ACCEL_DRIVER_PATH */
    char *user;              /**< user's folder */
    char *system;            /**< installed folder */
};

/** Candidates, in the arena they were found with. */
struct accel_candidates {
    struct accel_candidate *list;
    uint32_t count;
    uint32_t capacity; /**< private */
};

/** Maximum number of candidates of one search; the log reports others. */
#define ACCEL_SEARCH_LIMIT 256u

/** Lists the candidates: every file named directly, whatever its name (of missing ones: x.so and x.so.1), and in every
 * named folder the files `*.so` that are not hidden, sorted by name. Relative entries are ignored with a line of log,
 * since they would depend on the working directory. A missing folder is no error. Fails for lack of memory only. */
int32_t accel_search_run(const struct accel_search_places *places, const struct accel_log *log,
                         struct accel_arena *arena, struct accel_candidates *out_candidates, struct accel_error *error);

/** Determines the places. In a program with elevated privileges only the installed folder remains, and the log
 * lists the ignored ones. *out_places is freed with accel_search_places_free. */
int32_t accel_search_places(const char *driver_path, const struct accel_log *log,
                            struct accel_search_places *out_places, struct accel_error *error);

/** Removes places that a program with elevated privileges must not use, and logs each of them. `variable` may hold
 * the value or any non-empty text. */
void accel_search_restrict(struct accel_search_places *places, bool elevated, const struct accel_log *log);

/** Frees the folders. */
void accel_search_places_free(struct accel_search_places *places);

#endif
