/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a plan to a file atomically. */
#include <errno.h>
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

int32_t accel_model_plan_write(const struct accel_model_plan *plan, const char *path, struct accel_error *error)
{
    char *text = NULL;
    int32_t code;

    if (plan == NULL || path == NULL)
        return model_refuse_null(__func__, error);
    code = model_check_target(path, error);
    if (code != ACCEL_OK)
        return code;
    code = accel_model_plan_json(plan, &text, error);
    if (code == ACCEL_OK)
        code = replace(path, text, error);
    accel_model_plan_json_free(text);
    return code;
}
