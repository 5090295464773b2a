/* SPDX-License-Identifier: Apache-2.0 */
/* The public API: creates and renders templates. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "model/chat/run.h"
#include "model/file/fault.h"

#define MAX_JSON_DEPTH 64

/* Copies the source with "\r\n" and "\r" replaced by "\n", and drops one final line break, as Jinja does. */
static bool copy_source(struct accel_chat_template *chat, const char *text, size_t size)
{
    char *copy = chat_arena_take(&chat->arena, size + 1);
    size_t used = 0;

    if (copy == NULL)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\r' && i + 1 < size && text[i + 1] == '\n')
            continue;
        copy[used++] = text[i] == '\r' ? '\n' : text[i];
    }
    used -= used > 0 && copy[used - 1] == '\n';
    chat->source = (struct chat_text){copy, used};
    return true;
}

/* Returns the error of a failed step; a step that fails without one is a bug. */
static int32_t fail_with(struct accel_error *error, struct accel_error *inner)
{
    if (inner->code == ACCEL_OK)
        accel_error_set(inner, ACCEL_E_INTERNAL, "a chat template failed without a reason");
    return model_error_copy(error, inner);
}

int32_t accel_chat_template_create(const char *text, size_t size, const char *name,
                                   struct accel_chat_template **out_template, struct accel_error *error)
{
    struct accel_error inner = {0};
    struct accel_chat_template *chat;
    bool done;

    if (text == NULL || out_template == NULL)
        return model_refuse_null(__func__, error);
    *out_template = NULL;
    if (name == NULL)
        name = "chat template";
    if (size > CHAT_MAX_SOURCE || token_utf8_check(text, size) < size)
        return model_fault(error, size > CHAT_MAX_SOURCE ? ACCEL_E_LIMIT : ACCEL_E_CORRUPT, name, MODEL_NO_OFFSET,
                           "%zu bytes, %s", size, size > CHAT_MAX_SOURCE ? "at most 1 MiB" : "not UTF-8");
    chat = calloc(1, sizeof(*chat));
    if (chat == NULL)
        return accel_error_no_memory(error, "for a chat template");
    chat->arena.budget = CHAT_MAX_MEMORY * 4;
    chat->name = token_copy(name, strlen(name));
    if (chat->name == NULL || !copy_source(chat, text, size)) {
        accel_chat_template_free(chat);
        return accel_error_no_memory(error, "for a chat template");
    }
    done = chat_lex(chat, &inner) && chat_parse(chat, &inner);
    free(chat->tokens);
    chat->tokens = NULL;
    if (!done) {
        accel_chat_template_free(chat);
        return fail_with(error, &inner);
    }
    *out_template = chat;
    return ACCEL_OK;
}

void accel_chat_template_free(struct accel_chat_template *chat)
{
    if (chat == NULL)
        return;
    chat_arena_end(&chat->arena);
    free(chat->tokens);
    free(chat->name);
    free(chat);
}

static bool convert(struct chat_run *run, json_t *from, int depth, struct chat_value *out_value);

static bool convert_list(struct chat_run *run, json_t *from, int depth, struct chat_value *out_value)
{
    bool done = chat_list_new(&run->arena, out_value) || chat_no_memory(run);

    for (size_t i = 0; done && i < json_array_size(from); i++) {
        struct chat_value item;

        done = convert(run, json_array_get(from, i), depth + 1, &item) &&
               (chat_list_add(&run->arena, out_value->as.list, item) || chat_no_memory(run));
    }
    return done;
}

static bool convert_dict(struct chat_run *run, json_t *from, int depth, struct chat_value *out_value)
{
    const char *key;
    json_t *value;

    if (!chat_dict_new(&run->arena, out_value))
        return chat_no_memory(run);
    json_object_foreach(from, key, value)
    {
        struct chat_text name;
        struct chat_value item;

        if (!convert(run, value, depth + 1, &item))
            return false;
        if (!chat_text_copy(&run->arena, key, strlen(key), &name) ||
            !chat_dict_set(&run->arena, out_value->as.dict, name, item))
            return chat_no_memory(run);
    }
    return true;
}

static bool convert(struct chat_run *run, json_t *from, int depth, struct chat_value *out_value)
{
    struct chat_text text;

    if (depth > MAX_JSON_DEPTH) {
        accel_error_set(run->error, ACCEL_E_LIMIT, "variables nest deeper than %d", MAX_JSON_DEPTH);
        return false;
    }
    switch (json_typeof(from)) {
    case JSON_OBJECT:
        return convert_dict(run, from, depth, out_value);
    case JSON_ARRAY:
        return convert_list(run, from, depth, out_value);
    case JSON_STRING:
        if (!chat_text_copy(&run->arena, json_string_value(from), json_string_length(from), &text))
            return chat_no_memory(run);
        *out_value = chat_string(text);
        return true;
    case JSON_INTEGER:
        *out_value = chat_integer(json_integer_value(from));
        return true;
    case JSON_REAL:
        *out_value = chat_real(json_real_value(from));
        return true;
    case JSON_NULL:
        *out_value = chat_none();
        return true;
    default:
        *out_value = chat_bool(json_is_true(from));
        return true;
    }
}

/* A JSON text as values. */
static bool chat_load_json(struct chat_run *run, const char *text, size_t size, const char *what,
                           struct chat_value *out_value)
{
    json_error_t problem;
    json_t *root = json_loadb(text, size, JSON_ALLOW_NUL, &problem);
    bool done;

    if (root == NULL) {
        accel_error_set(run->error, ACCEL_E_CORRUPT, "%s:%d:%d: %s", what, problem.line, problem.column, problem.text);
        return false;
    }
    done = convert(run, root, 0, out_value);
    json_decref(root);
    return done;
}

static bool set(struct chat_run *run, const char *name, struct chat_value value)
{
    return chat_dict_set(&run->arena, &run->frame->variables, (struct chat_text){name, strlen(name)}, value) ||
           chat_no_memory(run);
}

/* Borrows a text of the caller, which must be valid UTF-8. */
static bool check_utf8_text(struct chat_run *run, struct accel_token_text from, const char *what,
                            struct chat_value *out_value)
{
    const char *data = from.data == NULL ? "" : from.data;
    size_t good = token_utf8_check(data, from.data == NULL ? 0 : from.size);

    *out_value = chat_string((struct chat_text){data, good});
    if (good == from.size)
        return true;
    accel_error_set(run->error, ACCEL_E_INVALID, "%s is not UTF-8 at byte %zu", what, good);
    return false;
}

static bool add_messages(struct chat_run *run, const struct accel_chat_request *request)
{
    struct chat_value list, message, role, content;

    if (!chat_list_new(&run->arena, &list))
        return chat_no_memory(run);
    for (size_t i = 0; i < request->message_count; i++) {
        if (!check_utf8_text(run, request->messages[i].role, "a message's role", &role) ||
            !check_utf8_text(run, request->messages[i].content, "a message's content", &content))
            return false;
        if (!chat_dict_new(&run->arena, &message) ||
            !chat_dict_set(&run->arena, message.as.dict, CHAT_TEXT("role"), role) ||
            !chat_dict_set(&run->arena, message.as.dict, CHAT_TEXT("content"), content) ||
            !chat_list_add(&run->arena, list.as.list, message))
            return chat_no_memory(run);
    }
    return set(run, "messages", list);
}

/* Sets the standard variables of chat templates, then the caller's variables, which override them. */
static bool add_variables(struct chat_run *run, const struct accel_chat_request *request)
{
    struct chat_value bos, eos, own;

    if (!check_utf8_text(run, request->bos, "the begin token", &bos) ||
        !check_utf8_text(run, request->eos, "the end token", &eos))
        return false;
    if (!set(run, "bos_token", bos) || !set(run, "eos_token", eos) || !add_messages(run, request) ||
        !set(run, "add_generation_prompt", chat_bool((request->flags & ACCEL_CHAT_GENERATE) != 0)))
        return false;
    if (request->variables.size == 0)
        return true;
    if (!chat_load_json(run, request->variables.data, request->variables.size, "variables", &own))
        return false;
    if (own.kind != CHAT_DICT) {
        accel_error_set(run->error, ACCEL_E_CORRUPT, "variables must be a JSON object");
        return false;
    }
    for (size_t i = 0; i < own.as.dict->count; i++) {
        if (!chat_dict_set(&run->arena, &run->frame->variables, own.as.dict->pairs[i].key, own.as.dict->pairs[i].value))
            return chat_no_memory(run);
    }
    return true;
}

int32_t accel_chat_render(const struct accel_chat_template *chat, const struct accel_chat_request *request,
                          char **out_text, size_t *out_size, struct accel_error *error)
{
    struct chat_frame globals = {0};
    struct token_buffer out = {0};
    struct accel_error inner = {0};
    struct chat_run run = {.chat = chat, .frame = &globals, .out = &out, .error = &inner};
    bool done;

    if (chat == NULL || request == NULL || out_text == NULL || out_size == NULL || request->size < sizeof(*request) ||
        (request->flags & ~ACCEL_CHAT_GENERATE) != 0 || (request->messages == NULL && request->message_count > 0))
        return accel_error_set(error, ACCEL_E_INVALID, "accel_chat_render: an argument is NULL, or the request's size");
    *out_text = NULL;
    *out_size = 0;
    run.arena.budget = CHAT_MAX_MEMORY;
    done = add_variables(&run, request) && chat_run_body(&run, chat->body);
    if (done && !token_buffer_append(&out, "", 1))
        done = chat_no_memory(&run);
    chat_arena_end(&run.arena);
    if (!done) {
        token_buffer_free(&out);
        return fail_with(error, &inner);
    }
    *out_text = out.data;
    *out_size = out.size - 1;
    return ACCEL_OK;
}

void accel_chat_text_free(char *text)
{
    free(text);
}
