/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Checks what keeps this machine from running models well, and what to do about it.
 *
 * Two independent steps: the first gathers evidence (device nodes, groups, libraries, kernel modules, folders, and
 * whether this process can use them); the second evaluates it against `doctor.yaml` of the profiles, the only place
 * that names vendors. If the context replays a snapshot, the evidence is the recorded one, and the rows are those of
 * the recorded machine. No vendor library is opened.
 *
 * Rows belong to the doctor and stay valid until it is freed. Strings are UTF-8 and never NULL. Several doctors may be
 * created at the same time, and any thread may read one.
 */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include <stdbool.h>

#include <accel/context.h>
#include <accel/error.h>

#define ACCEL_DOCTOR_GOOD 1u    /**< as it should be */
#define ACCEL_DOCTOR_NOTE 2u    /**< information, nothing to do */
#define ACCEL_DOCTOR_UNKNOWN 3u /**< could not be checked, or was not recorded */
#define ACCEL_DOCTOR_WARN 4u    /**< works less well than it could: see the remedy */
#define ACCEL_DOCTOR_BAD 5u     /**< something cannot be used: see the remedy */

/** Result of one check. Open. */
struct accel_doctor_row {
    uint32_t size;
    uint32_t state;   /**< ACCEL_DOCTOR_... */
    int32_t hardware; /**< index of the hardware in the context that the row is about, or -1 */
    uint32_t zero;
    const char *area;    /**< "system", "processors", "memory", "folders", "plugins", "hardware" or "drivers" */
    const char *check;   /**< stable name: "cpu.quota", "hardware.node" */
    const char *subject; /**< subject of the check: a path, a library, a device's name and address */
    const char *text;    /**< one line: what was found */
    const char *remedy;  /**< one line: what to do; empty if nothing is to be done */
    const char *origin;  /**< source of the finding: a path, "hwloc" */
    const char *place;   /**< file:line of doctor.yaml that requires the check; empty for checks of every machine */
    const char *reason;  /**< why doctor.yaml requires it; may be empty */
};

struct accel_doctor;

/** Gathers evidence and evaluates it. The context must have discovered devices, and must outlive the doctor. An invalid
 *  doctor.yaml becomes a row of state BAD, not a failure. The caller frees *out_doctor, which is NULL on failure.
 *  ACCEL_E_INVALID: a pointer is NULL, or the context has not discovered; ACCEL_E_MEMORY. */
int32_t accel_doctor_create(struct accel_context *context, struct accel_doctor **out_doctor, struct accel_error *error);
/** Frees the result; no other thread may use it or its rows. NULL is allowed. */
void accel_doctor_free(struct accel_doctor *doctor);
/** Returns the number of rows, which are grouped by area. */
uint32_t accel_doctor_count(const struct accel_doctor *doctor);
/** Returns the row at `index`, or NULL past the end. */
const struct accel_doctor_row *accel_doctor_get(const struct accel_doctor *doctor, uint32_t index);
/** Returns the number of rows of one state. */
uint32_t accel_doctor_tally(const struct accel_doctor *doctor, uint32_t state);

/** Returns whether the context replays a machine on which a driver ran a device that no release has yet. */
bool accel_doctor_lacks_driver(const struct accel_doctor *doctor, const struct accel_device_info *device);

/** Bandwidth with which this process reads host memory. Open. */
struct accel_bandwidth {
    uint32_t size;
    uint32_t threads; /**< threads that read at the same time, each bound to one processor */
    uint32_t passes;  /**< passes over all bytes; the rate is their median */
    uint32_t zero;
    uint64_t bytes;          /**< bytes that all threads together read in one pass */
    double bytes_per_second; /**< median */
    double lowest;           /**< slowest pass, bytes per second */
    double highest;          /**< fastest pass */
    char reason[256];        /**< why this number of threads was used */
};

/** Measures the memory bandwidth for about a second, with buffers several times as large as the last-level cache. The
 *  caller sets `out_bandwidth->size`; the context must have discovered devices. Any thread may call it, but concurrent
 *  measurements slow each other. ACCEL_E_UNSUPPORTED: the context replays a recorded machine; ACCEL_E_MEMORY: too
 * little memory for the buffers; ACCEL_E_INVALID: as accel_doctor_create. */
int32_t accel_doctor_measure(struct accel_context *context, struct accel_bandwidth *out_bandwidth,
                             struct accel_error *error);

#endif
