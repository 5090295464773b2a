/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the calibration of a quantization: a text that the model evaluates, to record the activations of its
 * matrices. */
#ifndef ACCELCTL_CALIBRATION_H
#define ACCELCTL_CALIBRATION_H

#include <accel/model/quantize.h>
#include <accel/model/tokenizer.h>

#include "tools/accelctl/common.h"

struct calibration {
    struct accel_context *context; /* NULL: there is no text */
    struct accel_model *model;
    struct accel_token_list ids;
    uint64_t tokens; /* of them, that are read */
};

/* Opens the model and tokenizes the text with the tokenizer of its file, at most `most` tokens if that is not 0;
 * does nothing if `text` is NULL. Answers -1 to go on, or an exit code after an error has been printed;
 * calibration_close in any case. */
int calibration_open(const struct common *common, const char *model, const char *text, uint64_t most,
                     struct calibration *calibration);
/* Sets the calibration in the options of a job, which it outlives. */
void calibration_give(const struct calibration *calibration, struct accel_quantize_options *options);
void calibration_close(struct calibration *calibration);

#endif
