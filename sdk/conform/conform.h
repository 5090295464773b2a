/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The test interface of accel-conform: a test, the state that its child process provides, and the functions that
 * report its results.
 *
 * A test belongs to a group and consists of cases. It runs alone in a child process, announces each case before it
 * begins (so that a crash can be attributed), and continues after a failure. Random numbers are seeded from the
 * seed of the run and the name of the test, so a test gets identical numbers when it runs alone.
 */
#ifndef ACCEL_SDK_CONFORM_CONFORM_H
#define ACCEL_SDK_CONFORM_CONFORM_H

#include <stdarg.h>
#include <stdbool.h>

#include <accel/driver.h>
#include <accel/ops.h>
#include <accel/run.h>

/** Elements of an array. */
#define COUNT(list) ((uint32_t)(sizeof(list) / sizeof(*(list))))

#define CONFORM_FAILURES 12u /* failures that end a test */
#define CONFORM_HELD 48u     /* compiled modules that stay open while later cases run */

/** A pseudorandom number generator, reproducible from its seed. */
struct conform_random {
    uint64_t state;
};

/** Most driver options that a run sets. */
#define CONFORM_SETTINGS 4u

/** A compiled module that stays open while later cases run. */
struct conform_held {
    struct accel_module *module;
    struct accel_builder *builder; /**< builder of its graph */
};

/** State of a running test. Context and device exist if the test declares that it needs them. */
struct conform {
    const char *path;           /**< driver file, absolute path */
    const char *id;             /**< device id in the driver */
    const char *const *options; /**< driver options, "NAME=VALUE", with which operator tests open the device */
    uint32_t option_count;
    uint32_t rounds;    /**< random cases in addition to the fixed ones */
    uint32_t cases;     /**< the test ends after this many cases; 0: no limit */
    uint32_t from;      /**< first case of an operator to run, from 1; 0: the first */
    uint32_t begun;     /**< cases begun */
    uint32_t parameter; /**< parameter of the test */
    struct conform_random random;
    accel_driver_query_function query;
    const struct accel_driver *driver; /**< returned by the driver's query */
    struct accel_context *context;
    struct accel_device *device;
    const struct accel_facts *facts; /**< facts of the device */
    struct direct *beside;           /**< an instance of the kit itself with this device open (direct_device) */
    struct accel_error error;
    struct conform_held held[CONFORM_HELD]; /**< a ring buffer */
    uint32_t held_next;
    uint32_t failures;
};

/** Preconditions of a test, which conform_begin establishes. */
enum conform_needs {
    CONFORM_FILE,   /**< none: it reads the file */
    CONFORM_DRIVER, /**< the driver is loaded; the context lists the hardware */
    CONFORM_DEVICE, /**< the device is open */
};

/* ---- results of a test ---- */

/** Returns whether the current case precedes the first requested one: the test builds it and does not run it. */
bool conform_is_early(const struct conform *conform);
/** Begins a case. Ends the test if it has done the requested number of cases. */
void conform_case(struct conform *conform, const char *format, ...) ACCEL_PRINTF(2, 3);
/** Names the driver slot that is called next, before the first case. The report of a crash or a hang names it. */
void conform_stage(struct conform *conform, const char *slot);
/** Reports that the case failed. Ends the test after CONFORM_FAILURES failures. */
void conform_fail(struct conform *conform, const char *format, ...) ACCEL_PRINTF(2, 3);
/** Reports that the driver does not claim the case, with its reason. */
void conform_unclaimed(struct conform *conform, const char *reason);
/** Reports that the test does not apply to this driver. */
void conform_skip(struct conform *conform, const char *reason);
/** Fails the case unless `code` is ACCEL_OK; `what` names the operation. Returns whether it is ACCEL_OK. Clears
 * conform->error. */
bool conform_ok(struct conform *conform, int32_t code, const char *what);
/** Reports a fact about driver or device. */
void conform_fact(struct conform *conform, const char *key, const char *value);
/** Ends the test: the child exits without further calls of the driver. */
_Noreturn void conform_end(struct conform *conform);
/** Ends the test and exits as a program does, with exit handlers and destructors. */
_Noreturn void conform_leave(struct conform *conform);

/** Establishes the preconditions of a test. Ends the test on failure. */
void conform_begin(struct conform *conform, enum conform_needs needs);

/** Creates a context that finds, loads and attaches only the tested driver. Fails if the library refuses the file;
 * *out_plugin is the record of the file in this case too, NULL if there is none. */
int32_t conform_attach(struct conform *conform, const struct accel_plugin_info **out_plugin);

/** Copies the value of a key in the ELF note of the loaded driver; "" if the note lacks the key. */
void conform_note(const struct conform *conform, const char *key, char *out_text, size_t bytes);

/* ---- numbers ---- */

void conform_seed(struct conform *conform, uint64_t seed, const char *name);
/** Returns a random number in 0 .. limit - 1. */
uint32_t conform_below(struct conform *conform, uint32_t limit);
/** Returns a random number in -1 .. 1. */
float conform_float(struct conform *conform);
/** Returns `count` random floats in -1 .. 1, which the caller frees. */
float *conform_floats(struct conform *conform, uint64_t count);
/** Returns zeroed memory. Ends the test if memory runs out. */
void *conform_memory(struct conform *conform, uint64_t count, uint64_t bytes);

#endif
