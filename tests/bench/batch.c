/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several sequences in one step: tokens a second of decode with 1, 2, 4, ... sequences, beside reading a prompt.
 *
 *     batch FILE [SEQUENCES [PROMPT [TOKENS [ROUNDS [KEY=VALUE...]]]]]      without: 8 128 32 5
 *
 * Every sequence holds PROMPT tokens before its TOKENS steps. Best of ROUNDS; tokens are numbers without sense. A
 * prompt of more than 1024 tokens is read once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <accel/accel.h>
#include <accel/model/session.h>

enum { SETTINGS_MOST = 16, SEQUENCES_MOST = 256 };

struct bench {
    struct accel_session *session;
    uint64_t prompt;
    uint64_t tokens;
    uint32_t sequences;
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
    fprintf(stderr, "batch: %s (%s) %s\n", error->text, accel_error_name(code), error->remedy);
    exit(1);
}

static void steps_of(struct bench *b, uint32_t sequences, uint64_t steps)
{
    struct accel_session_part parts[SEQUENCES_MOST];
    struct accel_error error = {0};
    const float *logits;

    for (uint64_t t = 0; t < steps; t++) {
        for (uint32_t s = 0; s < sequences; s++)
            parts[s] = (struct accel_session_part){&b->ids[(t + s) % b->prompt], 1, s, 1};
        stop_on(accel_session_step(b->session, parts, sequences, &logits, &error), &error);
    }
}

/* Seconds of one prompt into sequence 0, alone. */
static double prompt_time(struct bench *b)
{
    struct accel_error error = {0};
    const float *logits;
    double began;

    stop_on(accel_session_truncate(b->session, 0, &error), &error);
    began = seconds();
    stop_on(accel_session_feed(b->session, b->ids, b->prompt, &logits, &error), &error);
    return seconds() - began;
}

static double decode_time(struct bench *b, uint32_t sequences)
{
    struct accel_error error = {0};
    double began;

    for (uint32_t s = 0; s < sequences; s++)
        stop_on(accel_session_sequence_truncate(b->session, s, b->prompt, &error), &error);
    began = seconds();
    steps_of(b, sequences, b->tokens);
    return seconds() - began;
}

static void fill(struct bench *b)
{
    struct accel_error error = {0};
    const float *logits;
    uint32_t number;

    for (uint32_t s = 0; s < b->sequences; s++) {
        uint64_t most = accel_session_batch(b->session);

        if (s > 0)
            stop_on(accel_session_open(b->session, &number, &error), &error);
        for (uint64_t at = 0; at < b->prompt; at += most) {
            uint64_t count = b->prompt - at < most ? b->prompt - at : most;
            struct accel_session_part part = {b->ids + at, count, s, 0};

            stop_on(accel_session_step(b->session, &part, 1, &logits, &error), &error);
        }
    }
}

static void measure(struct bench *b, uint64_t rounds)
{
    double best[SEQUENCES_MOST + 1] = {0}, read = seconds();

    fill(b);
    read = (seconds() - read) / b->sequences;
    for (uint64_t r = 0; r <= rounds; r++) {
        double time = b->prompt > 1024 ? read : prompt_time(b);

        read = time < read ? time : read;
        for (uint32_t s = 1; s <= b->sequences; s *= 2) {
            time = decode_time(b, s);
            best[s] = best[s] == 0 || time < best[s] ? time : best[s];
        }
    }
    printf("prompt     %6llu tokens  %9.2f tokens/s\n", (unsigned long long)b->prompt, (double)b->prompt / read);
    for (uint32_t s = 1; s <= b->sequences; s *= 2)
        printf("decode x%-3u %5llu steps   %9.2f tokens/s  %5.2f of one, %5.1f %% of the prompt's\n", s,
               (unsigned long long)b->tokens, (double)(b->tokens * s) / best[s], best[1] * s / best[s],
               100.0 * (double)(b->tokens * s) / best[s] * read / (double)b->prompt);
}

static uint64_t number(int count, char **arguments, int index, uint64_t otherwise)
{
    return index < count ? strtoull(arguments[index], NULL, 10) : otherwise;
}

int main(int count, char **arguments)
{
    struct accel_named_value given[SETTINGS_MOST + 1];
    struct accel_session_options options = {.size = sizeof(options), .overrides = given};
    struct accel_context *context = NULL;
    struct accel_model *model = NULL;
    struct accel_error error = {0};
    struct bench b = {.sequences = (uint32_t)number(count, arguments, 2, 8),
                      .prompt = number(count, arguments, 3, 128),
                      .tokens = number(count, arguments, 4, 32)};
    uint64_t rounds = number(count, arguments, 5, 5);
    char sequences[16];

    if (count < 2 || b.sequences == 0 || b.sequences > SEQUENCES_MOST || b.prompt == 0 || b.tokens == 0) {
        fprintf(stderr, "usage: batch FILE [SEQUENCES [PROMPT [TOKENS [ROUNDS [KEY=VALUE...]]]]]\n");
        return 2;
    }
    snprintf(sequences, sizeof(sequences), "%u", b.sequences);
    given[options.override_count++] = (struct accel_named_value){"sequences", sequences, "benchmark"};
    for (int i = 6; i < count && options.override_count < SETTINGS_MOST; i++) {
        char *equals = strchr(arguments[i], '=');

        if (equals == NULL)
            continue;
        *equals = '\0';
        given[options.override_count++] = (struct accel_named_value){arguments[i], equals + 1, "benchmark's arguments"};
    }
    stop_on(accel_context_create(NULL, &context, &error), &error);
    stop_on(accel_context_discover(context, &error), &error);
    stop_on(accel_model_open(arguments[1], NULL, &model, &error), &error);
    stop_on(accel_session_create(context, model, &options, &b.session, &error), &error);
    stop_on(accel_session_load(b.session, &error), &error);
    b.ids = malloc(b.prompt * sizeof(*b.ids));
    for (uint64_t i = 0; b.ids != NULL && i < b.prompt; i++)
        b.ids[i] = (int32_t)((i * 7919 + 13) % accel_model_facts_of(model)->vocabulary);
    measure(&b, rounds);
    free(b.ids);
    accel_session_free(b.session);
    accel_model_close(model);
    accel_context_free(context, NULL);
    return 0;
}
