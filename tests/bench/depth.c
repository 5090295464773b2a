/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing tokens with many in the caches, by the type of the caches, which take turns: the least and the median time of
 * a token, beside the bytes that it reads.
 *
 *     depth FILE DEPTH TOKENS ROUNDS TYPE...       types: f32, f16, q8, q4
 *
 * Prints a line when the caches are full, and waits for one: that takes long, and the rest may want a quiet machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <accel/accel.h>
#include <accel/model/session.h>

enum { TYPES_MOST = 4, ROUNDS_MOST = 100 };

struct run {
    const char *type;
    struct accel_session *session;
    double times[ROUNDS_MOST]; /* of a token */
};

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void stop_on(int32_t code, const struct accel_error *error)
{
    if (code == ACCEL_OK)
        return;
    fprintf(stderr, "depth: %s (%s) %s\n", error->text, accel_error_name(code), error->remedy);
    exit(1);
}

static void session_of(struct accel_context *context, struct accel_model *model, uint64_t depth, struct run *run)
{
    char length[32];
    const struct accel_named_value given[] = {{"kv.type.k", run->type, "benchmark's arguments"},
                                              {"kv.type.v", run->type, "benchmark's arguments"},
                                              {"context", length, "benchmark's arguments"}};
    const struct accel_session_options options = {.size = sizeof(options), .overrides = given, .override_count = 3};
    struct accel_error error = {0};

    snprintf(length, sizeof(length), "%llutok", (unsigned long long)depth);
    stop_on(accel_session_create(context, model, &options, &run->session, &error), &error);
    stop_on(accel_session_load(run->session, &error), &error);
}

/* Seconds of a token after the first `depth`. */
static double time_of(struct run *run, const int32_t *ids, uint64_t depth, uint64_t tokens)
{
    struct accel_error error = {0};
    const float *logits;
    double began;

    stop_on(accel_session_truncate(run->session, depth, &error), &error);
    began = seconds();
    for (uint64_t t = 0; t < tokens; t++)
        stop_on(accel_session_feed(run->session, &ids[depth + t], 1, &logits, &error), &error);
    return (seconds() - began) / (double)tokens;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(struct run *runs, uint32_t count, const int32_t *ids, uint64_t depth, uint64_t tokens,
                    uint64_t rounds)
{
    for (uint64_t r = 0; r < rounds; r++)
        for (uint32_t i = 0; i < count; i++)
            runs[i].times[r] = time_of(&runs[i], ids, depth, tokens);
    for (uint32_t i = 0; i < count; i++) {
        qsort(runs[i].times, rounds, sizeof(*runs[i].times), ascending);
        printf("%-4s at %6llu: least %8.3f ms, median %8.3f ms a token\n", runs[i].type, (unsigned long long)depth,
               1e3 * runs[i].times[0], 1e3 * runs[i].times[rounds / 2]);
    }
}

int main(int count, char **arguments)
{
    struct accel_context *context = NULL;
    struct accel_model *model = NULL;
    struct accel_error error = {0};
    struct run runs[TYPES_MOST] = {0};
    const uint64_t depth = count > 5 ? strtoull(arguments[2], NULL, 10) : 0;
    const uint64_t tokens = count > 5 ? strtoull(arguments[3], NULL, 10) : 0;
    const uint64_t rounds = count > 5 ? strtoull(arguments[4], NULL, 10) : 0;
    const uint32_t types = count > 5 ? (uint32_t)count - 5 : 0;
    const float *logits;
    int32_t *ids;
    uint64_t vocabulary;

    if (types == 0 || types > TYPES_MOST || depth == 0 || tokens == 0 || rounds == 0 || rounds > ROUNDS_MOST) {
        fprintf(stderr, "usage: depth FILE DEPTH TOKENS ROUNDS TYPE...\n");
        return 2;
    }
    stop_on(accel_context_create(NULL, &context, &error), &error);
    stop_on(accel_context_discover(context, &error), &error);
    stop_on(accel_model_open(arguments[1], NULL, &model, &error), &error);
    vocabulary = accel_model_facts_of(model)->vocabulary;
    ids = malloc((depth + tokens) * sizeof(*ids));
    for (uint64_t i = 0; ids != NULL && i < depth + tokens; i++)
        ids[i] = (int32_t)((i * 7919 + 13) % vocabulary);
    for (uint32_t i = 0; ids != NULL && i < types; i++) {
        runs[i].type = arguments[5 + i];
        session_of(context, model, depth + tokens, &runs[i]);
        stop_on(accel_session_feed(runs[i].session, ids, depth, &logits, &error), &error);
    }
    printf("full\n");
    fflush(stdout);
    (void)getchar();
    if (ids != NULL)
        measure(runs, types, ids, depth, tokens, rounds);
    for (uint32_t i = 0; i < types; i++)
        accel_session_free(runs[i].session);
    free(ids);
    accel_model_close(model);
    accel_context_free(context, NULL);
    return 0;
}
