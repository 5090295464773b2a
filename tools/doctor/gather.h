/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Gathers evidence on the live machine. Gathering changes nothing, except that it writes a small file into
 * accel's own folders and deletes it; it opens no device and loads no library.
 *
 * Items: system "" (kernel, processor, os); process "" (user, groups, elevated); container KIND (origin); folder NAME
 * (path, exists, writable, reason, nearest, free, or error alone); limit NAME (soft); value PATH (text); bound ADDRESS
 * (kernel); module NAME (loaded, version); node PATH (exists, error, type, readable, writable, mode, owner, gid, group,
 * member, listed); pattern PATTERN (matches); library PATTERN (found, path, version, loader).
 */
#ifndef DOCTOR_GATHER_H
#define DOCTOR_GATHER_H

#include <accel/context.h>

#include "tools/doctor/evidence.h"
#include "tools/doctor/table.h"

/** File with the system's policy for huge pages: an item of the kind "value". */
#define DOCTOR_HUGE_PAGES "/sys/kernel/mm/transparent_hugepage/enabled"

/** Reads doctor.yaml from the profiles of the context into the arena. */
int32_t accel_doctor_open_table(const struct accel_context *context, struct accel_arena *arena,
                                struct accel_doctor_table *out_table, struct accel_error *error);

/** Gathers all evidence that the evaluation uses. `folders` are checked for write access: see accel_doctor_folder. */
int32_t accel_doctor_gather(const struct accel_context *context, const struct accel_doctor_table *table,
                            struct accel_evidence *evidence, struct accel_error *error);

/** Maximum nodes of one pattern or placeholder. */
#define DOCTOR_NODES 64u

/** Expands the node name of a requirement for one piece of hardware: "/dev/dri/{renderD}" becomes the files of the
 * hardware with this prefix, and any other name stays as it is. Stores at most DOCTOR_NODES texts in the arena;
 * false if memory runs out. */
bool accel_doctor_nodes(const char *name, const struct accel_hardware *hardware, struct accel_arena *arena,
                        const char *out_paths[DOCTOR_NODES], uint32_t *out_count);

/** Returns whether a name contains *, ? or [. */
bool accel_doctor_is_pattern(const char *name);

/* Functions that one file per operating system implements. A part of the system that cannot be inspected leaves no
 * item. */
void accel_doctor_gather_system(struct accel_evidence *evidence);
void accel_doctor_gather_process(struct accel_evidence *evidence);
void accel_doctor_gather_container(struct accel_evidence *evidence);
void accel_doctor_gather_bound(struct accel_evidence *evidence, const char *address);
void accel_doctor_gather_module(struct accel_evidence *evidence, const char *name);
void accel_doctor_gather_node(struct accel_evidence *evidence, const char *path);
void accel_doctor_gather_library(struct accel_evidence *evidence, const char *pattern,
                                 const struct accel_doctor_words *folders);

#endif
