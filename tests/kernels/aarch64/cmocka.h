/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much of cmocka as the tests of the kernels use, for programs that are cross-built where cmocka is not there for
 * the target. A failure ends the program.
 */
#ifndef TESTS_KERNELS_AARCH64_CMOCKA_H
#define TESTS_KERNELS_AARCH64_CMOCKA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*function)(void **state);
    void *setup;
    void *teardown;
    void *state;
};

#define fail_msg(...)                                                                                                  \
    (printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n"), fflush(stdout), exit(1))
/* Ends the test that calls it. */
#define skip()                                                                                                         \
    do {                                                                                                               \
        printf("skipped\n");                                                                                           \
        return;                                                                                                        \
    } while (0)
#define assert_true(condition) ((condition) ? (void)0 : (void)fail_msg("%s", #condition))
#define assert_false(condition) assert_true(!(condition))
#define assert_null(pointer) assert_true((pointer) == NULL)
#define assert_non_null(pointer) assert_true((pointer) != NULL)
#define assert_int_equal(a, b) assert_true((long long)(a) == (long long)(b))
#define assert_int_not_equal(a, b) assert_true((long long)(a) != (long long)(b))
#define assert_memory_equal(a, b, size) assert_true(memcmp(a, b, size) == 0)
#define assert_string_equal(a, b) assert_true(strcmp(a, b) == 0)
#define assert_string_not_equal(a, b) assert_true(strcmp(a, b) != 0)

static const char *cmocka_filter;

static inline void cmocka_set_test_filter(const char *name)
{
    cmocka_filter = name;
}

static inline int cmocka_run_all(const char *group, const struct CMUnitTest *tests, size_t count)
{
    size_t run = 0;
    for (size_t i = 0; i < count; i++) {
        void *state = tests[i].state;
        if (cmocka_filter != NULL && strcmp(cmocka_filter, tests[i].name) != 0)
            continue;
        printf("%s: %s\n", group, tests[i].name);
        fflush(stdout);
        tests[i].function(&state);
        run++;
    }
    if (run == 0)
        printf("no test has this name\n");
    return run == 0;
}

#define cmocka_run_group_tests_name(group, tests, setup, teardown)                                                     \
    cmocka_run_all(group, tests, sizeof(tests) / sizeof((tests)[0]))

#endif
