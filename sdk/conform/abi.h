/* SPDX-License-Identifier: Apache-2.0 */
/** @file Helpers shared by the ABI tests. */
#ifndef ACCEL_SDK_CONFORM_ABI_H
#define ACCEL_SDK_CONFORM_ABI_H

#include "sdk/conform/direct.h"

/** Fails the case unless `code` is a failure (`wanted`, or any failure if `wanted` is ACCEL_OK) that set a text in
 * conform->error and returned no handle. Clears conform->error. */
void abi_refused(struct conform *conform, int32_t code, int32_t wanted, const void *handle);

/** Selects the struct of the compile inputs that a test alters. */
enum altered_place { ALTERED_GRAPH, ALTERED_VALUE, ALTERED_NODE, ALTERED_ATTRIBUTES, ALTERED_OPTIONS, ALTERED_END };

/** Selects the alteration: a tail whose last word is a number, or a copy that is truncated in front of a guard
 * page. */
enum altered_how { ALTERED_TAIL, ALTERED_CUT };

/** A copy of the small graph and of its compile options, with one struct altered. */
struct altered {
    const struct accel_graph *changed_graph;
    const struct accel_compile_options *changed_options;
    struct accel_graph graph;
    const struct accel_value *values[DIRECT_VALUES];
    const struct accel_node *nodes[1];
    struct accel_node node;
};

/** Returns false if the graph has no such struct, or fewer than 8 bytes of it would be left. The memory stays
 * mapped until the process ends. */
bool altered_make(struct altered *altered, struct direct *direct, enum altered_place place, enum altered_how how,
                  uint32_t number);
const char *altered_name(enum altered_place place);

/** Returns a copy of an open struct that lacks its last `cut` bytes and ends at a guard page; NULL if fewer than 8
 * bytes would be left. */
const void *abi_cut(struct conform *conform, const void *given, uint32_t cut);

/** Runs the stages up to an open device and a claim. Returns false after a failure, which is reported. */
bool abi_open(struct direct *direct, struct conform *conform);
/** Claims and compiles the graph. A graph that the claim refuses is not compiled; the code is ACCEL_E_REFUSED then. */
int32_t abi_compile(struct direct *direct, const struct accel_graph *graph, const struct accel_compile_options *given);

#endif
