/* SPDX-License-Identifier: Apache-2.0 */
/* Distributes the work of one call over threads. */
#ifndef ACCEL_MODEL_FILE_PARALLEL_H
#define ACCEL_MODEL_FILE_PARALLEL_H

#include <stdint.h>

/* Runs one share. */
typedef void model_share_function(void *data, uint32_t index);

/* Runs shares 0 .. count - 1, each in a thread of its own, and returns when all are done. The calling thread runs share
 * 0, and then those for which no thread could be created. Other threads block all signals except SIGBUS, whose handler
 * runs in the thread that touched a truncated mapping. */
void model_parallel_for(uint32_t count, model_share_function *work, void *data);

#endif
