/* SPDX-License-Identifier: Apache-2.0 */
/* Splitting rules of tokenizer.ggml.pre: the pieces of one text by every name, as another implementation splits it. */
#include <jansson.h>

#include "model/tokenizer/pre_rules.h"
#include "model/tokenizer/tokenizer.h"
#include "tests/unit/token_support.h"

/* Splits `text` by a rule and compares the pieces. */
static void check_rule(const char *name, const struct token_pre_rule *rule, const json_t *text, const json_t *wanted)
{
    struct token_splitters splitters = {0};
    struct token_pieces pieces = {0};
    struct accel_error error = {0};
    size_t size = json_string_length(text);

    for (size_t i = 0; i < TOKEN_PRE_RULES && rule->rules[i] != NULL; i++)
        expect_ok(
            token_add_rule(&splitters, rule->rules[i], strlen(rule->rules[i]), TOKEN_ISOLATED, false, name, &error),
            &error);
    assert_true(token_buffer_append(&pieces.text, json_string_value(text), size));
    assert_true(token_pieces_add(&pieces, 0, size, true));
    expect_ok(token_split(&splitters, &pieces, &error), &error);
    for (size_t i = 0; i < pieces.count && i < json_array_size(wanted); i++) {
        const json_t *piece = json_array_get(wanted, i);
        size_t length = pieces.ranges[i].end - pieces.ranges[i].start;

        if (length != json_string_length(piece) ||
            memcmp(pieces.text.data + pieces.ranges[i].start, json_string_value(piece), length) != 0)
            fail_msg("%s: piece %zu is \"%.*s\", not \"%s\"", name, i, (int)length,
                     pieces.text.data + pieces.ranges[i].start, json_string_value(piece));
    }
    assert_int_equal(pieces.count, json_array_size(wanted));
    token_pieces_free(&pieces);
    token_splitters_free(&splitters);
}

static const json_t *find_case(const json_t *root, const char *name)
{
    const json_t *row, *value;
    size_t i, j;

    json_array_foreach(json_object_get(root, "cases"), i, row)
    {
        json_array_foreach(json_object_get(row, "names"), j, value)
        {
            if (strcmp(json_string_value(value), name) == 0)
                return json_object_get(row, "pieces");
        }
    }
    return NULL;
}

static void test_names(void **state)
{
    char path[4096], names[4096];
    json_t *root;
    size_t count = 0;

    (void)state;
    tree_path(path, "tests/fixtures/tokenizers/pre_rules.json");
    root = json_load_file(path, 0, NULL);
    assert_non_null(root);
    token_pre_rule_names(names, sizeof(names));
    assert_true(strlen(names) < sizeof(names) - 1);
    for (char *rest = names, *name; (name = strtok_r(rest, " ", &rest)) != NULL; count++) {
        const struct token_pre_rule *rule = token_pre_rule_find(name);
        const json_t *wanted = find_case(root, name);

        if (rule == NULL || wanted == NULL)
            fail_msg("%s has no %s", name, rule == NULL ? "rule" : "case");
        check_rule(name, rule, json_object_get(root, "text"), wanted);
    }
    assert_true(count > 80);
    json_decref(root);
}

static void test_unknown(void **state)
{
    (void)state;
    assert_null(token_pre_rule_find("qwen"));
    assert_null(token_pre_rule_find(""));
    assert_null(token_pre_rule_find("smollm refact"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
