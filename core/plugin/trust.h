/* SPDX-License-Identifier: Apache-2.0 */
/** @file Decides whether a file may be loaded: a user who could change it could run code as the user of this process.
 * The rule, applied to the real path with links resolved: the file is a regular file; it and every folder above it
 * belong to root or to the caller; none of them is writable by its group or by others. One exception: a sticky folder
 * that all users may write, like /tmp, in which only the owner of an entry may replace it; the entry's own owner is
 * checked like all others. In a program with elevated privileges the owner must be root. */
#ifndef ACCEL_CORE_PLUGIN_TRUST_H
#define ACCEL_CORE_PLUGIN_TRUST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <accel/error.h>

/** The user that loads. */
struct accel_trust {
    uint32_t user; /**< the caller's effective user */
    bool elevated; /**< only root is trusted */
};

/** Applies the rule to one folder or file; a pure function. `facts` are of lstat. The remedy is a command. */
int32_t accel_trust_entry(const struct accel_trust *trust, const char *path, const struct stat *facts, bool is_file,
                          struct accel_error *error);

/** Resolves `path` and applies the rule. *out_path, freed with free(), is the real path also when it is refused,
 * and NULL when it cannot be resolved. ACCEL_E_DENIED: refused; ACCEL_E_NOT_FOUND, ACCEL_E_IO: cannot be read. */
int32_t accel_trust_check(const struct accel_trust *trust, const char *path, char **out_path, struct stat *out_facts,
                          struct accel_error *error);

#endif
