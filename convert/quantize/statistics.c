/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/quantize/statistics.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/quantize/dense.h"
#include "model/session/context.h"

enum { CHUNK_DEFAULT = 512, STEP_MOST = 128 };

#define LOGITS_MOST ((uint64_t)8 << 20) /* floats of logits per step */
#define MOMENTS_DEFAULT ((uint64_t)1 << 30)

/* Least power of an input column, as a share of the mean power. */
#define LEAST_POWER 1e-6

struct input {
    uint64_t width;
    double *sums;   /* [width] of squares, of the first run */
    float *power;   /* [width] */
    float *moments; /* [width, width], or NULL if not in memory */
};

struct weight {
    const char *name; /* of the file's tensor */
    uint32_t input;
    uint32_t zero;
};

struct quantize_statistics {
    struct quantize_text text;
    uint64_t step;   /* tokens */
    uint64_t tokens; /* of one run */
    uint32_t runs;
    uint32_t first; /* inputs whose moments are in memory: first .. end */
    uint32_t end;
    uint32_t input_count;
    uint32_t weight_count;
    struct input *inputs;
    struct weight *weights;
    struct dense_team team;
};

/* ---- inputs and weights ---- */

/* Adds a weight; its name lives as long as the file. */
static int32_t add_weight(struct quantize_statistics *s, const struct accel_session_input *seen,
                          struct accel_error *error)
{
    const struct accel_model_tensor *tensor = accel_model_file_find(accel_model_file_of(s->text.model), seen->weight);
    struct input *input = &s->inputs[seen->number];

    if (tensor == NULL)
        return accel_error_set(error, ACCEL_E_INTERNAL, "weight %s is no tensor of the file", seen->weight);
    s->weights[s->weight_count++] = (struct weight){.name = tensor->name, .input = seen->number};
    if (input->sums != NULL)
        return ACCEL_OK;
    input->width = seen->width;
    input->sums = calloc((size_t)seen->width, sizeof(*input->sums));
    input->power = calloc((size_t)seen->width, sizeof(*input->power));
    s->input_count = seen->number + 1;
    return input->sums == NULL || input->power == NULL ? accel_error_no_memory(error, "for statistics of inputs")
                                                       : ACCEL_OK;
}

/* Collects inputs and weights after the first step. */
static int32_t collect_inputs(struct quantize_statistics *s, struct accel_session *session, struct accel_error *error)
{
    uint32_t count = accel_session_input_count(session);
    int32_t code = ACCEL_OK;

    s->inputs = calloc((size_t)count + 1, sizeof(*s->inputs));
    s->weights = calloc((size_t)count + 1, sizeof(*s->weights));
    if (s->inputs == NULL || s->weights == NULL)
        return accel_error_no_memory(error, "for statistics of inputs");
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++) {
        struct accel_session_input seen = {.size = sizeof(seen)};

        code = accel_session_input(session, i, &seen, error);
        if (code == ACCEL_OK)
            code = add_weight(s, &seen, error);
    }
    return code;
}

static void drop_moments(struct quantize_statistics *s)
{
    for (uint32_t i = 0; i < s->input_count; i++) {
        free(s->inputs[i].moments);
        s->inputs[i].moments = NULL;
    }
    s->first = s->end = 0;
}

static uint64_t moments_bytes(const struct input *input)
{
    return input->width * input->width * sizeof(float);
}

/* Allocates the moments of one more input if the limit allows it. */
static bool allocate_input(struct quantize_statistics *s, uint32_t at, uint64_t *left)
{
    struct input *input = &s->inputs[at];

    if (moments_bytes(input) > *left)
        return false;
    input->moments = calloc(1, (size_t)moments_bytes(input));
    if (input->moments == NULL)
        return false;
    *left -= moments_bytes(input);
    return true;
}

/* Allocates moments for as many inputs from `first` on as the limit allows, at least one; if that reaches the last
 * input, also for earlier ones. */
static int32_t allocate_moments(struct quantize_statistics *s, uint32_t first, struct accel_error *error)
{
    uint64_t least = moments_bytes(&s->inputs[first]);
    uint64_t left = s->text.moments_bytes < least ? least : s->text.moments_bytes;

    drop_moments(s);
    s->first = s->end = first;
    while (s->end < s->input_count && allocate_input(s, s->end, &left))
        s->end++;
    if (s->end == first)
        return accel_error_no_memory(error, "for the products of %llu input values",
                                     (unsigned long long)s->inputs[first].width);
    while (s->end == s->input_count && s->first > 0 && allocate_input(s, s->first - 1, &left))
        s->first--;
    return ACCEL_OK;
}

/* ---- a run ---- */

static int32_t refuse_values(const char *weight, struct accel_error *error)
{
    accel_error_set(
        error, ACCEL_E_CORRUPT,
        "an activation that %.100s is multiplied with is not finite; a weight of the file is not, or too large",
        weight);
    return accel_error_origin(error, ACCEL_FROM_MODEL, ACCEL_E_CORRUPT);
}

static int32_t add_power(struct input *input, const struct accel_session_input *seen, struct accel_error *error)
{
    for (uint64_t row = 0; row < seen->rows; row++)
        for (uint64_t i = 0; i < seen->width; i++) {
            double value = (double)seen->values[row * seen->width + i];

            input->sums[i] += value * value;
        }
    for (uint64_t i = 0; i < seen->width; i++)
        if (!isfinite(input->sums[i]))
            return refuse_values(seen->weight, error);
    return ACCEL_OK;
}

/* Adds the inputs of a step to the sums. */
static int32_t add_step(struct quantize_statistics *s, struct accel_session *session, struct accel_error *error)
{
    uint32_t next = 0;
    int32_t code = ACCEL_OK;

    for (uint32_t i = 0; i < s->weight_count && code == ACCEL_OK; i++) {
        struct accel_session_input seen = {.size = sizeof(seen)};
        struct input *input = &s->inputs[s->weights[i].input];

        if (s->weights[i].input != next)
            continue;
        next++;
        if (s->runs > 0 && input->moments == NULL)
            continue;
        code = accel_session_input(session, i, &seen, error);
        if (code == ACCEL_OK && s->runs == 0)
            code = add_power(input, &seen, error);
        if (code == ACCEL_OK && input->moments != NULL)
            dense_add_outer(input->moments, seen.values, (size_t)seen.rows, (size_t)seen.width, &s->team);
    }
    return code;
}

static int32_t ignore(void *data, uint64_t index, const float *logits)
{
    (void)data;
    (void)index;
    (void)logits;
    return ACCEL_OK;
}

/* Runs the first step of the first run, which shows what inputs exist. */
static int32_t first_step(struct quantize_statistics *s, struct accel_session *session, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    if (s->inputs == NULL)
        code = collect_inputs(s, session, error);
    else
        return ACCEL_OK;
    if (code == ACCEL_OK && s->text.moments)
        code = allocate_moments(s, 0, error);
    return code;
}

static int32_t tell(const struct quantize_statistics *s, uint64_t done, struct accel_error *error)
{
    if (s->text.progress == NULL || s->text.progress(s->text.progress_data, done, s->tokens) == 0)
        return ACCEL_OK;
    return accel_error_set(error, ACCEL_E_CANCELLED, "cancelled after %llu of %llu tokens", (unsigned long long)done,
                           (unsigned long long)s->tokens);
}

static int32_t run_windows(struct quantize_statistics *s, struct accel_session *session, struct accel_error *error)
{
    int32_t code = ACCEL_OK;

    for (uint64_t at = 0; at < s->tokens && code == ACCEL_OK;) {
        uint64_t window = s->text.chunk - at % s->text.chunk, left = s->tokens - at;
        uint64_t count = window < s->step ? window : s->step;

        count = left < count ? left : count;
        if (at % s->text.chunk == 0)
            code = accel_session_truncate(session, 0, error);
        if (code == ACCEL_OK)
            code = accel_session_score(session, s->text.ids + at, count, ignore, NULL, error);
        if (code == ACCEL_OK)
            code = first_step(s, session, error);
        if (code == ACCEL_OK)
            code = add_step(s, session, error);
        at += count;
        if (code == ACCEL_OK)
            code = tell(s, at, error);
    }
    return code;
}

int32_t quantize_session_create(const struct quantize_text *text, uint64_t chunk, uint64_t step, uint32_t flags,
                                const struct run_types *types, struct accel_session **out_session,
                                struct accel_error *error)
{
    static const struct run_types none = {NULL, 0};
    char context[24], batch[24];
    const struct accel_named_value given[] = {{"kv.type.k", "f32", "calibration"},
                                              {"kv.type.v", "f32", "calibration"},
                                              {"compute.activations", "f32", "calibration"},
                                              {"context", context, "calibration"},
                                              {"batch", batch, "calibration"}};
    const struct accel_session_options options = {.size = sizeof(options),
                                                  .flags = flags,
                                                  .overrides = given,
                                                  .override_count = sizeof(given) / sizeof(*given),
                                                  .outputs = (uint32_t)step};

    snprintf(context, sizeof(context), "%llutok", (unsigned long long)chunk);
    snprintf(batch, sizeof(batch), "%llutok", (unsigned long long)step);
    /* Other settings that convert weights have no effect on a calibration. */
    return session_create(text->context, text->model, &options, types == NULL ? &none : types, out_session, error);
}

static void average(float *moments, uint64_t width, uint64_t tokens)
{
    for (uint64_t i = 0; i < width; i++)
        for (uint64_t j = 0; j <= i; j++)
            moments[i * width + j] = (float)((double)moments[i * width + j] / (double)tokens);
    dense_mirror(moments, (size_t)width);
}

/* Raises the power of inputs that the text never activated: groups whose errors cost nothing would get zero
 * scales, and another text may activate them. */
static void lift_power(struct input *input)
{
    double mean = 0;
    float least;

    for (uint64_t j = 0; j < input->width; j++)
        mean += (double)input->power[j] / (double)input->width;
    least = mean > 0 ? (float)(LEAST_POWER * mean) : 1;
    for (uint64_t j = 0; j < input->width; j++)
        input->power[j] = input->power[j] > least ? input->power[j] : least;
}

static int32_t run(struct quantize_statistics *s, struct accel_error *error)
{
    struct accel_session *session = NULL;
    int32_t code =
        quantize_session_create(&s->text, s->text.chunk, s->step, ACCEL_SESSION_INPUTS, NULL, &session, error);

    /* Freed at the end of the run, since other runs need its memory. */
    if (code == ACCEL_OK)
        code = accel_session_load(session, error);
    if (code == ACCEL_OK)
        code = run_windows(s, session, error);
    accel_session_free(session);
    if (code != ACCEL_OK)
        return code;
    for (uint32_t i = 0; i < s->input_count; i++) {
        struct input *input = &s->inputs[i];

        for (uint64_t j = 0; s->runs == 0 && j < input->width; j++)
            input->power[j] = (float)(input->sums[j] / (double)s->tokens);
        if (s->runs == 0)
            lift_power(input);
        if (input->moments != NULL)
            average(input->moments, input->width, s->tokens);
    }
    s->runs++;
    return ACCEL_OK;
}

/* ---- public functions ---- */

static int32_t check_ids(const struct quantize_text *text, struct accel_error *error)
{
    uint32_t vocabulary = accel_model_facts_of(text->model)->vocabulary;

    for (uint64_t i = 0; i < text->id_count; i++)
        if (text->ids[i] < 0 || (uint32_t)text->ids[i] >= vocabulary)
            return accel_error_set(error, ACCEL_E_INVALID,
                                   "calibration: token %llu is %d, outside of the vocabulary of %u",
                                   (unsigned long long)i, text->ids[i], vocabulary);
    return ACCEL_OK;
}

static int32_t refuse_short(const struct quantize_text *text, struct accel_error *error)
{
    accel_error_set(error, ACCEL_E_INVALID, "calibration: a text of %llu tokens, %u are the least",
                    (unsigned long long)(text->ids == NULL ? 0 : text->id_count), QUANTIZE_TOKENS_LEAST);
    return accel_error_advise(error, ACCEL_E_INVALID, "a text of a few thousand words, as the model will be used for");
}

int32_t quantize_text_check(const struct quantize_text *text, struct accel_error *error)
{
    uint64_t longest;

    if (text->context == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "calibration: no context with devices that run the model");
    if (text->model == NULL)
        return accel_error_set(error, ACCEL_E_INVALID, "calibration: no model that runs over its tokens");
    if (text->ids == NULL || text->id_count < QUANTIZE_TOKENS_LEAST)
        return refuse_short(text, error);
    longest = session_longest_context(text->model);
    if (text->chunk > longest || text->chunk == 1)
        return accel_error_set(error, ACCEL_E_INVALID, "calibration: windows of %llu tokens; %s takes from 2 to %llu",
                               (unsigned long long)text->chunk, accel_model_file_path(accel_model_file_of(text->model)),
                               (unsigned long long)longest);
    return check_ids(text, error);
}

uint64_t quantize_step_tokens(const struct quantize_text *text, uint64_t chunk)
{
    uint64_t step = LOGITS_MOST / accel_model_facts_of(text->model)->vocabulary;

    step = step == 0 ? 1 : step > STEP_MOST ? STEP_MOST : step;
    return step > chunk ? chunk : step;
}

/* Fills defaults. */
static void fill_defaults(struct quantize_statistics *s)
{
    struct quantize_text *text = &s->text;
    uint64_t longest = session_longest_context(text->model);

    if (text->chunk == 0)
        text->chunk = longest < CHUNK_DEFAULT ? longest : CHUNK_DEFAULT;
    if (text->moments_bytes == 0)
        text->moments_bytes = MOMENTS_DEFAULT;
    if (text->threads == 0)
        text->threads = 1;
    s->step = quantize_step_tokens(text, text->chunk);
    s->tokens = text->id_count - (text->id_count % text->chunk == 1);
}

int32_t quantize_statistics_create(const struct quantize_text *text, struct quantize_statistics **out_statistics,
                                   struct accel_error *error)
{
    struct quantize_statistics *s;
    int32_t code = quantize_text_check(text, error);

    *out_statistics = NULL;
    if (code != ACCEL_OK)
        return code;
    s = calloc(1, sizeof(*s));
    if (s == NULL)
        return accel_error_no_memory(error, "for statistics of inputs");
    s->text = *text;
    fill_defaults(s);
    code = dense_team_create(s->text.threads, &s->team, error);
    if (code == ACCEL_OK)
        code = run(s, error);
    if (code == ACCEL_OK)
        *out_statistics = s;
    else
        quantize_statistics_free(s);
    return code;
}

void quantize_statistics_free(struct quantize_statistics *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->input_count; i++) {
        free(s->inputs[i].sums);
        free(s->inputs[i].power);
        free(s->inputs[i].moments);
    }
    free(s->inputs);
    free(s->weights);
    dense_team_free(&s->team);
    free(s);
}

const struct quantize_text *quantize_statistics_text(const struct quantize_statistics *s)
{
    return &s->text;
}

uint64_t quantize_statistics_tokens(const struct quantize_statistics *s)
{
    return s->tokens;
}

uint32_t quantize_statistics_runs(const struct quantize_statistics *s)
{
    return s->runs;
}

uint32_t quantize_statistics_inputs(const struct quantize_statistics *s)
{
    return s->input_count;
}

uint32_t quantize_statistics_input(const struct quantize_statistics *s, const char *tensor)
{
    for (uint32_t i = 0; i < s->weight_count; i++)
        if (strcmp(s->weights[i].name, tensor) == 0)
            return s->weights[i].input;
    return QUANTIZE_NO_INPUT;
}

const float *quantize_statistics_power(const struct quantize_statistics *s, const char *tensor, uint64_t *out_width)
{
    uint32_t input = quantize_statistics_input(s, tensor);

    *out_width = input == QUANTIZE_NO_INPUT ? 0 : s->inputs[input].width;
    return input == QUANTIZE_NO_INPUT ? NULL : s->inputs[input].power;
}

int32_t quantize_statistics_moments(struct quantize_statistics *s, const char *tensor, const float **out_moments,
                                    uint32_t *out_input, struct accel_error *error)
{
    uint32_t input = quantize_statistics_input(s, tensor);
    int32_t code = ACCEL_OK;

    *out_moments = NULL;
    *out_input = input;
    if (input == QUANTIZE_NO_INPUT)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "nothing is multiplied with tensor %.100s", tensor);
    if (input < s->first || input >= s->end) {
        code = allocate_moments(s, input, error);
        if (code == ACCEL_OK)
            code = run(s, error);
        /* Incomplete sums are not returned. */
        if (code != ACCEL_OK)
            drop_moments(s);
    }
    *out_moments = code == ACCEL_OK ? s->inputs[input].moments : NULL;
    return code;
}
