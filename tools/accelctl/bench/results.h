/* SPDX-License-Identifier: Apache-2.0 */
/* Results as text (print.c), JSON (json.c) and rows of an SQLite database (sqlite.c). */
#ifndef ACCELCTL_BENCH_RESULTS_H
#define ACCELCTL_BENCH_RESULTS_H

#include "tools/accelctl/bench/bench.h"

void bench_print(const struct bench *bench);
json_t *bench_json(const struct bench *bench);

/* Check the database, and append the document to it; each returns -1, or an exit code after an error has been
 * printed. */
int bench_sqlite_check(const struct bench *bench);
int bench_sqlite_append(const struct bench *bench, const json_t *document);

#endif
