/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the results: limits of the machine, a table of tests, a table of operators, and noise. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/accelctl/bench/against.h"
#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/results.h"
#include "tools/accelctl/bench/rows.h"

/* Formats a number with three significant figures. */
static const char *number_text(double value, char text[32])
{
    snprintf(text, 32, "%.*f", value < 0.995 ? 3 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
    return text;
}

static const char *fact_text(const struct bench *bench, const char *key)
{
    const char *text = json_string_value(json_object_get(bench->facts, key));

    return text == NULL ? "?" : text;
}

static void print_sequence(const struct bench_sequence *one)
{
    char a[32], b[32];

    print("  %-17s %7s Gmac/s  median %-7s %s\n", one->sequence->name, number_text(1e-9 * one->rate.most, a),
          number_text(1e-9 * one->rate.median, b), one->sequence->words);
}

static void print_memory(const char *name, const struct measure_spread *rate, const char *words)
{
    char a[32], b[32];

    print("  %-17s %7s GB/s    median %-7s %s\n", name, number_text(1e-9 * rate->most, a),
          number_text(1e-9 * rate->median, b), words);
}

static void print_device(const struct bench_machine *machine)
{
    char line[100], size[32];

    if (!machine->is_device)
        return;
    if (machine->device_copy.count == 0) {
        print("  %-17s not measured: %s\n", "device copy", machine->device_reason);
        return;
    }
    snprintf(line, sizeof(line), "%s, bytes read and written together",
             bytes_text((uint64_t)machine->device_bytes, size));
    print_memory("device copy", &machine->device_copy, line);
    print("  %-17s not measured: no sequence of instructions is known for it\n", "device products");
}

static void print_machine(const struct bench *bench)
{
    const struct bench_machine *machine = &bench->machine;
    char line[400], size[32];

    snprintf(line, sizeof(line), "%s, %u thread%s, %s", fact_text(bench, "processor"), machine->threads,
             machine->threads == 1 ? "" : "s", fact_text(bench, "device"));
    print_wrapped((uint32_t)print("machine  "), 9, line);
    if (bench->path != NULL) {
        if (json_object_get(bench->facts, "model") != NULL)
            snprintf(line, sizeof(line), "%s: %s", bench->path, fact_text(bench, "model"));
        else
            snprintf(line, sizeof(line), "%s", bench->path);
        print_wrapped((uint32_t)print("model    "), 9, line);
    }
    if (!machine->measured)
        return;
    print("\n%slimits, measured now: the best of several rounds, and their median%s\n", paint(PAINT_HEADING),
          paint(PAINT_PLAIN));
    snprintf(line, sizeof(line), "%s, %s pages", bytes_text((uint64_t)machine->memory.bytes, size),
             machine->memory.huge ? "huge" : "small");
    print_memory("memory read", &machine->memory.read, line);
    if (machine->memory.cached.count > 0)
        print_memory("cache read", &machine->memory.cached, bytes_text((uint64_t)machine->memory.cached_bytes, size));
    print_memory("memory copy", &machine->memory.copy, "bytes read and written together");
    for (uint32_t i = 0; i < machine->sequence_count; i++)
        print_sequence(&machine->sequences[i]);
    print_device(machine);
}

/* Columns of the other program. */
static void print_peer(const struct bench_row *row)
{
    char a[32], b[32];
    double ours, theirs;

    if (!row->has_peer || row->peer.median <= 0) {
        print("  %8s %6s", "-", "-");
        return;
    }
    ours = row->time.median;
    theirs = row->peer.median;
    print("  %8s %6s", number_text(bench_row_value(row, theirs), a),
          row->time.count == 0 ? "-" : number_text(theirs / ours, b));
}

static bool is_operator(const struct bench_row *row)
{
    return row->subject == BENCH_OPERATORS || row->subject == BENCH_ATTENTION;
}

/* Returns the width of the column of names. */
static int names_width(const struct bench *bench)
{
    size_t width = bench->peer == NULL ? 21 : 17;

    for (uint32_t i = 0; i < bench->count; i++)
        if (!is_operator(&bench->rows[i]) && strlen(bench->rows[i].name) > width)
            width = strlen(bench->rows[i].name);
    return (int)width;
}

/* Prints a row. The lower quartile of a rate is the upper one of its times. */
static void print_row(const struct bench *bench, const struct bench_row *row)
{
    const uint32_t is_time = strcmp(row->unit, "ms") == 0;
    char a[32], b[32], c[32], range[80], limit[100] = "";

    if (row->time.count == 0) {
        print("%-*s %8s %13s %-6s", names_width(bench), row->name, "-", "", row->unit);
    } else {
        snprintf(range, sizeof(range), "%s - %s",
                 number_text(bench_row_value(row, is_time ? row->time.lower : row->time.upper), a),
                 number_text(bench_row_value(row, is_time ? row->time.upper : row->time.lower), b));
        print("%-*s %8s %13s %-6s", names_width(bench), row->name,
              number_text(bench_row_value(row, row->time.median), c), range, row->unit);
    }
    if (row->limit > 0)
        snprintf(limit, sizeof(limit), " %8s %8.0f %%  %s", number_text(bench_row_value(row, row->limit), a),
                 100 * row->limit / row->time.median, row->limit_name);
    print("%-*s", bench->peer == NULL ? 0 : 36, limit);
    if (bench->peer != NULL)
        print_peer(row);
    print("\n");
}

static uint32_t count_rows(const struct bench *bench, uint32_t operators)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < bench->count; i++)
        count += is_operator(&bench->rows[i]) == operators;
    return count;
}

static void print_tests(const struct bench *bench)
{
    if (count_rows(bench, 0) == 0)
        return;
    print("\n%s%-*s %8s %13s %-6s %8s %10s  %-*s", paint(PAINT_HEADING), names_width(bench), "test", "median",
          "quartiles", "", "limit", "% of limit", bench->peer == NULL ? 0 : 14, "bound by");
    if (bench->peer != NULL)
        print("  %8s %6s", bench_peer_name(bench->peer), "ratio");
    print("%s\n", paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < bench->count; i++)
        if (!is_operator(&bench->rows[i]))
            print_row(bench, &bench->rows[i]);
}

static void print_operator(const struct bench_row *row)
{
    char a[32], b[32], c[32], d[32], e[32];

    print("%-36s %9s %8s %8s", row->name, number_text(1e6 * row->time.median, a),
          number_text(1e-9 * row->cost.bytes / row->time.median, b),
          number_text(1e-9 * bench_cost_products(&row->cost) / row->time.median, c));
    if (row->limit > 0)
        print(" %8.0f %%  %s", 100 * row->limit / row->time.median, row->limit_name);
    if (row->has_peer)
        print("   before %s us, ratio %s", number_text(1e6 * row->peer.median, d),
              number_text(row->peer.median / row->time.median, e));
    print("\n");
}

static void print_operators(const struct bench *bench)
{
    if (count_rows(bench, 1) == 0)
        return;
    print("\n%s%-36s %9s %8s %8s %10s  %s%s\n", paint(PAINT_HEADING), "operator", "us", "GB/s", "Gmac/s", "% of limit",
          "bound by", paint(PAINT_PLAIN));
    for (uint32_t i = 0; i < bench->count; i++)
        if (is_operator(&bench->rows[i]) && bench->rows[i].time.count > 0)
            print_operator(&bench->rows[i]);
}

static void print_end(const struct bench *bench)
{
    size_t i;
    json_t *warning;

    if (bench->count > 0) {
        print("\n");
        print_wrapped(
            0, 0,
            "Medians with quartiles; \"limit\" is what the machine allows by the limits above, and \"bound by\" "
            "names the one of them that is reached first.");
    }
    if (bench->peer != NULL)
        print_wrapped((uint32_t)print("against  "), 9, bench_peer_title(bench->peer));
    json_array_foreach(bench->warnings, i, warning)
        print_wrapped((uint32_t)print("note     "), 9, json_string_value(warning));
    if (bench->interrupted)
        print("interrupted: what was measured until then\n");
}

void bench_print(const struct bench *bench)
{
    print_machine(bench);
    print_tests(bench);
    print_operators(bench);
    print_end(bench);
}
