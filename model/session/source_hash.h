/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of weights, by which a device finds packed weights in its cache. */
#ifndef ACCEL_MODEL_SESSION_SOURCE_HASH_H
#define ACCEL_MODEL_SESSION_SOURCE_HASH_H

#include "model/session/state.h"

/* Records the identity of the files. Weights have hashes afterwards, unless a file changed within the last seconds. */
void file_source_identify(struct file_source *source);
int32_t file_source_hash(const struct accel_source *base, const char *key, uint8_t out_hash[16],
                         struct accel_error *error) ACCEL_NOEXCEPT;

#endif
