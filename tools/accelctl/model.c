/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/model.h"

#include <accel/model/describe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/accelctl/guard.h"

/* A model is never a file called so: a folder may be. */
static uint32_t is_record(const char *path)
{
    size_t length = strlen(path);
    struct stat status;

    return length > 5 && strcmp(path + length - 5, ".json") == 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static void take_plan(struct opened *opened)
{
    opened->model = accel_model_plan_model(opened->made);
    opened->session = NULL;
    if (opened->model == NULL)
        return;
    guard_mappings(accel_model_file_of(opened->model),
                   "leave model files alone while they run, or use --set weights.load=read");
    accel_model_plan_session(opened->made, &opened->session, NULL);
}

/* A record says everything itself. */
static int repeat(const struct common *common, const struct wish *wish, struct opened *opened)
{
    struct accel_model_plan_options options = {.size = sizeof options, .flags = wish->flags, .outputs = wish->outputs};
    struct accel_error error = {0};

    if (common->device != NULL || common->client != NULL || common->sets.count + wish->more_count != 0)
        return say(common->json, EXIT_USAGE, "usage",
                   "a plan runs as it was written: --device, --client and --set change it",
                   "make another plan: accelctl plan MODEL --out FILE");
    if (accel_model_plan_repeat(opened->context, wish->path, &options, &opened->made, &error) != ACCEL_OK)
        return say_session_error(common->json, &error);
    return -1;
}

/* What is wrong with the model is an input's fault; what is wrong beside it is one of settings or of devices. */
static int say_plan_error(const struct common *common, const char *path, const struct accel_error *error)
{
    struct accel_model *model = NULL;
    struct accel_error own = {0};
    int32_t code = accel_model_open(path, NULL, &model, &own);

    accel_model_close(model);
    /* One that is described is no file; what else is not found is a device, a platform or a file of the profiles. */
    if (code == ACCEL_E_NOT_FOUND && strstr(error->text, path) == NULL && strcmp(error->text, own.text) != 0)
        code = ACCEL_OK;
    return code == error->code ? say_error(common->json, error) : say_session_error(common->json, error);
}

static int make(const struct common *common, const struct wish *wish, struct opened *opened)
{
    struct accel_given given[GIVEN_MOST + MORE_MOST];
    struct accel_model_plan_options options = {.size = sizeof options,
                                               .flags = wish->flags,
                                               .path = wish->path,
                                               .platform = wish->platform,
                                               .device = common->device,
                                               .mode = wish->mode,
                                               .given = given,
                                               .outputs = wish->outputs,
                                               .request_length = wish->length};
    struct accel_error error = {0};
    int code = given_settings(common, given, &options.given_count, &opened->texts);

    if (code >= 0)
        return code;
    for (uint32_t i = 0; i < wish->more_count && i < MORE_MOST; i++)
        given[options.given_count++] = wish->more[i];
    if (accel_model_plan_create(opened->context, &options, &opened->made, &error) != ACCEL_OK)
        return say_plan_error(common, wish->path, &error);
    return -1;
}

/* 1 where the model itself could run: then settings or the device are why it does not. */
static uint32_t is_model_here(const struct opened *opened)
{
    const struct accel_model_description *model = accel_model_plan_description(opened->made);

    return accel_model_description_is_file(model) && accel_model_description_runs(model, NULL) == ACCEL_OK;
}

int open_model(const struct common *common, const struct wish *wish, struct opened *opened)
{
    struct accel_error error = {0};
    int code;

    opened->borrowed = opened->context != NULL;
    if (!opened->borrowed)
        opened->context = open_context(common, &code);
    if (opened->context == NULL)
        return code;
    code = wish->runs && is_record(wish->path) ? repeat(common, wish, opened) : make(common, wish, opened);
    if (code >= 0)
        return code;
    take_plan(opened);
    if (wish->runs && accel_model_plan_session(opened->made, &opened->session, &error) != ACCEL_OK)
        return is_model_here(opened) ? say_session_error(common->json, &error) : say_error(common->json, &error);
    return -1;
}

/* Where it is guarded. */
static void end_guard(const struct opened *opened)
{
    if (opened->model != NULL)
        guard_end(accel_model_file_of(opened->model));
}

void replace_plan(struct opened *opened, struct accel_model_plan *plan)
{
    end_guard(opened);
    accel_model_plan_free(opened->made);
    opened->made = plan;
    take_plan(opened);
}

void close_model(struct opened *opened)
{
    end_guard(opened);
    accel_model_plan_free(opened->made);
    if (opened->context != NULL && !opened->borrowed)
        close_context(opened->context);
    free(opened->texts);
}
