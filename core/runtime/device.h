/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Answers, notes and the identity of an open device. */
#ifndef ACCEL_CORE_RUNTIME_DEVICE_H
#define ACCEL_CORE_RUNTIME_DEVICE_H

#include "core/runtime/object.h"

/** Computes the fingerprint that cached kernels and weights of the device depend on; an error if the driver does
 * not report it. */
int32_t accel_device_fingerprint(const struct accel_device *device, uint8_t out_fingerprint[16]);

/** Marks the device as lost if `code` is ACCEL_E_DEVICE_LOST; returns the code. */
int32_t accel_device_note_loss(struct accel_device *device, int32_t code);

/** Validates the result code of a step (core/boundary/import.h), marks a lost device, and adds the device and a
 * remedy to the error. ACCEL_E_CANCELLED is valid if `value` was submitted before a cancel; UINT64_MAX: the next
 * value. */
int32_t accel_queue_import_code(struct accel_queue *queue, uint64_t value, int32_t code, const char *slot,
                                struct accel_error *error);

#endif
