/* SPDX-License-Identifier: Apache-2.0 */
/* The run of another program to compare with. */
#ifndef ACCELCTL_BENCH_AGAINST_H
#define ACCELCTL_BENCH_AGAINST_H

#include "tools/accelctl/bench/bench.h"

int bench_against_read(struct bench *bench);

/* Adds the times of the other run to our rows, and its other tests below as rows without a time of ours. */
void bench_against_match(struct bench *bench);
void bench_against_free(struct bench_peer *peer);

/* "llama-bench 3f545becc" and the short "llama-bench". */
const char *bench_peer_title(const struct bench_peer *peer);
const char *bench_peer_name(const struct bench_peer *peer);
json_t *bench_peer_json(const struct bench_peer *peer);

#endif
