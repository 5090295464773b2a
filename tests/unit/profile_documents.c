/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiles that are installed, against the documents that they come from: every recommended configuration with its
 * lines, what it names and nothing else; how many texts are read at once; the order of the platforms. The expected
 * values were copied from the documents, not from the profiles.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/profile/profile.h"

#define MOST_FACTS 12

/** A recommended configuration. */
struct configuration {
    const char *id;       /* of the list of configurations */
    const char *document; /* "S0" */
    int first, last;      /* its lines there */
    const char *platform;
    const char *facts; /* what is known about the model and the request: "NAME=VALUE ..." */
    /* What it asks for, "KEY=VALUE ..."; "~KEY" is a setting that it does not name: the platform's file has to bring it
     * back to the value of every platform. */
    const char *settings;
};

/* What the example models of the documents are. */
#define BERT_BASE "model.kind=embedding model.family=bert model.parameters=109482240"
#define BERT_TINY "model.kind=embedding model.family=bert model.parameters=4385920"
#define LLAMA_7B "model.kind=generation model.family=llama model.parameters=6738415616"
#define OPT_125M "model.kind=generation model.family=opt model.parameters=125239296"
#define CLIP "model.kind=multimodal model.family=clip model.parameters=151277313"
#define XCLIP "model.kind=multimodal model.family=xclip model.parameters=196585473"
#define BLIP "model.kind=multimodal model.family=blip model.parameters=247414076"
#define BLIP2 "model.kind=multimodal model.family=blip-2 model.parameters=3744679936"
#define LLAVA_7B "model.kind=multimodal model.family=llava model.parameters=7063427072"
#define LLAVA_1B "model.kind=multimodal model.family=llava model.parameters=1100000000"

static const struct configuration configurations[] = {
    {"A1", "S0", 29, 40, "cuda", BERT_BASE, "weights.type=f16 sequences=32 kv.enabled=false optimization=highest"},
    {"A2", "S0", 42, 55, "cuda", LLAMA_7B,
     "weights.type=q8 sequences=4 kv.enabled=true context=2048 optimization=highest tensor.parallel=1"},
    {"A3", "S0", 74, 84, "rocm", BERT_BASE, "weights.type=f16 sequences=24 optimization=high"},
    {"A4", "S0", 86, 98, "rocm", LLAMA_7B,
     "weights.type=q8 sequences=2 kv.enabled=true context=1024 optimization=medium"},
    {"A5", "S0", 115, 125, "mps", BERT_BASE, "weights.type=f16 sequences=16 kernels.record=true"},
    {"A6", "S0", 127, 140, "mps", LLAMA_7B,
     "weights.type=q8 sequences=1 kv.enabled=true context=512 kernels.record=true power=efficient"},
    {"A7", "S0", 158, 169, "qualcomm", BERT_TINY, "weights.type=q8 sequences=1 power=efficient qualcomm.hexagon=true"},
    {"A8", "S0", 171, 185, "qualcomm", OPT_125M,
     "weights.type=q4 sequences=1 kv.enabled=true context=256 power=efficient qualcomm.hexagon=true "
     "kernels.sparse=true"},
    {"A9", "S0", 203, 213, "webnn", BERT_TINY, "weights.type=f16 sequences=4 cpu.threads=auto"},
    {"A10", "S0", 215, 228, "webnn", OPT_125M,
     "weights.type=q8 sequences=1 kv.enabled=true context=256 cpu.threads=auto kernels.simd=true"},
    {"A11", "S0", 246, 257, "webgpu", BERT_BASE, "weights.type=f16 sequences=8 kernels.precompile=true client=auto"},
    {"A12", "S0", 259, 273, "webgpu", LLAMA_7B,
     "weights.type=q4 sequences=1 kv.enabled=true context=512 kernels.precompile=true client=auto kernels.tuned=true"},
    {"A13", "S0", 275, 287, "webgpu", LLAMA_7B " request.mode=stream",
     "weights.type=q4 kv.enabled=true transfer.overlap=true goal=latency client=auto "
     "~sequences ~context ~kernels.precompile ~kernels.tuned"},
    {"A14", "S1", 39, 50, "cuda", CLIP, "weights.type=f16 sequences=32 optimization=highest encoders.parallel=true"},
    {"A15", "S1", 52, 66, "cuda", LLAVA_7B,
     "weights.type=q8 sequences=1 optimization=highest vision.type=f16 language.type=q8 kv.enabled=true context=2048"},
    {"A16", "S1", 68, 81, "cuda", BLIP2,
     "weights.type=f16 sequences=4 optimization=highest vision.type=f16 text.type=f16 encoders.parallel=true"},
    {"A17", "S1", 101, 112, "rocm", CLIP, "weights.type=f16 sequences=16 optimization=high encoders.parallel=true"},
    {"A18", "S1", 114, 125, "rocm", BLIP, "weights.type=f16 sequences=4 optimization=high encoders.parallel=true"},
    {"A19", "S1", 142, 154, "mps", CLIP,
     "weights.type=f16 sequences=8 kernels.record=true encoders.parallel=true power=efficient"},
    {"A20", "S1", 156, 170, "mps", LLAVA_7B,
     "weights.type=q8 sequences=1 kernels.record=true vision.type=f16 language.type=q8 kv.enabled=true context=512"},
    {"A21", "S1", 188, 200, "qualcomm", CLIP,
     "weights.type=q8 sequences=1 power=efficient qualcomm.hexagon=true vision.features=high"},
    {"A22", "S1", 202, 215, "qualcomm", BLIP,
     "weights.type=q8 sequences=1 power=efficient qualcomm.hexagon=true vision.features=high text.type=q8"},
    {"A23", "S1", 233, 245, "webnn", CLIP,
     "weights.type=f16 sequences=1 cpu.threads=auto kernels.simd=true encoders.parallel=true"},
    {"A24", "S1", 247, 259, "webnn", BLIP,
     "weights.type=f16 sequences=1 cpu.threads=auto kernels.simd=true load.progressive=true"},
    {"A25", "S1", 277, 290, "webgpu", CLIP,
     "weights.type=f16 sequences=1 kernels.precompile=true client=auto load.parallel=true kernels.tuned=true"},
    {"A26", "S1", 292, 308, "webgpu", LLAVA_1B,
     "weights.type=q8 sequences=1 kernels.precompile=true client=auto load.parallel=true vision.type=q8 "
     "language.type=q4 kv.enabled=true memory.efficient=true"},
    {"A27", "S1", 310, 323, "webgpu", XCLIP,
     "weights.type=f16 sequences=1 kernels.precompile=true client=auto load.parallel=true video.frames=low"},
    {"A28", "S1", 329, 352, "webgpu", LLAVA_7B " request.mode=components",
     "vision.type=q8 vision.load=eager language.type=q4 language.load=lazy load.parallel=true load.progress=true "
     "kv.enabled=true ~weights.type ~sequences ~kernels.precompile ~client ~memory.efficient"},
};

#define CONFIGURATIONS (sizeof(configurations) / sizeof(configurations[0]))

/** The folder of profiles, and what the last resolution came to. */
struct fixture {
    struct accel_profile *profile;
    struct accel_settings *settings;
    struct accel_error error;
};

static int set_up(void **state)
{
    const char *folder = getenv("ACCEL_PROFILE_PATH");
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    assert_non_null(folder);
    if (accel_profile_create(folder, &f->profile, &f->error) != ACCEL_OK)
        fail_msg("%s", f->error.text);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    accel_settings_free(f->settings);
    accel_profile_free(f->profile);
    free(f);
    return 0;
}

/* Cuts "NAME=VALUE NAME=VALUE" into facts; text is written to. */
static uint32_t cut_facts(char *text, struct accel_profile_pair *facts, uint32_t count)
{
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');
        assert_non_null(value);
        assert_true(count < MOST_FACTS);
        *value = 0;
        /* "_" stands for a space in the names of devices. */
        for (char *at = value + 1; *at; at++)
            if (*at == '_')
                *at = ' ';
        facts[count++] = (struct accel_profile_pair){word, value + 1, "test"};
    }
    return count;
}

/* Resolves for a platform with "NAME=VALUE ..." as facts; NULL: for none. */
static struct accel_settings *resolve_for(struct fixture *f, const char *platform, const char *words)
{
    struct accel_profile_pair facts[MOST_FACTS];
    struct accel_settings *settings;
    uint32_t count = 0;
    char text[512];
    snprintf(text, sizeof(text), "%s", words);
    accel_error_clear(&f->error);
    if (platform) {
        facts[count++] = (struct accel_profile_pair){"platform", platform, "test"};
        facts[count++] = (struct accel_profile_pair){"driver.name", platform, "test"};
        if (accel_profile_add(f->profile, platform, &f->error) != ACCEL_OK)
            fail_msg("%s", f->error.text);
    }
    count = cut_facts(text, facts, count);
    if (accel_profile_resolve(f->profile, facts, count, NULL, 0, &settings, &f->error) != ACCEL_OK)
        fail_msg("%s: %s", words, f->error.text);
    return settings;
}

static void resolve(struct fixture *f, const char *platform, const char *words)
{
    accel_settings_free(f->settings);
    f->settings = NULL;
    f->settings = resolve_for(f, platform, words);
}

static const struct accel_profile_setting *find(const struct fixture *f, const char *key)
{
    const struct accel_profile_setting *setting = accel_settings_find(f->settings, key);
    if (setting == NULL)
        fail_msg("there is no setting %s", key);
    return setting;
}

/* ---- origins ---- */

/* Whether "52,60-66" has a line in the range from first to last. */
static int lines_meet(const char *lines, int first, int last)
{
    for (;;) {
        char *end;
        long begin = strtol(lines, &end, 10), until = begin;
        if (end == lines)
            return 0;
        if (*end == '-')
            until = strtol(end + 1, &end, 10);
        if (begin <= last && until >= first)
            return 1;
        if (*end != ',')
            return 0;
        lines = end + 1;
    }
}

/* Whether a reason cites a line of the document in the range, as "S0:38,52-55; S1:47". */
static int cites(const char *because, const char *document, int first, int last)
{
    size_t length = strlen(document);
    for (const char *at = because; (at = strstr(at, document)) != NULL; at += length)
        if (at[length] == ':' && lines_meet(at + length + 1, first, last))
            return 1;
    return 0;
}

/* The file of a place, "FOLDER/cuda.yaml:12", is the expected one. */
static int comes_from(const struct accel_profile_setting *setting, const char *file)
{
    char expected[100];
    snprintf(expected, sizeof(expected), "/%s.yaml:", file);
    return strstr(setting->place, expected) != NULL;
}

static void assert_cited(const char *id, const struct accel_profile_setting *setting, const char *file,
                         const char *document, int first, int last)
{
    if (!comes_from(setting, file))
        fail_msg("%s: %s comes from %s, not from %s.yaml", id, setting->key, setting->place, file);
    if (!cites(setting->because, document, first, last))
        fail_msg("%s: %s (%s): \"%s\" cites no line of %s:%d-%d", id, setting->key, setting->place, setting->because,
                 document, first, last);
}

/* Whether "KEY=VALUE ~KEY ..." names the setting. */
static int names(const char *words, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = words; (at = strstr(at, key)) != NULL; at += length)
        if ((at == words || at[-1] == ' ' || at[-1] == '~') && strchr("= ", at[length]))
            return 1;
    return 0;
}

/* ---- configurations ---- */

/* One word of what a configuration asks for: "KEY=VALUE" or "~KEY". */
static void check_word(const struct fixture *f, const struct configuration *c, const struct accel_settings *anywhere,
                       char *word)
{
    char *value = strchr(word, '=');
    const char *key = *word == '~' ? word + 1 : word;
    const struct accel_profile_setting *setting;
    if (value)
        *value = 0;
    setting = find(f, key);
    if (strcmp(setting->value, value ? value + 1 : accel_settings_find(anywhere, key)->value) != 0)
        fail_msg("%s: %s is %s (%s)", c->id, key, setting->value, setting->place);
    assert_int_equal(setting->layer, ACCEL_PROFILE_PLATFORM);
    assert_cited(c->id, setting, c->platform, c->document, c->first, c->last);
}

static void check_configuration(struct fixture *f, const struct configuration *c)
{
    /* opencl.yaml is empty, so that this is what holds on every platform. */
    struct accel_settings *anywhere = resolve_for(f, "opencl", "device.kind=gpu");
    char words[512];
    resolve(f, c->platform, c->facts);
    snprintf(words, sizeof(words), "%s", c->settings);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        check_word(f, c, anywhere, word);
    for (uint32_t i = 0; i < accel_settings_count(f->settings); i++) {
        const struct accel_profile_setting *setting = accel_settings_get(f->settings, i);
        if (setting->layer > ACCEL_PROFILE_BASE && !names(c->settings, setting->key))
            fail_msg("%s: %s is %s (%s), which the document does not ask for", c->id, setting->key, setting->value,
                     setting->place);
    }
    accel_settings_free(anywhere);
}

static void test_configurations(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(CONFIGURATIONS, 28);
    for (size_t i = 0; i < CONFIGURATIONS; i++)
        check_configuration(f, &configurations[i]);
}

/* The check itself: what it has to see, and what it has to refuse. */
static void test_citations(void **state)
{
    static const char because[] = "S0:38,52; S1:47-60 (words S2:7)";
    (void)state;
    assert_true(cites(because, "S0", 50, 55));
    assert_true(cites(because, "S1", 60, 70));
    assert_true(cites(because, "S2", 1, 9));
    assert_false(cites(because, "S0", 39, 51));
    assert_false(cites(because, "S1", 61, 70));
    assert_false(cites(because, "S3", 1, 999));
    assert_true(names("a=1 ~b.c d=2", "b.c"));
    assert_false(names("a=1 ~b.c d=2", "b"));
    assert_false(names("a.b=1", "b"));
}

/* ---- orders ---- */

/* The values of a setting over platforms, from the largest to the smallest. */
static void check_order(struct fixture *f, const char *key, const char *facts, const char *const *platforms,
                        const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        resolve(f, platforms[i], facts);
        if (find(f, key)->number != values[i])
            fail_msg("%s on %s is %s", key, platforms[i], find(f, key)->value);
        assert_true(i == 0 || values[i] <= values[i - 1]);
    }
}

static void test_orders(void **state)
{
    static const char *const platforms[] = {"cuda", "rocm", "mps", "webgpu", "webnn", "qualcomm"};
    static const int64_t texts[] = {32, 24, 16, 8, 4, 1}, pairs[] = {32, 16, 8, 1, 1, 1},
                         tokens[] = {2048, 1024, 512, 512, 256, 256}, streams[] = {4, 2, 1, 1, 1, 1};
    struct fixture *f = *state;
    check_order(f, "sequences", "model.kind=embedding", platforms, texts, 6);
    check_order(f, "sequences", CLIP, platforms, pairs, 6);
    check_order(f, "context", "model.kind=generation", platforms, tokens, 6);
    check_order(f, "sequences", "model.kind=generation", platforms, streams, 6);
}

/* ---- texts by their length ---- */

static void test_lengths(void **state)
{
    static const struct {
        int length, sequences;
    } cases[] = {
        {1, 16},   {999, 16}, {1000, 8}, {1001, 8}, {1999, 8}, {2000, 4},     {3999, 4},
        {4000, 2}, {5999, 2}, {6000, 1}, {6001, 1}, {8000, 1}, {16777216, 1},
    };
    static const char *const platforms[] = {"cpu", "vulkan", "opencl", NULL};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t j = 0; j < sizeof(platforms) / sizeof(platforms[0]); j++) {
            char facts[80];
            snprintf(facts, sizeof(facts), "request.length=%d", cases[i].length);
            resolve(f, platforms[j], facts);
            if (find(f, "sequences")->number != cases[i].sequences)
                fail_msg("%d tokens: %s sequences", cases[i].length, find(f, "sequences")->value);
            assert_cited(facts, find(f, "sequences"), "base", "S3", 178, 189);
        }
}

/* Where a platform says how many, the length does not count; nor does it where tokens are wanted as they come. */
static void test_length_overruled(void **state)
{
    struct fixture *f = *state;
    resolve(f, "cuda", LLAMA_7B " request.length=5000");
    assert_int_equal(find(f, "sequences")->number, 4);
    assert_non_null(strstr(find(f, "sequences")->losers, "base.yaml"));
    resolve(f, "cpu", LLAMA_7B " request.length=500 request.mode=stream");
    assert_int_equal(find(f, "sequences")->number, 1);
}

/* ---- rules for sizes, numbers of devices and requests ---- */

/** Advice that the documents give beside the configurations. */
static const struct configuration rules[] = {
    {"C1 one", "S0", 42, 62, "cuda", "model.kind=generation model.parameters=68976648192 device.count=1",
     "tensor.parallel=1"},
    {"C1 13B", "S0", 42, 62, "cuda", "model.kind=generation model.parameters=13015864320 device.count=8",
     "tensor.parallel=1"},
    {"C1 two", "S0", 62, 62, "cuda", "model.kind=generation model.parameters=68976648192 device.count=3",
     "tensor.parallel=2"},
    {"C1 four", "S0", 62, 62, "cuda", "model.kind=generation model.parameters=68976648192 device.count=4",
     "tensor.parallel=4"},
    {"C1 eight", "S0", 62, 62, "cuda", "model.kind=generation model.parameters=68976648192 device.count=8",
     "tensor.parallel=8"},
    {"C2", "S0", 64, 64, "cuda", "model.kind=generation model.parameters=13015864320", "attention.kernel=tiled"},
    {"X2", "S3", 626, 626, "cuda", LLAMA_7B " request.length=2000 device.capability=80", "attention.kernel=tiled"},
    {"G7", "S3", 105, 105, "cuda", LLAMA_7B " request.length=2000 device.capability=75", "attention.kernel=auto"},
    {"C5", "S0", 104, 104, "rocm", "model.parameters=13015864320 device.count=2", "placement=balanced"},
    {"C6", "S0", 105, 105, "rocm", "request.mode=stream", "kernels.record=true"},
    {"C8", "S0", 147, 147, "mps", "model.kind=embedding model.parameters=2000000001", "weights.type=q8"},
    {"C8 below", "S0", 115, 125, "mps", "model.kind=embedding model.parameters=2000000000", "weights.type=f16"},
    {"C14", "S0", 293, 293, "webgpu", BLIP2, "weights.type=q4"},
    {"C15", "S1", 89, 89, "cuda", LLAVA_7B, "vision.type=f16 language.type=q8"},
    {"C15 13B", "S1", 91, 91, "cuda", "model.family=llava model.parameters=34000000000 device.count=2",
     "placement=balanced"},
    {"C16", "S0", 349, 349, "edge-device", BERT_TINY, "load.progressive=true load.progress=true"},
    {"B10", "S0", 193, 193, "edge-device", BERT_TINY, "power=performance"},
    {"C16 cache", "S0", 347, 347, "edge-device", BERT_TINY, "cache.components=true"},
    {"C16 memory", "S1", 423, 423, "edge-device", BERT_TINY, "memory.efficient=true"},
    {"D6 audio", "S2", 381, 381, "webgpu", "model.kind=audio", "kernels.tuned=true"},
    {"D6 vision", "S2", 380, 380, "webgpu", "model.kind=vision", "kernels.precompile=true"},
    {"D6 CLAP", "S2", 383, 383, "webgpu", "model.kind=audio-multimodal",
     "weights.type=q4 kernels.tuned=true load.parallel=true load.progressive=true attention.kernel=tiled"},
    {"D6 T5", "S2", 379, 379, "webgpu", "model.kind=encoder-decoder", "weights.type=q4"},
};

static void test_rules(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        char words[512];
        resolve(f, rules[i].platform, rules[i].facts);
        snprintf(words, sizeof(words), "%s", rules[i].settings);
        for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
            check_word(f, &rules[i], NULL, word);
    }
}

/* What the device at the edge inherits comes from the file that it inherits. */
static void test_edge(void **state)
{
    struct fixture *f = *state;
    resolve(f, "edge-device", OPT_125M);
    assert_string_equal(find(f, "weights.type")->value, "q4");
    assert_true(comes_from(find(f, "weights.type"), "qualcomm"));
    assert_string_equal(find(f, "qualcomm.hexagon")->value, "true");
    assert_non_null(strstr(find(f, "power")->losers, "efficient ("));
}

/* No document names these platforms, so nothing of theirs is stronger than base.yaml. */
static void test_platforms_without_document(void **state)
{
    static const char *const platforms[] = {"opencl", "vulkan"};
    struct fixture *f = *state;
    for (size_t i = 0; i < CONFIGURATIONS; i++)
        for (size_t j = 0; j < 2; j++) {
            resolve(f, platforms[j], configurations[i].facts);
            for (uint32_t k = 0; k < accel_settings_count(f->settings); k++)
                assert_true(accel_settings_get(f->settings, k)->layer <= ACCEL_PROFILE_BASE);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_citations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_configurations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_orders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lengths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_length_overruled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rules, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_edge, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_platforms_without_document, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
