/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The log of one context: a level (ACCEL_LOG_... of accel/host.h; lower levels are included) and a sink, both set
 * by the context's owner. There is no global log; without a sink nothing is written anywhere. A line is key=value
 * pairs in UTF-8, values with spaces in double quotes: `file="/etc/accel/base.yaml" line=12 ...`. */
#ifndef ACCEL_CORE_BASE_LOG_H
#define ACCEL_CORE_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include <accel/host.h>

/** Receives one line without newline. Called from any thread that logs; `text` is valid for the call. */
typedef void accel_log_sink(void *user, uint32_t level, const char *component, const char *text);

/** Owned by the context; set before the first use, read-only afterwards. */
struct accel_log {
    accel_log_sink *sink; /**< NULL: nothing is logged */
    void *user;           /**< passed to the sink */
    uint32_t level;       /**< ACCEL_LOG_...; 0: nothing is logged */
};

/** Writes one line; `log` may be NULL. Control characters become '?', a line over 1 KiB is cut at a character
 * boundary. Allocates nothing. `component` names the component of origin: "topology", "plugin", "driver.cpu". */
void accel_log_write(const struct accel_log *log, uint32_t level, const char *component, const char *format, ...)
    ACCEL_PRINTF(4, 5);

#endif
