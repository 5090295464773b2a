/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The rules that every public struct and table of accel obeys, and the macros that make them work.
 *
 * Layout (checked by tests/abi):
 *  - only fixed-width integers, float, double, size_t and pointers; no enum, bool, long, union, bit-field;
 *  - a struct is *open* (its first member is `uint32_t size`; later minors append) or *closed* (frozen
 *    for the major); the comment above it states which;
 *  - no padding anywhere; holes are members named `zero`, written 0 and refused otherwise;
 *  - open structs travel by pointer, and arrays of them are arrays of pointers; only closed structs travel
 *    as plain arrays.
 *
 * Reading: an appended member of an open struct is read through ACCEL_HAS, an optional slot of a table is
 * called through ACCEL_CAN. A zero in an appended input member means "as before"; a receiver refuses a
 * non-zero tail that it does not know, by name. An unknown bit of `flags` is refused, of `hints` ignored.
 *
 * Writing: of an output struct the caller sets `size` and the callee writes at most that many bytes. When a
 * function fails, every out handle is NULL and no other output may be read.
 *
 * Every slot returns int32_t: ACCEL_OK or a negative code of accel/error.h, and takes the error last.
 */
#ifndef ACCEL_ABI_H
#define ACCEL_ABI_H

#include <stddef.h>
#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "accel needs a little-endian machine"
#endif
#if UINTPTR_MAX != 0xffffffffffffffffu
#error "accel needs a 64-bit machine"
#endif

/** Major number of the driver ABI. While it is 0 every minor may break. */
#define ACCEL_ABI_MAJOR 0u
/** Minor number of the driver ABI that these headers describe. */
#define ACCEL_ABI_MINOR 2u

/** Calling convention of every function and slot (empty where the platform has one only). */
#define ACCEL_CALL

#ifdef __cplusplus
/** In C++ a slot that may throw does not compile. */
#define ACCEL_NOEXCEPT noexcept
#define ACCEL_BEGIN_C extern "C" {
#define ACCEL_END_C }
#else
#define ACCEL_NOEXCEPT
#define ACCEL_BEGIN_C
#define ACCEL_END_C
#endif

#if defined(__GNUC__)
/** A symbol of libaccel or of an installed library that programs may use. */
#define ACCEL_API __attribute__((__visibility__("default")))
/** Lets the compiler check a printf-like function: position of the format, position of the first value. */
#define ACCEL_PRINTF(text, values) __attribute__((__format__(__printf__, text, values)))
#else
#define ACCEL_API
#define ACCEL_PRINTF(text, values)
#endif

/** Bytes of an open struct up to and including `member`. */
#define ACCEL_END_OF(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/** True when the writer of the open struct at `pointer` knew `member`. */
#define ACCEL_HAS(pointer, member)                                                                                     \
    ((pointer)->size >= (size_t)((const char *)(&(pointer)->member + 1) - (const char *)(pointer)))

/** True when the table at `table` knows `slot` and fills it. */
#define ACCEL_CAN(table, slot) (ACCEL_HAS(table, slot) && (table)->slot != NULL)

#endif
