/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/model.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/accelctl/guard.h"

int open_model(const struct common *common, const char *path, const struct accel_given *more, uint32_t more_count,
               uint32_t flags, uint32_t outputs, struct opened *opened)
{
    struct accel_given given[2 * LIST_MOST];
    struct accel_session_options options = {
        .size = sizeof options, .flags = flags, .device = common->device, .given = given, .outputs = outputs};
    struct accel_error error = {0};
    int code = given_settings(common, given, &opened->texts);

    if (code >= 0)
        return code;
    options.given_count = common->sets.count;
    for (uint32_t i = 0; i < more_count; i++)
        given[options.given_count++] = more[i];
    opened->context = open_context(common, &code);
    if (opened->context == NULL)
        return code;
    if (accel_model_open(path, NULL, &opened->model, &error) != ACCEL_OK)
        return say_error(common->json, &error);
    guard_mappings(opened->model);
    if (accel_session_create(opened->context, opened->model, &options, &opened->session, &error) != ACCEL_OK)
        return say_session_error(common->json, &error);
    return -1;
}

void close_model(struct opened *opened)
{
    accel_session_free(opened->session);
    guard_mappings(NULL);
    accel_model_close(opened->model);
    if (opened->context != NULL)
        close_context(opened->context);
    free(opened->texts);
}
