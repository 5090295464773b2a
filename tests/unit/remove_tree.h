/* SPDX-License-Identifier: Apache-2.0 */
/** @file Takes away what a test has made. */
#ifndef ACCEL_TESTS_UNIT_REMOVE_TREE_H
#define ACCEL_TESTS_UNIT_REMOVE_TREE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/** Removes a folder with all that is in it. */
static inline void remove_tree(const char *root)
{
    char command[256];
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    assert_int_equal(system(command), 0);
}

#endif
