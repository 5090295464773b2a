/* SPDX-License-Identifier: Apache-2.0 */
/* The rank of a device. Without profiles devices stand in the order in which they were found. */
#include "config.h"

#include "core/device/context.h"

void accel_rank_begin(struct accel_context *context)
{
    context->profile = NULL;
}

void accel_rank_end(struct accel_context *context)
{
    context->profile = NULL;
}

int32_t accel_rank_device(struct accel_context *context, struct accel_listed *listed, struct accel_error *error)
{
    (void)context;
    (void)error;
    listed->info.rank = 0;
    listed->info.rank_reason = "no profile ranks devices: they stand in the order in which they were found";
    return ACCEL_OK;
}
