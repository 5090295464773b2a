/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the folder of profiles against the source documents: what stands below was written from the documents
 * alone, not from the files. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/profile/keys.h"
#include "tools/tables/tables.h"

static struct accel_tables *load(void)
{
    struct accel_tables *tables = NULL;
    struct accel_error error = {0};
    const char *top = getenv("ACCEL_TEST_SRCDIR");
    char folder[4096];
    snprintf(folder, sizeof(folder), "%s/profiles", top ? top : ".");
    if (accel_tables_load(folder, &tables, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    return tables;
}

/* ---- cells: H high, M medium, L limited, N none, F full ---- */

static const struct {
    const char *table;
    const char *row;
    const char *columns;
    const char *ratings;
    const char *source; /* document and line */
    const char *client;
} rows[] = {
    {"D1", "Tiny (<100M)", "CUDA ROCm MPS OpenVINO Qualcomm WebNN WebGPU", "HHHHHHH", "S0:15", ""},
    {"D1", "Small (100M-1B)", "CUDA ROCm MPS OpenVINO Qualcomm WebNN WebGPU", "HHHHMHH", "S0:16", ""},
    {"D1", "Medium (1B-7B)", "CUDA ROCm MPS OpenVINO Qualcomm WebNN WebGPU", "HMMMLLL", "S0:17", ""},
    {"D1", "Large (>7B)", "CUDA ROCm MPS OpenVINO Qualcomm WebNN WebGPU", "HLLLNNN", "S0:18", ""},
    {"D2", "CLIP", "CUDA ROCm MPS OpenVINO Qualcomm WebNN WebGPU", "HHHHMMM", "S1:15", ""},
    {"D2", "BLIP/BLIP-2", "CUDA ROCm MPS OpenVINO Qualcomm WebNN WebGPU", "HMMMLLL", "S1:16", ""},
    {"D2", "LLaVA", "CUDA ROCm MPS OpenVINO Qualcomm WebNN WebGPU", "HLMLLNL", "S1:17", ""},
    {"D2", "LLaVA-Next", "CUDA ROCm MPS OpenVINO Qualcomm WebNN WebGPU", "HLLLNNL", "S1:18", ""},
    {"D2", "X-CLIP", "CUDA ROCm MPS OpenVINO Qualcomm WebNN WebGPU", "HMMMLNL", "S1:19", ""},
    {"D3", "Chrome", "WebGPU-Support Compute-Shaders Parallel-Loading Shader-Precompilation", "FFFF", "S2:401",
     "chrome"},
    {"D3", "Edge", "WebGPU-Support Compute-Shaders Parallel-Loading Shader-Precompilation", "FFFF", "S2:402", "edge"},
    {"D3", "Firefox", "WebGPU-Support Compute-Shaders Parallel-Loading Shader-Precompilation", "FFFL", "S2:403",
     "firefox"},
    {"D3", "Safari", "WebGPU-Support Compute-Shaders Parallel-Loading Shader-Precompilation", "LLFL", "S2:404",
     "safari"},
    {"D4", "Chrome", "Ultra-Low-Precision KV-Cache-Support Component-Cache WebAssembly-Fallback", "FFFF", "S4:379",
     "chrome"},
    {"D4", "Edge", "Ultra-Low-Precision KV-Cache-Support Component-Cache WebAssembly-Fallback", "FFFF", "S4:380",
     "edge"},
    {"D4", "Firefox", "Ultra-Low-Precision KV-Cache-Support Component-Cache WebAssembly-Fallback", "FFFF", "S4:381",
     "firefox"},
    {"D4", "Safari", "Ultra-Low-Precision KV-Cache-Support Component-Cache WebAssembly-Fallback", "FFFF", "S4:382",
     "safari"},
};

static uint32_t rating_of(char letter)
{
    switch (letter) {
    case 'N':
        return ACCEL_COMPAT_NONE;
    case 'L':
        return ACCEL_COMPAT_LIMITED;
    case 'M':
        return ACCEL_COMPAT_MEDIUM;
    case 'H':
        return ACCEL_COMPAT_HIGH;
    default:
        return ACCEL_COMPAT_FULL;
    }
}

/* Blanks count as the dashes that keep a name together above. */
static int same_name(const char *wanted, size_t length, const char *name)
{
    for (size_t i = 0; i < length; i++)
        if (name[i] != wanted[i] && !(name[i] == ' ' && wanted[i] == '-'))
            return 0;
    return name[length] == 0;
}

static int begins(const char *text, const char *start)
{
    size_t length = strlen(start);
    return strncmp(text, start, length) == 0 && (text[length] < '0' || text[length] > '9');
}

static void all_cells(void **state)
{
    struct accel_tables *tables = load();
    uint32_t at = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *column = rows[i].columns;
        for (const char *rating = rows[i].ratings; *rating; rating++, at++) {
            const struct accel_compat *cell = accel_compat_get(tables, at);
            size_t length = strcspn(column, " ");
            assert_non_null(cell);
            assert_string_equal(cell->table, rows[i].table);
            assert_string_equal(cell->row, rows[i].row);
            if (!same_name(column, length, cell->column))
                fail_msg("%s: column %s, wanted %.*s", cell->place, cell->column, (int)length, column);
            if (cell->rating != rating_of(*rating))
                fail_msg("%s: %s x %s is %s", cell->place, cell->row, cell->column, cell->rating_name);
            assert_true(begins(cell->source, rows[i].source));
            assert_string_equal(cell->client, rows[i].client);
            assert_int_equal(cell->size, sizeof(*cell));
            assert_non_null(strstr(cell->place, "compat.yaml:"));
            column += length + (column[length] == ' ');
        }
    }
    assert_int_equal(at, 28 + 35 + 16 + 16);
    assert_int_equal(accel_compat_count(tables), at);
    assert_null(accel_compat_get(tables, at));
    accel_tables_free(tables);
}

/* Columns are platforms, and every cell has a model that stands for it. */
static void cells_can_be_planned(void **state)
{
    static const char *const platforms[] = {"cuda", "rocm", "mps", "openvino", "qualcomm", "webnn", "webgpu"};
    struct accel_tables *tables = load();
    (void)state;
    for (uint32_t i = 0; i < accel_compat_count(tables); i++) {
        const struct accel_compat *cell = accel_compat_get(tables, i);
        const char *wanted = cell->client[0] ? "webgpu" : platforms[i % 7];
        assert_string_equal(cell->platform, wanted);
        assert_true(strlen(cell->model) > 0);
    }
    accel_tables_free(tables);
}

/* ---- recommendations ---- */

static const struct {
    const char *table;
    const char *subject;
    const char *advice;
    const char *source;
    const char *settings;
} advised[] = {
    {"D5", "Audio Models", "Firefox", "S4:390", "client=firefox kernels.audio.workgroup=256x1x1"},
    {"D5", "Text Models", "Chrome/Edge", "S4:391", "client=chrome kernels.matmul.workgroup=8x16"},
    {"D5", "Vision Models", "Chrome/Edge", "S4:392", "client=chrome kernels.prefetch=true"},
    {"D5", "Multimodal Models", "Chrome/Edge", "S4:393", "client=chrome encoders.parallel=true"},
    {"D6", "LLMs", "4-bit Quantization, Flash Attention, Progressive Loading", "S2:378",
     "weights.type=q4 attention.kernel=tiled load.progressive=true"},
    {"D6", "Embedding Models", "4-bit Quantization, Shader Precompilation", "S2:379",
     "weights.type=q4 kernels.precompile=true"},
    {"D6", "Vision Models", "Shader Precompilation", "S2:380", "kernels.precompile=true"},
    {"D6", "Audio Models", "Compute Shaders, Shader Precompilation", "S2:381",
     "kernels.tuned=true kernels.precompile=true"},
    {"D6", "Multimodal Models", "Parallel Loading, Progressive Loading, Shader Precompilation", "S2:382",
     "load.parallel=true load.progressive=true kernels.precompile=true"},
    {"D6", "Audio-Multimodal", "All Optimizations", "S2:383",
     "weights.type=q4 attention.kernel=tiled load.progressive=true load.parallel=true kernels.tuned=true "
     "kernels.precompile=true"},
    {"D7", "4-bit Quantization", "Int4 matrix representation for model weights", "S2:11", "weights.type=q4"},
    {"D7", "Flash Attention", "Memory-efficient attention implementation", "S2:12", "attention.kernel=tiled"},
    {"D7", "Progressive Tensor Loading", "Load model weights in chunks", "S2:13", "load.progressive=true"},
    {"D7", "Streaming Tensor Support", "Process tensors in streaming fashion", "S2:14", "load.strategy=lazy"},
    {"D7", "CPU Tensor Offloading", "Offload unused tensors to CPU", "S2:15", "placement=auto"},
    {"D7", "WebGPU Compute Shaders", "Specialized compute shaders for audio processing", "S2:21", "kernels.tuned=true"},
    {"D7", "Parallel Model Loading", "Load model components concurrently", "S2:22", "load.parallel=true"},
    {"D7", "Shader Precompilation", "Precompile GPU shaders during initialization", "S2:23", "kernels.precompile=true"},
};

static void all_recommendations(void **state)
{
    struct accel_tables *tables = load();
    (void)state;
    for (uint32_t i = 0; i < sizeof(advised) / sizeof(advised[0]); i++) {
        const struct accel_recommendation *row = accel_recommendation_get(tables, i);
        assert_non_null(row);
        assert_string_equal(row->table, advised[i].table);
        assert_string_equal(row->subject, advised[i].subject);
        assert_string_equal(row->advice, advised[i].advice);
        assert_string_equal(row->settings, advised[i].settings);
        assert_true(begins(row->source, advised[i].source));
        assert_true(strlen(row->reason) > 0 && strlen(row->examples) > 0);
    }
    assert_int_equal(accel_recommendation_count(tables), sizeof(advised) / sizeof(advised[0]));
    assert_null(accel_recommendation_get(tables, 18));
    accel_tables_free(tables);
}

/* ---- claims: what the documents say, line by line; V and L are our verdict's first letter and our number ---- */

static const struct {
    const char *id;
    const char *value;
    const char *source;
    char verdict;
    const char *ours;
} claims[] = {
    {"Z1.a", "87.5", "S4:9", 'e', "86.7"},
    {"Z1.b", "5.3", "S4:9", 'c', ""},
    {"Z2.a", "81.25", "S4:10", 'e', "80.5"},
    {"Z2.b", "minimal", "S4:10", 'c', "0.21"},
    {"Z2.c", "29", "S3:54", 'r', "24.2"},
    {"Z2.d", "2..3", "S3:55", 'c', ""},
    {"Z2.e", "10..20", "S3:56", 'c', ""},
    {"Z3.a", "75", "S4:11", 'e', "74.2"},
    {"Z3.b", "87.5", "S4:576", 'e', "87.1"},
    {"Z3.c", ">0", "S2:411", 'e', "0.6"},
    {"Z3.d", "87.5", "S4:964", 'r', "80.0"},
    {"Z4.a", "<1", "S4:71", 'c', ""},
    {"Z4.b", "5", "S2:225", 'c', ""},
    {"Z5.a", "-15..-10", "S2:226", 'c', ""},
    {"Z5.b", "40..60", "S4:602", 'c', ""},
    {"Z5.c", "60..70", "S4:25", 'c', ""},
    {"Z5.d", "2.5", "S4:547", 'c', "3.88"},
    {"Z5.e", "1.25", "S4:546", 'c', "1.97"},
    {"Z6.a", "4", "S4:81", 'r', "3.76"},
    {"Z6.b", "4..8", "S4:13", 'r', "3.76"},
    {"Z6.c", "75", "S2:235", 'e', "73.4"},
    {"Z7", "25..75", "S2:281", 'e', "73.4"},
    {"Z8.a", "30..45", "S2:12", 'r', "96.9"},
    {"Z8.b", "30..50", "S2:326", 'c', ""},
    {"Z8.c", "20", "S3:99", 'c', ""},
    {"Z8.d", "30", "S3:100", 'c', ""},
    {"Z8.e", ">=8.0", "S3:105", 'r', "7.5"},
    {"Z9", "15..25", "S2:13", 'r', "49.6"},
    {"Z10.a", "30..45", "S1:25", 'e', "41.9"},
    {"Z10.b", "30..45", "S2:22", 'r', "4.6"},
    {"Z11", "30..45", "S2:23", 'c', ""},
    {"Z12", "30..45", "S4:99", 'c', ""},
    {"Z13", "20..35", "S2:21", 'c', ""},
    {"Z14.a", "20", "S4:621", 'c', ""},
    {"Z14.b", "25", "S4:622", 'c', ""},
    {"Z14.c", "21", "S4:623", 'c', ""},
    {"Z14.d", "-15", "S4:621", 'c', ""},
    {"Z14.e", "-15", "S4:622", 'c', ""},
    {"Z14.f", "-13", "S4:623", 'c', ""},
    {"Z14.g", "20..25", "S4:381", 'c', ""},
    {"Z14.h", "75", "S4:621", 'e', "74.2"},
    {"Z15.a", "85", "S4:15", 'r', "68.4"},
    {"Z15.b", "85", "S4:932", 'c', ""},
    {"Z16.a", "2.2", "S4:71", 'e', "2.2"},
    {"Z16.b", "1.1", "S4:546", 'e', "1.1"},
    {"Z16.c", "0.55", "S4:71", 'e', "0.57"},
    {"Z16.d", "14", "S4:72", 'e', "13.5"},
    {"Z16.e", "3.5", "S4:72", 'e', "3.5"},
    {"Z16.f", "750", "S4:545", 'c', "6.9"},
    {"Z16.g", "600", "S4:546", 'c', "3.4"},
    {"Z16.h", "300", "S4:547", 'c', "1.7"},
    {"Z16.i", "750", "S4:548", 'c', "43.8"},
    {"Z16.j", "300", "S4:549", 'c', "10.9"},
    {"Z16.k", "1", "S4:545", 'r', "6.1"},
    {"Z16.l", "1", "S4:547", 'r', "6.1"},
    {"Z17.a1", "1.5", "S4:722", 'c', ""},
    {"Z17.a2", "1.8..2.0", "S4:722", 'c', ""},
    {"Z17.a3", "75..78", "S4:722", 'r', "74.2"},
    {"Z17.b1", "1.5", "S4:723", 'c', ""},
    {"Z17.b2", "1.8..2.0", "S4:723", 'c', ""},
    {"Z17.b3", "75..78", "S4:723", 'r', "74.2"},
    {"Z17.c1", "1.3", "S4:724", 'c', ""},
    {"Z17.c2", "1.5..1.7", "S4:724", 'c', ""},
    {"Z17.c3", "72..75", "S4:724", 'e', "74.2"},
    {"Z17.d1", "1.1", "S4:725", 'c', ""},
    {"Z17.d2", "1.2..1.4", "S4:725", 'c', ""},
    {"Z17.d3", "65..70", "S4:725", 'r', "74.2"},
    {"Z18.a", "8192", "S4:555", 'r', "7710"},
    {"Z18.b", "16384", "S4:556", 'r', "15420"},
    {"Z18.c", "32768", "S4:557", 'r', "30840"},
    {"Z19.a", "<=3.8", "S2:523", 'e', "3.74"},
    {"Z19.b", "<=3.8", "S4:556", 'r', "5.62"},
    {"Z19.c", "<=3800", "S4:164", 'r', "4679"},
    {"Z20.a", "5..10", "S3:558", 'c', ""},
    {"Z20.b", "2..3", "S3:580", 'c', ""},
    {"Z20.c", "10..30", "S3:230", 'c', ""},
    {"Z20.d", "5..10", "S3:318", 'c', ""},
    {"Z20.e", "100", "S3:258", 'c', ""},
    {"Z20.f", "2..4", "S3:216", 'c', ""},
    {"Z20.g", "2", "S3:295", 'c', ""},
    {"Z20.h", "1..2", "S3:164", 'r', "0.42"},
    {"Z20.i", "-15", "S3:165", 'c', ""},
    {"Z20.j", "-30", "S3:74", 'r', "0"},
    {"Z20.k", "-20", "S3:75", 'r', "0"},
    {"Z21.a", "5..10", "S3:362", 'r', "3.0"},
    {"Z21.b", "2..5", "S3:390", 'r', "-5.9"},
    {"Z21.c", "3..7", "S3:418", 'r', "-4.4"},
    {"Z21.d", "5..10", "S3:443", 'r', "2.7"},
    {"Z22.a", "90", "S4:752", 'c', ""},
    {"Z22.b", "35", "S4:804", 'c', ""},
    {"Z22.c", "20", "S4:842", 'c', ""},
    {"Z22.d", "55", "S4:882", 'c', ""},
    {"Z22.e", "90", "S4:890", 'c', ""},
    {"Z22.f", "25", "S4:898", 'c', ""},
    {"Z22.g", "85", "S4:941", 'c', ""},
    {"Z22.h", "60", "S4:942", 'c', ""},
    {"Z22.i", "70", "S4:943", 'c', ""},
};

static void all_claims(void **state)
{
    struct accel_tables *tables = load();
    (void)state;
    for (uint32_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        const struct accel_promise *promise = accel_promise_get(tables, i);
        assert_non_null(promise);
        assert_string_equal(promise->id, claims[i].id);
        assert_string_equal(promise->value, claims[i].value);
        if (!begins(promise->source, claims[i].source))
            fail_msg("%s: %s is not %s", promise->place, promise->source, claims[i].source);
        if (promise->verdict_name[0] != claims[i].verdict)
            fail_msg("%s: %s is %s", promise->place, promise->id, promise->verdict_name);
        assert_string_equal(promise->ours, claims[i].ours);
        assert_true(strlen(promise->check) > 0 && strlen(promise->claim) > 0);
    }
    assert_int_equal(accel_promise_count(tables), sizeof(claims) / sizeof(claims[0]));
    accel_tables_free(tables);
}

/* ---- advice ---- */

static uint32_t rank_of(const struct accel_tables *tables, const char *topic, const char *id)
{
    for (uint32_t i = 0; i < accel_advice_count(tables, topic); i++)
        if (strcmp(accel_advice_get(tables, topic, i)->id, id) == 0)
            return accel_advice_get(tables, topic, i)->rank;
    fail_msg("no step %s", id);
    return 0;
}

/* The decision tree of the documents: 4 bits, then shorter texts, then what bounds activations, then the processors. */
static void order_of_remedies(void **state)
{
    static const char *const order[] = {"oom.rows",    "oom.q8",     "oom.q4km", "oom.iq4xs",  "oom.q4",
                                        "oom.context", "oom.chunks", "oom.q2",   "oom.offload"};
    struct accel_tables *tables = load();
    (void)state;
    for (size_t i = 1; i < sizeof(order) / sizeof(order[0]); i++)
        assert_true(rank_of(tables, "oom", order[i - 1]) < rank_of(tables, "oom", order[i]));
    assert_int_equal(accel_advice_get(tables, "oom", 0)->rank, 1);
    accel_tables_free(tables);
}

static uint32_t applies(const struct accel_tables *tables, const char *topic, const char *id, const char *fact,
                        const char *value)
{
    const struct accel_named_value given = {fact, value, "test"};
    return accel_advice_applies(tables, accel_advice_get(tables, topic, rank_of(tables, topic, id) - 1), &given, 1);
}

/* S3:624-627: below 2000 batches, from 2000 to 6000 flash attention, above that shorter. */
static void thresholds_of_length(void **state)
{
    static const struct {
        const char *length;
        const char *id;
    } lengths[] = {{"1999", "slow.batch"},   {"2000", "slow.tiled"},    {"6000", "slow.tiled"},
                   {"6001", "slow.shorten"}, {"16000", "slow.shorten"}, {"1", "slow.batch"}};
    static const char *const ids[] = {"slow.batch", "slow.tiled", "slow.shorten"};
    struct accel_tables *tables = load();
    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        for (size_t k = 0; k < sizeof(ids) / sizeof(ids[0]); k++)
            assert_int_equal(applies(tables, "slow", ids[k], "request.length", lengths[i].length),
                             strcmp(ids[k], lengths[i].id) == 0);
    assert_int_equal(applies(tables, "slow", "slow.batch", "model.layers", "12"), 0);
    assert_int_equal(applies(tables, "slow", "slow.bits", "model.layers", "12"), 1);
    accel_tables_free(tables);
}

/* As many layers may be moved to the processors as a model has. */
static void layers_on_processors(void **state)
{
    static const struct {
        const char *kind;
        const char *layers;
        uint32_t applies;
    } models[] = {{"gpu", "80", 1}, {"gpu", "1", 1}, {"cpu", "40", 0}};
    struct accel_tables *tables = load();
    const struct accel_advice *offload = accel_advice_get(tables, "oom", rank_of(tables, "oom", "oom.offload") - 1);
    (void)state;
    assert_string_equal(offload->bound, "model.layers");
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        const struct accel_named_value given[] = {{"device.kind", models[i].kind, "test"},
                                                  {"model.layers", models[i].layers, "test"}};
        assert_int_equal(accel_advice_applies(tables, offload, given, 2), models[i].applies);
    }
    assert_int_equal(applies(tables, "oom", "oom.offload", "device.kind", "gpu"), 0);
    accel_tables_free(tables);
}

/* What helps every model comes before what helps models whose answers are scores, which those that generate have not. A
 * browser that nobody uses is not left. */
static void accuracy_of_all_models(void **state)
{
    static const char *const scores[] = {"accuracy.parameters", "accuracy.heads", "accuracy.ensemble",
                                         "accuracy.threshold"};
    static const struct accel_named_value vision = {"model.kind", "vision", "test"};
    static const struct accel_named_value generation = {"model.kind", "generation", "test"};
    static const struct accel_named_value safari = {"client.name", "safari", "test"};
    struct accel_tables *tables = load();
    const struct accel_advice *client =
        accel_advice_get(tables, "limits", rank_of(tables, "limits", "limits.client") - 1);
    (void)state;
    for (size_t i = 0; i < sizeof(scores) / sizeof(scores[0]); i++) {
        uint32_t rank = rank_of(tables, "accuracy", scores[i]);
        assert_true(rank > rank_of(tables, "accuracy", "accuracy.bits"));
        assert_non_null(strstr(accel_advice_get(tables, "accuracy", rank - 1)->text, "scores"));
        assert_true(accel_advice_applies(tables, accel_advice_get(tables, "accuracy", rank - 1), &vision, 1));
        assert_false(accel_advice_applies(tables, accel_advice_get(tables, "accuracy", rank - 1), &generation, 1));
    }
    assert_true(accel_advice_applies(tables, client, &safari, 1));
    assert_false(accel_advice_applies(tables, client, &vision, 1));
    accel_tables_free(tables);
}

/* Every line of the troubleshooting lists (S2:410-449, S4:563-569) is a step of a topic AB1 to AB8. */
static void troubleshooting(void **state)
{
    static const struct {
        const char *topic;
        const char *about;
        const char *sources;
    } lists[] = {
        {"quantization-memory", "AB1,", "S2:411 S2:412 S2:413 S2:414"},
        {"quantization-accuracy", "AB2,", "S2:417 S2:418 S2:419 S2:420"},
        {"attention", "AB3,", "S2:423 S2:424 S2:425 S2:426"},
        {"progressive-loading", "AB4,", "S2:429 S2:430"},
        {"tuned-kernels", "AB5,", "S2:437 S2:438 S2:439"},
        {"parallel-loading", "AB6,", "S2:442 S2:443 S2:444"},
        {"precompile", "AB7,", "S2:447 S2:448 S2:449"},
        {"limits", "AB8,", "S4:563 S4:565 S4:567 S4:569"},
    };
    struct accel_tables *tables = load();
    const char *about;
    (void)state;
    assert_int_equal(accel_advice_topic_count(tables), 3 + 8);
    assert_string_equal(accel_advice_topic_get(tables, 0, NULL), "oom");
    assert_string_equal(accel_advice_topic_get(tables, 1, NULL), "slow");
    assert_string_equal(accel_advice_topic_get(tables, 2, NULL), "accuracy");
    assert_null(accel_advice_topic_get(tables, 11, NULL));
    assert_int_equal(accel_advice_count(tables, "nothing"), 0);
    for (uint32_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        uint32_t step = 0;
        assert_string_equal(accel_advice_topic_get(tables, 3 + i, &about), lists[i].topic);
        assert_true(strncmp(about, lists[i].about, 4) == 0);
        for (const char *source = lists[i].sources; source; source = strchr(source, ' ')) {
            char word[16];
            source += *source == ' ';
            snprintf(word, sizeof(word), "%.*s", (int)strcspn(source, " "), source);
            assert_non_null(accel_advice_get(tables, lists[i].topic, step));
            assert_true(begins(accel_advice_get(tables, lists[i].topic, step++)->source, word));
        }
    }
    accel_tables_free(tables);
}

/* Whatever a step costs has an origin, and what it sets is a value of its setting. */
static void steps_are_whole(void **state)
{
    struct accel_tables *tables = load();
    (void)state;
    for (uint32_t t = 0; t < accel_advice_topic_count(tables); t++) {
        const char *topic = accel_advice_topic_get(tables, t, NULL);
        for (uint32_t i = 0; i < accel_advice_count(tables, topic); i++) {
            const struct accel_advice *step = accel_advice_get(tables, topic, i);
            assert_int_equal(step->rank, i + 1);
            assert_string_equal(step->topic, topic);
            assert_int_equal(step->cost[0] != 0, step->cost_origin[0] != 0);
            assert_int_equal(step->search[0] != 0, step->search_wanted != ACCEL_ADVICE_FIXED);
            for (uint32_t k = 0; k < step->set_count; k++) {
                struct accel_key_value value;
                char why[200];
                /* Values of a driver's option are the driver's. */
                if (strcmp(step->set[k].key, "cpu.layout") != 0)
                    assert_true(
                        accel_key_parse(accel_key_find(step->set[k].key), step->set[k].value, &value, why, 200));
                assert_non_null(strstr(step->set[k].origin, "advice.yaml:"));
            }
        }
    }
    accel_tables_free(tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_cells),
        cmocka_unit_test(cells_can_be_planned),
        cmocka_unit_test(all_recommendations),
        cmocka_unit_test(all_claims),
        cmocka_unit_test(order_of_remedies),
        cmocka_unit_test(thresholds_of_length),
        cmocka_unit_test(layers_on_processors),
        cmocka_unit_test(accuracy_of_all_models),
        cmocka_unit_test(troubleshooting),
        cmocka_unit_test(steps_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
