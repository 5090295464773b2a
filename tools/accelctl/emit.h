/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as a call of another program: a shell script whose comments say which setting each flag comes from, and which
 * settings that program cannot be told. */
#ifndef ACCELCTL_EMIT_H
#define ACCELCTL_EMIT_H

#include "tools/accelctl/model.h"

/* 1 where such a program is known. */
uint32_t emit_knows(const char *program);
int emit_call(const struct opened *opened, const char *program);

#endif
