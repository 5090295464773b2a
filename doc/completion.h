/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the shell completions of the command from its tables of commands, options and settings. */
#ifndef ACCEL_DOC_COMPLETION_H
#define ACCEL_DOC_COMPLETION_H

#include <stdio.h>

void write_bash(FILE *out);
void write_zsh(FILE *out);

#endif
