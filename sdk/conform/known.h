/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Known results of a driver (conformance.yaml): tests that it does not claim, and tests that fail. The check is
 * strict: a test listed as failing that passes is a failure of the run, and so is a test listed as unsupported
 * that the driver claims.
 *
 *     accel-conformance: 1
 *     unsupported:
 *       - test: matmul/iq*
 *         because: no kernels for code grids
 *     expected:
 *       - test: attention/q8_g64
 *         because: issue 12
 */
#ifndef ACCEL_SDK_CONFORM_KNOWN_H
#define ACCEL_SDK_CONFORM_KNOWN_H

#include "sdk/conform/list.h"
#include "sdk/conform/run.h"

#define KNOWN_ROWS 256u

struct known_row {
    char test[CONFORM_NAME]; /**< shell pattern */
    bool is_failure;         /**< listed in `expected`; else in `unsupported` */
};

struct known {
    struct known_row rows[KNOWN_ROWS];
    uint32_t count;
};

/** Reads the file of the options, or the one beside the driver if it exists. Unknown test names are refused with a
 * suggestion. */
int32_t known_read(const struct run_options *options, const struct conform_list *list, struct known *known,
                   struct accel_error *error);

/** Adjusts the verdict of a result by the known result of its test. */
void known_apply(const struct known *known, struct run_result *result);

#endif
