/* SPDX-License-Identifier: Apache-2.0 */
/* Tokenizers made in the test: components one by one, refusals by name, long inputs, broken bytes, streams. */
#include <math.h>

#include "tests/unit/token_support.h"

#define MARK "\xe2\x96\x81"

static int32_t make(const char *json, struct accel_tokenizer **out_tokenizer, struct accel_error *error)
{
    memset(error, 0, sizeof(*error));
    return accel_tokenizer_create_json(json, strlen(json), NULL, 0, "t.json", out_tokenizer, error);
}

/* A tokenizer whose model knows ASCII letters, the blank, the mark and a few joins. */
static struct accel_tokenizer *small(const char *parts)
{
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_error error = {0};
    char json[4096];

    snprintf(json, sizeof(json),
             "{\"model\":{\"type\":\"BPE\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"a\":1,\"b\":2,\"c\":3,\" \":4,"
             "\"" MARK "\":5,\"ab\":6,\"" MARK "a\":7,\"1\":8,\".\":9,\"abc\":10,\"A\":11,\"\xc3\xa9\":12,\"e\":13},"
             "\"merges\":[\"a b\",[\"" MARK "\",\"a\"],\"ab c\"]}%s}",
             parts);
    expect_ok(make(json, &tokenizer, &error), &error);
    return tokenizer;
}

static void expect_ids(const struct accel_tokenizer *tokenizer, const char *text, uint32_t flags, const char *wanted)
{
    struct accel_token_list list = {0};
    struct accel_error error = {0};
    char got[512] = "";
    size_t used = 0;

    expect_ok(accel_tokenizer_encode(tokenizer, text, strlen(text), flags, &list, &error), &error);
    for (size_t i = 0; i < list.count; i++)
        used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%d", i == 0 ? "" : " ", (int)list.ids[i]);
    assert_string_equal(got, wanted);
    accel_token_list_free(&list);
}

/* A character map of three strings: A becomes a, e with an acute accent becomes one character, A1 becomes a full stop.
 */
#define CHARSMAP                                                                                                       \
    "qAIAAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"             \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"             \
    "AAAAAAAAAAAAAAAAAAACAACAgQUAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"             \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABBBQAAAAAAgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"             \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"             \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABlBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"             \
    "AAAxBQAABQAAgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"             \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"             \
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"             \
    "AAAAAADMBAAAYQDDqQAuAA=="

/* One row: what the file says beside its model, a text, the ids. Checked with the reference implementation. */
static const struct {
    const char *parts, *text, *ids;
} steps[] = {
    {"", "abc ab", "10 4 6"},
    {"", "zz", "0 0"},
    {",\"normalizer\":{\"type\":\"Lowercase\"}", "ABC", "10"},
    {",\"normalizer\":{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}", "  a\t", "1"},
    {",\"normalizer\":{\"type\":\"NFC\"}", "e\xcc\x81", "12"},
    {",\"normalizer\":{\"type\":\"NFD\"}", "\xc3\xa9", "13 0"},
    {",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFD\"},{\"type\":\"StripAccents\"}]}",
     "\xc3\xa9", "13"},
    {",\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\s+\"},\"content\":\" \"}", "a \t\n b",
     "1 4 2"},
    {",\"normalizer\":{\"type\":\"Prepend\",\"prepend\":\"b\"}", "a", "2 1"},
    {",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"b\"},\"behavior\":\"Removed\"}", "abba", "1 1"},
    {",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"b\"},\"behavior\":\"Isolated\"}", "abc",
     "1 2 3"},
    {",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"b\"},\"behavior\":\"MergedWithPrevious\"}",
     "abc", "6 3"},
    {",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},\"behavior\":\"MergedWithNext\"}", "babc",
     "2 10"},
    {",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[ab]\"},\"behavior\":\"Contiguous\"}", "abc",
     "6 3"},
    {",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[ab]+\"},\"behavior\":\"Removed\","
     "\"invert\":true}",
     "1ab.c", "6"},
    {",\"pre_tokenizer\":{\"type\":\"Digits\",\"individual_digits\":true}", "a11b", "1 8 8 2"},
    {",\"pre_tokenizer\":{\"type\":\"Punctuation\"}", "ab.c", "6 9 3"},
    {",\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"}",
     "a b\xe2\x80\x83"
     "c",
     "1 2 3"},
    {",\"pre_tokenizer\":{\"type\":\"Whitespace\"}", "a. b", "1 9 2"},
    {",\"pre_tokenizer\":{\"type\":\"CharDelimiterSplit\",\"delimiter\":\".\"}", "ab.c", "6 3"},
    {",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"" MARK "\",\"prepend_scheme\":\"always\"}", "a ab",
     "7 5 6"},
    {",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"" MARK "\",\"prepend_scheme\":\"never\"}", "a a",
     "1 7"},
    {",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"" MARK "\",\"add_prefix_space\":false}", "b", "2"},
    {",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[a[.1]]+\"},\"behavior\":\"Isolated\"}", "ab.1c",
     "1 2 9 8 3"},
    {",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[\\\\p{L}&&[^b]]+\"},\"behavior\":\"Isolated\"}",
     "abc", "1 2 3"},
    {",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[^a&&[ab]]+\"},\"behavior\":\"Isolated\"}",
     "abcab", "1 2 3 1 2"},
    {",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(?=b)\"},\"behavior\":\"Isolated\"}", "abab",
     "1 2 1 2"},
    {",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(?=c)\"},\"behavior\":\"Contiguous\"}", "abc",
     "6 3"},
    {",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"c$\"},\"behavior\":\"Isolated\"}", "abc\nabc",
     "6 3 0 6 3"},
    {",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[^\\\\S\\\\n]+\"},\"behavior\":\"Isolated\"}",
     "a \nb", "1 4 0 2"},
    {",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\b1\"},\"behavior\":\"Isolated\"}", "a1 1",
     "1 8 4 8"},
    {",\"normalizer\":{\"type\":\"BertNormalizer\"}",
     "A\xcc\x81\tB\x07\xe2\x80\x8d"
     "c",
     "1 4 2 3"},
    {",\"normalizer\":{\"type\":\"BertNormalizer\"}",
     "a\xe4\xb8\xad"
     "b",
     "1 4 0 4 2"},
    {",\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":false,\"handle_chinese_chars\":false,\"lowercase\":"
     "false}",
     "A\xc3\xa9\t", "11 12 0"},
    {",\"normalizer\":{\"type\":\"BertNormalizer\",\"strip_accents\":true,\"lowercase\":false}",
     "A\xc3\xa9 \xcd\xb8 \xee\x80\x80"
     "a",
     "11 13 4 0 4 1"},
    {",\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}", "ab.c a", "6 9 3 1"},
    {",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"" CHARSMAP "\"}",
     "AA1e\xcc\x81"
     "c",
     "1 1 8 12 3"},
    {",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"" CHARSMAP "\"}", "bA\xcc\x81", "2 1"},
    {",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"" CHARSMAP "\"}",
     "A\xcc\x81\xcc\x81\xcc\x81", "1 0 0 0"},
};

static void test_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct accel_tokenizer *tokenizer = small(steps[i].parts);

        print_message("%s\n", steps[i].parts);
        expect_ids(tokenizer, steps[i].text, 0, steps[i].ids);
        accel_tokenizer_free(tokenizer);
    }
}

static void test_added_tokens(void **state)
{
    struct accel_tokenizer *tokenizer =
        small(",\"normalizer\":{\"type\":\"Lowercase\"},\"added_tokens\":["
              "{\"id\":20,\"content\":\"<s>\",\"special\":true,\"normalized\":false},"
              "{\"id\":21,\"content\":\"<s>a\",\"special\":false,\"normalized\":false},"
              "{\"id\":22,\"content\":\"CAB\",\"special\":false,\"normalized\":true},"
              "{\"id\":23,\"content\":\"[M]\",\"special\":true,\"normalized\":false,\"lstrip\":true,\"rstrip\":true},"
              "{\"id\":24,\"content\":\"bb\",\"special\":false,\"normalized\":false,\"single_word\":true}],"
              "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}},"
              "{\"Sequence\":{\"id\":\"A\"}}],\"special_tokens\":{\"<s>\":{\"ids\":[20,20]}}}");
    struct accel_token_text text;
    struct accel_error error = {0};
    int32_t id = 0;

    (void)state;
    expect_ids(tokenizer, "<s>b", ACCEL_ENCODE_PARSE_SPECIAL, "20 2");
    expect_ids(tokenizer, "<s>b", 0, "0 0 0 2");
    expect_ids(tokenizer, "<s>ab", ACCEL_ENCODE_PARSE_SPECIAL, "21 2");
    expect_ids(tokenizer, "cabCAB", 0, "22 22");
    expect_ids(tokenizer, "a  [M] \n b", ACCEL_ENCODE_PARSE_SPECIAL, "1 23 2");
    expect_ids(tokenizer, "bb abb bb.", 0, "24 4 6 2 4 24 9");
    expect_ids(tokenizer, "", ACCEL_ENCODE_ADD_SPECIAL, "20 20");
    assert_true(accel_tokenizer_is_special(tokenizer, 20));
    assert_false(accel_tokenizer_is_special(tokenizer, 21));
    assert_int_equal(accel_tokenizer_size(tokenizer), 25);
    expect_ok(accel_tokenizer_token(tokenizer, 24, &text, &error), &error);
    assert_memory_equal(text.data, "bb", 3 - 1);
    assert_int_equal(accel_tokenizer_token(tokenizer, 15, &text, &error), ACCEL_E_NOT_FOUND);
    memset(&error, 0, sizeof(error));
    expect_ok(accel_tokenizer_find(tokenizer, "<s>", 3, &id, &error), &error);
    assert_int_equal(id, 20);
    assert_int_equal(accel_tokenizer_special(tokenizer, ACCEL_TOKEN_UNK), 0);
    assert_int_equal(accel_tokenizer_special(tokenizer, ACCEL_TOKEN_BOS), -1);
    accel_tokenizer_free(tokenizer);
}

#define MODEL "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[]}"

/* Files that must be refused, and a word that the message must hold. */
static const struct {
    const char *json, *word;
    int32_t code;
} refusals[] = {
    {"{", "t.json:1:1", ACCEL_E_CORRUPT},
    {"[]", "model", ACCEL_E_CORRUPT},
    {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":[]}}", "model: \"WordLevel\"", ACCEL_E_UNSUPPORTED},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[]}}", "model.vocab", ACCEL_E_CORRUPT},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0],[\"b\"]]}}", "model.vocab[1]", ACCEL_E_CORRUPT},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0]],\"unk_id\":1}}", "model.unk_id", ACCEL_E_CORRUPT},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0},\"unk_token\":\"u\"}}", "unk_token", ACCEL_E_CORRUPT},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0},\"max_input_chars_per_word\":-1}}",
     "model.max_input_chars_per_word", ACCEL_E_CORRUPT},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":[],\"merges\":[]}}", "model.vocab", ACCEL_E_CORRUPT},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":2000000000},\"merges\":[]}}", "model.vocab[\"a\"]",
     ACCEL_E_CORRUPT},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}", "model.vocab[\"a\"]", ACCEL_E_CORRUPT},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}", "two tokens", ACCEL_E_CORRUPT},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a\"]}}", "model.merges[0]", ACCEL_E_CORRUPT},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a a\"]}}", "\"aa\"", ACCEL_E_CORRUPT},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a z\"]}}", "\"z\"", ACCEL_E_CORRUPT},
    {"{\"model\":{\"type\":\"BPE\",\"dropout\":0.1,\"vocab\":{\"a\":0},\"merges\":[]}}", "dropout",
     ACCEL_E_UNSUPPORTED},
    {"{\"model\":{\"type\":\"BPE\",\"unk_token\":\"u\",\"vocab\":{\"a\":0},\"merges\":[]}}", "unk_token",
     ACCEL_E_CORRUPT},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Nmt\"}}", "normalizer: \"Nmt\"", ACCEL_E_UNSUPPORTED},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Precompiled\"}}", "normalizer.precompiled_charsmap", ACCEL_E_CORRUPT},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AA*A\"}}",
     "normalizer.precompiled_charsmap", ACCEL_E_CORRUPT},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAAAAAA\"}}",
     "normalizer: 6 bytes", ACCEL_E_CORRUPT},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[a&&]\"},\"behavior\":\"Isolated\"}}",
     "an empty class", ACCEL_E_UNSUPPORTED},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[a[b]\"},\"behavior\":\"Isolated\"}}",
     "without an end", ACCEL_E_UNSUPPORTED},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[[[[[[[[[[[[[[[[[[[[a\"},"
     "\"behavior\":\"Isolated\"}}",
     "nested deeper", ACCEL_E_LIMIT},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\"},"
     "{\"type\":\"UnicodeScripts\"}]}}",
     "pre_tokenizer.pretokenizers[1]: \"UnicodeScripts\"", ACCEL_E_UNSUPPORTED},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\"},\"behavior\":\"Isolated\"}}",
     "pre_tokenizer", ACCEL_E_UNSUPPORTED},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"x\"},\"behavior\":\"Odd\"}}", "Odd",
     ACCEL_E_UNSUPPORTED},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"use_regex\":3}}", "use_regex", ACCEL_E_CORRUPT},
    {"{" MODEL ",\"decoder\":{\"type\":\"CTC\"}}", "decoder: \"CTC\"", ACCEL_E_UNSUPPORTED},
    {"{" MODEL ",\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},{\"type\":\"Strip\","
     "\"content\":\" \",\"start\":0,\"stop\":1}]}}",
     "Fuse", ACCEL_E_UNSUPPORTED},
    {"{" MODEL ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"x\"}}]}}",
     "\"x\"", ACCEL_E_CORRUPT},
    {"{" MODEL ",\"post_processor\":{\"type\":\"Other\"}}", "Other", ACCEL_E_UNSUPPORTED},
    {"{" MODEL ",\"added_tokens\":[{\"id\":0,\"content\":\"x\"}]}", "two tokens", ACCEL_E_CORRUPT},
    {"{" MODEL ",\"added_tokens\":[{\"id\":99999999,\"content\":\"x\"}]}", "added_tokens[0].id", ACCEL_E_CORRUPT},
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct accel_tokenizer *tokenizer = NULL;
        struct accel_error error;

        assert_int_equal(make(refusals[i].json, &tokenizer, &error), refusals[i].code);
        assert_null(tokenizer);
        if (strstr(error.text, refusals[i].word) == NULL)
            fail_msg("\"%s\" does not say %s", error.text, refusals[i].word);
        assert_null(strchr(error.text, '\n'));
    }
}

/* Sequence within Sequence, deeper than allowed. */
static void test_depth(void **state)
{
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_error error;
    char json[4096] = "{" MODEL ",\"normalizer\":";

    (void)state;
    for (int i = 0; i < 40; i++)
        strcat(json, "{\"type\":\"Sequence\",\"normalizers\":[");
    strcat(json, "{\"type\":\"NFC\"}");
    for (int i = 0; i < 40; i++)
        strcat(json, "]}");
    strcat(json, "}");
    assert_int_equal(make(json, &tokenizer, &error), ACCEL_E_LIMIT);
}

static void test_encode_arguments(void **state)
{
    struct accel_tokenizer *tokenizer = small("");
    struct accel_token_list list = {0};
    struct accel_error error = {0};

    (void)state;
    expect_ok(accel_tokenizer_encode(tokenizer, "a", 1, 0, &list, &error), &error);
    assert_int_equal(accel_tokenizer_encode(tokenizer, "ab\xff", 3, 0, &list, &error), ACCEL_E_INVALID);
    assert_non_null(strstr(error.text, "byte 2"));
    assert_int_equal(list.count, 1);
    assert_int_equal(accel_tokenizer_encode(tokenizer, "\xed\xa0\x80", 3, 0, &list, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_tokenizer_encode(tokenizer, "\xc3", 1, 0, &list, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_tokenizer_encode(tokenizer, "a", 1, 8, &list, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_tokenizer_encode(NULL, "a", 1, 0, &list, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_tokenizer_encode(tokenizer, "a", (size_t)2 << 30, 0, &list, NULL), ACCEL_E_LIMIT);
    expect_ids(tokenizer, "", 0, "");
    accel_token_list_free(&list);
    accel_tokenizer_free(tokenizer);
}

/* A megabyte without a seam: the time would tell if merging were quadratic; the ids must be right. */
static void test_long_run(const char *file, const char *unit, size_t times)
{
    char path[4096], *text, *decoded = NULL;
    size_t size = strlen(unit) * times, decoded_size = 0;
    struct accel_tokenizer *tokenizer;
    struct accel_token_list list = {0};
    struct accel_error error = {0};

    tree_path(path, file);
    tokenizer = tokenizer_of_json(path);
    text = malloc(size);
    assert_non_null(text);
    for (size_t i = 0; i < times; i++)
        memcpy(text + i * strlen(unit), unit, strlen(unit));
    expect_ok(accel_tokenizer_encode(tokenizer, text, size, 0, &list, &error), &error);
    assert_true(list.count >= times / 8);
    expect_ok(accel_tokenizer_decode(tokenizer, list.ids, list.count, 0, &decoded, &decoded_size, &error), &error);
    assert_int_equal(decoded_size, size);
    assert_memory_equal(decoded, text, size);
    accel_tokenizer_text_free(decoded);
    accel_token_list_free(&list);
    accel_tokenizer_free(tokenizer);
    free(text);
}

static void test_megabyte(void **state)
{
    static const char tiny[] = "tests/fixtures/tokenizers/tiny-bpe/tokenizer.json";
    static const char stories[] = "tests/fixtures/tokenizers/stories260K/tokenizer.json";

    (void)state;
    test_long_run(tiny, "a", 1 << 20);
    test_long_run(tiny, " ", 1 << 20);
    test_long_run(tiny, "the", 1 << 18);
    test_long_run(stories, "a", 1 << 20);
    test_long_run(stories, "he ", 1 << 18);
    test_long_run(stories, "\xf0\x9f\x98\x80", 1 << 16);
}

/* Feeds ids and flushes; returns what came out, which the caller compares. */
static void expect_stream(const struct accel_tokenizer *tokenizer, const int32_t *ids, size_t count,
                          const char *const *wanted)
{
    struct accel_token_stream *stream = NULL;
    struct accel_error error = {0};
    const char *text;
    size_t size;

    expect_ok(accel_token_stream_create(tokenizer, 0, &stream, &error), &error);
    for (int round = 0; round < 2; round++) { /* the second one shows that flush begins anew */
        for (size_t i = 0; i <= count; i++) {
            if (i < count)
                expect_ok(accel_token_stream_push(stream, ids[i], &text, &size, &error), &error);
            else
                expect_ok(accel_token_stream_flush(stream, &text, &size, &error), &error);
            assert_int_equal(size, strlen(wanted[i]));
            assert_memory_equal(text, wanted[i], size);
        }
    }
    accel_token_stream_free(stream);
}

static void test_streams(void **state)
{
    static const char stories[] = "tests/fixtures/tokenizers/stories260K/tokenizer.json";
    char path[4096];
    struct accel_tokenizer *tokenizer;
    int32_t first[] = {410, 3 + 0xf0, 3 + 0x9f, 3 + 0x98, 3 + 0x80, 261};
    static const char *const first_wanted[] = {"", "", "", "", "\xf0\x9f\x98\x80", " a", ""};
    int32_t cut[] = {3 + 0xe2, 3 + 0x82};
    static const char *const cut_wanted[] = {"", "", "\xef\xbf\xbd\xef\xbf\xbd"};
    int32_t broken[] = {3 + 0xe2, 3 + 'x', 99999, -5};
    static const char *const broken_wanted[] = {"", "\xef\xbf\xbdx", "", "", ""};
    struct accel_token_stream *stream = NULL;

    (void)state;
    tree_path(path, stories);
    tokenizer = tokenizer_of_json(path);
    expect_stream(tokenizer, first, 6, first_wanted);
    expect_stream(tokenizer, cut, 2, cut_wanted);
    expect_stream(tokenizer, broken, 4, broken_wanted);
    accel_tokenizer_free(tokenizer);
    tree_path(path, "tests/fixtures/tokenizers/tiny-bpe/tokenizer.json");
    tokenizer = tokenizer_of_json(path);
    {
        struct accel_token_list list = {0};
        struct accel_error error = {0};
        static const char *const wanted[] = {"", "", "", "\xf0\x9f\x98\x80", ""};
        static const char *const half[] = {"", "", "", "\xef\xbf\xbd"};

        expect_ok(accel_tokenizer_encode(tokenizer, "\xf0\x9f\x98\x80", 4, 0, &list, &error), &error);
        assert_int_equal(list.count, 4);
        expect_stream(tokenizer, list.ids, 4, wanted);
        expect_stream(tokenizer, list.ids, 3, half);
        accel_token_list_free(&list);
    }
    assert_int_equal(accel_token_stream_create(tokenizer, 64, &stream, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_token_stream_create(NULL, 0, &stream, NULL), ACCEL_E_INVALID);
    accel_tokenizer_free(tokenizer);
}

/* ---- vocabularies handed over as arrays */

#define TEXT(text)                                                                                                     \
    {                                                                                                                  \
        text, sizeof(text) - 1                                                                                         \
    }

static const struct accel_token_text tokens[] = {TEXT("<unk>"), TEXT("<s>"), TEXT("</s>"), TEXT("a"),
                                                 TEXT("b"),     TEXT("ab"),  TEXT("<x>"),  TEXT("\xc4\xa0")};
static const struct accel_token_text merges[] = {TEXT("a b")};
static const float scores[] = {0, 0, 0, -1, -2, -3, 0, -9};
static const int32_t types[] = {ACCEL_TOKEN_UNKNOWN, ACCEL_TOKEN_CONTROL, ACCEL_TOKEN_CONTROL, ACCEL_TOKEN_NORMAL,
                                ACCEL_TOKEN_NORMAL,  ACCEL_TOKEN_NORMAL,  ACCEL_TOKEN_USER,    ACCEL_TOKEN_NORMAL};

static struct accel_token_vocabulary vocabulary(const char *model, const char *pre)
{
    struct accel_token_vocabulary made = {.size = sizeof(made),
                                          .model = model,
                                          .pre = pre,
                                          .tokens = tokens,
                                          .scores = scores,
                                          .types = types,
                                          .merges = merges,
                                          .token_count = 8,
                                          .merge_count = 1,
                                          .bos = 1,
                                          .eos = 2,
                                          .unk = 0,
                                          .pad = -1,
                                          .add_bos = ACCEL_TOKEN_AS_KIND,
                                          .add_eos = 1,
                                          .add_space_prefix = 0,
                                          .eot = -1,
                                          .remove_extra_whitespaces = ACCEL_TOKEN_AS_KIND,
                                          .lowercase = ACCEL_TOKEN_AS_KIND,
                                          .strip_accents = ACCEL_TOKEN_AS_KIND,
                                          .sep = -1};

    return made;
}

static void expect_refused(const struct accel_token_vocabulary *from, int32_t code, const char *word)
{
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_error error = {0};

    assert_int_equal(accel_tokenizer_create_vocabulary(from, "v.gguf", &tokenizer, &error), code);
    assert_null(tokenizer);
    if (strstr(error.text, word) == NULL && strstr(error.remedy, word) == NULL)
        fail_msg("\"%s\" does not say %s", error.text, word);
}

static void test_vocabulary(void **state)
{
    struct accel_token_vocabulary from = vocabulary("llama", NULL);
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_error error = {0};

    (void)state;
    expect_ok(accel_tokenizer_create_vocabulary(&from, NULL, &tokenizer, &error), &error);
    expect_ids(tokenizer, "ab<x>b<s>", ACCEL_ENCODE_ADD_SPECIAL | ACCEL_ENCODE_PARSE_SPECIAL, "1 5 6 4 1 2");
    expect_ids(tokenizer, "<s>", 0, "0 0 0");
    assert_true(accel_tokenizer_is_end(tokenizer, 2));
    assert_false(accel_tokenizer_is_end(tokenizer, 1));
    assert_null(accel_tokenizer_chat_template(tokenizer));
    accel_tokenizer_free(tokenizer);
    from = vocabulary("gpt2", "smollm");
    from.chat_template = (struct accel_token_text)TEXT("{{ x }}");
    from.eot = 6;
    expect_ok(accel_tokenizer_create_vocabulary(&from, NULL, &tokenizer, &error), &error);
    expect_ids(tokenizer, "ab a", ACCEL_ENCODE_ADD_SPECIAL, "5 7 3 2");
    assert_string_equal(accel_tokenizer_chat_template(tokenizer), "{{ x }}");
    assert_true(accel_tokenizer_is_end(tokenizer, 6));
    accel_tokenizer_free(tokenizer);
}

static void test_vocabulary_refusals(void **state)
{
    struct accel_token_vocabulary from = vocabulary("rwkv", NULL);
    static const float bad_scores[] = {0, 0, 0, -1, -2, (float)NAN, 0, -9};
    static const struct accel_token_text bad_merges[] = {TEXT("ab")};
    static const int32_t bad_types[] = {1, 1, 1, 1, 1, 77, 1, 1};

    (void)state;
    expect_refused(&from, ACCEL_E_UNSUPPORTED, "v.gguf: tokenizer.ggml.model \"rwkv\"");
    expect_refused(&from, ACCEL_E_UNSUPPORTED, "known are: llama gpt2 gemma4 t5 bert; name another conversion");
    from = vocabulary("gpt2", "nobody-knows");
    expect_refused(&from, ACCEL_E_UNSUPPORTED, "nobody-knows");
    from = vocabulary("gpt2", "smollm refact");
    expect_refused(&from, ACCEL_E_UNSUPPORTED, "smollm refact");
    from = vocabulary("gpt2", "smollm");
    from.merges = bad_merges;
    expect_refused(&from, ACCEL_E_CORRUPT, "merges[0]");
    from.merge_count = 0;
    expect_refused(&from, ACCEL_E_CORRUPT, "merges");
    from = vocabulary("llama", NULL);
    from.scores = bad_scores;
    expect_refused(&from, ACCEL_E_CORRUPT, "scores[5]");
    from.scores = NULL;
    expect_refused(&from, ACCEL_E_CORRUPT, "scores");
    from = vocabulary("llama", NULL);
    from.types = bad_types;
    expect_refused(&from, ACCEL_E_CORRUPT, "token_type[5]");
    from = vocabulary("llama", NULL);
    from.bos = 8;
    expect_refused(&from, ACCEL_E_CORRUPT, "bos_token_id");
    from = vocabulary("llama", NULL);
    from.size = 8;
    expect_refused(&from, ACCEL_E_INVALID, "8 bytes");
}

/* tokenizer_config.json: names of special tokens and the chat template in its three forms. */
static void test_config(void **state)
{
    static const char json[] = "{" MODEL "}";
    static const char plain[] = "{\"bos_token\":\"a\",\"eos_token\":{\"content\":\"b\"},\"chat_template\":\"T\"}";
    static const char named[] = "{\"chat_template\":[{\"name\":\"tools\",\"template\":\"U\"},"
                                "{\"name\":\"default\",\"template\":\"V\"}]}";
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_error error = {0};

    (void)state;
    expect_ok(accel_tokenizer_create_json(json, strlen(json), plain, strlen(plain), NULL, &tokenizer, &error), &error);
    assert_int_equal(accel_tokenizer_special(tokenizer, ACCEL_TOKEN_BOS), 0);
    assert_int_equal(accel_tokenizer_special(tokenizer, ACCEL_TOKEN_EOS), 1);
    assert_string_equal(accel_tokenizer_chat_template(tokenizer), "T");
    accel_tokenizer_free(tokenizer);
    expect_ok(accel_tokenizer_create_json(json, strlen(json), named, strlen(named), NULL, &tokenizer, &error), &error);
    assert_string_equal(accel_tokenizer_chat_template(tokenizer), "V");
    accel_tokenizer_free(tokenizer);
    assert_int_equal(accel_tokenizer_create_json(json, strlen(json), "{", 1, NULL, &tokenizer, &error),
                     ACCEL_E_CORRUPT);
    assert_non_null(strstr(error.text, "tokenizer_config.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),    cmocka_unit_test(test_added_tokens),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_depth),
        cmocka_unit_test(test_megabyte), cmocka_unit_test(test_encode_arguments),
        cmocka_unit_test(test_streams),  cmocka_unit_test(test_vocabulary),
        cmocka_unit_test(test_config),   cmocka_unit_test(test_vocabulary_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
