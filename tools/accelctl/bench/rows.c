/* SPDX-License-Identifier: Apache-2.0 */
/* Manages rows of results, for all measurements. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/accelctl/array.h"
#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/machine.h"
#include "tools/accelctl/bench/rows.h"

static const char *const names[] = {"machine", "load", "prefill", "decode", "batch", "attention", "operators"};
_Static_assert(sizeof(names) / sizeof(*names) == BENCH_SUBJECTS, "a name for each subject");

const char *bench_subject_name(enum bench_subject subject)
{
    return names[subject];
}

struct bench_row *bench_row_add(struct bench *bench, enum bench_subject subject, uint32_t rounds, const char *format,
                                ...)
{
    struct bench_row *row;
    va_list list;

    if (!array_reserve(&bench->rows, &bench->capacity, bench->count + 1, sizeof(*bench->rows)))
        goto fail;
    row = &bench->rows[bench->count];
    *row = (struct bench_row){.subject = subject, .unit = "tok/s", .units = 1, .sequences = 1};
    row->seconds = calloc(rounds == 0 ? 1 : rounds, sizeof(*row->seconds));
    if (row->seconds == NULL)
        goto fail;
    va_start(list, format);
    vsnprintf(row->name, sizeof(row->name), format, list);
    va_end(list);
    bench->count++;
    return row;
fail:
    accel_error_no_memory(&bench->error, "for the results");
    return NULL;
}

void bench_row_time(struct bench_row *row, double seconds)
{
    row->seconds[row->rounds++] = seconds;
}

/* Sorts a copy: order statistics need sorted times, and the order of rounds shows drifts. */
void bench_row_summarize(struct bench_row *row)
{
    double sorted[BENCH_ROUNDS];

    memcpy(sorted, row->seconds, row->rounds * sizeof(*sorted));
    measure_spread(sorted, row->rounds, &row->time);
}

void bench_rows_finish(struct bench *bench)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < bench->count; i++) {
        struct bench_row *row = &bench->rows[i];

        if (row->rounds == 0) {
            free(row->seconds);
            continue;
        }
        bench_row_summarize(row);
        if (row->bound != BENCH_BOUND_READ)
            row->limit = bench_limit(&bench->machine, &row->cost, &row->bound, row->limit_name);
        if (row->subject == BENCH_OPERATORS || row->subject == BENCH_ATTENTION)
            row->unit = row->bound == BENCH_BOUND_OPERATIONS ? "Gmac/s" : "GB/s";
        bench->rows[count++] = *row;
    }
    bench->count = count;
}

double bench_cost_products(const struct bench_cost *cost)
{
    double sum = 0;

    for (uint32_t i = 0; i < BENCH_PRODUCTS; i++)
        sum += cost->products[i];
    return sum;
}

double bench_row_value(const struct bench_row *row, double seconds)
{
    if (strcmp(row->unit, "ms") == 0)
        return 1e3 * seconds;
    if (seconds <= 0)
        return 0;
    if (strcmp(row->unit, "GB/s") == 0)
        return 1e-9 * row->cost.bytes / seconds;
    if (strcmp(row->unit, "Gmac/s") == 0)
        return 1e-9 * bench_cost_products(&row->cost) / seconds;
    return row->units / seconds;
}

void bench_warn(struct bench *bench, const char *format, ...)
{
    char text[400];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    json_array_append_new(bench->warnings, json_text(text));
}

uint32_t bench_rounds(const struct bench *bench, uint32_t least, uint32_t most)
{
    const uint64_t rounds = bench->chosen->rounds;

    return rounds < least ? least : rounds > most ? most : (uint32_t)rounds;
}

uint32_t bench_override_threads(const struct bench *bench, struct accel_named_value *out_override)
{
    const struct named_number *threads = &bench->chosen->threads;

    if (threads->value == 0)
        return 0;
    *out_override = (struct accel_named_value){"cpu.threads", threads->text, threads->origin};
    return 1;
}
