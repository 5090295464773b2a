/* SPDX-License-Identifier: Apache-2.0 */
/** @file Conditions on facts: `FACT OPERATOR VALUE` with ==, !=, <, <=, >, >=, `contains words`, `in [a, b]` or `not in
 * [a, b]`. A list of conditions holds if all of them do. A condition on an unknown fact never holds. */
#ifndef ACCEL_CORE_PROFILE_CONDITION_H
#define ACCEL_CORE_PROFILE_CONDITION_H

#include <stdbool.h>

#include "core/profile/keys.h"
#include "core/profile/setting.h"
#include "core/profile/yaml.h"

enum accel_comparison {
    ACCEL_COMPARE_EQUAL,
    ACCEL_COMPARE_UNEQUAL,
    ACCEL_COMPARE_BELOW,
    ACCEL_COMPARE_AT_MOST,
    ACCEL_COMPARE_ABOVE,
    ACCEL_COMPARE_AT_LEAST,
    ACCEL_COMPARE_IN,
    ACCEL_COMPARE_NOT_IN,
    ACCEL_COMPARE_CONTAINS,
};

/** A value that a fact is compared with. */
struct accel_literal {
    const char *text;
    int64_t number;
    bool is_number;
};

struct accel_condition {
    struct accel_condition *next;
    const struct accel_fact_row *fact;
    enum accel_comparison comparison;
    uint32_t literal_count;
    struct accel_literal *literals;
    const char *text;  /**< as written in the file */
    const char *place; /**< "FILE:LINE" */
};

/** Reads a condition, or a list of them, from a scalar or a sequence of scalars. */
int32_t accel_condition_read(const char *path, const struct accel_yaml_node *node, struct accel_arena *arena,
                             const struct accel_condition **out_conditions, struct accel_error *error);

/** Returns whether all conditions hold; true for NULL. */
bool accel_condition_holds(const struct accel_condition *conditions, const struct accel_profile_pair *facts,
                           uint32_t fact_count);

/** Returns whether the words are part of the text as whole words, in any case: "Tesla T4" contains "T4", and "T400"
 * does not. */
bool accel_contains_words(const char *text, const char *words);

#endif
