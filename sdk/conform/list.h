/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The list of tests and the table of operators. A file with tests defines conform_add_NAME, a row of groups.def, or
 * conform_op_NAME, a row of ops.def. */
#ifndef ACCEL_SDK_CONFORM_LIST_H
#define ACCEL_SDK_CONFORM_LIST_H

#include "sdk/conform/conform.h"

#define CONFORM_NAME 64u    /* bytes of a test name */
#define CONFORM_TESTS 1024u /* most tests */

/** One test. */
struct conform_test {
    char name[CONFORM_NAME]; /**< "matmul/q4_0": the group comes first */
    void (*run)(struct conform *conform);
    uint32_t parameter; /**< for tests that share a function, for example a type */
    enum conform_needs needs;
};

/** All tests, in run order. */
struct conform_list {
    struct conform_test tests[CONFORM_TESTS];
    uint32_t count;
};

/** Adds a test called `name`. */
void conform_add(struct conform_list *list, enum conform_needs needs, uint32_t parameter,
                 void (*run)(struct conform *conform), const char *name, ...) ACCEL_PRINTF(5, 6);

/** Moves the tests from number `first` on behind those of the same case, mostly a type: matmul/q4_0, conv/q4_0. Tests
 * of a case use the same compiled kernels, and the cache of a driver may keep those of the last tests only. */
void conform_order_by_case(struct conform_list *list, uint32_t first);

struct reference_call;
struct trial_case;

#define CONFORM_OPERATOR_TESTS 8u

/** A test of an operator, called OPERATOR/NAME: fixed cases, then a function; either may be absent. */
struct conform_operator_test {
    const char *name;
    void (*run)(struct conform *conform);
    uint32_t parameter;
    const struct trial_case *cases;
    uint32_t case_count;
};

/** Rows of conform_operator.tests: a function, and fixed cases that it adds random ones to, if it is not NULL. */
#define CONFORM_TEST(text, function, number)                                                                           \
    {                                                                                                                  \
        .name = text, .run = function, .parameter = number                                                             \
    }
#define CONFORM_CASES(text, list, function)                                                                            \
    {                                                                                                                  \
        .name = text, .run = function, .cases = list, .case_count = COUNT(list)                                        \
    }

/** An operator in the kit: the file with its cases defines it. */
struct conform_operator {
    /** Computes its outputs for cases that call trial_expect; NULL where cases compute what they expect. */
    void (*compute)(const struct reference_call *call);
    void (*add)(struct conform_list *list); /**< adds its tests beside `tests`, such as those of every type; or NULL */
    struct conform_operator_test tests[CONFORM_OPERATOR_TESTS]; /**< up to the first without a name */
};

/** Returns the operator of a number below ACCEL_OP_END; NULL if no operator has it. */
const struct conform_operator *conform_operator_find(uint32_t op);

/** Fills the list with all tests. */
void conform_list_fill(struct conform_list *list);

#define CONFORM_GROUP(name) void conform_add_##name(struct conform_list *list);
#include "sdk/conform/groups.def"
#undef CONFORM_GROUP

/* conform_op_scale and so on: an operator of ops.def without its own is an error of the linker. */
#define ACCEL_OPERATOR(number, ID, name, ...) extern const struct conform_operator conform_op_##name;
#include <accel/driver/ops.def>

#endif
