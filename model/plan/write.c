/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a plan to a file atomically. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/file/fault.h"
#include "model/file/replace.h"
#include "model/plan/internal.h"

/* Writes a temporary file beside the old one and renames it. */
static int32_t replace(const char *path, const char *text, struct accel_error *error)
{
    char *name = NULL;
    int fd = -1;
    int32_t code = model_create_beside(path, &name, &fd, error);

    if (code == ACCEL_OK) {
        code = model_write_all(fd, name, text, strlen(text), error);
        if (code == ACCEL_OK && fsync(fd) != 0)
            code = model_fault_errno(error, name, "cannot write to the disk", errno);
        code = model_replace(fd, name, path, code, error);
    }
    free(name);
    return code;
}

/* Refuses a path of the model that JSON cannot state: a run of the record would not find the file. */
static int32_t check_model(const struct accel_model_plan *plan, const char *path, struct accel_error *error)
{
    const char *model = accel_model_description_path(accel_model_plan_description(plan));
    json_t *text = json_string(model);
    const bool is_utf8 = text != NULL;

    json_decref(text);
    if (plan->session == NULL || is_utf8)
        return ACCEL_OK;
    accel_error_set(error, ACCEL_E_UNSUPPORTED,
                    "%.200s: the path of the model %.400s is not UTF-8, as all text of a plan file is", path, model);
    accel_error_remedy(error, "rename the file, or name it by a link with another name");
    return accel_error_origin(error, ACCEL_FROM_MODEL, ACCEL_E_UNSUPPORTED);
}

int32_t accel_model_plan_write(const struct accel_model_plan *plan, const char *path, struct accel_error *error)
{
    char *text = NULL;
    int32_t code;

    if (plan == NULL || path == NULL)
        return model_refuse_null(__func__, error);
    code = model_check_target(path, error);
    if (code == ACCEL_OK)
        code = check_model(plan, path, error);
    if (code != ACCEL_OK)
        return code;
    code = accel_model_plan_json(plan, &text, error);
    if (code == ACCEL_OK)
        code = replace(path, text, error);
    accel_model_plan_json_free(text);
    return code;
}
