/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The face of accel-conform: a test, what it is given in its child process, and how it says what came of it.
 *
 * A test belongs to a group and consists of cases. It runs alone in a child process, says each case before it begins
 * (so that a crash has a name), and goes on after a failure. Numbers come from a generator that the seed and the test's
 * name fix, so that a test alone sees what it sees among all.
 */
#ifndef ACCEL_TOOLS_CONFORM_H
#define ACCEL_TOOLS_CONFORM_H

#include <accel/driver.h>
#include <accel/run.h>
#include <stdarg.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/plugin/plugin.h"

#define CONFORM_NAME 64u     /* bytes of a test's name */
#define CONFORM_TESTS 1024u  /* most tests */
#define CONFORM_FAILURES 12u /* failures after which a test ends */
#define CONFORM_KEPT 48u     /* compiled cases that stay while later ones run */

/** A stream of numbers that a seed fixes. */
struct conform_random {
    uint64_t state;
};

/** Most options of a driver that a run sets. */
#define CONFORM_SETTINGS 4u

/** A compiled case. */
struct conform_kept {
    struct accel_module *module;
    struct accel_builder *builder; /**< of its graph */
};

/** What a test has to work with. The context and the device are there when the test asks for them. */
struct conform {
    const char *path;           /**< of the driver's file, absolute */
    const char *id;             /**< of the device in the driver */
    const char *const *options; /**< of the driver, "NAME=VALUE", with which tests of operators open the device */
    uint32_t option_count;
    uint32_t rounds;    /**< random cases beside the fixed ones */
    uint32_t cases;     /**< the test ends before its next case when it has done that many; 0: it does all */
    uint32_t from;      /**< number of the first case of an operator that is run, from 1; 0: the first */
    uint32_t begun;     /**< cases */
    uint32_t parameter; /**< of the test */
    struct conform_random random;
    struct accel_arena arena;
    const struct accel_driver *driver; /**< what its query answered, checked */
    struct accel_context *context;
    struct accel_device *device;
    struct accel_error error;
    struct conform_kept kept[CONFORM_KEPT]; /**< a ring */
    uint32_t kept_next;
    uint32_t failures;
};

/** What a test needs before it begins. */
enum conform_needs {
    CONFORM_FILE,   /**< nothing: it looks at the file */
    CONFORM_DRIVER, /**< the driver is loaded; hardware is in the context */
    CONFORM_DEVICE, /**< the device is open */
};

/** One test. */
struct conform_test {
    char name[CONFORM_NAME]; /**< "matmul/q4_0": the group comes first */
    void (*run)(struct conform *conform);
    uint32_t parameter; /**< for tests that share a function, such as a type */
    enum conform_needs needs;
};

/** All tests, in the order in which they run. */
struct conform_list {
    struct conform_test tests[CONFORM_TESTS];
    uint32_t count;
};

/** Adds a test called `name`. */
void conform_add(struct conform_list *list, enum conform_needs needs, uint32_t parameter,
                 void (*run)(struct conform *conform), const char *name, ...) ACCEL_PRINTF(5, 6);

/* Every file with tests adds its own. */
void conform_add_info(struct conform_list *list);
void conform_add_life(struct conform_list *list);
void conform_add_misuse(struct conform_list *list);
void conform_add_short(struct conform_list *list);
void conform_add_slots(struct conform_list *list);
void conform_add_memory(struct conform_list *list);
void conform_add_leaks(struct conform_list *list);
void conform_add_manners(struct conform_list *list);
void conform_add_timeline(struct conform_list *list);
void conform_add_sets(struct conform_list *list);
void conform_add_whole(struct conform_list *list);
void conform_add_rows(struct conform_list *list);
void conform_add_places(struct conform_list *list);
void conform_add_matmul(struct conform_list *list);
void conform_add_attention(struct conform_list *list);

/** Fills the list with all tests. */
void conform_list_fill(struct conform_list *list);

/* ---- what a test says ---- */

/** Whether the case that has begun comes before the first one that is wanted: it is made and not run. */
bool conform_is_early(const struct conform *conform);
/** Begins a case, or ends the test when it has done as many as are wanted. */
void conform_case(struct conform *conform, const char *format, ...) ACCEL_PRINTF(2, 3);
/** What comes before the first case: a slot of the driver that is called now. A crash in it has its name. */
void conform_stage(struct conform *conform, const char *slot);
/** The case has failed. Ends the test when there were many. */
void conform_fail(struct conform *conform, const char *format, ...) ACCEL_PRINTF(2, 3);
/** The driver does not take the case and says why. */
void conform_unclaimed(struct conform *conform, const char *reason);
/** The test makes no sense for this driver. */
void conform_skip(struct conform *conform, const char *reason);
/** Fails unless `code` is ACCEL_OK; `what` was done. True when it is. Clears conform->error. */
bool conform_ok(struct conform *conform, int32_t code, const char *what);
/** A fact of driver or device, for the report. */
void conform_fact(struct conform *conform, const char *key, const char *value);
/** The test is over: the child ends without further calls of the driver. */
_Noreturn void conform_end(struct conform *conform);
/** The same, but the process ends as a program does, with its handlers and destructors. */
_Noreturn void conform_leave(struct conform *conform);

/** Takes a device's, driver's or machine's part of the work of a test. Ends the test where it cannot. */
void conform_begin(struct conform *conform, enum conform_needs needs);

/** What the note of the file says, or NULL. */
const struct accel_plugin_note *conform_note(struct conform *conform);

/* ---- numbers ---- */

void conform_seed(struct conform *conform, uint64_t seed, const char *name);
/** 0 .. limit - 1. */
uint32_t conform_below(struct conform *conform, uint32_t limit);
/** In -1 .. 1. */
float conform_float(struct conform *conform);
/** `count` floats in -1 .. 1, to be freed. */
float *conform_floats(struct conform *conform, uint64_t count);
/** Zeroed memory; ends the test where there is none. */
void *conform_memory(struct conform *conform, uint64_t count, uint64_t bytes);

#endif
