/* SPDX-License-Identifier: Apache-2.0 */
/* Work that is shared out over threads for the time of one call. */
#ifndef ACCEL_SDK_MODEL_FORMAT_TOGETHER_H
#define ACCEL_SDK_MODEL_FORMAT_TOGETHER_H

#include <stdint.h>

/* One share. */
typedef void model_share_function(void *data, uint32_t index);

/* Does shares 0 .. count - 1, each in a thread of its own, and returns when all are done. The caller's thread does
 * share 0, and after it those for which no thread could be had. Signals are for the caller's thread, but for SIGBUS:
 * the fault of a mapped file that shrinks is handled where it happens. */
void model_work_together(uint32_t count, model_share_function *work, void *data);

#endif
