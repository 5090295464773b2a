/* SPDX-License-Identifier: Apache-2.0 */
/** @file The members of a snapshot, for reading and writing. Evidence is not among them: it has keys of its own. */
#ifndef ACCEL_CORE_SNAPSHOT_TABLES_H
#define ACCEL_CORE_SNAPSHOT_TABLES_H

#include "core/snapshot/fields.h"

extern const struct accel_fields accel_snapshot_fields;

#endif
