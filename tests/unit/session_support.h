/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of sessions share: a context over the built drivers, sessions with all values in F32, fixtures. */
#ifndef TESTS_SESSION_SUPPORT_H
#define TESTS_SESSION_SUPPORT_H

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <accel/accel.h>
#include <accel/model/file.h>
#include <accel/model/session.h>

#define PATH_BYTES 1024u

/* ok(call): fails the test with the error's text. */
static inline void check_ok(int32_t code, const struct accel_error *error, const char *call, int line)
{
    if (code != ACCEL_OK)
        fail_msg("line %d: %s: %s: %s", line, call, accel_error_name(code), error->text);
}

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        struct accel_error *e_ = &error;                                                                               \
        accel_error_clear(e_);                                                                                         \
        check_ok(call, e_, #call, __LINE__);                                                                           \
    } while (0)

/* The folder or file of a fixture: in the tree, else in the shared folder; 0 when it is in neither. */
static inline int fixture_path(const char *name, char path[PATH_BYTES])
{
    const char *tree = getenv("ACCEL_TEST_SRCDIR");
    const char *shared = getenv("ACCEL_SHARED_FIXTURES");

    snprintf(path, PATH_BYTES, "%s/tests/fixtures/%s", tree == NULL ? "." : tree, name);
    if (access(path, R_OK) == 0)
        return 1;
    if (shared == NULL)
        return 0;
    snprintf(path, PATH_BYTES, "%s/%s", shared, name);
    return access(path, R_OK) == 0;
}

/* The small model of the tree, in F32. */
static inline void stories_path(char path[PATH_BYTES])
{
    const char *tree = getenv("ACCEL_TEST_SRCDIR");

    snprintf(path, PATH_BYTES, "%s/samples/stories260K/stories260K-f32.gguf", tree == NULL ? "." : tree);
}

static inline struct accel_context *make_context(void)
{
    struct accel_context *context = NULL;
    struct accel_error error = {0};

    OK(accel_context_create(NULL, &context, &error));
    OK(accel_context_discover(context, &error));
    return context;
}

static const struct accel_named_value exact_settings[] = {
    {"kv.type.k", "f32", "test"},
    {"kv.type.v", "f32", "test"},
    {"compute.activations", "f32", "test"},
};

/* A loaded session that computes everything in F32, on the device that ACCEL_TEST_DEVICE names or the processors. */
static inline struct accel_session *make_session(struct accel_context *context, const struct accel_model *model,
                                                 uint32_t flags, uint32_t outputs)
{
    const char *device = getenv("ACCEL_TEST_DEVICE");
    struct accel_session_options options = {.size = sizeof(options),
                                            .flags = flags,
                                            .device = device == NULL ? "cpu" : device,
                                            .overrides = exact_settings,
                                            .override_count = 3,
                                            .outputs = outputs};
    struct accel_session *session = NULL;
    struct accel_error error = {0};

    OK(accel_session_create(context, model, &options, &session, &error));
    OK(accel_session_load(session, &error));
    return session;
}

static inline uint32_t best_of(const float *logits, uint32_t count)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < count; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

static inline void close_all(struct accel_session *session, struct accel_model *model, struct accel_context *context)
{
    struct accel_error error = {0};

    accel_session_free(session);
    accel_model_close(model);
    OK(accel_context_free(context, &error));
}

#endif
