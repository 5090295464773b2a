/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a step costs beside the driver's work: accel_set_run of a set whose driver does nothing, and a submit with its
 * wait. Prints nanoseconds per step, the best of several rounds. Bound by a few loads and two atomic exchanges.
 */
#include <stdio.h>

#include "core/base/clock.h"
#include "tests/mock/direct.h"
#include "tests/unit/device_support.h"

#define ROUNDS 20
#define STEPS 200000

struct subject {
    struct accel_set *set;
    struct accel_queue *queue;
    uint64_t tokens;
};

static void run_once(struct subject *subject)
{
    struct accel_error error;
    error.code = ACCEL_OK;
    if (accel_set_run(subject->set, &subject->tokens, &error) != ACCEL_OK)
        exit(1);
}

static void submit_once(struct subject *subject)
{
    struct accel_step step = {
        .size = sizeof(step), .kind = ACCEL_STEP_RUN, .set = subject->set, .symbols = &subject->tokens};
    const struct accel_step *list = &step;
    uint64_t value = 0;
    if (accel_queue_submit(subject->queue, &list, 1, NULL, 0, &value, NULL) != ACCEL_OK ||
        accel_queue_wait(subject->queue, value, UINT64_MAX, NULL) != ACCEL_OK)
        exit(1);
}

static double measure(struct subject *subject, void (*step)(struct subject *subject))
{
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t begin = accel_clock_ns();
        double each;
        for (int i = 0; i < STEPS; i++)
            step(subject);
        each = (double)(accel_clock_ns() - begin) / STEPS;
        if (each < best)
            best = each;
    }
    return best;
}

int main(void)
{
    struct accel_context *context = context_with(&direct_driver);
    struct accel_device *device = NULL;
    struct accel_module *module = NULL;
    struct accel_weights *weights = NULL;
    struct accel_buffer *buffers[2] = {NULL, NULL};
    struct subject subject = {.tokens = 1};
    struct sum_graph sum;
    struct sum_source source;
    struct accel_bind binds[2];
    const uint64_t most[1] = {8};
    const struct accel_graph *graphs[1];
    direct.noop = 1;
    sum_graph_make(&sum);
    sum_source_make(&source, 0);
    graphs[0] = sum.graph;
    if (accel_device_open(context, "direct", NULL, 0, &device, NULL) != ACCEL_OK ||
        accel_module_create(device, graphs, 1, NULL, NULL, NULL, &module, NULL) != ACCEL_OK ||
        accel_weights_create(module, &source.source, NULL, &weights, NULL) != ACCEL_OK ||
        accel_queue_create(device, NULL, &subject.queue, NULL) != ACCEL_OK ||
        accel_buffer_create(device, 128, 0, &buffers[0], NULL) != ACCEL_OK ||
        accel_buffer_create(device, 128, 0, &buffers[1], NULL) != ACCEL_OK)
        return 1;
    binds[0] = (struct accel_bind){.value = sum.x, .buffer = buffers[0]};
    binds[1] = (struct accel_bind){.value = sum.y, .buffer = buffers[1]};
    if (accel_set_create(module, 0, subject.queue, most, binds, 2, weights, &subject.set, NULL) != ACCEL_OK)
        return 1;
    printf("accel_set_run, empty step       %7.1f ns\n", measure(&subject, run_once));
    printf("submit and wait, empty step     %7.1f ns\n", measure(&subject, submit_once));
    accel_set_free(subject.set);
    accel_queue_free(subject.queue);
    accel_buffer_free(buffers[0]);
    accel_buffer_free(buffers[1]);
    accel_weights_free(weights);
    accel_module_free(module);
    accel_device_free(device);
    accel_builder_free(sum.builder);
    return accel_context_free(context, NULL) == ACCEL_OK ? 0 : 1;
}
