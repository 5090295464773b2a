/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluates several sessions on a text. The reference session processes each chunk of a window first and its logits are
 * stored; then each session processes the chunk and its logits are compared.
 */
#include <math.h>
#include <stdlib.h>

#include <accel/model/eval.h>

#include "model/file/open_struct.h"
#include "model/session/state.h"

enum { PIECE_MOST = 64, CHUNK_DEFAULT = 512 };

#define STORED_FLOATS ((uint64_t)8 << 20)

/** Accumulates the sum and the sum of squares of a value over tokens. */
struct moments {
    double sum, squares;
};

/** One evaluated session and its results so far. */
struct seat {
    struct accel_session *session;
    struct moments loss, kl, change;
    uint64_t agreed;
    uint64_t predicted;
    double *divergences; /* [predicted], sorted at the end */
    struct accel_eval_result result;
};

struct accel_eval {
    uint32_t count;
    bool has_reference;
    uint64_t chunk, stride;
    struct seat *seats; /* [count + 1], the reference last */
};

/** Stored results of the reference for a token. */
struct reference_token {
    double log_sum; /* log of the sum of exp(logit) */
    double loss;
    uint32_t best;
};

struct reading {
    struct accel_eval *eval;
    struct accel_eval_options options;
    const int32_t *ids;
    uint64_t count;
    uint32_t vocabulary;
    uint64_t piece;
    int32_t *tokens;                /* [chunk] of a window */
    uint64_t done, all;             /* tokens of all sessions */
    float *logits;                  /* [piece][vocabulary] of the reference, or NULL */
    struct reference_token *stored; /* [piece] */
    struct seat *seat;              /* session of the current logits */
    const int32_t *after;           /* tokens predicted by the current chunk */
    struct accel_error *error;
};

/* ---- one token ---- */

/* Returns the log of the sum of exponentials, and the most likely token. */
static double log_sum_of(const float *logits, uint32_t count, uint32_t *out_best)
{
    double sum = 0, largest;
    uint32_t best = 0;

    for (uint32_t i = 1; i < count; i++)
        best = logits[i] > logits[best] ? i : best;
    largest = (double)logits[best];
    for (uint32_t i = 0; i < count; i++)
        sum += exp((double)logits[i] - largest);
    *out_best = best;
    return largest + log(sum);
}

static double divergence(const float *reference, double reference_sum, const float *logits, double log_sum,
                         uint32_t count)
{
    double sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        double p = (double)reference[i] - reference_sum;

        sum += exp(p) * (p - ((double)logits[i] - log_sum));
    }
    return sum > 0 ? sum : 0;
}

static void add(struct moments *moments, double value)
{
    moments->sum += value;
    moments->squares += value * value;
}

static int32_t compare_logits(void *data, uint64_t index, const float *logits)
{
    struct reading *reading = data;
    struct seat *seat = reading->seat;
    uint32_t vocabulary = reading->vocabulary;
    struct reference_token here;

    here.log_sum = log_sum_of(logits, vocabulary, &here.best);
    here.loss = here.log_sum - (double)logits[reading->after[index]];
    if (!isfinite(here.loss))
        return accel_session_report_nonfinite(seat->session, "logits", reading->error);
    add(&seat->loss, here.loss);
    if (seat == &reading->eval->seats[reading->eval->count]) {
        for (uint32_t i = 0; i < vocabulary && reading->logits != NULL; i++)
            reading->logits[index * vocabulary + i] = logits[i];
        reading->stored[index] = here;
    } else if (reading->eval->has_reference) {
        const struct reference_token *stored = &reading->stored[index];
        double kl = divergence(reading->logits + index * vocabulary, stored->log_sum, logits, here.log_sum, vocabulary);

        if (!isfinite(kl))
            return accel_error_origin(
                reading->error, ACCEL_FROM_MODEL,
                accel_error_set(reading->error, ACCEL_E_CORRUPT, "logits of two models are too far apart to compare"));
        add(&seat->kl, kl);
        add(&seat->change, here.loss - stored->loss);
        seat->agreed += here.best == stored->best;
        seat->divergences[seat->predicted] = kl;
    }
    seat->predicted++;
    return ACCEL_OK;
}

/* ---- windows ---- */

static int32_t advance(struct reading *reading, uint64_t tokens)
{
    reading->done += tokens;
    if (reading->options.progress == NULL ||
        reading->options.progress(reading->options.progress_data, reading->done, reading->all) == 0)
        return ACCEL_OK;
    return accel_error_set(reading->error, ACCEL_E_CANCELLED, "cancelled after %llu of %llu tokens",
                           (unsigned long long)reading->done, (unsigned long long)reading->all);
}

/* Feeds session `index` tokens, with logits if their successors are predicted. */
static int32_t go_on(struct reading *reading, uint32_t index, const int32_t *tokens, uint64_t count, uint32_t scored)
{
    const float *last;
    int32_t code;

    reading->seat = &reading->eval->seats[index];
    reading->after = tokens + 1;
    if (scored)
        code = accel_session_score(reading->seat->session, tokens, count, compare_logits, reading, reading->error);
    else
        code = accel_session_feed(reading->seat->session, tokens, count, &last, reading->error);
    return code == ACCEL_OK ? advance(reading, count) : code;
}

/* Feeds a chunk to the reference, then to all sessions. */
static int32_t go_together(struct reading *reading, const int32_t *tokens, uint64_t count, uint32_t scored)
{
    struct accel_eval *eval = reading->eval;
    int32_t code = eval->has_reference ? go_on(reading, eval->count, tokens, count, scored) : ACCEL_OK;

    for (uint32_t i = 0; i < eval->count && code == ACCEL_OK; i++)
        code = go_on(reading, i, tokens, count, scored);
    return code;
}

/* Evaluates tokens begin .. end of the text; those before `first` were predicted in an earlier window. */
static int32_t read_window(struct reading *reading, uint64_t begin, uint64_t end, uint64_t first)
{
    struct accel_eval *eval = reading->eval;
    uint64_t count = 0, silent, fed;
    int32_t code = ACCEL_OK;

    if (reading->options.bos >= 0)
        reading->tokens[count++] = (int32_t)reading->options.bos;
    silent = first - begin + count - 1;
    for (uint64_t i = begin; i < end; i++)
        reading->tokens[count++] = reading->ids[i];
    fed = count - 1;
    for (uint32_t i = 0; i < eval->count + eval->has_reference && code == ACCEL_OK; i++)
        code = accel_session_truncate(eval->seats[i].session, 0, reading->error);
    if (code == ACCEL_OK && silent > 0)
        code = go_together(reading, reading->tokens, silent, 0);
    for (uint64_t at = silent; at < fed && code == ACCEL_OK; at += reading->piece)
        code = go_together(reading, reading->tokens + at, fed - at < reading->piece ? fed - at : reading->piece, 1);
    return code;
}

/* Walks all windows; with `reading` NULL it only counts the tokens fed to a session and the predicted ones. */
static int32_t walk(struct reading *reading, uint32_t only_count, uint64_t *out_fed, uint64_t *out_predicted,
                    uint64_t *out_windows)
{
    uint64_t lead = reading->options.bos >= 0, length = reading->eval->chunk - lead;
    uint64_t stride = reading->eval->stride, before = 0;
    int32_t code = ACCEL_OK;

    *out_fed = *out_predicted = *out_windows = 0;
    for (uint64_t begin = 0; before < reading->count && code == ACCEL_OK; begin += stride) {
        uint64_t end = reading->count - begin < length ? reading->count : begin + length;
        uint64_t first = before > begin + !lead ? before : begin + !lead;

        if (first < end) {
            *out_fed += end - begin + lead - 1;
            *out_predicted += end - first;
            ++*out_windows;
            if (!only_count)
                code = read_window(reading, begin, end, first);
        }
        before = end;
    }
    return code;
}

/* ---- results ---- */

static double error_of(const struct moments *moments, uint64_t count)
{
    double mean = moments->sum / (double)count, variance = moments->squares / (double)count - mean * mean;

    return count < 2 || variance <= 0 ? 0 : sqrt(variance / (double)(count - 1));
}

static int compare(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;

    return one < other ? -1 : one > other;
}

static double quantile(const double *sorted, uint64_t count, double part)
{
    double place = ceil(part * (double)count);

    if (count == 0)
        return 0;
    if (!(place >= 1))
        return sorted[0];
    return sorted[place >= (double)count ? count - 1 : (uint64_t)place - 1];
}

static void finish(struct seat *seat, uint64_t windows, uint32_t compared)
{
    struct accel_eval_result *result = &seat->result;
    double count = (double)seat->predicted;

    *result = (struct accel_eval_result){.size = sizeof(*result), .predicted = seat->predicted, .windows = windows};
    result->loss = seat->loss.sum / count;
    result->loss_error = error_of(&seat->loss, seat->predicted);
    result->perplexity = exp(result->loss);
    result->perplexity_error = result->perplexity * result->loss_error;
    if (!compared)
        return;
    qsort(seat->divergences, (size_t)seat->predicted, sizeof(*seat->divergences), compare);
    result->kl = seat->kl.sum / count;
    result->kl_error = error_of(&seat->kl, seat->predicted);
    result->kl_median = quantile(seat->divergences, seat->predicted, 0.5);
    result->kl_99 = quantile(seat->divergences, seat->predicted, 0.99);
    result->kl_most = seat->divergences[seat->predicted - 1];
    result->top1 = (double)seat->agreed / count;
    result->top1_error = seat->predicted < 2 ? 0 : sqrt(result->top1 * (1 - result->top1) / (count - 1));
    result->loss_change = seat->change.sum / count;
    result->loss_change_error = error_of(&seat->change, seat->predicted);
}

/* ---- begin and end ---- */

static int32_t check_sessions(const struct reading *reading)
{
    const struct accel_eval *eval = reading->eval;

    for (uint32_t i = 0; i < eval->count + eval->has_reference; i++) {
        const struct accel_session *session = eval->seats[i].session;

        if (session == NULL)
            return accel_error_set(reading->error, ACCEL_E_INVALID, "accel_eval_text: session %u is NULL", i);
        if (session->model->facts.vocabulary != reading->vocabulary)
            return accel_error_set(reading->error, ACCEL_E_INVALID,
                                   "%s has %u tokens in its vocabulary, and another model %u: they are no versions of "
                                   "one model",
                                   accel_model_file_path(accel_model_file_of(session->model)),
                                   session->model->facts.vocabulary, reading->vocabulary);
    }
    return ACCEL_OK;
}

static int32_t set_windows(struct reading *reading)
{
    struct accel_eval *eval = reading->eval;
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < eval->count + eval->has_reference; i++) {
        uint64_t context = accel_session_context(eval->seats[i].session);

        least = context < least ? context : least;
    }
    eval->chunk = reading->options.chunk != 0 ? reading->options.chunk : least < CHUNK_DEFAULT ? least : CHUNK_DEFAULT;
    eval->stride = reading->options.stride != 0 ? reading->options.stride : eval->chunk;
    if (eval->chunk < 2 || eval->chunk > least || eval->stride > eval->chunk) {
        accel_error_set(reading->error, ACCEL_E_INVALID,
                        "windows of %llu tokens, %llu apart: 2 to %llu tokens can be had, and no gaps",
                        (unsigned long long)eval->chunk, (unsigned long long)eval->stride, (unsigned long long)least);
        return accel_error_advise(reading->error, ACCEL_E_INVALID,
                                  "windows (--chunk) of at most %llu tokens, and a stride (--stride) of at most a "
                                  "window",
                                  (unsigned long long)least);
    }
    /* The token before each window replaces one of the text. */
    if (reading->options.bos >= 0 && eval->stride == eval->chunk)
        eval->stride--;
    reading->piece = STORED_FLOATS / reading->vocabulary;
    reading->piece = reading->piece < 1 ? 1 : reading->piece > PIECE_MOST ? PIECE_MOST : reading->piece;
    return ACCEL_OK;
}

static int32_t allocate_buffers(struct reading *reading, uint64_t predicted)
{
    struct accel_eval *eval = reading->eval;
    bool compares = eval->has_reference && eval->count > 0;
    bool short_of = false;

    reading->tokens = calloc((size_t)eval->chunk + 1, sizeof(*reading->tokens));
    reading->stored = calloc((size_t)reading->piece, sizeof(*reading->stored));
    if (compares)
        reading->logits = calloc((size_t)(reading->piece * reading->vocabulary), sizeof(*reading->logits));
    for (uint32_t i = 0; compares && i < eval->count; i++) {
        eval->seats[i].divergences = calloc((size_t)predicted, sizeof(double));
        short_of |= eval->seats[i].divergences == NULL;
    }
    if (short_of || reading->tokens == NULL || reading->stored == NULL || (compares && reading->logits == NULL))
        return accel_error_no_memory(reading->error, "to compare %llu tokens", (unsigned long long)predicted);
    return ACCEL_OK;
}

static int32_t read_text(struct reading *reading)
{
    struct accel_eval *eval = reading->eval;
    uint32_t seats = eval->count + eval->has_reference;
    uint64_t predicted, windows;
    int32_t code = check_sessions(reading);

    if (code == ACCEL_OK)
        code = set_windows(reading);
    if (code != ACCEL_OK)
        return code;
    walk(reading, 1, &reading->all, &predicted, &windows);
    reading->all *= seats;
    if (predicted == 0)
        return accel_error_set(reading->error, ACCEL_E_INVALID, "a text of %llu tokens: nothing can be predicted",
                               (unsigned long long)reading->count);
    code = allocate_buffers(reading, predicted);
    if (code == ACCEL_OK)
        code = walk(reading, 0, &(uint64_t){0}, &(uint64_t){0}, &windows);
    for (uint32_t i = 0; i < seats && code == ACCEL_OK; i++)
        finish(&eval->seats[i], windows, eval->has_reference && i < eval->count);
    for (uint32_t i = 0; i < seats; i++)
        accel_session_truncate(eval->seats[i].session, 0, NULL);
    return code;
}

int32_t accel_eval_text(struct accel_session *reference, struct accel_session *const *sessions, uint32_t count,
                        const int32_t *ids, uint64_t id_count, const struct accel_eval_options *options,
                        struct accel_eval **out_eval, struct accel_error *error) ACCEL_NOEXCEPT
{
    struct reading reading = {.ids = ids, .count = id_count, .error = error};
    int32_t code = ACCEL_OK;

    reading.options.bos = -1;
    if (out_eval == NULL || ids == NULL || (sessions == NULL && count != 0) || (reference == NULL && count == 0) ||
        count > INT32_MAX || (count > 0 && sessions[0] == NULL))
        return accel_error_set(error, ACCEL_E_INVALID, "accel_eval_text: no session, no tokens or no place");
    *out_eval = NULL;
    if (options != NULL)
        code = open_struct_import(options, ACCEL_END_OF(struct accel_eval_options, progress_data),
                                  sizeof(reading.options), "accel_eval_options", &reading.options, error);
    if (code != ACCEL_OK)
        return code;
    reading.eval = calloc(1, sizeof(*reading.eval));
    if (reading.eval != NULL)
        reading.eval->seats = calloc((size_t)count + 1, sizeof(*reading.eval->seats));
    if (reading.eval == NULL || reading.eval->seats == NULL) {
        accel_eval_free(reading.eval);
        return accel_error_no_memory(error, "for %u sessions", count);
    }
    reading.eval->count = count;
    reading.eval->has_reference = reference != NULL;
    for (uint32_t i = 0; i < count; i++)
        reading.eval->seats[i].session = sessions[i];
    reading.eval->seats[count].session = reference;
    reading.vocabulary = (count > 0 ? sessions[0] : reference)->model->facts.vocabulary;
    code = read_text(&reading);
    if (code == ACCEL_OK)
        *out_eval = reading.eval;
    else
        accel_eval_free(reading.eval);
    free(reading.tokens);
    free(reading.logits);
    free(reading.stored);
    return code;
}

void accel_eval_free(struct accel_eval *eval) ACCEL_NOEXCEPT
{
    for (uint32_t i = 0; eval != NULL && eval->seats != NULL && i < eval->count; i++)
        free(eval->seats[i].divergences);
    if (eval != NULL)
        free(eval->seats);
    free(eval);
}

const struct accel_eval_result *accel_eval_get(const struct accel_eval *eval, uint32_t index) ACCEL_NOEXCEPT
{
    return eval == NULL || index >= eval->count + eval->has_reference ? NULL : &eval->seats[index].result;
}

double accel_eval_quantile(const struct accel_eval *eval, uint32_t index, double part) ACCEL_NOEXCEPT
{
    if (eval == NULL || index >= eval->count || !eval->has_reference)
        return 0;
    return quantile(eval->seats[index].divergences, eval->seats[index].predicted, part);
}

uint64_t accel_eval_chunk(const struct accel_eval *eval) ACCEL_NOEXCEPT
{
    return eval == NULL ? 0 : eval->chunk;
}

uint64_t accel_eval_stride(const struct accel_eval *eval) ACCEL_NOEXCEPT
{
    return eval == NULL ? 0 : eval->stride;
}
