/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiling the kernels of a module over a compute API in host memory: it says how far it is, stops when it is told to,
 * and what it has made by then is written to the cache, at the end and meanwhile.
 */
#include "config.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include <accel/builder.h>

#include "sdk/gpu/internal.h"
#include "tests/drivers/gpu_fake.h"

#define KERNELS 4u

/* The functions of a chain of activations: a kernel each. */
static const uint32_t functions[KERNELS] = {ACCEL_FN_RELU, ACCEL_FN_SILU, ACCEL_FN_TANH, ACCEL_FN_SIGMOID};

struct rig {
    struct accel_task task; /* first */
    struct fake fake;
    struct accel_builder *builder;
    const struct accel_graph *graph;
    struct accel_driver_instance *instance;
    struct accel_driver_device *device;
    struct accel_driver_module *module;
    struct accel_error error;
    uint64_t asked;   /* times that progress was told */
    uint64_t done;    /* what it was told last */
    uint64_t total;   /* the same */
    uint64_t stop_at; /* the number that it answers ACCEL_E_CANCELLED to, UINT64_MAX: none */
    char folder[64];
};

static int32_t progress(const struct accel_task *task, uint64_t done, uint64_t total)
{
    struct rig *rig = (struct rig *)(uintptr_t)task;

    rig->asked++;
    assert_true(done >= rig->done && done <= total);
    rig->done = done;
    rig->total = total;
    return done >= rig->stop_at ? ACCEL_E_CANCELLED : ACCEL_OK;
}

/* Three seconds go by between two looks at it. */
static int32_t fast_clock(const struct accel_host *host, uint64_t *out_nanoseconds)
{
    static _Atomic uint64_t now;

    (void)host;
    *out_nanoseconds = atomic_fetch_add(&now, UINT64_C(3000000000));
    return ACCEL_OK;
}

static void build(struct rig *rig)
{
    const struct accel_dim dim = {.add = 64};
    struct accel_activation activation = {.size = sizeof(activation)};
    char name[16];
    uint32_t x = 0;

    assert_int_equal(accel_builder_create("chain", &rig->builder, NULL), ACCEL_OK);
    assert_int_equal(accel_builder_value(rig->builder, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 1, &dim, &x, NULL), ACCEL_OK);
    for (uint32_t f = 0; f < KERNELS; f++) {
        uint32_t input = x;

        activation.function = functions[f];
        snprintf(name, sizeof(name), "f%u", f);
        assert_int_equal(accel_builder_node(rig->builder, ACCEL_OP_ACTIVATION, name, &input, 1, &activation, &x, NULL),
                         ACCEL_OK);
    }
    assert_int_equal(accel_builder_output(rig->builder, x, "y", NULL), ACCEL_OK);
    assert_int_equal(accel_builder_finish(rig->builder, &rig->graph, NULL), ACCEL_OK);
}

static void rig_begin(struct rig *rig)
{
    struct accel_setting setting = {.name = "cache", .text = rig->folder};

    memset(rig, 0, sizeof(*rig));
    snprintf(rig->folder, sizeof(rig->folder), "/tmp/accel-compile-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    fake_init(&rig->fake);
    rig->task = (struct accel_task){.size = sizeof(rig->task), .progress = progress, .team = &stub_team1};
    rig->stop_at = UINT64_MAX;
    build(rig);
    assert_int_equal(gpu_attach(&fake_api, &rig->fake.stub.host, ACCEL_ABI_MINOR, &rig->instance, NULL), ACCEL_OK);
    assert_int_equal(rig->instance->table->open(rig->instance, "fake0", &setting, 1, &rig->device, NULL), ACCEL_OK);
}

static int32_t compile(struct rig *rig)
{
    return rig->device->table->compile(rig->device, &rig->graph, 1, NULL, NULL, NULL, &rig->task, &rig->module,
                                       &rig->error);
}

static int forget(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static void rig_end(struct rig *rig)
{
    if (rig->module != NULL)
        rig->module->table->free(rig->module);
    assert_int_equal(rig->device->table->close(rig->device, NULL), ACCEL_OK);
    assert_int_equal(rig->instance->table->detach(rig->instance, NULL), ACCEL_OK);
    accel_builder_free(rig->builder);
    fake_end(&rig->fake);
    assert_int_equal(nftw(rig->folder, forget, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void tells_how_far_it_is(void **state)
{
    struct rig rig;

    (void)state;
    rig_begin(&rig);
    assert_int_equal(compile(&rig), ACCEL_OK);
    assert_int_equal(rig.fake.compiled, KERNELS);
    assert_true(rig.asked > KERNELS);
    assert_int_equal(rig.done, KERNELS);
    assert_int_equal(rig.total, KERNELS);
    assert_int_equal(rig.fake.written, 1);
    rig_end(&rig);
}

/* After each number of kernels: nothing is lost, and what was made is in the cache. */
static void stops_when_it_is_told_to(void **state)
{
    const struct accel_team *const teams[] = {&stub_team1, &stub_team4};

    (void)state;
    for (uint32_t c = 0; c < 2; c++) {
        for (uint32_t n = 0; n < KERNELS; n++) {
            struct rig rig;

            rig_begin(&rig);
            rig.task.team = teams[c];
            rig.stop_at = n;
            /* Other threads may have been done before the one that asks. */
            assert_int_equal(compile(&rig), ACCEL_E_CANCELLED);
            assert_null(rig.module);
            assert_non_null(strstr(rig.error.text, "stopped"));
            if (c == 0)
                assert_int_equal(rig.fake.compiled, n);
            assert_int_equal(rig.fake.pipelines, 0);
            assert_int_equal(rig.fake.compiled_when_written, rig.fake.compiled);
            assert_int_equal(rig.fake.written, rig.fake.compiled != 0);
            rig_end(&rig);
        }
    }
}

/* A process that is ended in the midst of it has lost what took the last seconds alone. */
static void keeps_meanwhile(void **state)
{
    struct rig rig;

    (void)state;
    rig_begin(&rig);
    rig.fake.stub.host.clock = fast_clock;
    assert_int_equal(compile(&rig), ACCEL_OK);
    assert_int_equal(rig.fake.written, KERNELS);
    assert_int_equal(rig.fake.compiled_when_written, KERNELS);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_how_far_it_is),
        cmocka_unit_test(stops_when_it_is_told_to),
        cmocka_unit_test(keeps_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
