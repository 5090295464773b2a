/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests a whole model: a decoder of two layers with random weights runs prefill and decode on two sets of one
 * module that share a KV state. The reference recomputes all tokens at each step.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sdk/conform/decoder.h"
#include "sdk/conform/list.h"

#define TOLERANCE 2e-3         /* of logits, relative to the largest: about forty F32 nodes */
#define ROUNDED_TOLERANCE 0.15 /* with activations of 8 bits in every matmul; other weights give other logits */

/* The decoder with its device objects. */
struct session {
    struct conform *conform;
    struct decoder *decoder;
    struct accel_module *module;
    struct accel_weights *weights;
    struct step io; /* its queue, and whether steps move bytes */
    struct accel_buffer *buffers[DECODER_INPUTS], *logits;
    struct accel_state *state;
    struct accel_set *one, *many;
    int32_t ids[DECODER_SLOTS];
    uint32_t length; /* tokens in the cache */
    uint32_t base;   /* page of the first token */
    float got[DECODER_TOKENS * DECODER_VOCABULARY];
};

/* ---- construction ---- */

static bool compile(struct session *s, uint32_t flags)
{
    const uint64_t buckets[] = {DECODER_TOKENS, DECODER_TOKENS, 1, 1};
    const uint32_t counts = 2;
    struct accel_compile_options options = {
        .size = sizeof(options), .flags = flags, .buckets = buckets, .bucket_counts = &counts, .threads = 2};
    struct conform *conform = s->conform;
    int32_t code = accel_module_create(conform->device, &s->decoder->graph, 1, &options, &s->decoder->source.table,
                                       NULL, &s->module, &conform->error);

    if (code == ACCEL_E_REFUSED || (flags != 0 && code == ACCEL_E_UNSUPPORTED)) {
        conform_unclaimed(conform, conform->error.text);
        accel_error_clear(&conform->error);
        return false;
    }
    return conform_ok(conform, code, "compile") &&
           conform_ok(conform,
                      accel_weights_create(s->module, &s->decoder->source.table, NULL, &s->weights, &conform->error),
                      "load weights");
}

static bool make_set(struct session *s, uint64_t tokens, struct accel_set **out_set)
{
    struct conform *conform = s->conform;
    struct accel_bind binds[DECODER_INPUTS + 1 + 2 * DECODER_LAYERS];
    const uint64_t symbols[] = {tokens, tokens};
    uint32_t count = 0;

    for (uint32_t i = 0; i < DECODER_INPUTS; i++)
        binds[count++] = (struct accel_bind){.value = s->decoder->inputs[i], .buffer = s->buffers[i]};
    binds[count++] = (struct accel_bind){.value = s->decoder->logits, .buffer = s->logits};
    for (uint32_t p = 0; p < 2 * DECODER_LAYERS; p++)
        binds[count++] = (struct accel_bind){.value = s->decoder->parts[p], .part = p, .state = s->state};
    return conform_ok(
        conform,
        accel_set_create(s->module, 0, s->io.queue, symbols, binds, count, s->weights, out_set, &conform->error),
        "bind a set");
}

static bool make(struct session *s, struct conform *conform, struct decoder *decoder, uint32_t flags)
{
    struct accel_queue_options queue = {.size = sizeof(queue), .threads = 1 + conform_below(conform, 2)};
    struct accel_state_part parts[2 * DECODER_LAYERS];
    bool is_good;

    memset(s, 0, sizeof(*s));
    s->conform = conform;
    s->decoder = decoder;
    s->io.inline_bytes = conform->facts->limits->inline_bytes;
    s->io.uses_steps = conform_below(conform, 2) == 0;
    for (uint32_t p = 0; p < 2 * DECODER_LAYERS; p++)
        parts[p] = (struct accel_state_part){.type = ACCEL_F32, .row = DECODER_KV_HEADS * DECODER_HEAD_SIZE};
    if (!compile(s, flags))
        return false;
    is_good = conform_ok(conform, accel_queue_create(conform->device, &queue, &s->io.queue, &conform->error),
                         "make a queue") &&
              conform_ok(conform,
                         accel_state_create(conform->device, parts, 2 * DECODER_LAYERS, DECODER_SLOTS, &s->state,
                                            &conform->error),
                         "make a state") &&
              conform_ok(conform, accel_buffer_create(conform->device, sizeof(s->got), 0, &s->logits, &conform->error),
                         "make a buffer");
    for (uint32_t i = 0; i < DECODER_INPUTS && is_good; i++)
        is_good = conform_ok(
            conform, accel_buffer_create(conform->device, 4 * DECODER_SLOTS, 0, &s->buffers[i], &conform->error),
            "make a buffer");
    return is_good && make_set(s, DECODER_TOKENS, &s->many) && make_set(s, 1, &s->one);
}

static void end(struct session *s)
{
    accel_set_free(s->one);
    accel_set_free(s->many);
    accel_queue_free(s->io.queue);
    accel_state_free(s->state);
    accel_buffer_free(s->logits);
    for (uint32_t i = 0; i < DECODER_INPUTS; i++)
        accel_buffer_free(s->buffers[i]);
    accel_weights_free(s->weights);
    accel_module_free(s->module);
}

/* ---- steps ---- */

static bool put(struct session *s, enum decoder_input input, const int32_t *values, uint32_t count)
{
    return conform_ok(s->conform,
                      step_put(&s->io, s->buffers[input], 0, values, count * sizeof(*values), &s->conform->error),
                      "write an input");
}

/* Feeds `tokens` new tokens and computes the logits of the last `outputs`. */
static bool feed(struct session *s, uint32_t tokens, uint32_t outputs)
{
    int32_t position[DECODER_TOKENS], slot[DECODER_TOKENS], rows[DECODER_TOKENS];
    const uint64_t symbols[] = {tokens, outputs};
    int32_t first[2] = {0, (int32_t)tokens}, length = (int32_t)(s->length + tokens), table[DECODER_PAGES];
    struct conform *conform = s->conform;

    for (uint32_t t = 0; t < tokens; t++) {
        s->ids[s->length + t] = (int32_t)conform_below(conform, DECODER_VOCABULARY);
        position[t] = (int32_t)(s->length + t);
        slot[t] = (int32_t)(s->base * DECODER_PAGE_TOKENS + s->length + t);
    }
    for (uint32_t r = 0; r < outputs; r++)
        rows[r] = (int32_t)(tokens - outputs + r);
    for (uint32_t p = 0; p < DECODER_PAGES; p++)
        table[p] = (int32_t)(s->base + p);
    if (!put(s, DECODER_IDS, s->ids + s->length, tokens) || !put(s, DECODER_POSITION, position, tokens) ||
        !put(s, DECODER_SLOT, slot, tokens) || !put(s, DECODER_ROWS, rows, outputs) ||
        !put(s, DECODER_PAGE_TABLE, table, DECODER_PAGES) || !put(s, DECODER_FIRST, first, 2) ||
        !put(s, DECODER_LENGTH, &length, 1))
        return false;
    s->length += tokens;
    return conform_ok(conform, accel_set_run(tokens == 1 ? s->one : s->many, symbols, &conform->error), "run") &&
           conform_ok(
               conform,
               step_get(&s->io, s->logits, 0, s->got, outputs * DECODER_VOCABULARY * sizeof(float), &conform->error),
               "read logits");
}

static void compare(struct session *s, uint32_t outputs)
{
    double want[DECODER_SLOTS * DECODER_VOCABULARY];
    const double tolerance = s->decoder->rounding == ACCEL_F32 ? TOLERANCE : ROUNDED_TOLERANCE;
    uint32_t skipped = (s->length - outputs) * DECODER_VOCABULARY;
    double largest = 0;

    decoder_reference(s->decoder, s->ids, s->length, want);
    for (uint32_t i = 0; i < outputs * DECODER_VOCABULARY; i++)
        largest = fabs(want[skipped + i]) > largest ? fabs(want[skipped + i]) : largest;
    for (uint32_t i = 0; i < outputs * DECODER_VOCABULARY; i++)
        if (!(fabs(s->got[i] - want[skipped + i]) <= tolerance * largest)) {
            conform_fail(s->conform,
                         "logit %u of row %u is %.6g and should be %.6g; it may be %.3g off, %g of the largest (%.3g)",
                         i % DECODER_VOCABULARY, i / DECODER_VOCABULARY, (double)s->got[i], want[skipped + i],
                         tolerance * largest, tolerance, largest);
            return;
        }
}

static bool change(struct session *s, const struct accel_state_change *change)
{
    struct accel_step step = {
        .size = sizeof(step), .kind = ACCEL_STEP_STATE, .state = s->state, .changes = change, .change_count = 1};
    const struct accel_step *list = &step;
    struct conform *conform = s->conform;
    uint64_t value = 0;

    return conform_ok(conform, accel_queue_submit(s->io.queue, &list, 1, NULL, 0, &value, &conform->error),
                      "change a state") &&
           conform_ok(conform, accel_queue_wait(s->io.queue, value, UINT64_MAX, &conform->error), "change a state");
}

/* Runs a prefill and several decode steps, whose lengths change from one to the next. */
static void go(struct session *s)
{
    static const uint32_t steps[][2] = {{5, 2}, {1, 1}, {1, 1}, {3, 3}, {1, 1}, {DECODER_TOKENS, 1}, {2, 1}};

    for (uint32_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        conform_case(s->conform, "step %u: %u tokens, %u rows of logits", i, steps[i][0], steps[i][1]);
        if (!feed(s, steps[i][0], steps[i][1]))
            return;
        compare(s, steps[i][1]);
    }
}

static void run_types(struct conform *conform)
{
    struct decoder decoder;
    struct session session = {0};

    conform_case(conform, "compile");
    if (!decoder_make(&decoder, conform, conform->parameter, ACCEL_F32))
        return;
    if (make(&session, conform, &decoder, 0))
        go(&session);
    end(&session);
    decoder_free(&decoder);
}

/* Feeds both sessions one token, which attends to a page of slots that hold no token, and compares the logits. */
static void compare_unwritten(struct session *used, struct session *fresh, uint32_t base)
{
    struct session *both[2] = {used, fresh};
    struct conform *conform = used->conform;
    const struct conform_random numbers = conform->random;
    double largest = 0;

    for (uint32_t i = 0; i < 2; i++) {
        both[i]->base = base;
        both[i]->length = DECODER_PAGE_TOKENS;
        conform->random = numbers;
        if (!feed(both[i], 1, 1))
            return;
    }
    for (uint32_t i = 0; i < DECODER_VOCABULARY; i++)
        largest = fmax(largest, fabs((double)fresh->got[i]));
    for (uint32_t i = 0; i < DECODER_VOCABULARY; i++)
        if (!(fabs((double)used->got[i] - (double)fresh->got[i]) <= TOLERANCE * largest)) {
            conform_fail(conform, "logit %u is %.6g, and with a new state %.6g", i, (double)used->got[i],
                         (double)fresh->got[i]);
            return;
        }
}

/* Tests that slots of a state that was emptied are those of a new one: zero, whatever tokens they had. */
static void compare_reset(struct session *used, struct decoder *decoder)
{
    const struct accel_state_change empty = {.kind = ACCEL_STATE_RESET};
    struct session fresh = {0};

    conform_case(used->conform, "slots of a state that was emptied, and of a new one");
    if (make(&fresh, used->conform, decoder, 0) && change(used, &empty)) {
        compare_unwritten(used, &fresh, 0);
        compare_unwritten(used, &fresh, DECODER_PAGES);
    }
    end(&fresh);
}

/* Tests changes of the state: slots are copied, copied to ranges that overlap them on either side, and reset. */
static void run_states(struct conform *conform)
{
    const struct accel_state_change empty = {.kind = ACCEL_STATE_RESET};
    const struct accel_state_change move = {.kind = ACCEL_STATE_COPY,
                                            .to = DECODER_PAGES * DECODER_PAGE_TOKENS,
                                            .count = DECODER_PAGES * DECODER_PAGE_TOKENS};
    const struct accel_state_change overlap = {.kind = ACCEL_STATE_COPY,
                                               .from = DECODER_PAGES * DECODER_PAGE_TOKENS,
                                               .to = (DECODER_PAGES - 1) * DECODER_PAGE_TOKENS,
                                               .count = DECODER_PAGES * DECODER_PAGE_TOKENS};
    const struct accel_state_change back = {.kind = ACCEL_STATE_COPY,
                                            .from = (DECODER_PAGES - 1) * DECODER_PAGE_TOKENS,
                                            .to = DECODER_PAGES * DECODER_PAGE_TOKENS,
                                            .count = DECODER_PAGES * DECODER_PAGE_TOKENS};
    struct decoder decoder;
    struct session session = {0};

    conform_case(conform, "compile");
    if (!decoder_make(&decoder, conform, ACCEL_F32, ACCEL_F32))
        return;
    if (make(&session, conform, &decoder, 0) && feed(&session, 6, 1)) {
        conform_case(conform, "slots are copied");
        session.base = DECODER_PAGES;
        if (change(&session, &move) && feed(&session, 1, 1))
            compare(&session, 1);
        conform_case(conform, "slots are copied over themselves");
        session.base = DECODER_PAGES - 1;
        if (change(&session, &overlap) && feed(&session, 2, 2))
            compare(&session, 2);
        conform_case(conform, "slots are copied over themselves, towards the end");
        session.base = DECODER_PAGES;
        if (change(&session, &back) && feed(&session, 2, 2))
            compare(&session, 2);
        conform_case(conform, "the state is emptied");
        session.base = 0;
        session.length = 0;
        if (change(&session, &empty) && feed(&session, 4, 4))
            compare(&session, 4);
        compare_reset(&session, &decoder);
    }
    end(&session);
    decoder_free(&decoder);
}

/* Checks that two runs are bit-identical if the driver supports deterministic mode. */
static void run_twice(struct conform *conform)
{
    struct decoder decoder;
    struct session sessions[2] = {0};
    uint32_t length = 0;

    conform_case(conform, "compile");
    if (!decoder_make(&decoder, conform, ACCEL_F32, ACCEL_F32))
        return;
    for (uint32_t i = 0; i < 2; i++) {
        struct conform_random numbers = conform->random;

        if (!make(&sessions[i], conform, &decoder, ACCEL_COMPILE_DETERMINISTIC))
            break;
        conform->random = numbers;
        if (feed(&sessions[i], DECODER_TOKENS, DECODER_TOKENS))
            length++;
        conform->random = numbers;
    }
    conform_case(conform, "the same bits twice");
    if (length == 2 && memcmp(sessions[0].got, sessions[1].got, sizeof(sessions[0].got)) != 0)
        conform_fail(conform, "two runs gave other bits");
    end(&sessions[0]);
    end(&sessions[1]);
    decoder_free(&decoder);
}

/* Runs two models on one device in turn: weights of equal names are distinct weights, also where a driver lays them out
 * anew, as some do only where activations may be rounded. */
static void run_two(struct conform *conform)
{
    struct decoder decoders[2];
    struct session *sessions = conform_memory(conform, 2, sizeof(*sessions));
    uint32_t made = 0;
    bool is_good = true;

    conform_case(conform, "compile two");
    while (made < 2 && is_good)
        is_good = decoder_make(&decoders[made], conform, conform->parameter, ACCEL_Q8_0) &&
                  make(&sessions[made], conform, &decoders[made], 0) && ++made != 0;
    for (uint32_t i = 0; i < 4 && is_good; i++) {
        conform_case(conform, "step %u of model %u", i / 2, i % 2);
        is_good = feed(&sessions[i % 2], i < 2 ? 5 : 1, 1);
        if (is_good)
            compare(&sessions[i % 2], 1);
    }
    if (is_good) {
        conform_case(conform, "a step of the second model after the first was freed");
        end(&sessions[0]);
        sessions[0] = (struct session){0};
        if (feed(&sessions[1], 2, 2))
            compare(&sessions[1], 2);
    }
    for (uint32_t i = 0; i < 2; i++)
        end(&sessions[i]);
    for (uint32_t i = 0; i < made; i++)
        decoder_free(&decoders[i]);
    free(sessions);
}

void conform_add_whole(struct conform_list *list)
{
    conform_add(list, CONFORM_DEVICE, ACCEL_F32, run_types, "whole/f32");
    conform_add(list, CONFORM_DEVICE, ACCEL_F16, run_types, "whole/f16");
    conform_add(list, CONFORM_DEVICE, ACCEL_Q8_0, run_types, "whole/q8_0");
    conform_add(list, CONFORM_DEVICE, ACCEL_Q4_0, run_types, "whole/q4_0");
    conform_add(list, CONFORM_DEVICE, ACCEL_Q8_0, run_two, "whole/two-models");
    conform_add(list, CONFORM_DEVICE, 0, run_states, "whole/states");
    conform_add(list, CONFORM_DEVICE, 0, run_twice, "whole/deterministic");
}
