/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The doctor: what of this machine stands in the way of running models well, and what to do about it.
 *
 * Two steps that do not know each other. Evidence is gathered (which device nodes, groups, libraries, modules of the
 * kernel and folders are there, and what this process may do with them); then it is evaluated against
 * `doctor.yaml` of the profiles, where all that belongs to a vendor stands. A context that replays a snapshot brings
 * the evidence that was recorded, so that the rows are those of the recorded machine. No library of a vendor is opened.
 *
 * Rows belong to the doctor and stay valid until it is freed. Strings are UTF-8 and never NULL. Doctors may be made at
 * the same time, and one may be read from any thread.
 */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include <accel/context.h>
#include <accel/error.h>

#define ACCEL_DOCTOR_GOOD 1u    /**< as it should be */
#define ACCEL_DOCTOR_NOTE 2u    /**< worth knowing, nothing to mend */
#define ACCEL_DOCTOR_UNKNOWN 3u /**< could not be checked, or was not recorded */
#define ACCEL_DOCTOR_WARN 4u    /**< works, and less well than it could: see the remedy */
#define ACCEL_DOCTOR_BAD 5u     /**< something cannot be used: see the remedy */

/** Result of one check. Open. */
struct accel_doctor_row {
    uint32_t size;
    uint32_t state;   /**< ACCEL_DOCTOR_... */
    int32_t hardware; /**< index in the context's hardware that it is about, or -1 */
    uint32_t zero;
    const char *area;    /**< "processors", "memory", "folders", "plugins", "hardware" or "system" */
    const char *check;   /**< stable name: "cpu.quota", "hardware.node" */
    const char *subject; /**< subject of the check: a path, a library, a device's name and address */
    const char *text;    /**< one line: what was found */
    const char *remedy;  /**< one line: what to do; empty where nothing is to be done */
    const char *origin;  /**< where it was read: a path, "hwloc" */
    const char *place;   /**< file:line of doctor.yaml that requires the check; empty for checks of every machine */
    const char *reason;  /**< why doctor.yaml asks for it; may be empty */
};

struct accel_doctor;

/** Gathers and evaluates. The context has discovered, and lives longer than the doctor: it cannot be freed before. A
 *  doctor.yaml that cannot be used is a bad row and no failure. The caller frees *out_doctor, which is NULL where this
 *  fails. ACCEL_E_INVALID: a pointer is missing, or the context has not discovered; ACCEL_E_MEMORY. */
int32_t accel_doctor_create(struct accel_context *context, struct accel_doctor **out_doctor, struct accel_error *error);
/** Frees the result; no other thread may use it or its rows. NULL is allowed. */
void accel_doctor_free(struct accel_doctor *doctor);
/** Number of rows, area by area. */
uint32_t accel_doctor_count(const struct accel_doctor *doctor);
/** The row at `index`, or NULL past the end. */
const struct accel_doctor_row *accel_doctor_get(const struct accel_doctor *doctor, uint32_t index);
/** Number of rows of one state. */
uint32_t accel_doctor_tally(const struct accel_doctor *doctor, uint32_t state);

/** How fast this process reads memory of the host. Open. */
struct accel_bandwidth {
    uint32_t size;
    uint32_t threads; /**< that read at the same time, each on its processor */
    uint32_t passes;  /**< over all bytes; the rate is their median */
    uint32_t zero;
    uint64_t bytes;          /**< read in one pass, by all threads together */
    double bytes_per_second; /**< median */
    double lowest;           /**< slowest pass, bytes per second */
    double highest;          /**< fastest pass */
    char reason[256];        /**< what decided the number of threads */
};

/** Measures, which takes about a second and memory of several times the last cache; `out_bandwidth->size` is set by the
 *  caller. The context has discovered. Any thread, but two measurements at once slow each other. ACCEL_E_UNSUPPORTED:
 * the context replays a recorded machine; ACCEL_E_MEMORY: the process may not take enough of it; ACCEL_E_INVALID: as
 * above.
 */
int32_t accel_doctor_measure(struct accel_context *context, struct accel_bandwidth *out_bandwidth,
                             struct accel_error *error);

#endif
