/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCELCTL_RAW_TEXT_H
#define ACCELCTL_RAW_TEXT_H

/* Prints text of a model byte for byte; on a terminal without control characters, except ends of lines and tabs,
 * and with an end of line behind it. */
void print_raw_text(const char *text);

#endif
