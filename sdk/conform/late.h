/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A thread team whose threads start late: the last index first, each other one when all higher indices have ended
 * or wait. A thread that writes past its share of the work then overwrites the result of a higher index, which the
 * comparison detects.
 */
#ifndef ACCEL_SDK_CONFORM_LATE_H
#define ACCEL_SDK_CONFORM_LATE_H

#include <accel/host.h>

/** Returns a team of up to `threads` threads, created anew for each call. */
struct accel_team late_team(uint32_t threads);

#endif
