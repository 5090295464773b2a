/* SPDX-License-Identifier: Apache-2.0 */
/** @file Creates the core's own thread team for a queue whose caller provides none. */
#ifndef ACCEL_CORE_RUNTIME_TEAM_H
#define ACCEL_CORE_RUNTIME_TEAM_H

#include "core/runtime/object.h"

/** Creates a team of `threads` threads (at least 2), which are bound if the options list processors. */
int32_t accel_pool_team_create(struct accel_context *context, const struct accel_queue_options *options,
                               struct accel_pool_team *team, struct accel_error *error);

/** Stops and joins the team's threads. */
void accel_pool_team_free(struct accel_pool_team *team);

#endif
