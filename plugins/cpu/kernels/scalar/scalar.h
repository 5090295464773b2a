/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the scalar kernels. */
#ifndef CPU_SCALAR_H
#define CPU_SCALAR_H

#include "plugins/cpu/kernels/declare.h"

/* Applies an element-wise function of accel/ops.h. */
float cpu_function_scalar(uint32_t function, float x);

#endif
