/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Services of the core for drivers: log, counted memory, options, clock, thread teams, progress of long calls.
 *
 * The services are valid from attach to detach and may be called from any thread, but not while holding a lock that one
 * of the driver's slots acquires. They never call the driver, except that a team calls the function passed to it.
 */
#ifndef ACCEL_HOST_H
#define ACCEL_HOST_H

#include <accel/abi.h>
#include <accel/error.h>

ACCEL_BEGIN_C

#define ACCEL_LOG_ERROR 1u
#define ACCEL_LOG_WARN 2u
#define ACCEL_LOG_INFO 3u
#define ACCEL_LOG_DEBUG 4u

/* Classes of memory. Every byte that is counted or estimated has one. */
#define ACCEL_MEMORY_WEIGHTS 1u    /**< weights in a driver's layout, or copied by the core */
#define ACCEL_MEMORY_MAPPED 2u     /**< weights used in place in a mapped file */
#define ACCEL_MEMORY_STATE 3u      /**< KV caches and recurrent state */
#define ACCEL_MEMORY_ACTIVATION 4u /**< inputs and outputs of steps */
#define ACCEL_MEMORY_SCRATCH 5u    /**< intermediates and work space of kernels */
#define ACCEL_MEMORY_PROGRAM 6u    /**< compiled programs, descriptors, recordings */
#define ACCEL_MEMORY_HOST 7u       /**< other host memory: tokenizer, tables, bookkeeping */
#define ACCEL_MEMORY_END 8u

/* Types of options. */
#define ACCEL_OPTION_INTEGER 1u
#define ACCEL_OPTION_REAL 2u
#define ACCEL_OPTION_TEXT 3u
#define ACCEL_OPTION_FLAG 4u /**< `integer` is 0 or 1 */

/** One row of a driver's option table, which lists all valid option names. Open. */
struct accel_option {
    uint32_t size;
    uint32_t type;       /**< ACCEL_OPTION_... */
    const char *name;    /**< lower case with dots: "cpu.isa"; of a size, and of these only, with the end "_bytes" */
    const char *help;    /**< one line */
    int64_t integer;     /**< default of an integer or flag */
    int64_t lowest;      /**< of an integer */
    int64_t highest;     /**< of an integer */
    double real;         /**< default of a real */
    const char *text;    /**< default of a text */
    const char *choices; /**< of a text: allowed values, separated by spaces; NULL: any text */
};

/** The value of one option, already checked against the driver's table. Closed. */
struct accel_setting {
    const char *name;
    const char *text; /**< of a text, else NULL */
    int64_t integer;  /**< of an integer or flag */
    double real;      /**< of a real */
};

struct accel_host;

/** The services. Open. The core creates one struct for each instance of a driver. */
struct accel_host {
    uint32_t size;
    uint32_t zero;
    /** Writes one line of `key=value` text to the application's log. Always returns ACCEL_OK. */
    int32_t(ACCEL_CALL *log)(const struct accel_host *host, uint32_t level, const char *text) ACCEL_NOEXCEPT;
    /** Allocates `bytes` (at least 1) of zeroed host memory aligned to `alignment` (a power of two) and counts them
     * under `memory_class`. Large blocks of ACCEL_MEMORY_WEIGHTS use huge pages if the system provides them. The driver
     * frees the memory with `release`. ACCEL_E_MEMORY: the system or the context's budget has no more. */
    int32_t(ACCEL_CALL *allocate)(const struct accel_host *host, uint32_t memory_class, uint64_t bytes,
                                  uint64_t alignment, void **out_memory, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Frees memory of `allocate`. NULL is allowed. Always returns ACCEL_OK. */
    int32_t(ACCEL_CALL *release)(const struct accel_host *host, void *memory) ACCEL_NOEXCEPT;
    /** Returns nanoseconds of a monotonic clock, the one of all deadlines. */
    int32_t(ACCEL_CALL *clock)(const struct accel_host *host, uint64_t *out_nanoseconds) ACCEL_NOEXCEPT;
    /** Optional (such memory is not counted): counts memory that the driver allocates by other means than `allocate`,
     * such as device memory. The driver passes `bytes` before it allocates them, and -bytes after it has freed them,
     * which never fails. ACCEL_E_MEMORY: they exceed the budget; nothing is counted, and the driver must not allocate.
     * ACCEL_E_INVALID: 0 bytes, or more freed than were counted. */
    int32_t(ACCEL_CALL *account)(const struct accel_host *host, uint32_t memory_class, int64_t bytes,
                                 struct accel_error *error) ACCEL_NOEXCEPT;
};

/** A function that each thread of a team calls; `thread` is its index, `threads` their number. */
typedef void(ACCEL_CALL *accel_team_function)(void *argument, uint32_t thread, uint32_t threads);

/** A team of threads for one call, including the calling thread. Open. All threads run concurrently, each on its own
 * processor, so the function may wait for other threads of the team, for instance at a barrier. Two calls that run at
 * the same time never use the same team. */
struct accel_team {
    uint32_t size;
    uint32_t threads; /**< at least 1 */
    /** Runs function(argument, index, threads) on `threads` threads (1 to team->threads) with the indices 0 .. threads
     * - 1, index 0 in the caller's thread, and returns when all have ended. Not reentrant. */
    int32_t(ACCEL_CALL *run)(const struct accel_team *team, uint32_t threads, accel_team_function function,
                             void *argument, struct accel_error *error) ACCEL_NOEXCEPT;
};

/** A long call: reports progress and checks for cancellation. Open. Valid for the call it was passed to. */
struct accel_task {
    uint32_t size;
    uint32_t zero;
    /** Reports that `done` of `total` (bytes or nodes) are finished. ACCEL_E_CANCELLED: stop and return that code. */
    int32_t(ACCEL_CALL *progress)(const struct accel_task *task, uint64_t done, uint64_t total) ACCEL_NOEXCEPT;
    /** Threads for the call; never NULL. */
    const struct accel_team *team;
};

ACCEL_END_C

#endif
