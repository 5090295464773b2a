/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several sequences in one step: each gives the logits that it gives alone, whatever stands beside it; forks share
 * pages and part where they are written; what is refused feeds nothing.
 */
#include "session_support.h"

#include "model/session/state.h"

enum { SEQUENCES = 5, STEPS = 30, PROMPT_MOST = 40 };

struct subject {
    struct accel_context *context;
    struct accel_model *model;
    struct accel_session *many;
    struct accel_session *one;
    uint32_t vocabulary;
};

static struct accel_session *open_session(struct subject *s, const char *sequences, const char *page)
{
    const struct accel_named_value given[] = {{"kv.type.k", "f32", "test"},     {"kv.type.v", "f32", "test"},
                                              {"sequences", sequences, "test"}, {"attention.page", page, "test"},
                                              {"context", "100tok", "test"},    {"batch", "48tok", "test"},
                                              {"cpu.threads", "2", "test"}};
    struct accel_session_options options = {
        .size = sizeof(options), .device = "cpu", .overrides = given, .override_count = 7};
    struct accel_session *session = NULL;
    struct accel_error error = {0};

    OK(accel_session_create(s->context, s->model, &options, &session, &error));
    OK(accel_session_load(session, &error));
    return session;
}

static int32_t ACCEL_CALL ignore_logits(void *data, uint64_t index, const float *logits)
{
    (void)data, (void)index, (void)logits;
    return ACCEL_OK;
}

static void begin(struct subject *s, const char *page)
{
    struct accel_error error = {0};
    char path[PATH_BYTES];

    *s = (struct subject){.context = make_context()};
    stories_path(path);
    OK(accel_model_open(path, NULL, &s->model, &error));
    s->many = open_session(s, "5", page);
    s->one = open_session(s, "1", page);
    s->vocabulary = accel_model_facts_of(s->model)->vocabulary;
}

static void end(struct subject *s)
{
    accel_session_free(s->one);
    close_all(s->many, s->model, s->context);
}

static uint32_t prompt_of(uint32_t number, int32_t ids[PROMPT_MOST])
{
    uint32_t count = 1 + number * 9;

    for (uint32_t i = 0; i < count; i++)
        ids[i] = i == 0 ? 1 : (int32_t)(3 + (i * 37 + number * 101) % 500);
    return count;
}

static void assert_near(const float *a, const float *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!(fabsf(a[i] - b[i]) <= 2e-4f * (1 + fabsf(b[i]))))
            fail_msg("logit %u is %f, alone %f", i, (double)a[i], (double)b[i]);
}

/* What a prompt writes alone: greedy ids, and the logits of the last. */
static void write_alone(struct subject *s, uint32_t number, int32_t out_ids[STEPS], float *out_last)
{
    struct accel_error error = {0};
    int32_t ids[PROMPT_MOST];
    const float *logits;

    OK(accel_session_truncate(s->one, 0, &error));
    OK(accel_session_feed(s->one, ids, prompt_of(number, ids), &logits, &error));
    for (uint32_t i = 0; i < STEPS; i++) {
        out_ids[i] = (int32_t)best_of(logits, s->vocabulary);
        OK(accel_session_feed(s->one, &out_ids[i], 1, &logits, &error));
    }
    memcpy(out_last, logits, s->vocabulary * sizeof(*logits));
}

/* One text in a batch: its prompt goes in by pieces of 7, while the others write. */
struct text {
    int32_t prompt[PROMPT_MOST];
    int32_t ids[STEPS];
    uint32_t prompt_count, fed, written, sequence;
};

static void test_same_texts(void **state)
{
    struct subject s;
    struct text texts[SEQUENCES] = {0};
    struct accel_error error = {0};
    uint32_t left = SEQUENCES, row;
    const float *logits;

    begin(&s, *state);
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        texts[i].prompt_count = prompt_of(i, texts[i].prompt);
        if (i > 0)
            OK(accel_session_open(s.many, &texts[i].sequence, &error));
        assert_int_equal(texts[i].sequence, i);
    }
    assert_int_equal(accel_session_sequences(s.many), SEQUENCES);
    while (left > 0) {
        struct accel_session_part parts[SEQUENCES];
        struct text *of[SEQUENCES];
        uint32_t count = 0;

        for (uint32_t i = 0; i < SEQUENCES; i++) {
            struct text *t = &texts[i];
            uint32_t more = t->prompt_count - t->fed < 7 ? t->prompt_count - t->fed : 7;

            if (t->written > STEPS)
                continue;
            of[count] = t;
            parts[count++] =
                more > 0 ? (struct accel_session_part){t->prompt + t->fed, more, i, t->fed + more == t->prompt_count}
                         : (struct accel_session_part){&t->ids[t->written - 1], 1, i, 1};
            t->fed += more;
        }
        OK(accel_session_step(s.many, parts, count, &logits, &error));
        row = 0;
        for (uint32_t p = 0; p < count; p++) {
            struct text *t = of[p];
            const float *mine = logits + (size_t)row * s.vocabulary;
            int32_t ids[STEPS];
            float last[4096];

            if (parts[p].outputs == 0)
                continue;
            row++;
            if (t->written < STEPS) {
                t->ids[t->written++] = (int32_t)best_of(mine, s.vocabulary);
                continue;
            }
            assert_true(s.vocabulary <= 4096);
            write_alone(&s, t->sequence, ids, last);
            assert_memory_equal(ids, t->ids, sizeof(ids));
            assert_near(mine, last, s.vocabulary);
            t->written++;
            left--;
        }
    }
    end(&s);
}

/* Two texts go on from a shared beginning, which ends within a page. */
static void test_fork(void **state)
{
    struct subject s;
    struct accel_error error = {0};
    int32_t ids[PROMPT_MOST], more[2] = {70, 80};
    uint32_t count = prompt_of(3, ids), fork;
    struct accel_session_part parts[2];
    const float *logits, *alone;
    uint32_t used;

    begin(&s, *state);
    OK(accel_session_feed(s.many, ids, count, &logits, &error));
    used = s.many->kv.pages - s.many->kv.free_count;
    OK(accel_session_fork(s.many, 0, count - 2, &fork, &error));
    assert_int_equal(s.many->kv.pages - s.many->kv.free_count, used);
    assert_int_equal(accel_session_sequence_length(s.many, fork), count - 2);
    parts[0] = (struct accel_session_part){&more[0], 1, 0, 1};
    parts[1] = (struct accel_session_part){&more[1], 1, fork, 1};
    OK(accel_session_step(s.many, parts, 2, &logits, &error));
    OK(accel_session_feed(s.one, ids, count, &alone, &error));
    OK(accel_session_feed(s.one, &more[0], 1, &alone, &error));
    assert_near(logits, alone, s.vocabulary);
    OK(accel_session_truncate(s.one, count - 2, &error));
    OK(accel_session_feed(s.one, &more[1], 1, &alone, &error));
    assert_near(logits + s.vocabulary, alone, s.vocabulary);
    /* The first goes, the fork stays, and all pages come back in the end. */
    OK(accel_session_close(s.many, 0, &error));
    OK(accel_session_feed(s.one, &more[0], 1, &alone, &error));
    parts[1].ids = &more[0];
    OK(accel_session_step(s.many, &parts[1], 1, &logits, &error));
    assert_near(logits, alone, s.vocabulary);
    OK(accel_session_sequence_truncate(s.many, fork, 3, &error));
    OK(accel_session_close(s.many, fork, &error));
    /* The calls without a sequence refuse the first one, too, until it is open again. */
    assert_int_equal(accel_session_feed(s.many, ids, count, &logits, &error), ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "sequence 0 is not open"));
    assert_int_equal(accel_session_score(s.many, ids, count, ignore_logits, NULL, NULL), ACCEL_E_INVALID);
    assert_int_equal(s.many->kv.free_count, s.many->kv.pages);
    end(&s);
}

static void test_refusals(void **state)
{
    struct subject s;
    struct accel_error error = {0};
    int32_t ids[100] = {0}, outside = -1;
    struct accel_session_part parts[6] = {{ids, 10, 0, 1}, {ids, 10, 1, 1}};
    const float *logits;
    uint32_t number;

    begin(&s, *state);
    assert_int_equal(accel_session_step(s.many, parts, 2, &logits, &error), ACCEL_E_INVALID); /* 1 is not open */
    assert_null(logits);
    for (uint32_t i = 1; i < SEQUENCES; i++)
        OK(accel_session_open(s.many, &number, &error));
    assert_int_equal(accel_session_open(s.many, &number, NULL), ACCEL_E_LIMIT);
    assert_int_equal(accel_session_fork(s.many, 0, 0, &number, NULL), ACCEL_E_LIMIT);
    assert_int_equal(accel_session_fork(s.many, 0, 1, &number, NULL), ACCEL_E_INVALID);
    parts[1].sequence = 0;
    assert_int_equal(accel_session_step(s.many, parts, 2, &logits, NULL), ACCEL_E_INVALID); /* twice the same */
    parts[1].sequence = 1;
    parts[1].count = 39;
    assert_int_equal(accel_session_step(s.many, parts, 2, &logits, NULL), ACCEL_E_LIMIT); /* 49 tokens in a step */
    parts[1].count = 10;
    parts[1].outputs = 11;
    assert_int_equal(accel_session_step(s.many, parts, 2, &logits, NULL), ACCEL_E_INVALID);
    parts[1].outputs = 5;
    assert_int_equal(accel_session_step(s.many, parts, 2, &logits, NULL), ACCEL_E_LIMIT); /* 6 rows of 5 */
    parts[1] = (struct accel_session_part){&outside, 1, 1, 1};
    assert_int_equal(accel_session_step(s.many, parts, 2, &logits, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_session_step(s.many, parts, 6, &logits, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_session_step(s.many, parts, 0, &logits, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_session_length(s.many), 0);
    for (uint32_t i = 0; i < 5; i++)
        OK(accel_session_feed(s.many, ids, 20, &logits, &error));
    assert_int_equal(accel_session_step(s.many, parts, 1, &logits, NULL), ACCEL_E_LIMIT); /* the context is full */
    assert_int_equal(accel_session_length(s.many), 100);
    assert_int_equal(accel_session_close(s.many, 9, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_session_sequence_truncate(s.many, 1, 1, NULL), ACCEL_E_INVALID);
    parts[1] = (struct accel_session_part){ids, 10, 1, 0};
    OK(accel_session_step(s.many, &parts[1], 1, &logits, &error)); /* no logits wanted */
    assert_null(logits);
    assert_int_equal(accel_session_sequence_length(s.many, 1), 10);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"texts of a batch are those of each alone, pages of 16", test_same_texts, NULL, NULL, (void *)"16tok"},
        {"the same with pages of 1", test_same_texts, NULL, NULL, (void *)"1tok"},
        {"a fork goes its own way, pages of 16", test_fork, NULL, NULL, (void *)"16tok"},
        {"a fork goes its own way, pages of 7", test_fork, NULL, NULL, (void *)"7tok"},
        {"refusals", test_refusals, NULL, NULL, (void *)"64tok"},
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
