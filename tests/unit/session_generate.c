/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accel_generate with the small trained model: why it stops, what it counts, what its sampling depends on, and that
 * text comes in whole characters, also where these take several byte tokens.
 */
#include <accel/model/generate.h>

#include "session_support.h"

struct subject {
    struct accel_context *context;
    struct accel_model *model;
    struct accel_session *session;
    struct accel_tokenizer *tokenizer;
    struct accel_token_list prompt;
};

static void begin(struct subject *s, const char *context, const char *prompt)
{
    const char *source = getenv("ACCEL_TEST_SRCDIR");
    const struct accel_named_value given[] = {{"context", context, "test"}};
    struct accel_session_options options = {
        .size = sizeof(options), .device = "cpu", .overrides = given, .override_count = 1};
    struct accel_error error = {0};
    char path[PATH_BYTES];

    *s = (struct subject){.context = make_context()};
    snprintf(path, sizeof(path), "%s/samples/stories260K/stories260K-q8_0.gguf", source == NULL ? "." : source);
    OK(accel_model_open(path, NULL, &s->model, &error));
    OK(accel_session_create(s->context, s->model, &options, &s->session, &error));
    OK(accel_session_load(s->session, &error));
    OK(accel_tokenizer_create_file(accel_model_file_of(s->model), &s->tokenizer, &error));
    OK(accel_tokenizer_encode(s->tokenizer, prompt, strlen(prompt), ACCEL_ENCODE_ADD_SPECIAL, &s->prompt, &error));
}

static void end(struct subject *s)
{
    accel_token_list_free(&s->prompt);
    accel_tokenizer_free(s->tokenizer);
    close_all(s->session, s->model, s->context);
}

/* What a listener heard. */
struct heard {
    char text[8192];
    size_t bytes;
    int32_t ids[1024];
    uint32_t count;
    uint32_t stop_after; /* 0: never */
};

static uint32_t is_whole_utf8(const unsigned char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes;) {
        uint32_t more = text[i] < 0x80 ? 0 : text[i] >= 0xf0 ? 3 : text[i] >= 0xe0 ? 2 : text[i] >= 0xc2 ? 1 : 9;

        if (more == 9 || i + more >= bytes)
            return 0;
        for (uint32_t m = 1; m <= more; m++)
            if ((text[i + m] & 0xc0) != 0x80)
                return 0;
        i += more + 1;
    }
    return 1;
}

static int32_t hear(void *data, int32_t id, const char *text, size_t bytes)
{
    struct heard *heard = data;

    assert_true(is_whole_utf8((const unsigned char *)text, bytes));
    assert_true(heard->bytes + bytes < sizeof(heard->text) && heard->count < 1024);
    if (bytes > 0)
        memcpy(heard->text + heard->bytes, text, bytes);
    heard->bytes += bytes;
    if (id >= 0)
        heard->ids[heard->count++] = id;
    return heard->stop_after != 0 && heard->count == heard->stop_after;
}

static struct accel_generate_result write_text(struct subject *s, const struct accel_sampling *sampling,
                                               uint64_t tokens, uint32_t flags, struct heard *heard)
{
    struct accel_generate_options options = {
        .size = sizeof(options), .flags = flags, .tokens = tokens, .sampling = sampling, .text = hear, .data = heard};
    struct accel_generate_result result = {.size = sizeof(result)};
    struct accel_error error = {0};

    OK(accel_session_truncate(s->session, 0, &error));
    OK(accel_generate(s->session, s->tokenizer, s->prompt.ids, s->prompt.count, &options, &result, &error));
    assert_int_equal(result.prompt_tokens, s->prompt.count);
    assert_int_equal(result.tokens, heard->count);
    assert_true(result.prompt_time > 0 && result.first_token_time >= result.prompt_time);
    return result;
}

/* ---- stops ---- */

static void test_length(void **state)
{
    struct subject s;
    struct heard heard = {0};
    struct accel_generate_result result = {.size = sizeof(result)};

    (void)state;
    begin(&s, "512tok", "Once upon a time");
    result = write_text(&s, NULL, 20, 0, &heard);
    assert_int_equal(result.stop, ACCEL_STOP_LENGTH);
    assert_int_equal(result.tokens, 20);
    assert_int_equal(result.steps, 19); /* the last token is handed out, and not fed */
    assert_int_equal(accel_session_length(s.session), s.prompt.count + 19);
    assert_true(result.decode_time > 0);
    heard = (struct heard){0};
    result = write_text(&s, NULL, 1, 0, &heard);
    assert_int_equal(result.stop, ACCEL_STOP_LENGTH);
    assert_int_equal(result.steps, 0);
    end(&s);
}

static void test_caller(void **state)
{
    struct subject s;
    struct heard heard = {.stop_after = 7};
    struct accel_generate_result result = {.size = sizeof(result)};

    (void)state;
    begin(&s, "512tok", "Once upon a time");
    result = write_text(&s, NULL, 0, 0, &heard);
    assert_int_equal(result.stop, ACCEL_STOP_CALLER);
    assert_int_equal(result.tokens, 7);
    assert_int_equal(result.steps, 6);
    end(&s);
}

static void test_context(void **state)
{
    struct subject s;
    struct heard heard = {0};
    struct accel_generate_result result = {.size = sizeof(result)};

    (void)state;
    begin(&s, "32tok", "Once upon a time");
    result = write_text(&s, NULL, 0, 0, &heard);
    assert_int_equal(result.stop, ACCEL_STOP_CONTEXT);
    assert_int_equal(accel_session_length(s.session), 32);
    assert_int_equal(result.tokens, 32 - s.prompt.count + 1); /* the last one is written, and not cached */
    assert_int_equal(result.steps, 32 - s.prompt.count);
    end(&s);
}

/* A sampled text comes to its end; past it only where the caller says so, by the same tokens up to there. */
static void test_end(void **state)
{
    struct subject s;
    struct heard heard = {0}, longer = {0};
    struct accel_generate_result result = {.size = sizeof(result)};
    struct accel_sampling sampling;

    (void)state;
    begin(&s, "512tok", "Once upon a time");
    accel_sampling_init(&sampling);
    sampling.temperature = 1.0f;
    for (sampling.seed = 0; sampling.seed < 50; sampling.seed++) {
        heard = (struct heard){0};
        result = write_text(&s, &sampling, 0, 0, &heard);
        if (result.stop == ACCEL_STOP_END)
            break;
    }
    assert_int_equal(result.stop, ACCEL_STOP_END);
    assert_int_equal(result.steps, result.tokens); /* the end token is not counted, all before it were fed */
    assert_int_equal(accel_session_length(s.session), s.prompt.count + result.tokens);
    result = write_text(&s, &sampling, heard.count + 5u, ACCEL_GENERATE_PAST_END, &longer);
    assert_int_equal(result.stop, ACCEL_STOP_LENGTH);
    assert_memory_equal(longer.ids, heard.ids, heard.count * sizeof(*heard.ids));
    assert_true(longer.ids[heard.count] == accel_model_facts_of(s.model)->bos ||
                accel_tokenizer_is_end(s.tokenizer, longer.ids[heard.count]));
    end(&s);
}

static void test_refusals(void **state)
{
    struct subject s;
    struct accel_generate_options options = {.size = sizeof(options)};
    struct accel_generate_result result = {.size = sizeof(result)};
    struct accel_error error = {0};
    const int32_t outside[] = {1, 100000};

    (void)state;
    begin(&s, "32tok",
          "Once upon a time, there was a little girl named Lily. She loved to play in the park with her "
          "friends and her big red ball.");
    assert_true(s.prompt.count > 32);
    assert_int_equal(accel_generate(s.session, s.tokenizer, s.prompt.ids, s.prompt.count, &options, &result, &error),
                     ACCEL_E_LIMIT);
    assert_int_equal(result.tokens, 0);
    accel_error_clear(&error);
    assert_int_equal(accel_generate(s.session, s.tokenizer, outside, 2, &options, &result, &error), ACCEL_E_INVALID);
    assert_int_equal(accel_generate(s.session, s.tokenizer, outside, 0, &options, &result, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_session_length(s.session), 0);
    end(&s);
}

/* ---- sampling ---- */

static void test_seeds(void **state)
{
    struct subject s;
    struct heard first = {0}, again = {0}, other = {0};
    struct accel_sampling sampling;

    (void)state;
    begin(&s, "512tok", "Once upon a time");
    accel_sampling_init(&sampling);
    sampling.temperature = 1.0f;
    sampling.seed = 7;
    write_text(&s, &sampling, 60, ACCEL_GENERATE_PAST_END, &first);
    write_text(&s, &sampling, 60, ACCEL_GENERATE_PAST_END, &again);
    sampling.seed = 8;
    write_text(&s, &sampling, 60, ACCEL_GENERATE_PAST_END, &other);
    assert_int_equal(first.count, 60);
    assert_memory_equal(first.ids, again.ids, 60 * sizeof(*first.ids));
    assert_string_equal(first.text, again.text);
    assert_memory_not_equal(first.ids, other.ids, 60 * sizeof(*first.ids));
    end(&s);
}

static uint32_t count_different(const struct heard *heard)
{
    uint32_t different = 0;

    for (uint32_t i = 0; i < heard->count; i++) {
        uint32_t before = 0;

        while (before < i && heard->ids[before] != heard->ids[i])
            before++;
        different += before == i;
    }
    return different;
}

/* With a very high penalty no token comes twice while others are left, and none of the prompt. */
static void test_penalty(void **state)
{
    struct subject s;
    struct heard plain = {0}, penalised = {0};
    struct accel_sampling sampling;

    (void)state;
    begin(&s, "512tok", "Once upon a time");
    accel_sampling_init(&sampling);
    write_text(&s, &sampling, 60, ACCEL_GENERATE_PAST_END, &plain);
    sampling.repetition_penalty = 1e6f;
    write_text(&s, &sampling, 60, ACCEL_GENERATE_PAST_END, &penalised);
    assert_true(count_different(&plain) < 60);
    assert_int_equal(count_different(&penalised), 60);
    for (uint32_t i = 0; i < 60; i++)
        for (size_t p = 0; p < s.prompt.count; p++)
            assert_int_not_equal(penalised.ids[i], s.prompt.ids[p]);
    end(&s);
}

/* ---- whole characters ---- */

/* Byte tokens of a text, as a model that spells everything would write them, pushed one by one. */
static void stream_bytes(const struct subject *s, const char *text, const char *expected)
{
    struct accel_token_stream *stream = NULL;
    struct accel_error error = {0};
    char all[256];
    size_t used = 0;

    OK(accel_token_stream_create(s->tokenizer, ACCEL_DECODE_SKIP_SPECIAL, &stream, &error));
    for (size_t i = 0; i <= strlen(text); i++) {
        const char *piece = NULL;
        size_t bytes = 0;

        if (i == strlen(text))
            OK(accel_token_stream_flush(stream, &piece, &bytes, &error));
        else
            OK(accel_token_stream_push(stream, 3 + (int32_t)(unsigned char)text[i], &piece, &bytes, &error));
        assert_true(is_whole_utf8((const unsigned char *)piece, bytes));
        assert_true(used + bytes < sizeof(all));
        if (bytes > 0)
            memcpy(all + used, piece, bytes);
        used += bytes;
    }
    all[used] = '\0';
    assert_string_equal(all, expected);
    accel_token_stream_free(stream);
}

static void test_whole_characters(void **state)
{
    struct subject s;

    (void)state;
    begin(&s, "32tok", "a");
    stream_bytes(&s, "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80!", "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80!");
    /* Byte tokens that are no character: one mark for each byte, as the reference has it. */
    stream_bytes(&s, "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd");
    stream_bytes(&s, "\xe2\x82x", "\xef\xbf\xbd\xef\xbf\xbdx");
    stream_bytes(&s, "a\x80z", "a\xef\xbf\xbdz");
    end(&s);
}

/* The text of ids after a prompt, by a stream of the test's own. */
static size_t stream_ids(const struct subject *s, const struct heard *heard, char *text, size_t room)
{
    struct accel_token_stream *stream = NULL;
    struct accel_error error = {0};
    const char *piece;
    size_t used = 0, bytes = 0;

    OK(accel_token_stream_create(s->tokenizer, ACCEL_DECODE_SKIP_SPECIAL, &stream, &error));
    for (size_t i = 0; i < s->prompt.count; i++)
        OK(accel_token_stream_push(stream, s->prompt.ids[i], &piece, &bytes, &error));
    for (uint32_t i = 0; i <= heard->count; i++) {
        if (i == heard->count)
            OK(accel_token_stream_flush(stream, &piece, &bytes, &error));
        else
            OK(accel_token_stream_push(stream, heard->ids[i], &piece, &bytes, &error));
        assert_true(used + bytes < room);
        if (bytes > 0)
            memcpy(text + used, piece, bytes);
        used += bytes;
    }
    accel_token_stream_free(stream);
    return used;
}

/* Hot sampling over the whole vocabulary writes byte tokens in any order: every piece is whole (hear checks each), and
 * none is lost, the rest at the end included. */
static void test_hot_text(void **state)
{
    struct subject s;
    uint32_t from_bytes = 0;

    (void)state;
    begin(&s, "512tok", "\xe2\x82\xac \xf0\x9f\x98\x80 caf\xc3\xa9");
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct heard heard = {0};
        struct accel_sampling sampling;
        char expected[8192];

        accel_sampling_init(&sampling);
        sampling.temperature = 50.0f;
        sampling.seed = seed;
        write_text(&s, &sampling, 300, ACCEL_GENERATE_PAST_END, &heard);
        assert_int_equal(stream_ids(&s, &heard, expected, sizeof(expected)), heard.bytes);
        assert_memory_equal(expected, heard.text, heard.bytes);
        for (uint32_t i = 0; i < heard.count; i++)
            from_bytes += heard.ids[i] >= 3 + 0x80 && heard.ids[i] < 259;
    }
    assert_true(from_bytes > 50);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_length),  cmocka_unit_test(test_caller),           cmocka_unit_test(test_context),
        cmocka_unit_test(test_end),     cmocka_unit_test(test_refusals),         cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_penalty), cmocka_unit_test(test_whole_characters), cmocka_unit_test(test_hot_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
