/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Runs graphs on a driver through the public headers alone: a context that loads the driver's file, graphs in a few
 * lines, data by name. Every failure ends the test with the error's text.
 */
#ifndef ACCEL_TESTS_DRIVERS_RIG_H
#define ACCEL_TESTS_DRIVERS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <accel/accel.h>
#include <accel/builder.h>
#include <accel/context.h>
#include <accel/run.h>

#define RIG_VALUES 64u

/** Fails the test with the error's text unless `code` is ACCEL_OK. */
void rig_ok(int32_t code, const struct accel_error *error);

/* ---- a machine with drivers ---- */

struct rig {
    struct accel_context *context;
    struct accel_device *device;
    struct accel_error error;
};

/** Discovers with the file or folder below the build folder in front of the search path, and opens `device`. */
void rig_open(struct rig *rig, const char *driver, const char *device, const struct accel_named_value *settings,
              uint32_t setting_count);
void rig_close(struct rig *rig);

/* ---- graphs ---- */

/** A fixed extent. */
struct accel_dim rig_dim(uint64_t extent);
/** An extent that is a symbol's value. */
struct accel_dim rig_symbol(uint32_t symbol);

struct net {
    struct accel_builder *builder;
    const struct accel_graph *graph;
    struct accel_error error;
};

void net_begin(struct net *net, const char *name);
uint32_t net_value(struct net *net, uint32_t role, const char *name, uint32_t type, uint32_t rank,
                   const struct accel_dim *dims);
/** A node of up to four inputs; ACCEL_NO_VALUE ends the list only where `count` does. */
uint32_t net_node(struct net *net, uint32_t op, const char *name, const uint32_t *inputs, uint32_t count,
                  const void *attributes);
void net_output(struct net *net, uint32_t value, const char *name);
void net_end(struct net *net);
void net_free(struct net *net);

/* ---- steps ---- */

/** What a value called `name` is given: bytes of an input, planes of a weight. */
struct rig_data {
    const char *name;
    const void *planes[3];
    uint64_t bytes[3];
};

struct rig_step {
    struct accel_source source; /**< of the data below */
    const struct rig_data *data;
    uint32_t data_count;
    uint32_t zero;
    const struct accel_graph *graph;
    struct accel_module *module;
    struct accel_weights *weights;
    struct accel_queue *queue;
    struct accel_set *set;
    struct accel_buffer *buffers[RIG_VALUES]; /**< per value: inputs and outputs */
    struct accel_state *states[RIG_VALUES];   /**< per value */
    struct accel_error error;
};

/** Compiles, loads, binds for steps of up to `highest`; states get `slots` slots. The data stays valid. */
void rig_step_make(struct rig *rig, struct rig_step *step, const struct accel_graph *graph, const struct rig_data *data,
                   uint32_t data_count, const uint64_t *highest, uint32_t threads, uint64_t slots);
/** Copies the inputs into their buffers and runs one step. */
void rig_step_run(struct rig_step *step, const uint64_t *symbols);
/** The bytes of an input or output. */
void *rig_step_value(struct rig_step *step, const char *name);
void rig_step_free(struct rig_step *step);

/* ---- numbers ---- */

/** A stream of numbers that a seed fixes. */
struct rig_random {
    uint64_t state;
};
uint32_t rig_below(struct rig_random *random, uint32_t limit);
/** In -1 .. 1. */
float rig_float(struct rig_random *random);
void rig_fill(struct rig_random *random, float *values, uint64_t count);

/** Fails unless |got - want| <= tolerance * the largest |want|, or `scale` where that is larger: what the largest would
 *  be of more elements. `what` names the case. */
void rig_close_enough(const char *what, const float *got, const double *want, uint64_t count, double tolerance,
                      double scale);

#endif
