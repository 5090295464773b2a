/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences that are longer than their caches. In a model of one layer keys and values depend on a token and its place
 * alone, so that a sequence that slid has to give what a new one gives that was fed its sinks and what it still holds.
 */
#include "model/session/state.h"
#include "session_support.h"
#include "tests/bench/random_model.h"

static const struct random_model sizes = {1, 256, 768, 8, 2, 600, 0, 0, 0, 0};

enum { CONTEXT = 64, FED = 230 };

struct subject {
    struct accel_context *context;
    struct accel_model *model;
};

static struct accel_session *open_session(struct subject *s, const struct accel_named_value *more, uint32_t count)
{
    struct accel_named_value given[12] = {{"kv.type.k", "f32", "test"},
                                          {"kv.type.v", "f32", "test"},
                                          {"context", "64tok", "test"},
                                          {"attention.page", "8tok", "test"},
                                          {"batch", "16tok", "test"}};
    struct accel_session_options options = {.size = sizeof(options), .device = "cpu", .overrides = given};
    struct accel_session *session = NULL;
    struct accel_error error = {0};

    memcpy(given + 5, more, count * sizeof(*more));
    options.override_count = 5 + count;
    OK(accel_session_create(s->context, s->model, &options, &session, &error));
    OK(accel_session_load(session, &error));
    return session;
}

static void begin(struct subject *s)
{
    struct accel_error error = {0};
    char path[PATH_BYTES];

    s->context = make_context();
    snprintf(path, sizeof(path), "session_ring-%ld.gguf", (long)getpid());
    assert_true(random_model_write(path, &sizes, ACCEL_GGML(2u)));
    OK(accel_model_open(path, NULL, &s->model, &error));
    assert_int_equal(unlink(path), 0);
}

static int32_t id_of(uint32_t place)
{
    return (int32_t)((place * 7919 + 13) % 600);
}

static void assert_near(const float *a, const float *b, uint32_t count)
{
    float most = 0;

    for (uint32_t i = 0; i < count; i++)
        most = fmaxf(most, fabsf(b[i]));
    for (uint32_t i = 0; i < count; i++)
        if (!(fabsf(a[i] - b[i]) <= 1e-3f * most))
            fail_msg("logit %u is %f, not %f", i, (double)a[i], (double)b[i]);
}

/* What a new sequence gives: the sinks, and the last tokens of those fed. */
static void compare(struct accel_session *fresh, const float *logits, uint64_t length, uint32_t sinks, uint32_t fed)
{
    struct accel_error error = {0};
    int32_t ids[CONTEXT];
    const float *expected;

    assert_true(length > sinks && length <= CONTEXT);
    for (uint32_t i = 0; i < length; i++)
        ids[i] = i < sinks ? id_of(i) : id_of(fed - (uint32_t)length + i);
    OK(accel_session_truncate(fresh, 0, &error));
    OK(accel_session_feed(fresh, ids, length, &expected, &error));
    assert_near(logits, expected, sizes.vocabulary);
}

static void test_slide(void **state)
{
    static const struct accel_named_value none[] = {{"cpu.threads", "2", "test"}};
    const char *text = *state;
    const struct accel_named_value slide[] = {{"kv.full", "slide", "test"}, {"kv.sinks", text, "test"}};
    uint32_t sinks = (uint32_t)strtoul(text, NULL, 10);
    struct subject s;
    struct accel_session *session, *fresh;
    struct accel_error error = {0};
    int32_t ids[16];
    const float *logits;

    begin(&s);
    session = open_session(&s, slide, 2);
    fresh = open_session(&s, none, 1);
    for (uint32_t fed = 0; fed < FED;) {
        uint32_t count = fed < 20 || fed % 3 == 0 ? 1 : 1 + fed % 16;

        for (uint32_t i = 0; i < count; i++)
            ids[i] = id_of(fed + i);
        OK(accel_session_feed(session, ids, count, &logits, &error));
        fed += count;
        if (fed < CONTEXT)
            assert_int_equal(accel_session_length(session), fed);
        if (count == 1 && fed > 40)
            compare(fresh, logits, accel_session_length(session), fed == accel_session_length(session) ? 0 : sinks,
                    fed);
    }
    assert_true(accel_session_length(session) > CONTEXT - 24);
    assert_int_equal(session->kv.pages - session->kv.free_count, session->kv.sequences[0].pages);
    accel_session_free(fresh);
    close_all(session, s.model, s.context);
}

/* Tokens leave one by one behind the sinks, and positions stay. */
static void test_prune(void **state)
{
    static const struct accel_named_value prune[] = {{"kv.full", "prune", "test"}, {"kv.prune", "recency", "test"}};
    struct subject s;
    struct accel_session *session;
    struct accel_error error = {0};
    const struct kv_sequence *sequence;
    const float *logits;

    (void)state;
    begin(&s);
    session = open_session(&s, prune, 2);
    for (uint32_t fed = 0; fed < FED; fed++) {
        int32_t id = id_of(fed);

        OK(accel_session_feed(session, &id, 1, &logits, &error));
    }
    sequence = &session->kv.sequences[0];
    assert_int_equal(sequence->length, CONTEXT);
    for (int32_t place = 0; place < CONTEXT; place++)
        assert_int_equal(sequence->position[place], place < 4 ? place : FED - CONTEXT + place);
    for (uint32_t i = 0; i < sizes.vocabulary; i++)
        assert_true(isfinite(logits[i]));
    close_all(session, s.model, s.context);
}

/* Of tokens fed one by one and in steps, those leave that were attended to the least. The score sum of a step is that
 * of its places; what stands in the sequence fades from token to token. */
static void test_prune_usage(void **state)
{
    static const struct accel_named_value prune[] = {{"kv.full", "prune", "test"}, {"kv.prune", "usage", "test"}};
    struct subject s;
    struct accel_session *session;
    struct accel_error error = {0};
    struct kv_sequence *sequence;
    const float *logits, *score_sums;
    int32_t ids[16];
    double sum = 0;

    (void)state;
    begin(&s);
    session = open_session(&s, prune, 2);
    sequence = &session->kv.sequences[0];
    for (uint32_t fed = 0; fed < CONTEXT; fed += 16) {
        for (uint32_t i = 0; i < 16; i++)
            ids[i] = id_of(fed + i);
        OK(accel_session_feed(session, ids, 16, &logits, &error));
        score_sums = (const float *)session->pipeline->io[session->pipeline->scores_io].bytes;
        sum = 0;
        for (uint32_t place = 0; place < CONTEXT; place++)
            sum += (double)score_sums[place];
        /* Each of 16 tokens gives every head of the layer a weight of 1 in all. */
        assert_true(fabs(sum - 16.0 * sizes.heads) < 1e-3);
    }
    /* Two tokens in the older half that are heavy, and one that nobody looks at. */
    sequence->score_sum[10] = sequence->score_sum[21] = 1e6f;
    sequence->score_sum[12] = -1;
    for (uint32_t fed = CONTEXT; fed < FED; fed++) {
        int32_t id = id_of(fed);

        OK(accel_session_feed(session, &id, 1, &logits, &error));
        if (fed == CONTEXT) {
            assert_int_equal(sequence->position[11], 11);
            assert_int_equal(sequence->position[12], 13);
        }
    }
    assert_int_equal(sequence->length, CONTEXT);
    for (int32_t place = 0; place < 4; place++)
        assert_int_equal(sequence->position[place], place);
    /* The heavy ones came to stand behind the sinks or between others that were kept; the newer half is whole. */
    sum = 0;
    for (int32_t place = 4; place < CONTEXT; place++) {
        assert_true(sequence->position[place] > sequence->position[place - 1]);
        sum += sequence->position[place] == 10 || sequence->position[place] == 21;
        if (place >= CONTEXT - 30)
            assert_int_equal(sequence->position[place], FED - CONTEXT + place);
    }
    assert_int_equal(sum, 2);
    for (uint32_t i = 0; i < sizes.vocabulary; i++)
        assert_true(isfinite(logits[i]));
    close_all(session, s.model, s.context);
}

static void test_window(void **state)
{
    const struct accel_named_value wide[] = {{"kv.window", "64tok", "test"}},
                                   narrow[] = {{"kv.window", "8tok", "test"}};
    const struct accel_named_value whole[] = {{"kv.window", "30tok", "test"}, {"kv.sinks", "20tok", "test"}};
    static const struct accel_named_value none[] = {{"cpu.threads", "2", "test"}};
    struct subject s;
    struct accel_session *sessions[4];
    struct accel_error error = {0};
    const float *logits[4];
    int32_t ids[50];
    float apart = 0;

    (void)state;
    begin(&s);
    for (uint32_t i = 0; i < 50; i++)
        ids[i] = id_of(i);
    sessions[0] = open_session(&s, none, 1);
    sessions[1] = open_session(&s, wide, 1);
    sessions[2] = open_session(&s, whole, 2); /* the sinks reach the window: everything is seen */
    sessions[3] = open_session(&s, narrow, 1);
    for (uint32_t i = 0; i < 4; i++)
        OK(accel_session_feed(sessions[i], ids, 50, &logits[i], &error));
    assert_near(logits[1], logits[0], sizes.vocabulary);
    assert_near(logits[2], logits[0], sizes.vocabulary);
    for (uint32_t i = 0; i < sizes.vocabulary; i++)
        apart = fmaxf(apart, fabsf(logits[3][i] - logits[0][i]));
    assert_true(apart > 1e-3f);
    for (uint32_t i = 1; i < 4; i++)
        accel_session_free(sessions[i]);
    close_all(sessions[0], s.model, s.context);
}

enum { LONG = 400 };

/* Caches hold what the window, a step and the sinks need, and no logit can tell: the same as with all of it. */
static void test_window_memory(void **state)
{
    static const struct accel_named_value pages[] = {
        {"kv.window", "24tok", "test"}, {"kv.sinks", "5tok", "test"}, {"context", "512tok", "test"}};
    static const struct accel_named_value one[] = {{"kv.window", "24tok", "test"},
                                                   {"kv.sinks", "5tok", "test"},
                                                   {"context", "512tok", "test"},
                                                   {"attention.page", "512tok", "test"}};
    struct subject s;
    struct accel_session *narrow, *whole;
    struct accel_error error = {0};
    const float *logits, *expected;
    int32_t ids[LONG];

    (void)state;
    begin(&s);
    for (uint32_t i = 0; i < LONG; i++)
        ids[i] = id_of(i);
    narrow = open_session(&s, pages, 3);
    whole = open_session(&s, one, 4);
    /* Pages of 8: one for the sinks, six for 24 + 16 - 1 tokens that begin anywhere. */
    assert_int_equal(narrow->options.slots, 7 * 8);
    assert_int_equal(whole->options.slots, 512);
    for (uint32_t fed = 0; fed < LONG;) {
        uint32_t count = 1 + fed % 37 < LONG - fed ? 1 + fed % 37 : LONG - fed;

        OK(accel_session_feed(narrow, ids + fed, count, &logits, &error));
        OK(accel_session_feed(whole, ids + fed, count, &expected, &error));
        fed += count;
        assert_int_equal(accel_session_length(narrow), fed);
        assert_true(narrow->kv.sequences[0].length <= 56);
        assert_near(logits, expected, sizes.vocabulary);
    }
    assert_int_equal(narrow->kv.sequences[0].position[4], 4);
    /* Back by as much as the window is still there, and not by more; to the sinks, as to nothing, always. */
    OK(accel_session_truncate(narrow, LONG - 5, &error));
    OK(accel_session_truncate(whole, LONG - 5, &error));
    OK(accel_session_feed(narrow, ids, 3, &logits, &error));
    OK(accel_session_feed(whole, ids, 3, &expected, &error));
    assert_near(logits, expected, sizes.vocabulary);
    assert_int_equal(accel_session_truncate(narrow, 100, &error), ACCEL_E_LIMIT);
    assert_non_null(strstr(error.text, "left the window"));
    assert_int_equal(accel_session_length(narrow), LONG - 2);
    OK(accel_session_truncate(narrow, 3, &error));
    OK(accel_session_truncate(whole, 3, &error));
    OK(accel_session_feed(narrow, ids + 3, 200, &logits, &error));
    OK(accel_session_feed(whole, ids + 3, 200, &expected, &error));
    assert_near(logits, expected, sizes.vocabulary);
    /* The context is as long as it was. */
    OK(accel_session_feed(narrow, ids, 512 - 203, &logits, &error));
    assert_int_equal(accel_session_feed(narrow, ids, 1, &logits, &error), ACCEL_E_LIMIT);
    accel_session_free(whole);
    close_all(narrow, s.model, s.context);
}

/* The smallest windows give the same logits with every page size, step and way to drop tokens. */
static void test_window_least(void **state)
{
    static const char *const windows[] = {"1tok", "2tok", "5tok"}, *const pages[] = {"1tok", "4tok", "64tok"};
    static const char *const steps[] = {"1tok", "7tok", "128tok"};
    static const struct accel_named_value full[][2] = {{{"kv.full", "stop", "test"}, {"kv.prune", "off", "test"}},
                                                       {{"kv.full", "prune", "test"}, {"kv.prune", "recency", "test"}},
                                                       {{"kv.full", "prune", "test"}, {"kv.prune", "usage", "test"}}};
    struct subject s;
    struct accel_error error = {0};
    int32_t ids[LONG];

    (void)state;
    begin(&s);
    for (uint32_t i = 0; i < LONG; i++)
        ids[i] = id_of(i);
    for (uint32_t w = 0; w < 3 * 2; w++) {
        const struct accel_named_value window = {"kv.window", windows[w / 2], "test"},
                                       sinks = {"kv.sinks", w % 2 == 0 ? "0tok" : "3tok", "test"},
                                       context = {"context", "512tok", "test"};
        const struct accel_named_value one[] = {window, sinks, context, {"attention.page", "512tok", "test"}};
        struct accel_session *whole = open_session(&s, one, 4);
        const float *logits, *expected;

        assert_int_equal(whole->options.slots, 512);
        OK(accel_session_feed(whole, ids, LONG, &expected, &error));
        for (uint32_t i = 0; i < 27; i++) {
            const struct accel_named_value given[] = {window,
                                                      sinks,
                                                      context,
                                                      full[i / 9][0],
                                                      full[i / 9][1],
                                                      {"attention.page", pages[i % 3], "test"},
                                                      {"batch", steps[i / 3 % 3], "test"}};
            struct accel_session *session = open_session(&s, given, 7);

            assert_true(session->options.slots < LONG);
            OK(accel_session_feed(session, ids, LONG, &logits, &error));
            assert_near(logits, expected, sizes.vocabulary);
            accel_session_free(session);
        }
        accel_session_free(whole);
    }
    close_all(NULL, s.model, s.context);
}

/* A context that holds fewer tokens than a step has sequences: no sequence gets more of a step than fits. */
static void test_many_sequences(void **state)
{
    const struct accel_named_value given[] = {{"kv.full", *state, "test"},
                                              {"kv.prune", strcmp(*state, "prune") == 0 ? "recency" : "off", "test"},
                                              {"kv.sinks", "1tok", "test"},
                                              {"sequences", "40", "test"},
                                              {"context", "16tok", "test"}};
    struct subject s;
    struct accel_session *session;
    struct accel_error error = {0};
    int32_t ids[LONG];
    const float *logits;

    begin(&s);
    session = open_session(&s, given, 5);
    for (uint32_t i = 0; i < LONG; i++)
        ids[i] = id_of(i);
    assert_int_equal(accel_session_batch(session), 40);
    OK(accel_session_feed(session, ids, LONG, &logits, &error));
    for (uint32_t i = 0; i < sizes.vocabulary; i++)
        assert_true(isfinite(logits[i]));
    close_all(session, s.model, s.context);
}

/* Two sequences, one of them a fork behind the window: pages that both have leave either. */
static void test_window_fork(void **state)
{
    static const struct accel_named_value given[] = {{"kv.window", "24tok", "test"},
                                                     {"kv.sinks", "5tok", "test"},
                                                     {"context", "512tok", "test"},
                                                     {"sequences", "2", "test"}};
    struct subject s;
    struct accel_session *session;
    struct accel_error error = {0};
    int32_t ids[LONG];
    const float *logits;
    uint32_t fork;

    (void)state;
    begin(&s);
    for (uint32_t i = 0; i < LONG; i++)
        ids[i] = id_of(i);
    session = open_session(&s, given, 4);
    OK(accel_session_feed(session, ids, 150, &logits, &error));
    assert_int_equal(accel_session_fork(session, 0, 100, &fork, &error), ACCEL_E_LIMIT);
    OK(accel_session_fork(session, 0, 149, &fork, &error));
    assert_int_equal(accel_session_sequence_length(session, fork), 149);
    OK(accel_session_truncate(session, 149, &error));
    for (uint32_t i = 149; i < LONG; i++) {
        const struct accel_session_part parts[2] = {{ids + i, 1, 0, 1}, {ids + i, 1, fork, 1}};

        OK(accel_session_step(session, parts, 2, &logits, &error));
        assert_near(logits, logits + sizes.vocabulary, sizes.vocabulary);
    }
    OK(accel_session_close(session, fork, &error));
    OK(accel_session_truncate(session, 0, &error));
    assert_int_equal(session->kv.free_count, session->kv.pages);
    close_all(session, s.model, s.context);
}

static void test_refusals(void **state)
{
    static const struct {
        struct accel_named_value overrides[2];
        int32_t code;
    } rows[] = {
        {{{"kv.full", "prune", "test"}, {"kv.sinks", "4tok", "test"}}, ACCEL_E_INVALID},
        {{{"kv.prune", "recency", "test"}, {"kv.sinks", "4tok", "test"}}, ACCEL_E_INVALID},
        {{{"kv.prune", "usage", "test"}, {"kv.full", "slide", "test"}}, ACCEL_E_INVALID},
        {{{"kv.full", "slide", "test"}, {"kv.sinks", "4096tok", "test"}}, ACCEL_E_INVALID},
    };
    struct subject s;

    (void)state;
    begin(&s);
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct accel_session_options options = {
            .size = sizeof(options), .device = "cpu", .overrides = rows[i].overrides, .override_count = 2};
        struct accel_session *session = NULL;
        struct accel_error error = {0};

        assert_int_equal(accel_session_create(s.context, s.model, &options, &session, &error), rows[i].code);
        assert_null(session);
        assert_non_null(strstr(error.text, "kv."));
    }
    close_all(NULL, s.model, s.context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"the oldest leave, four sinks stay", test_slide, NULL, NULL, (void *)"4tok"},
        {"no sinks", test_slide, NULL, NULL, (void *)"0tok"},
        {"sinks over more than a page", test_slide, NULL, NULL, (void *)"11tok"},
        {"pruned by recency", test_prune, NULL, NULL, NULL},
        {"pruned by usage", test_prune_usage, NULL, NULL, NULL},
        {"window", test_window, NULL, NULL, NULL},
        {"caches as long as a window", test_window_memory, NULL, NULL, NULL},
        {"the smallest windows", test_window_least, NULL, NULL, NULL},
        {"more sequences than tokens of a context, slide", test_many_sequences, NULL, NULL, (void *)"slide"},
        {"more sequences than tokens of a context, prune", test_many_sequences, NULL, NULL, (void *)"prune"},
        {"a fork behind a window", test_window_fork, NULL, NULL, NULL},
        {"refusals", test_refusals, NULL, NULL, NULL},
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
