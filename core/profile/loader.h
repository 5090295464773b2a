/* SPDX-License-Identifier: Apache-2.0 */
/** @file Internals of the reader of profile files: the state of reading one file with everything that it inherits,
 * and the readers of its statements. A loader lives on the stack of one call; its results belong to the file. */
#ifndef ACCEL_CORE_PROFILE_LOADER_H
#define ACCEL_CORE_PROFILE_LOADER_H

#include "core/profile/language.h"
#include "core/profile/members.h"

/** Maximum depth of inheritance. */
#define ACCEL_LOADER_DEPTH 8u

/** Position of a file that is being read. */
struct accel_loader_position {
    const char *path;
    const char *name;
    uint32_t layer;
};

/** State of reading. The arena and the lists are those of the outermost file. */
struct accel_loader {
    struct accel_profile_file *file;
    const char *root; /**< NULL: nothing can be inherited */
    const char *path;
    uint32_t layer;                                        /**< of the file at `path` */
    struct accel_loader_position open[ACCEL_LOADER_DEPTH]; /**< the files being read, the outermost first */
    uint32_t depth;
    uint32_t inherited;          /**< number of inherited files in total */
    bool in_later;               /**< the rules of the section `later` are being read */
    bool is_unread;              /**< the last file was unreadable, so its error has no line */
    struct accel_faults *faults; /**< NULL: reading stops at the first error */
    struct accel_error *error;
};

/** Sets ACCEL_E_INVALID with the node's line and a formatted text, and returns it. */
#define accel_loader_refuse(loader, node, ...)                                                                         \
    accel_yaml_refuse((loader)->path, node, (loader)->error, ACCEL_E_INVALID, __VA_ARGS__)

/** Reads one entry of the section in the function's name, and appends its statement to the file. */
int32_t accel_loader_default(struct accel_loader *loader, const struct accel_yaml_node *key);
int32_t accel_loader_fact(struct accel_loader *loader, const struct accel_yaml_node *key);
int32_t accel_loader_rule(struct accel_loader *loader, const struct accel_yaml_node *rule);
int32_t accel_loader_later(struct accel_loader *loader, const struct accel_yaml_node *rule);
int32_t accel_loader_lock(struct accel_loader *loader, const struct accel_yaml_node *node);

#endif
