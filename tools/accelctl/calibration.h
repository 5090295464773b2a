/* SPDX-License-Identifier: Apache-2.0 */
/* A text that a model reads before it is quantized, so that what its matrices are multiplied with is known. */
#ifndef ACCELCTL_CALIBRATION_H
#define ACCELCTL_CALIBRATION_H

#include "tools/accelctl/common.h"

#include <accel/model/quantize.h>
#include <accel/model/tokenizer.h>

struct calibration {
    struct accel_context *context; /* NULL: there is no text */
    struct accel_model *model;
    struct accel_token_list ids;
    uint64_t tokens; /* of them, that are read */
};

/* Opens the model and makes tokens of the text with the tokenizer of its file, at most `most` of them where that is not
 * 0; does nothing where `text` is NULL. Answers -1 to go on, or an exit code after the error has been said;
 * calibration_close in any case. */
int calibration_open(const struct common *common, const char *model, const char *text, uint64_t most,
                     struct calibration *calibration);
/* Puts it into the options of a job, which it outlives. */
void calibration_give(const struct calibration *calibration, struct accel_quantize_options *options);
void calibration_close(struct calibration *calibration);

#endif
