/* SPDX-License-Identifier: Apache-2.0 */
/** @file What the tests of the ABI share. */
#ifndef ACCEL_TOOLS_CONFORM_ABI_H
#define ACCEL_TOOLS_CONFORM_ABI_H

#include "core/plugin/load.h"
#include "tools/accel-conform/direct.h"

/** Fails unless `code` is a failure (`wanted`, or any where that is ACCEL_OK) as failures have to be: with a text in
 *  conform->error, which is cleared, and without a handle. */
void abi_refused(struct conform *conform, int32_t code, int32_t wanted, const void *handle);

/** What may be changed of that which is compiled. */
enum altered_place { ALTERED_GRAPH, ALTERED_VALUE, ALTERED_NODE, ALTERED_ATTRIBUTES, ALTERED_OPTIONS, ALTERED_END };

/** How: a tail whose last word is a number, or so many bytes missing in front of a page that must not be touched. */
enum altered_how { ALTERED_TAIL, ALTERED_CUT };

/** A graph like the small one, and options, with one struct changed. */
struct altered {
    const struct accel_graph *changed_graph;
    const struct accel_compile_options *changed_options;
    struct accel_graph graph;
    const struct accel_value *values[DIRECT_VALUES];
    const struct accel_node *nodes[1];
    struct accel_node node;
};

/** False where there is no such struct, or fewer than 8 bytes of it would be left. Its memory stays until the end. */
bool altered_make(struct altered *altered, struct direct *direct, enum altered_place place, enum altered_how how,
                  uint32_t number);
const char *altered_name(enum altered_place place);

/** A copy of an open struct that lacks its last `cut` bytes and ends at a page that must not be touched; NULL where
 *  fewer than 8 bytes would be left. */
const void *abi_cut(struct conform *conform, const void *given, uint32_t cut);

/** Goes up to an open device and a claim. False after a failure, which is said. */
bool abi_open(struct direct *direct, struct conform *conform);
/** Claims and compiles; what claim refuses is not compiled, and the code is ACCEL_E_REFUSED. */
int32_t abi_compile(struct direct *direct, const struct accel_graph *graph, const struct accel_compile_options *given);

#endif
