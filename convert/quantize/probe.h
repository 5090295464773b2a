/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how a model degrades with some weights quantized: the mean KL divergence from the original weights over the
 * first tokens of a calibration text (defined in eval.h). Everything else is F32 in both.
 */
#ifndef ACCEL_CONVERT_QUANTIZE_PROBE_H
#define ACCEL_CONVERT_QUANTIZE_PROBE_H

#include "convert/quantize/statistics.h"
#include "model/family/weights.h"

/* Weights that are quantized together. */
struct quantize_probe {
    const struct weight_type *rows; /* [count], sorted by name; names are those of the file's tensors */
    uint32_t count;
    uint32_t zero;
    double divergence; /* filled in */
};

/* Runs at most `tokens` tokens of the text once with the original weights and once for each probe. Stores the logits of
 * all of them, at most 256 MiB; fewer tokens run if that is too little. Progress counts the tokens of all runs. Returns
 * what quantize_statistics_create returns. */
int32_t quantize_probe_run(const struct quantize_text *text, uint64_t tokens, struct quantize_probe *probes,
                           uint32_t count, struct accel_error *error);

#endif
