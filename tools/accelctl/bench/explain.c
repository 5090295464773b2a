/* SPDX-License-Identifier: Apache-2.0 */
/* Prints which kernel a device runs for each operator, without running it: what its driver claims for the shapes. */
#include "config.h"

#include <stdbool.h>

#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/operator.h"

/* Gets the driver's claim for an operator's node. */
static int32_t claim(struct accel_context *context, const struct accel_plan_request *request,
                     const struct bench_operator *what, struct accel_plan **out_plan, struct accel_error *error)
{
    struct accel_builder *builder = NULL;
    const struct accel_graph *graphs[1] = {NULL};
    int32_t code = bench_graph(what, &builder, &graphs[0], error);

    if (code == ACCEL_OK)
        code = accel_plan_create(context, request, out_plan, error);
    if (code == ACCEL_OK) {
        const uint64_t *const symbols[1] = {NULL};
        const struct accel_plan_work work = {
            .size = sizeof(work), .graph_count = 1, .graphs = graphs, .symbols = symbols};

        code = accel_plan_assign_graphs(*out_plan, &work, error);
    }
    accel_builder_free(builder);
    return code;
}

int bench_operator_explain(struct bench *bench, struct accel_context *context, const struct accel_plan_request *request,
                           const struct bench_operator *what)
{
    const bool is_json = bench->chosen->common.json;
    const struct accel_plan_node *node = NULL;
    struct accel_plan *plan = NULL;
    struct accel_error error = {.code = ACCEL_OK};
    char name[64];
    int code = -1;

    bench_operator_name(what, name, sizeof(name));
    if (claim(context, request, what, &plan, &error) == ACCEL_OK)
        node = accel_plan_node_get(plan, 0);
    /* A shape that a type does not have is an entry of the list, as it is a note of a measurement. */
    if (node == NULL && error.code != ACCEL_E_REFUSED && error.code != ACCEL_E_FALLBACK &&
        (error.code != ACCEL_E_INVALID || error.origin == ACCEL_FROM_SETTING))
        code = report_session_error(is_json, &error);
    else if (is_json)
        json_add(bench->explained,
                 json_pack("{s:s, s:s, s:s, s:I, s:s}", "name", name, "device", node == NULL ? "" : node->device,
                           "kernel", node == NULL ? "" : node->kernel, "variant",
                           (json_int_t)(node == NULL ? 0 : node->variant), "reason",
                           node == NULL ? error.text : node->reason));
    else
        print("%-36s %s\n", name, node == NULL ? error.text : node->kernel);
    accel_plan_free(plan);
    return code;
}
