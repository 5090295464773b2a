/* SPDX-License-Identifier: Apache-2.0 */
/** @file Parts of accel_graph_verify that the builder uses for new entries, and the check of the symbols of a run. Pure
 * functions. */
#ifndef ACCEL_CORE_GRAPH_VERIFY_H
#define ACCEL_CORE_GRAPH_VERIFY_H

#include <accel/error.h>
#include <accel/graph.h>

/* Maximum number of entries of a graph: far above those of models, and a bound for the reads of a hostile view. */
#define ACCEL_GRAPH_SYMBOLS 64u
#define ACCEL_GRAPH_VALUES (1u << 20)
#define ACCEL_GRAPH_NODES (1u << 20)

/** Checks that a name exists, is not too long, UTF-8 and free of control characters. `what` names its owner. */
int32_t accel_name_check(const char *name, const char *what, struct accel_error *error);

/** Checks a symbol by itself. */
int32_t accel_symbol_check(const struct accel_symbol *symbol, struct accel_error *error);

/** Checks a value by itself and against the symbols of the graph, but not its producer. */
int32_t accel_value_check(const struct accel_graph *graph, const struct accel_value *value, struct accel_error *error);

/** Checks one value for each symbol of a verified graph: range and multiple. */
int32_t accel_graph_check_symbols(const struct accel_graph *graph, const uint64_t *values, struct accel_error *error);

#endif
