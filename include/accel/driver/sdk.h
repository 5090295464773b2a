/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The library that drivers are built with: a driver is a struct sdk_backend, a table of kernels and one ACCEL_DRIVER
 * line. It is linked into the driver, exports nothing, and needs nothing of libaccel.
 */
#ifndef ACCEL_DRIVER_SDK_H
#define ACCEL_DRIVER_SDK_H

#include <accel/driver.h>
#include <accel/driver/kernel.h>
#include <accel/driver/note.h>

ACCEL_BEGIN_C

/** A driver that runs in the caller's thread. Const, for the life of the process. */
struct sdk_backend {
    const struct sdk_kernel *kernels;
    uint32_t kernel_count;
    uint32_t zero;
    /** Names the devices and the refusals; see accel_instance_table.enumerate. */
    int32_t (*enumerate)(const struct accel_host *host, const struct accel_hardware *const *hardware,
                         uint32_t hardware_count, const struct accel_device_sink *sink,
                         struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional (`device_bytes` stay zero): fills the driver's own zeroed bytes of a device that is being opened. The
     *  settings are checked against the option table. */
    int32_t (*open)(const struct accel_host *host, const char *id, const struct accel_setting *settings,
                    uint32_t setting_count, void *device, struct accel_error *error) ACCEL_NOEXCEPT;
    /** Optional: releases what `open` took. */
    void (*close)(void *device) ACCEL_NOEXCEPT;
    /** Optional: writes what makes results of this device stale into the 16 bytes. */
    void (*fingerprint)(const void *device, uint8_t out_fingerprint[16]) ACCEL_NOEXCEPT;
    /** Optional (every row runs on every device): 0 leaves a row of the table out on this device. */
    uint32_t (*allow)(const void *device, const struct sdk_kernel *kernel) ACCEL_NOEXCEPT;
    /** Optional (empty): where a kernel runs on this device, for reports: "avx2". */
    const char *(*unit)(const void *device, const struct sdk_kernel *kernel)ACCEL_NOEXCEPT;
    uint64_t device_bytes;
    uint64_t weight_alignment; /**< that mapped weights must have; 0: any */
    /** Optional, with `pack` (default: every weight is used in the source's mapping, or in a copy of the core):
     * returns 1 if kernels of this device that can read a weight packed (sdk_kernel.packed_inputs) do so. The
     * answer depends on type and shape alone, not on the key. The library then claims the weight as resident,
     * stores it in its own memory and packs it while it is loaded. Other kernels read the unpacked weight, even if
     * it is the same one. */
    uint32_t (*packs)(const void *device, const struct accel_weight *weight) ACCEL_NOEXCEPT;
    /** Lays the next `rows` rows of a weight out at `out`, which has as many bytes as they have in their planes
     *  together: planes[p] is where the first of them begins in plane p. `rows` is a multiple of `pack_rows`, but where
     *  the weight ends. Called by several threads for different rows. */
    void (*pack)(const void *device, const struct accel_weight *weight, const void *const *planes, uint64_t rows,
                 void *out) ACCEL_NOEXCEPT;
    uint64_t pack_rows; /**< rows that are packed together; 0 counts as 1 */
    /** Optional (none): returns the most bytes of copies of mapped weights that a module of these graphs holds at a
     * time, and in *out_least the bytes of those that a step of one token reads at a time. They are allocated as
     * ACCEL_MEMORY_MAPPED while steps run. */
    uint64_t (*copies)(const void *device, const struct accel_graph *const *graphs, uint32_t graph_count,
                       uint64_t *out_least) ACCEL_NOEXCEPT;
};

/** Makes an instance of a backend: what ACCEL_DRIVER's attach calls. */
int32_t sdk_attach(const struct sdk_backend *backend, const struct accel_host *host, uint32_t minor,
                   struct accel_driver_instance **out_instance, struct accel_error *error);

/** Compares versions and hands out the entry: what ACCEL_DRIVER's accel_driver_query calls. */
int32_t sdk_query(const struct accel_driver *driver, uint32_t major, uint32_t minor,
                  const struct accel_driver **out_driver, struct accel_error *error);

/** Fills an error unless it holds one, and returns `code`: accel_error_set for drivers. `error` may be NULL. */
int32_t sdk_error(struct accel_error *error, int32_t code, const char *format, ...) ACCEL_PRINTF(3, 4);

/** Adds a remedy to an error that has none. */
void sdk_remedy(struct accel_error *error, const char *format, ...) ACCEL_PRINTF(2, 3);

/** Reports the processors of the list to the sink as one device `id`, with the host's memory as its heap, or a
 * verdict if the list has none. `enumerate` of a driver that computes on the CPU calls it. `types`: of the weights
 * that matmul reads. */
int32_t sdk_report_processors(const struct accel_hardware *const *hardware, uint32_t hardware_count,
                              const struct accel_device_sink *sink, const char *id, const char *detail,
                              const uint32_t *types, uint32_t type_count, struct accel_error *error);

/** The setting called `name`, or NULL. */
const struct accel_setting *sdk_setting(const struct accel_setting *settings, uint32_t count, const char *name);

/** Writes one line to the host's log. */
void sdk_log(const struct accel_host *host, uint32_t level, const char *format, ...) ACCEL_PRINTF(3, 4);

ACCEL_END_C

#endif
