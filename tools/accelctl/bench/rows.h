/* SPDX-License-Identifier: Apache-2.0 */
/* Names of subjects, rows with times, warnings, and the options that several subjects read. */
#ifndef ACCELCTL_BENCH_ROWS_H
#define ACCELCTL_BENCH_ROWS_H

#include "tools/accelctl/bench/bench.h"

const char *bench_subject_name(enum bench_subject subject);

/* Adds a row for `rounds` times; NULL without memory, with bench->error set. */
struct bench_row *bench_row_add(struct bench *bench, enum bench_subject subject, uint32_t rounds, const char *format,
                                ...) ACCEL_PRINTF(4, 5);

/* Adds the time of a round. */
void bench_row_time(struct bench_row *row, double seconds);

/* Computes the order statistics of the times so far. */
void bench_row_summarize(struct bench_row *row);

/* Computes spread and limit of all rows; removes rows without a time. */
void bench_rows_finish(struct bench *bench);

/* Returns the figure that is printed for a time of the row: units / seconds, milliseconds, or bytes and products a
 * second. */
double bench_row_value(const struct bench_row *row, double seconds);
double bench_cost_products(const struct bench_cost *cost);
void bench_warn(struct bench *bench, const char *format, ...) ACCEL_PRINTF(2, 3);

/* Returns the requested number of rounds, limited to `least` to `most`. */
uint32_t bench_rounds(const struct bench *bench, uint32_t least, uint32_t most);

/* Makes the setting of --threads; 0 if the option was not given, else 1. */
uint32_t bench_override_threads(const struct bench *bench, struct accel_named_value *out_override);

#endif
