/* SPDX-License-Identifier: Apache-2.0 */
/** @file Answers, notes and the identity of an open device. */
#ifndef ACCEL_CORE_RUNTIME_DEVICE_H
#define ACCEL_CORE_RUNTIME_DEVICE_H

#include "core/runtime/object.h"

/** Returns the file of the device's driver, or NULL if the application passed the driver itself. */
const struct accel_plugin *accel_device_plugin(const struct accel_device *device);

/** Computes the fingerprint that cached kernels and weights of the device depend on; an error if there is none. */
int32_t accel_device_fingerprint(const struct accel_device *device, uint8_t out_fingerprint[16]);

/** Marks the device as lost if `code` is ACCEL_E_DEVICE_LOST; returns the code. */
int32_t accel_device_note_loss(struct accel_device *device, int32_t code);

/** accel_import_code and accel_import_handle for a slot of the device, which they mark as lost if it is. */
int32_t accel_device_import_code(struct accel_device *device, int32_t code, const char *slot,
                                 struct accel_error *error);
int32_t accel_device_import_handle(struct accel_device *device, int32_t code, const void *handle, const char *slot,
                                   struct accel_error *error);

/** Creates a buffer of the driver. The core owns and frees *out_buffer, also after a failure; it may be NULL. */
int32_t accel_device_make_buffer(struct accel_device *device, uint64_t bytes, uint32_t heap, uint32_t memory_class,
                                 struct accel_driver_buffer **out_buffer, struct accel_error *error);

/** Validates the result code of a step (core/boundary/import.h), marks a lost device, and adds the device and a remedy
 * to the error. ACCEL_E_CANCELLED is valid if `value` was submitted before a cancel; UINT64_MAX: the next value. */
int32_t accel_queue_import_code(struct accel_queue *queue, uint64_t value, int32_t code, const char *slot,
                                struct accel_error *error);

#endif
