/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vulkan driver as an application meets it, on each Vulkan driver for CPUs that is installed and under the
 * validation layer where that is there: a weight that is larger than one binding, steps whose symbols change, modules
 * that share pipelines, and the options. What each operator computes is a matter of accel-conform.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/drivers/rig.h"

#define DRIVER "plugins/vulkan/.libs/vulkan.so"
#define MOST 9u

static const struct accel_matmul plain = {.size = sizeof(plain), .rounding = ACCEL_F32};

/* y[tokens, rows] = x[tokens, width] w^T */
struct product {
    struct net net;
    uint64_t rows;
    uint64_t width;
    float *w;
    float *x;
    double *want;
    struct rig_data data[2];
};

static void product_make(struct product *p, uint64_t rows, uint64_t width)
{
    struct rig_random random = {3};
    struct accel_dim dims[2];
    uint32_t tokens = 0, x, w, y;

    p->rows = rows;
    p->width = width;
    p->w = malloc(rows * width * sizeof(float));
    p->x = malloc(MOST * width * sizeof(float));
    p->want = calloc(MOST * rows, sizeof(double));
    assert_true(p->w != NULL && p->x != NULL && p->want != NULL);
    rig_fill(&random, p->w, rows * width);
    rig_fill(&random, p->x, MOST * width);
    for (uint64_t t = 0; t < MOST; t++)
        for (uint64_t r = 0; r < rows; r++)
            for (uint64_t i = 0; i < width; i++)
                p->want[t * rows + r] += (double)p->x[t * width + i] * p->w[r * width + i];
    p->data[0] = (struct rig_data){"x", {p->x}, {MOST * width * sizeof(float)}};
    p->data[1] = (struct rig_data){"w", {p->w}, {rows * width * sizeof(float)}};

    net_begin(&p->net, "product");
    rig_ok(accel_builder_symbol(p->net.builder, "tokens", 1, MOST, &tokens, &p->net.error), &p->net.error);
    dims[0] = rig_symbol(tokens), dims[1] = rig_dim(width);
    x = net_value(&p->net, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 2, dims);
    dims[0] = rig_dim(rows);
    w = net_value(&p->net, ACCEL_ROLE_WEIGHT, "w", ACCEL_F32, 2, dims);
    y = net_node(&p->net, ACCEL_OP_MATMUL, "product", (uint32_t[]){x, w, ACCEL_NO_VALUE, ACCEL_NO_VALUE}, 4, &plain);
    net_output(&p->net, y, "y");
    net_end(&p->net);
}

static void product_free(struct product *p)
{
    net_free(&p->net);
    free(p->w);
    free(p->x);
    free(p->want);
}

static void check_step(struct product *p, struct rig_step *step, uint64_t tokens)
{
    char what[64];

    snprintf(what, sizeof(what), "%u tokens", (unsigned)tokens);
    memset(rig_step_value(step, "y"), 0xff, p->rows * sizeof(float));
    rig_step_run(step, &tokens);
    rig_close_enough(what, rig_step_value(step, "y"), p->want, tokens * p->rows, 4e-6 * sqrt((double)p->width), 0);
}

static bool have_layer(void)
{
    return access("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json", R_OK) == 0;
}

static void open_rig(struct rig *rig, const char *features)
{
    struct accel_named_value given[] = {
        {"vulkan.cache", "off", "test"},
        {"vulkan.features", features, "test"},
        {"vulkan.validation", have_layer() ? "true" : "false", "test"},
    };

    rig_open(rig, DRIVER, "vulkan", given, 3);
}

static void a_weight_may_be_larger_than_a_binding(void **state)
{
    static struct product p;
    struct rig_step step;
    struct rig rig;
    uint64_t most = MOST;

    (void)state;
    product_make(&p, 33001, 1100); /* 138 MiB: more than the 128 MiB that lavapipe binds */
    open_rig(&rig, "auto");
    rig_step_make(&rig, &step, p.net.graph, p.data, 2, &most, 1, 0);
    check_step(&p, &step, 1);
    check_step(&p, &step, 2);
    rig_step_free(&step);
    rig_close(&rig);
    product_free(&p);
}

static void steps_of_other_symbols(void **state)
{
    static const uint64_t tokens[] = {1, 1, 9, 1, 4, 4, 5, 9, 2, 1};
    static struct product p;
    struct rig_step first, second;
    struct rig rig;
    uint64_t most = MOST;

    (void)state;
    product_make(&p, 70, 96);
    for (uint32_t poor = 0; poor < 2; poor++) {
        open_rig(&rig, poor ? "none" : "auto");
        rig_step_make(&rig, &first, p.net.graph, p.data, 2, &most, 2, 0);
        rig_step_make(&rig, &second, p.net.graph, p.data, 2, &most, 1, 0);
        for (size_t i = 0; i < sizeof(tokens) / sizeof(*tokens); i++) {
            check_step(&p, &first, tokens[i]);
            check_step(&p, &second, tokens[sizeof(tokens) / sizeof(*tokens) - 1 - i]);
        }
        rig_step_free(&first);
        rig_step_free(&second);
        rig_close(&rig);
    }
    product_free(&p);
}

static void kernels_are_kept_on_disk(void **state)
{
    static struct product p;
    char folder[] = "/tmp/accel-vulkan-XXXXXX";
    char command[64];
    uint64_t most = MOST;

    (void)state;
    assert_non_null(mkdtemp(folder));
    product_make(&p, 40, 64);
    for (uint32_t round = 0; round < 2; round++) {
        struct accel_named_value given = {"vulkan.cache", folder, "test"};
        struct rig_step step;
        struct rig rig;

        rig_open(&rig, DRIVER, "vulkan", &given, 1);
        rig_step_make(&rig, &step, p.net.graph, p.data, 2, &most, 2, 0);
        check_step(&p, &step, 3);
        rig_step_free(&step);
        rig_close(&rig);
        snprintf(command, sizeof(command), "ls %s/vulkan-* >/dev/null", folder);
        assert_int_equal(system(command), 0);
    }
    product_free(&p);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    static const char *const icds[] = {
        "/usr/share/vulkan/icd.d/lvp_icd.json",
        "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json",
        "/usr/lib/chromium/vk_swiftshader_icd.json",
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_weight_may_be_larger_than_a_binding),
        cmocka_unit_test(steps_of_other_symbols),
        cmocka_unit_test(kernels_are_kept_on_disk),
    };
    int failed = 0;
    uint32_t ran = 0;

    setenv("XDG_RUNTIME_DIR", "/tmp", 0); /* Mesa complains without one */
    /* Newer validation layers (1.4.309) check what shaders access only with this setting. */
    setenv("VK_KHRONOS_VALIDATION_SYNCVAL_SHADER_ACCESSES_HEURISTIC", "1", 0);
    for (size_t i = 0; i < sizeof(icds) / sizeof(*icds); i++) {
        if (access(icds[i], R_OK) != 0)
            continue;
        setenv("VK_ICD_FILENAMES", icds[i], 1);
        failed += cmocka_run_group_tests_name(icds[i], tests, NULL, NULL);
        ran++;
    }
    if (ran == 0)
        puts("no Vulkan driver for CPUs is installed: skipped");
    return ran == 0 ? 77 : failed != 0;
}
