/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/run/sampling.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

#include "tools/accelctl/output.h"

void fill_sampling(const struct sampling_choice *chosen, struct accel_sampling *sampling)
{
    accel_sampling_init(sampling);
    sampling->seed = chosen->seed.value;
    /* A window of 0 tokens disables the penalty, as in llama.cpp; for the library 0 is the whole text. */
    sampling->repetition_penalty = chosen->window == 0 ? 1.0f : (float)chosen->penalty;
    sampling->repetition_window = chosen->window == UINT64_MAX ? 0 : (uint32_t)chosen->window;
    if (chosen->greedy)
        return;
    sampling->temperature = chosen->temperature < 0 ? 0.8f : (float)chosen->temperature;
    sampling->top_k = chosen->top_k == UINT64_MAX ? 40 : (uint32_t)chosen->top_k;
    sampling->top_p = chosen->top_p < 0 ? 0.95f : (float)chosen->top_p;
    sampling->min_p = chosen->min_p < 0 ? 0.0f : (float)chosen->min_p;
}

const char *sampling_contradiction(const struct sampling_choice *chosen)
{
    if (chosen->greedy &&
        (chosen->temperature > 0 || chosen->top_k != UINT64_MAX || chosen->top_p >= 0 || chosen->min_p >= 0))
        return "--greedy draws nothing: leave it out, or --temperature, --top-k, --top-p and --min-p";
    for (uint32_t i = 0; i < chosen->stops.count; i++)
        if (chosen->stops.items[i][0] == '\0')
            return "--stop requires a text that is not empty";
    return NULL;
}

void draw_seed(struct sampling_choice *chosen, uint32_t prints)
{
    uint32_t drawn = 0;

    struct accel_sampling sampling;

    if (chosen->seed.origin != SEED_DRAW)
        return;
    if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) != (ssize_t)sizeof(drawn))
        drawn = (uint32_t)time(NULL);
    chosen->seed = (struct seed_choice){drawn, SEED_DRAWN};
    fill_sampling(chosen, &sampling);
    if (prints && sampling.temperature != 0)
        fprintf(error_output(), "seed       %" PRIu32 "\n", drawn);
}

json_t *seed_json(const struct accel_sampling *sampling, uint64_t index)
{
    const uint64_t seed = sampling->seed + index;

    if (sampling->temperature == 0)
        return json_null();
    /* jansson's integers are signed, so a seed beyond INT64_MAX is a text. */
    return seed <= INT64_MAX ? json_integer((json_int_t)seed) : json_sprintf("%" PRIu64, seed);
}

json_t *sampling_json(const struct sampling_choice *chosen)
{
    static const char *const origins[] = {[SEED_DEFAULT] = "default", [SEED_GIVEN] = "given", [SEED_DRAWN] = "drawn"};
    struct accel_sampling sampling;

    fill_sampling(chosen, &sampling);
    return json_pack("{s:o, s:s}", "seed", seed_json(&sampling, 0), "origin", origins[chosen->seed.origin]);
}

const char *stop_name(uint32_t stop)
{
    static const char *const names[] = {"failure", "length", "end of text", "context full", "caller", "stop text"};

    return stop < sizeof(names) / sizeof(*names) ? names[stop] : "?";
}
