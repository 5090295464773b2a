/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Status codes and the error that a caller owns.
 *
 * Every function that can fail returns an int32_t: ACCEL_OK, or one of the negative codes below, and takes a
 * `struct accel_error *` last. The pointer may be NULL. The first error wins: a function that finds a code in
 * the struct leaves it as it is. A code that a program does not know is a failure like any other.
 */
#ifndef ACCEL_ERROR_H
#define ACCEL_ERROR_H

#include <accel/abi.h>

ACCEL_BEGIN_C

#define ACCEL_OK 0                /**< done */
#define ACCEL_E_INVALID (-1)      /**< an argument breaks the contract of the function */
#define ACCEL_E_MEMORY (-2)       /**< out of memory; `heap`, `asked` and `free` of the error say where */
#define ACCEL_E_UNSUPPORTED (-3)  /**< well formed, and this implementation does not have it */
#define ACCEL_E_REFUSED (-4)      /**< a driver will not take this node, value or graph */
#define ACCEL_E_BUSY (-5)         /**< still in use: children are alive or a step is in flight */
#define ACCEL_E_AGAIN (-6)        /**< the queue is full now; wait for an earlier value and repeat */
#define ACCEL_E_TIMEOUT (-7)      /**< the deadline passed */
#define ACCEL_E_DEVICE_LOST (-8)  /**< the device is gone; only frees and close work */
#define ACCEL_E_CORRUPT (-9)      /**< input from a file or a peer is malformed */
#define ACCEL_E_IO (-10)          /**< the operating system failed a read or a write; `native` is errno */
#define ACCEL_E_NOT_FOUND (-11)   /**< no such file, device, driver, key or tensor */
#define ACCEL_E_DENIED (-12)      /**< permission or trust forbids it */
#define ACCEL_E_ABI (-13)         /**< made for another ABI */
#define ACCEL_E_CANCELLED (-14)   /**< the caller asked to stop */
#define ACCEL_E_DEPENDS (-15)     /**< something this waited for has failed */
#define ACCEL_E_FORKED (-16)      /**< used in a child after fork */
#define ACCEL_E_NEEDS_RANGE (-17) /**< the driver needs the ranges of calibration for this value */
#define ACCEL_E_MISS (-18)        /**< no longer in the cache */
#define ACCEL_E_LIMIT (-19)       /**< over a limit of the device, the profile or the format */
#define ACCEL_E_FALLBACK (-20)    /**< it would only work in another way than requested, and policy denies that */
#define ACCEL_E_INTERNAL (-21)    /**< an invariant of the implementation does not hold: a bug */
/** The last code of this minor: codes go from ACCEL_OK down to it without a gap. */
#define ACCEL_E_LAST ACCEL_E_INTERNAL

/* Origins: the cause of an error. A program decides what to do by code and origin; texts are for people and may change.
 */
#define ACCEL_FROM_CALLER 0u  /**< an argument, or a call that the state of an object forbids; also not known */
#define ACCEL_FROM_SETTING 1u /**< a setting of the caller, of the command line or of the environment */
#define ACCEL_FROM_FILE 2u    /**< a file that is missing, denied or malformed; a setting of a profile */
#define ACCEL_FROM_MODEL 3u   /**< the model: its files, its structure, its tokenizer */
#define ACCEL_FROM_DRIVER 4u  /**< a driver failed, refused, or broke the ABI */
#define ACCEL_FROM_DEVICE 5u  /**< a device is not there, is lost, or is too small */
#define ACCEL_FROM_SYSTEM 6u  /**< the operating system: memory, disk, processes */

/** An error, owned by the caller. Closed. Text and remedy are UTF-8 and end in a zero byte. */
struct accel_error {
    int32_t code;     /**< ACCEL_OK or ACCEL_E_... */
    int32_t native;   /**< the code of the system or of the vendor's library, 0 where there is none */
    uint32_t heap;    /**< ACCEL_E_MEMORY: index of the heap */
    uint32_t origin;  /**< ACCEL_FROM_... */
    uint64_t asked;   /**< ACCEL_E_MEMORY: bytes wanted */
    uint64_t free;    /**< ACCEL_E_MEMORY: bytes that were left */
    char text[512];   /**< one line: what, where, which value */
    char remedy[256]; /**< what to do about it, or empty */
};

/** The stable name of a code, such as "ACCEL_E_MEMORY"; "ACCEL_E_?" for an unknown one. Any thread. Never NULL. */
ACCEL_API const char *accel_error_name(int32_t code) ACCEL_NOEXCEPT;

/**
 * Fills an error unless it holds one already, and returns the code that was given, so that
 * `return accel_error_set(error, ACCEL_E_IO, "...")` reads well. `error` may be NULL. Text that is too long is
 * cut at a character. The origin becomes ACCEL_FROM_SYSTEM with ACCEL_E_MEMORY and ACCEL_E_IO, ACCEL_FROM_DEVICE
 * with ACCEL_E_DEVICE_LOST, else ACCEL_FROM_CALLER until accel_error_origin names another. Any thread that owns the
 * error.
 */
ACCEL_API int32_t accel_error_set(struct accel_error *error, int32_t code, const char *format, ...) ACCEL_NOEXCEPT
    ACCEL_PRINTF(3, 4);

/** Reports ACCEL_E_MEMORY as accel_error_set does; the format follows "no memory ", such as "for %u devices". */
#define accel_error_no_memory(error, ...) accel_error_set(error, ACCEL_E_MEMORY, "no memory " __VA_ARGS__)

/** Sets the origin of an error whose origin is ACCEL_FROM_CALLER, and returns `code`: the innermost boundary that
 * an error passes sets it. Does nothing without an error. `error` may be NULL. */
static inline int32_t accel_error_origin(struct accel_error *error, uint32_t origin, int32_t code) ACCEL_NOEXCEPT
{
    if (error != NULL && error->code != ACCEL_OK && error->origin == ACCEL_FROM_CALLER)
        error->origin = origin;
    return code;
}

/** Adds the remedy to an error that has none yet; where there is no error it does nothing. `error` may be NULL. */
ACCEL_API void accel_error_remedy(struct accel_error *error, const char *format, ...) ACCEL_NOEXCEPT ACCEL_PRINTF(2, 3);

/** Adds a remedy as accel_error_remedy does, and has the value `code`: the last line of a function that fails. */
#define accel_error_advise(error, code, ...) (accel_error_remedy(error, __VA_ARGS__), (code))

/** Makes the error ready for the next call: clears code and numbers, ends both texts. `error` may be NULL. */
ACCEL_API void accel_error_clear(struct accel_error *error) ACCEL_NOEXCEPT;

ACCEL_END_C

#endif
