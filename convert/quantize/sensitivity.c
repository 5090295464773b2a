/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/quantize/sensitivity.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "convert/quantize/probe.h"
#include "model/describe/internal.h"
#include "model/file/fault.h"
#include "model/file/parallel.h"
#include "model/file/rows.h"

enum { SAMPLE = 32, TYPES_MOST = 64, PROBE_LEAST = 64, PROBE_MOST = 256, PROBE_TOKENS = 16384 };

/* Default candidates: types that GGUF numbers if it numbers the base type, else planar ones. */
static const char *const numbered[] = {"q2_k", "q3_k", "iq4_xs", "iq4_nl", "q4_0", "q4_k", "q4_1",
                                       "q5_0", "q5_k", "q5_1",   "q6_k",   "q8_0", "f16",  NULL};
static const char *const planar[] = {"q2_g64",  "q2_g64a", "q2_g32a", "q3_g128", "q3_g64",  "q3_g64a",
                                     "q3_g32a", "q4_g128", "q4_g64",  "nf4_g64", "q4_g64a", "q4_g32a",
                                     "q8_g128", "q8_g64",  "f16",     NULL};

/* Estimated divergence per relative squared error of 1, by role, if it is not measured. */
static const struct {
    const char *role;
    double weight;
} roles[] = {
    {"head", 3},           {"embedding", 3},   {"attention.q", 0.06}, {"attention.k", 0.1}, {"attention.v", 0.15},
    {"attention.o", 0.07}, {"ffn.gate", 0.25}, {"ffn.up", 0.3},       {"ffn.down", 0.35},
};
#define WEIGHT_OTHERS 0.2

/* Weight of the quadratic term of errors. */
#define LARGE_ERRORS 10.0

struct scan {
    struct accel_quantize_job *job;
    const struct quantize_rules *rules;
    const struct quantize_statistics *statistics;
    uint32_t types[TYPES_MOST]; /* candidates */
    uint32_t type_count;
    uint32_t weighted;     /* 1: the run will weight errors by the power of inputs */
    uint32_t *probe_types; /* [count] ACCEL_TYPE_NONE: the tensor is not probed */
    double *probe_errors;  /* [count] relative, squared, in that type */
    atomic_uint_least64_t next;
    pthread_mutex_t mutex; /* of the two below */
    int32_t code;          /* of the first failure */
    struct accel_error error;
};

/* Memory of one thread for the rows of one tensor. */
struct sample {
    struct model_rows from;
    uint64_t rows;
    float *values; /* [rows, width] */
    float *again;  /* [width] */
    unsigned char *bytes;
};

/* ---- candidates ---- */

static int32_t read_types(struct scan *scan, struct accel_error *error)
{
    const struct accel_quantize_options *options = scan->rules->options;
    const char *const *names = options->candidates;
    uint32_t count = options->candidate_count;
    struct accel_format format;
    int32_t code = ACCEL_OK;

    if (names == NULL && count > 0)
        return accel_error_set(error, ACCEL_E_INVALID, "accel_quantize_options.candidates is NULL");
    if (count == 0) {
        names = accel_format_describe(scan->rules->type, &format) == ACCEL_OK && format.kind == ACCEL_FORMAT_PLANAR
                    ? planar
                    : numbered;
        for (count = 0; names[count] != NULL;)
            count++;
    }
    if (count > TYPES_MOST)
        return accel_error_set(error, ACCEL_E_INVALID, "%u candidate types for a budget, %d are the most", count,
                               TYPES_MOST);
    scan->type_count = count;
    scan->job->candidates = calloc(count, sizeof(*scan->job->candidates));
    if (scan->job->candidates == NULL)
        return accel_error_no_memory(error, "for %u candidate types", count);
    for (uint32_t i = 0; i < count && code == ACCEL_OK; i++) {
        code = quantize_type_read(names[i], options, "candidate", &scan->types[i], error);
        if (code == ACCEL_OK)
            code = accel_format_describe(scan->types[i], &scan->job->candidates[i]);
    }
    return code;
}

/* ---- errors ---- */

/* Encodes the sample; *out_error gets the relative squared error, with `power` or without. */
static int32_t measure(const struct sample *sample, const struct model_rows *to, const float *power,
                       const float *fit_power, double *out_error)
{
    struct model_loss loss = {0, 0};
    int32_t code = ACCEL_OK;

    for (uint64_t row = 0; row < sample->rows && code == ACCEL_OK; row++) {
        const float *values = sample->values + row * to->width;

        code = model_row_fit(to, values, fit_power, sample->bytes, sample->again);
        if (code == ACCEL_OK)
            model_loss_add(&loss, values, sample->again, power, to->width);
    }
    *out_error = loss.power > 0 ? loss.difference / loss.power : 0;
    return code == ACCEL_OK && !isfinite(*out_error) ? ACCEL_E_CORRUPT : code;
}

static int compare_candidates(const void *one, const void *other)
{
    const struct accel_quantize_candidate *a = one, *b = other;

    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    if (a->error != b->error)
        return a->error < b->error ? -1 : 1;
    return (a->type > b->type) - (a->type < b->type);
}

/* Returns the type in which a tensor is probed: 3 bits in the largest group up to 64 that divides its rows. */
static uint32_t probe_type(uint64_t width)
{
    static const char *const names[] = {"q3_g64", "q3_g32"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        uint32_t type = accel_format_find(names[i]);

        if (model_narrow_type(type, width) == type)
            return type;
    }
    return ACCEL_TYPE_NONE;
}

static int32_t fill_menu(struct scan *scan, uint64_t index, const struct accel_model_tensor *tensor,
                         const struct sample *sample, const float *power)
{
    struct quantize_menu *menu = &scan->job->menus[index];
    const float *fit_power = scan->weighted ? power : NULL;
    int32_t code = ACCEL_OK;

    menu->candidates = calloc(scan->type_count, sizeof(*menu->candidates));
    if (menu->candidates == NULL)
        return ACCEL_E_MEMORY;
    for (uint32_t t = 0; t < scan->type_count && code == ACCEL_OK; t++) {
        struct accel_quantize_candidate *candidate = &menu->candidates[menu->count];
        struct model_rows to;
        double error;

        if (model_narrow_type(scan->types[t], sample->from.width) != scan->types[t] ||
            model_rows_of(tensor, scan->types[t], &to) != ACCEL_OK)
            continue;
        code = measure(sample, &to, power, fit_power, &error);
        /* Values too large for a type exclude the candidate; the run reports them if no candidate remains. */
        if (code == ACCEL_E_CORRUPT) {
            code = ACCEL_OK;
        } else if (code == ACCEL_OK) {
            *candidate = (struct accel_quantize_candidate){.size = sizeof(*candidate),
                                                           .type = scan->types[t],
                                                           .type_name = scan->job->candidates[t].name,
                                                           .bytes = to.rows * to.all_bytes,
                                                           .error = sqrt(error)};
            menu->count++;
        }
    }
    qsort(menu->candidates, menu->count, sizeof(*menu->candidates), compare_candidates);
    return code;
}

/* Measures the error of the tensor in its probe type. The probe's weights are encoded on load, without calibrated
 * inputs. A tensor with values too large for that type is not probed. */
static int32_t measure_probe(struct scan *scan, uint64_t index, const struct accel_model_tensor *tensor,
                             const struct sample *sample, const float *power)
{
    uint32_t type = scan->statistics == NULL ? ACCEL_TYPE_NONE : probe_type(sample->from.width);
    struct model_rows to;
    int32_t code = type == ACCEL_TYPE_NONE ? ACCEL_OK : model_rows_of(tensor, type, &to);

    if (code == ACCEL_OK && type != ACCEL_TYPE_NONE)
        code = measure(sample, &to, power, NULL, &scan->probe_errors[index]);
    scan->probe_types[index] = code == ACCEL_E_CORRUPT ? ACCEL_TYPE_NONE : type;
    return code == ACCEL_E_CORRUPT ? ACCEL_OK : code;
}

static int32_t measure_tensor(struct scan *scan, uint64_t index, const struct accel_model_tensor *tensor,
                              const struct sample *sample)
{
    uint64_t width = 0;
    const float *power =
        scan->statistics == NULL ? NULL : quantize_statistics_power(scan->statistics, tensor->name, &width);
    int32_t code = fill_menu(scan, index, tensor, sample, power);

    return code == ACCEL_OK ? measure_probe(scan, index, tensor, sample, power) : code;
}

/* Reads sample rows at equal distances. */
static int32_t read_sample(struct scan *scan, const struct accel_model_tensor *tensor, struct sample *sample,
                           struct accel_error *error)
{
    int32_t code = model_rows_of(tensor, tensor->type, &sample->from);
    uint64_t rows = sample->from.rows, width = sample->from.width;
    size_t scratch = sample->from.all_bytes > width * sizeof(double) ? sample->from.all_bytes : width * sizeof(double);

    if (code != ACCEL_OK)
        return code;
    sample->rows = rows < SAMPLE ? rows : SAMPLE;
    sample->values = malloc((size_t)(sample->rows * width) * sizeof(*sample->values));
    sample->again = malloc((size_t)width * sizeof(*sample->again));
    /* A row of any type needs at most 8 bytes per value, plus its data outside of blocks. */
    sample->bytes = malloc(scratch + 1024);
    if (sample->values == NULL || sample->again == NULL || sample->bytes == NULL)
        return ACCEL_E_MEMORY;
    for (uint64_t i = 0; i < sample->rows && code == ACCEL_OK; i++)
        code = model_rows_decode(scan->job->file, tensor, &sample->from, (2 * i + 1) * rows / (2 * sample->rows), 1,
                                 sample->bytes, sample->values + i * width, error);
    for (uint64_t i = 0; i < sample->rows * width && code == ACCEL_OK; i++)
        if (!isfinite(sample->values[i]))
            code = model_fault(error, ACCEL_E_CORRUPT, accel_model_file_path(scan->job->file), MODEL_NO_OFFSET,
                               "tensor %.100s: a value is not finite", tensor->name);
    return code;
}

static void work(void *data, uint32_t share)
{
    struct scan *scan = data;

    (void)share;
    for (;;) {
        uint64_t index = atomic_fetch_add(&scan->next, 1);
        const struct accel_model_tensor *tensor;
        struct sample sample = {0};
        struct accel_error error = {0};
        int32_t code;

        if (index >= scan->job->count)
            return;
        if (!quantize_is_free(scan->job, scan->rules, index))
            continue;
        tensor = accel_model_file_tensor(scan->job->file, index);
        code = read_sample(scan, tensor, &sample, &error);
        if (code == ACCEL_OK)
            code = measure_tensor(scan, index, tensor, &sample);
        free(sample.values);
        free(sample.again);
        free(sample.bytes);
        if (code == ACCEL_OK)
            continue;
        model_fault(&error, code, accel_model_file_path(scan->job->file), MODEL_NO_OFFSET,
                    "the quantization loss of tensor %.100s cannot be measured", tensor->name);
        pthread_mutex_lock(&scan->mutex);
        if (scan->code == ACCEL_OK) {
            scan->code = code;
            scan->error = error;
        }
        pthread_mutex_unlock(&scan->mutex);
        atomic_store(&scan->next, scan->job->count);
    }
}

/* ---- weights ---- */

static uint32_t layers_of(const struct scan *scan)
{
    uint32_t layers = 0;

    for (uint64_t i = 0; i < scan->job->count; i++) {
        struct name_facts facts;

        name_read(accel_model_file_tensor(scan->job->file, i)->name, scan->rules->family, 2, &facts);
        if (facts.layer < NAME_STAGED && facts.layer >= layers)
            layers = facts.layer + 1;
    }
    return layers;
}

/* Returns the weight of a tensor by role and layer, without a measurement. */
static double weight_by_name(const struct scan *scan, uint64_t index, uint32_t layers)
{
    const struct accel_model_tensor *tensor = accel_model_file_tensor(scan->job->file, index);
    struct name_facts facts;
    double weight = WEIGHT_OTHERS;

    name_read(tensor->name, scan->rules->family, tensor->rank, &facts);
    for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
        weight = strcmp(roles[i].role, facts.role) == 0 ? roles[i].weight : weight;
    if (facts.layer == 0 || facts.layer + 1 == layers)
        return 4 * weight;
    return facts.layer == 1 ? 2 * weight : weight;
}

static void weigh(struct scan *scan, const double *weights)
{
    uint32_t layers = layers_of(scan);

    for (uint64_t i = 0; i < scan->job->count; i++) {
        struct quantize_menu *menu = &scan->job->menus[i];
        double weight = weights != NULL && weights[i] > 0 ? weights[i] : 0;

        if (menu->count > 0 && weight <= 0)
            weight = weight_by_name(scan, i, layers);
        for (uint32_t c = 0; c < menu->count; c++) {
            double square = menu->candidates[c].error * menu->candidates[c].error;

            menu->candidates[c].loss = weight * square * (1 + LARGE_ERRORS * square);
        }
    }
}

/* Runs one probe for each tensor that has a menu and a probe type. */
static int32_t probe(struct scan *scan, struct accel_error *error)
{
    uint64_t count = scan->job->count, tokens;
    struct quantize_probe *probes = calloc((size_t)count + 1, sizeof(*probes));
    struct weight_type *rows = calloc((size_t)count + 1, sizeof(*rows));
    double *weights = calloc((size_t)count + 1, sizeof(*weights));
    uint32_t used = 0, at = 0;
    int32_t code = ACCEL_OK;

    if (probes == NULL || rows == NULL || weights == NULL)
        code = accel_error_no_memory(error, "for probes of %llu tensors", (unsigned long long)count);
    for (uint64_t i = 0; i < count && code == ACCEL_OK; i++) {
        if (scan->job->menus[i].count < 2 || scan->probe_types[i] == ACCEL_TYPE_NONE || scan->probe_errors[i] <= 0)
            continue;
        rows[used] = (struct weight_type){.name = accel_model_file_tensor(scan->job->file, i)->name,
                                          .type = scan->probe_types[i]};
        probes[used] = (struct quantize_probe){.rows = &rows[used], .count = 1};
        used++;
    }
    tokens = used == 0 ? 0 : PROBE_TOKENS / used;
    tokens = tokens < PROBE_LEAST ? PROBE_LEAST : tokens > PROBE_MOST ? PROBE_MOST : tokens;
    if (code == ACCEL_OK && used > 0)
        code = quantize_probe_run(quantize_statistics_text(scan->statistics), tokens, probes, used, error);
    for (uint64_t i = 0; i < count && code == ACCEL_OK; i++)
        if (at < used && rows[at].name == accel_model_file_tensor(scan->job->file, i)->name)
            weights[i] = probes[at++].divergence / scan->probe_errors[i];
    if (code == ACCEL_OK)
        weigh(scan, weights);
    free(probes);
    free(rows);
    free(weights);
    return code;
}

int32_t quantize_sensitivity(struct accel_quantize_job *job, const struct quantize_rules *rules,
                             const struct quantize_statistics *statistics, struct accel_error *error)
{
    struct scan scan = {.job = job,
                        .rules = rules,
                        .statistics = statistics,
                        .weighted = job->method >= ACCEL_QUANTIZE_METHOD_IMPORTANCE};
    int32_t code = read_types(&scan, error);

    if (code != ACCEL_OK)
        return code;
    quantize_menus_free(job->menus, job->count);
    job->menus = calloc((size_t)job->count + 1, sizeof(*job->menus));
    scan.probe_types = calloc((size_t)job->count + 1, sizeof(*scan.probe_types));
    scan.probe_errors = calloc((size_t)job->count + 1, sizeof(*scan.probe_errors));
    if (job->menus == NULL || scan.probe_types == NULL || scan.probe_errors == NULL)
        code = accel_error_no_memory(error, "for candidates of %llu tensors", (unsigned long long)job->count);
    if (code == ACCEL_OK) {
        pthread_mutex_init(&scan.mutex, NULL);
        model_parallel_for(scan.job->threads, work, &scan);
        pthread_mutex_destroy(&scan.mutex);
        code = scan.code;
        if (code != ACCEL_OK && error != NULL && error->code == ACCEL_OK)
            *error = scan.error;
    }
    if (code == ACCEL_OK && statistics != NULL)
        code = probe(&scan, error);
    else if (code == ACCEL_OK)
        weigh(&scan, NULL);
    free(scan.probe_types);
    free(scan.probe_errors);
    return code;
}
