/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/quantize/calibration.h"

#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/errors.h"
#include "tools/accelctl/run/prompt.h"
#include "tools/accelctl/sigbus_guard.h"

static int32_t read_tokens(const char *path, struct calibration *calibration, struct accel_error *error)
{
    struct accel_tokenizer *tokenizer = NULL;
    char *text = NULL;
    int32_t code = accel_tokenizer_create_file(accel_model_file_of(calibration->model), &tokenizer, error);

    if (code == ACCEL_OK)
        code = read_prompt(path, &text, error);
    if (code == ACCEL_OK)
        code = accel_tokenizer_encode(tokenizer, text, strlen(text), 0, &calibration->ids, error);
    if (code == ACCEL_OK && calibration->ids.count < 2) {
        code = accel_error_set(error, ACCEL_E_INVALID, "%s: a text to calibrate with has two tokens at least", path);
        accel_error_remedy(error, "take a text as the model will be used for, of a few thousand words");
    }
    free(text);
    accel_tokenizer_free(tokenizer);
    return code;
}

int calibration_open(const struct common *common, const char *model, const char *text, uint64_t most,
                     struct calibration *calibration)
{
    struct accel_error error = {0};
    int code = -1;

    if (text == NULL)
        return -1;
    if (accel_model_open(model, NULL, &calibration->model, &error) != ACCEL_OK) {
        if (error.code == ACCEL_E_UNSUPPORTED)
            accel_error_remedy(&error, "only a model that runs can be calibrated; without --calib it is quantized by "
                                       "its weights alone");
        return report_error(common->json, &error);
    }
    sigbus_guard_begin(accel_model_file_of(calibration->model), "do not change the file while it is read");
    if (read_tokens(text, calibration, &error) != ACCEL_OK)
        return report_error(common->json, &error);
    calibration->tokens = most != 0 && most < calibration->ids.count ? most : calibration->ids.count;
    calibration->context = open_context(common, &code);
    return calibration->context == NULL ? code : -1;
}

void calibration_give(const struct calibration *calibration, struct accel_quantize_options *options)
{
    if (calibration->context == NULL)
        return;
    options->context = calibration->context;
    options->model = calibration->model;
    options->ids = calibration->ids.ids;
    options->id_count = calibration->tokens;
}

void calibration_close(struct calibration *calibration)
{
    if (calibration->context != NULL)
        close_context(calibration->context);
    accel_token_list_free(&calibration->ids);
    if (calibration->model != NULL)
        sigbus_guard_end(accel_model_file_of(calibration->model));
    accel_model_close(calibration->model);
    *calibration = (struct calibration){0};
}
