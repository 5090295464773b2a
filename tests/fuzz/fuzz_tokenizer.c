/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a tokenizer.json, or a SentencePiece model; what is accepted must encode and decode. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <accel/model/tokenizer.h>

#include "tests/fuzz/fuzz.h"

const char *const fuzz_corpus_folder = "tests/fixtures/tokenizers/fuzz";
const char *const fuzz_corpus_suffix = ".json";

static void use(const struct accel_tokenizer *tokenizer)
{
    static const char text[] = "The 12 na\xc3\xafve <s>cats</s>  said:\n\t\"\xf0\x9f\x98\x80\" it's \xe2\x96\x81ok";
    struct accel_token_list list = {0};
    struct accel_token_stream *stream = NULL;
    const char *part;
    char *whole = NULL;
    size_t size;

    if (accel_tokenizer_encode(tokenizer, text, sizeof(text) - 1, ACCEL_ENCODE_ADD_SPECIAL | ACCEL_ENCODE_PARSE_SPECIAL,
                               &list, NULL) == ACCEL_OK) {
        for (size_t i = 0; i < list.count; i++) {
            if (list.ids[i] < 0 || (size_t)list.ids[i] >= accel_tokenizer_size(tokenizer))
                abort();
        }
        if (accel_tokenizer_decode(tokenizer, list.ids, list.count, 0, &whole, &size, NULL) == ACCEL_OK)
            accel_tokenizer_text_free(whole);
        if (accel_token_stream_create(tokenizer, 0, &stream, NULL) == ACCEL_OK) {
            for (size_t i = 0; i < list.count; i++)
                (void)accel_token_stream_push(stream, list.ids[i], &part, &size, NULL);
            (void)accel_token_stream_flush(stream, &part, &size, NULL);
        }
    }
    accel_token_stream_free(stream);
    accel_token_list_free(&list);
}

/* Checks what a reader returned, uses the tokenizer and frees it. */
static void finish(int32_t code, struct accel_tokenizer *tokenizer, const struct accel_error *error)
{
    if (code != ACCEL_OK && (tokenizer != NULL || error->text[0] == '\0'))
        abort();
    if (code == ACCEL_OK)
        use(tokenizer);
    accel_tokenizer_free(tokenizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct accel_tokenizer *tokenizer = NULL;
    struct accel_error error = {0};
    int32_t code = accel_tokenizer_create_json((const char *)data, size, NULL, 0, "fuzz.json", &tokenizer, &error);

    finish(code, tokenizer, &error);
    error = (struct accel_error){0};
    code = accel_tokenizer_create_sentencepiece((const char *)data, size, NULL, 0, "fuzz.model", &tokenizer, &error);
    finish(code, tokenizer, &error);
    return 0;
}
