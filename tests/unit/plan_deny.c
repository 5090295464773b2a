/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing is silently another: with the policies as they are built in (deny), each thing that a device may lack is
 * taken away in turn, and a named error comes; with warn it is another, said in a note or in the log. And what a run
 * does not carry out is refused by the name of its setting.
 */
#include "config.h"

#include <unistd.h>

#include "core/registry/registry.h"
#include "tests/unit/plan_farm.h"
#include "tests/unit/plan_support.h"
#include "tests/unit/profile_folder.h"
#include "tests/unit/shapes_support.h"

struct bench {
    struct farm farm;
    struct scripted script;
    struct farm_graph graph;
    struct accel_context *context;
    struct accel_plan *plan;
    struct accel_error error;
    char *folder;
    char log[4096];
};

static const struct shapes small = {4, 256, 512, 4, 2, 64, 1000, ACCEL_F32};

static void take_log(void *data, uint32_t level, const char *text)
{
    struct bench *b = data;
    size_t used = strlen(b->log);
    (void)level;
    snprintf(b->log + used, sizeof(b->log) - used, "%s\n", text);
}

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    assert_non_null(b);
    b->folder = profile_folder_create();
    profile_folder_write(b->folder, "base.yaml", "accel-profile: 1\n");
    b->farm.devices[0] = (struct farm_device){.id = "a", .kind = ACCEL_DEVICE_CPU, .bytes = 1ull << 34, .threads = 2};
    b->farm.count = 1;
    farm_graph_make(&b->graph);
    *state = b;
    return 0;
}

static void open_context(struct bench *b)
{
    struct accel_context_options options = {.size = sizeof(options),
                                            .flags = ACCEL_CONTEXT_NO_PLUGINS | ACCEL_CONTEXT_NO_CACHE,
                                            .log = take_log,
                                            .log_data = b,
                                            .profile_path = b->folder};
    assert_int_equal(accel_context_create(&options, &b->context, &b->error), ACCEL_OK);
    assert_int_equal(accel_context_discover(b->context, &b->error), ACCEL_OK);
    if (accel_context_attach_driver(b->context, farm_driver(&b->farm), &b->error) != ACCEL_OK)
        fail_msg("%s", b->error.text);
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    accel_plan_free(b->plan);
    if (b->context)
        assert_int_equal(accel_context_free(b->context, &b->error), ACCEL_OK);
    accel_builder_free(b->graph.builder);
    profile_folder_remove(b->folder);
    free(b);
    return 0;
}

/* A plan with up to two settings, "key", "value" each. */
static int32_t create(struct bench *b, const char *device, const char *first, const char *first_value,
                      const char *second, const char *second_value)
{
    const struct accel_named_value given[] = {{first, first_value, "the test"}, {second, second_value, "the test"}};
    static const struct accel_named_value capability = {"device.capability", "75", "the test's device"};
    struct accel_plan_request request = {.size = sizeof(request),
                                         .device = device,
                                         .overrides = given,
                                         .override_count = (first != NULL) + (second != NULL),
                                         .model = &capability,
                                         .model_count = 1};
    accel_plan_free(b->plan);
    b->plan = NULL;
    accel_error_clear(&b->error);
    return accel_plan_create(b->context, &request, &b->plan, &b->error);
}

static int32_t plan_shapes(struct bench *b, uint32_t type)
{
    struct shapes shapes = small;
    struct owned_shapes s;
    int32_t code;
    shapes.type = type;
    shapes_make(&s, &shapes);
    accel_error_clear(&b->error);
    code = accel_plan_sketch(b->plan, &s.model, &b->error);
    shapes_free(&s);
    return code;
}

static void assert_error(const struct bench *b, const char *first, const char *second)
{
    if (strstr(b->error.text, first) == NULL || strstr(b->error.text, second) == NULL)
        fail_msg("%s", b->error.text);
    if (*b->error.remedy == '\0')
        fail_msg("no remedy: %s", b->error.text);
}

static void test_all_there(void **state)
{
    struct bench *b = *state;
    open_context(b);
    assert_int_equal(create(b, "farm:a", "weights.type", "f16", NULL, NULL), ACCEL_OK);
    assert_int_equal(plan_shapes(b, ACCEL_F16), ACCEL_OK);
    assert_int_equal(farm_place(b->plan, &b->graph, &b->error), ACCEL_OK);
    if (accel_plan_runnable(b->plan, &b->error) != ACCEL_OK)
        fail_msg("%s", b->error.text);
    assert_string_equal(b->log, "");
}

static void test_device(void **state)
{
    struct bench *b = *state;
    open_context(b);
    assert_int_equal(create(b, "farm:b", NULL, NULL, NULL, NULL), ACCEL_E_NOT_FOUND);
    assert_error(b, "farm:b", "there is no device");
    assert_null(b->plan);
    assert_int_equal(create(b, "farm:b", "fallback.device", "warn", NULL, NULL), ACCEL_OK);
    assert_non_null(strstr(b->log, "fallback=device from=farm:b to=farm:a"));
    assert_non_null(note_of(b->plan, "fallback.device", "farm:a stands in for farm:b: there is no device farm:b"));
    /* It is said with allow too, and after each of the steps that make notes anew. */
    b->log[0] = '\0';
    assert_int_equal(create(b, "farm:b", "fallback.device", "allow", NULL, NULL), ACCEL_OK);
    assert_string_equal(b->log, "");
    assert_int_equal(plan_shapes(b, ACCEL_F16), ACCEL_OK);
    assert_int_equal(farm_place(b->plan, &b->graph, &b->error), ACCEL_OK);
    assert_non_null(note_of(b->plan, "fallback.device", "fallback.device is allow"));
    assert_int_equal(create(b, "farm:a", "fallback.device", "allow", NULL, NULL), ACCEL_OK);
    assert_null(note_of(b->plan, "fallback.device", ""));
}

/* By kind, by id, from a list; what is software is no answer to a kind, and nothing is taken that was not named. */
static void test_device_choice(void **state)
{
    static const struct {
        const char *name, *found; /* NULL: none is */
    } rows[] = {
        {"gpu", "farm:c"}, {"npu", NULL},   {"cpu", "farm:a"},           {"other", "farm:d"},
        {"c", "farm:c"},   {"b", "farm:b"}, {"x,gpu", "farm:c"},         {"npu,c", "farm:c"},
        {"d,a", "farm:d"}, {"npu,x", NULL}, {"farm:z,farm:a", "farm:a"}, {"farm", "farm:a"},
        {",", NULL},       {"", NULL},      {"GPU", "farm:c"},           {"gp", NULL},
    };
    struct bench *b = *state;
    b->farm.devices[1] =
        (struct farm_device){.id = "b", .kind = ACCEL_DEVICE_GPU, .flags = ACCEL_DEVICE_SOFTWARE, .bytes = 1u << 30};
    b->farm.devices[2] = (struct farm_device){.id = "c", .kind = ACCEL_DEVICE_GPU, .bytes = 1u << 30};
    b->farm.devices[3] = (struct farm_device){.id = "d", .kind = ACCEL_DEVICE_OTHER, .bytes = 1u << 30};
    b->farm.count = 4;
    open_context(b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int32_t code = create(b, rows[i].name, NULL, NULL, NULL, NULL);
        if (code != (rows[i].found ? ACCEL_OK : ACCEL_E_NOT_FOUND))
            fail_msg("%s: %s", rows[i].name, b->error.text);
        if (rows[i].found)
            assert_string_equal(accel_plan_device(b->plan)->name, rows[i].found);
        else
            assert_error(b, "farm:a (cpu), farm:b (gpu, software), farm:c (gpu), farm:d (other)", rows[i].name);
    }
}

/* A profile that cannot be used leaves nobody to say which device is best: the one in front is no answer, and only a
 * name that fits no device of that profile is. */
static void test_device_unranked(void **state)
{
    static const struct {
        const char *name;
        int32_t code;
        const char *found;
    } rows[] = {
        {NULL, ACCEL_E_INVALID, NULL},   {"cpu", ACCEL_E_INVALID, NULL},         {"gpu,cpu", ACCEL_E_INVALID, NULL},
        {"farm", ACCEL_E_INVALID, NULL}, {"scripted", ACCEL_OK, "scripted:one"}, {"one", ACCEL_OK, "scripted:one"},
    };
    struct bench *b = *state;
    profile_folder_write(b->folder, "base.yaml",
                         "accel-profile: 1\nrules:\n"
                         "- {when: [driver.name == scripted], set: {device.rank: 9}, because: a test}\n");
    profile_folder_write(b->folder, "farm.yaml", "accel-profile: 1\ndefaults: {cpu.pinn: cores}\n");
    open_context(b);
    /* With no other device there is nothing to choose, and the plan says it of itself. */
    assert_int_equal(create(b, NULL, NULL, NULL, NULL, NULL), ACCEL_E_INVALID);
    assert_non_null(strstr(b->error.text, "farm.yaml:2:12: setting \"cpu.pinn\" is unknown"));
    assert_null(strstr(b->error.text, "cannot be ranked"));
    assert_int_equal(accel_context_attach_driver(b->context, scripted_driver(&b->script, 0), &b->error), ACCEL_OK);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (create(b, rows[i].name, NULL, NULL, NULL, NULL) != rows[i].code)
            fail_msg("%s: %s", rows[i].name ? rows[i].name : "none", b->error.text);
        if (rows[i].found)
            assert_string_equal(accel_plan_device(b->plan)->name, rows[i].found);
        else
            assert_non_null(strstr(b->error.text, "farm.yaml:2:12: setting \"cpu.pinn\" is unknown"));
    }
    assert_int_equal(create(b, NULL, NULL, NULL, NULL, NULL), ACCEL_E_INVALID);
    assert_error(b, "farm:a cannot be ranked", "farm.yaml:2:");
    assert_non_null(strstr(b->error.remedy, "--device"));
    assert_non_null(strstr(b->error.remedy, "scripted:one"));
    /* Nor does one stand in for a device that is not there. */
    assert_int_equal(create(b, "farm:b", "fallback.device", "allow", NULL, NULL), ACCEL_E_INVALID);
    assert_null(b->plan);
}

/* An operator, the type of K and V, and attention: the same answer of a driver, and a policy for each. */
static void test_nodes(void **state)
{
    static const struct {
        uint32_t op;
        const char *policy;
        const char *node;
    } rows[] = {{ACCEL_OP_CACHE_WRITE, "fallback.kv", "write"}, {ACCEL_OP_ATTENTION, "fallback.attention", "attend"}};
    struct bench *b = *state;
    open_context(b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        b->farm.op = rows[i].op;
        b->farm.answer = ACCEL_CLAIM_EMULATED;
        assert_int_equal(create(b, NULL, "fallback.operator", "allow", NULL, NULL), ACCEL_OK);
        assert_int_equal(farm_place(b->plan, &b->graph, &b->error), ACCEL_E_FALLBACK);
        assert_error(b, rows[i].node, "the test took it away");
        assert_non_null(strstr(b->error.remedy, rows[i].policy));
        assert_int_equal(create(b, NULL, rows[i].policy, "warn", NULL, NULL), ACCEL_OK);
        assert_int_equal(farm_place(b->plan, &b->graph, &b->error), ACCEL_OK);
        assert_non_null(strstr(b->log, rows[i].node));
        b->farm.answer = ACCEL_CLAIM_NO;
        assert_int_equal(farm_place(b->plan, &b->graph, &b->error), ACCEL_E_REFUSED);
        assert_error(b, rows[i].node, "does not run on farm:a");
    }
}

static void test_attention(void **state)
{
    struct bench *b = *state;
    profile_folder_write(
        b->folder, "base.yaml",
        "accel-profile: 1\nrules:\n- {set: {attention.capability: 80}, because: a rule of the test}\n");
    open_context(b);
    assert_int_equal(create(b, NULL, "attention.kernel", "tiled", NULL, NULL), ACCEL_OK);
    assert_int_equal(plan_shapes(b, ACCEL_F16), ACCEL_E_FALLBACK);
    assert_error(b, "attention.kernel=tiled", "capability 75 (the test's device)");
    assert_non_null(strstr(b->error.text, "base.yaml:3"));
    assert_non_null(strstr(b->error.text, "a rule of the test"));
    assert_int_equal(create(b, NULL, "attention.kernel", "tiled", "fallback.attention", "warn"), ACCEL_OK);
    assert_int_equal(plan_shapes(b, ACCEL_F16), ACCEL_OK);
    assert_non_null(note_of(b->plan, "fallback.attention", "eager, not tiled"));
    /* Left to the plan, it is eager and says why. */
    assert_int_equal(create(b, NULL, NULL, NULL, NULL, NULL), ACCEL_OK);
    assert_int_equal(plan_shapes(b, ACCEL_F16), ACCEL_OK);
    assert_string_equal(accel_plan_setting_find(b->plan, "attention.kernel")->value, "eager");
    assert_non_null(strstr(accel_plan_setting_find(b->plan, "attention.kernel")->reason, "capability 75"));
}

static void test_f16(void **state)
{
    struct bench *b = *state;
    b->farm.devices[0].lacks_f16 = 1;
    open_context(b);
    assert_int_equal(create(b, NULL, "weights.type", "f16", NULL, NULL), ACCEL_OK);
    assert_int_equal(plan_shapes(b, ACCEL_F32), ACCEL_E_FALLBACK);
    assert_error(b, "weights.type=f16", "farm:a do not read f16");
    assert_int_equal(create(b, NULL, "weights.type", "f16", "fallback.precision", "warn"), ACCEL_OK);
    assert_int_equal(plan_shapes(b, ACCEL_F32), ACCEL_OK);
    assert_string_equal(part_of(b->plan, "ffn.up")->type_name, "f32");
    assert_non_null(strstr(part_of(b->plan, "ffn.up")->reason, "fallback.precision is warn"));
    assert_non_null(note_of(b->plan, "fallback.precision", "weights stay f32, not f16"));
    /* Other forms of the same bits are no other precision: the device reads q4_0. */
    assert_int_equal(create(b, NULL, "weights.type", "q4", NULL, NULL), ACCEL_OK);
    assert_int_equal(plan_shapes(b, ACCEL_F32), ACCEL_OK);
    assert_string_equal(part_of(b->plan, "ffn.up")->type_name, "q4_0");
    assert_non_null(strstr(part_of(b->plan, "ffn.up")->reason, "reads q4_0, and no q4_g128"));
    assert_int_equal(create(b, NULL, "weights.type", "q4", "weights.group", "64"), ACCEL_OK);
    assert_int_equal(plan_shapes(b, ACCEL_F32), ACCEL_E_FALLBACK);
    assert_error(b, "weights.type=q4", "q4_g64");
    assert_int_equal(create(b, NULL, "weights.type", "q8", NULL, NULL), ACCEL_OK);
    assert_int_equal(plan_shapes(b, ACCEL_F32), ACCEL_E_FALLBACK);
    assert_error(b, "weights.type=q8", "q8_g128");
}

/* A type that the caller requests for one weight has to be one that the device reads. */
static void test_wanted_type(void **state)
{
    static const uint32_t types[] = {ACCEL_F16, ACCEL_Q4_0};
    struct bench *b = *state;
    b->farm.devices[0].lacks_f16 = 1;
    open_context(b);
    for (uint32_t i = 0; i < 2; i++) {
        struct shapes shapes = small;
        struct owned_shapes s;
        int32_t code;
        assert_int_equal(create(b, NULL, NULL, NULL, NULL, NULL), ACCEL_OK);
        shapes.type = ACCEL_F32;
        shapes_make(&s, &shapes);
        s.weights[0].wanted = types[i];
        accel_error_clear(&b->error);
        code = accel_plan_sketch(b->plan, &s.model, &b->error);
        shapes_free(&s);
        assert_int_equal(code, i == 0 ? ACCEL_E_INVALID : ACCEL_OK);
        assert_int_equal(strstr(b->error.text, "weight embedding: the device reads no type 0x") != NULL, i == 0);
    }
}

static void test_threads(void **state)
{
    struct bench *b = *state;
    open_context(b);
    assert_int_equal(create(b, NULL, "cpu.threads", "4096", NULL, NULL), ACCEL_E_FALLBACK);
    assert_non_null(strstr(b->error.text, ": cpu.threads=4096: "));
    assert_error(b, "4096", "threads");
    assert_int_equal(create(b, NULL, "cpu.threads", "4096", "fallback.threads", "warn"), ACCEL_OK);
    assert_non_null(strstr(b->log, "fallback=threads from=4096"));
    assert_non_null(note_of(b->plan, "fallback.threads", "of 4096 that were requested"));
}

static const struct accel_plan_unhonored *unhonored_of(const struct accel_plan *plan, const char *key)
{
    for (uint32_t i = 0; i < accel_plan_unhonored_count(plan); i++)
        if (strcmp(accel_plan_unhonored_get(plan, i)->key, key) == 0)
            return accel_plan_unhonored_get(plan, i);
    return NULL;
}

/* Settings that plans count with, and runs do not carry out. */
static void test_runnable(void **state)
{
    static const char *const rows[][2] = {
        {"compute.type", "f16"}, {"kv.enabled", "false"}, {"measure.folder", "x"},
        {"role.norm", "f16"},    {"vision.type", "q4"},   {"attention.kernel", "eager"},
    };
    static const char *const fine[][2] = {
        {"weights.type", "f16"}, {"placement", "auto"},     {"attention.kernel", "tiled"},
        {"compute.type", "f32"}, {"context", "64tok"},      {"memory.device", "1GiB"},
        {"sequences", "4"},      {"memory.device", "1MiB"}, {"memory.efficient", "true"},
    };
    struct bench *b = *state;
    open_context(b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(create(b, NULL, rows[i][0], rows[i][1], NULL, NULL), ACCEL_OK);
        assert_int_equal(plan_shapes(b, ACCEL_F16), ACCEL_OK);
        assert_int_equal(farm_place(b->plan, &b->graph, &b->error), ACCEL_OK);
        if (accel_plan_runnable(b->plan, &b->error) != ACCEL_E_UNSUPPORTED)
            fail_msg("%s was not refused", rows[i][0]);
        assert_error(b, rows[i][0], "the test");
        assert_int_equal(unhonored_of(b->plan, rows[i][0])->outcome, ACCEL_UNHONORED_REFUSED);
        /* A row is no note as well: a note of the key says something else. */
        assert_null(note_of(b->plan, rows[i][0], "refused by a run: "));
        accel_error_clear(&b->error);
    }
    for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
        assert_int_equal(create(b, NULL, fine[i][0], fine[i][1], NULL, NULL), ACCEL_OK);
        assert_int_equal(plan_shapes(b, ACCEL_F16), ACCEL_OK);
        assert_int_equal(farm_place(b->plan, &b->graph, &b->error), ACCEL_OK);
        if (accel_plan_runnable(b->plan, &b->error) != ACCEL_OK)
            fail_msg("%s", b->error.text);
    }
}

/* What profiles recommend and a run does not honor is noted, and the run goes on with the built-in value. */
static void test_recommended(void **state)
{
    static const char *const rows[][2] = {
        {"kv.enabled", "false"}, {"kernels.precompile", "false"}, {"attention.kernel", "eager"}, {"role.norm", "f16"},
        {"compute.type", "f16"}, {"weights.type", "f16"},         {"vision.type", "q4"},
    };
    struct bench *b = *state;
    char text[2000] = "accel-profile: 1\ndefaults:\n";
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "  %s: {value: %s, because: a test}\n", rows[i][0],
                 rows[i][1]);
    strcat(text, "later: [{set: {kernels.unroll: 4}, because: loops}]\n");
    profile_folder_write(b->folder, "farm.yaml", text);
    open_context(b);
    assert_int_equal(create(b, NULL, NULL, NULL, NULL, NULL), ACCEL_OK);
    assert_int_equal(plan_shapes(b, ACCEL_F16), ACCEL_OK);
    assert_int_equal(farm_place(b->plan, &b->graph, &b->error), ACCEL_OK);
    if (accel_plan_runnable(b->plan, &b->error) != ACCEL_OK)
        fail_msg("%s", b->error.text);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct accel_plan_unhonored *row = unhonored_of(b->plan, rows[i][0]);
        if (strcmp(rows[i][0], "weights.type") == 0) {
            assert_null(row);
            continue;
        }
        if (row == NULL)
            fail_msg("%s is not listed", rows[i][0]);
        assert_int_equal(row->outcome, ACCEL_UNHONORED_NOTED);
        assert_string_equal(row->value, rows[i][1]);
        assert_non_null(strstr(row->place, "farm.yaml:"));
        assert_true(*row->reason != '\0');
    }
    /* The value in force is the built-in one, with the recommended one among the overridden values. */
    assert_string_equal(accel_plan_setting_find(b->plan, "kv.enabled")->value, "true");
    assert_string_equal(accel_plan_setting_find(b->plan, "kv.enabled")->overridden[0].value, "false");
    /* What nothing honors yet is kept beside, and never in force. */
    assert_string_equal(accel_plan_setting_find(b->plan, "kernels.unroll")->value, "auto");
    assert_int_equal(unhonored_of(b->plan, "kernels.unroll")->outcome, ACCEL_UNHONORED_LATER);
    assert_string_equal(unhonored_of(b->plan, "kernels.unroll")->value, "4");
    assert_string_equal(unhonored_of(b->plan, "kernels.unroll")->reason, "webgpu driver");
    assert_string_equal(unhonored_of(b->plan, "kernels.unroll")->value_reason, "loops");
    assert_non_null(strstr(unhonored_of(b->plan, "kernels.unroll")->place, "farm.yaml:"));
    /* A recommended type never makes a weight larger than it is in the file; the user's may. */
    assert_int_equal(create(b, NULL, NULL, NULL, NULL, NULL), ACCEL_OK);
    assert_int_equal(plan_shapes(b, ACCEL_Q4_0), ACCEL_OK);
    assert_string_equal(part_of(b->plan, "ffn.up")->type_name, "q4_0");
    assert_non_null(
        strstr(unhonored_of(b->plan, "weights.type")->reason, "never makes weights larger: those in q4_0 stay so"));
    assert_int_equal(plan_shapes(b, ACCEL_F32), ACCEL_OK);
    assert_string_equal(part_of(b->plan, "ffn.up")->type_name, "f16");
    assert_null(unhonored_of(b->plan, "weights.type"));
    assert_int_equal(create(b, NULL, "weights.type", "f16", NULL, NULL), ACCEL_OK);
    assert_int_equal(plan_shapes(b, ACCEL_Q4_0), ACCEL_OK);
    assert_string_equal(part_of(b->plan, "ffn.up")->type_name, "f16");
    assert_null(unhonored_of(b->plan, "weights.type"));
    /* The user's value is refused where the recommended one was noted. */
    assert_int_equal(create(b, NULL, "kv.enabled", "false", NULL, NULL), ACCEL_OK);
    assert_int_equal(accel_plan_runnable(b->plan, &b->error), ACCEL_E_UNSUPPORTED);
    assert_error(b, "kv.enabled=false", "the test");
    assert_int_equal(unhonored_of(b->plan, "kv.enabled")->outcome, ACCEL_UNHONORED_REFUSED);
    assert_int_equal(accel_plan_is_recommended(b->plan, "kv.enabled"), 0);
    accel_error_clear(&b->error);
    assert_int_equal(accel_plan_decline(b->plan, "kv.enabled", "true", "a test", &b->error), ACCEL_E_INVALID);
}

/* What one shapes declines is in force again for the next: no group divides heads of 80 elements. */
static void test_sketch_declines(void **state)
{
    struct bench *b = *state;
    profile_folder_write(b->folder, "farm.yaml",
                         "accel-profile: 1\ndefaults:\n  kv.type.k: {value: q8, because: a test}\n");
    open_context(b);
    assert_int_equal(create(b, NULL, NULL, NULL, NULL, NULL), ACCEL_OK);
    for (int i = 0; i < 3; i++) {
        struct shapes shapes = small;
        struct owned_shapes s;
        shapes.head_size = i == 1 ? 80 : 64;
        shapes_make(&s, &shapes);
        if (accel_plan_sketch(b->plan, &s.model, &b->error) != ACCEL_OK)
            fail_msg("%s", b->error.text);
        shapes_free(&s);
        assert_string_equal(accel_plan_setting_find(b->plan, "kv.type.k")->value, i == 1 ? "f16" : "q8");
        assert_int_equal(unhonored_of(b->plan, "kv.type.k") != NULL, i == 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_device, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_device_choice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_device_unranked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nodes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_attention, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_f16, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wanted_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_runnable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_recommended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sketch_declines, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("plan_deny", tests, NULL, NULL);
}
