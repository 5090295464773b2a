/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Gathering of evidence on the live machine. Looking changes nothing, but for a small file that is written into accel's
 * own folders and taken away again; no device is opened and no library loaded.
 *
 * Items: system "" (kernel, processor, os); process "" (user, groups, elevated); container KIND (origin); folder NAME
 * (path, exists, writable, reason, nearest, free, or error alone); limit NAME (soft); value PATH (text); bound ADDRESS
 * (kernel); module NAME (loaded, version); node PATH (exists, error, type, readable, writable, mode, owner, gid, group,
 * member, listed); pattern PATTERN (matches); library PATTERN (found, path, version, loader).
 */
#ifndef ACCEL_CORE_DOCTOR_GATHER_H
#define ACCEL_CORE_DOCTOR_GATHER_H

#include <accel/context.h>

#include "core/doctor/table.h"
#include "core/snapshot/evidence.h"

/** Where the system says how it hands out huge pages: an item of the kind "value". */
#define DOCTOR_HUGE_PAGES "/sys/kernel/mm/transparent_hugepage/enabled"

/** All that the evaluation asks for. `folders` are looked into for writing: see accel_doctor_folder. */
int32_t accel_doctor_gather(const struct accel_context *context, const struct accel_doctor_table *table,
                            struct accel_evidence *evidence, struct accel_error *error);

/** Most nodes of one pattern or placeholder. */
#define DOCTOR_NODES 64u

/** What a need calls a node, made concrete for one piece of hardware: "/dev/dri/{renderD}" becomes the files of the
 *  hardware that begin so, everything else stays. Fills at most DOCTOR_NODES texts in the arena; false without memory.
 */
bool accel_doctor_nodes(const char *name, const struct accel_hardware *hardware, struct accel_arena *arena,
                        const char *out_paths[DOCTOR_NODES], uint32_t *out_count);

/** True for names with *, ? or [. */
bool accel_doctor_is_pattern(const char *name);

/* One file per operating system implements what follows; what cannot be looked at leaves no item. */
void accel_doctor_look_system(struct accel_evidence *evidence);
void accel_doctor_look_process(struct accel_evidence *evidence);
void accel_doctor_look_container(struct accel_evidence *evidence);
void accel_doctor_look_bound(struct accel_evidence *evidence, const char *address);
void accel_doctor_look_module(struct accel_evidence *evidence, const char *name);
void accel_doctor_look_node(struct accel_evidence *evidence, const char *path);
void accel_doctor_look_library(struct accel_evidence *evidence, const char *pattern,
                               const struct accel_doctor_words *folders);

#endif
