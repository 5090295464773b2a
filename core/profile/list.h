/* SPDX-License-Identifier: Apache-2.0 */
/** @file Lists every profile file, valid or not, for accel/profile.h, and checks files that no resolution uses. A
 * list owns its records and is read-only once it is read. */
#ifndef ACCEL_CORE_PROFILE_LIST_H
#define ACCEL_CORE_PROFILE_LIST_H

#include <accel/profile.h>

#include "core/base/arena.h"

/** The files of one folder of profiles and of the site. Zeroed: empty. */
struct accel_profile_list {
    struct accel_arena arena;
    const char *root;
    struct accel_profile_info *files;
    uint32_t count;
    uint32_t capacity;
    struct accel_variable *variables;
    uint32_t variable_count;
    const char *variables_path; /**< path of the table of variables; NULL: there is none */
};

/** Reads the list. `below` is as in core/profile/site.h. Free the list in every case. */
int32_t accel_profile_list_read(struct accel_profile_list *list, const char *root, const char *below,
                                struct accel_error *error);

void accel_profile_list_free(struct accel_profile_list *list);

/** Checks one file; `list` may be NULL. Without a finding function only *out_why reports an error. *out_errors
 * increases by the number of errors. The only failure is lack of memory. */
int32_t accel_profile_lint_path(const struct accel_profile_list *list, const char *path, accel_profile_finding finding,
                                void *data, uint32_t *out_errors, struct accel_error *out_why,
                                struct accel_error *error);

#endif
