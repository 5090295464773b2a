/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects that run single operators. Functions return -1, or an exit code after an error has been printed. */
#ifndef ACCELCTL_BENCH_OPERATORS_H
#define ACCELCTL_BENCH_OPERATORS_H

#include "tools/accelctl/bench/bench.h"

/* Checks the types, operators and shapes of the command line. */
int bench_operators_check(const struct bench *bench);

/* Measures operators with the types and shapes of the command line, after the machine if that has not been
 * measured. Measures the machine alone if no operators are requested. */
int bench_operators(struct bench *bench, struct accel_context *context);

/* Measures attention with the shapes of the model, by length. */
int bench_attention(struct bench *bench, const struct opened *opened);

#endif
