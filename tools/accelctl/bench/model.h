/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects that run a model: load (load.c), prefill and decode (model.c), batched decode (batch.c). Functions with an
 * int result return -1, or an exit code after an error has been printed. */
#ifndef ACCELCTL_BENCH_MODEL_H
#define ACCELCTL_BENCH_MODEL_H

#include "tools/accelctl/bench/bench.h"

int bench_load(struct bench *bench);

/* Refuses, before anything is measured, if none of the requested tests fits the context. */
int bench_model_check(const struct bench *bench, const struct opened *opened);
int bench_model(struct bench *bench, struct opened *opened);

/* Measures batched decode in a loaded session; answers a code of the library. `ids` has one id for each token of
 * its context. */
int32_t bench_batch(struct bench *bench, struct accel_session *session, const int32_t *ids);

#endif
