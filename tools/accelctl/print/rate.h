/* SPDX-License-Identifier: Apache-2.0 */
/** @file Computes tokens a second, if there are enough tokens and time for a significant rate. */
#ifndef ACCEL_TOOLS_RATE_H
#define ACCEL_TOOLS_RATE_H

#include <jansson.h>
#include <stdint.h>

#include "tools/history/history.h"

/** The origin of rates in JSON documents. */
#define RATE_ORIGIN                                                                                                    \
    "measured: monotonic clock of this run; a rate is null for fewer than 16 steps or prompt tokens, or less than "    \
    "0.5 ms, since the first steps and the clock decide it then"

/** Returns tokens a second, or 0 for fewer than ACCEL_HISTORY_TOKENS tokens or less than ACCEL_HISTORY_NANOSECONDS. */
double token_rate(uint64_t tokens, uint64_t nanoseconds);

/** Returns the rate as a JSON value: null if it is not known. */
json_t *token_rate_json(uint64_t tokens, uint64_t nanoseconds);

/** Formats a rate: ", 4793 tokens/s", or "" if it is not known. */
const char *token_rate_text(uint64_t tokens, uint64_t nanoseconds, char text[40]);

#endif
