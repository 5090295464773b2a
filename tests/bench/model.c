/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speed of a model: reading a prompt and writing tokens, the median of several rounds, with what the plan expects of
 * memory beside it.
 *
 *     model FILE [PROMPT [TOKENS [ROUNDS [KEY=VALUE...]]]]      without: 512 64 5
 *
 * A device is named by device=NAME.
 *
 * Tokens are numbers without sense; sampling is left out. Weights are touched once before the clock starts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <accel/accel.h>
#include <accel/model/session.h>

enum { ROUNDS_MOST = 100, SETTINGS_MOST = 16 };

struct bench {
    struct accel_session *session;
    uint64_t vocabulary;
    uint64_t prompt;
    uint64_t tokens;
    int32_t *ids;
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
    fprintf(stderr, "model: %s (%s) %s\n", error->text, accel_error_name(code), error->remedy);
    exit(1);
}

/* One round: seconds of the prompt and of the tokens after it. */
static void round_of(struct bench *b, double *out_prompt, double *out_tokens)
{
    struct accel_error error = {0};
    const float *logits;
    double began;

    stop_on(accel_session_truncate(b->session, 0, &error), &error);
    began = seconds();
    if (b->prompt > 0)
        stop_on(accel_session_feed(b->session, b->ids, b->prompt, &logits, &error), &error);
    *out_prompt = seconds() - began;
    began = seconds();
    for (uint64_t t = 0; t < b->tokens; t++)
        stop_on(accel_session_feed(b->session, &b->ids[t % (b->prompt + 1)], 1, &logits, &error), &error);
    *out_tokens = seconds() - began;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print_line(const char *what, uint64_t count, double *times, uint64_t rounds)
{
    qsort(times, rounds, sizeof(*times), ascending);
    if (count > 0)
        printf("%-8s %6llu tokens  %9.2f tokens/s (median of %llu; %.2f to %.2f)\n", what, (unsigned long long)count,
               (double)count / times[rounds / 2], (unsigned long long)rounds, (double)count / times[rounds - 1],
               (double)count / times[0]);
}

static void measure(struct bench *b, uint64_t rounds)
{
    double prompt[ROUNDS_MOST], tokens[ROUNDS_MOST], unused;

    round_of(b, &unused, &unused);
    for (uint64_t r = 0; r < rounds; r++)
        round_of(b, &prompt[r], &tokens[r]);
    print_line("prompt", b->prompt, prompt, rounds);
    print_line("decode", b->tokens, tokens, rounds);
}

static uint32_t read_settings(int count, char **arguments, struct accel_named_value *given, const char **out_device)
{
    uint32_t settings = 0;

    for (int i = 5; i < count && settings < SETTINGS_MOST; i++) {
        char *equals = strchr(arguments[i], '=');

        if (equals == NULL)
            continue;
        *equals = '\0';
        if (strcmp(arguments[i], "device") == 0) {
            *out_device = equals + 1;
            continue;
        }
        given[settings++] = (struct accel_named_value){arguments[i], equals + 1, "benchmark's arguments"};
    }
    return settings;
}

static uint64_t number(int count, char **arguments, int index, uint64_t otherwise)
{
    return index < count ? strtoull(arguments[index], NULL, 10) : otherwise;
}

int main(int count, char **arguments)
{
    struct accel_named_value given[SETTINGS_MOST];
    struct accel_session_options options = {.size = sizeof(options), .overrides = given};
    struct accel_context *context = NULL;
    struct accel_model *model = NULL;
    struct accel_error error = {0};
    struct bench b = {.prompt = number(count, arguments, 2, 512), .tokens = number(count, arguments, 3, 64)};
    uint64_t rounds = number(count, arguments, 4, 5);
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    uint64_t now, peak, resident;

    if (count < 2 || rounds == 0 || rounds > ROUNDS_MOST || b.prompt + b.tokens == 0) {
        fprintf(stderr, "usage: model FILE [PROMPT [TOKENS [ROUNDS [KEY=VALUE...]]]]\n");
        return 2;
    }
    options.override_count = read_settings(count, arguments, given, &options.device);
    stop_on(accel_context_create(NULL, &context, &error), &error);
    stop_on(accel_context_discover(context, &error), &error);
    stop_on(accel_model_open(arguments[1], NULL, &model, &error), &error);
    stop_on(accel_session_create(context, model, &options, &b.session, &error), &error);
    stop_on(accel_session_load(b.session, &error), &error);
    b.vocabulary = accel_model_facts_of(model)->vocabulary;
    b.ids = malloc((b.prompt + 1) * sizeof(*b.ids));
    for (uint64_t i = 0; b.ids != NULL && i <= b.prompt; i++)
        b.ids[i] = (int32_t)((i * 7919 + 13) % b.vocabulary);
    measure(&b, rounds);
    accel_plan_fit(accel_session_plan(b.session), &fit, NULL);
    accel_memory_usage(context, 0, &now, &peak);
    resident = accel_session_resident(b.session);
    printf("memory   planned %llu bytes, measured %llu (%+.2f %%)\n", (unsigned long long)fit.needed,
           (unsigned long long)(peak + resident),
           fit.needed == 0 ? 0.0 : 100.0 * ((double)(peak + resident) / (double)fit.needed - 1.0));
    free(b.ids);
    accel_session_free(b.session);
    accel_model_close(model);
    accel_context_free(context, NULL);
    return 0;
}
