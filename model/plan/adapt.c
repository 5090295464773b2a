/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adaptive precision. If precision.dynamic is on and the plan exceeds its memory, matrices, and the experts of a layer
 * together, step down to fewer bits: first the matrix that adds the least squared relative error per byte saved. If
 * precision.tolerance is set, converted matrices whose error exceeds it step up as far as memory allows. Errors are
 * measured: evenly spaced rows of the file are encoded, decoded and compared with the original values. The model is
 * then planned again with the new types, and the plan gets one note for all matrices of a role with equal old and new
 * types, with type, bytes and error before and after.
 */
#include "model/plan/adapt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>

#include "model/file/derived.h"
#include "model/file/rows.h"

/* Rows sampled from a matrix. */
enum { SAMPLE = 32, ROUNDS = 8 };

/* Bits; 16 is f16. */
static const uint32_t ladder[] = {16, 8, 4, 3, 2};
#define RUNGS (sizeof(ladder) / sizeof(*ladder))

/* ---- settings ---- */

/* Returns the bits of a value of weights.least, 0 for none. */
static uint32_t bits_of(uint32_t word)
{
    switch (word) {
    case ACCEL_WORD_Q2:
        return 2;
    case ACCEL_WORD_Q3:
        return 3;
    case ACCEL_WORD_Q4:
        return 4;
    case ACCEL_WORD_Q8:
        return 8;
    case ACCEL_WORD_F16:
        return 16;
    default:
        return 0;
    }
}

static void read_settings(struct adapting *a)
{
    const struct settings *settings = &a->plan->settings;

    while (a->log2_group < 9 && (INT64_C(1) << a->log2_group) < settings->weights_group->number)
        a->log2_group++;
    a->scheme =
        settings->weights_scheme->word == ACCEL_WORD_ASYMMETRIC ? ACCEL_SCHEME_ASYMMETRIC : ACCEL_SCHEME_SYMMETRIC;
    a->least = bits_of(settings->weights_least->word);
}

/* ---- forms ---- */

static bool reads(const struct accel_model_plan *plan, uint32_t type)
{
    const struct accel_device_info *device = accel_plan_device(accel_model_plan_plan(plan));
    const struct accel_facts *facts = device == NULL ? NULL : device->facts;

    for (uint32_t i = 0; facts != NULL && i < facts->type_count; i++)
        if (facts->types[i] == type)
            return true;
    return facts == NULL || facts->type_count == 0;
}

/* Returns the planar type of `bits`, with the largest group up to the configured one that divides the rows; auto is 64
 * for 2 bits, else 128. */
static struct form form_of(const struct adapting *a, const struct matrix *m, uint32_t bits)
{
    uint64_t width = m->tensor->dims[m->tensor->rank - 1];
    struct form form = {ACCEL_TYPE_NONE, 0, 0};
    struct model_rows rows;

    if (bits == 16)
        return (struct form){reads(a->plan, ACCEL_F16) ? ACCEL_F16 : ACCEL_TYPE_NONE,
                             model_tensor_elements(m->tensor) * 2, 0};
    for (uint32_t log2_group = a->log2_group != 0 ? a->log2_group : bits == 2 ? 6 : 7; log2_group >= 5; log2_group--) {
        uint32_t type = ACCEL_PLANAR(bits, log2_group, a->scheme);

        if (width % (UINT64_C(1) << log2_group) != 0 || !reads(a->plan, type) ||
            model_rows_of(m->tensor, type, &rows) != ACCEL_OK)
            continue;
        form = (struct form){type, rows.rows * rows.all_bytes, 0};
        break;
    }
    return form;
}

/* Adds the error of one row. */
static int32_t measure_row(const struct adapting *a, const struct matrix *m, const struct model_rows *from,
                           const struct model_rows *to, uint64_t row, struct model_loss *loss)
{
    float *again = a->values + from->width;
    void *bytes = again + from->width;
    int32_t code = model_rows_decode(a->file, m->tensor, from, row, 1, bytes, a->values, a->error);

    if (code != ACCEL_OK)
        return code;
    code = model_row_fit(to, a->values, NULL, bytes, again);
    if (code != ACCEL_OK)
        return accel_error_set(a->error, code, "tensor '%s' cannot be converted", m->tensor->name);
    model_loss_add(loss, a->values, again, NULL, from->width);
    return ACCEL_OK;
}

static int32_t measure(const struct adapting *a, const struct matrix *m, struct form *form)
{
    struct model_loss loss = {0, 0};
    struct model_rows from, to;
    uint64_t step;
    int32_t code;

    form->error = 0;
    if (form->type == m->tensor->type)
        return ACCEL_OK;
    code = model_rows_of(m->tensor, m->tensor->type, &from);
    if (code == ACCEL_OK)
        code = model_rows_of(m->tensor, form->type, &to);
    if (code != ACCEL_OK)
        return accel_error_set(a->error, code, "tensor '%s' has rows that type 0x%" PRIx32 " cannot represent",
                               m->tensor->name, form->type);
    step = from.rows / SAMPLE == 0 ? 1 : from.rows / SAMPLE;
    for (uint64_t row = 0; row < from.rows && code == ACCEL_OK; row += step)
        code = measure_row(a, m, &from, &to, row, &loss);
    form->error = model_loss_error(&loss);
    return code;
}

/* Finds the highest rung of the ladder that needs fewer bytes than the matrix needs now. */
static int32_t find_below(const struct adapting *a, struct matrix *m)
{
    m->below.type = ACCEL_TYPE_NONE;
    for (size_t r = 0; r < RUNGS && m->below.type == ACCEL_TYPE_NONE; r++) {
        struct form form = ladder[r] < a->least ? (struct form){ACCEL_TYPE_NONE, 0, 0} : form_of(a, m, ladder[r]);

        if (form.type != ACCEL_TYPE_NONE && form.bytes < m->now.bytes)
            m->below = form;
    }
    return m->below.type == ACCEL_TYPE_NONE ? ACCEL_OK : measure(a, m, &m->below);
}

/* Finds the lowest rung that needs more bytes than the matrix needs now and fewer than in the file; else the
 * file's own type, which is exact and may need fewer bytes than now. A file's type that the device does not read is no
 * limit. */
static struct form find_above(const struct adapting *a, const struct matrix *m)
{
    struct form above = {ACCEL_TYPE_NONE, UINT64_MAX, 0};

    if (reads(a->plan, m->tensor->type))
        above = (struct form){m->tensor->type, m->tensor->bytes, 0};
    for (size_t r = 0; r < RUNGS; r++) {
        struct form form = form_of(a, m, ladder[r]);

        if (form.type != ACCEL_TYPE_NONE && form.bytes > m->now.bytes && form.bytes < above.bytes)
            above = form;
    }
    return above;
}

/* ---- matrices ---- */

/* The planned weights, ordered by name. */
struct named {
    const struct accel_plan_weight *weight;
    uint32_t index;
    uint32_t zero;
    uint64_t elements;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->weight->name, ((const struct named *)b)->weight->name);
}

static const struct named *find_named(const struct named *names, uint32_t count, const char *name)
{
    const struct accel_plan_weight weight = {.name = name};
    const struct named wanted = {.weight = &weight};

    return name == NULL ? NULL : bsearch(&wanted, names, count, sizeof(*names), compare_names);
}

static bool add_weight(struct matrix *m, uint32_t *indices, const struct named *found, uint64_t *out_elements)
{
    if (found == NULL || (m->count != 0 && found->weight->type != m->begun.type))
        return false;
    indices[m->count++] = found->index;
    m->begun.type = found->weight->type;
    m->begun.bytes += found->weight->bytes;
    *out_elements += found->elements;
    return true;
}

/* Adds a matrix, or experts, if the plan has its weights in one type: one with the name of the tensor, or all from
 * which it is stacked. */
static void add_matrix(struct adapting *a, const struct accel_model_tensor *tensor, const struct named *names,
                       uint32_t name_count)
{
    uint32_t *indices = a->indices + a->index_count;
    struct matrix m = {.tensor = tensor, .indices = indices};
    uint64_t elements = 0, sources = 0;
    const char *source;

    if (!add_weight(&m, indices, find_named(names, name_count, tensor->name), &elements))
        while ((source = model_derived_source(tensor, sources)) != NULL && a->index_count + sources < name_count &&
               add_weight(&m, indices, find_named(names, name_count, source), &elements))
            sources++;
    /* Tensors that share a weight, with some of its rows each, cannot have types of their own. */
    if (m.count == 0 || elements != model_tensor_elements(tensor))
        return;
    m.now = m.begun;
    a->index_count += m.count;
    a->matrices[a->count++] = m;
}

/* Returns whether the type of a tensor can change: of a matrix, or of experts without a limit, which reads them as they
 * are. */
static bool is_matrix(const struct adapting *a, const struct accel_model_tensor *tensor)
{
    const bool has_limit = plan_expert_limit(accel_model_plan_plan(a->plan)) != 0;

    for (uint32_t d = 0; d < tensor->rank; d++)
        if (tensor->dims[d] < 2 && (d != 0 || tensor->rank == 2))
            return false;
    return tensor->rank == 2 || (tensor->rank == 3 && !has_limit);
}

/* Lists all matrices and experts of the model that the file contains, with their planned types. */
static int32_t list_matrices(struct adapting *a)
{
    const struct accel_plan *made = accel_model_plan_plan(a->plan);
    const struct accel_sketch *shapes = accel_model_description_sketch(a->plan->subject->description);
    const uint32_t all = accel_plan_weight_count(made);
    struct named *names = calloc((size_t)all + 1, sizeof(*names));
    uint64_t widest = 0, bytes = 0;

    a->matrices = calloc((size_t)all + 1, sizeof(*a->matrices));
    a->indices = calloc((size_t)all + 1, sizeof(*a->indices));
    /* Each step up needs more bytes than the one before, and the last is the file's type. */
    a->steps = calloc(((size_t)all + 1) * (RUNGS + 1), sizeof(*a->steps));
    if (a->matrices == NULL || a->indices == NULL || a->steps == NULL || names == NULL) {
        free(names);
        return accel_error_no_memory(a->error, "to adapt the precision of a model");
    }
    for (uint32_t i = 0; i < all; i++)
        names[i] =
            (struct named){accel_plan_weight_get(made, i), i, 0, shapes->weights[i].rows * shapes->weights[i].columns};
    qsort(names, all, sizeof(*names), compare_names);
    for (uint64_t i = 0; i < accel_model_file_tensor_count(a->file); i++) {
        const struct accel_model_tensor *tensor = accel_model_file_tensor(a->file, i);
        struct model_rows rows;

        if (!is_matrix(a, tensor) || model_rows_of(tensor, tensor->type, &rows) != ACCEL_OK)
            continue;
        widest = rows.width > widest ? rows.width : widest;
        bytes = rows.all_bytes > bytes ? rows.all_bytes : bytes;
        add_matrix(a, tensor, names, all);
    }
    free(names);
    /* No encoded row is larger than one of F32. */
    a->values = malloc((size_t)(2 * widest + widest) * sizeof(float) + (size_t)bytes + 1);
    return a->values == NULL ? accel_error_no_memory(a->error, "to adapt the precision of a model") : ACCEL_OK;
}

/* ---- steps ---- */

/* Returns the squared error, each matrix weighted by its elements, that the next step down adds per byte saved. The
 * matrix has a step down. */
static double price_of(const struct matrix *m)
{
    double elements = (double)model_tensor_elements(m->tensor);

    return (m->below.error * m->below.error - m->now.error * m->now.error) * elements /
           (double)(m->now.bytes - m->below.bytes);
}

static struct matrix *find_cheapest(struct adapting *a)
{
    struct matrix *best = NULL;

    for (uint32_t i = 0; i < a->count; i++)
        if (a->matrices[i].below.type != ACCEL_TYPE_NONE &&
            (best == NULL || price_of(&a->matrices[i]) < price_of(best)))
            best = &a->matrices[i];
    return best;
}

/* Steps matrices down until `bytes` are saved or no matrix can go lower. */
static int32_t step_down(struct adapting *a, uint64_t bytes, uint64_t *out_saved)
{
    struct matrix *best;
    int32_t code = ACCEL_OK;

    *out_saved = 0;
    for (uint32_t i = 0; i < a->count && code == ACCEL_OK; i++)
        code = find_below(a, &a->matrices[i]);
    while (code == ACCEL_OK && *out_saved < bytes && (best = find_cheapest(a)) != NULL) {
        *out_saved += best->now.bytes - best->below.bytes;
        best->now = best->below;
        code = find_below(a, best);
    }
    return code;
}

/* Returns whether a change of form adds at most `spare` bytes. */
static bool is_within(const struct form *from, const struct form *to, uint64_t spare)
{
    return to->bytes <= from->bytes || to->bytes - from->bytes <= spare;
}

/* Finds the matrix with the largest error over the tolerance that can step up within `spare` bytes, and its new
 * form. */
static struct matrix *find_worst(struct adapting *a, double tolerance, uint64_t spare, struct form *out_above)
{
    struct matrix *worst = NULL;

    for (uint32_t i = 0; i < a->count; i++) {
        struct matrix *m = &a->matrices[i];
        struct form above;

        if (m->now.type == m->tensor->type || m->now.error <= tolerance ||
            (worst != NULL && m->now.error <= worst->now.error))
            continue;
        above = find_above(a, m);
        if (above.type == ACCEL_TYPE_NONE || !is_within(&m->now, &above, spare))
            continue;
        worst = m;
        *out_above = above;
    }
    return worst;
}

/* Steps converted matrices over the tolerance up, the worst first, as long as `spare` bytes last (UINT64_MAX: without
 * limit). */
static int32_t step_up(struct adapting *a, double tolerance, uint64_t spare)
{
    struct matrix *worst;
    struct form above;
    int32_t code = ACCEL_OK;

    while (code == ACCEL_OK && (worst = find_worst(a, tolerance, spare, &above)) != NULL) {
        struct step *step = &a->steps[a->step_count++];

        *step = (struct step){worst, worst->now, above};
        if (spare != UINT64_MAX)
            spare = spare + worst->now.bytes - above.bytes;
        code = measure(a, worst, &step->to);
        worst->now = step->to;
    }
    a->steps_taken = a->step_count;
    return code;
}

/* Undoes the last steps up, or repeats undone ones, until `count` are taken. */
static void take_steps(struct adapting *a, uint32_t count)
{
    for (; a->steps_taken > count; a->steps_taken--)
        a->steps[a->steps_taken - 1].matrix->now = a->steps[a->steps_taken - 1].from;
    for (; a->steps_taken < count; a->steps_taken++)
        a->steps[a->steps_taken].matrix->now = a->steps[a->steps_taken].to;
}

/* ---- results ---- */

/* Copies the shape plan with the new types, and plans again. */
static int32_t apply(struct adapting *a)
{
    struct accel_model_plan *plan = a->plan;
    const struct accel_sketch *shapes = accel_model_description_sketch(plan->subject->description);
    struct accel_sketch_weight *weights = plan->stepped;

    if (weights == NULL)
        weights = plan->stepped = malloc(((size_t)shapes->weight_count + 1) * sizeof(*weights));
    if (weights == NULL)
        return accel_error_no_memory(a->error, "to adapt the precision of a model");
    if (shapes->weight_count != 0)
        memcpy(weights, shapes->weights, shapes->weight_count * sizeof(*weights));
    plan->stepped_shapes = *shapes;
    plan->stepped_shapes.weights = weights;
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t w = 0; w < a->matrices[i].count && a->matrices[i].now.type != a->matrices[i].begun.type; w++)
            weights[a->matrices[i].indices[w]].wanted = a->matrices[i].now.type;
    return model_plan_remake(plan, a->error);
}

/* Measures the errors of all matrices with their current types. */
static int32_t measure_now(struct adapting *a)
{
    int32_t code = ACCEL_OK;

    for (uint32_t i = 0; i < a->count && code == ACCEL_OK; i++)
        code = measure(a, &a->matrices[i], &a->matrices[i].now);
    return code;
}

/* Measures the errors of all matrices with the types of the settings. */
static int32_t measure_begun(struct adapting *a)
{
    int32_t code = measure_now(a);

    for (uint32_t i = 0; i < a->count && code == ACCEL_OK; i++)
        a->matrices[i].begun.error = a->matrices[i].now.error;
    return code;
}

/* Savings are rounded to pages of mapped files, so a second round may be required. */
static int32_t fit_memory(struct adapting *a)
{
    struct accel_plan_fit fit = model_plan_verdict(a->plan);
    uint64_t saved = 1;
    int32_t code = ACCEL_OK;

    for (uint32_t round = 0; round < ROUNDS && !fit.fits && saved != 0 && code == ACCEL_OK; round++) {
        code = step_down(a, fit.short_by, &saved);
        if (code == ACCEL_OK && saved != 0)
            code = apply(a);
        if (code == ACCEL_OK)
            fit = model_plan_verdict(a->plan);
    }
    return code;
}

/* Plans with the first `count` steps up. */
static int32_t try_steps(struct adapting *a, uint32_t count, bool *out_fits)
{
    int32_t code;

    take_steps(a, count);
    code = apply(a);
    *out_fits = code == ACCEL_OK && a->plan->session != NULL && model_plan_verdict(a->plan).fits;
    return code;
}

/* Steps up as far as memory allows. Steps are chosen by the bytes of weights, but the types of weights also change
 * intermediates (a gate and its other half with different forms of activations need a buffer more), so last steps are
 * undone if the plan does not fit: 1, 2, 4, ..., then bisection between the numbers that fit and that do not. */
static int32_t fit_tolerance(struct adapting *a, double tolerance)
{
    struct accel_plan_fit fit = model_plan_verdict(a->plan);
    uint32_t low = 0, high;
    bool fits;
    int32_t code;

    if (tolerance <= 0 || !fit.fits)
        return ACCEL_OK;
    code = step_up(a, tolerance, fit.budget == 0 ? UINT64_MAX : fit.budget - fit.needed);
    if (code != ACCEL_OK || a->step_count == 0)
        return code;
    high = a->step_count;
    code = try_steps(a, high, &fits);
    if (code != ACCEL_OK || fits)
        return code;
    for (uint32_t undone = 1; code == ACCEL_OK && low == 0 && undone < a->step_count; undone *= 2) {
        code = try_steps(a, a->step_count - undone, &fits);
        *(fits ? &low : &high) = a->steps_taken;
    }
    while (code == ACCEL_OK && high - low > 1) {
        code = try_steps(a, low + (high - low) / 2, &fits);
        *(fits ? &low : &high) = a->steps_taken;
    }
    return code == ACCEL_OK && a->steps_taken != low ? try_steps(a, low, &fits) : code;
}

int32_t model_plan_adapt(struct accel_model_plan *plan, struct accel_error *error)
{
    struct adapting a = {.plan = plan, .error = error};
    const bool dynamic = setting_is_on(plan->settings.precision_dynamic);
    const bool measured = setting_is_on(plan->settings.precision_measure);
    const double tolerance = (double)plan->settings.precision_tolerance->number / 1000;
    int32_t code;

    if (plan->session == NULL || (!measured && tolerance <= 0 && (!dynamic || model_plan_verdict(plan).fits)))
        return ACCEL_OK;
    a.file = accel_model_file_of(plan->subject->model);
    read_settings(&a);
    code = list_matrices(&a);
    if (code == ACCEL_OK)
        code = measure_begun(&a);
    if (code == ACCEL_OK && dynamic)
        code = fit_memory(&a);
    if (code == ACCEL_OK)
        code = fit_tolerance(&a, tolerance);
    if (code == ACCEL_OK)
        code = adapt_note_steps(&a);
    if (code == ACCEL_OK)
        code = adapt_note_others(&a, measured        ? "precision.measure"
                                     : tolerance > 0 ? "precision.tolerance"
                                                     : "precision.dynamic");
    if (code == ACCEL_OK && measured)
        code = measure_now(&a);
    if (code == ACCEL_OK && measured)
        code = adapt_note_errors(&a);
    free(a.matrices);
    free(a.indices);
    free(a.steps);
    free(a.values);
    return code;
}
