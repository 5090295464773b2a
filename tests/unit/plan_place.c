/* SPDX-License-Identifier: Apache-2.0 */
/* Plans on a driver that answers as told: choice of the device, provenance, threads, policies, memory to the byte. */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "core/registry/registry.h"
#include "tests/unit/plan_support.h"

/** A context with the scripted driver, profiles of the test, and a graph. */
struct bench {
    struct scripted script;
    struct sum_graph sum;
    struct accel_context *context;
    struct accel_plan *plan;
    struct accel_error error;
    const struct accel_plan_in_place *in_place; /* of the last placement */
    uint32_t in_place_count;
    char folder[128];
};

static void write_profile(const struct bench *b, const char *name, const char *text)
{
    char path[256];
    FILE *file;
    snprintf(path, sizeof(path), "%s/%s", b->folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void open_context(struct bench *b, uint32_t with_estimate)
{
    struct accel_context_options options = {
        .size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS, .profile_path = b->folder};
    assert_int_equal(accel_context_create(&options, &b->context, &b->error), ACCEL_OK);
    assert_int_equal(accel_context_discover(b->context, &b->error), ACCEL_OK);
    if (accel_context_attach_driver(b->context, scripted_driver(&b->script, with_estimate), &b->error) != ACCEL_OK)
        fail_msg("%s", b->error.text);
}

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    const char *temporary = getenv("TMPDIR");
    assert_non_null(b);
    snprintf(b->folder, sizeof(b->folder), "%s/accel-plan-XXXXXX", temporary ? temporary : "/tmp");
    assert_non_null(mkdtemp(b->folder));
    write_profile(b, "base.yaml",
                  "accel-profile: 1\nrules:\n- {set: {device.rank: 7, batch: 8tok}, because: a test}\n");
    b->script.answer = ACCEL_CLAIM_NATIVE;
    b->script.silent = ACCEL_NO_VALUE;
    b->script.weights = ACCEL_MAPPED;
    sum_graph_make(&b->sum);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"base.yaml", "scripted.yaml"};
    struct bench *b = *state;
    accel_plan_free(b->plan);
    if (b->context)
        assert_int_equal(accel_context_free(b->context, &b->error), ACCEL_OK);
    accel_builder_free(b->sum.builder);
    for (size_t i = 0; i < 2; i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", b->folder, names[i]);
        unlink(path);
    }
    rmdir(b->folder);
    free(b);
    return 0;
}

static int32_t create(struct bench *b, const char *device, const struct accel_named_value *given, uint32_t count)
{
    struct accel_plan_request request = {
        .size = sizeof(request), .device = device, .overrides = given, .override_count = count};
    accel_plan_free(b->plan);
    accel_error_clear(&b->error);
    return accel_plan_create(b->context, &request, &b->plan, &b->error);
}

static int32_t place_pages(struct bench *b, uint64_t file_bytes, uint64_t pages)
{
    static const uint64_t tokens = 8;
    static const uint64_t *const symbols[] = {&tokens};
    static const struct accel_state_part parts[] = {{ACCEL_F16, 0, 32}, {ACCEL_Q8_0, 0, 64}};
    struct accel_plan_work work = {.size = sizeof(work),
                                   .graph_count = 1,
                                   .graphs = &b->sum.graph,
                                   .symbols = symbols,
                                   .parts = parts,
                                   .part_count = 2,
                                   .slots = 100,
                                   .host_bytes = 1000,
                                   .host_formula = "a table of the test",
                                   .file_bytes = file_bytes,
                                   .in_place_bytes = pages};
    int32_t code;
    accel_error_clear(&b->error);
    code = accel_plan_ask(b->plan, &work, &work.answers, &b->error);
    if (code != ACCEL_OK)
        return code;
    b->in_place = accel_plan_in_place(work.answers, &b->in_place_count);
    return accel_plan_assign_graphs(b->plan, &work, &b->error);
}

static int32_t place(struct bench *b, uint64_t file_bytes)
{
    return place_pages(b, file_bytes, 0);
}

static const struct accel_plan_memory *row(const struct bench *b, uint32_t memory_class)
{
    for (uint32_t i = 0; i < accel_plan_memory_count(b->plan); i++)
        if (accel_plan_memory_get(b->plan, i)->memory_class == memory_class)
            return accel_plan_memory_get(b->plan, i);
    return NULL;
}

static void assert_row(const struct bench *b, uint32_t memory_class, uint64_t lower, uint64_t bytes, const char *words)
{
    const struct accel_plan_memory *found = row(b, memory_class);
    assert_non_null(found);
    assert_int_equal(found->lower, lower);
    assert_int_equal(found->bytes, bytes);
    if (strstr(found->origin, words) == NULL)
        fail_msg("%s: %s", found->name, found->origin);
}

static void test_settings(void **state)
{
    static const struct accel_named_value given = {"context", "64tok", "the test"};
    struct bench *b = *state;
    const struct accel_plan_setting *setting;
    open_context(b, 0);
    assert_int_equal(create(b, NULL, &given, 1), ACCEL_OK);
    assert_string_equal(accel_plan_device(b->plan)->name, "scripted:one");
    setting = accel_plan_setting_find(b->plan, "batch");
    assert_string_equal(setting->value, "8");
    assert_string_equal(setting->unit, "tok");
    assert_int_equal(setting->origin, ACCEL_ORIGIN_PROFILE);
    assert_string_equal(setting->reason, "a test");
    assert_non_null(strstr(setting->place, "base.yaml:3"));
    assert_string_equal(setting->overridden[0].value, "256");
    assert_string_equal(setting->overridden[0].place, "built in");
    setting = accel_plan_setting_find(b->plan, "context");
    assert_int_equal(setting->origin, ACCEL_ORIGIN_GIVEN);
    assert_string_equal(setting->place, "the test");
    assert_int_equal(accel_plan_setting_find(b->plan, "weights.load")->origin, ACCEL_ORIGIN_BUILTIN);
    assert_int_equal(setting->number, 64);
    assert_int_equal(accel_plan_setting_find(b->plan, "weights.load")->number, 0);
    assert_int_equal(accel_plan_setting_find(b->plan, "cpu.pin")->number, 1);
    assert_null(accel_plan_setting_find(b->plan, "nothing"));
    assert_null(accel_plan_setting_get(b->plan, accel_plan_setting_count(b->plan)));
    assert_int_equal(accel_context_free(b->context, &b->error), ACCEL_E_BUSY);
}

static void test_bad_requests(void **state)
{
    static const struct accel_named_value wrong = {"contxt", "64tok", "--set"}, half = {"context", NULL, "--set"};
    struct bench *b = *state;
    open_context(b, 0);
    assert_int_equal(create(b, NULL, &wrong, 1), ACCEL_E_NOT_FOUND);
    assert_non_null(strstr(b->error.text, "did you mean \"context\"?"));
    assert_null(b->plan);
    assert_int_equal(create(b, NULL, &half, 1), ACCEL_E_INVALID);
    assert_int_equal(accel_plan_create(b->context, NULL, &b->plan, NULL), ACCEL_E_INVALID);
    assert_int_equal(accel_plan_setting_count(NULL), 0);
    assert_null(accel_plan_device(NULL));
}

/* A name that no device has: the reasons of its driver are told. */
static void test_device_choice(void **state)
{
    static const struct accel_named_value allow = {"fallback.device", "allow", "--set"};
    struct bench *b = *state;
    open_context(b, 0);
    assert_int_equal(create(b, "scripted", NULL, 0), ACCEL_OK);
    assert_int_equal(create(b, "scripted:two", NULL, 0), ACCEL_E_NOT_FOUND);
    assert_non_null(strstr(b->error.text, "there is no device scripted:two"));
    assert_non_null(strstr(b->error.text, "the second one is locked"));
    assert_string_equal(b->error.remedy, "unlock it");
    assert_null(b->plan);
    assert_int_equal(create(b, "another", NULL, 0), ACCEL_E_NOT_FOUND);
    assert_null(strstr(b->error.text, "locked"));
    assert_int_equal(create(b, "another", &allow, 1), ACCEL_OK);
    assert_string_equal(accel_plan_device(b->plan)->name, "scripted:one");
}

/* No file may put another device there, and one that tries is refused. */
static void test_loosened(void **state)
{
    struct bench *b = *state;
    write_profile(b, "scripted.yaml", "accel-profile: 1\ndefaults: {fallback.device: allow}\n");
    open_context(b, 0);
    assert_int_equal(create(b, "scripted", NULL, 0), ACCEL_E_INVALID);
    assert_non_null(strstr(b->error.text, "scripted.yaml:2:29: fallback.device: no file can loosen it"));
}

static void test_no_device(void **state)
{
    struct bench *b = *state;
    b->script.flags = ACCEL_DEVICE_TARGET;
    open_context(b, 0);
    assert_int_equal(create(b, NULL, NULL, 0), ACCEL_E_NOT_FOUND);
    assert_non_null(strstr(b->error.text, "there is no device; scripted"));
}

/* A profile that cannot be read is never passed over. */
static void test_broken_profile(void **state)
{
    struct bench *b = *state;
    write_profile(b, "scripted.yaml", "accel-profile: 1\ndefaults: {contxt: 1tok}\n");
    open_context(b, 0);
    assert_int_equal(create(b, NULL, NULL, 0), ACCEL_E_INVALID);
    assert_non_null(strstr(b->error.text, "scripted.yaml:2:12: setting \"contxt\" is unknown"));
}

static void test_broken_base(void **state)
{
    struct bench *b = *state;
    write_profile(b, "base.yaml", "accel-profile: 7\n");
    open_context(b, 0);
    assert_int_equal(create(b, NULL, NULL, 0), ACCEL_E_INVALID);
    assert_non_null(strstr(b->error.text, "base.yaml:1:16: only version 1"));
}

static void test_threads(void **state)
{
    static const struct accel_named_value one = {"cpu.threads", "1", "--set"}, many = {"cpu.threads", "4096", "--set"};
    const struct accel_named_value loose[] = {
        many, {"fallback.threads", "warn", "--set"}, {"cpu.pin", "false", "--set"}};
    struct bench *b = *state;
    const struct accel_plan_setting *setting;
    uint32_t threads;
    b->script.threads = 2;
    open_context(b, 0);
    assert_int_equal(create(b, NULL, NULL, 0), ACCEL_OK);
    assert_true(accel_plan_processor(b->plan, 0, &threads) >= 0);
    assert_true(threads >= 1 && threads <= 2);
    assert_int_equal(accel_plan_processor(b->plan, threads, &threads), -1);
    setting = accel_plan_setting_find(b->plan, "cpu.threads");
    assert_int_equal(setting->origin, ACCEL_ORIGIN_MEASURED);
    assert_true(*setting->reason && *setting->place);
    assert_string_equal(setting->overridden[0].value, "auto");
    assert_string_equal(setting->overridden[0].place, "built in");
    assert_int_equal(setting->number, threads);
    assert_int_equal(create(b, NULL, &one, 1), ACCEL_OK);
    accel_plan_processor(b->plan, 0, &threads);
    assert_int_equal(threads, 1);
    assert_int_equal(accel_plan_setting_find(b->plan, "cpu.threads")->origin, ACCEL_ORIGIN_GIVEN);
    assert_int_equal(create(b, NULL, &many, 1), ACCEL_E_FALLBACK);
    assert_non_null(strstr(b->error.remedy, "request at most"));
    assert_int_equal(create(b, NULL, loose, 3), ACCEL_OK);
    assert_int_equal(accel_plan_processor(b->plan, 0, &threads), -1);
    assert_string_equal(accel_plan_setting_find(b->plan, "cpu.threads")->overridden[0].value, "4096");
    assert_string_equal(accel_plan_setting_find(b->plan, "cpu.threads")->overridden[0].place, "--set");
}

static void test_memory(void **state)
{
    struct bench *b = *state;
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    uint64_t sum = 0;
    open_context(b, 1);
    assert_int_equal(create(b, NULL, NULL, 0), ACCEL_OK);
    assert_int_equal(accel_plan_fit(b->plan, &fit, NULL), ACCEL_E_INVALID);
    assert_int_equal(place(b, 16), ACCEL_OK);
    assert_int_equal(b->script.bucket, 8);
    assert_row(b, ACCEL_MEMORY_MAPPED, 16, 16, "file: the mapped pages of 1 weights");
    assert_row(b, ACCEL_MEMORY_STATE, 100 * (64 + 68), 100 * (64 + 68), "2 caches x 100 slots, 132 bytes");
    assert_row(b, ACCEL_MEMORY_ACTIVATION, 2 * 8 * 16, 2 * 8 * 16, "2 inputs and outputs of 1 graphs");
    assert_row(b, ACCEL_MEMORY_SCRATCH, 110, 220, "estimated by driver scripted: first; second");
    assert_row(b, ACCEL_MEMORY_PROGRAM, 0, 512, "the driver gives no estimate");
    assert_non_null(strstr(row(b, ACCEL_MEMORY_HOST)->origin, "a table of the test"));
    assert_int_equal(row(b, ACCEL_MEMORY_HOST)->lower, row(b, ACCEL_MEMORY_HOST)->bytes);
    assert_true(row(b, ACCEL_MEMORY_HOST)->bytes > 1000);
    assert_null(row(b, ACCEL_MEMORY_WEIGHTS));
    for (uint32_t i = 0; i < accel_plan_memory_count(b->plan); i++)
        sum += accel_plan_memory_get(b->plan, i)->bytes;
    assert_int_equal(accel_plan_fit(b->plan, &fit, &b->error), ACCEL_OK);
    assert_int_equal(fit.needed, sum);
    assert_int_equal(fit.fits, 1);
    /* The less of the two: what the machine has, what the driver's heap in it has. */
    assert_true(strstr(fit.budget_origin, "measured: ") ||
                strstr(fit.budget_origin, "claimed: driver scripted, heap "));
    /* A source that does not map, and a driver without a container: the core copies. */
    assert_int_equal(place(b, 0), ACCEL_OK);
    assert_row(b, ACCEL_MEMORY_WEIGHTS, 16, 16, "1 weights in memory, 0 in the program");
    assert_null(row(b, ACCEL_MEMORY_MAPPED));
    assert_int_equal(accel_plan_node_count(b->plan), 1);
}

/* Pages that the caller counts replace the bytes of the weights; where nothing is mapped, the core copies them. The
 * device is asked once. */
static void test_in_place(void **state)
{
    struct bench *b = *state;
    open_context(b, 1);
    assert_int_equal(create(b, NULL, NULL, 0), ACCEL_OK);
    assert_int_equal(place_pages(b, 64, 4096), ACCEL_OK);
    assert_int_equal(b->in_place_count, 1);
    assert_int_equal(b->in_place[0].looked_up, 0);
    assert_string_equal(b->in_place[0].key, "w");
    assert_row(b, ACCEL_MEMORY_MAPPED, 4096, 4096, "file: the mapped pages of 1 weights");
    assert_int_equal(b->script.opened, 1);
    assert_int_equal(b->script.claims, 1);
    assert_int_equal(b->script.estimates, 1);
    assert_int_equal(place_pages(b, 0, 4096), ACCEL_OK);
    assert_int_equal(b->in_place_count, 1);
    assert_null(row(b, ACCEL_MEMORY_MAPPED));
    assert_row(b, ACCEL_MEMORY_WEIGHTS, 16, 16, "1 weights in memory");
    assert_int_equal(b->script.opened, 1);
    /* A weight in the program is not used in place. */
    b->script.weights = ACCEL_BAKED;
    assert_int_equal(create(b, NULL, NULL, 0), ACCEL_OK);
    assert_int_equal(place_pages(b, 64, 4096), ACCEL_OK);
    assert_int_equal(b->in_place_count, 0);
    assert_null(row(b, ACCEL_MEMORY_MAPPED));
}

/* Answers are those for the plan that asked, as long as it has its device. */
static void test_answers(void **state)
{
    static const uint64_t tokens = 8;
    static const uint64_t *const symbols[] = {&tokens};
    struct bench *b = *state;
    struct accel_plan_request request = {.size = sizeof(request)};
    struct accel_plan_work work = {.size = sizeof(work), .graph_count = 1, .graphs = &b->sum.graph, .symbols = symbols};
    struct accel_plan *other;
    struct accel_device *device;
    open_context(b, 0);
    assert_int_equal(create(b, NULL, NULL, 0), ACCEL_OK);
    assert_int_equal(accel_plan_ask(b->plan, &work, &work.answers, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_create(b->context, &request, &other, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_assign_graphs(other, &work, &b->error), ACCEL_E_INVALID);
    accel_plan_free(other);
    accel_error_clear(&b->error);
    assert_int_equal(accel_plan_assign_graphs(b->plan, &work, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_open_device(b->plan, &device, &b->error), ACCEL_OK);
    accel_device_free(device);
    assert_int_equal(b->script.opened, 1);
    assert_int_equal(b->script.claims, 1);
}

static void test_core_formula(void **state)
{
    struct bench *b = *state;
    open_context(b, 0);
    b->script.weights = ACCEL_BAKED;
    assert_int_equal(create(b, NULL, NULL, 0), ACCEL_OK);
    assert_int_equal(place(b, 16), ACCEL_OK);
    assert_row(b, ACCEL_MEMORY_WEIGHTS, 0, 16, "0 weights in memory, 1 in the program");
    assert_null(row(b, ACCEL_MEMORY_SCRATCH));
}

static void test_precision(void **state)
{
    struct bench *b = *state;
    open_context(b, 0);
    b->script.precision = ACCEL_Q8_ROW;
    assert_int_equal(create(b, NULL, NULL, 0), ACCEL_OK);
    assert_int_equal(place(b, 16), ACCEL_OK);
    assert_int_equal(accel_plan_node_get(b->plan, 0)->precision, ACCEL_Q8_ROW);
    b->script.precision = ACCEL_PLANAR(5u, 0u, ACCEL_SCHEME_SYMMETRIC);
    assert_int_equal(create(b, NULL, NULL, 0), ACCEL_OK);
    assert_int_equal(place(b, 16), ACCEL_E_INVALID);
    assert_non_null(strstr(b->error.text, "the precision 66816"));
}

static void test_budget(void **state)
{
    static const struct accel_named_value small = {"memory.budget", "1MiB", "--set"};
    struct bench *b = *state;
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    static const uint64_t tokens = 8;
    static const uint64_t *const symbols[] = {&tokens};
    static const struct accel_state_part part = {ACCEL_F32, 0, 1024};
    struct accel_plan_work work = {.size = sizeof(work),
                                   .graph_count = 1,
                                   .graphs = &b->sum.graph,
                                   .symbols = symbols,
                                   .parts = &part,
                                   .part_count = 1,
                                   .slots = 1024};
    open_context(b, 0);
    assert_int_equal(create(b, NULL, &small, 1), ACCEL_OK);
    assert_int_equal(accel_plan_assign_graphs(b->plan, &work, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_fit(b->plan, &fit, &b->error), ACCEL_OK);
    assert_int_equal(fit.fits, 0);
    assert_int_equal(fit.budget, 1u << 20);
    assert_int_equal(fit.short_by, fit.needed - fit.budget);
    assert_string_equal(fit.budget_origin, "memory.budget: --set");
    work.slots = UINT64_MAX / 2;
    assert_int_equal(accel_plan_assign_graphs(b->plan, &work, &b->error), ACCEL_E_LIMIT);
}

/* Settings for drivers come to the driver that knows them, its own options over them; others are refused by name. */
static void test_options(void **state)
{
    static const struct {
        struct accel_named_value overrides[2];
        uint32_t count;
        const char *options; /* NULL: refused */
    } rows[] = {
        {{{"batch", "8tok", "--set"}}, 1, ""},
        {{{"kernels.precompile", "true", "--set"}}, 1, "precompile=1 "},
        {{{"kernels.precompile", "false", "--set"}}, 1, "precompile= "},
        {{{"kernels.subgroups", "off", "--set"}, {"kernels.precompile", "true", "--set"}},
         2,
         "precompile=1 subgroups=off "},
        {{{"scripted.subgroups", "on", "--set"}, {"kernels.subgroups", "off", "--set"}}, 2, "subgroups=on "},
        {{{"kernels.simd", "false", "--set"}}, 1, NULL},
    };
    struct bench *b = *state;
    open_context(b, 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char words[96];
        assert_int_equal(create(b, NULL, rows[i].overrides, rows[i].count), ACCEL_OK);
        assert_int_equal(place(b, 16), ACCEL_OK);
        assert_int_equal(accel_plan_runnable(b->plan, &b->error), rows[i].options ? ACCEL_OK : ACCEL_E_UNSUPPORTED);
        snprintf(words, sizeof(words), "%s=%s is not honored: the driver scripted has no such option",
                 rows[i].overrides[0].key, rows[i].overrides[0].value);
        if (rows[i].options)
            assert_string_equal(b->script.options, rows[i].options);
        else if (strstr(b->error.text, words) == NULL)
            fail_msg("%s", b->error.text);
    }
}

/* Options of profiles that the device refuses are left out and noted, each for its own reason; the user's are refused.
 */
static void test_refused_options(void **state)
{
    static const struct {
        const char *refuses[2], *options, *unhonored[2];
        struct accel_named_value given;
        const char *error; /* NULL: it is opened */
    } rows[] = {
        {{NULL}, "subgroups=on precompile= ", {NULL}, {0}, NULL},
        {{"subgroups=on "}, "precompile= ", {"kernels.subgroups"}, {0}, NULL},
        {{"precompile= "}, "subgroups=on ", {"scripted.precompile"}, {0}, NULL},
        {{"precompile= ", "subgroups=on "}, "", {"kernels.subgroups", "scripted.precompile"}, {0}, NULL},
        {{"precompile= ", "subgroups=off "}, NULL, {NULL}, {"kernels.subgroups", "off", "--set"}, "no subgroups=off "},
    };
    struct bench *b = *state;
    write_profile(b, "scripted.yaml",
                  "accel-profile: 1\ndefaults: {kernels.subgroups: \"on\", scripted.precompile: false}\n");
    open_context(b, 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t noted = 0;
        memcpy(b->script.refuses, rows[i].refuses, sizeof(b->script.refuses));
        assert_int_equal(create(b, NULL, &rows[i].given, rows[i].error != NULL), ACCEL_OK);
        assert_int_equal(place(b, 16), rows[i].error ? ACCEL_E_UNSUPPORTED : ACCEL_OK);
        if (rows[i].error) {
            if (strstr(b->error.text, rows[i].error) == NULL)
                fail_msg("%s", b->error.text);
            continue;
        }
        assert_int_equal(b->error.code, ACCEL_OK);
        for (uint32_t u = 0; u < accel_plan_unhonored_count(b->plan); u++) {
            const struct accel_plan_unhonored *row = accel_plan_unhonored_get(b->plan, u);
            assert_int_equal(row->outcome, ACCEL_UNHONORED_NOTED);
            assert_string_equal(row->key, rows[i].unhonored[noted++]);
            assert_non_null(strstr(row->reason, strchr(row->key, '.') + 1));
            assert_string_equal(accel_plan_setting_find(b->plan, row->key)->value,
                                strcmp(row->key, "kernels.subgroups") == 0 ? "auto" : "true");
        }
        assert_int_equal(noted, (rows[i].unhonored[0] != NULL) + (rows[i].unhonored[1] != NULL));
        /* All runs share the device that the plan has open. */
        b->script.opened = 0;
        for (uint32_t times = 0; times < 2; times++) {
            struct accel_device *device;
            assert_string_equal(b->script.options, rows[i].options);
            assert_int_equal(accel_plan_open_device(b->plan, &device, &b->error), ACCEL_OK);
            accel_device_free(device);
            assert_int_equal(b->script.opened, 0);
        }
    }
}

/* What a single buffer or binding may have: numbers of both sides, and what would do. The state of place() has parts of
 * 6,400 and 6,800 bytes, its input and output 128, its scratch at least 110. */
static void test_limits(void **state)
{
    static const struct {
        uint64_t buffer, binding;
        const char *text, *remedy; /* NULL: it fits */
    } rows[] = {
        {0, 6799,
         "part 1 of the state has 100 slots of 68 bytes, 6800 in all, and device scripted:one binds no more "
         "than 6799 at a time",
         "99 slots would do"},
        {0, 127, "part 0 of the state has 100 slots of 64 bytes, 6400 in all", "1 slots would do"},
        {127, 0, "input x of a step has 128 bytes, and device scripted:one makes no buffer of over 127", "(batch)"},
        {0, 6800, NULL, NULL},
        {128, 0, NULL, NULL},
    };
    struct bench *b = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        b->script.most_buffer = rows[i].buffer;
        b->script.most_binding = rows[i].binding;
        open_context(b, 2);
        assert_int_equal(create(b, NULL, NULL, 0), ACCEL_OK);
        assert_int_equal(place(b, 16), rows[i].text ? ACCEL_E_LIMIT : ACCEL_OK);
        if (rows[i].text &&
            (strstr(b->error.text, rows[i].text) == NULL || strstr(b->error.remedy, rows[i].remedy) == NULL))
            fail_msg("%zu: %s; %s", i, b->error.text, b->error.remedy);
        accel_plan_free(b->plan);
        b->plan = NULL;
        assert_int_equal(accel_context_free(b->context, &b->error), ACCEL_OK);
        b->context = NULL;
    }
}

/* Inputs that are bound, without a state. */
static void test_limit_of_bindings(void **state)
{
    static const uint64_t tokens = 8;
    static const uint64_t *const symbols[] = {&tokens};
    struct bench *b = *state;
    struct accel_plan_work work = {.size = sizeof(work), .graph_count = 1, .graphs = &b->sum.graph, .symbols = symbols};
    b->script.most_binding = 127;
    open_context(b, 0);
    assert_int_equal(create(b, NULL, NULL, 0), ACCEL_OK);
    assert_int_equal(accel_plan_assign_graphs(b->plan, &work, &b->error), ACCEL_E_LIMIT);
    assert_non_null(strstr(b->error.text, "has 128 bytes, and device scripted:one binds no more than 127 at a time"));
}

/* Scratch is one buffer where the driver makes it, and memory of the host where the core does. */
static void test_limit_of_scratch(void **state)
{
    static const uint64_t tokens = 1;
    static const uint64_t *const symbols[] = {&tokens};
    struct bench *b = *state;
    struct accel_plan_work work = {.size = sizeof(work), .graph_count = 1, .graphs = &b->sum.graph, .symbols = symbols};
    for (uint32_t own = 1; own <= 2; own++) {
        b->script.most_buffer = 109;
        accel_error_clear(&b->error);
        open_context(b, own);
        assert_int_equal(create(b, NULL, NULL, 0), ACCEL_OK);
        assert_int_equal(accel_plan_assign_graphs(b->plan, &work, &b->error), own == 2 ? ACCEL_E_LIMIT : ACCEL_OK);
        if (own == 2)
            assert_non_null(strstr(b->error.text, "scratch of a step is one buffer of 110 bytes, and device "
                                                  "scripted:one makes none of over 109"));
        accel_plan_free(b->plan);
        b->plan = NULL;
        assert_int_equal(accel_context_free(b->context, NULL), ACCEL_OK);
        b->context = NULL;
    }
}

static void test_policies(void **state)
{
    static const struct accel_named_value allow = {"fallback.operator", "allow", "--set"};
    struct bench *b = *state;
    const struct accel_plan_node *node;
    open_context(b, 0);
    assert_int_equal(create(b, NULL, NULL, 0), ACCEL_OK);
    b->script.answer = ACCEL_CLAIM_EMULATED;
    assert_int_equal(place(b, 16), ACCEL_E_FALLBACK);
    assert_non_null(strstr(b->error.text, "node \"add\" (add) would be emulated on scripted:one: the test says so"));
    assert_non_null(strstr(b->error.remedy, "fallback.operator"));
    node = accel_plan_node_get(b->plan, 0);
    assert_int_equal(node->answer, ACCEL_CLAIM_EMULATED);
    assert_string_equal(node->kernel, "add_f32");
    assert_string_equal(node->op, "add");
    assert_int_equal(accel_plan_memory_count(b->plan), 0);
    b->script.answer = ACCEL_CLAIM_NO;
    assert_int_equal(place(b, 16), ACCEL_E_REFUSED);
    assert_non_null(strstr(b->error.text, "does not run on scripted:one: the test says so"));
    assert_non_null(strstr(b->error.remedy, "name another device, or use a model whose weights this one reads"));
    b->script.answer = ACCEL_CLAIM_LIKELY;
    b->script.kernel = "\x1b[31mk\xc2\x9b\xe2\x80\xae";
    assert_int_equal(place(b, 16), ACCEL_OK);
    assert_string_equal(accel_plan_node_get(b->plan, 0)->kernel, "?[31mk??");
    b->script.kernel = NULL;
    b->script.silent = 0;
    assert_int_equal(place(b, 16), ACCEL_E_REFUSED);
    assert_non_null(strstr(b->error.text, "the driver does not claim it"));
    b->script.silent = ACCEL_NO_VALUE;
    b->script.answer = ACCEL_CLAIM_EMULATED;
    assert_int_equal(create(b, NULL, &allow, 1), ACCEL_OK);
    assert_int_equal(place(b, 16), ACCEL_OK);
}

static void test_bad_work(void **state)
{
    struct bench *b = *state;
    uint64_t tokens = 9;
    const uint64_t *symbols[] = {&tokens};
    struct accel_plan_work work = {.size = sizeof(work), .graph_count = 1, .graphs = &b->sum.graph, .symbols = symbols};
    open_context(b, 0);
    assert_int_equal(create(b, NULL, NULL, 0), ACCEL_OK);
    assert_int_equal(accel_plan_assign_graphs(b->plan, &work, &b->error), ACCEL_E_INVALID);
    assert_non_null(strstr(b->error.text, "symbol tokens is 9, allowed are 1 to 8"));
    tokens = 8;
    work.graph_count = 0;
    assert_int_equal(accel_plan_assign_graphs(b->plan, &work, NULL), ACCEL_E_INVALID);
    work.graph_count = 1;
    work.part_count = 1;
    assert_int_equal(accel_plan_assign_graphs(b->plan, &work, NULL), ACCEL_E_INVALID);
    work.part_count = 0;
    work.size = 8;
    assert_true(accel_plan_assign_graphs(b->plan, &work, NULL) < 0);
    assert_int_equal(b->script.opened, 0);
    assert_int_equal(accel_plan_assign_graphs(NULL, &work, NULL), ACCEL_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_settings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_requests, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_device_choice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_device, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_loosened, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_profile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_base, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_in_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_core_formula, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_precision, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_budget, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limit_of_bindings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limit_of_scratch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_policies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_work, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
