/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * What is known of a driver (conformance.yaml): tests that it does not claim, and tests that fail. It is strict: what
 * is listed as failing and passes is a failure of the run, and so is what is listed as unsupported and was claimed.
 *
 *     accel-conformance: 1
 *     unsupported:
 *       - test: matmul/iq*
 *         because: no kernels for code grids
 *     expected:
 *       - test: attention/q8_g64
 *         because: issue 12
 */
#ifndef ACCEL_TOOLS_CONFORM_KNOWN_H
#define ACCEL_TOOLS_CONFORM_KNOWN_H

#include "tools/accel-conform/run.h"

#define KNOWN_ROWS 256u

struct known_row {
    char test[CONFORM_NAME]; /**< shell pattern */
    bool is_failure;         /**< of `expected`; else of `unsupported` */
};

struct known {
    struct known_row rows[KNOWN_ROWS];
    uint32_t count;
};

/** Reads the file, or the one beside the driver where there is one. Names that no test has are refused with a
 *  suggestion. */
int32_t known_read(const struct run_options *options, const struct conform_list *list, struct known *known,
                   struct accel_error *error);

/** Changes the verdict of a result by what is known of its test. */
void known_apply(const struct known *known, struct run_result *result);

#endif
