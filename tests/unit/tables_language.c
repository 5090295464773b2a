/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of tables: every refusal with its place, and arithmetic. */
#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/tables/tables.h"

#define COMPAT "accel-compat: 1\ntables:\n  - name: A\n    about: B\n"
#define SHEET COMPAT "    ratings: [none, high]\n    columns: [{name: X, platform: cpu}, {name: Y}]\n    rows:\n"
#define CLAIM "accel-claims: 1\nclaims:\n  - {id: Z1, claim: c, subject: s, value: \"1\", because: \"S0:1\", check: k, "
#define ADVICE "accel-advice: 1\ntopics:\n  - name: t\n    about: a\n    steps:\n      - {id: i, text: x, because: own"

static const struct {
    enum accel_table_file file;
    const char *text;
    const char *error; /* how it begins, after "t.yaml:" */
} refused[] = {
    {ACCEL_TABLE_COMPAT, "accel-compat: 2\ntables: []\n", "1:15: only version 1"},
    {ACCEL_TABLE_COMPAT, "tables: []\n", "1:1: \"accel-compat\" is missing"},
    {ACCEL_TABLE_COMPAT, "accel-compat: 1\ntable: []\n", "2:1: \"table\" is unknown here; did you mean \"tables\"?"},
    {ACCEL_TABLE_COMPAT, "accel-compat: 1\ntables: {}\n", "2:9: \"tables\" requires a list"},
    {ACCEL_TABLE_COMPAT, COMPAT, "3:5: \"ratings\" is missing"},
    {ACCEL_TABLE_COMPAT, COMPAT "    ratings: [hihg]\n    columns: []\n    rows: []\n",
     "5:15: \"hihg\" is no rating of this table; did you mean \"high\"?"},
    {ACCEL_TABLE_COMPAT, COMPAT "    ratings: [[]]\n    columns: []\n    rows: []\n", "5:15: \"ratings\" is a list"},
    {ACCEL_TABLE_COMPAT, SHEET "      - {name: R, cells: [high], because: \"S0:1\"}\n",
     "8:26: the row has 1 cells, the table 2 columns"},
    {ACCEL_TABLE_COMPAT, SHEET "      - {name: R, cells: [high, none], because: \"S0:1\"}\n",
     "8:33: neither the row nor the column"},
    {ACCEL_TABLE_COMPAT, SHEET "      - {name: R, platform: p, cells: [high, full], because: \"S0:1\"}\n",
     "8:46: \"full\" is no rating of this table"},
    {ACCEL_TABLE_COMPAT, SHEET "      - {name: R, platform: p, cells: [high, []], because: \"S0:1\"}\n",
     "8:46: a cell is a word"},
    {ACCEL_TABLE_COMPAT, SHEET "      - {name: R, platform: p, cells: [high, none]}\n", "8:9: \"because\" is missing"},
    {ACCEL_TABLE_COMPAT, SHEET "      - {name: R, platform: p, cells: [high, none], because: somewhere}\n",
     "8:62: a reason begins with its documents"},
    {ACCEL_TABLE_COMPAT, SHEET "      - {name: R, platform: p, set: {batc: 1tok}, cells: [high, none], because: own}\n",
     "8:38: setting \"batc\" is unknown; did you mean \"batch\"?"},
    {ACCEL_TABLE_COMPAT, SHEET "      - {name: R, platform: p, set: {batch: 1s}, cells: [high, none], because: own}\n",
     "8:45: batch: "},
    {ACCEL_TABLE_COMPAT,
     "accel-compat: 1\ntables: []\nrecommendations:\n  - {name: A, about: B, rows: [{subject: s}]}\n",
     "4:32: \"advice\" is missing"},
    {ACCEL_TABLE_COMPAT, "accel-compat: 1\ntables: []\nrecommendations: [{name: A, about: B, rows: [x]}]\n",
     "3:46: a mapping belongs here"},
    {ACCEL_TABLE_CLAIMS, CLAIM "verdict: measured}\n", "3:75: \"verdict\" is unknown here"},
    {ACCEL_TABLE_CLAIMS, CLAIM "ours: \"1\"}\n", "3:81: \"ours\" and the \"formula\" behind it"},
    {ACCEL_TABLE_CLAIMS, CLAIM "formula: 1 + 1}\n", "3:84: \"ours\" and the \"formula\" behind it"},
    {ACCEL_TABLE_CLAIMS, CLAIM "ours: \"2\", formula: 1 + 1}\n", "3:81: the rule rejects this claim"},
    {ACCEL_TABLE_CLAIMS, CLAIM "ours: two, formula: 1 + 1}\n", "3:81: \"ours\" is a number"},
    {ACCEL_TABLE_CLAIMS, CLAIM "ours: \"1\", formula: 1, bound: some}\n", "3:105: a bound of \"ours\""},
    {ACCEL_TABLE_CLAIMS, CLAIM "bound: most}\n", "3:82: a bound of \"ours\""},
    {ACCEL_TABLE_CLAIMS, CLAIM "ours: \"1.4\", formula: 5 / 4}\n", "3:81: the formula gives 1.25, not 1.4"},
    {ACCEL_TABLE_CLAIMS,
     CLAIM "finding: f}\n  - {id: Z1, claim: c, subject: s, value: \"1\", because: own, check: k}\n",
     "4:10: claim \"Z1\" stands twice"},
    {ACCEL_TABLE_ADVICE, ADVICE ", when: \"model.layer == 3\"}\n", "6:46: fact \"model.layer\" is unknown"},
    {ACCEL_TABLE_ADVICE, ADVICE ", cost: much}\n", "6:14: \"cost\" and \"cost-origin\" belong together"},
    {ACCEL_TABLE_ADVICE, ADVICE ", set: {weights.type: q5}}\n", "6:60: weights.type: "},
    {ACCEL_TABLE_ADVICE, ADVICE ", set: {weights.type: [q4]}}\n", "6:60: a value is plain text"},
    {ACCEL_TABLE_ADVICE, ADVICE ", set: {batch: 1tok}, search: {setting: batch, wanted: largest, bound: 1tok}}\n",
     "6:68: a step either sets"},
    {ACCEL_TABLE_ADVICE, ADVICE ", search: {setting: weights.type, wanted: largest, bound: q4}}\n",
     "6:58: what is searched is a setting that is a number"},
    {ACCEL_TABLE_ADVICE, ADVICE ", search: {setting: batch, wanted: best, bound: 1tok}}\n",
     "6:73: wanted is the largest or the smallest"},
    {ACCEL_TABLE_ADVICE, ADVICE ", search: {setting: batch, wanted: largest, bound: 1s}}\n", "6:89: batch: "},
    {ACCEL_TABLE_ADVICE, ADVICE ", search: {setting: context, wanted: largest, bound: auto}}\n",
     "6:91: a bound is a number"},
    {ACCEL_TABLE_ADVICE, ADVICE "}\n      - {id: i, text: x, because: own}\n", "7:14: step \"i\" stands twice"},
    {ACCEL_TABLE_ADVICE, ADVICE "}\n  - {name: t, about: a, steps: []}\n", "7:12: this topic stands twice"},
};

static void refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct accel_tables *tables = NULL;
        struct accel_error error = {0};
        int32_t code =
            accel_tables_parse(refused[i].file, "t.yaml", refused[i].text, strlen(refused[i].text), &tables, &error);
        if ((code != ACCEL_E_CORRUPT && code != ACCEL_E_INVALID) || strncmp(error.text, "t.yaml:", 7) != 0 ||
            strncmp(error.text + 7, refused[i].error, strlen(refused[i].error)) != 0)
            fail_msg("row %zu: wanted \"%s\", got %d \"%s\"", i, refused[i].error, code, error.text);
        assert_null(tables);
    }
}

static void sources(void **state)
{
    static const struct {
        const char *text;
        int is_right;
    } texts[] = {{"S0:1", 1},      {"S0:1-2 words", 1},
                 {"S0:3,5-7", 1},  {"S2:13 S4:9,11 (words)", 1},
                 {"own", 1},       {"own words", 1},
                 {"S0:1 S", 1},    {"S0", 0},
                 {"S0:", 0},       {"S0:0", 0},
                 {"S0:2-1", 0},    {"S0:1-2-3", 0},
                 {"S0:1,", 0},     {"S0:1 S4:", 0},
                 {"owner", 0},     {"s0:1", 0},
                 {"S0:1x", 0},     {"", 0},
                 {"S0:100000", 0}, {"Sx:1", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct accel_tables *tables = NULL;
        struct accel_error error = {0};
        char text[400];
        int32_t code;
        snprintf(text, sizeof(text),
                 "accel-claims: 1\nclaims:\n  - {id: Z1, claim: c, subject: s, value: v, check: k, "
                 "because: \"%s\"}\n",
                 texts[i].text);
        code = accel_tables_parse(ACCEL_TABLE_CLAIMS, "t.yaml", text, strlen(text), &tables, &error);
        if ((code == ACCEL_OK) != texts[i].is_right)
            fail_msg("\"%s\": %d %s", texts[i].text, code, error.text);
        accel_tables_free(tables);
    }
}

/* The rule, case by case: each kind of value, at its edges, and both kinds of bound. */
static void verdicts(void **state)
{
    static const struct {
        const char *value;
        const char *ours;
        const char *formula;
        const char *bound;
        uint32_t verdict;
        const char *origin;
    } rows[] = {
        {"100", "95", "95", "", ACCEL_PROMISE_ESTIMATED, "estimated"},
        {"100", "105", "read off", "", ACCEL_PROMISE_MEASURED, "measured"},
        {"100", "94.9", "94.9", "", ACCEL_PROMISE_REJECTED, "estimated"},
        {"100", "105.1", "read off", "", ACCEL_PROMISE_REJECTED, "measured"},
        {"-30", "0", "0", "", ACCEL_PROMISE_REJECTED, "estimated"},
        {"-30", "-31", "0 - 31", "", ACCEL_PROMISE_ESTIMATED, "estimated"},
        {"30..45", "30", "30", "", ACCEL_PROMISE_ESTIMATED, "estimated"},
        {"30..45", "45", "45", "", ACCEL_PROMISE_ESTIMATED, "estimated"},
        {"30..45", "96.9", "96.9", "", ACCEL_PROMISE_REJECTED, "estimated"},
        {"75..78", "74.2", "74.2", "", ACCEL_PROMISE_REJECTED, "estimated"},
        {"-15..-10", "-12", "0 - 12", "", ACCEL_PROMISE_ESTIMATED, "estimated"},
        {"<1", "0.99", "0.99", "", ACCEL_PROMISE_ESTIMATED, "estimated"},
        {"<1", "1", "1", "", ACCEL_PROMISE_REJECTED, "estimated"},
        {"<=3.8", "3.8", "3.8", "", ACCEL_PROMISE_ESTIMATED, "estimated"},
        {">0", "0", "0", "", ACCEL_PROMISE_REJECTED, "estimated"},
        {">=8.0", "8.0", "8", "", ACCEL_PROMISE_ESTIMATED, "estimated"},
        {">=8.0", "7.5", "75 / 10", "", ACCEL_PROMISE_REJECTED, "estimated"},
        {"2.5", "3.88", "3.88", "most", ACCEL_PROMISE_CLAIMED, "estimated"},
        {"5", "3.88", "3.88", "most", ACCEL_PROMISE_REJECTED, "estimated"},
        {"750", "43.8", "43.8", "least", ACCEL_PROMISE_CLAIMED, "estimated"},
        {"30", "43.8", "43.8", "least", ACCEL_PROMISE_REJECTED, "estimated"},
        {"minimal", "0.21", "read off", "", ACCEL_PROMISE_CLAIMED, "measured"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct accel_tables *tables = NULL;
        struct accel_error error = {0};
        const struct accel_promise *promise;
        char text[600];
        snprintf(text, sizeof(text),
                 "accel-claims: 1\nclaims:\n  - {id: Z1, claim: c, subject: s, value: \"%s\", check: k, because: own, "
                 "ours: \"%s\", formula: \"%s\", finding: f, bound: \"%s\"}\n",
                 rows[i].value, rows[i].ours, rows[i].formula, rows[i].bound);
        if (accel_tables_parse(ACCEL_TABLE_CLAIMS, "t.yaml", text, strlen(text), &tables, &error) != ACCEL_OK)
            fail_msg("row %zu: %s", i, error.text);
        promise = accel_promise_get(tables, 0);
        if (promise->verdict != rows[i].verdict)
            fail_msg("%s against %s: %s", rows[i].value, rows[i].ours, promise->verdict_name);
        assert_string_equal(promise->origin, rows[i].origin);
        assert_string_equal(promise->verdict_name, accel_promise_verdict_name(promise->verdict));
        accel_tables_free(tables);
    }
    assert_string_equal(accel_promise_verdict_name(9), "");
    assert_int_equal(accel_promise_judge(NULL, 1), ACCEL_PROMISE_CLAIMED);
}

/* A number that was just measured is judged by the same rule, without the bound of the file's own. */
static void judgements(void **state)
{
    const struct accel_promise number = {.size = sizeof(number), .value = "2.5", .bound = "most"},
                               words = {.size = sizeof(words), .value = "minimal", .bound = ""};
    (void)state;
    assert_int_equal(accel_promise_judge(&number, 2.4), ACCEL_PROMISE_MEASURED);
    assert_int_equal(accel_promise_judge(&number, 1.2), ACCEL_PROMISE_REJECTED);
    assert_int_equal(accel_promise_judge(&number, NAN), ACCEL_PROMISE_CLAIMED);
    assert_int_equal(accel_promise_judge(&words, 0.2), ACCEL_PROMISE_CLAIMED);
}

static void formulas(void **state)
{
    static const struct {
        const char *text;
        int is_right;
        double value;
    } texts[] = {
        {"1", 1, 1},      {"1 + 2 * 3", 1, 7},    {"(1 + 2) * 3", 1, 9}, {"8 / 4 / 2", 1, 1}, {"8 - 4 - 2", 1, 2},
        {"-3 + 5", 1, 2}, {"0.5*0.25", 1, 0.125}, {"2 * (-3)", 1, -6},   {"", 0, 0},          {"1 +", 0, 0},
        {"1 / 0", 0, 0},  {"1 / (2 - 2)", 0, 0},  {"1e3", 0, 0},         {"inf", 0, 0},       {"(1", 0, 0},
        {"1)", 0, 0},     {"1.", 0, 0},           {".5", 0, 0},          {"1..2", 0, 0},      {"0x10", 0, 0},
        {"2 2", 0, 0},    {"about 3", 0, 0},      {"1 / 3 * 3", 1, 1},
    };
    char deep[200] = "";
    double value;
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int is_right = accel_formula_value(texts[i].text, &value);
        if (is_right != texts[i].is_right ||
            (is_right && (value - texts[i].value > 1e-9 || texts[i].value - value > 1e-9)))
            fail_msg("\"%s\": %d %g", texts[i].text, is_right, value);
    }
    memset(deep, '(', 60);
    assert_false(accel_formula_value(deep, &value));
    assert_true(accel_formula_agrees("86.7", 86.71875));
    assert_false(accel_formula_agrees("86.8", 86.71875));
    assert_true(accel_formula_agrees("2", 2.49));
    assert_false(accel_formula_agrees("2", 2.51));
    assert_true(accel_formula_agrees("-0.3", -0.28));
    assert_false(accel_formula_agrees("two", 2));
}

/* A folder without one of the files: the error names it. */
static void absent(void **state)
{
    struct accel_tables *tables = NULL;
    struct accel_error error = {0};
    (void)state;
    assert_int_equal(accel_tables_load("/nonexistent", &tables, &error), ACCEL_E_NOT_FOUND);
    assert_non_null(strstr(error.text, "compat.yaml"));
    assert_null(tables);
    accel_tables_free(NULL);
    assert_int_equal(accel_compat_count(NULL) + accel_promise_count(NULL) + accel_recommendation_count(NULL), 0);
    assert_int_equal(accel_advice_topic_count(NULL) + accel_advice_count(NULL, "oom"), 0);
    assert_null(accel_advice_get(NULL, "oom", 0));
    assert_int_equal(accel_advice_applies(NULL, NULL, NULL, 0), 0);
}

/* The public way: a context that has not discovered, with its folder or with a wrong one. */
static void from_context(void **state)
{
    struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};
    struct accel_context *context = NULL;
    struct accel_tables *tables = NULL;
    struct accel_error error = {0};
    const char *top = getenv("ACCEL_TEST_SRCDIR");
    char folder[4096];
    (void)state;
    snprintf(folder, sizeof(folder), "%s/profiles", top ? top : ".");
    options.profile_path = folder;
    assert_int_equal(accel_context_create(&options, &context, &error), ACCEL_OK);
    assert_int_equal(accel_tables_read(context, &tables, &error), ACCEL_OK);
    assert_int_equal(accel_context_free(context, &error), ACCEL_OK);
    assert_int_equal(accel_compat_count(tables), 95);
    accel_tables_free(tables);
    assert_int_equal(accel_tables_read(NULL, &tables, &error), ACCEL_E_INVALID);
    assert_null(tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),     cmocka_unit_test(sources),  cmocka_unit_test(verdicts),
        cmocka_unit_test(judgements),   cmocka_unit_test(formulas), cmocka_unit_test(absent),
        cmocka_unit_test(from_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
