/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/drivers/cpu.h"

#include <stdio.h>
#include <time.h>

struct rig_random cpu_random;

void cpu_seed(void)
{
    const char *given = getenv("ACCEL_TEST_SEED");

    cpu_random.state = given == NULL ? (uint64_t)time(NULL) : strtoull(given, NULL, 10);
    print_message("seed: ACCEL_TEST_SEED=%llu\n", (unsigned long long)cpu_random.state);
}

uint32_t cpu_open(struct rig *rig, uint32_t isa)
{
    return cpu_open_with(rig, isa, "rows");
}

uint32_t cpu_open_with(struct rig *rig, uint32_t isa, const char *layout)
{
    static const char *const names[CPU_TEST_ISAS] = {"scalar", "avx2", "avxvnni", "avx512", "avx512bf16",
                                                     "amx",    "neon", "dotprod", "i8mm"};
    const struct accel_named_value options[] = {{.key = "cpu.isa", .value = names[isa], .origin = "test"},
                                                {.key = "cpu.layout", .value = layout, .origin = "test"}};
    int32_t code;

    rig_open(rig, "plugins/cpu/.libs/cpu.so", NULL, NULL, 0);
    code = accel_device_open(rig->context, "cpu:cpu0", options, 2, &rig->device, &rig->error);
    if (code == ACCEL_OK) {
        print_message("at cpu.isa=%s:\n", names[isa]);
        return 1;
    }
    if (code != ACCEL_E_UNSUPPORTED || strstr(rig->error.text, names[isa]) == NULL || rig->error.remedy[0] == '\0')
        fail_msg("%s: %s", accel_error_name(code), rig->error.text);
    print_message("left out: %s\n", rig->error.text);
    accel_error_clear(&rig->error);
    rig_close(rig);
    return 0;
}

float *cpu_floats(uint64_t count)
{
    float *values = malloc(count * sizeof(*values));

    assert_non_null(values);
    rig_fill(&cpu_random, values, count);
    return values;
}

/* The tolerance of the last node of the graph, as the plan states it; 0 where it is exact. */
static double stated(struct rig *rig, const struct net *net)
{
    struct accel_plan_request request = {.size = sizeof(request), .device = "cpu"};
    struct accel_plan_work work = {.size = sizeof(work), .graph_count = 1, .graphs = &net->graph};
    const uint64_t none = 1, *symbols = &none;
    struct accel_plan *plan = NULL;
    double tolerance;

    work.symbols = &symbols;
    rig_ok(accel_plan_create(rig->context, &request, &plan, &rig->error), &rig->error);
    rig_ok(accel_plan_assign_graphs(plan, &work, &rig->error), &rig->error);
    tolerance = accel_plan_node_get(plan, net->graph->node_count - 1)->tolerance;
    accel_plan_free(plan);
    return tolerance;
}

void cpu_compare(struct rig *rig, const struct net *net, const struct rig_data *data, uint32_t data_count,
                 uint32_t threads, uint64_t slots, const char *what, const double *want, uint64_t count, double scale)
{
    const uint64_t none = 0;
    struct rig_step step;

    rig_step_make(rig, &step, net->graph, data, data_count, &none, threads, slots);
    rig_step_run(&step, &none);
    rig_close_enough(what, rig_step_value(&step, "y"), want, count, stated(rig, net), scale);
    rig_step_free(&step);
}
