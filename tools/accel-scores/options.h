/* SPDX-License-Identifier: Apache-2.0 */
/* Options of accelctl scores, which tools/accelctl/commands/scores.c parses. */
#ifndef ACCEL_SCORES_OPTIONS_H
#define ACCEL_SCORES_OPTIONS_H

#include "tools/accel-scores/scores.h"

struct scores_options {
    struct accel_scores_names names;
    uint64_t folds;
    uint64_t repeats;
    uint64_t seed;
    uint64_t select;
    uint64_t members;
    uint64_t bins;
    uint64_t top_n;
    uint64_t top_k;
    double alpha;
    double m;
    uint32_t columns;
    uint32_t json;
};

#endif
