/* SPDX-License-Identifier: Apache-2.0 */
/** @file The profiles of a context (profile.c), and the ranks and kinds of devices (rank.c). */
#ifndef ACCEL_CORE_REGISTRY_RANK_H
#define ACCEL_CORE_REGISTRY_RANK_H

#include "core/profile/profile.h"
#include "core/registry/context.h"

/** Reads the profiles before devices are ranked. Errors in profiles are logged and stored in `profile_error`; fails
 * only if memory runs out. */
int32_t accel_context_profile_open(struct accel_context *context, struct accel_error *error);
void accel_context_profile_close(struct accel_context *context);

/** Maximum number of facts of one device. */
#define ACCEL_DEVICE_PAIRS 16u

/** Facts of a device as pairs for profile conditions. Strings belong to the device and to this struct. */
struct accel_device_pairs {
    struct accel_profile_pair pairs[ACCEL_DEVICE_PAIRS];
    uint32_t count;
    char memory[32];
    char threads[32];
};

void accel_device_pairs_fill(const struct accel_listed *listed, struct accel_device_pairs *out);

/** Sets the rank of a device and its reason, a text in the arena `records`. */
int32_t accel_rank_device(struct accel_context *context, struct accel_listed *listed, struct accel_error *error);

/** Returns "cpu", "gpu", "npu", "other"; empty for 0. */
const char *accel_device_kind_name(uint32_t kind);

/** Returns whether `word` is the name of a device kind. */
bool accel_is_device_kind(const char *word);

#endif
