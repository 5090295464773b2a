/* SPDX-License-Identifier: Apache-2.0 */
/** @file What tests of the device room share: a context without plugins, a graph of one sum, a source of its weight. */
#ifndef ACCEL_TESTS_UNIT_DEVICE_SUPPORT_H
#define ACCEL_TESTS_UNIT_DEVICE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <accel/accel.h>

#include "core/registry/context.h"
#include "core/registry/registry.h"

/** The code of a call, with words of its error's text (NULL: any). The error is empty afterwards. */
static inline void expect_code(struct accel_error *error, int32_t code, int32_t wanted, const char *words)
{
    if (code != wanted)
        fail_msg("%s instead of %s: %s", accel_error_name(code), accel_error_name(wanted), error->text);
    if (words != NULL && strstr(error->text, words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, error->text);
    memset(error, 0, sizeof(*error));
}

/** y [tokens, 4] = x [tokens, 4] + w [4]; tokens 1 to 8. */
struct sum_graph {
    struct accel_builder *builder;
    const struct accel_graph *graph;
    uint32_t x, w, y;
};

static inline void sum_graph_make(struct sum_graph *sum)
{
    struct accel_error error = {0};
    struct accel_dim dims[2] = {{0}, {.add = 4}};
    struct accel_dim row = {.add = 4};
    uint32_t symbol = 0;
    uint32_t inputs[2];
    assert_int_equal(accel_builder_create("sum", &sum->builder, &error), ACCEL_OK);
    assert_int_equal(accel_builder_symbol(sum->builder, "tokens", 1, 8, &symbol, &error), ACCEL_OK);
    dims[0] = (struct accel_dim){.symbol = symbol, .multiply = 1, .divide = 1};
    assert_int_equal(accel_builder_value(sum->builder, ACCEL_ROLE_INPUT, "x", ACCEL_F32, 2, dims, &sum->x, &error),
                     ACCEL_OK);
    assert_int_equal(accel_builder_value(sum->builder, ACCEL_ROLE_WEIGHT, "w", ACCEL_F32, 1, &row, &sum->w, &error),
                     ACCEL_OK);
    inputs[0] = sum->x;
    inputs[1] = sum->w;
    assert_int_equal(accel_builder_node(sum->builder, ACCEL_OP_ADD, "add", inputs, 2, NULL, &sum->y, &error), ACCEL_OK);
    assert_int_equal(accel_builder_output(sum->builder, sum->y, "y", &error), ACCEL_OK);
    assert_int_equal(accel_builder_finish(sum->builder, &sum->graph, &error), ACCEL_OK);
}

/** A source of the weight w = {1, 2, 3, 4}. */
struct sum_source {
    struct accel_source source;
    _Alignas(64) float values[5];
    uint32_t offset;    /* 1: mapped at an odd place */
    uint32_t no_map;    /* 1: reads alone */
    uint64_t map_bytes; /* what map says it has; 0: the truth */
    int32_t read_code;
    uint32_t reads;
};

static inline int32_t sum_source_map(const struct accel_source *base, const char *key, uint32_t plane,
                                     const void **out_address, uint64_t *out_bytes, struct accel_error *error)
{
    const struct sum_source *source = (const struct sum_source *)base;
    if (strcmp(key, "w") != 0 || plane != 0)
        return accel_error_set(error, ACCEL_E_NOT_FOUND, "no weight %s", key);
    if (source->no_map)
        return ACCEL_E_UNSUPPORTED;
    *out_address = source->values + source->offset;
    *out_bytes = source->map_bytes == 0 ? 16 : source->map_bytes;
    return ACCEL_OK;
}

static inline int32_t sum_source_read(const struct accel_source *base, const char *key, uint32_t plane, uint64_t offset,
                                      void *memory, uint64_t bytes, struct accel_error *error)
{
    struct sum_source *source = (struct sum_source *)(uintptr_t)base;
    (void)key, (void)plane;
    source->reads++;
    if (source->read_code != ACCEL_OK)
        return accel_error_set(error, source->read_code, "the source was told to fail");
    memcpy(memory, (const char *)(source->values + source->offset) + offset, bytes);
    return ACCEL_OK;
}

static inline void sum_source_make(struct sum_source *source, uint32_t offset)
{
    memset(source, 0, sizeof(*source));
    source->source =
        (struct accel_source){.size = sizeof(source->source), .map = sum_source_map, .read = sum_source_read};
    source->offset = offset;
    for (uint32_t i = 0; i < 4; i++)
        source->values[i + offset] = (float)(i + 1);
}

/** A context that has looked at the machine, with one driver attached. */
static inline struct accel_context *context_with(const struct accel_driver *driver)
{
    struct accel_context_options options = {.size = sizeof(options), .flags = ACCEL_CONTEXT_NO_PLUGINS};
    struct accel_context *context = NULL;
    struct accel_error error = {0};
    assert_int_equal(accel_context_create(&options, &context, &error), ACCEL_OK);
    assert_int_equal(accel_context_discover(context, &error), ACCEL_OK);
    if (driver != NULL && accel_context_attach_driver(context, driver, &error) != ACCEL_OK)
        fail_msg("%s", error.text);
    return context;
}

#endif
