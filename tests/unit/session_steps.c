/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a session on the cpu driver: none allocates, in the caller's thread or in one that it borrows; another
 * thread cancels a long feed and a long text, and the session goes on afterwards with the right logits.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include <accel/model/generate.h>
#include <accel/types.h>

#include "model/session/state.h"
#include "session_support.h"
#include "tests/bench/random_model.h"

static const struct random_model sizes = {4, 256, 768, 8, 2, 600, 0, 0, 0, 0};

/* ---- every allocation of the process is counted, but for sanitizers, which have their own allocator ---- */

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTED 1
#else
#define COUNTED 0
#endif

static atomic_ulong allocations;

#if COUNTED
#define SEEN __attribute__((visibility("default")))

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

SEEN void *malloc(size_t bytes)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return __libc_malloc(bytes);
}

SEEN void *calloc(size_t count, size_t bytes)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return __libc_calloc(count, bytes);
}

SEEN void *realloc(void *block, size_t bytes)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return __libc_realloc(block, bytes);
}

SEEN void *aligned_alloc(size_t alignment, size_t bytes)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return __libc_memalign(alignment, bytes);
}
#endif

struct subject {
    struct accel_context *context;
    struct accel_model *model;
    struct accel_session *session;
};

/* A session over the random model with `threads`, steps of at most `batch` tokens. */
static void begin(struct subject *subject, const char *threads, const char *batch)
{
    const struct accel_named_value given[] = {
        {"cpu.threads", threads, "test"}, {"batch", batch, "test"}, {"context", "1024tok", "test"}};
    struct accel_session_options options = {
        .size = sizeof(options), .device = "cpu", .overrides = given, .override_count = 3};
    struct accel_error error = {0};
    char path[PATH_BYTES];

    *subject = (struct subject){.context = make_context()};
    snprintf(path, sizeof(path), "session_steps-%ld.gguf", (long)getpid());
    assert_true(random_model_write(path, &sizes, ACCEL_GGML(2u)));
    OK(accel_model_open(path, NULL, &subject->model, &error));
    assert_int_equal(unlink(path), 0);
    OK(accel_session_create(subject->context, subject->model, &options, &subject->session, &error));
    OK(accel_session_load(subject->session, &error));
}

static void end(struct subject *subject)
{
    close_all(subject->session, subject->model, subject->context);
}

/* ---- allocations ---- */

static void test_allocations(void **state)
{
    struct subject s;
    struct accel_error error = {0};
    const uint64_t one[SYMBOLS] = {1, 1, 1};
    const int32_t ids[3] = {5, 17, 400};
    const float *logits;
    unsigned long before;

    if (!COUNTED) {
        print_message("skipped: allocations cannot be counted under a sanitizer\n");
        skip();
    }
    before = atomic_load(&allocations);
    begin(&s, *state, "16tok");
    assert_true(atomic_load(&allocations) > before + 100);
    OK(accel_session_feed(s.session, ids, 3, &logits, &error));
    before = atomic_load(&allocations);
    for (uint32_t i = 0; i < 50; i++)
        assert_int_equal(accel_session_feed(s.session, ids + i % 3, 1, &logits, &error), ACCEL_OK);
    assert_int_equal(atomic_load(&allocations), before);
    for (uint32_t i = 0; i < 50; i++)
        assert_int_equal(accel_session_feed(s.session, ids, 3, &logits, &error), ACCEL_OK);
    assert_int_equal(atomic_load(&allocations), before);
    for (uint32_t i = 0; i < 50; i++)
        assert_int_equal(accel_set_run(s.session->pipeline->one, one, &error), ACCEL_OK);
    assert_int_equal(atomic_load(&allocations), before);
    end(&s);
}

/* Steps of several sequences: of one token each, of a prompt beside them, after a fork whose page is copied by the
 * first that writes it, and with tokens that leave. */
static void test_step_allocations(void **state)
{
    const struct accel_named_value given[] = {{"sequences", "3", "test"},        {"context", "64tok", "test"},
                                              {"batch", "16tok", "test"},        {"kv.full", "slide", "test"},
                                              {"kv.sinks", "4tok", "test"},      {"cpu.threads", *state, "test"},
                                              {"attention.page", "8tok", "test"}};
    struct accel_session_options options = {
        .size = sizeof(options), .device = "cpu", .overrides = given, .override_count = sizeof(given) / sizeof(*given)};
    const int32_t ids[10] = {5, 17, 400, 3, 8, 77, 120, 9, 300, 301};
    struct subject s;
    struct accel_error error = {0};
    const float *logits;
    unsigned long before;
    uint32_t other, fork;

    if (!COUNTED) {
        print_message("skipped: allocations cannot be counted under a sanitizer\n");
        skip();
    }
    begin(&s, *state, "16tok");
    accel_session_free(s.session);
    OK(accel_session_create(s.context, s.model, &options, &s.session, &error));
    OK(accel_session_load(s.session, &error));
    OK(accel_session_feed(s.session, ids, 10, &logits, &error));
    before = atomic_load(&allocations);
    assert_int_equal(accel_session_open(s.session, &other, &error), ACCEL_OK);
    assert_int_equal(accel_session_fork(s.session, 0, 10, &fork, &error), ACCEL_OK);
    for (uint32_t i = 0; i < 100; i++) {
        const struct accel_session_part parts[3] = {
            {ids + i % 10, 1, 0, 1}, {ids, 1 + i % 10, other, i % 2}, {ids + i % 7, 1, fork, 1}};

        assert_int_equal(accel_session_step(s.session, parts, i < 3 ? 3 : 1 + i % 3, &logits, &error), ACCEL_OK);
    }
    assert_int_equal(accel_session_close(s.session, fork, &error), ACCEL_OK);
    assert_int_equal(atomic_load(&allocations), before);
    assert_true(accel_session_sequence_length(s.session, other) < 64 + 1);
    end(&s);
}

/* ---- cancel ---- */

enum { LONG = 1000 };

struct canceller {
    struct accel_session *session;
    atomic_int asked; /* 1: cancel now */
    atomic_int done;
    uint64_t at;    /* when it did, nanoseconds */
    uint64_t ended; /* when the feed did */
    long delay;     /* before, nanoseconds */
};

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void *cancel(void *data)
{
    struct canceller *c = data;
    const struct timespec delay = {0, c->delay}, pause = {0, 100000};

    while (!atomic_load(&c->asked))
        nanosleep(&pause, NULL);
    nanosleep(&delay, NULL);
    c->at = now();
    accel_session_cancel(c->session);
    atomic_store(&c->done, 1);
    return NULL;
}

static void fill_ids(int32_t *ids)
{
    for (int32_t i = 0; i < LONG; i++)
        ids[i] = 3 + i * 37 % 590;
}

/* Logits after all ids, without interruption. */
static float *reference(struct subject *s, const int32_t *ids)
{
    struct accel_error error = {0};
    float *copy = calloc(sizes.vocabulary, sizeof(*copy));
    const float *logits;

    assert_non_null(copy);
    OK(accel_session_truncate(s->session, 0, &error));
    OK(accel_session_feed(s->session, ids, LONG, &logits, &error));
    memcpy(copy, logits, sizes.vocabulary * sizeof(*copy));
    OK(accel_session_truncate(s->session, 0, &error));
    return copy;
}

/* Feeds all ids while another thread cancels after c->delay. */
static int32_t feed_and_cancel(struct canceller *c, const int32_t *ids, struct accel_error *error)
{
    const float *logits;
    pthread_t thread;
    int32_t code;

    atomic_store(&c->asked, 0);
    atomic_store(&c->done, 0);
    accel_error_clear(error);
    assert_int_equal(accel_session_truncate(c->session, 0, error), ACCEL_OK);
    assert_int_equal(pthread_create(&thread, NULL, cancel, c), 0);
    atomic_store(&c->asked, 1);
    code = accel_session_feed(c->session, ids, LONG, &logits, error);
    c->ended = now();
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(code == ACCEL_OK ? logits != NULL : logits == NULL);
    return code;
}

/* Cancels in the middle of a feed: later when the cancel came before it began, sooner when it came after its end. */
static void cancel_in_the_middle(struct canceller *c, const int32_t *ids)
{
    struct accel_error error = {0};
    const float *logits;

    for (uint32_t round = 0; round < 20; round++) {
        int32_t code = feed_and_cancel(c, ids, &error);

        if (code == ACCEL_E_CANCELLED && accel_session_length(c->session) > 0) {
            assert_non_null(strstr(error.text, "cancelled; tokens in the context: "));
            return;
        }
        c->delay = code == ACCEL_OK ? c->delay / 2 : c->delay * 2;
        if (code == ACCEL_OK && accel_session_truncate(c->session, 0, NULL) == ACCEL_OK)
            assert_int_equal(accel_session_feed(c->session, ids, 1, &logits, NULL), ACCEL_E_CANCELLED);
        else
            assert_int_equal(code, ACCEL_E_CANCELLED);
    }
    fail_msg("no cancel came in the middle of a feed");
}

/* The feed ends between two of its steps, and going on from there gives the logits of an uninterrupted feed. */
static void test_cancel_feed(void **state)
{
    struct subject s;
    struct canceller c = {.delay = 50000000};
    struct accel_error error = {0};
    const float *logits;
    int32_t ids[LONG];
    float *expected;
    uint64_t length;

    begin(&s, *state, "4tok");
    fill_ids(ids);
    expected = reference(&s, ids);
    c.session = s.session;
    cancel_in_the_middle(&c, ids);
    length = accel_session_length(s.session);
    print_message("threads %s: ended %.2f ms after the cancel, %llu of %d tokens done\n", (const char *)*state,
                  (double)(c.ended - c.at) / 1e6, (unsigned long long)length, LONG);
    assert_true(length > 0 && length < LONG && length % 4 == 0);
    OK(accel_session_feed(s.session, ids + length, LONG - length, &logits, &error));
    assert_memory_equal(logits, expected, sizes.vocabulary * sizeof(*logits));
    OK(accel_session_truncate(s.session, 8, &error));
    OK(accel_session_feed(s.session, ids + 8, LONG - 8, &logits, &error));
    assert_memory_equal(logits, expected, sizes.vocabulary * sizeof(*logits));
    free(expected);
    end(&s);
}

/* At the tenth token the other thread cancels, before the listener returns. */
static int32_t wait_for_cancel(void *data, int32_t id, const char *text, size_t bytes)
{
    struct canceller *c = data;
    const struct timespec pause = {0, 100000};

    (void)id;
    (void)text;
    (void)bytes;
    if (++c->delay == 10) {
        c->delay = 0;
        atomic_store(&c->asked, 1);
        while (!atomic_load(&c->done))
            nanosleep(&pause, NULL);
    }
    return 0;
}

static void test_cancel_text(void **state)
{
    struct subject s;
    struct canceller c = {0};
    struct accel_generate_options options = {
        .size = sizeof(options), .flags = ACCEL_GENERATE_PAST_END, .text = wait_for_cancel, .data = &c};
    struct accel_generate_result result = {.size = sizeof(result)};
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_error error = {0};
    const float *logits;
    int32_t ids[LONG];
    float *expected;
    pthread_t thread;

    begin(&s, *state, "16tok");
    fill_ids(ids);
    expected = reference(&s, ids);
    OK(accel_tokenizer_create_file(accel_model_file_of(s.model), &tokenizer, &error));
    c.session = s.session;
    assert_int_equal(pthread_create(&thread, NULL, cancel, &c), 0);
    assert_int_equal(accel_generate(s.session, tokenizer, ids, 20, &options, &result, &error), ACCEL_E_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(result.prompt_tokens, 20);
    assert_int_equal(result.tokens, 10);
    assert_int_equal(result.steps, 9);
    assert_int_equal(accel_session_length(s.session), 29);
    OK(accel_session_truncate(s.session, 16, &error));
    OK(accel_session_feed(s.session, ids + 16, LONG - 16, &logits, &error));
    assert_memory_equal(logits, expected, sizes.vocabulary * sizeof(*logits));
    accel_tokenizer_free(tokenizer);
    free(expected);
    end(&s);
}

/* Without a feed in progress the next one is cancelled, and only that one. */
static void test_cancel_before(void **state)
{
    struct subject s;
    struct accel_error error = {0};
    const float *logits;
    const int32_t id = 5;

    begin(&s, *state, "16tok");
    accel_session_cancel(s.session);
    assert_int_equal(accel_session_feed(s.session, &id, 1, &logits, &error), ACCEL_E_CANCELLED);
    assert_int_equal(accel_session_length(s.session), 0);
    OK(accel_session_feed(s.session, &id, 1, &logits, &error));
    end(&s);
}

int main(void)
{
    static char one[] = "1", two[] = "2";
    const struct CMUnitTest tests[] = {
        {"no allocation in a step, 1 thread", test_allocations, NULL, NULL, one},
        {"no allocation in a step, 2 threads", test_allocations, NULL, NULL, two},
        {"no allocation in a step of several sequences, 1 thread", test_step_allocations, NULL, NULL, one},
        {"no allocation in a step of several sequences, 2 threads", test_step_allocations, NULL, NULL, two},
        {"a long feed is cancelled, 1 thread", test_cancel_feed, NULL, NULL, one},
        {"a long feed is cancelled, 2 threads", test_cancel_feed, NULL, NULL, two},
        {"a text is cancelled", test_cancel_text, NULL, NULL, two},
        {"a cancel before the feed", test_cancel_before, NULL, NULL, one},
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
