/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the results as a document, schema "accelctl/bench/1"; doc/benchmark.md describes it. Times are seconds. */
#include "config.h"

#include "tools/accelctl/bench/against.h"
#include "tools/accelctl/bench/bench.h"
#include "tools/accelctl/bench/results.h"
#include "tools/accelctl/bench/rows.h"

static json_t *spread_json(const struct measure_spread *spread)
{
    return json_pack("{s:i, s:i, s:f, s:f, s:f, s:f, s:f}", "count", (int)spread->count, "outliers",
                     (int)spread->outliers, "least", spread->least, "lower_quartile", spread->lower, "median",
                     spread->median, "upper_quartile", spread->upper, "most", spread->most);
}

static json_t *sequence_json(const struct bench_sequence *one)
{
    static const char *const kinds[] = {"f32", "bf16", "int8", "int8_row"};

    return json_pack("{s:s, s:s, s:s, s:i, s:s, s:o}", "name", one->sequence->name, "words", one->sequence->words,
                     "kind", kinds[one->sequence->kind], "digit_bits", (int)one->sequence->bits, "unit",
                     "multiply-adds/s", "rate", spread_json(&one->rate));
}

static json_t *machine_json(const struct bench_machine *machine)
{
    json_t *sequences = json_array(), *processors = json_array(), *object;

    for (uint32_t i = 0; i < machine->sequence_count; i++)
        json_array_append_new(sequences, sequence_json(&machine->sequences[i]));
    for (uint32_t i = 0; i < machine->threads; i++)
        json_array_append_new(processors, json_integer(machine->processors[i]));
    object =
        json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:f, s:f, s:b, s:o, s:f}", "origin",
                  "measured: before and after the tests, with the threads and processors of the plan", "threads",
                  (int)machine->threads, "processors", processors, "memory_read", spread_json(&machine->memory.read),
                  "memory_copy", spread_json(&machine->memory.copy), "cache_read", spread_json(&machine->memory.cached),
                  "memory_bytes", machine->memory.bytes, "cache_bytes", machine->memory.cached_bytes, "huge_pages",
                  (int)machine->memory.huge, "sequences", sequences, "clock_drift", machine->drift);
    if (machine->is_device && machine->device_copy.count > 0)
        json_object_set_new(object, "device_copy", spread_json(&machine->device_copy));
    else if (machine->is_device)
        json_object_set_new(object, "device_not_measured", json_text(machine->device_reason));
    return object;
}

static json_t *noise_json(const struct measure_noise *noise)
{
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:I, s:b, s:b, s:b}", "origin",
                     "measured: counters of the system, from the begin to the end of this command", "seconds",
                     noise->seconds, "stolen", noise->stolen, "others", noise->others, "throttled", noise->throttled,
                     "hot", (json_int_t)noise->hot, "knows_stat", (noise->known & MEASURE_KNOWS_STAT) != 0,
                     "knows_group", (noise->known & MEASURE_KNOWS_GROUP) != 0, "knows_heat",
                     (noise->known & MEASURE_KNOWS_HEAT) != 0);
}

static json_t *products_json(const struct bench_cost *cost)
{
    static const char *const names[BENCH_PRODUCTS] = {"f32", "bf16", "f16", "int8", "int8_row", "int6", "int5", "int4"};
    json_t *products = json_object();

    for (uint32_t p = 0; p < BENCH_PRODUCTS; p++)
        if (cost->products[p] > 0)
            json_object_set_new(products, names[p], json_real(cost->products[p]));
    return products;
}

/* Names the origins of a row's numbers. */
static json_t *row_origin_json(void)
{
    static const char *const rows[][2] = {
        {"prompt", "given: the command line, or the default of its option"},
        {"tokens", "given: the command line, or the default of its option"},
        {"depth", "given: the command line, or the default of its option"},
        {"sequences", "given: the command line, or the default of its option"},
        {"units", "builtin: tokens of a round; 1 for times and operators"},
        {"value", "measured: the median of the rounds"},
        {"seconds", "measured: each round"},
        {"time", "measured: the rounds"},
        {"bytes", "estimated: formula of doc/benchmark.md"},
        {"multiply_adds", "estimated: formula of doc/benchmark.md"},
        {"limit_seconds", "estimated: bytes and multiply_adds at the rates of the machine"},
        {"fraction", "estimated: limit_seconds over the median of time"},
        {"peer", "file: --against"},
        {"ratio", "estimated: the median of peer over that of time"},
    };
    json_t *object = json_object();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        json_object_set_new(object, rows[i][0], json_string(rows[i][1]));
    return object;
}

static json_t *row_json(const struct bench_row *row)
{
    static const char *const bounds[] = {"unknown", "bytes", "operations", "bytes"};
    json_t *seconds = json_array();
    json_t *object;

    for (uint32_t r = 0; r < row->rounds; r++)
        json_array_append_new(seconds, json_real(row->seconds[r]));
    object =
        json_pack("{s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:f, s:f, s:o, s:o, s:f, s:o, s:s}", "origin",
                  row_origin_json(), "subject", bench_subject_name(row->subject), "name", row->name, "prompt",
                  (json_int_t)row->prompt, "tokens", (json_int_t)row->tokens, "depth", (json_int_t)row->depth,
                  "sequences", (json_int_t)row->sequences, "unit", row->unit, "units", row->units, "value",
                  bench_row_value(row, row->time.median), "seconds", seconds, "time", spread_json(&row->time), "bytes",
                  row->cost.bytes, "multiply_adds", products_json(&row->cost), "bound", bounds[row->bound]);
    if (row->limit > 0) {
        json_object_set_new(object, "limit", json_text(row->limit_name));
        json_object_set_new(object, "limit_seconds", json_real(row->limit));
        if (row->time.median > 0)
            json_object_set_new(object, "fraction", json_real(row->limit / row->time.median));
    }
    if (row->has_peer) {
        json_object_set_new(object, "peer", spread_json(&row->peer));
        if (row->time.median > 0)
            json_object_set_new(object, "ratio", json_real(row->peer.median / row->time.median));
    }
    return object;
}

json_t *bench_json(const struct bench *bench)
{
    json_t *rows = json_array();
    json_t *document;

    for (uint32_t i = 0; i < bench->count; i++)
        json_array_append_new(rows, row_json(&bench->rows[i]));
    document = json_pack("{s:{s:s, s:s}, s:O, s:o, s:o, s:o, s:O, s:b}", "origin", "facts", "file: the model",
                         "against", "file: --against", "facts", bench->facts, "machine", machine_json(&bench->machine),
                         "rows", rows, "noise", noise_json(&bench->noise), "warnings", bench->warnings, "interrupted",
                         (int)bench->interrupted);
    if (bench->peer != NULL && document != NULL)
        json_object_set_new(document, "against", bench_peer_json(bench->peer));
    return document;
}
