/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of accelctl bench about limits and figures that are too noisy to be relied on. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/noise.h"
#include "tools/accelctl/bench/rows.h"

static char notes[1000];

/* In the place of the function that adds a note to the document. */
void bench_warn(struct bench *bench, const char *format, ...)
{
    size_t used = strlen(notes);
    va_list arguments;

    (void)bench;
    va_start(arguments, format);
    vsnprintf(notes + used, sizeof(notes) - used, format, arguments);
    va_end(arguments);
    strncat(notes, "\n", sizeof(notes) - strlen(notes) - 1);
}

double measure_last_cache(void)
{
    return 33554432;
}

static const struct measure_sequence sequence = {.name = "maddubs ymm"};

/* A limit whose best round is far above its median gets a note with the factor; percentages go by the best round. */
static void limit_far_above_its_median(void **state)
{
    static struct bench bench;

    (void)state;
    bench = (struct bench){.machine = {.measured = 1, .sequence_count = 1}};
    bench.machine.sequences[0].sequence = &sequence;
    bench.machine.sequences[0].rate = (struct measure_spread){.count = 5, .median = 0.403e9, .most = 49.6e9};
    bench.machine.memory.read = (struct measure_spread){.count = 5, .median = 10e9, .most = 11e9};
    notes[0] = '\0';
    bench_noise_judge(&bench);
    assert_string_equal(notes, "maddubs ymm: the best round is 123 times the median, so the machine was busy for most "
                               "rounds; percentages go by the best one\n");
}

/* The note about a test's quartiles says how far its figure can be trusted. */
static void quartiles_far_apart(void **state)
{
    static struct bench bench;
    static struct bench_row rows[3] = {{.name = "quiet"}, {.name = "noisy"}, {.name = "useless"}};

    (void)state;
    bench = (struct bench){.rows = rows, .count = 3};
    rows[0].time = (struct measure_spread){.count = 5, .lower = 0.98, .median = 1, .upper = 1.03};
    rows[1].time = (struct measure_spread){.count = 5, .lower = 0.95, .median = 1, .upper = 1.10};
    rows[2].time = (struct measure_spread){.count = 5, .lower = 0.8, .median = 1, .upper = 1.3};
    notes[0] = '\0';
    bench_noise_judge(&bench);
    assert_string_equal(
        notes, "noisy: the quartiles are 15 % of the median apart; only the first digit of the result is reliable\n"
               "useless: the quartiles are 50 % of the median apart; repeat it on an idle machine before you "
               "rely on the figure\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(limit_far_above_its_median),
                                       cmocka_unit_test(quartiles_far_apart)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
