/* SPDX-License-Identifier: Apache-2.0 */
/** @file The drivers of a context (attach.c), their devices and verdicts (registry.c). */
#ifndef ACCEL_CORE_REGISTRY_REGISTRY_H
#define ACCEL_CORE_REGISTRY_REGISTRY_H

#include "core/registry/context.h"

struct accel_plugin;

/** Attaches a driver whose struct accel_driver core/plugin has validated, and adds its devices. `plugin` is the index
 * of its plugin, or ACCEL_NO_PLUGIN. On failure its devices are removed and its verdicts stay. Call
 * accel_registry_finish after the last driver. */
int32_t accel_registry_attach(struct accel_context *context, const struct accel_driver *driver, uint32_t plugin,
                              struct accel_error *error);

/** Lists the devices of a plugin from its cached probe result, without attaching the driver. Returns false and lists
 * nothing if there is no valid list; the driver must be attached then. */
bool accel_registry_list(struct accel_context *context, const struct accel_plugin *plugin, uint32_t index);

/** Attaches the driver of a listed device if its attach was deferred. ACCEL_E_NOT_FOUND: the device has
 * disappeared; else the driver's error. Thread-safe. */
int32_t accel_registry_ensure_attached(struct accel_context *context, const struct accel_listed *listed,
                                       struct accel_error *error);

/** Detaches the instance of a driver if it is attached. */
void accel_registry_detach(struct accel_context *context, struct accel_attached *owner);

/** Returns the device of a driver with this id, or NULL. */
struct accel_listed *accel_registry_find_id(const struct accel_context *context, const struct accel_attached *owner,
                                            const char *id);

/** Adds one device of a driver: validates and copies its facts. */
int32_t accel_registry_add_device(struct accel_context *context, struct accel_attached *owner,
                                  const struct accel_facts *facts, struct accel_error *error);

/** Adds a verdict of a driver and copies its texts; the caller sets `code`, `driver`, `hardware`, `text`, `remedy`. */
int32_t accel_registry_add_verdict(struct accel_context *context, const struct accel_verdict *verdict,
                                   struct accel_error *error);

/** Ranks devices, marks duplicates, adds a verdict for hardware that no driver claims. Can be repeated. */
int32_t accel_registry_finish(struct accel_context *context, struct accel_error *error);

/** Detaches all drivers and removes their devices. */
void accel_registry_forget(struct accel_context *context);

/** Attaches a driver after discovery and calls accel_registry_finish: for tests and programs with a linked driver. */
int32_t accel_context_attach_driver(struct accel_context *context, const struct accel_driver *driver,
                                    struct accel_error *error);

#endif
