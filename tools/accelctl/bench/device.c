/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the memory bandwidth of a device that has queues of its own: its driver copies one buffer to another,
 * again and again. The bandwidth of the host's memory is no limit of such a device. */
#include "config.h"

#include <stdio.h>

#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/machine.h"
#include "tools/accelctl/bench/rows.h"

enum { COPIES = 16, ROUNDS_LEAST = 3, ROUNDS_MOST = 15 };

#define BYTES_MOST ((uint64_t)256 << 20)
#define BYTES_LEAST ((uint64_t)1 << 20)
/* Duration of one round: long compared with a submit. */
#define ROUND_SECONDS 0.02

struct copier {
    struct accel_queue *queue;
    struct accel_buffer *from;
    struct accel_buffer *to;
    uint64_t bytes;
};

/* Returns the size of each of two buffers: a sixteenth of the device's memory at most, as it may be host memory. */
static uint64_t bytes_of(const struct accel_facts *facts)
{
    uint64_t bytes = BYTES_MOST;

    if (facts->heap_count > 0 && facts->heaps[0].bytes / 16 < bytes)
        bytes = facts->heaps[0].bytes / 16;
    if (facts->limits->buffer_bytes < bytes)
        bytes = facts->limits->buffer_bytes;
    return bytes / 4096 * 4096;
}

/* Measures the seconds of `count` copies in one submit, at most COPIES. */
static int32_t copy(const struct copier *copier, uint32_t count, double *out_seconds, struct accel_error *error)
{
    const struct accel_step step = {.size = sizeof(step),
                                    .kind = ACCEL_STEP_COPY,
                                    .source = copier->from,
                                    .target = copier->to,
                                    .bytes = copier->bytes};
    const struct accel_step *list[COPIES];
    const double begun = measure_seconds();
    uint64_t value = 0;
    int32_t code;

    for (uint32_t i = 0; i < count; i++)
        list[i] = &step;
    code = accel_queue_submit(copier->queue, list, count, NULL, 0, &value, error);
    if (code == ACCEL_OK)
        code = accel_queue_wait(copier->queue, value, UINT64_MAX, error);
    *out_seconds = measure_seconds() - begun;
    return code;
}

static int32_t time_copies(const struct copier *copier, uint32_t rounds, struct measure_spread *out_rate,
                           struct accel_error *error)
{
    double rates[ROUNDS_MOST], seconds = 0;
    uint32_t count = 1, done = 0;
    /* The first copy touches the memory; the time of the second one determines how many copies make a round. */
    int32_t code = copy(copier, 1, &seconds, error);

    if (code == ACCEL_OK)
        code = copy(copier, 1, &seconds, error);
    while (count < COPIES && count * seconds < ROUND_SECONDS)
        count++;
    for (; code == ACCEL_OK && done < rounds; done++) {
        code = copy(copier, count, &seconds, error);
        rates[done] = seconds > 0 ? 2.0 * (double)copier->bytes * count / seconds : 0;
    }
    if (code == ACCEL_OK)
        measure_spread(rates, done, out_rate);
    return code;
}

void bench_device_measure(struct bench *bench, struct accel_device *device, const struct accel_facts *facts)
{
    struct bench_machine *machine = &bench->machine;
    struct copier copier = {.bytes = bytes_of(facts)};
    struct accel_error error = {0};
    int32_t code = ACCEL_OK;

    machine->is_device = facts->limits->queues != 0;
    if (!machine->is_device)
        return;
    progress_next(&bench->progress, "measuring the device");
    if (copier.bytes < BYTES_LEAST)
        code = accel_error_set(&error, ACCEL_E_LIMIT, "its buffers have less than a MiB");
    if (code == ACCEL_OK)
        code = accel_queue_create(device, NULL, &copier.queue, &error);
    if (code == ACCEL_OK)
        code = accel_buffer_create(device, copier.bytes, 0, &copier.from, &error);
    if (code == ACCEL_OK)
        code = accel_buffer_create(device, copier.bytes, 0, &copier.to, &error);
    if (code == ACCEL_OK)
        code = time_copies(&copier, bench_rounds(bench, ROUNDS_LEAST, ROUNDS_MOST), &machine->device_copy, &error);
    machine->device_bytes = (double)copier.bytes;
    if (code != ACCEL_OK)
        snprintf(machine->device_reason, sizeof(machine->device_reason), "%.150s", error.text);
    accel_queue_free(copier.queue);
    accel_buffer_free(copier.from);
    accel_buffer_free(copier.to);
}
