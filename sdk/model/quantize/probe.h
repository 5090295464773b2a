/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model says when some of its weights are made worse: the mean divergence from what it says with the weights of
 * the file, over the first tokens of a calibration text (eval.h defines it). Everything else is F32 in both.
 */
#ifndef ACCEL_SDK_MODEL_QUANTIZE_PROBE_H
#define ACCEL_SDK_MODEL_QUANTIZE_PROBE_H

#include "sdk/model/family/weights.h"
#include "sdk/model/quantize/statistics.h"

/* Weights that are made worse together. */
struct quantize_probe {
    const struct weight_type *rows; /* [count], sorted by name; names are those of the file's tensors */
    uint32_t count;
    uint32_t zero;
    double divergence; /* filled in */
};

/* Runs at most `tokens` tokens of the text once as they are, and once for each probe. Keeps logits of all of them: 256
 * MiB are the most, fewer tokens are taken where that is too little. Progress counts the tokens of all runs. Answers as
 * quantize_statistics_create. */
int32_t quantize_probe_run(const struct quantize_text *text, uint64_t tokens, struct quantize_probe *probes,
                           uint32_t count, struct accel_error *error);

#endif
