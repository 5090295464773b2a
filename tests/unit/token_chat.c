/* SPDX-License-Identifier: Apache-2.0 */
/* Chat templates: cases that Jinja2 rendered, the ids of real chats, refusals with their place, bounds. */
#include <jansson.h>

#include <accel/model/chat.h>

#include "tests/unit/token_support.h"

static struct accel_chat_request request_of(const char *variables)
{
    struct accel_chat_request request = {.size = sizeof(request)};

    request.variables = (struct accel_token_text){variables, variables == NULL ? 0 : strlen(variables)};
    return request;
}

/* Makes a template and renders it; *out_text is NULL on failure. */
static int32_t render(const char *text, const struct accel_chat_request *request, char **out_text,
                      struct accel_error *error)
{
    struct accel_chat_template *chat = NULL;
    size_t size = 0;
    int32_t code;

    memset(error, 0, sizeof(*error));
    *out_text = NULL;
    code = accel_chat_template_create(text, strlen(text), "t", &chat, error);
    if (code == ACCEL_OK)
        code = accel_chat_render(chat, request, out_text, &size, error);
    if (code == ACCEL_OK)
        assert_int_equal(strlen(*out_text), size);
    accel_chat_template_free(chat);
    return code;
}

static void test_cases(void **state)
{
    char path[4096];
    json_t *root, *row;
    size_t index, failed = 0;

    (void)state;
    tree_path(path, "tests/fixtures/chat/cases.json");
    root = json_load_file(path, JSON_ALLOW_NUL, NULL);
    assert_true(json_array_size(json_object_get(root, "cases")) > 100);
    json_array_foreach(json_object_get(root, "cases"), index, row)
    {
        const char *wanted = json_string_value(json_object_get(row, "text"));
        const char *source = json_string_value(json_object_get(row, "template"));
        char *variables = json_dumps(json_object_get(row, "variables"), 0), *text = NULL;
        struct accel_chat_request request = request_of(variables);
        struct accel_error error;
        int32_t code = render(source, &request, &text, &error);
        bool good = wanted == NULL ? code != ACCEL_OK : code == ACCEL_OK && strcmp(text, wanted) == 0;

        if (!good) {
            print_error("case %zu\ntemplate: %s\nwanted:   %s\ngot:      %s %s\n", index, source,
                        wanted == NULL ? "an error" : wanted, text == NULL ? "" : text, error.text);
            failed++;
        }
        if (code != ACCEL_OK)
            assert_memory_equal(error.text, "t:", 2);
        accel_chat_text_free(text);
        free(variables);
    }
    json_decref(root);
    assert_int_equal(failed, 0);
}

static void test_messages(void **state)
{
    static const struct accel_chat_message messages[] = {{{"user", 4}, {"Hi", 2}}, {{"assistant", 9}, {"Yo", 2}}};
    struct accel_chat_request request = {.size = sizeof(request),
                                         .flags = ACCEL_CHAT_GENERATE,
                                         .messages = messages,
                                         .message_count = 2,
                                         .bos = {"<b>", 3},
                                         .eos = {"<e>", 3}};
    struct accel_error error;
    char *text;

    (void)state;
    expect_ok(render("{{ bos_token }}{% for m in messages %}{{ m.role[0] }}:{{ m.content }}{{ eos_token }}{% endfor %}"
                     "{{ add_generation_prompt }}",
                     &request, &text, &error),
              &error);
    assert_string_equal(text, "<b>u:Hi<e>a:Yo<e>True");
    accel_chat_text_free(text);
    /* A filter and the method of its name count alike. */
    expect_ok(render("{{ 'aaa'|replace('a', 'b', 2) }} {{ 'aaa'.replace('a', 'b', 2) }} {{ 'aB'.upper() }}", &request,
                     &text, &error),
              &error);
    assert_string_equal(text, "bba bba AB");
    accel_chat_text_free(text);
    request.bos = (struct accel_token_text){"\xff", 1};
    assert_int_equal(render("x", &request, &text, &error), ACCEL_E_INVALID);
    request = request_of("[1]");
    assert_int_equal(render("x", &request, &text, &error), ACCEL_E_CORRUPT);
    request = request_of("{");
    assert_int_equal(render("x", &request, &text, &error), ACCEL_E_CORRUPT);
    request.size = 3;
    assert_int_equal(render("x", &request, &text, &error), ACCEL_E_INVALID);
}

/* What must be refused, with which code, and what the message must say. */
static const struct {
    const char *text, *words;
    int32_t code;
} refusals[] = {
    {"a\nb {% include 'x' %}", "t:2:6: a statement that is not supported at \"include\"", ACCEL_E_UNSUPPORTED},
    {"{% raw %}{% endraw %}", "\"raw\"", ACCEL_E_UNSUPPORTED},
    {"{% block x %}{% endblock %}", "\"block\"", ACCEL_E_UNSUPPORTED},
    {"{{ x|wordcount }}", "t:1:6: filter \"wordcount\" is not supported", ACCEL_E_UNSUPPORTED},
    {"{{ 1 is upper }}", "test \"upper\"", ACCEL_E_UNSUPPORTED},
    {"{{ 'a'.zfill(3) }}", "method \"zfill\"", ACCEL_E_UNSUPPORTED},
    {"{{ strftime_now('%d') }}", "function \"strftime_now\"", ACCEL_E_UNSUPPORTED},
    {"{{ raise_exception('roles must alternate') }}", "roles must alternate", ACCEL_E_REFUSED},
    {"{% for i in range(3) recursive %}{% endfor %}", "recursive", ACCEL_E_UNSUPPORTED},
    {"{{ 1|tojson(sort_keys=true) }}", "sort_keys", ACCEL_E_UNSUPPORTED},
    {"{{ missing.x }}", "\"missing\" is undefined", ACCEL_E_INVALID},
    {"{{ 9223372036854775807 }}", "number", ACCEL_E_LIMIT},
    {"{{ 999999999999999999 * 999999999999 }}", "64 bits", ACCEL_E_INVALID},
    {"{% for i in range(90000) %}{{ 1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1 }}{% endfor %}", "steps", ACCEL_E_LIMIT},
    {"{% for i in range(9999999) %}{% endfor %}", "range", ACCEL_E_LIMIT},
    {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "deeper", ACCEL_E_LIMIT},
    {"{% set n = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(40) %}{% set n.x = n.x + n.x %}{% endfor %}",
     "memory", ACCEL_E_LIMIT},
    {"{% set n = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(17) %}{% set n.x = n.x + n.x %}{% endfor %}"
     "{% for i in range(20) %}{{ n.x }}{% endfor %}",
     "output", ACCEL_E_LIMIT},
    {"{% set n = namespace(x=[]) %}{% for i in range(2000) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x == n.x }}"
     "{{ raise_exception('survived') }}",
     "survived", ACCEL_E_REFUSED},
};

static void test_refusals(void **state)
{
    struct accel_chat_request request = request_of(NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct accel_error error;
        char *text;
        int32_t code = render(refusals[i].text, &request, &text, &error);

        if (code != refusals[i].code || strstr(error.text, refusals[i].words) == NULL)
            fail_msg("%s\ngave %s: %s", refusals[i].text, accel_error_name(code), error.text);
        assert_null(text);
    }
}

/* Brackets, chains and blocks nested by the thousand must end in an error, not in the stack. */
static void test_nesting(void **state)
{
    static const struct {
        const char *begin, *repeated, *end;
    } shapes[] = {
        {"{{ ", "(", "1 }}"},
        {"{{ ", "[", "1 }}"},
        {"{{ ", "-", "1 }}"},
        {"{{ ", "not ", "1 }}"},
        {"", "{% if 1 %}", ""},
        {"{{ 1", "|abs", " }}"},
        {"{{ x", ".y", " }}"},
        {"{{ 1", " + 1", " }}"},
        {"{{ 1", " if 1 else 1", " }}"},
        {"{{ 1", " and 1", " }}"},
        {"{{ 1", " is odd", " }}"},
        {"{{ x", "[0]", " }}"},
        {"{{ ", "{'a':", "1 }}"},
        {"{% if 0 %}", "{% elif 0 %}", "{% endif %}{{ [][0].x }}"},
        {"", "{% for x in y %}", ""},
        {"{{ nothing.x", " < 1", " }}"},
    };
    struct accel_chat_request request = request_of(NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        size_t count = 20000, size = strlen(shapes[i].repeated);
        char *source = malloc(count * size + 64), *text, *at = source;
        struct accel_error error;

        assert_non_null(source);
        at += sprintf(at, "%s", shapes[i].begin);
        for (size_t j = 0; j < count; j++, at += size)
            memcpy(at, shapes[i].repeated, size);
        sprintf(at, "%s", shapes[i].end);
        if (render(source, &request, &text, &error) == ACCEL_OK)
            fail_msg("accepted: %s%s...", shapes[i].begin, shapes[i].repeated);
        free(source);
    }
}

/* The chats of a real model: its template, its default system message, and the ids that the reference fed it. */
static void test_smollm2(void **state)
{
    const char *models = getenv("ACCEL_REAL_MODELS");
    char path[4096], cases[4096];
    struct accel_tokenizer *tokenizer;
    json_t *root, *row;
    size_t index, chats = 0;

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
        json_t *variables;
        char *dumped, *text;
        struct accel_chat_request request;
        struct accel_error error;
        struct accel_token_list list = {0};

        if (json_object_get(row, "messages") == NULL)
            continue;
        variables = json_pack("{s:O}", "messages", json_object_get(row, "messages"));
        dumped = json_dumps(variables, 0);
        request = request_of(dumped);
        request.flags = ACCEL_CHAT_GENERATE;
        expect_ok(render(accel_tokenizer_chat_template(tokenizer), &request, &text, &error), &error);
        assert_string_equal(text, json_string_value(json_object_get(row, "prompt")));
        expect_ok(accel_tokenizer_encode(tokenizer, text, strlen(text), ACCEL_ENCODE_PARSE_SPECIAL, &list, &error),
                  &error);
        assert_int_equal(list.count, json_array_size(json_object_get(row, "prompt_ids")));
        for (size_t i = 0; i < list.count; i++)
            assert_int_equal(list.ids[i], json_integer_value(json_array_get(json_object_get(row, "prompt_ids"), i)));
        accel_token_list_free(&list);
        accel_chat_text_free(text);
        free(dumped);
        json_decref(variables);
        chats++;
    }
    assert_int_equal(chats, 2);
    json_decref(root);
    accel_tokenizer_free(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),   cmocka_unit_test(test_messages), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_nesting), cmocka_unit_test(test_smollm2),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
