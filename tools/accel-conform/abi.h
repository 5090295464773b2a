/* SPDX-License-Identifier: Apache-2.0 */
/** @file What the tests of the ABI share. */
#ifndef ACCEL_TOOLS_CONFORM_ABI_H
#define ACCEL_TOOLS_CONFORM_ABI_H

#include "core/plugin/load.h"
#include "tools/accel-conform/direct.h"

/** Fails unless `code` is a failure (`wanted`, or any where that is ACCEL_OK) as failures have to be: with a text in
 *  conform->error, which is cleared, and without a handle. */
void abi_refused(struct conform *conform, int32_t code, int32_t wanted, const void *handle);

#endif
