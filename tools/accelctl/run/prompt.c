/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/run/prompt.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/clean_text.h"
#include "tools/accelctl/progress.h"
#include "tools/accelctl/run/chat_template.h"

enum { PROMPT_MOST = 64 << 20 };

static int32_t refuse(struct accel_error *error, int32_t code, const char *path, int native)
{
    if (native == EINTR)
        return accel_error_set(error, ACCEL_E_CANCELLED, "%s: interrupted while it was read", path);
    accel_error_set(error, code, "%s: %s", path, strerror(native));
    accel_error_remedy(error, "name a file of text that is there and may be read, or - for the standard input");
    return code;
}

/* Checks that text is UTF-8, with the file and line of an error, which tokenizers do not know. */
static void check_utf8(const char *path, const char *text, struct accel_error *error)
{
    size_t bad = utf8_length(text), line = 1;

    for (size_t i = 0; i < bad; i++)
        line += text[i] == '\n';
    if (text[bad] == '\0')
        return;
    accel_error_set(error, ACCEL_E_INVALID, "%s:%zu: text is not UTF-8 at byte %zu (0x%02x)", path, line, bad,
                    (unsigned char)text[bad]);
    accel_error_remedy(error, "iconv -f ENCODING -t UTF-8 writes such a text again");
}

int32_t read_prompt(const char *path, char **out_text, struct accel_error *error)
{
    char *text = NULL;
    size_t capacity = 0;
    ssize_t length;
    FILE *file;

    *out_text = NULL;
    /* A pipe without a writer would be waited for after the interrupt. */
    if (progress_interrupted() != 0)
        return refuse(error, ACCEL_E_CANCELLED, path, EINTR);
    file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (file == NULL)
        return refuse(error, errno == EACCES ? ACCEL_E_DENIED : ACCEL_E_NOT_FOUND, path, errno);
    errno = 0;
    length = getdelim(&text, &capacity, '\0', file);
    if (length < 0 && errno != 0) {
        refuse(error, ACCEL_E_IO, path, errno);
    } else if (length > PROMPT_MOST || (length > 0 && text[length - 1] == '\0')) {
        accel_error_set(error, ACCEL_E_INVALID, "%s: a prompt is text of at most %d MiB without a zero byte", path,
                        PROMPT_MOST >> 20);
        accel_error_remedy(error, "name a file of text; of a longer one a part, as head -c 60M makes it");
    } else if (length < 0) {
        free(text);
        text = strdup("");
    }
    if (error->code == ACCEL_OK && text != NULL)
        check_utf8(path, text, error);
    if (file != stdin)
        fclose(file);
    if (error->code == ACCEL_OK)
        *out_text = text;
    else
        free(text);
    return error->code;
}

uint32_t expand_escapes(char *text)
{
    static const char letters[] = "nrt'\"\\", values[] = "\n\r\t'\"\\";
    char *out = text;

    for (const char *at = text; *at != '\0';) {
        const char *letter = at[0] == '\\' && at[1] != '\0' ? strchr(letters, at[1]) : NULL;

        if (letter != NULL) {
            *out++ = values[letter - letters];
            at += 2;
        } else if (at[0] == '\\' && at[1] == 'x' && isxdigit((unsigned char)at[2]) && isxdigit((unsigned char)at[3])) {
            const char hex[] = {at[2], at[3], '\0'};

            *out = (char)strtoul(hex, NULL, 16);
            if (*out++ == '\0')
                return 0;
            at += 4;
        } else {
            *out++ = *at++;
        }
    }
    *out = '\0';
    return 1;
}

static struct accel_token_text text_of(const char *text)
{
    return (struct accel_token_text){text, strlen(text)};
}

/* Returns the spelling of a special token, empty if the model has none. */
static struct accel_token_text spelling(const struct accel_tokenizer *tokenizer, int32_t which)
{
    struct accel_token_text text = {NULL, 0};
    int32_t id = accel_tokenizer_special(tokenizer, which);

    if (id >= 0 && accel_tokenizer_token(tokenizer, id, &text, NULL) != ACCEL_OK)
        text = (struct accel_token_text){NULL, 0};
    return text;
}

int32_t render_chat(const struct accel_tokenizer *tokenizer, const struct accel_chat_template *chat,
                    struct accel_chat_request *request, char **out_text, size_t *out_bytes, struct accel_error *error)
{
    request->bos = spelling(tokenizer, ACCEL_TOKEN_BOS);
    request->eos = spelling(tokenizer, ACCEL_TOKEN_EOS);
    return accel_chat_render(chat, request, out_text, out_bytes, error);
}

static int32_t render(const struct accel_tokenizer *tokenizer, const struct accel_chat_template *chat,
                      const struct prompt *prompt, struct accel_token_list *list, struct accel_error *error)
{
    struct accel_chat_message messages[2];
    struct accel_chat_request request = {.size = sizeof(request), .flags = ACCEL_CHAT_GENERATE, .messages = messages};
    char *text = NULL;
    size_t bytes = 0;
    int32_t code;

    if (prompt->system != NULL)
        messages[request.message_count++] = (struct accel_chat_message){text_of("system"), text_of(prompt->system)};
    messages[request.message_count++] = (struct accel_chat_message){text_of("user"), text_of(prompt->text)};
    code = render_chat(tokenizer, chat, &request, &text, &bytes, error);
    if (code == ACCEL_OK)
        code = accel_tokenizer_encode(tokenizer, text, bytes, ACCEL_ENCODE_PARSE_SPECIAL, list, error);
    accel_chat_text_free(text);
    return code;
}

static int32_t make_chat(const struct accel_tokenizer *tokenizer, const char *name, const struct prompt *prompt,
                         struct accel_token_list *list, struct accel_error *error)
{
    struct accel_chat_template *chat = NULL;
    int32_t code = make_chat_template(tokenizer, name, prompt->template, &chat, error);

    if (code == ACCEL_OK)
        code = render(tokenizer, chat, prompt, list, error);
    accel_chat_template_free(chat);
    return code;
}

int32_t make_prompt(const struct accel_tokenizer *tokenizer, const char *name, const struct prompt *prompt,
                    struct accel_token_list *list, struct accel_error *error)
{
    const char *text = prompt->text == NULL ? "" : prompt->text;
    int32_t code;

    if (prompt->chat)
        return make_chat(tokenizer, name, prompt, list, error);
    code = accel_tokenizer_encode(tokenizer, text, strlen(text), ACCEL_ENCODE_ADD_SPECIAL | ACCEL_ENCODE_PARSE_SPECIAL,
                                  list, error);
    if (code != ACCEL_OK || list->count > 0)
        return code;
    accel_error_set(error, ACCEL_E_INVALID, "the prompt is empty, and no token stands before a text of this model (%s)",
                    accel_tokenizer_special(tokenizer, ACCEL_TOKEN_BOS) >= 0 ? "add_bos_token is false"
                                                                             : "it has no BOS token");
    accel_error_remedy(error, "give a text: --prompt TEXT (-p), or talk to the model with accelctl chat MODEL");
    return ACCEL_E_INVALID;
}
