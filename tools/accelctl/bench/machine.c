/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the limits of the machine in the run that is compared with them, with the same threads and processors. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <accel/quant/format.h>

#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/machine.h"
#include "tools/accelctl/bench/rows.h"

enum { ROUNDS_LEAST = 2, ROUNDS_MOST = 15 };

/* Duration of one run of a sequence: long compared with the start of threads, short for the user. */
#define PEAK_SECONDS 0.02

void bench_machine_threads(struct bench_machine *machine, const struct accel_plan *plan)
{
    uint32_t threads = 1;

    accel_plan_processor(plan, 0, &threads);
    machine->threads = threads < 1 ? 1 : threads > MEASURE_THREADS ? MEASURE_THREADS : threads;
    for (uint32_t r = 0; r < machine->threads; r++)
        machine->processors[r] = accel_plan_processor(plan, r, &threads);
}

/* Returns how many multiply-adds of a sequence one product of such a kind needs; 0 if the sums would not be exact.
 * If x may be rounded to 8 bits, it may be rounded to BF16, which is finer, and so may weights of 8 bits or fewer. */
static double takes(const struct measure_sequence *sequence, enum bench_products products)
{
    static const uint32_t bits[BENCH_PRODUCTS] = {
        [BENCH_INT8] = 8, [BENCH_INT8_ROW] = 8, [BENCH_INT6] = 6, [BENCH_INT5] = 5, [BENCH_INT4] = 4};

    if (sequence->kind == MEASURE_F32)
        return 1;
    if (sequence->kind == MEASURE_BF16)
        return products == BENCH_F32 ? 0 : products == BENCH_F16 ? 2 : 1;
    if (sequence->kind == MEASURE_INT8_ROW)
        return products == BENCH_INT8_ROW;
    return bits[products] != 0 && sequence->bits >= bits[products] ? 1 : 0;
}

static void choose_best(struct bench_machine *machine)
{
    for (uint32_t p = 0; p < BENCH_PRODUCTS; p++)
        for (uint32_t i = 0; i < machine->sequence_count; i++) {
            const struct bench_sequence *one = &machine->sequences[i];
            const double each = takes(one->sequence, p), rate = each > 0 ? one->rate.most / each : 0;

            if (rate > machine->rate[p]) {
                machine->best[p] = one;
                machine->rate[p] = rate;
            }
        }
}

static int report_system_error(struct bench *bench, int wrong)
{
    return report_error_format(bench->chosen->common.json, EXIT_FAILED, "ACCEL_E_SYSTEM",
                               wrong == EAGAIN   ? PROCESSES_REMEDY
                               : wrong == ENOMEM ? MEMORY_REMEDY
                                                 : NULL,
                               "measuring the machine on %u threads: %s", bench->machine.threads, strerror(wrong));
}

int bench_machine_measure(struct bench *bench)
{
    struct bench_machine *machine = &bench->machine;
    int wrong;

    progress_next(&bench->progress, "measuring the memory");
    wrong = measure_memory(machine->threads, machine->processors, bench_rounds(bench, ROUNDS_LEAST, ROUNDS_MOST),
                           progress_update, &bench->progress, &machine->memory);
    if (wrong == EINTR) {
        bench->interrupted = 1;
        return -1;
    }
    progress_next(&bench->progress, "measuring the processors");
    for (uint32_t i = 0; wrong == 0 && measure_sequence_get(i) != NULL; i++) {
        const struct measure_sequence *sequence = measure_sequence_get(i);
        struct bench_sequence *one = &machine->sequences[machine->sequence_count];

        if (progress_update(&bench->progress, i + 1, BENCH_SEQUENCES) != 0) {
            bench->interrupted = 1;
            return -1;
        }
        if (!sequence->is_here() || machine->sequence_count == BENCH_SEQUENCES)
            continue;
        one->sequence = sequence;
        wrong = measure_peak(sequence, machine->threads, machine->processors,
                             bench_rounds(bench, ROUNDS_LEAST, ROUNDS_MOST), PEAK_SECONDS, &one->rate);
        machine->sequence_count++;
    }
    if (wrong != 0)
        return report_system_error(bench, wrong);
    choose_best(machine);
    machine->measured = 1;
    return -1;
}

int bench_machine_measure_device(struct bench *bench, struct accel_context *context,
                                 const struct accel_device_info *info)
{
    struct accel_device *device = NULL;
    struct accel_error error = {0};

    if (info->facts->limits->queues == 0 || bench->interrupted)
        return -1;
    if (accel_device_open(context, info->name, NULL, 0, &device, &error) != ACCEL_OK)
        return report_session_error(bench->chosen->common.json, &error);
    bench_device_measure(bench, device, info->facts);
    accel_device_free(device);
    return -1;
}

void bench_machine_again(struct bench *bench)
{
    struct bench_machine *machine = &bench->machine;
    const struct bench_sequence *first = machine->best[BENCH_F32];
    struct measure_spread rate;

    if (!machine->measured || first == NULL || bench->interrupted)
        return;
    if (measure_peak(first->sequence, machine->threads, machine->processors, first->rate.count, PEAK_SECONDS, &rate) ==
            0 &&
        first->rate.most > 0)
        machine->drift = rate.most / first->rate.most;
}

enum bench_products bench_products_of(uint32_t type, uint32_t rounding)
{
    struct accel_format format;

    if (accel_format_describe(type, &format) != ACCEL_OK)
        return BENCH_F32;
    if (format.kind == ACCEL_FORMAT_SCALAR)
        return rounding != ACCEL_BF16 && !ACCEL_ALLOWS_Q8(rounding) ? BENCH_F32
               : type == ACCEL_BF16                                 ? BENCH_BF16
               : type == ACCEL_F16                                  ? BENCH_F16
                                                                    : BENCH_F32;
    if (!ACCEL_ALLOWS_Q8(rounding))
        return BENCH_F32;
    return format.digit_bits <= 4                                                        ? BENCH_INT4
           : format.digit_bits == 5                                                      ? BENCH_INT5
           : format.digit_bits == 6                                                      ? BENCH_INT6
           : rounding == ACCEL_Q8_ROW && ACCEL_IS_PLANAR(type) && format.digit_bits == 8 ? BENCH_INT8_ROW
                                                                                         : BENCH_INT8;
}

/* Computes the limit of a device from its bytes alone: it may read faster than it copies, and its multiply-adds
 * are not measured. */
static double device_limit(const struct bench_machine *machine, const struct bench_cost *cost,
                           enum bench_bound *out_bound, char name[32])
{
    if (machine->device_copy.count == 0 || machine->device_copy.most <= 0)
        return 0;
    *out_bound = BENCH_BOUND_BYTES;
    snprintf(name, 32, "device copy");
    return cost->bytes / machine->device_copy.most;
}

double bench_limit(const struct bench_machine *machine, const struct bench_cost *cost, enum bench_bound *out_bound,
                   char name[32])
{
    const uint32_t is_cached = cost->step < machine->memory.cached_bytes && machine->memory.cached.most > 0;
    const double rate = is_cached ? machine->memory.cached.most : machine->memory.read.most;
    const double bytes = rate > 0 ? cost->bytes / rate : 0;
    double operations = 0, longest = 0;

    *out_bound = BENCH_BOUND_UNKNOWN;
    name[0] = '\0';
    if (!machine->measured)
        return 0;
    if (machine->is_device)
        return device_limit(machine, cost, out_bound, name);
    for (uint32_t p = 0; p < BENCH_PRODUCTS; p++) {
        double seconds = machine->best[p] == NULL ? 0 : cost->products[p] / machine->rate[p];

        operations += seconds;
        if (seconds > longest) {
            longest = seconds;
            snprintf(name, 32, "%s", machine->best[p]->sequence->name);
        }
    }
    if (operations > bytes) {
        *out_bound = BENCH_BOUND_OPERATIONS;
        return operations;
    }
    if (bytes > 0) {
        *out_bound = BENCH_BOUND_BYTES;
        snprintf(name, 32, "%s read", is_cached ? "cache" : "memory");
    }
    return bytes;
}
