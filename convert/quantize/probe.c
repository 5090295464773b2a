/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/quantize/probe.h"

#include <math.h>
#include <stdlib.h>

#include "model/file/fault.h"

enum { WINDOW = 128 };

#define STORED_FLOATS ((uint64_t)64 << 20)

struct reading {
    const struct quantize_text *text;
    uint64_t tokens;
    uint64_t window;
    uint64_t step;
    uint32_t vocabulary;
    bool is_reference;
    float *stored; /* [tokens, vocabulary] log-probabilities of the file's weights */
    uint64_t at;   /* the next token to get logits */
    double sum;    /* sum of divergences */
    uint64_t done; /* tokens of all runs */
    uint64_t all;
    struct accel_error *error;
};

static double log_sum_of(const float *logits, uint32_t count)
{
    double largest = (double)logits[0], sum = 0;

    for (uint32_t i = 1; i < count; i++)
        largest = (double)logits[i] > largest ? (double)logits[i] : largest;
    for (uint32_t i = 0; i < count; i++)
        sum += exp((double)logits[i] - largest);
    return largest + log(sum);
}

static int32_t compare_logits(void *data, uint64_t index, const float *logits)
{
    struct reading *r = data;
    float *stored = r->stored + (r->at + index) * r->vocabulary;
    double log_sum = log_sum_of(logits, r->vocabulary), divergence = 0;

    if (!isfinite(log_sum))
        return model_fault(r->error, ACCEL_E_CORRUPT, accel_model_file_path(accel_model_file_of(r->text->model)),
                           MODEL_NO_OFFSET,
                           "the logits after a token are not finite; a weight of the file is not, or too large");
    for (uint32_t i = 0; i < r->vocabulary; i++) {
        double own = (double)logits[i] - log_sum;

        if (r->is_reference)
            stored[i] = (float)own;
        else
            divergence += exp((double)stored[i]) * ((double)stored[i] - own);
    }
    r->sum += divergence > 0 ? divergence : 0;
    return ACCEL_OK;
}

static int32_t report_progress(struct reading *r, uint64_t tokens)
{
    r->done += tokens;
    if (r->text->progress == NULL || r->text->progress(r->text->progress_data, r->done, r->all) == 0)
        return ACCEL_OK;
    return accel_error_set(r->error, ACCEL_E_CANCELLED, "cancelled after %llu of %llu tokens",
                           (unsigned long long)r->done, (unsigned long long)r->all);
}

static int32_t read_text(struct reading *r, struct accel_session *session)
{
    int32_t code = ACCEL_OK;

    r->sum = 0;
    for (r->at = 0; r->at < r->tokens && code == ACCEL_OK;) {
        uint64_t left = r->tokens - r->at, window = r->window - r->at % r->window;
        uint64_t count = window < r->step ? window : r->step;

        count = left < count ? left : count;
        if (r->at % r->window == 0)
            code = accel_session_truncate(session, 0, r->error);
        if (code == ACCEL_OK)
            code = accel_session_score(session, r->text->ids + r->at, count, compare_logits, r, r->error);
        r->at += count;
        if (code == ACCEL_OK)
            code = report_progress(r, count);
    }
    return code;
}

static int32_t run(struct reading *r, const struct quantize_probe *probe)
{
    struct accel_session *session = NULL;
    const struct run_types types = {probe == NULL ? NULL : probe->rows, probe == NULL ? 0 : probe->count};
    int32_t code = quantize_session_create(r->text, r->window, r->step, 0, &types, &session, r->error);

    if (code == ACCEL_OK)
        code = accel_session_load(session, r->error);
    r->is_reference = probe == NULL;
    if (code == ACCEL_OK)
        code = read_text(r, session);
    accel_session_free(session);
    return code;
}

int32_t quantize_probe_run(const struct quantize_text *text, uint64_t tokens, struct quantize_probe *probes,
                           uint32_t count, struct accel_error *error)
{
    uint32_t vocabulary = accel_model_facts_of(text->model)->vocabulary;
    uint64_t most = STORED_FLOATS / vocabulary == 0 ? 1 : STORED_FLOATS / vocabulary;
    struct accel_error own = {0};
    struct reading r = {.text = text, .vocabulary = vocabulary, .error = error == NULL ? &own : error};
    int32_t code;

    r.tokens = tokens < text->id_count ? tokens : text->id_count;
    r.tokens = r.tokens < most ? r.tokens : most;
    r.window = text->chunk < WINDOW ? text->chunk : WINDOW;
    r.step = quantize_step_tokens(text, r.window);
    r.all = r.tokens * ((uint64_t)count + 1);
    r.stored = malloc((size_t)(r.tokens * vocabulary) * sizeof(*r.stored));
    if (r.stored == NULL)
        return accel_error_no_memory(error, "for the logits of %llu tokens", (unsigned long long)r.tokens);
    code = run(&r, NULL);
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++) {
        code = run(&r, &probes[i]);
        probes[i].divergence = r.sum / (double)r.tokens;
    }
    free(r.stored);
    return code;
}
