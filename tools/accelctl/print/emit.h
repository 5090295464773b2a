/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a plan as a call of another program: a shell script whose comments name the setting that each flag comes
 * from, and the settings that the program has no flag for. */
#ifndef ACCELCTL_EMIT_H
#define ACCELCTL_EMIT_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/accelctl/model.h"

/* Returns 1 if the program is known. */
bool emit_knows(const char *program);
/* Prints the call; refuses a model in a format that the program does not read. Answers an exit code. */
int emit_call(const struct opened *opened, const char *program);

/* Prints text of a comment. Characters that could end its line, as of names of files, are printed as question marks. */
void emit_text(const char *format, ...) ACCEL_PRINTF(1, 2);

/* Writes where layers lie as flags of llama-server. */
void emit_llama_layers(const struct opened *opened, FILE *flags);

/* Writes layers on several devices as stages of vllm, and what it has instead of them. */
void emit_vllm_stages(const struct opened *opened, FILE *flags);

#endif
