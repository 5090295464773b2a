/* SPDX-License-Identifier: Apache-2.0 */
/* The language of profiles: what is refused, where, with which words; and that hostile files cost little. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/profile/language.h"

#define HEAD "accel-profile: 1\n"

/** A text, and what is said about it ("" when it is fine). */
struct sample {
    const char *text;
    const char *words;
};

static const struct sample samples[] = {
    {HEAD, ""},
    {"\xef\xbb\xbf" HEAD "rulez: []\n", "t.yaml:2:1: \"rulez\" is unknown here"},
    {"\xef\xbb\xbf" HEAD, ""},
    {HEAD "about: \"a\\tb\\nc\"\n", ""},
    {HEAD "about: \"\\e[31m\"\n", "t.yaml:2:8: text with a control character"},
    {HEAD "about: \"\\x9b31m\"\n", "t.yaml:2:8: text with a control character"},
    {HEAD "about: \"\\x7f\"\n", "t.yaml:2:8: text with a control character"},
    {HEAD "about: \"\\_\"\n", ""},
    {HEAD "rules:\n- set: {context: 1tok}\n  because: \"x\\r\"\n", "t.yaml:4:12: text with a control character"},
    {HEAD "defaults: {fallback.device: allow}\n", "t.yaml:2:29: fallback.device: no file can loosen it"},
    {HEAD "defaults: {fallback.device: warn}\n", "t.yaml:2:29: fallback.device: no file can loosen it"},
    {HEAD "defaults: {fallback.device: deny}\n", ""},
    {HEAD "about: x\ndefaults: {context: 12tok, kv.type.k: f16}\nlock: [context]\n", ""},
    {HEAD "defaults:\n  context: {value: 4 tok, because: x}\n", ""},
    {HEAD "rules:\n- set: {test.option: anything}\n  because: x\n", ""},
    {HEAD "match: [device.kind == gpu, \"device.id in [a, b]\"]\n", ""},
    {HEAD "match: [device.name contains Tesla T4, \"device.kind not in [cpu, npu]\"]\n", ""},
    {"", "t.yaml:1:1: the file is empty"},
    {"# nothing\n", "the file is empty"},
    {"about: x\n", "t.yaml:1:1: \"accel-profile\" is missing"},
    {"accel-profile: 2\n", "t.yaml:1:16: only version 1"},
    {"accel-profile: {}\n", "\"accel-profile\" requires plain text"},
    {"[1]\n", "t.yaml:1:1: a mapping belongs here"},
    {"x\n", "a mapping belongs here"},
    {HEAD "rulez: []\n", "t.yaml:2:1: \"rulez\" is unknown here; did you mean \"rules\"?"},
    {HEAD "zzzzzzzzz: []\n", "t.yaml:2:1: \"zzzzzzzzz\" is unknown here"},
    {HEAD "about: x\nabout: y\n", "t.yaml:3:1: key \"about\" stands at line 2 already"},
    {HEAD "defaults: {contxt: 12tok}\n", "t.yaml:2:12: setting \"contxt\" is unknown; did you mean \"context\"?"},
    {HEAD "defaults: {kv.type: f16}\n", ""},
    {HEAD "defaults: {kv.type: f61}\n", "t.yaml:2:21: kv.type: \"f61\" is none of: auto f32 f16 q8 q4"},
    {HEAD "defaults: {kv.typ: f16}\n", "did you mean \"kv.type.k\"?"},
    {HEAD "defaults: {context: 12}\n", ""},
    {HEAD "defaults: {context: 8K, batch: 1k}\n", ""},
    {HEAD "defaults: {context: 20M}\n", "\"20M\" is out of range, 1 to 16777216 tok, and none of: auto"},
    {HEAD "defaults: {sequences: 1K}\n", "\"1K\" has a unit, and the setting has none"},
    {HEAD "defaults: {kv.type: q4_1}\n", "\"q4_1\" is none of: auto f32 f16 q8 q4; did you mean \"q4\"?"},
    /* Words as people spell them. */
    {HEAD "defaults: {kv.type: Q8_0, cpu.pin: off, goal: Latency, weights.type: Q4_K_M}\n", ""},
    {HEAD "defaults: {context: 0tok}\n", "out of range, 1 to 16777216 tok"},
    {HEAD "defaults: {context: -1tok}\n", "is not a whole number"},
    {HEAD "defaults: {context: 1.5tok}\n", "is not a whole number"},
    {HEAD "defaults: {context: 99999999999999999999tok}\n", "is not a whole number"},
    {HEAD "defaults: {memory.budget: 4Gb}\n", "is not a whole number with its unit, MiB or GiB"},
    {HEAD "defaults: {memory.budget: 4GB}\n", ""},
    {HEAD "defaults: {memory.budget: 4}\n", "lacks its unit, MiB or GiB"},
    {HEAD "defaults: {memory.budget: 9999999999TiB}\n", "is not a whole number"},
    {HEAD "defaults: {device.rank: 3tok}\n", "has a unit, and the setting has none"},
    {HEAD "defaults: {cpu.pin: maybe}\n", "\"maybe\" is none of: true false"},
    {HEAD "defaults: {kv.type.k: f61}\n", "\"f61\" is none of: auto f32 f16 q8 q4"},
    {HEAD "defaults: {kv.type.k: }\n", "\"\" is none of"},
    {HEAD "defaults: {kv.type.k: [f16]}\n", "a mapping belongs here"},
    {HEAD "defaults: {kv.type.k: {value: f16}}\n", "\"because\" is missing"},
    {HEAD "defaults: {kv.type.k: {value: f16, becuase: x}}\n", "did you mean \"because\"?"},
    {HEAD "defaults: []\n", "\"defaults\" requires a mapping"},
    {HEAD "rules: {}\n", "\"rules\" requires a list"},
    {HEAD "rules: [x]\n", "a mapping belongs here"},
    {HEAD "rules:\n- set: {context: 1tok}\n", "\"because\" is missing"},
    {HEAD "rules:\n- because: x\n", "\"set\" is missing"},
    {HEAD "rules:\n- {because: x, set: {context: [1]}}\n", "a value is plain text"},
    {HEAD "rules:\n- {because: x, set: {}, when: device.kind}\n", "t.yaml:3:31: a condition is FACT OPERATOR VALUE"},
    {HEAD "match: {}\n", "a condition or a list"},
    {HEAD "match: []\n", "a condition or a list"},
    {HEAD "match: [[x]]\n", "a condition is plain text"},
    {HEAD "match: device.kindd == gpu\n", "fact \"device.kindd\" is unknown; did you mean \"device.kind\"?"},
    {HEAD "match: device.kind = gpu\n", "operator \"=\" is none of"},
    {HEAD "match: device.kind ==\n", "has an empty value"},
    {HEAD "match: device.kind < gpu\n", "\"gpu\" is no number to compare with"},
    {HEAD "match: device.memory < 8\n", "\"8\" is of the wrong kind; it requires a size with its unit, as 8GiB"},
    {HEAD "match: model.layers < 8tok\n", "\"8tok\" is of the wrong kind; it requires a plain number, without a unit"},
    {HEAD "match: model.context < 8\n", "a number of tokens, as 4096tok"},
    {HEAD "match: device.mem < 8GiB\n", "did you mean \"device.memory\"?"},
    {HEAD "match: device.cap < 8\n", "did you mean \"device.capability\"?"},
    {HEAD "match: model.layerz < 8\n", "did you mean \"model.layers\"?"},
    {HEAD "defaults: {context: 1024MB}\n", "context: \"1024MB\": MB is no unit of tokens; use tok"},
    {HEAD "defaults: {memory.budget: 4 tok}\n", "\"4 tok\": tok is no unit of a size; use MiB or GiB"},
    {HEAD "match: device.kind in gpu\n", "\"in\" requires a list"},
    {HEAD "match: \"device.kind in [gpu,]\"\n", "empty value"},
    {HEAD "match: \"device.kind in []\"\n", "empty value"},
    {HEAD "match: device.name contains\n", "t.yaml:2:8: condition on device.name has an empty value"},
    {HEAD "match: device.kind not gpu\n", "t.yaml:2:8: operator \"not\" is none of"},
    {HEAD "match: device.kind not in gpu\n", "t.yaml:2:8: condition on device.kind: \"in\" requires a list"},
    {HEAD "facts: {device.kind: gpu}\n", "t.yaml:2:8: \"facts\" belongs into files of the folders devices and models"},
    {HEAD "defaults: {kernels.matmul.workgroup: 8x0}\n", "is not one to three sizes of 1 to 1024, as 8x16"},
    {HEAD "defaults: {kernels.matmul.workgroup: 8x8x8x8}\n", "is not one to three sizes"},
    {HEAD "later: [{set: {kernels.unroll: 0}, because: x}]\n",
     "t.yaml:2:32: kernels.unroll: \"0\" is out of range, 1 to 16"},
    {HEAD "later: [{set: {kernels.unrol: 4}, because: x}]\n", "did you mean \"kernels.unroll\"?"},
    {HEAD "later: [{set: {load.chunk: 4}, because: x}]\n", "lacks its unit"},
    {HEAD "later: [{set: {kernels.unroll: 4}}]\n", "\"because\""},
    {HEAD "later: [{set: {context: 4tok}, because: x}]\n",
     "t.yaml:2:16: context is honored (core/plan/shape_memory.c)"},
    {HEAD "later: {kernels.unroll: 4}\n", "\"later\" requires a list"},
    {HEAD "defaults: {kernels.unroll: 4}\n", "t.yaml:2:12: kernels.unroll=4 is not honored yet (later: webgpu driver)"},
    {HEAD "rules: [{set: {kernels.unroll: 4}, because: x}]\n", "kernels.unroll=4 is not honored yet"},
    {HEAD "defaults: {cpu.pinn: true}\n", "t.yaml:2:12: setting \"cpu.pinn\" is unknown; did you mean \"cpu.pin\"?"},
    {HEAD "lock: [contextt]\n", "did you mean \"context\"?"},
    {HEAD "lock: [[context]]\n", "\"lock\" is a list of settings"},
    {HEAD "lock: context\n", "\"lock\" requires a list"},
    {HEAD "inherits: base\n", "cannot inherit"},
    {HEAD "inherits: ../base\n", "is the name of a profile"},
    {HEAD "inherits: {}\n", "is the name of a profile"},
    {HEAD "about: &a x\n", "t.yaml:2:8: anchors and tags"},
    {HEAD "about: *a\n", "t.yaml:2:8: aliases"},
    {HEAD "about: !!str x\n", "anchors and tags"},
    {HEAD "rules: &a []\n", "anchors and tags"},
    {HEAD "defaults: !x {}\n", "anchors and tags"},
    {"%YAML 1.1\n---\n" HEAD, "directives"},
    {HEAD "---\n" HEAD, "a second document"},
    {HEAD "? [a]\n: b\n", "a key has to be plain text"},
    {HEAD "about: \"a\\0b\"\n", "zero byte"},
    {HEAD "about: \xff\n", "is not UTF-8"},
    {HEAD "about: 'x\n", "t.yaml:3:1: found unexpected end of stream"},
    {HEAD "\tabout: x\n", "t.yaml:2:1: "},
    {HEAD "about: [x\n", "t.yaml:3:1: "},
};

/* Errors that the text alone does not tell how to mend. */
static const struct {
    const char *text;
    const char *words;
    const char *remedy;
} mended[] = {
    {HEAD "defaults:\n\tcontext: 1tok\n", "t.yaml:3:1: ", "indent with spaces, no tabs"},
    {HEAD "defaults:\n  \tcontext: 1tok\n", "t.yaml:3:", "indent with spaces, no tabs"},
    {"\taccel-profile: 1\n", "t.yaml:1:1: ", "indent with spaces, no tabs"},
    {HEAD "about: @x\n", "t.yaml:2:8: ", "quote a text that begins with a sign, as '@' or '`'"},
    {HEAD "about: one: two\n", "t.yaml:2:11: mapping values", "quote a text that holds ': '"},
    {HEAD "rules:\n  - because: x\n    set: {}\n  because: y\n", "'-' indicator", "indentation: entries of one list"},
    {HEAD "defaults:\n  context: 1tok\n batch: 1tok\n", "expected key", "indentation: keys of one mapping"},
    {HEAD "defaults: {context:1024tok}\n", "t.yaml:2:12: setting \"context:1024tok\" is unknown",
     "a space belongs behind ':'"},
    {HEAD "defaults:\n  context:1024tok\n", "t.yaml:3:3: \"defaults\" requires a mapping",
     "a space belongs behind ':'"},
    {HEAD "defaults: {batch: 1tok, batch: 2tok}\n", "key \"batch\" stands at line 2 already",
     "leave one of the two out"},
    {HEAD "defaults: {kv: {type: f16}}\n", "t.yaml:2:12: \"kv\" is no setting by itself",
     "settings are written with dots: kv.type.k"},
    {HEAD "rules:\n- because: x\n  set:\n    kv:\n      type:\n        k: f16\n", "t.yaml:5:5: \"kv\" is no setting",
     "settings are written with dots: kv.type.k"},
    {HEAD "defaults:\n  attention: {page: 64tok}\n", "\"attention\" is no setting by itself",
     "settings are written with dots: attention.page"},
};

static const struct accel_profile_source source = {NULL, ACCEL_LAYER_PLATFORM, "test", "t.yaml", NULL};

static void assert_says(const char *text, size_t bytes, const char *words)
{
    struct accel_profile_file file;
    struct accel_error error = {0};
    int32_t code = accel_profile_file_parse(&file, &source, text, bytes, &error);
    accel_profile_file_free(&file);
    if ((code == ACCEL_OK) != (*words == 0) || strstr(error.text, words) == NULL)
        fail_msg("of: %.200s\ngot: %d %s\nwanted: %s", text, code, error.text, words);
}

static void test_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        assert_says(samples[i].text, strlen(samples[i].text), samples[i].words);
}

static void test_remedies(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mended) / sizeof(mended[0]); i++) {
        struct accel_profile_file file;
        struct accel_error error = {0};
        int32_t code = accel_profile_file_parse(&file, &source, mended[i].text, strlen(mended[i].text), &error);
        accel_profile_file_free(&file);
        if (code == ACCEL_OK || strstr(error.text, mended[i].words) == NULL ||
            strncmp(error.remedy, mended[i].remedy, strlen(mended[i].remedy)) != 0)
            fail_msg("of: %.200s\ngot: %d %s\nremedy: %s", mended[i].text, code, error.text, error.remedy);
    }
}

/* What others wrote is shown without what a terminal would obey. */
static void test_recorded(void **state)
{
    static const struct accel_yaml_limits limits = {"record", 1000, 100, 10, 10, true};
    static const char text[] = "name: \"a\\e[31m\\tb\\x9bc\\x7f\\n\\xe9\"\n";
    struct accel_arena arena;
    struct accel_error error = {0};
    struct accel_yaml_node *root;
    (void)state;
    accel_arena_init(&arena, 1 << 20);
    assert_int_equal(accel_yaml_parse_within(&limits, "t", text, strlen(text), &arena, &root, &error), ACCEL_OK);
    assert_string_equal(root->first->value->text, "a?[31m\tb?c?\n\xc3\xa9");
    accel_arena_free(&arena);
}

/* Repeats a piece of text behind the head. */
static char *repeat(const char *piece, size_t times, const char *tail, size_t *out_bytes)
{
    size_t head = strlen(HEAD), length = strlen(piece);
    char *text = malloc(head + length * times + strlen(tail) + 1);
    assert_non_null(text);
    strcpy(text, HEAD);
    for (size_t i = 0; i < times; i++)
        memcpy(text + head + i * length, piece, length);
    strcpy(text + head + times * length, tail);
    *out_bytes = head + times * length + strlen(tail);
    return text;
}

/* Files of the size of a limit are refused within the time that a person does not notice, with a clear word. */
static void test_hostile(void **state)
{
    static const struct {
        const char *piece;
        size_t times;
        const char *tail, *words;
    } hostile[] = {
        {"[", 200000, "", "could not find"},
        {"[\n", 10000, "", "could not find"},
        {"about: [", 1, "[[[[[[[[[[[[[[[[[[[[[[[[[[[", "nested too deeply"},
        {"a: {", 3, "b: {c: {d: {e: {f: {g: {h: {i: {j: {k: {l: {m: {n: {", "too deeply"},
        {"a: {", 10000, "", "nested too deeply"},
        {"a: [\n", 10000, "", "nested too deeply"},
        {"x", 900000, ": 1\n", "could not find"},
        {"a: *a\n", 10000, "", "aliases"},
        {"&a x: y\n", 10000, "", "anchors"},
        {"about: x\n", 10000, "", "stands at line"},
        {"# comment\n", 100000, "", ""},
        {"? ", 100000, "", "plain text"},
        {"'", 100001, "", "end of stream"},
        {"{", 100000, "", "could not find"},
        {"a: &x b\n", 10000, "", "anchors"},
        {"---\n", 10000, "", "second document"},
        {"\"\\x41\"", 100000, "", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        struct accel_profile_file file;
        struct accel_error error = {0};
        size_t bytes;
        char *text = repeat(hostile[i].piece, hostile[i].times, hostile[i].tail, &bytes);
        uint64_t start = accel_clock_ns(), spent;
        int32_t code = accel_profile_file_parse(&file, &source, text, bytes, &error);
        spent = accel_clock_ns() - start;
        assert_true(file.arena.held < (size_t)4 << 20);
        accel_profile_file_free(&file);
        free(text);
        /* Well above the 100 ms of a quiet machine, so that a busy one does not fail. */
        assert_true(spent < UINT64_C(2000000000));
        if (code == ACCEL_OK ? *hostile[i].words != 0 : strstr(error.text, hostile[i].words) == NULL)
            fail_msg("%.20s...: %s", hostile[i].piece, error.text);
    }
}

/* 10,000 different keys: found to be unknown at once, not after a comparison of all with all. */
static void test_many_keys(void **state)
{
    size_t room = 200000, used = 0;
    char *text = malloc(room);
    (void)state;
    assert_non_null(text);
    used += (size_t)snprintf(text, room, HEAD "defaults:\n");
    for (int i = 0; i < 10000; i++)
        used += (size_t)snprintf(text + used, room - used, "  key%d: 1\n", i);
    assert_says(text, used, "too many entries");
    free(text);
}

/* ---- facts ---- */

static const struct {
    uint32_t layer;
    const char *text, *words;
} fact_samples[] = {
    {ACCEL_LAYER_DEVICE, "facts: {device.memory: 16GB, device.name: Tesla T4, device.capability: 75}\n", ""},
    {ACCEL_LAYER_DEVICE, "facts: {device.memory: {value: 16GiB, because: x}}\n", ""},
    {ACCEL_LAYER_MODEL, "facts: {model.kind: generation, model.layers: 4, model.context: 5tok}\n", ""},
    {ACCEL_LAYER_PLATFORM, "facts: {}\n", "t.yaml:2:8: \"facts\" belongs into"},
    {ACCEL_LAYER_CLIENT, "facts: {}\n", "t.yaml:2:8: \"facts\" belongs into"},
    {ACCEL_LAYER_FOLDER, "facts: {}\n", "t.yaml:2:8: \"facts\" belongs into"},
    {ACCEL_LAYER_DEVICE, "facts: []\n", "t.yaml:2:8: \"facts\" requires a mapping"},
    {ACCEL_LAYER_DEVICE, "facts: {device.memory: 16}\n",
     "t.yaml:2:24: fact device.memory: \"16\" is not a whole number with its unit, GiB or GB"},
    {ACCEL_LAYER_MODEL, "facts: {model.context: 5}\n", "is not a whole number with its unit, tok"},
    {ACCEL_LAYER_DEVICE, "facts: {device.kind: gpuu}\n", "t.yaml:2:22: fact device.kind: \"gpuu\" is none of: cpu gpu"},
    {ACCEL_LAYER_DEVICE, "facts: {device.name: ''}\n", "t.yaml:2:22: fact device.name is empty"},
    {ACCEL_LAYER_DEVICE, "facts: {device.name: [x]}\n", "t.yaml:2:22: a mapping belongs here"},
    {ACCEL_LAYER_DEVICE, "facts: {device.name: {value: x}}\n", "\"because\" is missing"},
    {ACCEL_LAYER_DEVICE, "facts: {device.nam: x}\n", "t.yaml:2:9: fact \"device.nam\" is unknown; did you mean"},
    {ACCEL_LAYER_DEVICE, "facts: {device.profile: x}\n",
     "t.yaml:2:9: fact device.profile is not for a file of devices"},
    {ACCEL_LAYER_DEVICE, "facts: {model.kind: vision}\n", "fact model.kind is not for a file of devices to state"},
    {ACCEL_LAYER_MODEL, "facts: {host.memory: 1GB}\n", "fact host.memory is not for a file of models to state"},
    {ACCEL_LAYER_MODEL, "facts: {platform: x}\n", "fact platform is not for a file of models to state"},
};

static void test_facts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(fact_samples) / sizeof(fact_samples[0]); i++) {
        const struct accel_profile_source here = {NULL, fact_samples[i].layer, "test", "t.yaml", NULL};
        struct accel_profile_file file;
        struct accel_error error = {0};
        char text[300];
        int32_t code;
        snprintf(text, sizeof(text), HEAD "%s", fact_samples[i].text);
        code = accel_profile_file_parse(&file, &here, text, strlen(text), &error);
        accel_profile_file_free(&file);
        if ((code == ACCEL_OK) != (*fact_samples[i].words == 0) || strstr(error.text, fact_samples[i].words) == NULL)
            fail_msg("of: %s\ngot: %d %s", text, code, error.text);
    }
}

/* ---- conditions ---- */

static const struct {
    const char *condition;
    bool holds;
} condition_samples[] = {
    {"device.name contains T4", true},
    {"device.name contains t4", true},
    {"device.name contains Tesla T4", true},
    {"device.name contains tesla", true},
    {"device.name contains T", false},
    {"device.name contains 4", false},
    {"device.name contains la T4", false},
    {"device.name contains T4 GPU", true},
    {"device.name contains T4 GPU x", false},
    {"device.kind not in [cpu, npu]", true},
    {"device.kind not in [cpu, gpu]", false},
    {"device.kind in [cpu, gpu]", true},
    {"device.memory == 16GB", true},
    {"device.memory != 16GiB", true},
    {"device.memory >= 15GiB", false},
    {"device.memory not in [16GB, 8GB]", false},
    {"device.capability < 80", true},
    /* Nobody knows this fact, so that nothing about it holds. */
    {"device.threads not in [1]", false},
    {"device.threads != 1", false},
    {"client.name contains x", false},
};

static void test_conditions(void **state)
{
    static const struct accel_profile_pair facts[] = {{"device.name", "Tesla T4 (GPU)", "t"},
                                                      {"device.kind", "gpu", "t"},
                                                      {"device.memory", "16000000000", "t"},
                                                      {"device.capability", "75", "t"}};
    static const struct accel_profile_pair plain[] = {{"device.name", "NVIDIA Tesla T4 GPU", "t"}};
    (void)state;
    for (size_t i = 0; i < sizeof(condition_samples) / sizeof(condition_samples[0]); i++) {
        struct accel_profile_file file;
        struct accel_error error = {0};
        char text[200];
        snprintf(text, sizeof(text), HEAD "match: \"%s\"\n", condition_samples[i].condition);
        if (accel_profile_file_parse(&file, &source, text, strlen(text), &error) != ACCEL_OK)
            fail_msg("%s", error.text);
        if (accel_condition_holds(file.match, facts, 4) != condition_samples[i].holds &&
            accel_condition_holds(file.match, plain, 1) != condition_samples[i].holds)
            fail_msg("%s", condition_samples[i].condition);
        accel_profile_file_free(&file);
    }
}

static void test_numbers(void **state)
{
    static const struct {
        const char *text;
        int64_t number;
        const char *unit;
    } numbers[] = {
        {"0", 0, ""},
        {"12", 12, ""},
        {"4KiB", 4096, "bytes"},
        {"4 KiB", 4096, "bytes"},
        {"16GB", INT64_C(16000000000), "bytes"},
        {"3 MB", 3000000, "bytes"},
        {"7 B", 7, "bytes"},
        {"2TiB", INT64_C(2) << 40, "bytes"},
        {"3s", 3000, "ms"},
        {"1 min", 60000, "ms"},
        {"9223372036854775807", INT64_MAX, ""},
    };
    static const char *const wrong[] = {"",           " 1", "1 ", "+1", "0x1", "1  KiB", "1kib", "9223372036854775808",
                                        "8388608TiB", "1e3"};
    const char *unit;
    int64_t number;
    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert_true(accel_number_parse(numbers[i].text, &number, &unit));
        assert_int_equal(number, numbers[i].number);
        assert_string_equal(unit, numbers[i].unit);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (accel_number_parse(wrong[i], &number, &unit))
            fail_msg("\"%s\" was taken for %lld", wrong[i], (long long)number);
}

static void test_table(void **state)
{
    char name[80];
    (void)state;
    for (uint32_t i = 0; i < accel_setting_row_count(); i++) {
        const struct accel_setting_row *key = accel_setting_row_get(i);
        assert_ptr_equal(accel_key_find(key->name), key);
        assert_true(key->lowest <= key->highest && *key->help);
        accel_key_variable(key->name, name, sizeof(name));
        assert_int_equal(strlen(name), strlen(key->name) + 6);
    }
    accel_key_variable("kv.type.k", name, sizeof(name));
    assert_string_equal(name, "ACCEL_KV_TYPE_K");
    assert_string_equal(accel_key_suggest("kv.typ.k"), "kv.type.k");
    assert_null(accel_key_suggest("something else entirely"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),   cmocka_unit_test(test_samples),   cmocka_unit_test(test_remedies),
        cmocka_unit_test(test_hostile),    cmocka_unit_test(test_many_keys), cmocka_unit_test(test_facts),
        cmocka_unit_test(test_conditions), cmocka_unit_test(test_numbers),   cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
