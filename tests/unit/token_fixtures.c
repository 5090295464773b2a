/* SPDX-License-Identifier: Apache-2.0 */
/* Every case of the tokenizer fixtures: ids of the text, and the text of the ids, whole and as a stream. */
#include <jansson.h>

#include "tests/unit/token_support.h"

/* How a set of cases is to be read. */
struct cases {
    const char *path;
    bool parse_special; /* special tokens written in a text are tokens */
    bool skip_special;  /* "decoded" leaves special tokens out */
    bool no_unknown;    /* texts of unknown tokens are decoded otherwise, and not compared */
};

static void check_ids(const char *text, size_t size, const json_t *wanted, const struct accel_token_list *list)
{
    bool same = list->count == json_array_size(wanted);

    for (size_t i = 0; same && i < list->count; i++)
        same = json_integer_value(json_array_get(wanted, i)) == list->ids[i];
    if (same)
        return;
    print_error("text: \"%.*s\"\nwanted:", (int)(size < 300 ? size : 300), text);
    for (size_t i = 0; i < json_array_size(wanted) && i < 60; i++)
        print_error(" %d", (int)json_integer_value(json_array_get(wanted, i)));
    print_error("\ngot:   ");
    for (size_t i = 0; i < list->count && i < 60; i++)
        print_error(" %d", (int)list->ids[i]);
    print_error("\n");
    fail();
}

/* Decodes id by id; every text on the way must be whole characters. */
static char *stream(const struct accel_tokenizer *tokenizer, const struct accel_token_list *list, uint32_t flags,
                    size_t *out_size)
{
    struct accel_error error = {0};
    struct accel_token_stream *stream = NULL;
    char *all = malloc(list->count * 256 + 1024);
    const char *text;
    size_t size, used = 0;

    assert_non_null(all);
    expect_ok(accel_token_stream_create(tokenizer, flags, &stream, &error), &error);
    for (size_t i = 0; i <= list->count; i++) {
        if (i < list->count)
            expect_ok(accel_token_stream_push(stream, list->ids[i], &text, &size, &error), &error);
        else
            expect_ok(accel_token_stream_flush(stream, &text, &size, &error), &error);
        if (size > 0) {
            assert_int_not_equal((unsigned char)text[0] & 0xc0, 0x80);
            memcpy(all + used, text, size);
        }
        used += size;
    }
    accel_token_stream_free(stream);
    *out_size = used;
    return all;
}

static void check_decoded(const struct accel_tokenizer *tokenizer, const struct accel_token_list *list,
                          const json_t *wanted, bool skip_special)
{
    struct accel_error error = {0};
    uint32_t flags = skip_special ? ACCEL_DECODE_SKIP_SPECIAL : 0;
    char *text = NULL, *streamed;
    size_t size = 0, streamed_size = 0;

    expect_ok(accel_tokenizer_decode(tokenizer, list->ids, list->count, flags, &text, &size, &error), &error);
    if (size != json_string_length(wanted) || memcmp(text, json_string_value(wanted), size) != 0)
        fail_msg("decoded \"%s\", wanted \"%s\"", text, json_string_value(wanted));
    streamed = stream(tokenizer, list, flags, &streamed_size);
    assert_int_equal(streamed_size, size);
    assert_memory_equal(streamed, text, size);
    free(streamed);
    accel_tokenizer_text_free(text);
}

static bool has_id(const struct accel_token_list *list, int32_t id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->ids[i] == id)
            return true;
    }
    return false;
}

static size_t run(const struct accel_tokenizer *tokenizer, const struct cases *cases)
{
    json_t *root = json_load_file(cases->path, JSON_ALLOW_NUL, NULL);
    const json_t *rows = json_object_get(root, "cases");
    size_t count = json_array_size(rows);

    assert_true(count > 100);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *text = json_object_get(row, "text");
        uint32_t flags = json_is_true(json_object_get(row, "special")) ? ACCEL_ENCODE_ADD_SPECIAL : 0;
        struct accel_token_list list = {0};
        struct accel_error error = {0};

        flags |= cases->parse_special ? ACCEL_ENCODE_PARSE_SPECIAL : 0;
        expect_ok(
            accel_tokenizer_encode(tokenizer, json_string_value(text), json_string_length(text), flags, &list, &error),
            &error);
        check_ids(json_string_value(text), json_string_length(text), json_object_get(row, "ids"), &list);
        if (!cases->no_unknown || !has_id(&list, accel_tokenizer_special(tokenizer, ACCEL_TOKEN_UNK)))
            check_decoded(tokenizer, &list, json_object_get(row, "decoded"), cases->skip_special);
        accel_token_list_free(&list);
    }
    json_decref(root);
    return count;
}

/* Runs tokenizer.json and cases.json of a folder of the tree. */
static void run_tree(const char *folder)
{
    char name[256], path[4096], cases[4096];
    struct accel_tokenizer *tokenizer;

    snprintf(name, sizeof(name), "tests/fixtures/tokenizers/%s/tokenizer.json", folder);
    tree_path(path, name);
    snprintf(name, sizeof(name), "tests/fixtures/tokenizers/%s/cases.json", folder);
    tree_path(cases, name);
    tokenizer = tokenizer_of_json(path);
    run(tokenizer, &(struct cases){.path = cases, .parse_special = true});
    accel_tokenizer_free(tokenizer);
}

static void test_tiny_bpe(void **state)
{
    (void)state;
    run_tree("tiny-bpe");
}

static void test_stories_json(void **state)
{
    char path[4096], cases[4096];
    struct accel_tokenizer *tokenizer;

    (void)state;
    tree_path(path, "tests/fixtures/tokenizers/stories260K/tokenizer.json");
    tree_path(cases, "tests/fixtures/tokenizers/stories260K/cases.json");
    tokenizer = tokenizer_of_json(path);
    run(tokenizer, &(struct cases){.path = cases, .skip_special = true});
    accel_tokenizer_free(tokenizer);
}

static void run_shared(const char *source, const char *cases_name, bool json, struct cases how)
{
    char path[4096], cases[4096];
    struct accel_tokenizer *tokenizer;

    shared_path(path, source);
    shared_path(cases, cases_name);
    tokenizer = json ? tokenizer_of_json(path) : tokenizer_of_file(path);
    how.path = cases;
    run(tokenizer, &how);
    accel_tokenizer_free(tokenizer);
}

static void test_stories_gguf(void **state)
{
    (void)state;
    run_shared("stories260K/stories260K-q4_0.gguf", "tokenizers/stories260K.json", false,
               (struct cases){.skip_special = true});
}

static void test_llama_spm(void **state)
{
    (void)state;
    run_shared("../data/tokenizers/llamacpp_vocab/ggml-vocab-llama-spm.gguf", "tokenizers/gguf-llama-spm.json", false,
               (struct cases){.skip_special = true});
}

static void test_gpt2_gguf(void **state)
{
    (void)state;
    run_shared("../data/tokenizers/llamacpp_vocab/ggml-vocab-gpt-2.gguf", "tokenizers/gguf-gpt-2.json", false,
               (struct cases){.parse_special = true});
}

static void test_qwen3(void **state)
{
    (void)state;
    run_shared("../data/tokenizers/qwen3/tokenizer.json", "tokenizers/qwen3.json", true,
               (struct cases){.parse_special = true});
}

static void test_clip(void **state)
{
    (void)state;
    run_shared("../data/tokenizers/clip/tokenizer.json", "tokenizers/clip.json", true,
               (struct cases){.parse_special = true});
}

static void test_t5(void **state)
{
    (void)state;
    run_shared("../data/tokenizers/t5/tokenizer.json", "tokenizers/t5.json", true,
               (struct cases){.parse_special = true});
}

static void test_t5_spm(void **state)
{
    char path[4096], cases[4096];
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_error error = {0};
    char *data;
    size_t size;

    (void)state;
    shared_path(path, "../data/tokenizers/t5/spiece.model");
    shared_path(cases, "tokenizers/t5-spm.json");
    data = read_text(path, &size);
    expect_ok(accel_tokenizer_create_sentencepiece(data, size, NULL, 0, path, &tokenizer, &error), &error);
    free(data);
    run(tokenizer, &(struct cases){.path = cases, .skip_special = true, .no_unknown = true});
    accel_tokenizer_free(tokenizer);
}

static void test_minilm(void **state)
{
    (void)state;
    run_shared("../data/tokenizers/minilm_tokenizer.json", "tokenizers/minilm.json", true,
               (struct cases){.parse_special = true});
}

static void test_bert_gguf(void **state)
{
    (void)state;
    run_shared("../data/tokenizers/llamacpp_vocab/ggml-vocab-bert-bge.gguf", "tokenizers/gguf-bert-bge.json", false,
               (struct cases){.parse_special = true});
}

static void test_tiny_unigram(void **state)
{
    (void)state;
    run_tree("tiny-unigram");
}

static void test_tiny_wordpiece(void **state)
{
    (void)state;
    run_tree("tiny-wordpiece");
}

/* Texts and ids that came with the vocabulary of GPT-2, from another implementation. */
static void test_gpt2_expected(void **state)
{
    static const char mark[] = "\n__ggml_vocab_test__\n";
    char path[4096];
    struct accel_tokenizer *tokenizer;
    char *texts, *ids, *at, *line;
    size_t size, count = 0;

    (void)state;
    shared_path(path, "../data/tokenizers/llamacpp_vocab/ggml-vocab-gpt-2.gguf");
    tokenizer = tokenizer_of_file(path);
    shared_path(path, "../data/tokenizers/llamacpp_vocab/ggml-vocab-gpt-2.gguf.inp");
    texts = read_text(path, &size);
    shared_path(path, "../data/tokenizers/llamacpp_vocab/ggml-vocab-gpt-2.gguf.out");
    ids = read_text(path, &size);
    line = ids;
    for (at = texts; at != NULL && *line != '\0'; count++) {
        char *end = strstr(at, mark), *next = strchr(line, '\n');
        struct accel_token_list list = {0};
        struct accel_error error = {0};

        *next = '\0';
        expect_ok(accel_tokenizer_encode(tokenizer, at, end == NULL ? strlen(at) : (size_t)(end - at),
                                         ACCEL_ENCODE_PARSE_SPECIAL, &list, &error),
                  &error);
        for (size_t i = 0; i < list.count; i++)
            assert_int_equal(strtol(line, &line, 10), list.ids[i]);
        assert_int_equal(strspn(line, " "), strlen(line));
        accel_token_list_free(&list);
        line = next + 1;
        at = end == NULL ? NULL : end + sizeof(mark) - 1;
    }
    assert_true(count > 30);
    free(texts);
    free(ids);
    accel_tokenizer_free(tokenizer);
}

/* The model's file where ACCEL_REAL_MODELS says; its prompts hold special tokens, which are parsed. */
static void test_smollm2(void **state)
{
    const char *models = getenv("ACCEL_REAL_MODELS");
    char path[4096], cases[4096];
    struct accel_tokenizer *tokenizer;
    json_t *root, *row;
    size_t index;

    (void)state;
    shared_path(cases, "real/smollm2.json");
    snprintf(path, sizeof(path), "%s/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", models == NULL ? "." : models);
    if (access(path, R_OK) != 0) {
        print_message("skipped: no %s\n", path);
        skip();
    }
    tokenizer = tokenizer_of_file(path);
    root = json_load_file(cases, 0, NULL);
    json_array_foreach(json_object_get(root, "runs"), index, row)
    {
        const json_t *prompt = json_object_get(row, "prompt");
        struct accel_token_list list = {0};
        struct accel_error error = {0};

        expect_ok(accel_tokenizer_encode(tokenizer, json_string_value(prompt), json_string_length(prompt),
                                         ACCEL_ENCODE_ADD_SPECIAL | ACCEL_ENCODE_PARSE_SPECIAL, &list, &error),
                  &error);
        check_ids(json_string_value(prompt), json_string_length(prompt), json_object_get(row, "prompt_ids"), &list);
        accel_token_list_free(&list);
    }
    assert_int_equal(json_array_size(json_object_get(root, "runs")), 4);
    assert_true(accel_tokenizer_is_end(tokenizer, 2));
    json_decref(root);
    accel_tokenizer_free(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_bpe),  cmocka_unit_test(test_stories_json), cmocka_unit_test(test_stories_gguf),
        cmocka_unit_test(test_llama_spm), cmocka_unit_test(test_gpt2_gguf),    cmocka_unit_test(test_gpt2_expected),
        cmocka_unit_test(test_qwen3),     cmocka_unit_test(test_clip),         cmocka_unit_test(test_smollm2),
        cmocka_unit_test(test_t5),        cmocka_unit_test(test_t5_spm),       cmocka_unit_test(test_minilm),
        cmocka_unit_test(test_bert_gguf), cmocka_unit_test(test_tiny_unigram), cmocka_unit_test(test_tiny_wordpiece),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
