/* SPDX-License-Identifier: Apache-2.0 */
/** @file The hardware and facts of this machine (machine.c, machine_facts.c) or of a recorded one (replay.c). */
#ifndef ACCEL_CORE_REGISTRY_MACHINE_H
#define ACCEL_CORE_REGISTRY_MACHINE_H

#include "core/registry/context.h"

/** Loads the topology and fills hardware and facts. Facts that a snapshot lacks are derived from its topology. */
int32_t accel_machine_discover(struct accel_context *context, struct accel_error *error);

/** Fills the facts from the loaded topology. */
int32_t accel_machine_facts(struct accel_context *context, struct accel_error *error);

/** Adds a piece of hardware with copies of its strings; for tests too. */
int32_t accel_machine_add(struct accel_context *context, const struct accel_hardware *hardware,
                          struct accel_error *error);

/** Formats hardware for people: "Example GPU (0000:65:00.0)". Returns `text`. */
const char *accel_machine_text(const struct accel_hardware *hardware, char *text, size_t bytes);

/** Reads the snapshot named by the options into the records. */
int32_t accel_replay_begin(struct accel_context *context, struct accel_error *error);

/** Returns ACCEL_OK on this machine, else ACCEL_E_UNSUPPORTED: recorded devices can be planned for, but not opened. */
int32_t accel_replay_refuse(const struct accel_context *context, const char *device, struct accel_error *error);

/** Lists plugins, devices and verdicts of the snapshot; requires the discovered machine. */
int32_t accel_replay_devices(struct accel_context *context, struct accel_error *error);

#endif
