/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the results of adaptive precision as notes of the plan. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/quant/format.h>

#include "model/plan/adapt.h"

static const char *type_name(uint32_t type, struct accel_format *format)
{
    return accel_format_describe(type, format) == ACCEL_OK ? format->name : "?";
}

/* Matrices of one role with the same old and new type. */
struct group {
    const struct matrix *first;
    uint32_t count;
    uint64_t begun_bytes, now_bytes;
    double begun_squares, now_squares;
};

static const char *role_of(const struct adapting *a, const struct matrix *m)
{
    return a->plan->stepped_shapes.weights[m->indices[0]].role;
}

static bool is_same_step(const struct adapting *a, const struct matrix *one, const struct matrix *other)
{
    return one->begun.type == other->begun.type && one->now.type == other->now.type &&
           strcmp(role_of(a, one), role_of(a, other)) == 0;
}

static void sum_group(const struct adapting *a, const struct matrix *first, struct group *out)
{
    *out = (struct group){.first = first};
    for (uint32_t i = 0; i < a->count; i++) {
        const struct matrix *m = &a->matrices[i];

        if (!is_same_step(a, first, m))
            continue;
        out->count += m->count;
        out->begun_bytes += m->begun.bytes;
        out->now_bytes += m->now.bytes;
        out->begun_squares += m->count * m->begun.error * m->begun.error;
        out->now_squares += m->count * m->now.error * m->now.error;
    }
}

static int32_t note_group(const struct adapting *a, const struct group *group)
{
    const uint32_t down = group->now_bytes < group->begun_bytes && group->now_squares >= group->begun_squares;
    struct accel_format begun, now;
    char text[400];
    struct accel_plan_note note = {.size = sizeof(note),
                                   .level = ACCEL_NOTE_INFO,
                                   .key = down ? "precision.dynamic" : "precision.tolerance",
                                   .text = text,
                                   .remedy = ""};

    snprintf(text, sizeof(text),
             "%.40s: %u %s %s from %s, %" PRIu64 " bytes, relative error %.5f, to %s, %" PRIu64
             " bytes, relative error %.5f",
             role_of(a, group->first), group->count, group->count == 1 ? "matrix steps" : "matrices step",
             down ? "down" : "up", type_name(group->first->begun.type, &begun), group->begun_bytes,
             sqrt(group->begun_squares / group->count), type_name(group->first->now.type, &now), group->now_bytes,
             sqrt(group->now_squares / group->count));
    return accel_plan_note(a->plan->plan, &note, a->error);
}

int32_t adapt_note_steps(const struct adapting *a)
{
    int32_t code = ACCEL_OK;

    for (uint32_t i = 0; i < a->count && code == ACCEL_OK; i++) {
        const struct matrix *m = &a->matrices[i];
        uint32_t earlier = 0;
        struct group group;

        if (m->now.type == m->begun.type)
            continue;
        for (uint32_t j = 0; j < i && !earlier; j++)
            earlier = is_same_step(a, m, &a->matrices[j]);
        if (earlier)
            continue;
        sum_group(a, m, &group);
        code = note_group(a, &group);
    }
    return code;
}

int32_t adapt_note_errors(const struct adapting *a)
{
    const struct matrix *worst = NULL;
    uint32_t converted = 0;
    double squares = 0;
    char text[400];
    struct accel_plan_note note = {
        .size = sizeof(note), .level = ACCEL_NOTE_INFO, .key = "precision.measure", .text = text, .remedy = ""};

    for (uint32_t i = 0; i < a->count; i++) {
        const struct matrix *m = &a->matrices[i];

        if (m->now.type == m->tensor->type)
            continue;
        converted += m->count;
        squares += m->count * m->now.error * m->now.error;
        worst = worst == NULL || m->now.error > worst->now.error ? m : worst;
    }
    if (worst == NULL)
        snprintf(text, sizeof(text), "no matrix is converted, so that there is no error to measure");
    else
        snprintf(text, sizeof(text),
                 "%u matrices are converted: relative error %.5f in the mean of squares, at most %.5f "
                 "(%.160s)",
                 converted, sqrt(squares / converted), worst->now.error, worst->tensor->name);
    return accel_plan_note(a->plan->plan, &note, a->error);
}

int32_t adapt_note_others(const struct adapting *a, const char *key)
{
    const struct accel_sketch *shapes = accel_model_description_sketch(a->plan->subject->description);
    bool *is_listed = calloc((size_t)shapes->weight_count + 1, sizeof(*is_listed));
    const char *first = NULL;
    uint32_t others = 0;
    char text[400];
    struct accel_plan_note note = {
        .size = sizeof(note), .level = ACCEL_NOTE_INFO, .key = key, .text = text, .remedy = ""};

    if (is_listed == NULL)
        return accel_error_no_memory(a->error, "to adapt the precision of a model");
    for (uint32_t i = 0; i < a->index_count; i++)
        is_listed[a->indices[i]] = true;
    for (uint32_t w = 0; w < shapes->weight_count; w++) {
        if (is_listed[w] || shapes->weights[w].rows < 2 || shapes->weights[w].columns < 2)
            continue;
        first = first == NULL ? shapes->weights[w].name : first;
        others++;
    }
    free(is_listed);
    if (others == 0)
        return ACCEL_OK;
    snprintf(text, sizeof(text),
             "%" PRIu32
             " %s (%.200s%s) no part: of a type that is not decoded, of rows that several matrices share, or "
             "experts that are read from the file",
             others, others == 1 ? "weight takes" : "weights take", first, others == 1 ? "" : ", ...");
    return accel_plan_note(a->plan->plan, &note, a->error);
}
