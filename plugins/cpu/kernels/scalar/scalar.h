/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the function that scalar/matmul.c and scalar/pointwise.c share. */
#ifndef CPU_SCALAR_H
#define CPU_SCALAR_H

#include "plugins/cpu/kernels/declare.h"

/* Applies an element-wise function of accel/ops.h. */
float cpu_function_scalar(uint32_t function, float x);

#endif
