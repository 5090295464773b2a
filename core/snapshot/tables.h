/* SPDX-License-Identifier: Apache-2.0 */
/** @file Members of a snapshot, for reading and writing, except evidence, whose keys are free. */
#ifndef ACCEL_CORE_SNAPSHOT_TABLES_H
#define ACCEL_CORE_SNAPSHOT_TABLES_H

#include "core/snapshot/fields.h"

/** Words of ACCEL_DEVICE_...; NULL at the end. */
extern const char *const accel_device_kinds[];

extern const struct accel_fields accel_snapshot_fields;

#endif
