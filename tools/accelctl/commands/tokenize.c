/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/accelctl/array.h"
#include "tools/accelctl/command.h"
#include "tools/accelctl/errors.h"
#include "tools/accelctl/info/vocabulary.h"
#include "tools/accelctl/print/raw_text.h"
#include "tools/accelctl/run/prompt.h"

struct tokenize_options {
    const char *model;
    const char *prompt;
    const char *file;
    const char *decode;
    uint32_t ids;
    uint32_t count;
    uint32_t no_bos;
    uint32_t no_parse;
    uint32_t no_special;
    uint32_t json;
};

static const struct option_row options[] = {
    {"decode", 'd', OPTION_TEXT, offsetof(struct tokenize_options, decode), "IDS",
     "print the text of these ids, as 1,2,3, \"1 2 3\" or \"[1, 2, 3]\"; -: read them from the standard input", 0, 0},
    {"file", 'f', OPTION_TEXT, offsetof(struct tokenize_options, file), "FILE",
     "read the text from a file; -: from the standard input", 0, 0},
    {"prompt", 'p', OPTION_TEXT, offsetof(struct tokenize_options, prompt), "TEXT",
     "the text, instead of the argument TEXT", 0, 0},
    {"model", 'm', OPTION_TEXT, offsetof(struct tokenize_options, model), "FILE",
     "the model, instead of the argument MODEL", 0, 0},
    {"ids", 0, OPTION_FLAG, offsetof(struct tokenize_options, ids), NULL,
     "print the ids alone, as [1, 2, 3], which --decode reads", 0, 0},
    {"show-count", 0, OPTION_FLAG, offsetof(struct tokenize_options, count), NULL, "print the number of tokens as well",
     0, 0},
    {"no-bos", 0, OPTION_FLAG, offsetof(struct tokenize_options, no_bos), NULL,
     "add no begin and end tokens; with --decode, omit special tokens from the text", 0, 0},
    {"no-parse-special", 0, OPTION_FLAG, offsetof(struct tokenize_options, no_parse), NULL,
     "read special tokens that the text spells, as <|im_start|>, as ordinary text", 0, 0},
    {"no-special", 0, OPTION_FLAG, offsetof(struct tokenize_options, no_special), NULL,
     "both --no-bos and --no-parse-special", 0, 0},
    {"json", 0, OPTION_FLAG, offsetof(struct tokenize_options, json), NULL,
     "print one JSON document, errors too, with the name of its schema", 0, 0},
};

static int usage(uint32_t json, const char *text, const char *remedy)
{
    return report_error_format(json, EXIT_USAGE, "usage", remedy, "tokenize: %.280s", text);
}

/* ---- one token ---- */

static char *decode(const struct accel_tokenizer *tokenizer, const int32_t *ids, size_t count)
{
    char *text = NULL;
    size_t size;

    return accel_tokenizer_decode(tokenizer, ids, count, 0, &text, &size, NULL) == ACCEL_OK ? text : NULL;
}

/* Returns the text of a token inside of a sentence: tokenizers that begin words with a blank omit it at the
 * beginning of a text, so a second copy of the token is decoded and the difference returned. The caller frees it;
 * NULL without memory. */
static char *text_inside(const struct accel_tokenizer *tokenizer, int32_t id)
{
    const int32_t twice[] = {id, id};
    char *one = decode(tokenizer, twice, 1), *two = decode(tokenizer, twice, 2), *text = NULL;

    if (one != NULL && two != NULL)
        text = strdup(strncmp(two, one, strlen(one)) == 0 ? two + strlen(one) : one);
    accel_tokenizer_text_free(one);
    accel_tokenizer_text_free(two);
    return text;
}

/* Returns the token as the vocabulary spells it. */
static char *spelling_of(const struct accel_tokenizer *tokenizer, int32_t id)
{
    struct accel_token_text text = {NULL, 0};

    if (accel_tokenizer_token(tokenizer, id, &text, NULL) != ACCEL_OK)
        return NULL;
    return text.data == NULL ? strdup("") : strndup(text.data, text.size);
}

/* Prints the text of a token, or its spelling if it is a part of a character. */
static void print_token(const struct accel_tokenizer *tokenizer, int32_t id)
{
    char *text = text_inside(tokenizer, id), *spelling = spelling_of(tokenizer, id), shown[1024] = "";
    const char *at = text != NULL && text[0] != '\0' && strstr(text, "\xef\xbf\xbd") == NULL ? text : spelling;
    size_t used = 0;

    /* Escapes as in C, since ends of lines would break the list. */
    for (; at != NULL && *at != '\0' && used + 8 < sizeof(shown);) {
        const size_t plain = strcspn(at, "\n\t\r");

        if (plain == 0) {
            used += (size_t)snprintf(shown + used, sizeof(shown) - used, "\\%c",
                                     *at == '\n'   ? 'n'
                                     : *at == '\t' ? 't'
                                                   : 'r');
            at++;
        } else {
            char piece[sizeof(shown)];

            snprintf(piece, sizeof(piece), "%.*s", (int)plain, at);
            clean_text(piece, shown + used, sizeof(shown) - used - 4);
            used += strlen(shown + used);
            at += plain;
        }
    }
    print("%6d -> '%s'\n", (int)id, shown);
    free(text);
    free(spelling);
}

/* ---- results ---- */

static json_t *owned_json(char *text)
{
    json_t *value = text == NULL ? json_null() : json_text(text);

    free(text);
    return value;
}

static int print_document(const struct accel_tokenizer *tokenizer, const char *path, const char *text,
                          const struct accel_token_list *list)
{
    json_t *tokens = json_array(), *ids = json_array();

    for (size_t i = 0; i < list->count; i++) {
        const int32_t id = list->ids[i];

        json_array_append_new(ids, json_integer(id));
        json_array_append_new(tokens, json_pack("{s:i, s:o, s:o, s:b}", "id", (int)id, "spelling",
                                                owned_json(spelling_of(tokenizer, id)), "text",
                                                owned_json(text_inside(tokenizer, id)), "special",
                                                accel_tokenizer_is_special(tokenizer, id) != 0));
    }
    return print_json(json_pack("{s:{s:s, s:s, s:s}, s:o, s:o, s:I, s:o, s:o}", "origin", "ids", "file: the vocabulary",
                                "tokens", "file: the vocabulary", "count", "measured: number of ids", "path",
                                json_text(path), "text", json_text(text), "count", (json_int_t)list->count, "ids", ids,
                                "tokens", tokens),
                      "accelctl/tokenize/1");
}

static void print_list(const struct accel_tokenizer *tokenizer, const struct accel_token_list *list,
                       const struct tokenize_options *chosen)
{
    if (chosen->ids) {
        print("[");
        for (size_t i = 0; i < list->count; i++)
            print("%s%d", i == 0 ? "" : ", ", (int)list->ids[i]);
        print("]\n");
    } else {
        for (size_t i = 0; i < list->count; i++)
            print_token(tokenizer, list->ids[i]);
    }
    if (chosen->count)
        print("Total number of tokens: %zu\n", list->count);
}

/* ---- both directions ---- */

/* Reads ids with blanks, commas, brackets or ends of lines between them. Returns -1 to go on. */
static int read_ids(const struct accel_tokenizer *tokenizer, const char *text, uint32_t json,
                    struct accel_token_list *list)
{
    static const char between[] = " \t\r\n,;[]";
    char said[200], *end;

    for (text += strspn(text, between); *text != '\0'; text = end + strspn(end, between)) {
        const long id = strtol(text, &end, 10);
        struct accel_token_text token;

        if (end == text || (*end != '\0' && strchr(between, *end) == NULL)) {
            snprintf(said, sizeof(said), "--decode requires ids, not '%.40s'", text);
            return usage(json, said,
                         "ids are numbers with blanks or commas between them: --decode 1,2,3, or --decode - for those "
                         "that tokenize --ids prints, or that a file has (--decode - <FILE)");
        }
        if (id < 0 || id > INT32_MAX || accel_tokenizer_token(tokenizer, (int32_t)id, &token, NULL) != ACCEL_OK) {
            snprintf(said, sizeof(said), "id %ld is no token of this vocabulary, which has ids from 0 to %zu", id,
                     accel_tokenizer_size(tokenizer) - 1);
            return usage(json, said, "accelctl info MODEL shows the size of the vocabulary");
        }
        if (!array_reserve(&list->ids, &list->capacity, list->count + 1, sizeof(*list->ids)))
            return report_error_text(json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory for the ids", NULL);
        list->ids[list->count++] = (int32_t)id;
    }
    return -1;
}

static int decode_ids(const struct accel_tokenizer *tokenizer, const char *path, const struct tokenize_options *chosen,
                      const char *ids, struct accel_token_list *list)
{
    struct accel_error error = {0};
    char *text = NULL;
    size_t size;
    int code = read_ids(tokenizer, ids, chosen->json, list);

    if (code >= 0)
        return code;
    if (accel_tokenizer_decode(tokenizer, list->ids, list->count,
                               chosen->no_special || chosen->no_bos ? ACCEL_DECODE_SKIP_SPECIAL : 0, &text, &size,
                               &error) != ACCEL_OK)
        return report_error(chosen->json, &error);
    if (chosen->json)
        code = print_document(tokenizer, path, text, list);
    else
        print_raw_text(text);
    if (!chosen->json && !isatty(output_file()))
        print("\n");
    accel_tokenizer_text_free(text);
    return code < 0 ? EXIT_DONE : code;
}

static int encode_text(const struct accel_tokenizer *tokenizer, const char *path, const struct tokenize_options *chosen,
                       const char *text, struct accel_token_list *list)
{
    struct accel_error error = {0};
    uint32_t flags = chosen->no_special || chosen->no_bos ? 0 : ACCEL_ENCODE_ADD_SPECIAL;

    flags |= chosen->no_special || chosen->no_parse ? 0 : ACCEL_ENCODE_PARSE_SPECIAL;
    if (accel_tokenizer_encode(tokenizer, text, strlen(text), flags, list, &error) != ACCEL_OK)
        return report_error(chosen->json, &error);
    if (chosen->json)
        return print_document(tokenizer, path, text, list);
    print_list(tokenizer, list, chosen);
    return EXIT_DONE;
}

/* ---- the command ---- */

/* Sorts out MODEL, TEXT and the options for them: *out_text, or *out_path that it is read from. Returns -1 to go on. */
static int read_arguments(struct tokenize_options *chosen, int count, char **arguments, const char **out_text,
                          const char **out_path)
{
    const char *sources[4];
    uint32_t given = 0;

    if (chosen->model == NULL && count == 0)
        return usage(chosen->json, "requires an argument: MODEL [TEXT]", "accelctl tokenize MODEL TEXT");
    if (chosen->model == NULL) {
        chosen->model = arguments[0];
        arguments++;
        count--;
    }
    if (count > 1)
        return usage(chosen->json, "one argument too many: the text is one argument", "put it between quotes");
    *out_text = count == 1 ? arguments[0] : chosen->prompt != NULL ? chosen->prompt : chosen->decode;
    *out_path = chosen->file;
    if (count == 1)
        sources[given++] = "TEXT";
    if (chosen->prompt != NULL)
        sources[given++] = "--prompt";
    if (chosen->file != NULL)
        sources[given++] = "--file";
    if (chosen->decode != NULL)
        sources[given++] = "--decode";
    if (given > 1) {
        char text[80];

        snprintf(text, sizeof(text), "%s and %s exclude each other", sources[0], sources[1]);
        return usage(chosen->json, text, "leave one of them out");
    }
    if (chosen->decode != NULL && strcmp(chosen->decode, "-") == 0) {
        *out_path = "-";
        *out_text = NULL;
    }
    if (given == 0 && isatty(STDIN_FILENO))
        return usage(chosen->json, "requires a text", "accelctl tokenize MODEL TEXT, or --file FILE, or pipe it in");
    if (given == 0)
        *out_path = "-";
    return -1;
}

static int run(int count, char **arguments, const struct command *command)
{
    struct tokenize_options chosen = {0};
    struct vocabulary vocabulary = {0};
    struct accel_token_list list = {0};
    struct accel_error error = {0};
    const char *text = NULL, *path = NULL;
    char *owned = NULL;
    int code = parse_options(command, &count, arguments, &chosen);

    if (code < 0)
        code = read_arguments(&chosen, count, arguments, &text, &path);
    if (code >= 0)
        return code;
    if (vocabulary_open(chosen.model, &vocabulary, &error) != ACCEL_OK)
        code = report_error(chosen.json, &error);
    else if (vocabulary.tokenizer == NULL)
        code = report_error(chosen.json, &vocabulary.error);
    else if (path != NULL && read_prompt(path, &owned, &error) != ACCEL_OK)
        code = report_error(chosen.json, &error);
    text = owned != NULL ? owned : text;
    if (code < 0)
        code = chosen.decode != NULL ? decode_ids(vocabulary.tokenizer, chosen.model, &chosen, text, &list)
                                     : encode_text(vocabulary.tokenizer, chosen.model, &chosen, text, &list);
    accel_token_list_free(&list);
    vocabulary_close(&vocabulary);
    free(owned);
    return code;
}

const struct command command_tokenize = {
    .name = "tokenize",
    .summary = "show the tokens of a text, or the text of tokens",
    .arguments = "MODEL [TEXT]",
    .detail =
        "A text becomes tokens: the text is TEXT, --file FILE, or the standard input if it is piped. Each line has "
        "the id of a token and, between quotes, its piece of the text, in the format of llama-tokenize; a token "
        "that is a part of a character is printed as the vocabulary spells it. --ids prints the ids alone.\n"
        "Tokens become a text with --decode IDS, or --decode - for ids from the standard input, as --ids prints "
        "them: accelctl tokenize MODEL --ids TEXT | accelctl tokenize MODEL --decode -\n"
        "MODEL is a model, a vocabulary file without weights, or a tokenizer.json, tokenizer.model or "
        "spiece.model. As in accelctl run --prompt, the begin and end tokens that the file requires are added, and "
        "special tokens that the text spells (<|im_start|>) become one token; --no-bos and --no-parse-special "
        "disable that.",
    .example = "accelctl tokenize model.gguf \"Once upon a time\"\none token a line, as the model reads the text",
    .options = options,
    .option_count = sizeof(options) / sizeof(*options),
    .most = 2,
    .run = run,
};
