/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiles that are installed, against the documents that they come from: every recommended configuration with its
 * lines, what it names and nothing else; how many texts are read at once; the order of the platforms. The expected
 * values were copied from the documents, not from the profiles.
 */
#include "config.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/profile/language.h"
#include "tests/unit/profile_support.h"

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

/* The descriptors of their examples, in the same order. The one of A26, LLaVA-1.5-1.1b, was never published. */
static const char *const examples[CONFIGURATIONS] = {"bert-base-uncased",
                                                     "llama-7b",
                                                     "bert-base-uncased",
                                                     "llama-7b",
                                                     "bert-base-uncased",
                                                     "llama-7b",
                                                     "bert-tiny",
                                                     "opt-125m",
                                                     "bert-tiny",
                                                     "opt-125m",
                                                     "bert-base-uncased",
                                                     "llama-2-7b",
                                                     "llama-7b",
                                                     "clip-vit-base-patch32",
                                                     "llava-1.5-7b",
                                                     "blip2-opt-2.7b",
                                                     "clip-vit-base-patch32",
                                                     "blip-captioning",
                                                     "clip-vit-base-patch32",
                                                     "llava-1.5-7b",
                                                     "clip-vit-base-patch32",
                                                     "blip-captioning",
                                                     "clip-vit-base-patch32",
                                                     "blip-captioning",
                                                     "clip-vit-base-patch32",
                                                     NULL,
                                                     "xclip",
                                                     "llava-1.5-7b"};

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
    if (strcmp(setting->value, value ? value + 1 : find_setting(anywhere, key)->value) != 0)
        fail_msg("%s: %s is %s (%s)", c->id, key, setting->value, setting->place);
    assert_int_equal(setting->layer, ACCEL_LAYER_PLATFORM);
    assert_cited(c->id, setting, c->platform, c->document, c->first, c->last);
}

static void check_configuration(struct fixture *f, const struct configuration *c, const char *facts)
{
    /* opencl.yaml is empty, so that this is what holds on every platform. */
    struct accel_settings *anywhere = resolve_for(f, "opencl", "device.kind=gpu", NULL);
    char words[512];
    resolve(f, c->platform, facts);
    snprintf(words, sizeof(words), "%s", c->settings);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        check_word(f, c, anywhere, word);
    for (uint32_t i = 0; i < f->settings->count; i++) {
        const struct accel_profile_setting *setting = find(f, f->settings->settings[i].key);
        if (setting->layer > ACCEL_LAYER_BASE && !names(c->settings, setting->key))
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
        check_configuration(f, &configurations[i], configurations[i].facts);
}

/* The same where the model is named as the documents do, and its descriptor says what it is. */
static void test_examples(void **state)
{
    struct fixture *f = *state;
    uint32_t count = 0;
    for (size_t i = 0; i < CONFIGURATIONS; i++) {
        const char *request = strstr(configurations[i].facts, "request.");
        char facts[200];
        if (examples[i] == NULL)
            continue;
        snprintf(facts, sizeof(facts), "model.name=%s %s", examples[i], request ? request : "");
        check_configuration(f, &configurations[i], facts);
        count++;
    }
    assert_int_equal(count, 27);
}

/* The check itself: what it has to see, and what it has to refuse. */
static void test_citations(void **state)
{
    static const char reason[] = "S0:38,52; S1:47-60 (words S2:7)";
    (void)state;
    assert_true(cites(reason, "S0", 50, 55));
    assert_true(cites(reason, "S1", 60, 70));
    assert_true(cites(reason, "S2", 1, 9));
    assert_false(cites(reason, "S0", 39, 51));
    assert_false(cites(reason, "S1", 61, 70));
    assert_false(cites(reason, "S3", 1, 999));
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

static bool is_overridden(const struct fixture *f, const char *key, const char *value)
{
    const struct accel_profile_setting *setting = find(f, key);
    for (uint32_t i = 0; i < setting->overridden_count; i++)
        if (strcmp(setting->overridden[i].value, value) == 0)
            return true;
    return false;
}

/* Where a platform says how many, the length does not count; nor does it where tokens are wanted as they come. */
static void test_length_overruled(void **state)
{
    struct fixture *f = *state;
    resolve(f, "cuda", LLAMA_7B " request.length=5000");
    assert_int_equal(find(f, "sequences")->number, 4);
    assert_non_null(strstr(find(f, "sequences")->overridden[0].place, "base.yaml"));
    resolve(f, "cpu", LLAMA_7B " request.length=500 request.mode=stream");
    assert_int_equal(find(f, "sequences")->number, 1);
}

/* What follows from a goal, where neither the length of texts nor the platform says otherwise. */
static void test_goals(void **state)
{
    static const struct {
        const char *goal, *platform, *facts, *values;
    } cases[] = {
        {"balanced", "cpu", LLAMA_7B, "sequences=1 batch=256 weights.load=map"},
        {"latency", "cpu", LLAMA_7B, "sequences=1 batch=256 weights.load=map"},
        {"latency", "cpu", LLAMA_7B " request.length=500", "sequences=1"},
        {"throughput", "cpu", LLAMA_7B " driver.name=cpu", "sequences=8 batch=256 weights.load=auto"},
        {"throughput", "cpu", LLAMA_7B " request.length=3000", "sequences=4"},
        {"throughput", "cuda", LLAMA_7B, "sequences=4"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct accel_profile_pair goal = {"goal", cases[i].goal, "test"};
        char words[128];
        accel_settings_free(f->settings);
        f->settings = NULL;
        f->settings = resolve_for(f, cases[i].platform, cases[i].facts, &goal);
        snprintf(words, sizeof(words), "%s", cases[i].values);
        for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
            char *equal = strchr(word, '=');
            *equal = '\0';
            if (strcmp(find(f, word)->value, equal + 1) != 0)
                fail_msg("goal %zu (%s): %s is %s", i, cases[i].goal, word, find(f, word)->value);
        }
    }
}

/* Weights are packed by type, all of them for several sequences, and none where copies would take too much memory. */
static void test_layout(void **state)
{
    static const struct {
        const char *facts, *layout;
    } cases[] = {
        {"model.kind=generation", "auto"},
        {"request.goal=throughput", "panels"},
        {"model.memory_share=40", "auto"},
        {"model.memory_share=41", "rows"},
        {"request.goal=throughput request.length=6000", "auto"},
        {"request.goal=throughput model.memory_share=41", "rows"},
        {"request.efficient=true", "rows"},
    };
    static const struct accel_profile_pair efficient = {"memory.efficient", "true", "test"};
    struct fixture *f = *state;
    accel_settings_free(f->settings);
    f->settings = resolve_for(f, "cpu", "request.goal=throughput", &efficient);
    assert_string_equal(find(f, "cpu.layout")->value, "rows");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        resolve(f, "cpu", cases[i].facts);
        assert_string_equal(find(f, "cpu.layout")->value, cases[i].layout);
        assert_non_null(strstr(find(f, "cpu.layout_types")->value, "avx2:q2_k,"));
    }
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
    assert_string_equal(find(f, "power")->overridden[0].value, "efficient");
    resolve(f, "edge-device", "device.name=Snapdragon+8+Gen+2 " OPT_125M);
    assert_string_equal(find(f, "power")->value, "performance");
}

/* No document names these platforms, so nothing of theirs is stronger than base.yaml. */
static void test_platforms_without_document(void **state)
{
    static const char *const platforms[] = {"opencl", "vulkan"};
    struct fixture *f = *state;
    for (size_t i = 0; i < CONFIGURATIONS; i++)
        for (size_t j = 0; j < 2; j++) {
            resolve(f, platforms[j], configurations[i].facts);
            for (uint32_t k = 0; k < f->settings->count; k++)
                assert_true(f->settings->settings[k].layer <= ACCEL_LAYER_BASE);
        }
}

/* Nor does any name processors: which model it is changes nothing there. */
static void test_processors(void **state)
{
    struct fixture *f = *state;
    struct accel_settings *any = resolve_for(f, "cpu", "device.kind=cpu", NULL);
    for (size_t i = 0; i < CONFIGURATIONS; i++) {
        char facts[300];
        snprintf(facts, sizeof(facts), "device.kind=cpu %s", configurations[i].facts);
        resolve(f, "cpu", facts);
        for (uint32_t k = 0; k < f->settings->count; k++)
            assert_string_equal(f->settings->settings[k].value, any->settings[k].value);
    }
    accel_settings_free(any);
}

/* OpenVINO has ratings and no configuration: what it says is advice that names no platform, and says so. */
static void test_openvino(void **state)
{
    static const char *const facts[] = {BERT_BASE, LLAMA_7B, CLIP, LLAVA_7B};
    struct fixture *f = *state;
    for (size_t i = 0; i < 4; i++) {
        resolve(f, "openvino", facts[i]);
        assert_string_equal(find(f, "weights.type")->value, i % 2 ? "q8" : "f16");
        assert_non_null(strstr(find(f, "weights.type")->reason, "no document holds a configuration"));
    }
}

/* ---- devices ---- */

/** The advice for devices, as the driver names them and as a caller does who has none here. */
static const struct configuration devices[] = {
    {"W1", "S3", 449, 466, "devices/2xt4", "device.name=Tesla+T4 device.count=2 " LLAMA_7B,
     "weights.type=q4 placement=balanced context=6000 sequences=1 memory.trim=5"},
    {"W1", "S3", 449, 466, "devices/2xt4", "device.profile=2xt4 " LLAMA_7B,
     "weights.type=q4 placement=balanced context=6000 sequences=1 memory.trim=5"},
    {"W2", "S3", 470, 487, "devices/t4", "device.name=Tesla+T4 device.count=1 " LLAMA_7B,
     "weights.type=q4 placement=auto context=4000 sequences=1 memory.trim=3"},
    {"W2", "S3", 470, 487, "devices/t4", "device.profile=t4 " LLAMA_7B,
     "weights.type=q4 placement=auto context=4000 sequences=1 memory.trim=3"},
    {"W3", "S3", 491, 508, "devices/a100", "device.name=NVIDIA+A100-SXM4-40GB device.memory=42949672960 " LLAMA_7B,
     "weights.type=q8 placement=auto context=12000 sequences=4 memory.trim=10"},
    {"W3", "S3", 491, 508, "devices/a100", "device.profile=a100 " LLAMA_7B,
     "weights.type=q8 placement=auto context=12000 sequences=4 memory.trim=10"},
    {"W4", "S3", 512, 529, "devices/rtx4090", "device.name=NVIDIA+GeForce+RTX+4090 device.memory=25757220864 " LLAMA_7B,
     "weights.type=f16 placement=auto context=16000 sequences=8 attention.kernel=tiled"},
    {"W4", "S3", 512, 529, "devices/rtx4090", "device.profile=rtx4090 " LLAMA_7B,
     "weights.type=f16 placement=auto context=16000 sequences=8 attention.kernel=tiled"},
    {"H200", "S3", 103, 105, "devices/h200", "device.name=NVIDIA+H200 " LLAMA_7B, "attention.kernel=tiled"},
    {"H200", "S3", 496, 496, "devices/h200", "device.name=NVIDIA+H200 " LLAMA_7B, "weights.type=f16"},
    {"C8 M1", "S0", 146, 146, "devices/m1", "device.name=Apple+M1 " BERT_BASE, "power=efficient"},
    {"C8 M1 Max", "S1", 176, 176, "devices/m1", "device.name=Apple+M1+Max " LLAVA_7B, "power=efficient"},
    {"C8 M2", "S0", 146, 146, "devices/m2", "device.name=Apple+M2+Pro " BERT_BASE, "power=efficient"},
    {"C8 M1 Ultra", "S0", 146, 146, "devices/m1", "device.name=Apple+M1+Ultra " BERT_BASE, "power=balanced"},
    {"C8 M2 Ultra", "S0", 146, 146, "devices/m2", "device.name=Apple+M2+Ultra " BERT_BASE, "power=balanced"},
};

/* Settings of a row, from its file; nothing else comes from that file. */
static void check_file(struct fixture *f, const struct configuration *c, uint32_t layer)
{
    char words[512];
    snprintf(words, sizeof(words), "%s", c->settings);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');
        *value = 0;
        if (strcmp(find(f, word)->value, value + 1) != 0)
            fail_msg("%s: %s is %s (%s)", c->id, word, find(f, word)->value, find(f, word)->place);
        assert_int_equal(find(f, word)->layer, layer);
        assert_cited(c->id, find(f, word), c->platform, c->document, c->first, c->last);
    }
}

static void test_devices(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        const char *platform = strstr(devices[i].facts, "Apple") ? "mps" : "cuda";
        resolve(f, platform, devices[i].facts);
        check_file(f, &devices[i], ACCEL_LAYER_DEVICE);
    }
}

/* What the advice for a device does not name is that of its platform; a model that is no language model is none of its
 * business; and a device that is not meant is not taken for it. */
static void test_device_limits(void **state)
{
    static const char *const others[] = {
        "Quadro+T400",
        "NVIDIA+T4000",
        "NVIDIA+H2000",
        "Apple+M10",
        "RTX+4090Ti device.memory=25757220864",
        "NVIDIA+GeForce+RTX+4090+Laptop+GPU device.memory=17175674880",
    };
    struct fixture *f = *state;
    resolve(f, "cuda", "device.name=Tesla+T4 device.count=2 " LLAMA_7B " request.length=5000");
    assert_int_equal(find(f, "sequences")->number, 1);
    assert_true(is_overridden(f, "sequences", "2"));
    assert_true(comes_from(find(f, "optimization"), "cuda"));
    resolve(f, "cuda", "device.name=Tesla+T4 device.count=2 " BERT_BASE);
    assert_int_equal(find(f, "sequences")->number, 32);
    assert_string_equal(find(f, "weights.type")->value, "f16");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        char facts[200];
        snprintf(facts, sizeof(facts), "device.name=%s device.count=1 " LLAMA_7B, others[i]);
        resolve(f, "cuda", facts);
        for (uint32_t k = 0; k < f->settings->count; k++)
            assert_int_not_equal(f->settings->settings[k].layer, ACCEL_LAYER_DEVICE);
    }
}

/** GPUs by maker, whose kernels the drivers of more than one API cut alike. */
static void test_makers(void **state)
{
    static const char *const names[] = {
        "Adreno+740", "Mali-G715",       "Intel+Arc+A770", "AMD+Radeon+RX+7900", "NVIDIA+GeForce+RTX+4060",
        "Tesla+T4",   "Quadro+RTX+5000", "gfx1030"};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        for (int vulkan = 0; vulkan < 2; vulkan++) {
            char facts[200];
            const struct accel_profile_setting *tuning;
            snprintf(facts, sizeof(facts), "device.kind=gpu device.name=%s", names[i]);
            resolve(f, vulkan ? "vulkan" : "opencl", facts);
            tuning = find(f, vulkan ? "vulkan.tuning" : "opencl.tuning");
            assert_int_equal(tuning->layer, ACCEL_LAYER_DEVICE);
            assert_non_null(strstr(tuning->value, "row-group="));
        }
}

/** What the files of devices state. */
static const struct {
    const char *file, *name;
    int64_t memory, bandwidth;
    const char *capability;
} stated[] = {
    {"t4", "Tesla T4", 15360ll << 20, 320000000000, "75"},
    {"2xt4", "Tesla T4", 15360ll << 20, 320000000000, "75"},
    {"a100", "NVIDIA A100-SXM4-40GB", 42405855232, 1555000000000, "80"},
    {"a100-80gb", "NVIDIA A100-SXM4-80GB", 81920ll << 20, 2039000000000, "80"},
    {"rtx3090", "NVIDIA GeForce RTX 3090", 24ll << 30, 936000000000, "86"},
    {"rtx4090", "NVIDIA GeForce RTX 4090", 24564ll << 20, 1008000000000, "89"},
    {"rtx5090", "NVIDIA GeForce RTX 5090", 32607ll << 20, 1792000000000, "120"},
    {"l4", "NVIDIA L4", 23034ll << 20, 300000000000, "89"},
    {"l40s", "NVIDIA L40S", 46068ll << 20, 864000000000, "89"},
    {"h100", "NVIDIA H100 80GB HBM3", 81559ll << 20, 3350000000000, "90"},
    {"h200", "NVIDIA H200", 143771ll << 20, 4800000000000, "90"},
    {"b200", "NVIDIA B200", 183359ll << 20, 8000000000000, "100"},
    {"mi300x", "AMD Instinct MI300X", 206141652992, 5300000000000, "942"},
    {"m1", "Apple M1", 8589934592, 68250000000, "7"},
    {"m2", "Apple M2", 8589934592, 100000000000, "8"},
    {"m3", "Apple M3", 8589934592, 100000000000, "9"},
    {"m4", "Apple M4", 17179869184, 120000000000, "9"},
    {"snapdragon", "Snapdragon 8 Gen 3", 8000000000, 76800000000, "75"},
};

static const struct accel_profile_fact *stated_fact(const struct accel_profile_facts *facts, const char *key)
{
    for (uint32_t i = 0; i < facts->count; i++)
        if (strcmp(facts->facts[i].key, key) == 0)
            return &facts->facts[i];
    fail_msg("nothing states %s", key);
    return NULL;
}

static void test_device_facts(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(stated) / sizeof(stated[0]); i++) {
        const struct accel_profile_pair named = {"device.profile", stated[i].file, "test"};
        struct accel_profile_facts facts;
        if (accel_profile_facts(f->profile, &named, 1, &facts, &f->error) != ACCEL_OK)
            fail_msg("%s", f->error.text);
        assert_string_equal(stated_fact(&facts, "device.name")->value, stated[i].name);
        assert_int_equal(atoll(stated_fact(&facts, "device.memory")->value), stated[i].memory);
        assert_int_equal(atoll(stated_fact(&facts, "device.bandwidth")->value), stated[i].bandwidth);
        assert_string_equal(stated_fact(&facts, "device.capability")->value, stated[i].capability);
        for (uint32_t k = 0; k < facts.count; k++)
            if (facts.facts[k].layer == ACCEL_LAYER_DEVICE)
                assert_true(*facts.facts[k].reason);
        accel_profile_facts_free(&facts);
    }
}

/* Layers go on to a second card, where there is one. */
static void test_device_counts(void **state)
{
    static const char *const cards[] = {"a100-80gb", "b200",   "h100",    "h200",   "l4",
                                        "l40s",      "mi300x", "rtx3090", "rtx5090"};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++)
        for (int count = 1; count <= 2; count++) {
            char facts[200];
            snprintf(facts, sizeof(facts), "device.profile=%s device.count=%d " LLAMA_7B, cards[i], count);
            resolve(f, strcmp(cards[i], "mi300x") == 0 ? "rocm" : "cuda", facts);
            assert_string_equal(find(f, "placement")->value, count == 1 ? "single" : "auto");
        }
}

/* ---- clients ---- */

/** The variants of kernels for the four browsers. */
static const struct configuration clients[] = {
    {"L1", "S4", 670, 670, "clients/chrome", "",
     "kernels.matmul.workgroup=8x16 kernels.shared=full kernels.prefetch=true kernels.unroll=4 "
     "kernels.specialize=true"},
    {"N5 chrome", "S4", 631, 631, "clients/chrome", "", "kernels.audio.workgroup=128x2x1"},
    {"L2", "S4", 671, 671, "clients/edge", "",
     "kernels.matmul.workgroup=8x16 kernels.shared=full kernels.prefetch=true kernels.unroll=4 "
     "kernels.specialize=true"},
    {"L3", "S4", 672, 672, "clients/firefox", "",
     "kernels.matmul.workgroup=8x8 kernels.audio.workgroup=256x1x1 kernels.unroll=2 kernels.shared=reduced"},
    {"N5 firefox", "S4", 631, 631, "clients/firefox", "", "kernels.audio.workgroup=256x1x1"},
    {"C14 firefox", "S0", 295, 295, "clients/firefox", "", "kernels.audio.workgroup=256x1x1"},
    {"B34", "S4", 654, 658, "clients/firefox", "model.kind=audio", "power=efficient kernels.precompile=true"},
    {"L4", "S4", 673, 673, "clients/safari", "", "kernels.matmul.workgroup=4x4 kernels.unroll=1"},
    {"B35", "S4", 852, 877, "clients/safari", "",
     "kernels.matmul.workgroup=4x4 kernels.attention.workgroup=4x4 kernels.shared=none kernels.textures=off "
     "kernels.subgroups=off limits.uniforms=16384"},
    {"K10", "S4", 567, 567, "clients/safari", LLAMA_7B, "weights.least=q8"},
};

static void test_clients(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
        const struct accel_profile_pair given = {"client", strchr(clients[i].platform, '/') + 1, "test"};
        accel_settings_free(f->settings);
        f->settings = NULL;
        f->settings = resolve_for(f, "webgpu", clients[i].facts, &given);
        check_file(f, &clients[i], ACCEL_LAYER_CLIENT);
    }
}

/* ---- no rule is dead ---- */

/* Files of the folder that are no profiles, but tables of other readers. */
static int is_table(const char *name)
{
    static const char *const tables[] = {"environment", "compat", "claims", "advice", "doctor"};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        if (strcmp(tables[i], name) == 0)
            return 1;
    return 0;
}

/* Every statement of a file stood in some resolution of the tests above. */
static void check_statements(struct fixture *f, uint32_t layer, const char *name)
{
    struct accel_profile_file file;
    if (accel_profile_file_read(&file, f->folder, layer, name, &f->error) != ACCEL_OK)
        fail_msg("%s", f->error.text);
    for (const struct accel_statement *s = file.first; s; s = s->next) {
        if (!was_seen(f, s->place))
            fail_msg("%s: no facts of the tests reach %s", s->place, s->key->name);
        if (*s->reason == 0)
            fail_msg("%s: %s has no reason", s->place, s->key->name);
        /* The reason comes first, and the document behind it. */
        if (s->reason[0] == 'S' && s->reason[1] >= '0' && s->reason[1] <= '4' && s->reason[2] == ':')
            fail_msg("%s: the reason of %s is a citation: %s", s->place, s->key->name, s->reason);
    }
    accel_profile_file_free(&file);
}

static uint32_t check_folder(struct fixture *f, uint32_t layer, const char *below)
{
    char path[512], name[64];
    const struct dirent *entry;
    uint32_t count = 0;
    DIR *folder;
    snprintf(path, sizeof(path), "%s/%s", f->folder, below);
    folder = opendir(path);
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        const char *end = strstr(entry->d_name, ".yaml");
        size_t length = end ? (size_t)(end - entry->d_name) : 0;
        if (length == 0 || length >= sizeof(name) || end[5])
            continue;
        memcpy(name, entry->d_name, length);
        name[length] = 0;
        if (is_table(name))
            continue;
        check_statements(f, strcmp(name, "base") == 0 ? ACCEL_LAYER_BASE : layer, name);
        count++;
    }
    closedir(folder);
    return count;
}

static void test_every_rule(void **state)
{
    static const char *const facts[] = {"device.kind=cpu",   "device.kind=gpu",    "device.kind=npu",
                                        "device.kind=other", "device.remote=true", "device.software=true",
                                        "device.target=true"};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        resolve(f, "cpu", facts[i]);
    resolve(f, "vulkan", "device.kind=cpu");
    resolve(f, "rocm", LLAVA_7B);
    assert_true(check_folder(f, ACCEL_LAYER_PLATFORM, ".") >= 12);
    assert_int_equal(check_folder(f, ACCEL_LAYER_CLIENT, "clients"), 4);
    assert_int_equal(check_folder(f, ACCEL_LAYER_DEVICE, "devices"), 26);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_citations),
        cmocka_unit_test(test_configurations),
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_length_overruled),
        cmocka_unit_test(test_goals),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_edge),
        cmocka_unit_test(test_platforms_without_document),
        cmocka_unit_test(test_processors),
        cmocka_unit_test(test_openvino),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_device_limits),
        cmocka_unit_test(test_makers),
        cmocka_unit_test(test_device_facts),
        cmocka_unit_test(test_device_counts),
        cmocka_unit_test(test_clients),
        cmocka_unit_test(test_every_rule),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
