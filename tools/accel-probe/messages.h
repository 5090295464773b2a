/* SPDX-License-Identifier: Apache-2.0 */
/* The child's side of the messages of core/plugin/ipc.h: writes its answer, and parses the hardware that the parent
 * sends. */
#ifndef TOOLS_ACCEL_PROBE_MESSAGES_H
#define TOOLS_ACCEL_PROBE_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include <accel/context.h>
#include <accel/driver.h>
#include <accel/error.h>

#include "core/base/arena.h"
#include "core/base/strbuf.h"

/* Append the records that the child writes. */
void put_version(struct accel_strbuf *out);
void put_stage(struct accel_strbuf *out, const char *stage);
void put_failure(struct accel_strbuf *out, const struct accel_error *error);
void put_done(struct accel_strbuf *out, uint32_t devices);
void put_verdict(struct accel_strbuf *out, const struct accel_verdict *verdict);

/* Writes records to ACCEL_IPC_DESCRIPTOR and frees them; a parent that is gone misses them. */
void send_records(struct accel_strbuf *records);

/* Sends one STAGE record. */
void send_stage(const char *stage);

/* Parses HARDWARE records. */
int32_t parse_hardware(const char *data, size_t bytes, struct accel_arena *arena,
                       const struct accel_hardware *const **out_list, uint32_t *out_count, struct accel_error *error);

#endif
