/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling options and limits of generation: shared by the commands that generate text. */
#ifndef ACCELCTL_SAMPLING_H
#define ACCELCTL_SAMPLING_H

#include <jansson.h>

#include <accel/model/sampler.h>

#include "tools/accelctl/command.h"

struct sampling_choice {
    uint64_t tokens; /* 0 and UINT64_MAX: until the text ends or the context is full */
    uint32_t greedy;
    uint32_t past_end;
    uint64_t top_k;
    struct seed_choice seed;
    uint64_t window; /* of the penalty; UINT64_MAX: the whole text */
    double temperature;
    double top_p;
    double min_p;
    double penalty;
    struct text_list stops;
};

/* Initial value without any option: fill_sampling sets the defaults later, so that options that contradict
 * --greedy can be refused. */
#define SAMPLING_UNSET                                                                                                 \
    {                                                                                                                  \
        .temperature = -1, .top_k = UINT64_MAX, .window = 64, .top_p = -1, .min_p = -1, .penalty = 1.0                 \
    }

/* Rows of options over a `struct sampling_choice`, the member `member` of the command's struct. */
#define SAMPLING_OPTIONS(type, member)                                                                                 \
    {"tokens",                                                                                                         \
     'n',                                                                                                              \
     OPTION_LIMIT,                                                                                                     \
     offsetof(type, member.tokens),                                                                                    \
     "N",                                                                                                              \
     "maximum tokens to generate; default: -1, until the text ends or the context is full",                            \
     1,                                                                                                                \
     1e15},                                                                                                            \
        {"greedy",    'g',                                                                                             \
         OPTION_FLAG, offsetof(type, member.greedy),                                                                   \
         NULL,        "always choose the most likely token: --temperature 0",                                          \
         0,           0},                                                                                              \
        {"temperature",                                                                                                \
         0,                                                                                                            \
         OPTION_REAL,                                                                                                  \
         offsetof(type, member.temperature),                                                                           \
         "X",                                                                                                          \
         "divide the logits by X, 0 and below is greedy; default: 0.8",                                                \
         0,                                                                                                            \
         1000},                                                                                                        \
        {"top-k",                                                                                                      \
         0,                                                                                                            \
         OPTION_NUMBER,                                                                                                \
         offsetof(type, member.top_k),                                                                                 \
         "N",                                                                                                          \
         "sample from the N most likely tokens, 0 and below: all; default: 40",                                        \
         0,                                                                                                            \
         4294967295.0},                                                                                                \
        {"top-p",     0,                                                                                               \
         OPTION_REAL, offsetof(type, member.top_p),                                                                    \
         "X",         "sample from the smallest set of tokens whose probabilities sum to X; default: 0.95",            \
         0,           1},                                                                                              \
        {"min-p",     0,                                                                                               \
         OPTION_REAL, offsetof(type, member.min_p),                                                                    \
         "X",         "drop tokens less likely than X times the most likely one; default: 0",                          \
         0,           1},                                                                                              \
        {"repetition-penalty",                                                                                         \
         0,                                                                                                            \
         OPTION_REAL,                                                                                                  \
         offsetof(type, member.penalty),                                                                               \
         "X",                                                                                                          \
         "penalty of recent tokens, 1: none; default: 1",                                                              \
         0.01,                                                                                                         \
         100},                                                                                                         \
        {"repeat-last-n",                                                                                              \
         0,                                                                                                            \
         OPTION_LIMIT,                                                                                                 \
         offsetof(type, member.window),                                                                                \
         "N",                                                                                                          \
         "number of recent tokens that are penalized, -1: all; default: 64",                                           \
         0,                                                                                                            \
         4294967295.0},                                                                                                \
        {"seed",                                                                                                       \
         's',                                                                                                          \
         OPTION_SEED,                                                                                                  \
         offsetof(type, member.seed),                                                                                  \
         "N",                                                                                                          \
         "seed of the sampling; default: 0, so that a command repeats its text; -1 draws a seed and prints it",        \
         0,                                                                                                            \
         0},                                                                                                           \
        {"stop",      0,                                                                                               \
         OPTION_LIST, offsetof(type, member.stops),                                                                    \
         "TEXT",      "end the text before TEXT, which is not printed; may be repeated",                               \
         0,           0},                                                                                              \
    {                                                                                                                  \
        "ignore-end", 0, OPTION_FLAG, offsetof(type, member.past_end), NULL, "continue past the end-of-text token", 0, \
            0                                                                                                          \
    }

/* Sets the defaults of options that were not given, and all other fields. */
void fill_sampling(const struct sampling_choice *chosen, struct accel_sampling *sampling);

/* Describes a contradiction among the options, as "run: --greedy ..." without the command; NULL if there is none. */
const char *sampling_contradiction(const struct sampling_choice *chosen);

/* Draws a seed if --seed is -1. `prints` 1: prints it on the error output. */
void draw_seed(struct sampling_choice *chosen, uint32_t prints);

/* Returns the seed with which --seed repeats text `index` of a run by itself; null for greedy decoding. */
json_t *seed_json(const struct accel_sampling *sampling, uint64_t index);

/* Returns the member "sampling" of documents: the seed of the first text and where it is from. */
json_t *sampling_json(const struct sampling_choice *chosen);

/* Names the reason for the end of a text, ACCEL_STOP_...: "length". */
const char *stop_name(uint32_t stop);

#endif
