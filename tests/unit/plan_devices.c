/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placement over two devices with memory of their own, the processors, and devices that a profile describes.
 *
 * The model, in f16: table of tokens 1000 x 256 x 2 = 512,000 bytes; a layer 2 x 256 x 4 + (2 x 256 x 256 + 2 x 128 x
 * 256
 * + 3 x 512 x 256) x 2 = 1,181,696; after them 256 x 4 + 512,000 = 513,024. With 64 tokens a layer caches
 * 2 x 2 x 64 x 2 x 64 = 32,768. A device that is used needs 565,664 for itself: activations 64 x 8 + 1000 x 4 = 4,512,
 * scratch 64 x (2 x 256 + 2 x 512) x 4 + 4 x 64 x (64 + 64) x 4 = 524,288, program (4 x 16 + 8) x 512 = 36,864.
 */
#include "config.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/registry/registry.h"
#include "tests/unit/plan_farm.h"
#include "tests/unit/profile_folder.h"
#include "tests/unit/shapes_support.h"

#define TABLE 512000u
#define LAYER 1181696u
#define TAIL 513024u
#define CACHE 32768u
#define OVERHEAD 565664u

struct bench {
    struct farm farm;
    struct farm_graph graph;
    struct accel_context *context;
    struct accel_plan *plan;
    struct accel_error error;
    char *folder;
};

static const struct shapes small = {4, 256, 512, 4, 2, 64, 1000, ACCEL_F16};

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    assert_non_null(b);
    b->folder = profile_folder_create();
    profile_folder_write(
        b->folder, "base.yaml",
        "accel-profile: 1\nrules:\n- {when: [device.kind == gpu], set: {device.rank: 9}, because: a test}\n");
    profile_folder_write(b->folder, "big.yaml", "accel-profile: 1\n");
    profile_folder_write(b->folder, "devices/pair.yaml",
                         "accel-profile: 1\nfacts:\n  device.memory: {value: 4MB, because: a test}\n"
                         "  device.count: {value: 2, because: a test}\n");
    b->farm.devices[0] = (struct farm_device){.id = "cpu", .kind = ACCEL_DEVICE_CPU, .bytes = 1ull << 34};
    b->farm.devices[1] = (struct farm_device){.id = "a", .kind = ACCEL_DEVICE_GPU, .bytes = 4000000};
    b->farm.devices[2] = (struct farm_device){.id = "b", .kind = ACCEL_DEVICE_GPU, .bytes = 4000000};
    b->farm.count = 3;
    farm_graph_make(&b->graph);
    *state = b;
    return 0;
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

static void open_context(struct bench *b, uint64_t first, uint64_t second)
{
    struct accel_context_options options = {
        .size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS | ACCEL_CONTEXT_NO_CACHE, .profile_path = b->folder};
    b->farm.devices[1].bytes = first;
    b->farm.devices[2].bytes = second;
    assert_int_equal(accel_context_create(&options, &b->context, &b->error), ACCEL_OK);
    assert_int_equal(accel_context_discover(b->context, &b->error), ACCEL_OK);
    if (accel_context_attach_driver(b->context, farm_driver(&b->farm), &b->error) != ACCEL_OK)
        fail_msg("%s", b->error.text);
}

static int32_t make(struct bench *b, const char *platform, const char *device, const char *placement,
                    const char *offload)
{
    const struct accel_named_value given[] = {{"placement", placement, "the test"},
                                              {"offload.layers", offload, "the test"},
                                              {"context", "64tok", "the test"}};
    struct accel_plan_request request = {
        .size = sizeof(request), .platform = platform, .device = device, .overrides = given, .override_count = 3};
    struct owned_shapes s;
    int32_t code;
    accel_plan_free(b->plan);
    b->plan = NULL;
    accel_error_clear(&b->error);
    if (accel_plan_create(b->context, &request, &b->plan, &b->error) != ACCEL_OK)
        fail_msg("%s", b->error.text);
    shapes_make(&s, &small);
    code = accel_plan_sketch(b->plan, &s.model, &b->error);
    shapes_free(&s);
    return code;
}

/** A row that is wanted. */
struct row {
    uint32_t first;
    uint32_t last;
    const char *device;
    uint64_t weights;
    uint64_t state;
};

static void assert_rows(const struct bench *b, const struct row *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct accel_plan_layer *row = accel_plan_layer_get(b->plan, i);
        if (row == NULL)
            fail_msg("row %u is missing", i);
        if (row->first != rows[i].first || row->last != rows[i].last || strcmp(row->device, rows[i].device) != 0 ||
            row->weight_bytes != rows[i].weights || row->state_bytes != rows[i].state)
            fail_msg("row %u: layers %u to %u on %s, %llu + %llu bytes", i, row->first, row->last, row->device,
                     (unsigned long long)row->weight_bytes, (unsigned long long)row->state_bytes);
    }
    assert_int_equal(accel_plan_layer_count(b->plan), count);
}

static void assert_fit(const struct bench *b, uint64_t needed, uint64_t budget, uint64_t short_by)
{
    struct accel_plan_fit fit = {.size = sizeof(fit)};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < accel_plan_memory_count(b->plan); i++)
        sum += accel_plan_memory_get(b->plan, i)->bytes;
    assert_int_equal(sum, needed);
    assert_int_equal(accel_plan_fit(b->plan, &fit, NULL), ACCEL_OK);
    assert_int_equal(fit.needed, needed);
    assert_int_equal(fit.budget, budget);
    assert_int_equal(fit.short_by, short_by);
    assert_int_equal(fit.fits, short_by == 0);
}

/* All bytes but the overhead, and the host's 39 weights x 512. */
#define SPREAD (TABLE + 4ull * (LAYER + CACHE) + TAIL)
#define HOST (39u * 512u)

static void test_single(void **state)
{
    static const struct row rows[] = {{ACCEL_NO_LAYER, ACCEL_NO_LAYER, "farm:a", TABLE, 0},
                                      {0, 3, "farm:a", 4 * LAYER, 4 * CACHE},
                                      {ACCEL_NO_LAYER, ACCEL_NO_LAYER, "farm:a", TAIL, 0}};
    struct bench *b = *state;
    open_context(b, 4000000, 4000000);
    assert_int_equal(make(b, NULL, NULL, "single", "0"), ACCEL_OK);
    assert_rows(b, rows, 3);
    assert_fit(b, SPREAD + OVERHEAD + HOST, 4000000, SPREAD + OVERHEAD + HOST - 4000000);
    assert_non_null(memory_row(b->plan, ACCEL_MEMORY_WEIGHTS));
    /* The processors use the file where it is mapped. */
    assert_int_equal(make(b, NULL, "farm:cpu", "single", "0"), ACCEL_OK);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_MAPPED)->bytes, TABLE + 4 * LAYER + TAIL);
    assert_int_equal(memory_row(b->plan, ACCEL_MEMORY_MAPPED)->lower, 4 * LAYER + TAIL);
}

/* 4,000,000 bytes have room for 3,434,336: the table and two layers (2,940,928), not three. */
static void test_auto(void **state)
{
    static const struct row rows[] = {{ACCEL_NO_LAYER, ACCEL_NO_LAYER, "farm:a", TABLE, 0},
                                      {0, 1, "farm:a", 2 * LAYER, 2 * CACHE},
                                      {2, 3, "farm:b", 2 * LAYER, 2 * CACHE},
                                      {ACCEL_NO_LAYER, ACCEL_NO_LAYER, "farm:b", TAIL, 0}};
    struct bench *b = *state;
    struct accel_plan *stage, *part;
    uint32_t nodes = 0;
    open_context(b, 4000000, 4000000);
    assert_int_equal(make(b, NULL, NULL, "auto", "0"), ACCEL_OK);
    assert_rows(b, rows, 4);
    assert_fit(b, SPREAD + 2 * OVERHEAD + HOST, 8000000, 0);
    assert_non_null(note_of(b->plan, "placement", "farm:b takes 3.35 MiB of 3.81 MiB"));
    /* The graph of each device is for a stage: the plan has no device that runs all. */
    assert_int_equal(farm_place(b->plan, &b->graph, &b->error), ACCEL_E_INVALID);
    accel_error_clear(&b->error);
    assert_fit(b, SPREAD + 2 * OVERHEAD + HOST, 8000000, 0);
    assert_int_equal(accel_plan_runnable(b->plan, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_merge_stages(b->plan, &b->error), ACCEL_E_INVALID);
    accel_error_clear(&b->error);
    assert_int_equal(accel_plan_add_stage(b->plan, "farm:c", &stage, &b->error), ACCEL_E_NOT_FOUND);
    for (uint32_t i = 0; i < 3; i++) {
        accel_error_clear(&b->error);
        assert_int_equal(accel_plan_add_stage(b->plan, i == 1 ? "farm:b" : "farm:a", &stage, &b->error), ACCEL_OK);
        assert_string_equal(accel_plan_device(stage)->name, i == 1 ? "farm:b" : "farm:a");
        assert_int_equal(accel_plan_merge_stages(b->plan, &b->error), ACCEL_E_INVALID);
        assert_int_equal(farm_place(stage, &b->graph, &b->error), ACCEL_OK);
        nodes += accel_plan_node_count(stage);
        assert_int_equal(accel_plan_add_stage(stage, "farm:a", &part, &b->error), ACCEL_E_INVALID);
    }
    accel_error_clear(&b->error);
    assert_int_equal(accel_plan_merge_stages(b->plan, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_node_count(b->plan), nodes);
    assert_int_equal(accel_plan_node_get(b->plan, nodes - 1)->graph, 2);
}

/* 2,000,000 have room for 1,434,336: the table, one layer, and the processors take the rest. */
static void test_auto_spills(void **state)
{
    static const struct row rows[] = {{ACCEL_NO_LAYER, ACCEL_NO_LAYER, "farm:a", TABLE, 0},
                                      {0, 0, "farm:b", LAYER, CACHE},
                                      {1, 3, "farm:cpu", 3 * LAYER, 3 * CACHE},
                                      {ACCEL_NO_LAYER, ACCEL_NO_LAYER, "farm:cpu", TAIL, 0}};
    struct bench *b = *state;
    open_context(b, 2000000, 2000000);
    assert_int_equal(make(b, NULL, NULL, "auto", "0"), ACCEL_OK);
    assert_rows(b, rows, 4);
}

/* Rooms 5,434,336 and 2,434,336 of 7,868,672; 5,882,880 bytes to place. The first share ends at 4,062,893, and the
 * middle of the last layer lies at 4,762,624. */
static void test_balanced(void **state)
{
    static const struct row rows[] = {{ACCEL_NO_LAYER, ACCEL_NO_LAYER, "farm:a", TABLE, 0},
                                      {0, 2, "farm:a", 3 * LAYER, 3 * CACHE},
                                      {3, 3, "farm:b", LAYER, CACHE},
                                      {ACCEL_NO_LAYER, ACCEL_NO_LAYER, "farm:b", TAIL, 0}};
    struct bench *b = *state;
    open_context(b, 6000000, 3000000);
    assert_int_equal(make(b, NULL, NULL, "balanced", "0"), ACCEL_OK);
    assert_rows(b, rows, 4);
    assert_fit(b, SPREAD + 2 * OVERHEAD + HOST, 9000000, 0);
}

/* By hand, also where it does not fit: 3 layers and the tail are 4,156,416 + 565,664, over 4,000,000 by 722,080. */
static void test_map(void **state)
{
    static const struct row rows[] = {{ACCEL_NO_LAYER, ACCEL_NO_LAYER, "farm:b", TABLE, 0},
                                      {0, 0, "farm:b", LAYER, CACHE},
                                      {1, 3, "farm:a", 3 * LAYER, 3 * CACHE},
                                      {ACCEL_NO_LAYER, ACCEL_NO_LAYER, "farm:a", TAIL, 0}};
    struct bench *b = *state;
    open_context(b, 4000000, 4000000);
    assert_int_equal(make(b, NULL, NULL, "0=farm:b,1-3=farm:a", "0"), ACCEL_OK);
    assert_rows(b, rows, 4);
    assert_fit(b, SPREAD + 2 * OVERHEAD + HOST, 8000000, 722080);
    assert_non_null(note_of(b->plan, "placement", "too much"));
}

static void test_bad_maps(void **state)
{
    static const struct {
        const char *map;
        int32_t code;
        const char *words;
    } rows[] = {
        {"0-2=farm:a", ACCEL_E_INVALID, "the last layers are missing"},
        {"0-4=farm:a", ACCEL_E_INVALID, "fewer layers"},
        {"1-3=farm:a", ACCEL_E_INVALID, "in order"},
        {"0-1=farm:a,1-3=farm:b", ACCEL_E_INVALID, "in order"},
        {"2-0=farm:a", ACCEL_E_INVALID, "in order"},
        {"0-3", ACCEL_E_INVALID, "a device is missing"},
        {"0-3=", ACCEL_E_INVALID, "a device is missing"},
        {"0-3=farm:a,", ACCEL_E_INVALID, "comma"},
        {"all=farm:a", ACCEL_E_INVALID, "a layer is missing"},
        {"0-3=farm:c", ACCEL_E_NOT_FOUND, "farm:c"},
        {"99999999999999999999-3=farm:a", ACCEL_E_INVALID, "in order"},
    };
    struct bench *b = *state;
    open_context(b, 4000000, 4000000);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(make(b, NULL, NULL, rows[i].map, "0"), rows[i].code);
        if (strstr(b->error.text, rows[i].words) == NULL || *b->error.remedy == '\0')
            fail_msg("%s: %s", rows[i].map, b->error.text);
        assert_int_equal(accel_plan_layer_count(b->plan), 0);
    }
}

/* What comes after the layers goes where the last of them lies: there has to be one. */
static void test_map_without_layers(void **state)
{
    struct bench *b = *state;
    const struct accel_named_value given = {"placement", "", "the test"};
    const struct accel_plan_request request = {.size = sizeof(request), .overrides = &given, .override_count = 1};
    const struct accel_sketch_weight weight = {
        sizeof(weight), ACCEL_NO_LAYER, "filter", "vision", "conv", ACCEL_F16, 0, 64, 64};
    const struct accel_sketch_component component = {.size = sizeof(component), .name = "vision"};
    const struct accel_sketch sketch = {.size = sizeof(sketch),
                                        .weight_count = 1,
                                        .component_count = 1,
                                        .weights = &weight,
                                        .components = &component,
                                        .origin = "the test"};
    open_context(b, 4000000, 4000000);
    assert_int_equal(accel_plan_create(b->context, &request, &b->plan, &b->error), ACCEL_OK);
    assert_int_equal(accel_plan_sketch(b->plan, &sketch, &b->error), ACCEL_E_INVALID);
    assert_non_null(strstr(b->error.text, "the model has no layers"));
}

static void test_offload(void **state)
{
    static const struct row rows[] = {{ACCEL_NO_LAYER, ACCEL_NO_LAYER, "farm:a", TABLE, 0},
                                      {0, 1, "farm:a", 2 * LAYER, 2 * CACHE},
                                      {2, 3, "farm:cpu", 2 * LAYER, 2 * CACHE},
                                      {ACCEL_NO_LAYER, ACCEL_NO_LAYER, "farm:a", TAIL, 0}};
    struct bench *b = *state;
    open_context(b, 4100000, 4000000);
    assert_int_equal(make(b, NULL, NULL, "single", "2"), ACCEL_OK);
    assert_rows(b, rows, 4);
    assert_int_equal(make(b, NULL, NULL, "single", "5"), ACCEL_E_INVALID);
    assert_non_null(strstr(b->error.text, "offload.layers=5"));
}

static void test_no_processors(void **state)
{
    struct bench *b = *state;
    b->farm.devices[0] = b->farm.devices[1];
    b->farm.devices[0].id = "c";
    open_context(b, 4000000, 4000000);
    assert_int_equal(make(b, NULL, "farm:a", "single", "2"), ACCEL_E_NOT_FOUND);
    assert_non_null(strstr(b->error.text, "offload.layers=2"));
}

/* Two devices that a profile describes, of which none is here. */
static void test_described(void **state)
{
    static const struct row rows[] = {{ACCEL_NO_LAYER, ACCEL_NO_LAYER, "big:0", TABLE, 0},
                                      {0, 1, "big:0", 2 * LAYER, 2 * CACHE},
                                      {2, 3, "big:1", 2 * LAYER, 2 * CACHE},
                                      {ACCEL_NO_LAYER, ACCEL_NO_LAYER, "big:1", TAIL, 0}};
    struct bench *b = *state;
    open_context(b, 4000000, 4000000);
    assert_int_equal(make(b, "big", "pair", "balanced", "0"), ACCEL_OK);
    assert_rows(b, rows, 4);
    assert_fit(b, SPREAD + 2 * OVERHEAD + HOST, 8000000, 0);
    assert_int_equal(make(b, "big", "pair", "0-3=big:1", "0"), ACCEL_OK);
    assert_string_equal(accel_plan_layer_get(b->plan, 1)->device, "big:1");
    /* A platform of which a device is here uses it; one of another driver is refused. */
    assert_int_equal(make(b, "farm", NULL, "single", "0"), ACCEL_OK);
    assert_string_equal(accel_plan_device(b->plan)->name, "farm:a");
    assert_int_equal(make(b, "farm", "farm:b", "single", "0"), ACCEL_OK);
    assert_string_equal(accel_plan_device(b->plan)->name, "farm:b");
}

/* Keys of a layer are 64 slots of 2 x 64 x 2 = 256 bytes, 16,384 in all; each layer is held against its own device. */
static void test_limits(void **state)
{
    struct bench *b = *state;
    b->farm.devices[2].binding = 16383;
    open_context(b, 4000000, 4000000);
    assert_int_equal(make(b, NULL, NULL, "single", "0"), ACCEL_OK);
    assert_int_equal(make(b, NULL, NULL, "auto", "0"), ACCEL_E_LIMIT);
    assert_string_equal(b->error.text, "the keys of layer 2 (language) have 64 slots of 256 bytes, 16384 in all, and "
                                       "device farm:b binds no more than 16383 at a time");
    assert_non_null(strstr(b->error.remedy, "63 slots would do"));
    assert_int_equal(accel_plan_layer_count(b->plan), 0);
}

static void test_limit_is_met(void **state)
{
    struct bench *b = *state;
    b->farm.devices[2].binding = 16384;
    open_context(b, 4000000, 4000000);
    assert_int_equal(make(b, NULL, NULL, "auto", "0"), ACCEL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_single, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_auto, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_auto_spills, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_balanced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_map, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_maps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_map_without_layers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_offload, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_processors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_described, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limit_is_met, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("plan_devices", tests, NULL, NULL);
}
