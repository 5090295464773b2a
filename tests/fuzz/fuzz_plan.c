/* SPDX-License-Identifier: Apache-2.0 */
/* Records of plans. A record names its model's files with their times, so that a foreign one is refused before much of
 * it is read: every input is also laid over the record of a plan that was made here. */
#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <accel/accel.h>
#include <accel/model/plan.h>

#include "core/registry/context.h"
#include "core/registry/registry.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/plan_farm.h"

const char *const fuzz_corpus_folder = "tests/fixtures/plans";
const char *const fuzz_corpus_suffix = ".json";

static struct farm farm;
static struct accel_context *context;
static char model[4200];
static char *record; /* of a plan that was made here */

static void leave(void)
{
    struct accel_error error = {0};
    accel_model_plan_json_free(record);
    if (accel_context_free(context, &error) != ACCEL_OK)
        abort();
}

static void need(int32_t code, const struct accel_error *error)
{
    if (code == ACCEL_OK)
        return;
    fprintf(stderr, "no plan to begin with: %s\n", error->text);
    exit(99);
}

static void enter(void)
{
    const char *top = getenv("ACCEL_TEST_SRCDIR");
    struct accel_context_options options = {.size = sizeof(options),
                                            .flags = ACCEL_CONTEXT_NO_PLUGINS | ACCEL_CONTEXT_NO_CACHE};
    struct accel_model_plan_options asked = {.size = sizeof(asked), .path = model};
    struct accel_model_plan *plan = NULL;
    struct accel_error error = {0};
    char profiles[4200];
    if (context != NULL)
        return;
    snprintf(profiles, sizeof(profiles), "%s/profiles", top == NULL ? "." : top);
    snprintf(model, sizeof(model), "%s/samples/stories260K/stories260K-q8_0.gguf", top == NULL ? "." : top);
    options.profile_path = profiles;
    farm.devices[0] = (struct farm_device){.id = "a", .kind = ACCEL_DEVICE_CPU, .bytes = 1ull << 34};
    farm.count = 1;
    need(accel_context_create(&options, &context, &error), &error);
    need(accel_context_discover(context, &error), &error);
    need(accel_context_attach_driver(context, farm_driver(&farm), &error), &error);
    need(accel_model_plan_create(context, &asked, &plan, &error), &error);
    need(accel_model_plan_json(plan, &record, &error), &error);
    accel_model_plan_free(plan);
    atexit(leave);
}

static void give(const char *text, size_t bytes)
{
    struct accel_model_plan *plan = NULL;
    struct accel_error error = {0};
    int file = memfd_create("plan", MFD_CLOEXEC);
    char path[64];
    int32_t code;
    if (file < 0 || write(file, text, bytes) != (ssize_t)bytes)
        exit(99);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    code = accel_model_plan_repeat(context, path, NULL, &plan, &error);
    if ((code == ACCEL_OK) != (plan != NULL) || (code != ACCEL_OK) != (error.code != ACCEL_OK) ||
        strchr(error.text, '\n') != NULL)
        abort();
    accel_model_plan_free(plan);
    close(file);
}

/* Members that the input has take the place of those of a good record, at any depth; the model stays this one, since
 * others are what fuzz_gguf.c is for. */
static void give_laid_over(const char *text, size_t bytes)
{
    json_t *over = json_loadb(text, bytes, 0, NULL), *whole = json_loads(record, 0, NULL);
    char *merged;
    if (whole == NULL)
        exit(99);
    if (json_is_object(over) && json_object_update_recursive(whole, over) == 0 &&
        (!json_is_object(json_object_get(whole, "model")) ||
         json_object_set_new(json_object_get(whole, "model"), "path", json_string(model)) == 0) &&
        (merged = json_dumps(whole, 0)) != NULL) {
        give(merged, strlen(merged));
        free(merged);
    }
    json_decref(over);
    json_decref(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enter();
    give((const char *)data, size);
    give_laid_over((const char *)data, size);
    return 0;
}
