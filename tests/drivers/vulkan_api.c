/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lower half of the vulkan driver, on each Vulkan driver for CPUs that is installed, under the validation layer
 * where that is there: memory, pipelines, lists, queues, and what happens when something is missing.
 */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "plugins/vulkan/vulkan.h"
#include "tests/drivers/stub.h"

#define COUNT 1000u
#define BYTES (COUNT * 4u)

static const uint32_t add_code[] = {
#include "tests/drivers/vulkan_add.inc"
};

static const struct gpu_source add_source = {
    .name = "add", .constants = "GROUP SCALE", .defines = "", .code = add_code, .bytes = sizeof(add_code)};

/* An installed driver of Vulkan; tests of it are skipped where its file is not there. */
struct icd {
    const char *name;
    const char *file;
};

struct bench {
    struct stub stub;
    struct gpu_runtime runtime;
    struct gpu_device *device;
    struct gpu_limits limits;
    struct accel_error error;
    char id[40];
    bool validation;
};

static void ok(int32_t code, const struct accel_error *error)
{
    if (code != ACCEL_OK)
        fail_msg("%d: %s", code, error->text);
}

/* ---- a device ---- */

static struct accel_facts last_facts;
static struct accel_limits last_limits;
static char last_id[40];
static uint32_t devices;

static int32_t take_device(const struct accel_device_sink *sink, const struct accel_facts *facts,
                           struct accel_error *error)
{
    (void)sink, (void)error;
    if (devices++ == 0) {
        last_facts = *facts;
        last_limits = *facts->limits;
        snprintf(last_id, sizeof(last_id), "%s", facts->id);
    }
    return ACCEL_OK;
}

static int32_t take_verdict(const struct accel_device_sink *sink, int32_t hardware, int32_t code, const char *text,
                            const char *remedy, struct accel_error *error)
{
    (void)sink, (void)hardware, (void)code, (void)text, (void)remedy, (void)error;
    return ACCEL_OK;
}

static const struct accel_device_sink sink = {
    .size = sizeof(sink),
    .device = take_device,
    .verdict = take_verdict,
};

static bool have_layer(void)
{
    return access("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json", R_OK) == 0;
}

static int32_t open_device(struct bench *bench, const char *features)
{
    struct accel_setting settings[] = {
        {.name = "validation", .integer = bench->validation},
        {.name = "features", .text = features},
    };

    return vulkan_open(&bench->runtime, bench->id, settings, 2, &bench->device, &bench->limits, &bench->error);
}

static void bench_open(struct bench *bench)
{
    memset(bench, 0, sizeof(*bench));
    stub_init(&bench->stub);
    bench->validation = have_layer();
    ok(vulkan_runtime_open(&bench->stub.host, false, &bench->runtime, &bench->error), &bench->error);
    devices = 0;
    ok(vulkan_enumerate(&bench->runtime, NULL, 0, &sink, &bench->error), &bench->error);
    assert_true(devices > 0);
    snprintf(bench->id, sizeof(bench->id), "%s", last_id);
    ok(open_device(bench, "auto"), &bench->error);
}

static void bench_close(struct bench *bench)
{
    struct accel_error error = {0};

    ok(vulkan_validated(bench->device, &error), &error);
    vulkan_close(bench->device);
    vulkan_runtime_close(&bench->runtime);
    assert_int_equal(bench->stub.blocks, 0);
}

/* ---- one computation ---- */

struct work {
    struct gpu_memory *upload, *from, *between, *to, *download;
    struct gpu_pipeline *pipeline;
    struct gpu_list *list;
    struct gpu_queue *queue;
    struct gpu_dispatch dispatches[2];
};

static int32_t make(struct bench *bench, struct work *work, uint32_t barrier)
{
    struct gpu_device *device = bench->device;
    struct gpu_key key = {.source = &add_source, .constants = {64, 3}, .constant_count = 2, .bindings = 2, .words = 4};
    struct accel_error *error = &bench->error;
    int32_t code = vulkan_memory_create(device, BYTES, GPU_MEMORY_UPLOAD, &work->upload, error);

    if (code == ACCEL_OK)
        code = vulkan_memory_create(device, BYTES, GPU_MEMORY_DEVICE, &work->from, error);
    if (code == ACCEL_OK)
        code = vulkan_memory_create(device, BYTES, GPU_MEMORY_DEVICE, &work->between, error);
    if (code == ACCEL_OK)
        code = vulkan_memory_create(device, BYTES, GPU_MEMORY_DEVICE, &work->to, error);
    if (code == ACCEL_OK)
        code = vulkan_memory_create(device, BYTES, GPU_MEMORY_DOWNLOAD, &work->download, error);
    if (code == ACCEL_OK)
        code = vulkan_pipeline_create(device, &key, &work->pipeline, error);
    if (code != ACCEL_OK)
        return code;
    work->dispatches[0] = (struct gpu_dispatch){
        .pipeline = work->pipeline,
        .ranges = {{work->from, 0, BYTES}, {work->between, 0, BYTES}},
        .words = {0, 0, COUNT, 5},
        .range_count = 2,
        .word_count = 4,
        .groups = {(COUNT + 63) / 64, 1, 1},
    };
    work->dispatches[1] = work->dispatches[0];
    work->dispatches[1].ranges[0].memory = work->between;
    work->dispatches[1].ranges[1].memory = work->to;
    work->dispatches[1].barrier = barrier;
    code = vulkan_list_create(device, work->dispatches, 2, &work->list, error);
    return code == ACCEL_OK ? vulkan_queue_create(device, &work->queue, error) : code;
}

static void unmake(struct bench *bench, struct work *work)
{
    struct gpu_memory *memories[] = {work->upload, work->from, work->between, work->to, work->download};

    if (work->list != NULL)
        vulkan_list_free(work->list);
    if (work->queue != NULL)
        vulkan_queue_free(work->queue);
    if (work->pipeline != NULL)
        vulkan_pipeline_free(bench->device, work->pipeline);
    for (size_t i = 0; i < sizeof(memories) / sizeof(*memories); i++)
        vulkan_memory_free(bench->device, memories[i]);
}

static void step(struct bench *bench, struct work *work, uint64_t value, uint32_t addend)
{
    struct gpu_operation operations[] = {
        {.kind = GPU_FILL, .fill = 0xee, .target = work->to, .bytes = BYTES},
        {.kind = GPU_COPY, .source = work->upload, .target = work->from, .bytes = BYTES},
        {.kind = GPU_RUN, .list = work->list},
        {.kind = GPU_COPY, .source = work->to, .target = work->download, .bytes = BYTES},
    };
    uint32_t *in = vulkan_memory_address(work->upload);
    const uint32_t *out = vulkan_memory_address(work->download);
    uint64_t done = 0;

    for (uint32_t i = 0; i < COUNT; i++)
        in[i] = i + (uint32_t)value;
    ok(vulkan_submit(work->queue, operations, 4, NULL, 0, value, &bench->error), &bench->error);
    ok(vulkan_wait(work->queue, value, UINT64_MAX, &bench->error), &bench->error);
    ok(vulkan_completed(work->queue, &done, &bench->error), &bench->error);
    assert_int_equal(done, value);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(out[i], ((i + (uint32_t)value) * 3 + addend) * 3 + addend);
}

/* ---- tests ---- */

static void facts_are_whole(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    assert_true(last_limits.binding_bytes >= (uint64_t)128 << 20);
    assert_true(last_limits.buffer_bytes > 0);
    assert_true(bench.limits.alignment >= 4 && (bench.limits.alignment & (bench.limits.alignment - 1)) == 0);
    assert_true(bench.limits.group_items >= 128);
    if (vulkan_is_software(&bench.device->physical)) {
        assert_true((last_facts.flags & ACCEL_DEVICE_SOFTWARE) != 0);
        assert_true((last_facts.flags & ACCEL_DEVICE_UNIFIED) != 0);
        assert_int_equal(last_facts.hardware, -1);
    }
    bench_close(&bench);
}

static void lists_run_and_are_recorded_again(void **state)
{
    struct bench bench;
    struct work work = {0};

    (void)state;
    bench_open(&bench);
    ok(make(&bench, &work, 1), &bench.error);
    for (uint64_t value = 1; value <= 2 * VULKAN_IN_FLIGHT; value++)
        step(&bench, &work, value, 5);
    work.dispatches[0].words[3] = 7;
    work.dispatches[1].words[3] = 7;
    ok(vulkan_list_record(work.list, &bench.error), &bench.error);
    step(&bench, &work, 100, 7);
    unmake(&bench, &work);
    bench_close(&bench);
}

static void queues_wait_for_each_other(void **state)
{
    struct bench bench;
    struct work work = {0};
    struct gpu_queue *other = NULL;
    struct gpu_point points[GPU_WAITS];
    struct gpu_operation run;
    struct gpu_operation copy;
    uint64_t now;

    (void)state;
    bench_open(&bench);
    ok(make(&bench, &work, 1), &bench.error);
    ok(vulkan_queue_create(bench.device, &other, &bench.error), &bench.error);
    memset(vulkan_memory_address(work.upload), 0, BYTES);
    step(&bench, &work, 1, 5);
    run = (struct gpu_operation){.kind = GPU_RUN, .list = work.list};
    copy = (struct gpu_operation){.kind = GPU_COPY, .source = work.to, .target = work.download, .bytes = BYTES};
    ok(vulkan_submit(work.queue, &run, 1, NULL, 0, 2, &bench.error), &bench.error);
    for (uint32_t i = 0; i < GPU_WAITS; i++)
        points[i] = (struct gpu_point){work.queue, 2};
    ok(vulkan_submit(other, &copy, 1, points, 1, 9, &bench.error), &bench.error);
    ok(vulkan_wait(other, 9, UINT64_MAX, &bench.error), &bench.error);
    ok(vulkan_submit(other, &copy, 1, points, GPU_WAITS, 10, &bench.error), &bench.error);
    ok(vulkan_wait(other, 10, UINT64_MAX, &bench.error), &bench.error);
    bench.stub.host.clock(&bench.stub.host, &now);
    assert_int_equal(vulkan_wait(other, 11, now + 1000000, &bench.error), ACCEL_E_TIMEOUT);
    vulkan_queue_free(other);
    unmake(&bench, &work);
    bench_close(&bench);
}

static void a_missing_barrier_is_found(void **state)
{
    struct bench bench;
    struct work work = {0};
    bool found;

    (void)state;
    bench_open(&bench);
    found = make(&bench, &work, 0) == ACCEL_E_INTERNAL && strstr(bench.error.text, "HAZARD") != NULL;
    unmake(&bench, &work);
    vulkan_close(bench.device);
    vulkan_runtime_close(&bench.runtime);
    if (!bench.validation)
        skip(); /* no validation layer */
    assert_true(found);
}

static void allocations_fail(void **state)
{
    struct bench bench;
    uint32_t n;

    (void)state;
    bench_open(&bench);
    for (n = 1; n < 100; n++) {
        struct work work = {0};
        int32_t code;

        memset(&bench.error, 0, sizeof(bench.error));
        bench.stub.calls = 0;
        bench.stub.fail_at = n;
        code = make(&bench, &work, 1);
        bench.stub.fail_at = 0;
        unmake(&bench, &work);
        if (code == ACCEL_OK)
            break;
        assert_int_equal(code, ACCEL_E_MEMORY);
    }
    assert_in_range(n, 6, 20);
    bench_close(&bench);
}

static void memory_ends_and_is_given_back(void **state)
{
    struct bench bench;
    struct gpu_memory *parts[64] = {NULL};
    struct gpu_memory *huge;
    struct accel_memory_now before, after;

    (void)state;
    bench_open(&bench);
    assert_int_equal(vulkan_memory_create(bench.device, (uint64_t)1 << 50, GPU_MEMORY_DEVICE, &huge, &bench.error),
                     ACCEL_E_MEMORY);
    assert_null(huge);
    assert_true(bench.error.asked == (uint64_t)1 << 50);
    memset(&bench.error, 0, sizeof(bench.error));
    ok(vulkan_memory_now(bench.device, &before, &bench.error), &bench.error);
    assert_true(before.total > 0 && before.free <= before.total);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = round; i < 64; i += round + 1)
            if (parts[i] == NULL)
                ok(vulkan_memory_create(bench.device, 4 + i * 40000, GPU_MEMORY_DEVICE, &parts[i], &bench.error),
                   &bench.error);
        for (uint32_t i = 0; i < 64; i++) {
            uint32_t *words = parts[i] != NULL ? vulkan_memory_address(parts[i]) : NULL;

            if (words != NULL)
                words[0] = words[i * 10000] = i;
        }
        for (uint32_t i = 0; i < 64; i++) {
            uint32_t *words = parts[i] != NULL ? vulkan_memory_address(parts[i]) : NULL;

            if (words != NULL)
                assert_true(words[0] == i && words[i * 10000] == i);
        }
        for (uint32_t i = 0; i < 64; i += round + 2) {
            vulkan_memory_free(bench.device, parts[i]);
            parts[i] = NULL;
        }
    }
    for (uint32_t i = 0; i < 64; i++)
        vulkan_memory_free(bench.device, parts[i]);
    ok(vulkan_memory_now(bench.device, &after, &bench.error), &bench.error);
    assert_true(atomic_load(&bench.device->used) == 0);
    bench_close(&bench);
}

/* ---- pipelines on disk ---- */

struct kept {
    struct accel_blob_writer writer;
    unsigned char bytes[1 << 20];
    uint64_t count;
};

static int32_t keep(const struct accel_blob_writer *writer, const void *bytes, uint64_t count,
                    struct accel_error *error)
{
    struct kept *kept = (struct kept *)(uintptr_t)writer;

    (void)error;
    assert_true(kept->count + count <= sizeof(kept->bytes));
    memcpy(kept->bytes + kept->count, bytes, count);
    kept->count += count;
    return ACCEL_OK;
}

/* A device that has compiled nothing writes what others did, and drops what is no use. */
static void others_stay(struct bench *bench, struct kept *kept)
{
    struct kept *again = calloc(1, sizeof(*again));
    uint64_t alone;

    again->writer = kept->writer;
    ok(vulkan_cache_write(bench->device, "nothing", 7, &again->writer, &bench->error), &bench->error);
    alone = again->count;
    again->count = 0;
    ok(vulkan_cache_write(bench->device, kept->bytes, kept->count, &again->writer, &bench->error), &bench->error);
    assert_true(again->count >= alone && again->count >= kept->count);
    free(again);
}

static void pipelines_are_kept(void **state)
{
    struct bench bench;
    struct work work = {0};
    struct kept *kept = calloc(1, sizeof(*kept));
    uint8_t first[16], second[16];

    (void)state;
    kept->writer = (struct accel_blob_writer){.size = sizeof(kept->writer), .write = keep};
    bench_open(&bench);
    ok(make(&bench, &work, 1), &bench.error);
    ok(vulkan_cache_write(bench.device, NULL, 0, &kept->writer, &bench.error), &bench.error);
    vulkan_fingerprint(bench.device, first);
    unmake(&bench, &work);
    bench_close(&bench);

    bench_open(&bench);
    vulkan_fingerprint(bench.device, second);
    assert_memory_equal(first, second, 16);
    if (kept->count >= 32) {
        others_stay(&bench, kept);
        ok(vulkan_cache_read(bench.device, kept->bytes, kept->count, &bench.error), &bench.error);
        kept->bytes[20] ^= 1;
        assert_int_equal(vulkan_cache_read(bench.device, kept->bytes, kept->count, NULL), ACCEL_E_MISS);
    }
    assert_int_equal(vulkan_cache_read(bench.device, kept->bytes, 7, NULL), ACCEL_E_MISS);
    memset(&work, 0, sizeof(work));
    ok(make(&bench, &work, 1), &bench.error);
    step(&bench, &work, 1, 5);
    unmake(&bench, &work);
    bench_close(&bench);
    free(kept);
}

static void features_can_be_left_out(void **state)
{
    struct bench bench;
    struct work work = {0};
    struct gpu_device *rich;

    (void)state;
    bench_open(&bench);
    rich = bench.device;
    ok(open_device(&bench, "none"), &bench.error);
    assert_int_equal(bench.limits.features & ~GPU_FEATURE_SOFTWARE, 0);
    ok(make(&bench, &work, 1), &bench.error);
    step(&bench, &work, 1, 5);
    unmake(&bench, &work);
    vulkan_close(rich);
    bench_close(&bench);
}

static void what_is_not_there_is_named(void **state)
{
    struct bench bench;
    struct gpu_runtime runtime;
    struct gpu_device *device;
    char *files = getenv("VK_ICD_FILENAMES");
    char *saved = files != NULL ? strdup(files) : NULL;

    (void)state;
    bench_open(&bench);
    assert_int_equal(vulkan_open(&bench.runtime, "gpu77", NULL, 0, &device, &bench.limits, &bench.error),
                     ACCEL_E_NOT_FOUND);
    assert_null(device);
    assert_non_null(strstr(bench.error.text, "gpu77"));
    memset(&bench.error, 0, sizeof(bench.error));
    setenv("VK_ICD_FILENAMES", "/nowhere/none.json", 1);
    assert_int_equal(vulkan_runtime_open(&bench.stub.host, false, &runtime, &bench.error), ACCEL_E_NOT_FOUND);
    assert_int_equal(bench.error.native, VK_ERROR_INCOMPATIBLE_DRIVER);
    assert_true(bench.error.remedy[0] != '\0');
    if (saved != NULL)
        setenv("VK_ICD_FILENAMES", saved, 1);
    free(saved);
    bench_close(&bench);
}

int main(void)
{
    static const struct icd icds[] = {
        {"lavapipe", "/usr/share/vulkan/icd.d/lvp_icd.json"},
        {"lavapipe", "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"},
        {"SwiftShader", "/usr/lib/chromium/vk_swiftshader_icd.json"},
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_whole),
        cmocka_unit_test(lists_run_and_are_recorded_again),
        cmocka_unit_test(queues_wait_for_each_other),
        cmocka_unit_test(a_missing_barrier_is_found),
        cmocka_unit_test(allocations_fail),
        cmocka_unit_test(memory_ends_and_is_given_back),
        cmocka_unit_test(pipelines_are_kept),
        cmocka_unit_test(features_can_be_left_out),
        cmocka_unit_test(what_is_not_there_is_named),
    };
    int failed = 0;
    uint32_t ran = 0;

    setenv("XDG_RUNTIME_DIR", "/tmp", 0); /* Mesa complains without one */
    /* Newer validation layers (1.4.309) check what shaders access only with this setting. */
    setenv("VK_KHRONOS_VALIDATION_SYNCVAL_SHADER_ACCESSES_HEURISTIC", "1", 0);
    for (size_t i = 0; i < sizeof(icds) / sizeof(*icds); i++) {
        if (access(icds[i].file, R_OK) != 0)
            continue;
        setenv("VK_ICD_FILENAMES", icds[i].file, 1);
        printf("# on %s\n", icds[i].name);
        failed += cmocka_run_group_tests_name(icds[i].name, tests, NULL, NULL);
        ran++;
    }
    if (ran == 0)
        puts("no Vulkan driver for CPUs is installed: skipped");
    return ran == 0 ? 77 : failed != 0;
}
