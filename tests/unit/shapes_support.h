/* SPDX-License-Identifier: Apache-2.0 */
/** @file Shapes of models for tests of plans, made from a row of shapes. */
#ifndef ACCEL_TESTS_UNIT_SHAPES_SUPPORT_H
#define ACCEL_TESTS_UNIT_SHAPES_SUPPORT_H

#include <stdio.h>

#include "tests/unit/device_support.h"

/** Shapes of a decoder whose layers have a gated feed-forward part. */
struct shapes {
    uint32_t layers, hidden, ffn, heads, kv_heads, head_size;
    uint64_t vocabulary;
    uint32_t type; /* of matrices in the file; norms are F32 there, where the type is known */
};

/** A shapes with its own memory. */
struct owned_shapes {
    struct accel_sketch model;
    struct accel_sketch_component component;
    struct accel_sketch_weight *weights;
};

static inline void shapes_add(struct owned_shapes *s, const char *role, uint32_t layer, uint64_t rows, uint64_t columns,
                              uint32_t type)
{
    s->weights[s->model.weight_count++] = (struct accel_sketch_weight){.size = sizeof(struct accel_sketch_weight),
                                                                       .layer = layer,
                                                                       .name = role,
                                                                       .component = "language",
                                                                       .role = role,
                                                                       .type = type,
                                                                       .rows = rows,
                                                                       .columns = columns};
}

static inline void shapes_make(struct owned_shapes *s, const struct shapes *m)
{
    uint32_t norm = m->type ? ACCEL_F32 : ACCEL_TYPE_NONE;
    uint64_t q = (uint64_t)m->heads * m->head_size, kv = (uint64_t)m->kv_heads * m->head_size;
    memset(s, 0, sizeof(*s));
    s->weights = calloc((size_t)m->layers * 9 + 8, sizeof(*s->weights));
    assert_non_null(s->weights);
    shapes_add(s, "embedding", ACCEL_NO_LAYER, m->vocabulary, m->hidden, m->type);
    for (uint32_t layer = 0; layer < m->layers; layer++) {
        shapes_add(s, "norm", layer, 1, m->hidden, norm);
        shapes_add(s, "attention.q", layer, q, m->hidden, m->type);
        shapes_add(s, "attention.k", layer, kv, m->hidden, m->type);
        shapes_add(s, "attention.v", layer, kv, m->hidden, m->type);
        shapes_add(s, "attention.o", layer, m->hidden, q, m->type);
        shapes_add(s, "norm", layer, 1, m->hidden, norm);
        shapes_add(s, "ffn.gate", layer, m->ffn, m->hidden, m->type);
        shapes_add(s, "ffn.up", layer, m->ffn, m->hidden, m->type);
        shapes_add(s, "ffn.down", layer, m->hidden, m->ffn, m->type);
    }
    shapes_add(s, "norm", ACCEL_NO_LAYER, 1, m->hidden, norm);
    shapes_add(s, "head", ACCEL_NO_LAYER, m->vocabulary, m->hidden, m->type);
    s->component = (struct accel_sketch_component){.size = sizeof(s->component),
                                                   .layers = m->layers,
                                                   .hidden = m->hidden,
                                                   .ffn = m->ffn,
                                                   .heads = m->heads,
                                                   .kv_heads = m->kv_heads,
                                                   .head_size = m->head_size,
                                                   .value_size = m->head_size,
                                                   .cached = 1,
                                                   .vocabulary = m->vocabulary,
                                                   .name = "language"};
    s->model.size = sizeof(s->model);
    s->model.weights = s->weights;
    s->model.components = &s->component;
    s->model.component_count = 1;
    s->model.origin = "the test";
}

static inline void shapes_free(struct owned_shapes *s)
{
    free(s->weights);
    s->weights = NULL;
}

static inline const struct accel_plan_memory *memory_row(const struct accel_plan *plan, uint32_t memory_class)
{
    for (uint32_t i = 0; i < accel_plan_memory_count(plan); i++)
        if (accel_plan_memory_get(plan, i)->memory_class == memory_class)
            return accel_plan_memory_get(plan, i);
    return NULL;
}

static inline const struct accel_plan_part *part_of(const struct accel_plan *plan, const char *role)
{
    for (uint32_t i = 0; i < accel_plan_part_count(plan); i++)
        if (strcmp(accel_plan_part_get(plan, i)->role, role) == 0)
            return accel_plan_part_get(plan, i);
    return NULL;
}

static inline const struct accel_plan_note *note_of(const struct accel_plan *plan, const char *key, const char *words)
{
    for (uint32_t i = 0; i < accel_plan_note_count(plan); i++) {
        const struct accel_plan_note *note = accel_plan_note_get(plan, i);
        if (strcmp(note->key, key) == 0 && strstr(note->text, words))
            return note;
    }
    return NULL;
}

#endif
