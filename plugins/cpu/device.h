/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu driver's own part of an open device: the kernels of the level in use, and the formats that they read. */
#ifndef CPU_DEVICE_H
#define CPU_DEVICE_H

#include "plugins/cpu/kernels/kernels.h"

#include <accel/driver/sdk.h>
#include <accel/quant/format.h>

struct cpu_device {
    struct cpu_kernels kernels;
    struct accel_format formats[CPU_PLANAR]; /* of the places that stand for one type */
};

/* All rows of all operators: what the backend offers. table.c checks that the number is right. */
#define CPU_OPERATORS 75u
extern const struct sdk_kernel cpu_operators[];

#endif
