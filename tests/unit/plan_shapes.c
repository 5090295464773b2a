/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shape plans: types of weights, memory to the byte, notes. The worked figures are computed by hand in the
 * comments beside them. The platform "big" has no device here; its profile states 16,000,000,000 bytes.
 */
#include "config.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/profile_folder.h"
#include "tests/unit/shapes_support.h"

struct bench {
    struct accel_context *context;
    struct accel_plan *plan;
    struct accel_error error;
    char *folder;
};

static const struct shapes llama_7b = {32, 4096, 11008, 32, 32, 128, 32000, ACCEL_TYPE_NONE};

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    struct accel_context_options options = {.size = sizeof(options),
                                            .flags = ACCEL_CONTEXT_NO_PLUGINS | ACCEL_CONTEXT_NO_CACHE};
    assert_non_null(b);
    b->folder = profile_folder_create();
    profile_folder_write(b->folder, "base.yaml", "accel-profile: 1\n");
    profile_folder_write(b->folder, "big.yaml", "accel-profile: 1\n");
    profile_folder_write(
        b->folder, "devices/one.yaml",
        "accel-profile: 1\nfacts:\n  device.memory: {value: 16GB, because: a test}\n"
        "  device.capability: {value: 75, because: a test}\n  device.bandwidth: {value: 320GB, because: a test}\n");
    profile_folder_write(b->folder, "devices/two.yaml",
                         "accel-profile: 1\nfacts:\n  device.memory: {value: 4GB, because: a test}\n"
                         "  device.count: {value: 2, because: a test}\n");
    options.profile_path = b->folder;
    assert_int_equal(accel_context_create(&options, &b->context, &b->error), ACCEL_OK);
    assert_int_equal(accel_context_discover(b->context, &b->error), ACCEL_OK);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    accel_plan_free(b->plan);
    assert_int_equal(accel_context_free(b->context, &b->error), ACCEL_OK);
    profile_folder_remove(b->folder);
    free(b);
    return 0;
}

/* Makes the plan for "key=value key=value ...". */
static int32_t create(struct bench *b, const char *device, const char *settings)
{
    struct accel_named_value given[12];
    char text[512];
    struct accel_plan_request request = {
        .size = sizeof(request), .platform = "big", .device = device, .overrides = given};
    snprintf(text, sizeof(text), "%s", settings);
    for (char *at = strtok(text, " "); at; at = strtok(NULL, " ")) {
        char *value = strchr(at, '=');
        assert_non_null(value);
        assert_true(request.override_count < 12);
        *value = '\0';
        given[request.override_count++] = (struct accel_named_value){at, value + 1, "the test"};
    }
    accel_plan_free(b->plan);
    b->plan = NULL;
    accel_error_clear(&b->error);
    return accel_plan_create(b->context, &request, &b->plan, &b->error);
}

static int32_t plan_shapes(struct bench *b, const char *device, const char *settings, const struct shapes *shapes)
{
    struct owned_shapes s;
    int32_t code = create(b, device, settings);
    if (code != ACCEL_OK)
        fail_msg("%s", b->error.text);
    shapes_make(&s, shapes);
    code = accel_plan_sketch(b->plan, &s.model, &b->error);
    shapes_free(&s);
    return code;
}

static void plan_shapes_well(struct bench *b, const char *device, const char *settings, const struct shapes *shapes)
{
    if (plan_shapes(b, device, settings, shapes) != ACCEL_OK)
        fail_msg("%s: %s", settings, b->error.text);
}

static void test_platform(void **state)
{
    struct bench *b = *state;
    uint32_t found = 0;
    int32_t threads;
    struct accel_device *device;
    assert_int_equal(create(b, "one", ""), ACCEL_OK);
    assert_null(accel_plan_device(b->plan));
    assert_string_equal(accel_plan_platform(b->plan), "big");
    for (uint32_t i = 0; i < accel_plan_fact_count(b->plan); i++) {
        const struct accel_named_value *fact = accel_plan_fact_get(b->plan, i);
        assert_true(*fact->origin != '\0');
        if (strcmp(fact->key, "device.memory") == 0 && strcmp(fact->value, "16000000000") == 0 &&
            strstr(fact->origin, "devices/one.yaml:3"))
            found++;
    }
    assert_int_equal(found, 1);
    assert_null(accel_plan_fact_get(b->plan, accel_plan_fact_count(b->plan)));
    threads = accel_plan_processor(b->plan, 0, NULL);
    assert_int_equal(threads, -1);
    assert_int_equal(accel_plan_open_device(b->plan, &device, &b->error), ACCEL_E_NOT_FOUND);
    assert_non_null(strstr(b->error.text, "big"));
    accel_error_clear(&b->error);
    assert_int_equal(accel_plan_runnable(b->plan, &b->error), ACCEL_E_NOT_FOUND);
    assert_int_equal(create(b, "three", ""), ACCEL_E_NOT_FOUND);
    assert_non_null(strstr(b->error.text, "three"));
}

/* Bytes of keys and values that a token takes: layers x kv_heads x head_size x 2 planes x bytes. */
static void test_cache(void **state)
{
    static const struct {
        const char *name;
        uint64_t f16;
        struct shapes shapes;
    } rows[] = {
        {"llama-2-7b", 524288, {32, 4096, 11008, 32, 32, 128, 100, 0}},
        {"llama-2-13b", 819200, {40, 5120, 13824, 40, 40, 128, 100, 0}},
        {"llama-2-70b", 327680, {80, 8192, 28672, 64, 8, 128, 100, 0}},
        {"tinyllama-1.1b", 22528, {22, 2048, 5632, 32, 4, 64, 100, 0}},
        {"llama-3-8b", 131072, {32, 4096, 14336, 32, 8, 128, 100, 0}},
        {"mistral-7b", 131072, {32, 4096, 14336, 32, 8, 128, 100, 0}},
        {"qwen2-7b", 57344, {28, 3584, 18944, 28, 4, 128, 100, 0}},
        {"gemma-7b", 458752, {28, 3072, 24576, 16, 16, 256, 100, 0}},
        {"gemma-2b", 18432, {18, 2048, 16384, 8, 1, 256, 100, 0}},
        {"phi-2", 327680, {32, 2560, 10240, 32, 32, 80, 100, 0}},
        {"falcon-7b", 8192, {32, 4544, 18176, 71, 1, 64, 100, 0}},
        {"opt-125m", 36864, {12, 768, 3072, 12, 12, 64, 100, 0}},
    };
    struct bench *b = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct accel_plan_memory *row;
        plan_shapes_well(b, "one", "context=1tok", &rows[i].shapes);
        row = memory_row(b->plan, ACCEL_MEMORY_STATE);
        assert_non_null(row);
        if (row->bytes != rows[i].f16)
            fail_msg("%s: %llu", rows[i].name, (unsigned long long)row->bytes);
        plan_shapes_well(b, "one", "context=4096tok sequences=3", &rows[i].shapes);
        assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_STATE)->bytes, rows[i].f16 * 4096 * 3);
        plan_shapes_well(b, "one", "context=4096tok kv.window=1024tok", &rows[i].shapes);
        /* Pages of 64: one for 4 sinks, and 21 so that a step of 256 tokens sees its windows. */
        assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_STATE)->bytes, rows[i].f16 * 22 * 64);
    }
    /* 64 elements in 8 bits and a scale: 66 bytes; in 4 bits 34. A head of 128 has two groups. K q8, V q4:
     * 32 layers x 32 heads x (132 + 68) = 204,800. With groups of 32 and 128: 136 + 72, and 130 + 66. */
    plan_shapes_well(b, "one", "context=1tok kv.type.k=q8 kv.type.v=q4", &llama_7b);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_STATE)->bytes, 204800);
    plan_shapes_well(b, "one", "context=1tok kv.type.k=q8 kv.type.v=q4 kv.group=32", &llama_7b);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_STATE)->bytes, 32 * 32 * (136 + 72));
    plan_shapes_well(b, "one", "context=1tok kv.type.k=q8 kv.type.v=q4 kv.group=128", &llama_7b);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_STATE)->bytes, 32 * 32 * (130 + 66));
    plan_shapes_well(b, "one", "context=8tok kv.enabled=false", &llama_7b);
    assert_null(memory_row(b->plan, ACCEL_MEMORY_STATE));
}

/* No group divides heads of 80 elements: the policy decides. */
static void test_cache_group(void **state)
{
    static const struct shapes phi = {32, 2560, 10240, 32, 32, 80, 100, 0};
    struct bench *b = *state;
    assert_int_equal(plan_shapes(b, "one", "context=1tok kv.type.k=q8", &phi), ACCEL_E_FALLBACK);
    assert_non_null(strstr(b->error.text, "kv.type.k=q8"));
    assert_non_null(strstr(b->error.text, "80"));
    assert_int_equal(accel_plan_memory_count(b->plan), 0);
    plan_shapes_well(b, "one", "context=1tok kv.type.k=q8 fallback.kv=warn", &phi);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_STATE)->bytes, 327680);
    assert_non_null(note_of(b->plan, "fallback.kv", "comes to f16"));
}

/*
 * LLaMA 7B has 6,738,149,376 weights in matrices (32 x (4 x 4096 x 4096 + 3 x 4096 x 11008) + 2 x 32000 x 4096), which
 * are 52,641,792 groups of 128 or 210,567,168 of 32, and 65 norms of 4096 in f32 (1,064,960 bytes).
 */
static void test_weights(void **state)
{
    static const struct {
        const char *settings;
        uint64_t bytes;
        double bits;
    } rows[] = {
        {"weights.type=f16", 13476298752, 16},
        {"weights.type=q8", 52641792ull * 130, 8.125},
        {"weights.type=q4", 52641792ull * 66, 4.125},
        {"weights.type=q4 weights.group=32", 210567168ull * 18, 4.5},
        {"weights.type=q3", 52641792ull * 50, 3.125},
        {"weights.type=q2", 105283584ull * 18, 2.25},
        {"weights.type=q2 weights.group=32", 210567168ull * 10, 2.5},
        {"weights.type=q4 weights.scheme=asymmetric", 52641792ull * 67, 4.1875},
        {"weights.type=q8 weights.group=256 weights.scheme=asymmetric", 26320896ull * 259, 8.09375},
        {"weights.type=nf4", 105283584ull * 34, 4.25},
        /* 16 levels of 2 bytes and a scale for each row */
        {"weights.type=cluster4", 3369074688ull + 1423872ull * 34, 4.06640625},
        {"weights.type=q2 weights.least=q4", 52641792ull * 66, 4.125},
    };
    struct bench *b = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct accel_plan_part *part;
        plan_shapes_well(b, "one", rows[i].settings, &llama_7b);
        if (memory_row(b->plan, ACCEL_MEMORY_WEIGHTS)->bytes != rows[i].bytes + 1064960)
            fail_msg("%s: %llu", rows[i].settings,
                     (unsigned long long)memory_row(b->plan, ACCEL_MEMORY_WEIGHTS)->bytes);
        part = part_of(b->plan, "ffn.up");
        assert_non_null(part);
        assert_int_equal(part->count, 32);
        assert_true(part->bits_per_weight >= rows[i].bits && part->bits_per_weight < rows[i].bits + 1e-4);
        assert_string_equal(part_of(b->plan, "norm")->type_name, "f32");
    }
}

static void test_groups(void **state)
{
    /* 4544 = 64 x 71 and 18176 = 256 x 71: rows of 4544 get groups of 64. 100 has no group at all. */
    static const struct shapes falcon = {2, 4544, 18176, 71, 1, 64, 1000, 0};
    static const struct shapes odd = {2, 100, 256, 1, 1, 100, 1000, 0};
    struct bench *b = *state;
    plan_shapes_well(b, "one", "weights.type=q4", &falcon);
    assert_string_equal(part_of(b->plan, "ffn.up")->type_name, "q4_g64");
    assert_non_null(
        strstr(part_of(b->plan, "ffn.up")->reason, "groups of 64 for rows of 4544: 128 does not divide them"));
    assert_int_equal(part_of(b->plan, "ffn.up")->bytes, 2ull * 18176 * 71 * 34);
    assert_string_equal(part_of(b->plan, "ffn.down")->type_name, "q4_g128");
    plan_shapes_well(b, "one", "weights.type=q4 weights.group=512", &falcon);
    assert_string_equal(part_of(b->plan, "ffn.down")->type_name, "q4_g256");
    plan_shapes_well(b, "one", "weights.type=q3", &odd);
    assert_string_equal(part_of(b->plan, "ffn.up")->type_name, "f16");
    assert_non_null(strstr(part_of(b->plan, "ffn.up")->reason, "f16 for rows of 100: no group"));
    assert_string_equal(part_of(b->plan, "ffn.down")->type_name, "q3_g128");
}

/* Role before component before adaptive precision before weights.type before the file. */
static uint32_t count_converted(const struct accel_plan *plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < accel_plan_weight_count(plan); i++)
        count += accel_plan_weight_get(plan, i)->converted;
    return count;
}

static void test_order(void **state)
{
    struct bench *b = *state;
    struct shapes file = llama_7b;
    file.type = ACCEL_BF16;
    plan_shapes_well(b, "one", "", &file);
    assert_string_equal(part_of(b->plan, "head")->type_name, "bf16");
    assert_string_equal(part_of(b->plan, "head")->place, "the test");
    assert_int_equal(count_converted(b->plan), 0);
    plan_shapes_well(b, "one", "weights.type=q3", &file);
    assert_string_equal(part_of(b->plan, "head")->type_name, "q3_g128");
    assert_string_equal(part_of(b->plan, "head")->file_type, "bf16");
    assert_int_equal(accel_plan_weight_count(b->plan), 291);
    assert_int_equal(count_converted(b->plan), 226);
    plan_shapes_well(b, "one", "weights.type=q3 precision.adaptive=true", &file);
    assert_string_equal(part_of(b->plan, "head")->type_name, "q8_g128");
    assert_string_equal(part_of(b->plan, "embedding")->type_name, "q8_g128");
    assert_string_equal(part_of(b->plan, "attention.o")->type_name, "q8_g128");
    assert_string_equal(part_of(b->plan, "ffn.gate")->type_name, "q4_g128");
    plan_shapes_well(b, "one", "weights.type=q3 precision.adaptive=true language.type=q2", &file);
    assert_string_equal(part_of(b->plan, "head")->type_name, "q2_g64");
    plan_shapes_well(b, "one", "weights.type=q3 precision.adaptive=true language.type=q2 role.head=f16 role.ffn.up=q8",
                     &file);
    assert_string_equal(part_of(b->plan, "head")->type_name, "f16");
    assert_string_equal(part_of(b->plan, "ffn.gate")->type_name, "q8_g128");
    assert_string_equal(part_of(b->plan, "ffn.down")->type_name, "q2_g64");
    assert_non_null(strstr(part_of(b->plan, "head")->reason, "role.head=f16"));
    /* Vectors have a setting of their own, and nothing else touches them. */
    plan_shapes_well(b, "one", "weights.type=q3 role.norm=f16", &file);
    assert_string_equal(part_of(b->plan, "norm")->type_name, "f16");
    /* What has the bits already stays, unless the groups were asked for. */
    file.type = ACCEL_Q4_1;
    plan_shapes_well(b, "one", "weights.type=q4", &file);
    assert_string_equal(part_of(b->plan, "head")->type_name, "q4_1");
    assert_null(note_of(b->plan, "weights.type", "conversion"));
    plan_shapes_well(b, "one", "weights.type=q4 weights.group=64", &file);
    assert_string_equal(part_of(b->plan, "head")->type_name, "q4_g64");
}

/*
 * Web Platform Optimization Guide and WebGPU Ultra-Low Precision: 4 bits, 8 for critical matrices, 3800 MiB.
 * weights      attention 32 x 4 x 4096^2 = 2,147,483,648 and tables 2 x 32000 x 4096 = 262,144,000 in 8 bits:
 *              18,825,216 groups x 130 = 2,447,278,080
 *              ffn 32 x 3 x 4096 x 11008 = 4,328,521,728 in 4 bits: 33,816,576 x 66 = 2,231,894,016
 *              norms 1,064,960                                          together 4,680,237,056 (5.555 bits a weight)
 * state        524,288 x 2048 tokens = 1,073,741,824
 * activations  256 tokens x 8 + 32000 x 4 = 130,048
 * scratch      256 tokens x (2 x 4096 + 2 x 11008) x 4 + 32 heads x 64 x (64 + 128) x 4 = 30,932,992 + 1,572,864
 * program      (32 x 16 + 8) x 512 = 266,240;  host 291 x 512 = 148,992
 * needed       5,787,030,016;  budget 3,984,588,800;  short by 1,802,441,216
 */
static void test_short(void **state)
{
    struct bench *b = *state;
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    plan_shapes_well(b, "one",
                     "precision.adaptive=true precision.default=q4 precision.critical=q8 context=2048tok "
                     "batch=256tok memory.budget=3800MiB",
                     &llama_7b);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_WEIGHTS)->bytes, 4680237056);
    assert_non_null(strstr(memory_row(b->plan, ACCEL_MEMORY_WEIGHTS)->origin, "estimated"));
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_STATE)->bytes, 1073741824);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_ACTIVATION)->bytes, 130048);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_SCRATCH)->bytes, 32505856);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_PROGRAM)->bytes, 266240);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_HOST)->bytes, 148992);
    assert_int_equal(accel_plan_fit(b->plan, &fit, &b->error), ACCEL_OK);
    assert_int_equal(fit.fits, 0);
    assert_int_equal(fit.needed, 5787030016);
    assert_int_equal(fit.budget, 3984588800);
    assert_int_equal(fit.short_by, 1802441216);
    assert_non_null(strstr(fit.budget_origin, "memory.budget: the test"));
    /* The memory of the device that its file states, and less of it on demand. */
    plan_shapes_well(b, "one", "weights.type=q4 context=2048tok", &llama_7b);
    assert_int_equal(accel_plan_fit(b->plan, &fit, &b->error), ACCEL_OK);
    assert_int_equal(fit.fits, 1);
    assert_int_equal(fit.budget, 16000000000);
    assert_non_null(strstr(fit.budget_origin, "devices/one.yaml:3"));
    plan_shapes_well(b, "one", "weights.type=q4 context=2048tok memory.device=4GB", &llama_7b);
    assert_int_equal(accel_plan_fit(b->plan, &fit, &b->error), ACCEL_OK);
    assert_int_equal(fit.budget, 4000000000);
    assert_int_equal(fit.fits, 0);
    /* A platform of which nothing is known has no budget. */
    plan_shapes_well(b, NULL, "context=2048tok", &llama_7b);
    assert_int_equal(accel_plan_fit(b->plan, &fit, &b->error), ACCEL_OK);
    assert_int_equal(fit.budget, 0);
    assert_int_equal(fit.fits, 1);
    assert_true(*fit.budget_origin != '\0');
}

/* Scores of one layer, 32 heads, f16, all tokens at once: 16 MiB at 512, and four times that for each doubling. */
static void test_scores(void **state)
{
    static const struct {
        const char *length;
        uint64_t tokens;
        uint64_t bytes;
    } rows[] = {{"512tok", 512, 16ull << 20},
                {"2048tok", 2048, 256ull << 20},
                {"4096tok", 4096, 1ull << 30},
                {"8192tok", 8192, 4ull << 30}};
    struct bench *b = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char settings[200];
        uint64_t rest = rows[i].tokens * (2 * 4096 + 2 * 11008) * 2;
        snprintf(settings, sizeof(settings), "context=%s batch=%s compute.type=f16 attention.kernel=eager",
                 rows[i].length, rows[i].length);
        plan_shapes_well(b, "one", settings, &llama_7b);
        assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_SCRATCH)->bytes, rest + rows[i].bytes);
        assert_non_null(strstr(memory_row(b->plan, ACCEL_MEMORY_SCRATCH)->origin, "eager"));
        snprintf(settings, sizeof(settings), "context=%s batch=%s compute.type=f16", rows[i].length, rows[i].length);
        plan_shapes_well(b, "one", settings, &llama_7b);
        assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_SCRATCH)->bytes, rest + 32 * 64 * (64 + 128) * 4);
    }
    /* Without a cache a text is read at once. */
    plan_shapes_well(b, "one", "context=512tok batch=16tok compute.type=f16 attention.kernel=eager kv.enabled=false",
                     &llama_7b);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_SCRATCH)->bytes, 512ull * 30208 * 2 + (16ull << 20));
}

static void test_context(void **state)
{
    static const struct accel_named_value model = {"model.context", "2048", "a header"};
    static const struct accel_named_value given = {"context", "4096tok", "the test"};
    struct bench *b = *state;
    struct accel_plan_request request = {.size = sizeof(request), .platform = "big", .model = &model, .model_count = 1};
    struct owned_shapes s;
    shapes_make(&s, &llama_7b);
    assert_int_equal(accel_plan_create(b->context, &request, &b->plan, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_sketch(b->plan, &s.model, &b->error), ACCEL_OK);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_STATE)->bytes, 524288ull * 2048);
    assert_string_equal(accel_plan_setting_find(b->plan, "context")->value, "2048");
    assert_string_equal(accel_plan_setting_find(b->plan, "context")->place, "a header");
    /* A second call changes nothing, and adds no second overridden value. */
    assert_int_equal(accel_plan_sketch(b->plan, &s.model, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_setting_find(b->plan, "context")->overridden_count, 1);
    accel_plan_free(b->plan);
    request.overrides = &given;
    request.override_count = 1;
    assert_int_equal(accel_plan_create(b->context, &request, &b->plan, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_sketch(b->plan, &s.model, &b->error), ACCEL_OK);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_STATE)->bytes, 524288ull * 4096);
    assert_non_null(note_of(b->plan, "context", "2048"));
    shapes_free(&s);
}

/* weights.type names a mix: each weight has the type that the sketch gives it, unless a stronger setting decides. */
static void test_mix(void **state)
{
    struct bench *b = *state;
    struct owned_shapes s;
    uint32_t *types;
    shapes_make(&s, &llama_7b);
    types = calloc(s.model.weight_count, sizeof(*types));
    assert_non_null(types);
    for (uint32_t i = 0; i < s.model.weight_count; i++)
        types[i] = i == 0 ? ACCEL_Q6_K : i == 1 ? ACCEL_TYPE_NONE : ACCEL_Q4_K;
    assert_int_equal(create(b, "one", "weights.type=q4_k_m context=1tok"), ACCEL_OK);
    assert_int_equal(accel_plan_sketch(b->plan, &s.model, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_weight_get(b->plan, 0)->type, s.model.weights[0].type);
    s.model.mix = types;
    assert_int_equal(accel_plan_sketch(b->plan, &s.model, &b->error), ACCEL_OK);
    for (uint32_t i = 0; i < s.model.weight_count; i++)
        if (s.model.weights[i].rows > 1)
            assert_int_equal(accel_plan_weight_get(b->plan, i)->type, i == 1 ? s.model.weights[i].type : types[i]);
    assert_string_equal(s.model.weights[0].role, "embedding");
    assert_int_equal(create(b, "one", "weights.type=q4_k_m role.embedding=f16 weights.least=q8 context=1tok"),
                     ACCEL_OK);
    assert_int_equal(accel_plan_sketch(b->plan, &s.model, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_weight_get(b->plan, 0)->type, ACCEL_F16);
    for (uint32_t i = 2; i < s.model.weight_count; i++)
        assert_true(s.model.weights[i].rows == 1 || accel_plan_weight_get(b->plan, i)->type != ACCEL_Q4_K);
    free(types);
    shapes_free(&s);
}

/* 24 of the 32 layers read 512 tokens of the cache, of 16384 bytes each, and all of them cache 2048. A model without
 * layers has no part of the cache that is not read. */
static void test_window(void **state)
{
    static const struct accel_named_value model[] = {{"model.layers", "32", "a header"},
                                                     {"model.context", "2048", "a header"},
                                                     {"model.window", "512", "a header"},
                                                     {"model.window_layers", "24", "a header"}};
    static const struct accel_named_value none[] = {{"model.layers", "0", "a header"},
                                                    {"model.context", "2048", "a header"},
                                                    {"model.window", "512", "a header"},
                                                    {"model.window_layers", "0", "a header"}};
    struct bench *b = *state;
    struct accel_plan_request request = {.size = sizeof(request), .platform = "big", .model = model};
    struct owned_shapes s;
    uint64_t bytes[3];
    shapes_make(&s, &llama_7b);
    for (uint32_t i = 0; i < 3; i++) {
        accel_plan_free(b->plan);
        request.model = i == 2 ? none : model;
        request.model_count = i == 0 ? 2 : 4;
        assert_int_equal(accel_plan_create(b->context, &request, &b->plan, &b->error), ACCEL_OK);
        assert_int_equal(accel_plan_sketch(b->plan, &s.model, &b->error), ACCEL_OK);
        assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_STATE)->bytes, 524288ull * 2048);
        bytes[i] = accel_plan_speed_get(b->plan, 0)->step_bytes;
    }
    assert_int_equal(bytes[0] - bytes[1], 24ull * 16384 * (2048 - 512));
    assert_int_equal(bytes[0], bytes[2]);
    shapes_free(&s);
}

/*
 * An encoder of sounds and a decoder that reads it, of one layer each, 6 heads of 64, hidden 384, ffn 1536. The decoder
 * keeps 448 tokens of its own and 1500 places of the encoder: 2 x 2 x 384 x 1948 = 2,992,128 bytes. The encoder needs
 * more scratch: 1500 x (2 x 384 + 2 x 1536) x 4 + 6 x 64 x (64 + 64) x 4 = 23,040,000 + 196,608. Inputs: 1500 x 384
 * x 4.
 */
static void test_components(void **state)
{
    static const struct accel_sketch_component both[] = {{.size = sizeof(both[0]),
                                                          .layers = 1,
                                                          .hidden = 384,
                                                          .ffn = 1536,
                                                          .heads = 6,
                                                          .kv_heads = 6,
                                                          .head_size = 64,
                                                          .tokens = 1500,
                                                          .name = "audio"},
                                                         {.size = sizeof(both[0]),
                                                          .layers = 1,
                                                          .hidden = 384,
                                                          .ffn = 1536,
                                                          .heads = 6,
                                                          .kv_heads = 6,
                                                          .head_size = 64,
                                                          .cached = 1,
                                                          .vocabulary = 51865,
                                                          .name = "decoder"}};
    static const struct accel_sketch_weight weights[] = {
        {sizeof(weights[0]), 0, "a", "audio", "ffn.up", ACCEL_F16, 0, 1536, 384},
        {sizeof(weights[0]), ACCEL_NO_LAYER, "b", "decoder", "embedding", ACCEL_F16, 0, 51865, 384},
        {sizeof(weights[0]), 0, "c", "decoder", "ffn.up", ACCEL_F16, 0, 1536, 384}};
    static const struct accel_sketch sketch = {sizeof(sketch), 3, 2, 0, weights, both, "the test", NULL, NULL};
    struct bench *b = *state;
    assert_int_equal(create(b, "one", "context=448tok audio.type=q8 language.type=q4"), ACCEL_OK);
    if (accel_plan_sketch(b->plan, &sketch, &b->error) != ACCEL_OK)
        fail_msg("%s", b->error.text);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_STATE)->bytes, 2992128);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_SCRATCH)->bytes, 23040000 + 196608);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_ACTIVATION)->bytes, 1500 * 384 * 4 + 256 * 8 + 51865 * 4);
    assert_string_equal(accel_plan_part_get(b->plan, 0)->type_name, "q8_g128");
    assert_string_equal(accel_plan_part_get(b->plan, 2)->type_name, "q4_g128");
    assert_int_equal(accel_plan_layer_count(b->plan), 3);
    /* A step of the decoder reads its table, which is its head too, and not the encoder. */
    assert_int_equal(accel_plan_speed_get(b->plan, 0)->step_bytes, (51865ull * 3 + 1536 * 3) * 66 + 2992128);
}

static void test_speed(void **state)
{
    struct bench *b = *state;
    const struct accel_plan_speed *speed;
    struct accel_plan_past past = {.size = sizeof(past)};
    plan_shapes_well(b, "one", "weights.type=q4 context=2048tok", &llama_7b);
    assert_int_equal(accel_plan_speed_count(b->plan), 1);
    speed = accel_plan_speed_get(b->plan, 0);
    /* All weights but the table of tokens (131,072,000 in 4 bits: 67,584,000), and a full cache. */
    assert_int_equal(speed->step_bytes, 52641792ull * 66 + 1064960 - 67584000 + 1073741824);
    assert_non_null(strstr(speed->origin, "claimed"));
    assert_true(speed->upper > 93.9 && speed->upper < 93.91); /* 320e9 / 3,407,839,232 */
    assert_true(speed->lower == 0);
    assert_int_equal(accel_plan_past(b->plan, &past, &b->error), ACCEL_OK);
    assert_int_equal(past.runs, 0);
    plan_shapes_well(b, "two", "weights.type=q4", &llama_7b);
    assert_true(accel_plan_speed_get(b->plan, 0)->upper == 0);
    assert_null(accel_plan_speed_get(b->plan, 1));
}

static void refused(struct bench *b, struct owned_shapes *s, const char *words)
{
    accel_error_clear(&b->error);
    assert_int_equal(accel_plan_sketch(b->plan, &s->model, &b->error), ACCEL_E_INVALID);
    if (strstr(b->error.text, words) == NULL)
        fail_msg("%s", b->error.text);
}

static void test_misuse(void **state)
{
    struct bench *b = *state;
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    struct owned_shapes s;
    assert_int_equal(create(b, "one", "context=8tok"), ACCEL_OK);
    shapes_make(&s, &llama_7b);
    assert_int_equal(accel_plan_fit(b->plan, &fit, &b->error), ACCEL_E_INVALID);
    s.model.origin = NULL;
    refused(b, &s, "origin");
    s.model.origin = "the test";
    s.weights[3].role = NULL;
    refused(b, &s, "weight 3");
    s.weights[3].role = "attention.k";
    s.weights[3].size = 8;
    refused(b, &s, "weight 3");
    s.weights[3].size = sizeof(s.weights[3]);
    s.weights[3].type = 0x77;
    refused(b, &s, "0x77");
    s.weights[3].type = ACCEL_Q4_0;
    s.weights[3].columns = 33;
    refused(b, &s, "cannot be q4_0");
    s.weights[3].columns = UINT64_MAX / 4;
    s.weights[3].type = ACCEL_F32;
    refused(b, &s, "cannot be f32");
    s.weights[3].columns = 4096;
    s.component.head_size = 0;
    refused(b, &s, "component 0");
    s.component.head_size = 128;
    assert_int_equal(accel_plan_sketch(b->plan, &s.model, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_sketch(NULL, &s.model, &b->error), ACCEL_E_INVALID);
    shapes_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_platform, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cache, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cache_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_weights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_groups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_short, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_scores, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_context, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mix, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_window, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_components, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_speed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_misuse, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("plan_sketch", tests, NULL, NULL);
}
