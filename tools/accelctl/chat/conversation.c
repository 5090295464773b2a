/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/chat/conversation.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/accelctl/array.h"
#include "tools/accelctl/command.h"
#include "tools/accelctl/errors.h"
#include "tools/accelctl/print/page.h"
#include "tools/accelctl/run/prompt.h"
#include "tools/accelctl/target.h"

#define CONVERSATION_SCHEMA "accelctl/conversation/1"

/* ---- messages ---- */

static char *copy_text(const char *text, size_t bytes)
{
    char *copy = malloc(bytes + 1);

    if (copy == NULL)
        return NULL;
    if (bytes > 0)
        memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    return copy;
}

int32_t conversation_add(struct conversation *c, uint32_t is_answer, const char *text, size_t bytes,
                         struct accel_error *error)
{
    char *copy = copy_text(text, bytes);

    if (copy == NULL || !array_reserve(&c->messages, &c->capacity, c->count + 1, sizeof(*c->messages))) {
        free(copy);
        return accel_error_no_memory(error, "for the conversation");
    }
    c->messages[c->count++] = (struct message){copy, bytes, is_answer};
    return ACCEL_OK;
}

void conversation_drop(struct conversation *c)
{
    if (c->count > 0)
        free(c->messages[--c->count].text);
}

static void drop_messages(struct conversation *c)
{
    while (c->count > 0)
        conversation_drop(c);
}

static void forget_cache(struct conversation *c)
{
    accel_session_truncate(c->session, 0, NULL);
    c->cached = 0;
    c->ids.count = 0;
    free(c->spelled);
    c->spelled = NULL;
    c->spelled_bytes = 0;
}

void conversation_clear(struct conversation *c)
{
    drop_messages(c);
    forget_cache(c);
}

void conversation_free(struct conversation *c)
{
    drop_messages(c);
    free(c->messages);
    free(c->system);
    free(c->spelled);
    accel_token_list_free(&c->ids);
}

/* ---- tokens ---- */

static struct accel_token_text text_of(const char *text)
{
    return (struct accel_token_text){text, strlen(text)};
}

/* Renders the messages with the template; with `more` a message of the user follows. */
static int32_t render(const struct conversation *c, const char *more, char **out_text, size_t *out_bytes,
                      struct accel_error *error)
{
    struct accel_chat_request request = {.size = sizeof(request), .flags = ACCEL_CHAT_GENERATE};
    struct accel_chat_message *messages = calloc(c->count + 2, sizeof(*messages));
    int32_t code;

    *out_text = NULL;
    if (messages == NULL)
        return accel_error_no_memory(error, "for the conversation");
    if (c->system != NULL)
        messages[request.message_count++] =
            (struct accel_chat_message){text_of("system"), {c->system, c->system_bytes}};
    for (size_t i = 0; i < c->count; i++)
        messages[request.message_count++] = (struct accel_chat_message){
            text_of(c->messages[i].is_answer ? "assistant" : "user"), {c->messages[i].text, c->messages[i].bytes}};
    if (more != NULL)
        messages[request.message_count++] = (struct accel_chat_message){text_of("user"), text_of(more)};
    request.messages = messages;
    code = render_chat(c->tokenizer, c->chat, &request, out_text, out_bytes, error);
    free(messages);
    return code;
}

int32_t conversation_set_system(struct conversation *c, const char *text, size_t bytes, struct accel_error *error)
{
    char *before = c->system, *copy = text == NULL ? NULL : copy_text(text, bytes), *rendered = NULL;
    size_t before_bytes = c->system_bytes, rendered_bytes;
    int32_t code;

    if (text != NULL && copy == NULL)
        return accel_error_no_memory(error, "for the conversation");
    c->system = copy;
    c->system_bytes = bytes;
    code =
        render(c, c->count == 0 || c->messages[c->count - 1].is_answer ? "?" : NULL, &rendered, &rendered_bytes, error);
    accel_chat_text_free(rendered);
    if (code != ACCEL_OK) {
        c->system = before;
        c->system_bytes = before_bytes;
        before = copy;
    }
    free(before);
    return code;
}

static uint64_t common_ids(const struct accel_token_list *a, const struct accel_token_list *b)
{
    uint64_t count = 0;

    while (count < a->count && count < b->count && a->ids[count] == b->ids[count])
        count++;
    return count;
}

static int32_t append_ids(struct accel_token_list *list, const int32_t *ids, size_t count, struct accel_error *error)
{
    if (!array_reserve(&list->ids, &list->capacity, list->count + count, sizeof(*list->ids)))
        return accel_error_no_memory(error, "for the conversation");
    if (count > 0)
        memcpy(list->ids + list->count, ids, count * sizeof(*ids));
    list->count += count;
    return ACCEL_OK;
}

/* Tokenizes the rendered text. A model may spell an answer in other tokens than the tokenizer would: if the text
 * extends what was fed and generated, those ids stay, and only the rest of the text is tokenized. */
static int32_t tokenize(const struct conversation *c, const char *text, size_t bytes, struct accel_token_list *out_ids,
                        struct accel_error *error)
{
    int32_t code = accel_tokenizer_encode(c->tokenizer, text, bytes, ACCEL_ENCODE_PARSE_SPECIAL, out_ids, error);

    if (code != ACCEL_OK || c->ids.count == 0 || common_ids(&c->ids, out_ids) == c->ids.count ||
        c->spelled_bytes >= bytes || memcmp(c->spelled, text, c->spelled_bytes) != 0)
        return code;
    out_ids->count = 0;
    code = append_ids(out_ids, c->ids.ids, c->ids.count, error);
    if (code == ACCEL_OK)
        code = accel_tokenizer_encode(c->tokenizer, text + c->spelled_bytes, bytes - c->spelled_bytes,
                                      ACCEL_ENCODE_PARSE_SPECIAL, out_ids, error);
    return code;
}

/* Returns how many tokens stay in the KV cache, and truncates it to them. A cache that has evicted tokens no
 * longer holds a prefix: it can only be continued, or be filled anew. */
static uint64_t reuse_cache(const struct conversation *c, const struct accel_token_list *ids)
{
    uint64_t common = common_ids(&c->ids, ids);
    bool is_whole = accel_session_length(c->session) == c->cached;

    if (common > c->cached)
        common = c->cached;
    if (common == c->cached && common < ids->count)
        return common;
    if (common == ids->count)
        common--;
    if (!is_whole || accel_session_truncate(c->session, common, NULL) != ACCEL_OK) {
        accel_session_truncate(c->session, 0, NULL);
        return 0;
    }
    return common;
}

static int32_t refuse_length(const struct conversation *c, uint64_t count, struct accel_error *error)
{
    uint64_t context = accel_session_context(c->session);

    accel_error_set(error, ACCEL_E_LIMIT,
                    "the context is full (kv.full=stop): with this message the conversation has %llu tokens, and the "
                    "context %llu",
                    (unsigned long long)count, (unsigned long long)context);
    if (count < c->trained)
        accel_error_remedy(error,
                           "/clear begins anew; or /save FILE, /exit, and accelctl chat --resume FILE with -c %llu, or "
                           "with --set kv.full=slide, which evicts the oldest tokens",
                           (unsigned long long)c->trained);
    else
        accel_error_remedy(error, "/clear begins anew; or /save FILE, /exit, and accelctl chat --resume FILE with "
                                  "--set kv.full=slide, which evicts the oldest tokens");
    return ACCEL_E_LIMIT;
}

int32_t conversation_begin_turn(struct conversation *c, struct turn *out_turn, struct accel_error *error)
{
    struct accel_token_list ids = {0};
    char *text = NULL, *copy;
    size_t bytes = 0;
    int32_t code = render(c, NULL, &text, &bytes, error);

    if (code == ACCEL_OK)
        code = tokenize(c, text, bytes, &ids, error);
    if (code == ACCEL_OK && ids.count == 0)
        code = accel_error_set(error, ACCEL_E_INVALID, "the chat template makes no tokens of the conversation");
    if (code == ACCEL_OK && c->stops && ids.count > accel_session_context(c->session))
        code = refuse_length(c, ids.count, error);
    copy = code == ACCEL_OK ? copy_text(text, bytes) : NULL;
    if (code == ACCEL_OK && copy == NULL)
        code = accel_error_no_memory(error, "for the conversation");
    accel_chat_text_free(text);
    if (code != ACCEL_OK) {
        accel_token_list_free(&ids);
        return code;
    }
    c->cached = reuse_cache(c, &ids);
    accel_token_list_free(&c->ids);
    c->ids = ids;
    free(c->spelled);
    c->spelled = copy;
    c->spelled_bytes = bytes;
    *out_turn = (struct turn){.cached = c->cached,
                              .held = accel_session_length(c->session),
                              .all = ids.count,
                              .ids = ids.ids + c->cached,
                              .count = ids.count - c->cached};
    return ACCEL_OK;
}

void conversation_end_turn(struct conversation *c, const struct turn *turn, const struct accel_generate_result *result,
                           const struct accel_token_list *ids, const char *text, size_t bytes)
{
    char *spelled;

    /* If prefill is interrupted with kv.full=stop, the session's length is the number of tokens that were
     * prefilled. */
    if (result->tokens == 0 && result->stop == 0) {
        uint64_t length = accel_session_length(c->session);

        if (c->stops && length <= turn->all)
            c->cached = length;
        else
            forget_cache(c);
        return;
    }
    /* Tokens that spell a stop text are not part of the answer; the last of its own tokens may overlap the stop
     * text. */
    if (result->stop == ACCEL_STOP_TEXT) {
        c->cached = turn->all;
        if (accel_session_truncate(c->session, turn->all, NULL) != ACCEL_OK)
            forget_cache(c);
        return;
    }
    c->cached = turn->all + result->steps;
    spelled = realloc(c->spelled, c->spelled_bytes + bytes + 1);
    if (spelled == NULL || append_ids(&c->ids, ids->ids, ids->count, NULL) != ACCEL_OK || c->cached > c->ids.count) {
        if (spelled != NULL)
            c->spelled = spelled;
        forget_cache(c);
        return;
    }
    if (bytes > 0)
        memcpy(spelled + c->spelled_bytes, text, bytes);
    c->spelled_bytes += bytes;
    spelled[c->spelled_bytes] = '\0';
    c->spelled = spelled;
}

/* ---- files ---- */

static int write_document(FILE *out, void *data)
{
    const json_t *document = data;

    return json_dumpf(document, out, JSON_INDENT(2)) == 0 && fputc('\n', out) != EOF ? EXIT_DONE : EXIT_FAILED;
}

static json_t *message_json(const char *role, const char *text, size_t bytes)
{
    return json_pack("{s:s, s:o}", "role", role, "content", json_stringn(text, bytes));
}

/* Returns whether an existing file is one that /save wrote. An empty file counts as one. */
static bool is_conversation(const char *path)
{
    json_t *document;
    const char *schema;
    struct stat facts;
    bool is_one;

    if (stat(path, &facts) != 0 || facts.st_size == 0)
        return true;
    document = json_load_file(path, JSON_ALLOW_NUL, NULL);
    schema = json_string_value(json_object_get(document, "schema"));
    is_one = schema != NULL && strcmp(schema, CONVERSATION_SCHEMA) == 0;
    json_decref(document);
    return is_one;
}

/* Refuses to replace an existing file unless it is a conversation: never a model, a device or another document. */
static int check_save(const char *path, uint32_t json)
{
    int code = target_check(json, path, TARGET_JSON);

    if (code >= 0 || is_conversation(path))
        return code;
    return report_error_format(json, EXIT_USAGE, "usage", "name a new file, or remove what is there",
                               "%.600s: is there, and no conversation, as what would replace it", path);
}

int conversation_save(const struct conversation *c, const char *model, const char *path, uint32_t json)
{
    json_t *messages = json_array();
    json_t *document;
    int code = check_save(path, json);

    if (code >= 0) {
        json_decref(messages);
        return code;
    }
    if (c->system != NULL)
        json_array_append_new(messages, message_json("system", c->system, c->system_bytes));
    for (size_t i = 0; i < c->count; i++)
        json_array_append_new(messages, message_json(c->messages[i].is_answer ? "assistant" : "user",
                                                     c->messages[i].text, c->messages[i].bytes));
    if (json_array_size(messages) != c->count + (c->system != NULL)) {
        json_decref(messages);
        return report_error_text(json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory to write the conversation", NULL);
    }
    document =
        json_pack("{s:s, s:o, s:o}", "schema", CONVERSATION_SCHEMA, "model", json_text(model), "messages", messages);
    if (document == NULL)
        return report_error_text(json, EXIT_SHORT, "ACCEL_E_MEMORY", "no memory to write the conversation", NULL);
    code = write_output(json, path, write_document, document);
    json_decref(document);
    return code;
}

static int32_t refuse_file(const char *path, const char *what, struct accel_error *error)
{
    accel_error_set(error, ACCEL_E_CORRUPT, "%.300s: %s", path, what);
    accel_error_remedy(error, "name a file that /save wrote, or a JSON list of messages: [{\"role\": \"user\", "
                              "\"content\": \"...\"}, ...]");
    return ACCEL_E_CORRUPT;
}

/* Appends the messages of a list to those of `c`. */
static int32_t add_messages(struct conversation *c, const char *path, const json_t *list, struct accel_error *error)
{
    char what[120];

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i), *content = json_object_get(item, "content");
        const char *role = json_string_value(json_object_get(item, "role"));
        bool is_answer = role != NULL && strcmp(role, "assistant") == 0;
        const char *text = json_string_value(content);
        size_t bytes = json_string_length(content);
        int32_t code = ACCEL_OK;

        snprintf(what, sizeof(what), "message %zu has no text as its \"content\"", i + 1);
        if (text == NULL)
            return refuse_file(path, what, error);
        snprintf(what, sizeof(what),
                 "message %zu: its \"role\" is none of user and assistant, in turns, and system at "
                 "the beginning",
                 i + 1);
        if (role != NULL && strcmp(role, "system") == 0 && i == 0) {
            c->system = copy_text(text, bytes);
            c->system_bytes = bytes;
            code = c->system == NULL ? accel_error_no_memory(error, "for the conversation") : ACCEL_OK;
        } else if (role == NULL || (!is_answer && strcmp(role, "user") != 0) || is_answer != c->count % 2) {
            return refuse_file(path, what, error);
        } else {
            code = conversation_add(c, is_answer, text, bytes, error);
        }
        if (code != ACCEL_OK)
            return code;
    }
    return c->count % 2 == 0 ? ACCEL_OK : refuse_file(path, "the last message has no answer", error);
}

int32_t conversation_load(struct conversation *c, const char *path, char **out_model, struct accel_error *error)
{
    struct conversation fresh = {.tokenizer = c->tokenizer, .chat = c->chat};
    const char *schema, *model;
    char *text = NULL, *rendered = NULL;
    size_t bytes;
    json_t *document = NULL;
    json_error_t wrong;
    int32_t code = read_prompt(path, &text, error);

    *out_model = NULL;
    if (code == ACCEL_E_NOT_FOUND || code == ACCEL_E_DENIED || code == ACCEL_E_IO) {
        error->remedy[0] = '\0';
        accel_error_remedy(error, "name a file that /save wrote, and that may be read");
    }
    if (code != ACCEL_OK)
        return code;
    document = json_loads(text, JSON_ALLOW_NUL, &wrong);
    free(text);
    schema = json_string_value(json_object_get(document, "schema"));
    model = json_string_value(json_object_get(document, "model"));
    if (document == NULL) {
        char what[200];

        snprintf(what, sizeof(what), "line %d: no JSON: %.140s", wrong.line, wrong.text);
        return refuse_file(path, what, error);
    }
    if (json_is_array(document))
        code = add_messages(&fresh, path, document, error);
    else if (json_is_array(json_object_get(document, "messages")) &&
             (schema == NULL || strcmp(schema, "accelctl/conversation/1") == 0))
        code = add_messages(&fresh, path, json_object_get(document, "messages"), error);
    else
        code = refuse_file(path, "no conversation: its schema is not accelctl/conversation/1", error);
    if (code == ACCEL_OK) {
        code = render(&fresh, "?", &rendered, &bytes, error);
        accel_chat_text_free(rendered);
    }
    if (code == ACCEL_OK) {
        conversation_clear(c);
        free(c->system);
        free(c->messages);
        c->system = fresh.system;
        c->system_bytes = fresh.system_bytes;
        c->messages = fresh.messages;
        c->count = fresh.count;
        c->capacity = fresh.capacity;
        *out_model = model == NULL ? NULL : strdup(model);
    } else {
        conversation_free(&fresh);
    }
    json_decref(document);
    return code;
}
