/* SPDX-License-Identifier: Apache-2.0 */
/** @file Writes the log of one context to the sink of the application, which also sets the level: a line is passed on
 * if its level is as severe or more (ACCEL_LOG_ERROR is 1, ACCEL_LOG_DEBUG 4). There is no global log. A line consists
 * of key=value pairs in UTF-8, values with spaces in double quotes: `file="/etc/accel/base.yaml" line=12 ...`. */
#ifndef ACCEL_CORE_BASE_LOG_H
#define ACCEL_CORE_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include <accel/host.h>

/** Receives one line without newline. Called from any thread that logs; `text` is valid for the call. */
typedef void accel_log_sink(void *user, uint32_t level, const char *component, const char *text);

/** Sink and level of a context, which owns it. Read-only after the first use, except that plans change the level. */
struct accel_log {
    accel_log_sink *sink;   /**< NULL: nothing is logged */
    void *user;             /**< passed to the sink */
    _Atomic uint32_t level; /**< most verbose level that is logged, ACCEL_LOG_...; 0: nothing is logged */
};

/** Writes one line; `log` may be NULL. Control characters become '?', a line over 1 KiB is cut at a character
 * boundary. Allocates nothing. `component` names the component of origin: "topology", "plugin", "driver.cpu". */
void accel_log_write(const struct accel_log *log, uint32_t level, const char *component, const char *format, ...)
    ACCEL_PRINTF(4, 5);

#endif
