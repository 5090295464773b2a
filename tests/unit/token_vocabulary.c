/* SPDX-License-Identifier: Apache-2.0 */
/* Tokenizers of GGUF vocabularies and SentencePiece models made in the test: unigram, WordPiece, merged characters. */
#include "tests/unit/token_support.h"

#define MARK "\xe2\x96\x81"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TEXT(text)                                                                                                     \
    {                                                                                                                  \
        text, sizeof(text) - 1                                                                                         \
    }

static void expect_ids(const struct accel_tokenizer *tokenizer, const char *text, const char *wanted,
                       const char *decoded)
{
    struct accel_token_list list = {0};
    struct accel_error error = {0};
    char got[512] = "", *back = NULL;
    size_t used = 0, size;

    expect_ok(accel_tokenizer_encode(tokenizer, text, strlen(text),
                                     ACCEL_ENCODE_ADD_SPECIAL | ACCEL_ENCODE_PARSE_SPECIAL, &list, &error),
              &error);
    for (size_t i = 0; i < list.count; i++)
        used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%d", i == 0 ? "" : " ", (int)list.ids[i]);
    assert_string_equal(got, wanted);
    expect_ok(accel_tokenizer_decode(tokenizer, list.ids, list.count, ACCEL_DECODE_SKIP_SPECIAL, &back, &size, &error),
              &error);
    assert_string_equal(back, decoded);
    accel_tokenizer_text_free(back);
    accel_token_list_free(&list);
}

static struct accel_token_vocabulary base(const char *model)
{
    struct accel_token_vocabulary made = {.size = sizeof(made),
                                          .model = model,
                                          .bos = -1,
                                          .eos = -1,
                                          .unk = -1,
                                          .pad = -1,
                                          .add_bos = ACCEL_TOKEN_AS_KIND,
                                          .add_eos = ACCEL_TOKEN_AS_KIND,
                                          .add_space_prefix = ACCEL_TOKEN_AS_KIND,
                                          .eot = -1,
                                          .remove_extra_whitespaces = ACCEL_TOKEN_AS_KIND,
                                          .lowercase = ACCEL_TOKEN_AS_KIND,
                                          .strip_accents = ACCEL_TOKEN_AS_KIND,
                                          .sep = -1};

    return made;
}

static struct accel_tokenizer *create(const struct accel_token_vocabulary *from)
{
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_error error = {0};

    expect_ok(accel_tokenizer_create_vocabulary(from, "v.gguf", &tokenizer, &error), &error);
    return tokenizer;
}

static const struct accel_token_text pieces[] = {TEXT("<unk>"),   TEXT("</s>"), TEXT(MARK), TEXT("a"),
                                                 TEXT(MARK "ab"), TEXT("ab"),   TEXT("b"),  TEXT("<x>")};
static const float scores[] = {0, 0, -2, -3, -4, -2, -3, 0};
static const int32_t types[] = {ACCEL_TOKEN_UNKNOWN, ACCEL_TOKEN_CONTROL, ACCEL_TOKEN_NORMAL, ACCEL_TOKEN_NORMAL,
                                ACCEL_TOKEN_NORMAL,  ACCEL_TOKEN_NORMAL,  ACCEL_TOKEN_NORMAL, ACCEL_TOKEN_USER};

static void test_unigram(void **state)
{
    struct accel_token_vocabulary from = base("t5");
    struct accel_tokenizer *tokenizer;

    (void)state;
    from.tokens = pieces;
    from.scores = scores;
    from.types = types;
    from.token_count = COUNT(pieces);
    from.unk = 0;
    from.eos = 1;
    from.add_eos = 1;
    from.add_space_prefix = 1;
    from.remove_extra_whitespaces = 1;
    tokenizer = create(&from);
    /* The mark and "ab" sum up to -4 as the joined token does; the way that was found first stays. */
    expect_ids(tokenizer, "  ab   ba ", "4 2 6 3 1", "ab ba");
    expect_ids(tokenizer, "zzb<x>", "2 0 6 7 1", "b<x>");
    expect_ids(tokenizer, "", "1", "");
    accel_tokenizer_free(tokenizer);
    from.remove_extra_whitespaces = 0;
    from.add_space_prefix = 0;
    tokenizer = create(&from);
    expect_ids(tokenizer, "a  b", "3 2 2 6 1", "a  b");
    accel_tokenizer_free(tokenizer);
}

static const struct accel_token_text words[] = {TEXT("[UNK]"),    TEXT("[CLS]"),   TEXT("[SEP]"),
                                                TEXT(MARK "cat"), TEXT("s"),       TEXT(MARK ","),
                                                TEXT(MARK "s"),   TEXT(MARK "na"), TEXT("ive")};

static void test_wordpiece(void **state)
{
    struct accel_token_vocabulary from = base("bert");
    struct accel_tokenizer *tokenizer;
    struct accel_token_text text;

    (void)state;
    from.tokens = words;
    from.token_count = COUNT(words);
    tokenizer = create(&from);
    expect_ids(tokenizer, "Cats,  S na\xc3\xafve dog", "1 3 4 5 6 7 8 0 2", "[CLS] cats, s naive [UNK] [SEP]");
    expect_ok(accel_tokenizer_token(tokenizer, 4, &text, NULL), &(struct accel_error){0});
    assert_int_equal(text.size, 3);
    assert_memory_equal(text.data, "##s", 3);
    accel_tokenizer_free(tokenizer);
    from.lowercase = 0;
    tokenizer = create(&from);
    expect_ids(tokenizer, "Cats cats", "1 0 3 4 2", "[CLS] [UNK] cats [SEP]");
    accel_tokenizer_free(tokenizer);
}

/* gemma4: merges of characters with marks, bytes for what has no token, and runs of newlines as a whole. */
static void test_characters(void **state)
{
    static const struct accel_token_text tokens[] = {TEXT(MARK),   TEXT("a"),      TEXT(MARK "a"), TEXT("\n"),
                                                     TEXT("\n\n"), TEXT("<0xC3>"), TEXT("<0xA9>")};
    static const int32_t kinds[] = {1, 1, 1, 1, 1, ACCEL_TOKEN_BYTE, ACCEL_TOKEN_BYTE};
    static const struct accel_token_text merges[] = {TEXT(MARK " a")};
    struct accel_token_vocabulary from = base("gemma4");
    struct accel_tokenizer *tokenizer;

    (void)state;
    from.tokens = tokens;
    from.types = kinds;
    from.token_count = COUNT(tokens);
    from.merges = merges;
    from.merge_count = COUNT(merges);
    tokenizer = create(&from);
    expect_ids(tokenizer, "a a\n\na\n\n\n\xc3\xa9", "1 2 4 1 3 3 3 5 6", "a a\n\na\n\n\n\xc3\xa9");
    accel_tokenizer_free(tokenizer);
}

/* ---- SentencePiece models */

struct writer {
    char data[1024];
    size_t size;
};

static void put_bytes(struct writer *out, unsigned number, const char *data, size_t size)
{
    assert_true(number < 16 && size < 128 && out->size + size + 2 < sizeof(out->data));
    out->data[out->size++] = (char)(number << 3 | 2);
    out->data[out->size++] = (char)size;
    memcpy(out->data + out->size, data, size);
    out->size += size;
}

static void put_number(struct writer *out, unsigned number, unsigned value)
{
    unsigned key = number << 3;

    if (key >= 128)
        out->data[out->size++] = (char)(key | 0x80);
    out->data[out->size++] = (char)(key >= 128 ? key >> 7 : key);
    out->data[out->size++] = (char)value;
}

static void put_piece(struct writer *out, const struct accel_token_text *text, float score, int32_t type)
{
    struct writer piece = {.size = 0};

    put_bytes(&piece, 1, text->data, text->size);
    piece.data[piece.size++] = 2 << 3 | 5;
    memcpy(piece.data + piece.size, &score, sizeof(score)); /* little endian, as all machines that are tested */
    piece.size += sizeof(score);
    put_number(&piece, 3, (unsigned)type);
    put_bytes(out, 1, piece.data, piece.size);
}

static struct writer model(unsigned kind)
{
    struct writer out = {.size = 0}, trainer = {.size = 0};

    for (size_t i = 0; i < COUNT(pieces); i++)
        put_piece(&out, &pieces[i], scores[i], types[i]);
    put_number(&trainer, 3, kind);
    put_number(&trainer, 42, 1);
    put_bytes(&out, 2, trainer.data, trainer.size);
    return out;
}

static void test_sentencepiece(void **state)
{
    static const char config[] = "{\"added_tokens_decoder\":{\"9\":{\"content\":\"<y>\",\"special\":true}},"
                                 "\"add_bos_token\":false,\"eos_token\":\"</s>\"}";
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_error error = {0};
    struct writer data = model(1);

    (void)state;
    expect_ok(accel_tokenizer_create_sentencepiece(data.data, data.size, NULL, 0, NULL, &tokenizer, &error), &error);
    expect_ids(tokenizer, "  ab   ba ", "4 2 6 3 1", "ab ba");
    accel_tokenizer_free(tokenizer);
    data = model(2);
    expect_ok(
        accel_tokenizer_create_sentencepiece(data.data, data.size, config, strlen(config), NULL, &tokenizer, &error),
        &error);
    expect_ids(tokenizer, "ab<y>b", "4 9 2 6", "ab b");
    assert_int_equal(accel_tokenizer_size(tokenizer), 10);
    accel_tokenizer_free(tokenizer);
}

static void expect_refused(const struct writer *data, const char *config, int32_t code, const char *word)
{
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_error error = {0};

    assert_int_equal(accel_tokenizer_create_sentencepiece(data->data, data->size, config,
                                                          config == NULL ? 0 : strlen(config), "x/tokenizer.model",
                                                          &tokenizer, &error),
                     code);
    assert_null(tokenizer);
    if (strstr(error.text, word) == NULL)
        fail_msg("\"%s\" does not say %s", error.text, word);
}

static void test_refusals(void **state)
{
    struct writer data = model(4), empty = {.size = 0}, good = model(1);
    struct accel_token_vocabulary from = base("t5");
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_error error = {0};

    (void)state;
    expect_refused(&data, NULL, ACCEL_E_UNSUPPORTED, "x/tokenizer.model: SentencePiece model type 4");
    expect_refused(&empty, NULL, ACCEL_E_CORRUPT, "no pieces");
    expect_refused(&good, "{\"added_tokens_decoder\":{\"x\":{\"content\":\"<y>\"}}}", ACCEL_E_CORRUPT, "\"x\"");
    expect_refused(&good, "{", ACCEL_E_CORRUPT, "tokenizer_config.json:1:1");
    for (data = model(1); data.size > 0; data.size--) {
        /* No shorter file crashes; most are refused. */
        if (accel_tokenizer_create_sentencepiece(data.data, data.size, NULL, 0, NULL, &tokenizer, &error) == ACCEL_OK)
            accel_tokenizer_free(tokenizer);
        else
            assert_null(tokenizer);
    }
    error = (struct accel_error){0};
    from.tokens = pieces;
    from.token_count = COUNT(pieces);
    assert_int_equal(accel_tokenizer_create_vocabulary(&from, "v.gguf", &tokenizer, &error), ACCEL_E_CORRUPT);
    assert_non_null(strstr(error.text, "v.gguf: tokenizer.ggml.scores is missing"));
    error = (struct accel_error){0};
    from.scores = scores;
    from.charsmap = (struct accel_token_text)TEXT("\x08\0\0\0abcd");
    assert_int_equal(accel_tokenizer_create_vocabulary(&from, "v.gguf", &tokenizer, &error), ACCEL_E_CORRUPT);
    assert_non_null(strstr(error.text, "tokenizer.ggml.precompiled_charsmap"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unigram),       cmocka_unit_test(test_wordpiece), cmocka_unit_test(test_characters),
        cmocka_unit_test(test_sentencepiece), cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
