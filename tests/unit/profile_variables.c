/* SPDX-License-Identifier: Apache-2.0 */
/* The table of other names in the environment: what it may say, what is refused where, what variables come to, and
 * which unknown ones are worth a warning. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/profile/environment.h"

#define START "accel-environment: 1\nvariables:\n"

/** A table, and what is said about it ("" when it is fine). */
struct sample {
    const char *text;
    const char *words;
};

static const struct sample samples[] = {
    {START "  A: {key: context, unit: tok, because: x}\n", ""},
    {START "  A: {key: weights.type, values: {\"1\": q4, \"0\": auto}, because: x}\n", ""},
    {START "  A: {set: {\"1\": {kv.type.k: q4, kv.type.v: q4}, \"0\": {}}, because: x}\n", ""},
    {"accel-environment: 1\nabout: x\nprefixes: [A_]\nvariables: {}\n", ""},
    {"accel-environment: 1\n", "e.yaml:1:1: \"variables\" is missing"},
    {"accel-environment: 2\nvariables: {}\n", "e.yaml:1:20: only version 1"},
    {"accel-profile: 1\nvariables: {}\n", "e.yaml:1:1: \"accel-profile\" is unknown here"},
    {"accel-environment: 1\nvariables: []\n", "e.yaml:2:12: \"variables\" requires a mapping"},
    {"accel-environment: 1\nprefixes: [a]\nvariables: {}\n",
     "e.yaml:2:12: the name of a variable consists of capitals"},
    {"accel-environment: 1\nprefixes: [[A]]\nvariables: {}\n", "e.yaml:2:12: a prefix is plain text"},
    {START "  a: {key: context, because: x}\n", "e.yaml:3:3: the name of a variable consists of capitals"},
    {START "  1A: {key: context, because: x}\n", "e.yaml:3:3: the name of a variable consists of capitals"},
    {START "  ACCEL_A: {key: context, because: x}\n", "e.yaml:3:3: ACCEL_... are the settings' own names"},
    {START "  A: context\n", "e.yaml:3:6: a mapping belongs here"},
    {START "  A: {key: context}\n", "e.yaml:3:6: \"because\" is missing"},
    {START "  A: {because: x}\n", "e.yaml:3:3: a variable has either \"set\", or \"key\""},
    {START "  A: {key: context, set: {}, because: x}\n", "either \"set\", or \"key\""},
    {START "  A: {key: context, unit: tok, values: {}, because: x}\n", "either \"set\", or \"key\""},
    {START "  A: {key: contxt, because: x}\n", "e.yaml:3:12: setting \"contxt\" is unknown; did you mean \"context\"?"},
    {START "  A: {kye: context, because: x}\n", "e.yaml:3:7: \"kye\" is unknown here; did you mean \"key\"?"},
    {START "  A: {key: context, unit: MiB, because: x}\n", "e.yaml:3:27: \"MiB\" is no unit of context"},
    {START "  A: {key: context, unit: '', because: x}\n", "is no unit of context"},
    {START "  A: {key: kv.type.k, unit: tok, because: x}\n", "is no unit of kv.type.k"},
    {START "  A: {key: kv.type.k, values: {}, because: x}\n", "e.yaml:3:31: at least one value belongs here"},
    {START "  A: {key: kv.type.k, values: {a: f61}, because: x}\n", "e.yaml:3:35: kv.type.k: \"f61\" is none of"},
    {START "  A: {key: kv.type.k, values: {a: [b]}, because: x}\n", "e.yaml:3:35: a value is plain text"},
    {START "  A: {set: {a: b}, because: x}\n", "e.yaml:3:16: each value of \"set\" requires a mapping of settings"},
    {START "  A: {set: {a: {b: c}}, because: x}\n", "e.yaml:3:17: setting \"b\" is unknown"},
    {START "  A: {set: {a: {memory.budget: 5}}, because: x}\n", "e.yaml:3:32: memory.budget: \"5\" lacks its unit"},
    {START "  A: {key: context, because: x}\n  A: {key: context, because: x}\n",
     "e.yaml:4:3: key \"A\" stands at line 3"},
};

static void test_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct accel_aliases aliases;
        struct accel_error error = {0};
        int32_t code = accel_aliases_parse(&aliases, "e.yaml", samples[i].text, strlen(samples[i].text), NULL, &error);
        accel_aliases_free(&aliases);
        if ((code == ACCEL_OK) != (*samples[i].words == 0) || strstr(error.text, samples[i].words) == NULL)
            fail_msg("of: %s\ngot: %d %s\nwanted: %s", samples[i].text, code, error.text, samples[i].words);
    }
}

static const char table[] = "accel-environment: 1\n"
                            "prefixes: [OTHER_]\n"
                            "variables:\n"
                            "  OTHER_CHUNK: {key: load.chunk, unit: MiB, because: one}\n"
                            "  OTHER_BITS: {key: weights.type, values: {\"4\": q4, \"16\": f16}, because: two}\n"
                            "  OTHER_CACHE: {set: {\"1\": {kv.type.k: q4, kv.type.v: q8}, \"0\": {}}, because: three}\n"
                            "  OTHER_GROUP: {key: weights.group, because: four}\n";

/** What variables come to: "KEY=TEXT ...". */
struct outcome {
    const char *name, *value, *wishes;
};

static const struct outcome outcomes[] = {
    {"OTHER_CHUNK", "100", "load.chunk=100MiB "},
    {"OTHER_CHUNK", "100MB", "load.chunk=100MB "},
    {"OTHER_CHUNK", "x", "load.chunk=x "},
    {"OTHER_BITS", "16", "weights.type=f16 "},
    {"OTHER_BITS", "5", NULL},
    {"OTHER_CACHE", "1", "kv.type.k=q4 kv.type.v=q8 "},
    {"OTHER_CACHE", "0", ""},
    {"OTHER_CACHE", "true", NULL},
    {"OTHER_GROUP", "64", "weights.group=64 "},
    {"OTHER_GROUP", "", ""},
    {"ACCEL_KV_TYPE_K", "f32", "kv.type.k=f32 "},
    {"ACCEL_ONE_FAST_WAY", "A b", "one.fast_way=A b "},
    {"ACCEL_ONE_", "x", ""},
    {"ACCEL_TWO_FAST", "x", ""},
};

static void check_outcome(const struct accel_aliases *aliases, const struct outcome *o)
{
    struct accel_arena arena = {0};
    struct accel_error error = {0};
    const struct accel_environment_setting *wish;
    char text[400] = "";
    int32_t code;
    setenv(o->name, o->value, 1);
    code = accel_environment_read(aliases, "one", &arena, &wish, &error);
    unsetenv(o->name);
    for (; code == ACCEL_OK && wish; wish = wish->next) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s=%s ", wish->key, wish->text);
        assert_non_null(strstr(wish->place, o->name));
    }
    accel_arena_free(&arena);
    if (o->wishes == NULL) {
        assert_int_equal(code, ACCEL_E_INVALID);
        assert_non_null(strstr(error.text, "e.yaml:"));
        assert_non_null(strstr(error.text, "is none of:"));
        assert_non_null(strstr(error.remedy, o->name));
    } else if (code != ACCEL_OK || strcmp(text, o->wishes) != 0) {
        fail_msg("%s=%s: %s%s", o->name, o->value, text, error.text);
    }
}

static void test_outcomes(void **state)
{
    struct accel_aliases aliases;
    (void)state;
    assert_int_equal(accel_aliases_parse(&aliases, "e.yaml", table, strlen(table), NULL, NULL), ACCEL_OK);
    assert_int_equal(aliases.count, 4);
    for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++)
        check_outcome(&aliases, &outcomes[i]);
    accel_aliases_free(&aliases);
}

/* Where two say the same, the later one of the table counts, and ACCEL_... above both. */
static void test_order(void **state)
{
    static const char two[] = START "  OTHER_B: {key: context, unit: tok, because: x}\n"
                                    "  OTHER_A: {key: context, unit: tok, because: x}\n";
    struct accel_arena arena = {0};
    struct accel_aliases aliases;
    const struct accel_environment_setting *wish;
    (void)state;
    assert_int_equal(accel_aliases_parse(&aliases, "e.yaml", two, strlen(two), NULL, NULL), ACCEL_OK);
    setenv("ACCEL_CONTEXT", "3tok", 1);
    setenv("OTHER_A", "2", 1);
    setenv("OTHER_B", "1", 1);
    assert_int_equal(accel_environment_read(&aliases, NULL, &arena, &wish, NULL), ACCEL_OK);
    unsetenv("ACCEL_CONTEXT");
    unsetenv("OTHER_A");
    unsetenv("OTHER_B");
    assert_string_equal(wish->text, "1tok");
    assert_string_equal(wish->place, "environment OTHER_B (e.yaml:3)");
    assert_string_equal(wish->next->text, "2tok");
    assert_string_equal(wish->next->next->text, "3tok");
    assert_null(wish->next->next->next);
    accel_arena_free(&arena);
    accel_aliases_free(&aliases);
}

/* ---- warnings ---- */

static void take_unknown(void *data, const char *name, const char *near)
{
    char *lines = data;
    size_t used = strlen(lines);
    snprintf(lines + used, 4000 - used, "variable=%s near=%s\n", name, near ? near : "none");
}

/* `words`: what is said about the variable; NULL: nothing is. */
static void check_warning(const struct accel_aliases *aliases, const char *name, const char *words)
{
    static const char *const drivers[] = {"one", "two"};
    char lines[4000] = "", wanted[100];
    const char *line;
    setenv(name, "1", 1);
    accel_environment_unknown(aliases, drivers, 2, take_unknown, lines);
    unsetenv(name);
    snprintf(wanted, sizeof(wanted), "variable=%s ", name);
    line = strstr(lines, wanted);
    if ((line == NULL) != (words == NULL) || (line && strstr(line, words) == NULL))
        fail_msg("%s: \"%s\" does not say \"%s\"", name, lines, words ? words : "nothing");
}

static void test_warnings(void **state)
{
    struct accel_aliases aliases;
    (void)state;
    assert_int_equal(accel_aliases_parse(&aliases, "e.yaml", table, strlen(table), NULL, NULL), ACCEL_OK);
    check_warning(&aliases, "ACCEL_CONTXT", "near=ACCEL_CONTEXT\n");
    check_warning(&aliases, "ACCEL_THREADS", "near=ACCEL_CPU_THREADS\n");
    check_warning(&aliases, "ACCEL_DRIVERPATH", "near=ACCEL_DRIVER_PATH\n");
    check_warning(&aliases, "OTHER_CHUNKS", "near=OTHER_CHUNK\n");
    check_warning(&aliases, "OTHER_SOMETHING_ELSE_ALTOGETHER", "near=none");
    check_warning(&aliases, "ACCEL_QQQQQQQQ_ZZZZZZZZ_XXXXXXXX", "near=none");
    check_warning(&aliases, "ACCEL_TEST_SRCDIR", NULL);
    check_warning(&aliases, "ACCEL_CONTEXT", NULL);
    check_warning(&aliases, "ACCEL_PROFILE_PATH", NULL);
    check_warning(&aliases, "ACCEL_TWO_ANYTHING", NULL);
    check_warning(&aliases, "OTHER_BITS", NULL);
    check_warning(&aliases, "UNRELATED_BITS", NULL);
    accel_aliases_free(&aliases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_warnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
