/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Inside of the reader of profile files: what reading one file, with all that it inherits, carries along, and the
 * readers of its single statements. A loader lives on the stack of one call; what it makes belongs to the file.
 */
#ifndef ACCEL_CORE_PROFILE_LOADER_H
#define ACCEL_CORE_PROFILE_LOADER_H

#include "core/profile/language.h"
#include "core/profile/members.h"

/** Most files of which each inherits the next. */
#define ACCEL_LOADER_DEPTH 8u

/** Which file is being read. */
struct accel_loader_position {
    const char *path;
    const char *name;
    uint32_t layer;
};

/** The arena and the lists are those of the file that inherits. */
struct accel_loader {
    struct accel_profile_file *file;
    const char *root; /**< NULL: nothing can be inherited */
    const char *path;
    uint32_t layer;                                        /**< of the file at `path` */
    struct accel_loader_position open[ACCEL_LOADER_DEPTH]; /**< files that are being read, the outermost first */
    uint32_t depth;
    uint32_t inherited;          /**< files in all */
    bool is_unread;              /**< the last file could not even be read, so its error has no line */
    struct accel_faults *faults; /**< NULL: the first error ends the reading */
    struct accel_error *error;
};

int32_t accel_loader_no_memory(const struct accel_loader *loader);

/** ACCEL_E_CORRUPT at the node's line. */
int32_t accel_loader_refuse(const struct accel_loader *loader, const struct accel_yaml_node *node, const char *text);

/** Reads one entry of the section that the name says, and appends what it states to the file. */
int32_t accel_loader_default(struct accel_loader *loader, const struct accel_yaml_node *key);
int32_t accel_loader_fact(struct accel_loader *loader, const struct accel_yaml_node *key);
int32_t accel_loader_rule(struct accel_loader *loader, const struct accel_yaml_node *rule);
int32_t accel_loader_lock(struct accel_loader *loader, const struct accel_yaml_node *node);

#endif
