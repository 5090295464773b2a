/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <accel/driver/sample.h>
#include <accel/model/sampler.h>

#include "model/file/fault.h"

#define MAX_VOCABULARY ((size_t)1 << 24)

void accel_sampling_init(struct accel_sampling *sampling)
{
    *sampling = (struct accel_sampling){.size = sizeof(*sampling), .top_p = 1, .repetition_penalty = 1};
}

size_t accel_sample_scratch(size_t vocabulary)
{
    return vocabulary;
}

static int32_t check(const struct accel_sampling *sampling, const float *logits, size_t vocabulary,
                     const struct accel_sample_candidate *scratch, struct accel_error *error)
{
    if (sampling == NULL || logits == NULL || scratch == NULL || vocabulary == 0 || vocabulary >= MAX_VOCABULARY)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_sample: an argument is NULL, or a vocabulary of %zu",
                               vocabulary);
    if (sampling->size < sizeof(*sampling) || sampling->zero != 0)
        return accel_error_set(error, ACCEL_E_INVALID, "struct accel_sampling of %u bytes", sampling->size);
    if (!(sampling->temperature >= 0) || !isfinite(sampling->temperature))
        return accel_error_set(error, ACCEL_E_INVALID, "temperature is %g; it must be 0 or more",
                               (double)sampling->temperature);
    if (!(sampling->top_p >= 0 && sampling->top_p <= 1))
        return accel_error_set(error, ACCEL_E_INVALID, "top_p is %g; it must be in 0 to 1", (double)sampling->top_p);
    if (!(sampling->min_p >= 0 && sampling->min_p <= 1))
        return accel_error_set(error, ACCEL_E_INVALID, "min_p is %g; it must be in 0 to 1", (double)sampling->min_p);
    if (!(sampling->repetition_penalty >= FLT_MIN) || !isfinite(sampling->repetition_penalty))
        return accel_error_set(error, ACCEL_E_INVALID, "repetition_penalty is %g; it must be above 0",
                               (double)sampling->repetition_penalty);
    return ACCEL_OK;
}

/* Sets the error of a row that has no token: names the first logit that no logit may be. */
static int32_t refuse_row(const float *logits, size_t vocabulary, struct accel_error *error)
{
    for (size_t i = 0; i < vocabulary; i++)
        if (!(logits[i] < INFINITY))
            return accel_error_set(error, ACCEL_E_INVALID, "logits[%zu] is %s", i,
                                   isnan(logits[i]) ? "not a number" : "infinite");
    return accel_error_set(error, ACCEL_E_INVALID, "every token is barred: all %zu logits are minus infinity",
                           vocabulary);
}

/* A row of the operator with the memory of its settings. */
struct sampled_row {
    struct accel_sample row;
    float settings[ACCEL_SAMPLE_SETTINGS];
    int32_t draw[ACCEL_SAMPLE_DRAW];
};

static void set_draw(int32_t *draw, uint64_t value)
{
    draw[0] = (int32_t)(uint32_t)value;
    draw[1] = (int32_t)(uint32_t)(value >> 32);
}

/* Fills the row of the operator that draws by `sampling`. */
static void describe_row(const struct accel_sampling *sampling, const float *logits, size_t vocabulary,
                         const int32_t *recent, size_t recent_count, struct sampled_row *out)
{
    size_t window = sampling->repetition_window;

    *out = (struct sampled_row){.row = {.logits = logits, .count = (uint32_t)vocabulary}};
    if (recent != NULL && window != 0 && recent_count > window) {
        recent += recent_count - window;
        recent_count = window;
    }
    out->settings[ACCEL_SAMPLE_TEMPERATURE] = sampling->temperature;
    out->settings[ACCEL_SAMPLE_TOP_P] = sampling->top_p;
    out->settings[ACCEL_SAMPLE_MIN_P] = sampling->min_p;
    out->settings[ACCEL_SAMPLE_PENALTY] = sampling->repetition_penalty;
    out->draw[ACCEL_SAMPLE_TOP_K] = sampling->top_k > vocabulary ? 0 : (int32_t)sampling->top_k;
    set_draw(&out->draw[ACCEL_SAMPLE_SEED], sampling->seed);
    out->row.settings = out->settings;
    out->row.draw = out->draw;
    out->row.recent = recent;
    out->row.recent_count = recent == NULL ? 0 : (uint32_t)recent_count;
}

static int compare(const void *one, const void *other)
{
    const struct accel_sample_candidate *a = one, *b = other;

    if (a->logit != b->logit)
        return a->logit > b->logit ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

int32_t accel_sample_candidates(const struct accel_sampling *sampling, const float *logits, size_t vocabulary,
                                const int32_t *recent, size_t recent_count, struct accel_sample_candidate *scratch,
                                size_t *out_count, uint64_t *out_total, struct accel_error *error)
{
    struct sampled_row sampled;
    uint32_t ties = 0;
    size_t count = 0;
    int32_t code;

    if (out_count == NULL || out_total == NULL || (recent == NULL && recent_count != 0))
        return model_refuse_null(__func__, error);
    code = check(sampling, logits, vocabulary, scratch, error);
    if (code != ACCEL_OK)
        return code;
    describe_row(sampling, logits, vocabulary, recent, recent_count, &sampled);
    if (!accel_sample_filter(&sampled.row))
        return refuse_row(logits, vocabulary, error);
    *out_total = 0;
    for (uint32_t i = 0; i < accel_sample_indices(&sampled.row); i++) {
        bool is_greedy = sampled.row.scale == 0;
        uint32_t key, id = accel_sample_at(&sampled.row, i, &key), bits = accel_sample_value(key);
        uint32_t weight = is_greedy ? (id == sampled.row.best ? ACCEL_SAMPLE_ONE : 0)
                                    : accel_sample_passing(&sampled.row, key, &ties);

        if (weight == 0 && (is_greedy || sampled.row.bound != 0 || sampled.row.least != 0))
            continue;
        scratch[count] = (struct accel_sample_candidate){.id = (int32_t)id, .weight = weight};
        memcpy(&scratch[count++].logit, &bits, sizeof(bits));
        *out_total += weight;
    }
    if (sampled.row.bound != 0 || sampled.row.least != 0)
        qsort(scratch, count, sizeof(*scratch), compare);
    *out_count = count;
    return ACCEL_OK;
}

int32_t accel_sample(const struct accel_sampling *sampling, const float *logits, size_t vocabulary,
                     const int32_t *recent, size_t recent_count, uint64_t sequence, uint64_t step,
                     struct accel_sample_candidate *scratch, int32_t *out_id, struct accel_error *error)
{
    struct sampled_row sampled;
    int32_t code;

    if (out_id == NULL || (recent == NULL && recent_count != 0))
        return model_refuse_null(__func__, error);
    code = check(sampling, logits, vocabulary, scratch, error);
    if (code != ACCEL_OK)
        return code;
    describe_row(sampling, logits, vocabulary, recent, recent_count, &sampled);
    set_draw(&sampled.draw[ACCEL_SAMPLE_SEQUENCE], sequence);
    set_draw(&sampled.draw[ACCEL_SAMPLE_STEP], step);
    *out_id = accel_sample_row(&sampled.row);
    return *out_id < 0 ? refuse_row(logits, vocabulary, error) : ACCEL_OK;
}
